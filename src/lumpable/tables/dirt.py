"""What was wrong with a table, in one table: how many rows, an example, and where."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.base.words import counted
from lumpable.tables.line_ends import open_csv

PLACES = 3
"""Rows of each fault that are named."""
LONGEST = 30
"""Characters of an example."""
LONG = 2**31 - 1
"""Characters of a field, at most."""


@dataclass(frozen=True, slots=True)
class RowFault:
    """Something that is wrong with some rows."""

    fault: str
    rows: int
    example: str
    """A value that is at fault, as text; empty if it is missing."""
    places: tuple[str, ...]
    """The first rows with it: lines of CSV files, else numbers of rows, the first one being 0; none
    where an engine counted them."""


@dataclass(frozen=True, slots=True)
class Dirt:
    """All that was wrong; rows at fault were left out, each of them counted once."""

    rows: int
    """Rows that were read."""
    faults: tuple[RowFault, ...]
    notes: tuple[str, ...]
    """What was done that one should know, with rows that count."""

    @property
    def dropped(self) -> int:
        """Rows that were left out."""
        return sum(fault.rows for fault in self.faults)

    @property
    def words(self) -> str:
        """What happened, in a sentence."""
        if not self.dropped:
            return f"All {counted(self.rows, 'row')} count."
        part = 100.0 * self.dropped / max(1, self.rows)
        share = "under 0.1 %" if part < 0.1 else f"{part:.1f} %"
        return f"{self.dropped:,} of {counted(self.rows, 'row')} left out ({share})."

    def __str__(self) -> str:
        lines = [self.words, *(_line(fault) for fault in self.faults), *self.notes]
        return "\n".join(lines)

    def refuse(self) -> None:
        """Raise an error with this table if anything is wrong."""
        if self.faults:
            raise BadArgument("source", why=f"{self.words} strict refuses them:\n{self._table}")

    @property
    def _table(self) -> str:
        return "\n".join(map(_line, self.faults))


def _line(fault: RowFault) -> str:
    example = f", such as {short(fault.example)}" if fault.example else ""
    places = f"; {', '.join(fault.places)}" if fault.places else ""
    return f"  {fault.fault}: {counted(fault.rows, 'row')}{example}{places}"


def short(example: str) -> str:
    """Return an example in quotes, cut to what fits into a table.

    >>> short("0.5x"), len(short("y" * 100))
    ("'0.5x'", 32)
    """
    return repr(example if len(example) <= LONGEST else example[: LONGEST - 2] + "..")


@contextlib.contextmanager
def csv_records(file: Iterable[str], delimiter: str) -> Iterator[Any]:
    """Read CSV records of any length; Python's limit is for all that this process reads."""
    before = csv.field_size_limit(LONG)
    try:
        yield csv.reader(file, delimiter=delimiter)
    finally:
        csv.field_size_limit(before)


def lines_of(
    path: Path, delimiter: str, records: Iterable[int], unreadable: set[int]
) -> dict[int, int]:
    """Return on which line of a CSV file records stand, numbered from 0 without unreadable ones.

    A record may have several lines, and lines may be empty.
    """
    wanted, found = sorted(set(records)), dict[int, int]()
    if not wanted:
        return found
    with (
        open_csv(path, "rt", encoding="utf-8-sig", newline="", errors="replace") as file,
        csv_records(file, delimiter) as reader,
    ):
        record = -1
        next(reader)
        line = reader.line_num + 1
        for fields in reader:
            if fields and line not in unreadable:
                record += 1
                if record in wanted:
                    found[record] = line
                if record >= wanted[-1]:
                    break
            line = reader.line_num + 1
    return found
