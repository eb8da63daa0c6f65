"""A part of a source of events: a table that DuckDB reads in one go, and how SQL names it.

Knows no file and no frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.base.words import nearest

AS_IT_IS = "hive_partitioning=false"
"""A file has the columns that are in it: a folder named user=ann says nothing."""
UNTYPED = '"NULL"'
"""DuckDB's type of a column of which every field is missing."""
TAGGED = "TAGGED"
"""The type of a frame's column of Python objects: text whose first letter says what it was."""


@dataclass(frozen=True, slots=True)
class Part:
    """A table that DuckDB reads in one go."""

    name: str
    """Of the file; empty for a frame."""
    relation: str
    """What stands behind FROM."""
    row: str
    """The number of a row, from 0 on, as SQL; for CSV files, of a record."""
    types: Mapping[str, str]
    """DuckDB's type of each column."""
    path: Path | None = None
    delimiter: str = ""
    """Of CSV files."""
    rows: int | None = None
    """How many rows it has, if that is known without reading it."""
    empty: bool = False
    """Whether there is nothing in its file, not even a head: so some write a day without events."""
    copy: Path | None = None
    """Of a file whose lines end in several ways: what is read instead, where they end in one."""

    @property
    def text(self) -> bool:
        """Whether it is a CSV file."""
        return self.delimiter != ""

    @property
    def read(self) -> Path | None:
        """What DuckDB reads: the file, or the copy of it."""
        return self.copy or self.path


def quote(name: str) -> str:
    """Return a column's name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as SQL.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def path_literal(path: Path) -> str:
    """Return the name of one file as SQL: DuckDB would take `*`, `?` and `[` for patterns.

    >>> path_literal(Path("ev[1].csv"))
    "'ev[[]1].csv'"
    """
    return literal("".join(f"[{one}]" if one in "[*?" else one for one in str(path)))


def there(columns: list[str], header: Sequence[str], where: str) -> list[str]:
    """Return the columns that are needed, if a table has them all and can tell them apart."""
    for column in columns:
        if column not in header:
            near = nearest(column, header)
            listed = ", ".join(map(repr, header[:20])) + (", .." if len(header) > 20 else "")
            raise BadArgument("source", f"a column {column!r} in {where}", f"{listed}{near}")
    alike = {column.casefold(): column for column in columns}
    for column in columns:
        if alike[column.casefold()] != column:
            got = f"{column!r} and {alike[column.casefold()]!r}"
            raise BadArgument("source", f"columns in {where} that differ in more than case", got)
    return columns


def types_of(con: Any, relation: str) -> dict[str, str]:
    """Return DuckDB's type of each column of a relation."""
    rows = con.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    return {row[0]: row[1] for row in rows}
