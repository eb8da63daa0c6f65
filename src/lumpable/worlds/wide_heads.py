"""Whether a wide table begins with the names of its contexts, or with an arm.

Names come first. But a matrix of numbers that was written without names looks the same: neither its
first arm nor its first context must become names without a word. Knows heads and values, nothing of
files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from lumpable.base.errors import BadArgument

NAMED = ("", "context")
"""Heads of names, whatever stands below; frames write their index under an empty one."""
DOUBT = (
    "names of contexts under a head unlike the others, such as 'context', or means that are not "
    "all different whole numbers (npy and npz files hold means alone)"
)


def check_heads(heads: Sequence[str]) -> None:
    """Refuse heads that are all numbers and not all whole ones: means, in a file without heads."""
    if any(math.isnan(_number(head)) for head in heads):
        return
    if not all(head.strip().lstrip("+-").isdecimal() for head in heads):
        expected = (
            "names of arms in the first line (write the matrix as npy or npz, or put a line of "
            "names above it)"
        )
        raise BadArgument("path", expected, f"{list(heads)[:10]}")


def begins_with_names(heads: Sequence[str], column: Iterable[Any]) -> bool:
    """Say whether the first column holds names; `heads` are those of all columns.

    Words are names, and fractions are means. Whole numbers are names, unless the head counts along
    with the others; then they are means if some are equal, and else there is no telling.

    >>> begins_with_names(["user", "x", "y"], ["17", "18"])
    True
    >>> begins_with_names(["user", "x", "y"], ["0.25", "0.5"])
    False
    >>> begins_with_names(["0", "1", "2"], ["1", "1"])
    False
    """
    if heads[0] in NAMED:
        return True
    whole: set[float] = set()
    number, different = 0, True
    for value in column:
        if value is None or value == "":
            continue
        read = _number(value)
        if math.isnan(read):
            return True
        if not read.is_integer():
            return False
        different = different and read not in whole
        whole.add(read)
        number += 1
    if number == 0 or not _count_along(heads):
        return True
    if different and number > 1:
        got = f"{heads[0]!r} beside {heads[1]!r}, above different whole numbers"
        raise BadArgument("path", DOUBT, got)
    return False


def _number(value: Any) -> float:
    """Return a value as a finite number; NaN if it is something else."""
    try:
        read = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return read if math.isfinite(read) else math.nan


def _count_along(heads: Sequence[str]) -> bool:
    """Say whether all heads count on from the first one: 0, 1, 2 or arm1, arm2, arm3."""
    stems = [head.rstrip("0123456789") for head in heads]
    ends = [head[len(stem) :] for head, stem in zip(heads, stems, strict=True)]
    if len(set(stems)) > 1 or not all(0 < len(end) < 10 for end in ends):
        return False
    first = int(ends[0])
    return [int(end) for end in ends] == list(range(first, first + len(ends)))
