"""Sort rows of numbers and add up those that are the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lumpable.base.arrays import IntVector

BITS = 63
"""Of a whole number that is not negative."""
BLOCK = 1 << 20
"""Rows that are looked at together."""
MOSTLY = 0.8
"""If fewer rows than this part are left, they move to where they take no more memory than that."""
Counted = tuple[IntVector, Any]
"""Rows in order, each once, and how often each came, in as few bits as that takes."""


def add_up(keys: list[Any], times: IntVector) -> tuple[list[Any], IntVector]:
    """Return rows in order, each once, and how often each came in all.

    >>> keys, times = add_up([np.array([1, 0, 1]), np.array([5, 7, 5])], np.array([2, 1, 3]))
    >>> [key.tolist() for key in keys], times.tolist()
    ([[0, 1], [7, 5]], [1, 5])
    """
    if len(times) == 0:
        return keys, times
    packed = add_up_packed(keys, times)
    if packed is not None:
        return packed
    order = np.lexsort(keys[::-1])
    keys, times = [key[order] for key in keys], times[order]
    new = np.logical_or.reduce([np.diff(key) != 0 for key in keys])
    at = np.flatnonzero(np.append(True, new))
    return [key[at] for key in keys], np.add.reduceat(times, at)


def number_values(names: IntVector) -> tuple[list[int], IntVector]:
    """Return which whole numbers there are, in order, and the place of each.

    >>> found, place = number_values(np.array([30, 10, 30]))
    >>> found, place.tolist()
    ([10, 30], [1, 0, 1])
    """
    low, high = (int(names.min()), int(names.max())) if len(names) else (0, 0)
    if high - low > 4 * len(names):
        distinct, place = np.unique(names, return_inverse=True)
        return distinct.tolist(), place
    there = np.zeros(high - low + 1, np.bool_)  # close together: a table is quicker than sorting
    for part in blocks(len(names)):
        there[names[part] - low] = True
    place_of = np.cumsum(there, dtype=narrowest(0, len(there))) - 1
    places = np.empty(len(names), place_of.dtype)
    for part in blocks(len(names)):
        places[part] = place_of[names[part] - low]
    return (np.flatnonzero(there[: len(there) if len(names) else 0]) + low).tolist(), places


def widths_of(lows: Sequence[int], highs: Sequence[int]) -> list[int] | None:
    """Return how many bits columns take; None: they do not fit into one whole number.

    >>> widths_of([0, -5], [1, 2]), widths_of([0, 0], [2**40, 2**40])
    ([1, 3], None)
    """
    widths = [(high - low).bit_length() for low, high in zip(lows, highs, strict=True)]
    return widths if sum(widths) <= BITS else None


def unpack(
    rows: IntVector, lows: Sequence[int], widths: Sequence[int], kinds: Sequence[Any]
) -> list[Any]:
    """Return the columns of packed rows, which are used up."""
    columns = list[Any]()
    for low, width, kind in zip(reversed(lows), reversed(widths), reversed(kinds), strict=True):
        column = np.empty(len(rows), kind)
        for part in blocks(len(rows)):
            column[part] = (rows[part] & ((1 << width) - 1)) + low
            rows[part] >>= width
        columns.append(column)
    return columns[::-1]


def narrowest(low: int, high: int) -> Any:
    """Return the type of whole numbers from `low` to `high`: half as wide if that is enough.

    >>> narrowest(0, 10).__name__, narrowest(0, 2**31).__name__
    ('int32', 'int64')
    """
    return np.int32 if low >= -(2**31) and high < 2**31 else np.int64


def blocks(length: int) -> Iterator[slice]:
    """Yield parts of a long column, so that what is made on the way is short."""
    return (slice(start, min(start + BLOCK, length)) for start in range(0, length, BLOCK))


def add_up_packed(keys: list[Any], times: IntVector) -> tuple[list[Any], IntVector] | None:
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
    return unpack(rows, lows[:-1], widths[:-1], [np.int64] * len(keys)), times


def starts(rows: IntVector) -> IntVector:
    """Return where each new value begins in sorted rows, of which there are some.

    >>> starts(np.array([3, 3, 5])).tolist()
    [0, 2]
    """
    return np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))


def merge(lists: list[Counted]) -> Counted:
    """Put lists of rows, each in order and without repetitions, into one; they are used up.

    Rows are not negative. It takes about as much memory as the lists.

    >>> one, other = ((np.array(rows), np.ones(2, np.uint8)) for rows in ([3, 5], [4, 5]))
    >>> [column.tolist() for column in merge([one, other])]
    [[3, 4, 5], [1, 1, 2]]
    """
    if len(lists) == 1:
        return lists.pop()
    most = max(int(times.max()) for _, times in lists)
    width, longest = most.bit_length(), max(int(rows[-1]).bit_length() for rows, _ in lists)
    kind = np.min_scalar_type(len(lists) * most)
    if width + longest > BITS:
        keys, times = (np.concatenate(column) for column in zip(*lists, strict=True))
        lists.clear()
        (keys,), times = add_up([keys], times.astype(np.int64))
        return keys, times.astype(kind)
    whole, filled = np.empty(sum(len(rows) for rows, _ in lists), np.int64), 0
    while lists:
        rows, times = lists.pop()
        for part in blocks(len(rows)):
            packed = whole[filled : filled + part.stop - part.start]
            np.left_shift(rows[part], width, out=packed)
            packed |= times[part]
            filled += len(packed)
        del rows, times
    whole.sort()
    return _count_repeats(whole, width, kind)


def _count_repeats(whole: IntVector, width: int, kind: Any) -> Counted:
    """Add up sorted rows whose last bits say how often each came, in place."""
    times, kept, last = np.empty(len(whole), kind), 0, -1
    for part in blocks(len(whole)):
        rows, n = whole[part] >> width, whole[part] & ((1 << width) - 1)
        new = np.append(rows[0] != last, rows[1:] != rows[:-1])
        at, last = np.flatnonzero(new), int(rows[-1])
        first = int(at[0]) if len(at) else len(rows)
        if first > 0:  # goes on from the block before
            times[kept - 1] += n[:first].sum().astype(kind)
        if len(at):
            end = kept + len(at)
            whole[kept:end], times[kept:end] = rows[at], np.add.reduceat(n, at)
            kept = end
    if kept < MOSTLY * len(whole):
        return whole[:kept].copy(), times[:kept].copy()
    return whole[:kept], times[:kept]
