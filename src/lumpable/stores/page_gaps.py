"""Bytes of an SQLite file that belong to nothing: copies that stay where rows were once.

When SQLite splits a page or joins two, it moves rows and leaves what stood between them, also with
`secure_delete`: the gap of a page, between its list of cells and the first of these, may hold rows
that were moved elsewhere, and erased there. Here gaps are overwritten in the file itself. Readers
look at no gap, so that they may read meanwhile; whoever writes must know that pages it holds in
memory have the old ones. (File format: https://sqlite.org/fileformat2.html, section 1.6.)
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

INTERIOR_INDEX, INTERIOR_TABLE, LEAF_INDEX, LEAF_TABLE = 2, 5, 10, 13
INTERIOR = INTERIOR_INDEX, INTERIOR_TABLE
KINDS = (*INTERIOR, LEAF_INDEX, LEAF_TABLE)
FIRST_HEADER = 100
"""Bytes at the start of the first page, before its own."""
DAMAGED = "the file is damaged: a page of it cannot be"
ROOTS = "SELECT rootpage FROM sqlite_schema WHERE rootpage > 0"


class Gaps:
    """The gaps of a file that one connection of this process writes.

    It has the file open as long as it lives: closing it would take away the locks of all
    connections of this process (POSIX), so that must be done last.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))

    def wipe(self, db: sqlite3.Connection) -> None:
        """Overwrite all gaps, durably; nothing may be in the write-ahead log, and `db` must rest.

        What `db` holds of pages in memory is dropped.
        """
        roots = [1, *(root for (root,) in db.execute(ROOTS).fetchall())]
        wiped = 0
        for start, end in self._gaps(roots):
            self._at(start)
            wiped += os.write(self._file, bytes(end - start))
        if wiped:
            os.fsync(self._file)
        db.execute("PRAGMA shrink_memory")

    def _gaps(self, roots: list[int]) -> Iterator[tuple[int, int]]:
        """Yield where gaps begin and end that are not empty."""
        size = self._page_size()
        left, nothing = os.fstat(self._file).st_size // size, bytes(size)
        while roots:
            number, left = roots.pop(), left - 1
            self._at((number - 1) * size)
            page = os.read(self._file, size)
            try:
                tree = _page(page, FIRST_HEADER if number == 1 else 0)
            except IndexError:
                raise sqlite3.DatabaseError(DAMAGED) from None
            roots += tree.children
            for start, end in tree.free:
                if left < 0 or not start <= end <= len(page):
                    raise sqlite3.DatabaseError(DAMAGED)
                if page[start:end] != nothing[: end - start]:
                    yield (number - 1) * size + start, (number - 1) * size + end

    def _page_size(self) -> int:
        self._at(16)
        size = int.from_bytes(os.read(self._file, 2), "big")
        return 65_536 if size == 1 else size

    def _at(self, place: int) -> None:
        os.lseek(self._file, place, os.SEEK_SET)

    def close(self) -> None:
        """Let go of the file, after all connections did."""
        os.close(self._file)


class _Page(NamedTuple):
    children: list[int]
    free: list[tuple[int, int]]
    """Where what belongs to nothing begins and ends: the gap, and in freed blocks."""


def _page(page: bytes, at: int) -> _Page:
    """Read the page of a tree, whose header is there."""
    kind, block, cells, content = page[at], *_numbers(page, at + 1, 3)
    if kind not in KINDS:
        raise sqlite3.DatabaseError(DAMAGED)
    first, children = at + 8, list[int]()
    if kind in INTERIOR:
        first += 4
        left = (int.from_bytes(page[p : p + 4], "big") for p in _numbers(page, first, cells))
        children = [*left, int.from_bytes(page[at + 8 : at + 12], "big")]
    free = [(first + 2 * cells, content or 65_536)]
    while block:
        after, length = _numbers(page, block, 2)
        free.append((block + 4, block + length))
        if after and after <= block:
            raise sqlite3.DatabaseError(DAMAGED)
        block = after
    return _Page(children, free)


def _numbers(page: bytes, at: int, how_many: int) -> list[int]:
    """Return so many numbers of two bytes."""
    return [page[k] << 8 | page[k + 1] for k in range(at, at + 2 * how_many, 2)]
