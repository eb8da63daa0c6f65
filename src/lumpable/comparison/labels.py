"""Names beside the ends of lines: where they go, so that none covers another."""

from __future__ import annotations

from collections.abc import Sequence


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
