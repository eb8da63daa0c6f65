"""Sort rows of numbers and add up those that are the same."""

from __future__ import annotations

from collections.abc import Sequence
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
    packed = packed_up(keys, times)
    if packed is not None:
        return packed
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


def widths_of(lows: Sequence[int], highs: Sequence[int]) -> list[int] | None:
    """Return how many bits columns take; None: they do not fit into one whole number.

    >>> widths_of([0, -5], [1, 2]), widths_of([0, 0], [2**40, 2**40])
    ([1, 3], None)
    """
    widths = [(high - low).bit_length() for low, high in zip(lows, highs, strict=True)]
    return widths if sum(widths) <= BITS else None


def unpacked(rows: IntVector, lows: Sequence[int], widths: Sequence[int]) -> list[Any]:
    """Return the columns of packed rows, which are used up."""
    columns = list[Any]()
    for low, width in zip(reversed(lows), reversed(widths), strict=True):
        column = rows & ((1 << width) - 1)
        column += low
        columns.append(column)
        rows >>= width
    return columns[::-1]


def packed_up(keys: list[Any], times: IntVector) -> tuple[list[Any], IntVector] | None:
    """Add up rows as one whole number each: sorting these is several times quicker.

    None: they are no whole numbers, or do not fit.
    """
    columns = [*keys, times]
    if any(column.dtype.kind != "i" for column in columns):
        return None
    lows = [int(column.min()) for column in columns]
    widths = widths_of(lows, [int(column.max()) for column in columns])
    if widths is None:
        return None
    rows = np.zeros(len(times), np.int64)
    for column, low, width in zip(columns, lows, widths, strict=True):
        rows <<= width
        rows += column
        rows -= low
    rows.sort()
    times = (rows & ((1 << widths[-1]) - 1)) + lows[-1]
    rows >>= widths[-1]
    at = starts(rows)
    if len(at) < len(rows):
        rows, times = rows[at], np.add.reduceat(times, at)
    return unpacked(rows, lows[:-1], widths[:-1]), times


def starts(rows: IntVector) -> IntVector:
    """Return where each new value begins in sorted rows, of which there are some.

    >>> starts(np.array([3, 3, 5])).tolist()
    [0, 2]
    """
    return np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
