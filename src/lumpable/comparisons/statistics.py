"""The statistics of a comparison: bands, paired ratios, wins, ranks. Numbers in, numbers out.

Learners of one comparison meet the same contexts and the same luck, seed by seed: what is compared
is therefore compared in pairs, over the seeds that both have.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base.arrays import FloatVector
from lumpable.base.extras import need

LEVEL = 0.95
"""Confidence of every interval."""


class Band(NamedTuple):
    """A mean and the ends of its interval; the ends are NaN where one seed is all there is."""

    mean: FloatVector
    low: FloatVector
    high: FloatVector


class Ratio(NamedTuple):
    """A ratio of means and its interval; an unbounded one ends in infinities."""

    value: float
    low: float
    high: float
    pairs: int


class Wins(NamedTuple):
    """How often one had less than another, ties counted half, and the p-value of the sign test."""

    share: float
    p: float
    pairs: int


def t_quantile(degrees: int, level: float = LEVEL) -> float:
    """Return the t quantile of a two-sided interval."""
    special = need("scipy.special", "research", "computing intervals")
    return float(special.stdtrit(degrees, (1 + level) / 2))


def band(values: FloatVector) -> Band:
    """Return the mean over the first axis and its interval, mean ± t s / √n; NaN are left out."""
    known = ~np.isnan(values)
    n = known.sum(axis=0)
    filled = np.where(known, values, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = filled.sum(axis=0) / n
        spread = np.where(known, values - mean, 0.0)
        error = np.sqrt((spread**2).sum(axis=0) / (n - 1) / n)
    t = np.array([t_quantile(int(k) - 1) if k > 1 else math.nan for k in n.flat]).reshape(n.shape)
    return Band(mean, mean - t * error, mean + t * error)


def ratio(a: FloatVector, b: FloatVector) -> Ratio:
    """Return mean(a) / mean(b) over paired seeds with Fieller's interval.

    The interval holds every ρ that a paired t-test of a − ρ b against zero does not reject:
    (ā − ρ b̄)² ≤ t² (s_aa − 2 ρ s_ab + ρ² s_bb) / n. For normal pairs its coverage is exact.
    (E. C. Fieller, Some problems in interval estimation, J. R. Stat. Soc. B 16, 1954.)

    >>> found = ratio(np.array([20.0, 22.1, 24.0]), np.array([10.0, 11.0, 12.0]))
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (2.003, 1.99, 2.017)
    """
    both = ~np.isnan(a) & ~np.isnan(b)
    a, b, n = a[both], b[both], int(both.sum())
    if n == 0:
        return Ratio(math.nan, math.nan, math.nan, 0)
    mean_a, mean_b = float(a.mean()), float(b.mean())
    if mean_b == 0:
        return Ratio(1.0 if mean_a == 0 else math.inf, math.nan, math.nan, n)
    value = mean_a / mean_b
    if n == 1:
        return Ratio(value, math.nan, math.nan, n)
    (aa, ab), (_, bb) = np.cov(a, b) * (t_quantile(n - 1) ** 2 / n)
    # the interval solves second ρ² − 2 first ρ + none ≤ 0
    second, first, none = mean_b**2 - bb, mean_a * mean_b - ab, mean_a**2 - aa
    if second <= 0:  # the denominator cannot be told from zero: no bounded interval
        return Ratio(value, -math.inf, math.inf, n)
    root = math.sqrt(max(0.0, first**2 - second * none))
    return Ratio(value, float((first - root) / second), float((first + root) / second), n)


def wins(a: FloatVector, b: FloatVector) -> Wins:
    """Count in how many paired seeds a has less than b, with a sign test.

    >>> wins(np.array([1.0, 1, 1, 1, 1, 1]), np.array([2.0, 2, 2, 2, 2, 2]))
    Wins(share=1.0, p=0.03125, pairs=6)
    """
    both = ~np.isnan(a) & ~np.isnan(b)
    n = int(both.sum())
    if n == 0:
        return Wins(math.nan, 1.0, 0)
    less, more = int((a[both] < b[both]).sum()), int((a[both] > b[both]).sum())
    return Wins((less + (n - less - more) / 2) / n, sign_test(less, more), n)


def sign_test(less: int, more: int) -> float:
    """Return the two-sided p-value of the exact sign test, without ties.

    >>> sign_test(0, 5), sign_test(3, 3), sign_test(1, 7)
    (0.0625, 1.0, 0.0703125)
    """
    n = less + more
    tail = sum(math.comb(n, k) for k in range(min(less, more) + 1))
    return min(1.0, tail / 2.0 ** (n - 1))


def geometric_mean(values: FloatVector) -> float:
    """Return the geometric mean of the known values; NaN if there are none, 0 if one is 0.

    >>> geometric_mean(np.array([1.0, 4.0, float("nan")]))
    2.0
    """
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return math.nan
    with np.errstate(divide="ignore"):
        return float(np.exp(np.log(known).mean()))


def ranks(values: FloatVector) -> FloatVector:
    """Return ranks from 1, the least first; ties share their mean rank, NaN have none.

    >>> ranks(np.array([3.0, 1.0, 3.0, float("nan")]))
    array([2.5, 1. , 2.5, nan])
    """
    below = (values[None, :] < values[:, None]).sum(axis=1)
    same = (values[None, :] == values[:, None]).sum(axis=1)
    return np.where(np.isnan(values), math.nan, below + (same + 1) / 2)
