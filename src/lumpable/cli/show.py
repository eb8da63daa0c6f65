"""The console, lines, tables and loss bounds, for every command.

Computes nothing. Rich is imported when something is shown, so that `--help` is quick.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from lumpable.base.words import plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def console(*, err: bool = False) -> Console:
    """Return a console on stdout or stderr, as wide as the terminal, or 80 columns without one."""
    from lumpable.cli.terminal import Plain

    return Plain(stderr=err)


def say(words: str, *, err: bool = False) -> None:
    """Print a line; names in it may come from anybody, so that no terminal may obey them."""
    click.echo(plain(words), err=err)


def grid(rows: Iterable[tuple[str, str] | None]) -> Table:
    """Return names and values side by side; None is an empty line."""
    from rich.table import Table

    both = Table.grid(padding=(0, 2))
    both.add_column(no_wrap=True)
    both.add_column(overflow="fold")
    for row in rows:
        both.add_row(*(row or ("", "")))
    return both


def table(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    """Return a table whose first column is words and whose others are numbers."""
    from rich import box
    from rich.table import Table

    whole = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for number, name in enumerate(head):
        whole.add_column(name, justify="right" if number else "left", no_wrap=True)
    for row in rows:
        whole.add_row(*row)
    return whole


def loss_bound(loss: float) -> str:
    """Write a bound on a loss; above 1 it is vacuous, since no loss is larger.

    >>> loss_bound(0.25), loss_bound(12.4)
    ('0.25', '12.4 (vacuous: above 1)')
    """
    return f"{loss:.3g}" if loss <= 1 else f"{loss:.3g} (vacuous: above 1)"
