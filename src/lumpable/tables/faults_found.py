"""Where things are wrong: the first rows of each fault, found in a second look at the files."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lumpable.tables.cleaning import (
    CONTRADICTED,
    FAULTS,
    REPEATED,
    UNREADABLE,
    Columns,
    fault_words,
)
from lumpable.tables.dirt import PLACES, RowFault, csv_records, lines_of
from lumpable.tables.line_ends import open_csv
from lumpable.tables.source_parts import Part

BLOCK = 1 << 20
BLANK = re.compile(rb"[\r\n]*+")
SHOWN = 100
"""Characters of a record that are kept."""
WHOLE = 9_000
"""Bytes of a record that DuckDB tells for sure; of longer ones it tells the beginning."""
Place = tuple[int, int, str]
"""Part, row and example."""


class Found:
    """A second look at the parts of a source."""

    def __init__(self, con: Any, parts: list[Part], queries: list[str]) -> None:
        self.con, self.parts, self.queries = con, parts, queries
        self.bad: dict[int, dict[int, str]] = {}
        """Where records of CSV files stand that could not be read, and how they begin, by part."""

    def unreadable(self) -> dict[int, int]:
        """Return how many lines of CSV files could not be read, by part."""
        count = dict[int, int]()
        if any(part.text for part in self.parts):
            rows = self.con.execute(
                "SELECT DISTINCT file_path, line_byte_position, csv_line "
                "FROM reject_errors JOIN reject_scans USING (scan_id, file_id)"
            ).fetchall()
            for number, part in enumerate(self.parts):
                at = {place: text for path, place, text in rows if path == str(part.read)}
                if at and part.read is not None:
                    lines = line_numbers(part.read, at)
                    self.bad[number] = {
                        lines[place]: text.lstrip("\r\n")[:SHOWN] for place, text in at.items()
                    }
                    count[number] = sum(_lines(part, *one) for one in at.items())
        return count

    def first(self, fault: int, parts: Iterable[int]) -> list[Place]:
        """Return the first rows with a fault."""
        found: list[Place] = []
        for number in parts:
            if fault == UNREADABLE:
                lines = sorted(self.bad[number].items())[:PLACES]
                found += [(number, line, text) for line, text in lines]
            else:
                found += self._read_places(
                    f"SELECT {number} AS part, row, example FROM ({self.queries[number]}) "
                    f"WHERE fault = {fault}"
                )
            if len(found) >= PLACES:
                break
        return found[:PLACES]

    def first_ids(self, fault: int) -> list[Place]:
        """Return the first rows that repeat an event id, or contradict another row with it."""
        some, after = ("versions = 1", 1) if fault == REPEATED else ("versions > 1", 0)
        every = " UNION ALL ".join(
            f"SELECT {number} AS part, row, id FROM ({query}) WHERE fault = 0"
            for number, query in enumerate(self.queries)
        )
        return self._read_places(
            "SELECT part, row, id FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY "
            f"part, row) AS k FROM ({every}) JOIN (SELECT id FROM twice WHERE {some}) USING (id)) "
            f"WHERE k > {after}"
        )

    def _read_places(self, sql: str) -> list[Place]:
        self.con.execute("SET preserve_insertion_order = true")  # rows are numbered as they stand
        rows: list[Place] = self.con.execute(
            f"SELECT * FROM ({sql}) ORDER BY part, row LIMIT {PLACES}"
        ).fetchall()
        return rows

    def words(self, places: list[Place], *, lines: bool) -> tuple[str, ...]:
        """Say where rows stand; `lines`: these are lines of a file already."""
        said = []
        for number, row, _ in places:
            part = self.parts[number]
            where = f"row {row:,}"
            if part.text and part.read is not None:
                bad = set(self.bad.get(number, {}))
                at = row if lines else lines_of(part.read, part.delimiter, [row], bad).get(row)
                where = f"record {row:,}" if at is None else f"line {at:,}"
            several = len(self.parts) > 1
            said.append(f"{part.name} {where}" if several else where)
        return tuple(said)


def faults_of(
    found: Found, counted: list[tuple[int | None, int, int]], columns: Columns
) -> tuple[RowFault, ...]:
    """Return all faults: `counted` has part, fault and rows."""
    parts: dict[int, list[int]] = defaultdict(list)
    rows: dict[int, int] = defaultdict(int)
    for part, fault, number in counted:
        rows[fault] += number
        parts[fault] += [] if part is None else [part]
    faults = []
    for fault in sorted(rows):
        ids = fault in (REPEATED, CONTRADICTED)
        places = found.first_ids(fault) if ids else found.first(fault, sorted(parts[fault]))
        example = next((text for _, _, text in places if text), "")
        where = found.words(places, lines=fault == UNREADABLE)
        words = fault_words(FAULTS[fault], columns.named)
        faults.append(RowFault(words, rows[fault], example, where))
    return tuple(faults)


def _lines(part: Part, place: int, text: str) -> int:
    """Return how many lines a record has: one quote too many makes a record of all that follows."""
    if len(text) < WHOLE or part.read is None:
        return max(1, sum(bool(line) for line in re.split(r"\r\n|\n|\r", text)))
    with open_csv(part.read, "rb") as file:
        file.seek(max(0, place - 1))  # places are counted from 1 on
        rest = io.TextIOWrapper(file, "utf-8", errors="replace", newline="")
        with csv_records(rest, part.delimiter) as reader:
            before = 0
            while not next(reader):
                before = reader.line_num
            held: int = reader.line_num - before
            return held


def line_numbers(path: Path, at: Iterable[int]) -> dict[int, int]:
    """Return on which line of a file records begin; the first line is 1.

    `at` is where DuckDB says that they do, the first byte being 1: it takes blank lines before a
    record for a part of it, and the last byte of the line before where lines end in two.
    """
    places, found = sorted(at), dict[int, int]()
    line, begin, last = 1, 0, b""
    with open_csv(path, "rb") as file:
        while len(found) < len(places) and (block := file.read(BLOCK)):
            done = 0
            while len(found) < len(places):
                start = max(done, places[len(found)] - 1 - begin)
                if start < len(block) and (blank := BLANK.match(block, start)) is not None:
                    start = blank.end()
                if start >= len(block):
                    break  # it is in a later block, or its blank lines go on there
                line += _ends(block, done, start, last)
                found[places[len(found)]], done = line, start
            line += _ends(block, done, len(block), last)
            begin, last = begin + len(block), block[-1:]
    return found | dict.fromkeys(places[len(found) :], line)


def _ends(block: bytes, start: int, stop: int, last: bytes) -> int:
    r"""Return how many lines end in a part of a block; `last` is the byte before the block.

    >>> [_ends(b"\na\r\nb\rc\n", start, 8, b"\r") for start in (0, 1, 3)]
    [3, 3, 2]
    """
    both = block.count(b"\r\n", max(0, start - 1), stop)
    both += start == 0 < stop and last + block[:1] == b"\r\n"
    return block.count(b"\n", start, stop) + block.count(b"\r", start, stop) - both
