"""Sort rows of numbers and add up those that are the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from lumpable.base.arrays import IntVector

BITS = 63
"""Of a whole number that is not negative."""


def added_up(keys: list[Any], times: IntVector) -> tuple[list[Any], IntVector]:
    """Return rows in order, each once, and how often each came in all.

    >>> keys, times = added_up([np.array([1, 0, 1]), np.array([5, 7, 5])], np.array([2, 1, 3]))
    >>> [key.tolist() for key in keys], times.tolist()
    ([[0, 1], [7, 5]], [1, 5])
    """
    if len(times) == 0:
        return keys, times
    packed = _Packed.of(keys, times)
    if packed is not None:
        return packed.added_up()
    order = np.lexsort(keys[::-1])
    keys, times = [key[order] for key in keys], times[order]
    new = np.logical_or.reduce([np.diff(key) != 0 for key in keys])
    at = np.flatnonzero(np.append(True, new))
    return [key[at] for key in keys], np.add.reduceat(times, at)


def numbered(names: IntVector) -> tuple[list[int], IntVector]:
    """Return which whole numbers there are, in order, and the place of each.

    >>> found, place = numbered(np.array([30, 10, 30]))
    >>> found, place.tolist()
    ([10, 30], [1, 0, 1])
    """
    low, high = (int(names.min()), int(names.max())) if len(names) else (0, 0)
    if high - low > 4 * len(names):
        distinct, place = np.unique(names, return_inverse=True)
        return distinct.tolist(), place
    there = np.zeros(high - low + 1, np.bool_)  # close together: a table is quicker than sorting
    there[names - low] = True
    place = (np.cumsum(there) - 1)[names - low]
    return (np.flatnonzero(there[: len(there) if len(names) else 0]) + low).tolist(), place


class _Packed:
    """Rows as one whole number each: sorting these is several times quicker than sorting rows."""

    def __init__(self, columns: list[IntVector], lows: list[int], widths: list[int]) -> None:
        self.lows, self.widths = lows, widths
        self.rows = np.zeros(len(columns[0]), np.int64)
        for column, low, width in zip(columns, lows, widths, strict=True):
            self.rows <<= width
            self.rows += column
            self.rows -= low

    @classmethod
    def of(cls, keys: list[Any], times: IntVector) -> _Packed | None:
        """Return the rows in this form; None: they are no whole numbers, or do not fit."""
        columns = [*keys, times]
        if any(column.dtype.kind != "i" for column in columns):
            return None
        lows = [int(column.min()) for column in columns]
        widths = [
            (int(column.max()) - low).bit_length()
            for column, low in zip(columns, lows, strict=True)
        ]
        return cls(columns, lows, widths) if sum(widths) <= BITS else None

    def added_up(self) -> tuple[list[Any], IntVector]:
        self.rows.sort()
        times = self._taken(len(self.widths) - 1)
        self.rows >>= self.widths[-1]
        new = np.append(True, self.rows[1:] != self.rows[:-1])
        if not new.all():
            at = np.flatnonzero(new)
            self.rows, times = self.rows[at], np.add.reduceat(times, at)
        keys = []
        for place in range(len(self.widths) - 2, -1, -1):
            keys.append(self._taken(place))
            self.rows >>= self.widths[place]
        return keys[::-1], times

    def _taken(self, place: int) -> IntVector:
        """Return the column that stands last in the rows."""
        column: IntVector = self.rows & ((1 << self.widths[place]) - 1)
        column += self.lows[place]
        return column
