"""What is written in pictures: names beside the ends of lines, and numbers along the axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

LEADS = ((1.0, 2.0, 5.0), (1.0,), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
"""Of the numbers along a logarithmic axis, the most wanted first."""
LEAST, MOST = 3, 8
"""Numbers along an axis."""


def spread(wanted: Sequence[float], gap: float, height: float) -> list[float]:
    """Move sorted places apart by a gap, as little as possible in the sum of squares.

    >>> spread([10.0, 10.0, 50.0], gap=20, height=100)
    [0.0, 20.0, 50.0]
    """
    blocks: list[list[float]] = []  # mean and size of pooled places, each less its gaps
    for number_, place in enumerate(wanted):
        blocks.append([place - gap * number_, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, size = blocks.pop()
            before = blocks[-1]
            before[0] = (before[0] * before[1] + mean * size) / (before[1] + size)
            before[1] += size
    pooled = [mean for mean, size in blocks for _ in range(int(size))]
    most = height - gap * (len(wanted) - 1)
    return [min(max(0.0, x), most) + gap * k for k, x in enumerate(pooled)]


def ticks(low: float, high: float) -> list[float]:
    """Return the numbers along a logarithmic axis: 1-2-5, fewer if it is long, more if short.

    >>> ticks(40.0, 600.0), ticks(3.0, 2e4), ticks(0.91, 1.45)
    ([50.0, 100.0, 200.0, 500.0], [10.0, 100.0, 1000.0, 10000.0], [1.0, 1.2, 1.4])
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for leads in LEADS:
        found = [float(f"{lead}e{power}") for power in powers for lead in leads]
        found = [x for x in found if low <= x <= high]
        if LEAST <= len(found) <= MOST:
            return found
    if len(powers) > MOST:
        return [10.0**power for power in powers if low <= 10.0**power <= high][:: len(powers) // 5]
    return _even(low, high)


def _even(low: float, high: float) -> list[float]:
    """Return round numbers at equal steps: along so short an axis they are almost so."""
    power = math.floor(math.log10(high - low))
    steps = [float(f"{lead}e{power - 1}") for lead in (50, 20, 10, 5, 2, 1)]
    for step in steps:
        places = range(math.ceil(low / step), math.floor(high / step) + 1)
        if len(places) >= LEAST:
            break
    return [float(f"{k * step:.12g}") for k in places]
