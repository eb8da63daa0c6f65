"""Scores of rewards of any law, in [0, 1]; and what scores and rewards say of each cell.

Who is alike is found on scores. A score is the reward itself, between the outer half percents of
all rewards, if the noise has tails no heavier than a normal law's; else its rank. So no single
reward can make a group. Where contexts differ widely in noise, their tails are judged by their own
noise. Rewards of 0 and 1 are their own scores, also beside a few wild ones. Scores become coins by
how much they vary (see `dispersion`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lumpable.base.arrays import FloatVector
from lumpable.lumps.model.counts import Counts
from lumpable.lumps.model.ends import FEWEST_CELLS
from lumpable.lumps.model.variances import own_noise

OUTER = 0.005
"""The outer parts of all rewards: beyond them, scores are 0 and 1."""
FENCE = 3.0
"""Rewards farther beyond the outer parts than this many times the distance of these are wild."""
RARE_AMOUNTS, ONE_VALUE = 0.1, 0.9
"""Amounts are rare if no more than this part of all rewards differs from the usual one, and not
this part of these has one value."""
MIDDLE = 0.1, 0.9
LIGHT = 0.45
"""Tails are light if the middle four fifths of what rewards differ from their cells' averages take
this part of the range within the outer parts; a normal law has half, an exponential one a third."""
KNOTS = 512
"""Ranks are kept at this many rewards at most, and interpolated in between."""


class Score(NamedTuple):
    """A score: linear between knots, constant beyond them; and the fence for wild rewards."""

    knot: FloatVector
    grade: FloatVector
    low: float
    high: float

    def of(self, rewards: FloatVector) -> FloatVector:
        """Return the scores of rewards."""
        score: FloatVector = np.interp(rewards, self.knot, self.grade)
        return score


class Cells(NamedTuple):
    """What scores and rewards say of each cell of counts."""

    rewards: FloatVector
    """How many there were, ..."""
    n: FloatVector
    """... and how many of a usual context tell as much (see `dispersion.evened`)."""
    u: FloatVector
    """The sum of scores, and the squares around their average."""
    u_squares: FloatVector
    s: FloatVector
    """The same of rewards; wild ones count as the fence."""
    s_squares: FloatVector
    telling: float
    """How much the square of a reward tells about the noise, against one with a normal law: less
    where few large rewards make most of it."""


def scoring(counts: Counts) -> Score:
    """Return the score of these rewards."""
    value, weight = all_values(counts)
    low, high = outer_ends(value, weight)
    fence = fence_of(*_beside_the_usual(value, weight, (low, high)))
    if low == high:
        return Score(np.array([low]), np.array([0.5]), *fence)
    at_ends = weight[(value == low) | (value == high)].sum() / weight.sum()
    if at_ends >= 1.0 - 2.0 * OUTER or _tails_are_light(counts, low, high):
        return Score(np.array([low, high]), np.array([0.0, 1.0]), *fence)
    rank = (np.cumsum(weight) - 0.5 * weight) / weight.sum()
    first, last = np.searchsorted(value, [low, high])
    value, grade = value[first : last + 1], rank[first : last + 1] - rank[first]
    if len(value) > KNOTS:
        at = np.searchsorted(grade, np.linspace(0.0, grade[-1], KNOTS))
        at = np.unique(np.concatenate([[0], np.minimum(at, len(value) - 1), [len(value) - 1]]))
        value, grade = value[at], grade[at]
    return Score(value, grade / grade[-1], *fence)


def outer_ends(value: FloatVector, weight: FloatVector) -> tuple[float, float]:
    """Return a and b: all but the outer half percents of these values lie from a to b."""
    low, high = _quantiles(value, weight, (OUTER, 1.0 - OUTER))
    other = value != low
    if low == high and other.any():  # nearly all rewards are equal: see how far the others reach
        ends = _quantiles(value[other], weight[other], (OUTER, 1.0 - OUTER))
        low, high = min(low, ends[0]), max(high, ends[1])
    return low, high


def _beside_the_usual(
    value: FloatVector, weight: FloatVector, ends: tuple[float, float]
) -> tuple[float, float]:
    """Return the ends with all but the outer half percents of amounts that are rare.

    Where nearly all rewards are one value, as where few visits end in a purchase, the outer half
    percent of all rewards begins within the usual amounts. Beside coins, others are wild.
    """
    usual = int(np.argmax(weight))
    rest = np.where(np.arange(len(value)) == usual, 0.0, weight)
    amounts = float(rest.sum())
    if not 0.0 < amounts <= RARE_AMOUNTS * weight.sum() or rest.max() >= ONE_VALUE * amounts:
        return ends
    low, high = _quantiles(value[rest > 0.0], rest[rest > 0.0], (OUTER, 1.0 - OUTER))
    return min(low, ends[0]), max(high, ends[1])


def fence_of(low: float, high: float) -> tuple[float, float]:
    """Return the ends as which rewards beyond them count."""
    return low - FENCE * (high - low), high + FENCE * (high - low)


def _tails_are_light(counts: Counts, low: float, high: float) -> bool:
    """Whether rewards lie around the average of their cell about as a normal law does.

    While few cells have several rewards, they are compared with the average of their arm. Contexts
    that differ in noise would look like one law with heavy tails, and ranks would then see their
    noise as a mean: each is measured by its own noise.
    """
    others = counts.others
    assert others is not None
    odd = np.bincount(others.cell, others.times, minlength=len(counts.n))
    every = np.arange(len(counts.n))
    cell = np.concatenate([others.cell, every, every])
    value = np.concatenate([others.value, np.zeros(len(every)), np.ones(len(every))])
    times = np.concatenate([others.times, counts.n - counts.s - odd, counts.s])
    value = np.clip(value, low - (high - low), high + (high - low))
    several = counts.n >= 2.0
    group = every if several.sum() >= FEWEST_CELLS else counts.arm
    pulls = np.bincount(group, counts.n)
    mean = np.bincount(group[cell], times * value) / np.maximum(pulls, 1.0)
    kept = (times > 0.0) & (pulls[group[cell]] >= 2.0)
    away, times, row = (value - mean[group[cell]])[kept], times[kept], counts.row[cell][kept]
    if len(away) == 0:
        return True
    more = (pulls / np.maximum(pulls - 1.0, 1.0))[group[cell]][kept]
    squares, free = (
        np.bincount(row, x, counts.contexts).astype(np.float64)
        for x in (times * away**2, times / more)
    )
    away *= np.sqrt(more)
    away /= np.sqrt(own_noise(squares, free, free, 2.0 / _telling(away, times)))[row]
    order = np.argsort(away)
    away, times = away[order], times[order]
    least, most = _quantiles(away, times, (OUTER, 1.0 - OUTER))
    inner = _quantiles(away, times, MIDDLE)
    return inner[1] - inner[0] >= LIGHT * (most - least)


def all_values(counts: Counts) -> tuple[FloatVector, FloatVector]:
    """Return the distinct rewards in order, and how often each came."""
    others = counts.others
    assert others is not None
    ones = float(counts.s.sum())
    zeros = float(counts.n.sum()) - ones - float(others.times.sum())
    value, place = np.unique(np.append(others.value, [0.0, 1.0]), return_inverse=True)
    weight = np.bincount(place, np.append(others.times, [zeros, ones])).astype(np.float64)
    seen = weight > 0.0
    return value[seen], weight[seen]


def _quantiles(
    value: FloatVector, weight: FloatVector, levels: tuple[float, float]
) -> tuple[float, float]:
    """Return the values below and at which these parts of the weight lie."""
    below = np.cumsum(weight) / weight.sum()
    at = np.minimum(np.searchsorted(below, np.array(levels) - 1e-12), len(value) - 1)
    return float(value[at[0]]), float(value[at[1]])


def scored(counts: Counts, score: Score) -> Cells:
    """Return the sums of scores and of rewards of each cell, and their squares."""
    others = counts.others
    assert others is not None
    size = len(counts.n)
    odd = np.bincount(others.cell, others.times, minlength=size)
    zero, one = counts.n - counts.s - odd, counts.s
    kept = np.clip(others.value, score.low, score.high)
    sums: list[FloatVector] = []
    for values, ends in ((score.of(others.value), score.of(np.array([0.0, 1.0]))),
                         (kept, np.clip([0.0, 1.0], score.low, score.high))):  # fmt: skip
        total = zero * ends[0] + one * ends[1]
        total = total + np.bincount(others.cell, others.times * values, minlength=size)
        mean = total / counts.n
        away = others.times * (values - mean[others.cell]) ** 2
        squares = zero * (ends[0] - mean) ** 2 + one * (ends[1] - mean) ** 2
        sums += [total, squares + np.bincount(others.cell, away, minlength=size)]
    u, u_squares, s, s_squares = sums
    ends = np.clip([0.0, 1.0], score.low, score.high)
    all_values = np.append(kept, ends), np.append(others.times, [zero.sum(), one.sum()])
    return Cells(counts.n, counts.n, u, u_squares, s, s_squares, _telling(*all_values))


def _telling(value: FloatVector, times: FloatVector) -> float:
    """Return 2 / (kurtosis - 1), at most 1: so much less a variance is known than a normal one."""
    share = times / times.sum()
    square = (value - (share * value).sum()) ** 2  # not `@`, which wakes threads up
    variance = float((share * square).sum())
    if variance <= 0.0:
        return 1.0
    kurtosis = float((share * (square / variance) ** 2).sum())
    return 2.0 / max(kurtosis - 1.0, 2.0)
