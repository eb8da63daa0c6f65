"""Intervals for numbers between 0 and 1 that need no normal law, by betting.

Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86, 2024:
the hedged capital of section 4.4, with the predictable bets of (26). Whoever bets against a mean
that is the right one gets 2 / alpha times rich with a probability of at most alpha / 2 (Ville), so
means against which one did are not the right one. No law is assumed but that the numbers come one
after the other with the same mean.

Intervals after more and more numbers hold all at once if the numbers stay in the order in which
they came: then each look goes on from the one before (`looks_in_time`). Numbers that are put in
another order at each look have an interval for that look only (`off_policy.by_betting`).
"""

from __future__ import annotations

import math

import numpy as np

from lumpable.base.arrays import FloatVector

MOST_BET = 0.5
"""c: this part of what can be lost is bet at most."""
HALVINGS = 40


def betting_interval(x: FloatVector, level: float = 0.95) -> tuple[float, float]:
    """Return an interval for the mean of numbers in [0, 1], in the order in which they came.

    It is the one at the end, of a sequence all of which hold at once with probability `level`.

    >>> low, high = betting_interval(np.tile([0.0, 1.0], 500))
    >>> bool(0.4 < low < 0.5 < high < 0.6)
    True
    """
    if len(x) == 0:
        return 0.0, 1.0
    bets = _bets(x, 1.0 - level)
    return _lower(x, bets, 1.0 - level), 1.0 - _lower(1.0 - x, bets, 1.0 - level)


def _bets(x: FloatVector, alpha: float) -> FloatVector:
    """Return lambda_t, each a function of the numbers before it."""
    t = np.arange(1.0, len(x) + 1.0)
    mean = (0.5 + np.cumsum(x)) / (t + 1.0)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (t + 1.0)
    before = np.append(0.25, variance[:-1])
    bets: FloatVector = np.sqrt(2.0 * math.log(2.0 / alpha) / (before * t * np.log1p(t)))
    return bets


def _lower(x: FloatVector, bets: FloatVector, alpha: float) -> float:
    """Return the largest mean that is too small: against it the capital became 2 / alpha."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        m = (low + high) / 2.0
        capital = np.cumsum(np.log1p(np.minimum(bets, MOST_BET / m) * (x - m)))
        if capital.max() >= math.log(2.0 / alpha):
            low = m
        else:
            high = m
    return low
