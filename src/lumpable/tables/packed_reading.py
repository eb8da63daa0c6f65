"""Read a table whose rows fit into one whole number each: user, item and reward, side by side.

Two looks at each file: the first counts what is wrong and finds how far the numbers go, the second
fetches one number for each row. Sorting those is quicker than grouping rows, and takes eight bytes
a row; of a large file, some rows at a time are sorted and counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lumpable.base.arrays import IntVector
from lumpable.base.errors import BadArgument
from lumpable.base.words import counted
from lumpable.tables.adding_up import (
    Counted,
    merge,
    narrowest,
    starts,
    unpack,
    widths_of,
)
from lumpable.tables.queries import Progress, run
from lumpable.tables.source_parts import Part

CHUNK = 1 << 24
"""Rows of a file that are fetched at once."""


@dataclass(frozen=True, slots=True)
class Field:
    """One of the numbers that make up a row."""

    sql: str
    ends: tuple[int, int] | tuple[()] = ()
    """The least and the greatest it can be, if that is known."""


@dataclass(frozen=True, slots=True, eq=False)
class PackedRows:
    """Rows in order, each once: numbers or values of users and items, rewards, and how often."""

    keys: list[Any]
    times: IntVector
    wrong: list[tuple[int, int, int]]
    """Part, fault, and how many rows have it."""
    span: tuple[int, int] | None


class PackedReading:
    """One reading of parts, whose names are whole numbers or are numbered in a table."""

    def __init__(
        self, con: Any, parts: list[Part], queries: list[str], progress: Progress | None
    ) -> None:
        self.con, self.parts, self.queries, self.progress = con, parts, queries, progress
        self.lists: list[Counted] = []
        """Packed rows and how often each came: of all that was put together, and of each chunk
        since."""

    def rows(self, fields: list[Field], joins: str) -> PackedRows | None:
        """Return all rows; None: there are none that count, or they do not fit.

        `fields` are user, item, reward and perhaps propensity, `joins` the tables that number
        names and propensities.
        """
        unknown = [field for field in fields if not field.ends]
        looked, (*ends, span) = self._look(unknown)
        good = {number: many for number, fault, many in looked if fault == 0}
        if not good:
            return None
        found = iter(ends)
        within = [field.ends or next(found) for field in fields]
        lows, highs = [low for low, _ in within], [high for _, high in within]
        widths = widths_of(lows, highs)
        if widths is None:
            return None
        packed = "0::BIGINT"
        for field, low, width in zip(fields, lows, widths, strict=True):
            packed = f"(({packed}) << {width}) + ({field.sql} - ({low}))"
        for number, many in good.items():
            sql = f"SELECT {packed} AS k FROM ({self.queries[number]}) c {joins}"
            self._alike(number, many, self._fetch(number, sql))
        rows, counts = merge(self.lists)
        times = counts.astype(narrowest(0, int(counts.max())))
        wrong = [row for row in looked if row[1] > 0]
        ends = list(zip(lows, highs, strict=True))
        kinds = [
            np.int64 if field.sql == "m" else narrowest(low, high)
            for field, (low, high) in zip(fields, ends, strict=True)
        ]
        keys = unpack(rows, lows, widths, kinds)
        return PackedRows(keys, times, wrong, None if span[0] is None else span)

    def _look(self, fields: list[Field]) -> tuple[list[Any], list[Any]]:
        """Return part, fault and rows; and from where to where the fields and times go."""
        values = [*(field.sql for field in fields), "t"]
        ends = ", ".join(f"min({sql}) AS a{k}, max({sql}) AS z{k}" for k, sql in enumerate(values))
        for number, query in enumerate(self.queries):
            make = "CREATE OR REPLACE TEMP TABLE looked AS" if number == 0 else "INSERT INTO looked"
            sql = f"{make} SELECT {number} AS part, fault, count(*) AS n, {ends} FROM ({query})"
            run(self.con, f"{sql} GROUP BY fault", self.progress, *self._words(number, 0.0))
        rows = self.con.execute("SELECT part, fault, n FROM looked").fetchall()
        whole = ", ".join(f"min(a{k}), max(z{k})" for k in range(len(values)))
        far = self.con.execute(f"SELECT {whole} FROM looked WHERE fault = 0").fetchone()
        return rows, list(zip(far[::2], far[1::2], strict=True))

    def _alike(self, number: int, before: int, now: int) -> None:
        """Refuse a part in which both looks did not find as many rows."""
        if before != now:
            name = repr(str(self.parts[number].path)) if self.parts[number].path else "the frame"
            found = f"{counted(before, 'row')} at first, then {now:,}"
            why = f"{name} is damaged, or was written meanwhile: {found}"
            raise BadArgument("source", why=why)

    def _fetch(self, number: int, sql: str) -> int:
        """Fetch the rows of a part as packed numbers, and sort them; return how many."""
        part, many = self.parts[number], 0
        rows = part.rows or 0
        chunks = range(0, rows, CHUNK) if part.path is not None else range(0, rows, rows)
        for start in chunks:
            some = f"WHERE fault = 0 AND row BETWEEN {start} AND {start + CHUNK - 1}"
            whole = len(chunks) == 1
            found = self.con.execute(f"{sql} {'WHERE fault = 0' if whole else some}").fetchnumpy()
            self._take(np.ma.getdata(found["k"]))
            many += len(found["k"])
            if self.progress is not None:
                words, (low, high) = self._words(number, 0.5)
                self.progress(low + (high - low) * min(1.0, (start + CHUNK) / rows), words)
        return many

    def _take(self, rows: IntVector) -> None:
        """Sort and count the rows of a chunk."""
        if len(rows) == 0:
            return
        rows.sort()
        at = starts(rows)
        times = np.diff(np.append(at, len(rows)))
        self.lists.append((rows[at], times.astype(np.min_scalar_type(int(times.max())))))
        first, *waiting = (len(one) for one, _ in self.lists)
        if sum(waiting) > first + 2 * CHUNK:
            self.lists.append(merge(self.lists))

    def _words(self, number: int, start: float) -> tuple[str, tuple[float, float]]:
        """Return what is done, and from where to where that goes; both looks are a half."""
        step = 0.5 / len(self.parts)
        span = start + step * number, start + step * (number + 1)
        return f"reading {self.parts[number].name or 'the frame'}", span
