"""Own means of two values: where arms work for a context or do not, whatever its group.

    mu_ij ~ N(high, w^2) with probability q, else N(low, w^2),  low + (high - low) q = theta_gj

Votes, failures and right or wrong answers are so, and no normal law around theta_gj is near it: a
few rewards tell which of the two it is, and above `high` there is nothing to look for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lumpable.base.arrays import FloatVector

OUTER = 0.02, 0.98
"""Where the two values are sought at first, as parts of all cells: few may be low."""
FEWEST_CELLS, STEPS = 20, 15
"""Two values are sought in so many cells with several rewards at least, and so many steps."""
RARELY = 0.02
"""Neither value is rarer than this."""
FIRST_WIDTH, LEAST_WIDTH = 0.125, 0.01
"""w as a part of what the two values differ by: at first, and at least."""


class Ends(NamedTuple):
    """The two values, and the variance around each of them."""

    low: float
    high: float
    around: float

    @property
    def rise(self) -> float:
        """What the high value is more than the low one; 0 if own means have no two values."""
        return self.high - self.low


NO_ENDS = Ends(0.0, 0.0, 1.0)


def two_ends(
    mean: FloatVector, n: FloatVector, noise: FloatVector, expected: FloatVector
) -> tuple[Ends, float] | None:
    """Return the likeliest ends of cells with these averages of n rewards, and ln likelihood.

    `noise` is the variance of a reward, `expected` what is known of the cell without its rewards.
    None if too few cells have several rewards, or all of them are about equal.
    """
    several = n >= 2.0
    if several.sum() < FEWEST_CELLS:
        return None
    low, high = np.quantile(mean[several], OUTER)
    chance = noise / n
    around, likely = (FIRST_WIDTH * (high - low)) ** 2, -np.inf
    for _ in range(STEPS):
        if not low < high:
            return None
        part = np.clip((expected - low) / (high - low), RARELY, 1.0 - RARELY)
        spread = chance + around
        up = np.log(part) - 0.5 * (mean - high) ** 2 / spread
        down = np.log1p(-part) - 0.5 * (mean - low) ** 2 / spread
        whole = np.logaddexp(up, down)
        likely = float((whole - 0.5 * np.log(spread)).sum())
        upper = np.exp(up - whole)
        ends = Ends(float(low), float(high), float(around))
        sure = upper / spread, (1.0 - upper) / spread
        high, low = (float((w * mean).sum() / w.sum()) for w in sure)
        known = around / spread
        away = upper * (mean - high) ** 2 + (1.0 - upper) * (mean - low) ** 2
        around = float((known**2 * away + known * chance).mean())
        around = max(around, (LEAST_WIDTH * (high - low)) ** 2)
    return ends, likely
