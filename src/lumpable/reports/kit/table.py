"""A table as values: the text of each cell and its marks. Templates turn it into HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell or the head of a column; everything in it is text, never HTML."""

    text: str
    number: bool = False
    kind: str = ""
    """Classes of the style sheet."""
    note: str = ""
    """In small print behind the text."""
    knows: str = ""
    """What a learner knows from an oracle."""
    title: str = ""
    """Shown to the pointer."""
    hidden: str = ""
    """Read aloud behind the text, not shown."""
    link: str = ""
    """An id of the page."""
    share: int = 0
    """Per cent of the colour `warm` or `cool` that `kind` names."""
    fold: str = ""
    """Shown on demand."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of cells; one of them is its head."""

    cells: Sequence[Cell]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a name; the cells in column `head` name their lines."""

    name: str
    heads: Sequence[Cell]
    lines: Sequence[Line]
    caption: str = ""
    kind: str = ""
    head: int = 0


def figure(text: str, kind: str = "", **more: Any) -> Cell:
    """Return a cell with a number."""
    return Cell(text, number=True, kind=kind, **more)


class Column(NamedTuple):
    """A column of a plain table: its head, and what is written of a row."""

    head: str
    write: Callable[[Any], str]
    number: bool = True


def of_rows(
    name: str,
    rows: Iterable[Any],
    columns: Sequence[Column],
    kind: Callable[[Any], str] = lambda row: "",
) -> Table:
    """Return a table of rows, the first column in front; `kind` marks a row by a class."""
    return Table(
        name,
        [Cell(column.head, column.number) for column in columns],
        [
            Line([Cell(column.write(row), column.number) for column in columns], kind(row))
            for row in rows
        ],
    )
