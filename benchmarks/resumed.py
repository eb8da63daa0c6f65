"""What long benchmarks share: the commit that is measured, rows that are kept, work in processes.

A row is kept as soon as it is there, a line of JSON each, so that a run that was stopped goes on.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from protocol import frozen
from protocol.bars import Bar

from lumpable.comparisons.jobs import Events, Task, Workers, here

OFTEN = 10.0
"""Seconds between two words about how far it is."""
MOST_NAMED = 5
"""Failures that an error names."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured: the learner of a commit, and whether it has changes beside it."""

    commit: str
    frozen: bool
    folder: str
    """Where its rows are kept."""

    @property
    def said(self) -> str:
        """The commit, as a page names it."""
        state = "" if self.frozen else ", **with changes that are not in it**"
        return f"`{self.commit[:12]}`{state}"


def measure(judges: Sequence[str], commit: str | None, *, changed: bool) -> Measure:
    """Return what is measured; refuse changes that nobody asked for.

    `judges` are what it is measured by and with: a change of theirs gives other seeds, as one of
    the learner does. A page is none of them: new words need no new runs.
    """
    paths = (*frozen.LEARNER, *judges)
    found = frozen.full_hash(commit) if commit else frozen.last_commit(paths)
    same = not frozen.differs(found, paths)
    if not (same or changed):
        words = f"learner or measure differ from {found[:12]}: commit them, or add --changed"
        raise click.ClickException(words)
    folder = found[:12] if same else f"{found[:12]}-{frozen.digest(paths)}"
    return Measure(found, same, folder)


# --- Rows ---------------------------------------------------------------------------------------


def kept(file: Path) -> dict[str, Any]:
    """Return the rows of a file by key, without a last line that was cut off."""
    whole = file.read_bytes()[: _end(file)] if file.exists() else b""
    lines = [json.loads(line) for line in whole.splitlines()]
    return {line["key"]: line["row"] for line in lines}


def _end(file: Path) -> int:
    """Return where the last whole line ends."""
    return file.read_bytes().rfind(b"\n") + 1


def carry_out(
    function: Callable[[Any], Any], arguments: Mapping[str, Any], file: Path, jobs: int | None
) -> dict[str, Any]:
    """Return a row for each key; those that the file holds are not measured again.

    One that fails does not stop the others; at the end they are named. With one job, the work is
    done in this process.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = kept(file)
    tasks = [Task(key, function, value) for key, value in arguments.items() if key not in rows]
    events: Events = here(tasks) if jobs == 1 else Workers(jobs=jobs).carry_out(tasks)
    failed: dict[str, BaseException] = {}
    began = spoke = time.monotonic()
    with file.open("a", encoding="utf-8") as opened:
        opened.truncate(_end(file))  # a line that was cut off is written again
        for answer in (event.answer for event in events if event.answer is not None):
            if answer.error is not None:
                failed[answer.key] = answer.error
            else:
                rows[answer.key] = answer.result
                opened.write(json.dumps({"key": answer.key, "row": answer.result}) + "\n")
                opened.flush()
            if time.monotonic() - spoke > OFTEN:
                spoke = time.monotonic()
                done = sum(key in rows for key in arguments)
                click.echo(f"{done:,} of {len(arguments):,} [{spoke - began:.0f} s] {answer.key}")
    if failed:
        raise _failures(failed)
    return {key: rows[key] for key in arguments}


def _failures(failed: Mapping[str, BaseException]) -> RuntimeError:
    named = [f"{key}: {error!r}" for key, error in list(failed.items())[:MOST_NAMED]]
    error = RuntimeError(f"{len(failed)} failed; {'; '.join(named)}")
    error.__cause__ = next(iter(failed.values()))
    return error


# --- Words --------------------------------------------------------------------------------------


def line(bar: Bar) -> str:
    """Say in a line whether a bar is met.

    >>> line(Bar("cover", 0.87, 0.93, 0.8, note="3 runs"))
    'missed: cover: 0.8, asked for 0.87 to 0.93 (3 runs)'
    """
    word = {True: "met", False: "missed", None: "not measured"}[bar.met]
    value = "" if bar.value is None else f": {bar.value:.3g}"
    ends = [f"{end:g}" for end in (bar.low, bar.high) if math.isfinite(end)]
    asked = " to ".join(ends)
    if len(ends) == 1:
        asked = f"at {'most' if math.isfinite(bar.high) else 'least'} {asked}"
    return f"{word}: {bar.what}{value}, asked for {asked}" + (f" ({bar.note})" * bool(bar.note))
