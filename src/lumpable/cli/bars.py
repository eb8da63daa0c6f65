"""How far something is, on stderr: a bar in a terminal, else a line now and then.

Knows nothing of what is under way. Rich is imported only when a bar is shown.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from lumpable.base.words import plain
from lumpable.cli.show import say

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

Say = Callable[[str], None]
"""Writes a line that stays."""
Advance = Callable[[int, int | None, str], None]
"""Shows how many are done, of how many (None: nobody knows), and words."""
BAR = 20
"""Columns of a bar."""


@contextlib.contextmanager
def progress(every: float = math.inf, *, width: int = BAR) -> Iterator[tuple[Say, Advance]]:
    """Show how far something is; without a terminal, a line after `every` seconds or more."""
    if not sys.stderr.isatty():
        yield lambda words: say(words, err=True), _lines(every)
        return
    from rich.progress import BarColumn

    from lumpable.cli.terminal import Plain

    console = Plain(stderr=True)
    with display(console, BarColumn(bar_width=width)) as shown:
        task = shown.add_task("starting", total=None)

        def advance(done: int, total: int | None, words: str) -> None:
            shown.update(task, total=total, completed=done, description=plain(words))

        yield console.print, advance


def _lines(every: float) -> Advance:
    last = time.monotonic()

    def advance(done: int, total: int | None, words: str) -> None:
        nonlocal last
        if time.monotonic() - last > every:
            last = time.monotonic()
            say(words, err=True)

    return advance


def display(console: Console, first: ProgressColumn) -> Progress:
    """Return a line of three columns: the first, the time that has passed, and words."""
    from rich.progress import Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    console.width -= 3  # the ^C that a terminal echoes must not begin a line of its own
    rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    return Progress(
        first,
        TimeElapsedColumn(table_column=Column(min_width=7)),
        TextColumn("{task.description}", markup=False, table_column=rest),
        console=console,
        transient=True,
        expand=True,
    )
