"""`lumpable play`: a service with a shop that keeps playing, until it is stopped."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from lumpable.cli.show import say
from lumpable.cli.visiting import Scale, Watched, service_for
from lumpable.cli.watching import Stopped
from lumpable.playground import shop as shops

FILE = "lumpable-play.db"
EVERY = 60.0
"""Seconds between lines without a terminal."""


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo"),
    show_default=True,
    help=f"Folder of {FILE}, from which it goes on.",
)
@click.option(
    "--port",
    default=8000,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port; 0 picks a free one.",
)
@click.option(
    "--pace",
    default=100.0,
    show_default=True,
    type=click.FloatRange(0.1, 100_000),
    help="Visits a second, after the first 24,000.",
)
@click.option("--open", "shown", is_flag=True, help="Open the page in a browser.")
def play(folder: Path, port: int, pace: float, shown: bool) -> None:
    """Start a service with a simulated shop that keeps playing, to look at.

    Fills itself with 24,000 visits as fast as it can, then goes on more slowly until Ctrl-C. What
    was played is kept: the next time it goes on from there.

    \b
    Examples:
      lumpable play --open
      lumpable play --port 8080 --pace 500
    """
    run(folder, port, pace, Scale(shops.build()), shown=shown)


def run(folder: Path, port: int, pace: float, scale: Scale, *, shown: bool = False) -> None:
    """Play until Ctrl-C."""
    file, watched = folder / FILE, None
    try:
        with service_for(scale.shop, file, port) as service:
            say(f"The page: {service.url}/ (all addresses: {service.url}/openapi.json)")
            say(f"The file: {file}. Ctrl-C stops it.")
            if shown:
                webbrowser.open(f"{service.url}/")
            with Watched(service, scale) as watched:
                if watched.first < scale.visits:
                    watched.play(scale.visits, scale.pace, EVERY)
                watched.play(None, pace, EVERY)
    except KeyboardInterrupt:
        visits = "before the first visit" if watched is None else f"after {watched.visits:,} visits"
        again = "`lumpable play` goes on from there"
        raise Stopped(f"stopped {visits}; {file} has all that was answered, {again}") from None
