"""Rewards of any law as coins: bounded scores, and how much less than a coin's they vary.

Who is alike is found on scores in [0, 1]. A score is the reward itself, between the outer half
percents of all rewards, if the noise has tails no heavier than a normal law's; else its rank. So
no single reward can make a group. Scores vary less than coins of the same mean, by a factor phi_j
of each arm; a cell of n scores with sum u counts as n / phi_j coins, u / phi_j of them heads. Where
contexts differ widely in noise, their tails are judged by their own noise, and they have a factor
psi_i, too. Rewards of 0 and 1 are their own scores, also beside a few wild ones.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lumpable.base.arrays import BoolMatrix, FloatMatrix, FloatVector
from lumpable.lumps.model.counts import Counts, gathered
from lumpable.lumps.model.ends import FEWEST_CELLS, two_ends

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
LEAST_PHI, LEAST_PART = 0.01, 0.2
"""No arm varies less than this part of a coin, nor than this part of all arms."""
LEAST_NOISE = 0.01
"""No context varies less than this part of all contexts."""
RARE = 0.09
"""Where a coin of the scores' mean varies less than this, nearly all of them are 0 or nearly all 1,
and what counts is how often the others come: they are coins as they are."""
PRIOR_FREEDOM = 5.0
"""The variance of all scores counts as this many degrees of freedom within cells."""
EDGE = 1e-3
"""They stay this far from 0 and 1."""
FEW = 4.0
"""Arms and contexts with fewer degrees of freedom take the dispersion of all."""
UNLIKE = 0.25
"""Contexts have a noise of their own if their variances, over the usual one, vary by this."""
ASTRAY = 2.5
"""Averages that go by noise are astray if they are so many standard errors from plain ones."""
DOUBT = 2.0
"""Their noise is taken for so many standard errors larger than it seems."""


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
    """... and how many of a usual context tell as much (see `evened`)."""
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
    away /= np.sqrt(_own_noise(squares, free, free, 2.0 / _telling(away, times)))[row]
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


def tempered(counts: Counts, cells: Cells, phi: FloatVector) -> Counts:
    """Return the cells as coins: n / (phi_j psi_i) of them, u / (phi_j psi_i) heads."""
    each = phi[counts.arm]
    coins = _coins(counts, cells, each)
    if coins.like_coins:
        return coins
    each = np.clip(each * context_dispersion(counts, cells, phi)[counts.row], LEAST_PHI, 1.0)
    return replace(_coins(counts, cells, each), ends=_two_values(counts, cells))


def _coins(counts: Counts, cells: Cells, each: FloatVector) -> Counts:
    n = cells.n / each
    unit = counts.rewards / float(n.sum())
    return replace(counts, n=n, s=cells.u / each, others=None, unit=unit)


def _two_values(counts: Counts, cells: Cells) -> tuple[float, float, float] | None:
    """Return two values of cells' scores, and how many coins each counts as beforehand."""
    K = counts.arms
    total, pulls = (np.bincount(counts.arm, x, minlength=K) for x in (cells.u, cells.n))
    expected = (total / np.maximum(pulls, 1.0))[counts.arm]
    noise = float(cells.u_squares.sum()) / max(float((cells.n - 1.0).sum()), 1.0)
    two = two_ends(cells.u / cells.n, cells.n, np.full(len(cells.n), max(noise, EDGE**2)), expected)
    if two is None:
        return None
    low, high = max(two[0].low, EDGE), min(two[0].high, 1.0 - EDGE)
    if low >= high:
        return None
    return low, high, max(min(low * (1.0 - low), high * (1.0 - high)) / two[0].around - 1.0, 1.0)


# --- How much scores vary -----------------------------------------------------------------------


def arm_dispersion(counts: Counts, cells: Cells) -> FloatVector:
    """Return phi_j: the variance of scores within cells over that of coins of the same mean."""
    n, K = cells.n, counts.arms
    squares, free, pulls, total = (
        np.bincount(counts.arm, x, minlength=K).astype(np.float64)
        for x in (cells.u_squares, n - 1.0, n, cells.u)
    )  # fmt: skip
    p = (total + 0.5) / (pulls + 1.0)
    around = cells.u_squares + n * (cells.u / n - p[counts.arm]) ** 2
    all_around = np.bincount(counts.arm, around, minlength=K) / np.maximum(pulls - 1.0, 1.0)
    whole = float((pulls * all_around).sum() / pulls.sum())
    within = (squares.sum() + PRIOR_FREEDOM * whole) / (free.sum() + PRIOR_FREEDOM)
    within = min(float(within), whole)
    coin = float((pulls * p * (1.0 - p)).sum() / pulls.sum())
    if coin < RARE:
        return np.ones(K)
    base = max(coin - (whole - within), 0.1 * coin)  # what is left of a coin's variance in cells
    phi = min(max(within / base, LEAST_PHI), 1.0)
    raw = squares / np.maximum(free, 1.0) / (p * (1.0 - p) * base / coin)
    return _drawn_together(raw, free, p, np.full(K, phi))


def group_dispersion(
    counts: Counts, cells: Cells, member: FloatMatrix, phi: FloatVector
) -> FloatVector:
    """Return phi_j of the noisiest group, at least `phi`."""
    pulls, total = gathered(counts, cells.n, cells.u, member)
    squares, free = gathered(counts, cells.u_squares, cells.n - 1.0, member)
    p = (total + 0.5) / (pulls + 1.0)
    raw = squares / np.maximum(free, 1e-9) / (p * (1.0 - p))
    each = _drawn_together(raw, free, p, np.repeat(phi[:, None], member.shape[1], axis=1))
    noisiest: FloatVector = np.maximum(phi, each.max(axis=1))
    return noisiest


def context_dispersion(counts: Counts, cells: Cells, phi: FloatVector) -> FloatVector:
    """Return psi_i: how many times more the scores of each context vary than those of all do.

    A coin of the context's own mean is what they are compared with, as they are in the model.
    """
    pulls, total = (np.bincount(counts.arm, x, minlength=counts.arms) for x in (cells.n, cells.u))
    p = (total + 0.5) / (pulls + 1.0)
    own = (cells.u + p[counts.arm]) / (cells.n + 1.0)
    free = cells.n - 1.0
    likely = free * phi[counts.arm] * own * (1.0 - own)
    squares, likely, free = (
        np.bincount(counts.row, x, counts.contexts).astype(np.float64)
        for x in (cells.u_squares, likely, free)
    )
    return _own_noise(squares, likely, free, 2.0)


def context_noise(counts: Counts, cells: Cells) -> FloatVector:
    """Return how many times more the rewards of each context vary than those of all do."""
    free = cells.n - 1.0
    squares, known = (np.bincount(counts.arm, x) for x in (cells.s_squares, free))
    usual = squares.sum() / max(float(known.sum()), 1.0)
    of_arm = (squares + PRIOR_FREEDOM * usual) / (known + PRIOR_FREEDOM)
    each = cells.s_squares, free * of_arm[counts.arm], free
    own, likely, free = (np.bincount(counts.row, x, counts.contexts).astype(float) for x in each)
    return _own_noise(own, likely, free, 2.0 / cells.telling)


def evened(counts: Counts, cells: Cells) -> Cells:
    """Return the cells as if all contexts were equally noisy: rewards of noisy ones count less.

    Where those who are noisier get more, or less, such an average would be one of the quiet ones
    only: then all rewards count alike.
    """
    noise = context_noise(counts, cells)
    if (noise == 1.0).all() or _goes_with_mean(counts, cells, noise):
        return cells
    each = noise[counts.row]
    return cells._replace(n=cells.n / each, s=cells.s / each, s_squares=cells.s_squares / each)


def _goes_with_mean(counts: Counts, cells: Cells, noise: FloatVector) -> bool:
    """Whether averages that go by noise differ from plain ones by more than chance.

    Hausman, "Specification tests in econometrics", Econometrica 46(6), 1978.
    """
    pulls, totals, squares = (
        np.bincount(counts.arm, x) for x in (cells.n, cells.s, cells.s_squares)
    )
    free = np.bincount(counts.arm, cells.n - 1.0)
    mean, variance = totals / np.maximum(pulls, 1.0), squares / np.maximum(free, 1.0)
    away = cells.s - cells.n * mean[counts.arm]
    each = 1.0 / cells.n.sum() - 1.0 / noise / float((cells.n / noise[counts.row]).sum())
    each = each[counts.row]
    chance = float((each**2 * cells.n * variance[counts.arm] * noise[counts.row]).sum())
    return abs(float((each * away).sum())) > ASTRAY * math.sqrt(chance)


def _own_noise(
    squares: FloatVector, likely: FloatVector, free: FloatVector, each: float
) -> FloatVector:
    """Return the noise of contexts over the usual one: 1, unless they differ widely.

    What little is known of it is not trusted: it is rather too large than too small.
    """
    usual, known = squares.sum() / max(likely.sum(), 1e-300), free > FEW
    if known.sum() < 2 or usual <= 0.0:
        return np.ones(len(free))
    away = np.where(known, squares / np.maximum(usual * likely, 1e-300) - 1.0, 0.0)
    chance = each / np.maximum(free, 1e-9)
    true = _true_variance(away, chance, known)
    if true < UNLIKE:
        return np.ones(len(free))
    part = np.where(known, true / (true + chance), 0.0)
    noise: FloatVector = np.maximum(1.0 + part * away, LEAST_NOISE)
    return noise * (1.0 + DOUBT * np.sqrt(part * chance))


def _drawn_together(
    raw: FloatMatrix, free: FloatMatrix, p: FloatMatrix, towards: FloatMatrix
) -> FloatMatrix:
    """Draw dispersions of scores with means p towards a common one."""
    each = np.maximum(2.0, 1.0 / (p * (1.0 - p)) - 4.0)
    phi: FloatMatrix = np.clip(draw_together(raw, free, each, towards), LEAST_PHI, 1.0)
    return phi


def draw_together(
    raw: FloatMatrix, free: FloatMatrix, each: FloatMatrix | float, towards: FloatMatrix
) -> FloatMatrix:
    """Draw variances towards common ones, as far as they differ by chance.

    One of so many degrees of freedom varies by each / free by chance, relatively; how much they
    differ in truth is what they differ by more than that.
    """
    known = free > FEW
    if known.sum() < 2:
        return towards
    chance = each / np.maximum(free, 1e-9)
    away = np.where(known, raw / towards - 1.0, 0.0)
    true = _true_variance(away, chance, known)
    part = np.where(known, true / (true + chance), 0.0)
    drawn: FloatMatrix = towards * np.maximum(1.0 + part * away, LEAST_PART)
    return drawn


def _true_variance(away: FloatMatrix, chance: FloatMatrix, known: BoolMatrix) -> float:
    """Return by how much what is known differs more than by chance."""
    sure = np.where(known, 1.0 / chance, 0.0)
    return max(0.0, float((sure * (away**2 - chance)).sum(where=known) / sure.sum()))
