"""`lumpable warm`: compile what a service needs, before it is needed."""

from __future__ import annotations

import os
import time

import click

from lumpable.base.errors import BadArgument
from lumpable.base.words import counted
from lumpable.cli.bars import progress
from lumpable.cli.show import say
from lumpable.lumps.belief.answers_compiled import of_answers
from lumpable.lumps.core.parts_compiled import Part, of_fits, of_rounds

EVERY = 2.0
"""Seconds between two lines where there is no terminal."""


@click.command()
def warm() -> None:
    """Compile what a service needs, and keep it on disk.

    A new machine compiles for some seconds before all calls are quick. Do this when the image of a
    container is built, and no container has to. What is already compiled is only read; an
    interrupted run continues where it stopped.

    Compiled code is kept where the package is, or in the folder that NUMBA_CACHE_DIR names, and is
    used only by a user who can write there. So run this as the user who will serve.

    \b
    Example, in a Dockerfile, after the line USER:
      ENV NUMBA_CACHE_DIR=/home/app/.cache/lumpable
      RUN lumpable warm
    """
    parts, began = [*of_rounds(), *of_fits(), *of_answers()], time.process_time()
    place, before = _place(parts), sum(part.kept for part in parts)
    done = 0
    try:
        with progress(EVERY) as (_, advance):
            for part in parts:
                does = "reading" if part.kept else "compiling"
                words = f"{does} {part.name} ({done + 1} of {len(parts)})"
                advance(done, len(parts), words)
                part.make()
                done += 1
    except KeyboardInterrupt:
        words = f"stopped after {done} of {len(parts)}; another run goes on from there"
        raise KeyboardInterrupt(words) from None
    lost = [part.name for part in parts if not part.kept]
    if lost:
        raise BadArgument("NUMBA_CACHE_DIR", f"room in {place}", f"none for {', '.join(lost)}")
    new, seconds = len(parts) - before, time.process_time() - began
    there = f", {before} were there" if before else ""
    say(f"compiled {counted(new, 'part')}{there}: {seconds:.1f} s of processor time, in {place}")


def _place(parts: list[Part]) -> str:
    """Return the folder where compiled code is kept."""
    places = [part.place for part in parts]
    if None in places:
        expected = "a writable folder; there is none"
        raise BadArgument("NUMBA_CACHE_DIR", expected, repr(os.environ.get("NUMBA_CACHE_DIR")))
    return os.path.commonpath([place for place in places if place is not None])
