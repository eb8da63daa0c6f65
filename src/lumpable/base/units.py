"""What logs and learners are told in: names, and rewards in millionths. Knows neither."""

from __future__ import annotations

import math

from lumpable.base.errors import BadArgument

Name = str | int
"""What users, contexts and arms are called; "1" and 1 are two names."""
MICRO = 1_000_000
"""Millionths of a reward of 1: whole numbers, so that every engine adds them up to the same."""
MOST = 2**53
"""Rewards in millionths are below this, so that they are exact as floats, too."""


def to_micro(value: float) -> int:
    """Return a reward in millionths, the nearest; halves go to the even one.

    >>> to_micro(0.1), to_micro(1.0), to_micro(-2.5e-6)
    (100000, 1000000, -2)
    """
    if not math.isfinite(value) or abs(value) * MICRO >= MOST:
        expected = f"a number below {MOST / MICRO:,.0f} in size"
        raise BadArgument("reward", expected, repr(value))
    return round(value * MICRO)


def from_micro(value: int) -> float:
    """Return a reward in millionths as a number."""
    return value / MICRO
