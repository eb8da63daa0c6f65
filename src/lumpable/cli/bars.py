"""How far something is, live on a terminal: a bar, the time, and words that may be cut short.

Knows nothing of what is under way. Rich is imported only when a bar is shown.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

Say = Callable[[str], None]
"""Writes a line that stays."""
Advance = Callable[[int, int, str], None]
"""Shows how many are done, of how many, and words."""


@contextlib.contextmanager
def bar() -> Iterator[tuple[Say, Advance]]:
    """Show a bar on stderr while this is under way; printed lines stand above it."""
    from rich.console import Console
    from rich.progress import BarColumn

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with display(console, BarColumn(bar_width=20)) as shown:
        task = shown.add_task("starting", total=None)

        def advance(done: int, total: int, words: str) -> None:
            shown.update(task, total=total, completed=done, description=words)

        yield console.print, advance


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
