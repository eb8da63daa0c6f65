"""How strong each level is: how closely contexts keep to groups, groups to all, arms to each other.

Strengths are counted in rewards and chosen from grids, by the likelihood of what was seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.lumps.model import likelihoods
from lumpable.lumps.model.counts import Counts

STRENGTHS: FloatVector = np.exp2(np.arange(9.0))
"""Values of kappa and k0 that are compared."""
OWN_STRENGTHS: FloatVector = np.append(2.0 ** np.arange(0.0, 11.0), np.inf)
"""Values of m0 that are compared; infinity: contexts of a group are alike."""
USUAL_OWN_STRENGTH = 8.0
"""Median of the prior of a finite m0: log-normal with a scale of 2."""
REAL_OWN_STRENGTHS: FloatVector = np.append(2.0 ** np.arange(-12.0, 11.0), np.inf)
"""The same for real rewards, whose noise may be far smaller than what contexts differ by."""
REAL_STRENGTHS: FloatVector = 2.0 ** np.arange(-12.0, 11.0)
"""Values of k0 and kappa for real rewards, whose noise may be small or large."""


def own_strength_grid(real: bool) -> FloatVector:
    """Return the values of m0 that are compared."""
    return REAL_OWN_STRENGTHS if real else OWN_STRENGTHS


def score_own_strengths(
    counts: Counts, member: FloatMatrix, pulls: FloatMatrix, totals: FloatMatrix,
    centre: FloatVector, kappa: float, noise: float, before: float,
) -> FloatVector:  # fmt: skip
    """Return the log posterior of each m0 of the grid, up to a constant.

    m0 says how closely contexts keep to their group, judged by means without themselves.
    """
    grid = own_strength_grid(counts.real)
    likely = likelihoods.compare_strengths(
        *counts.rows, counts.weight(before), member, pulls, totals, centre, kappa, grid,
        counts.real, noise,
    )  # fmt: skip
    finite = np.minimum(grid, 1e300)
    prior = np.where(np.isinf(grid), 0.0, -((np.log(finite / USUAL_OWN_STRENGTH) / 2) ** 2) / 2)
    scores: FloatVector = likely + prior
    return scores


def own_strength(counts: Counts, *fitted: Any) -> float:
    """Return the likeliest m0; arguments are those of `score_own_strengths`."""
    return float(own_strength_grid(counts.real)[np.argmax(score_own_strengths(counts, *fitted))])


def top_level(
    real: bool, weight: FloatVector, total: FloatVector, noise: float
) -> tuple[float, float]:
    """Return the strength k0 and the mean p0 of the arms' prior, by penalised likelihood."""
    seen = weight > 0
    w, t = weight[seen], total[seen]
    if not real:
        return likelihoods.top_of_bernoulli(w, t, STRENGTHS)
    if len(w) == 0:
        return 1.0, 0.0
    mean = t / w
    best = (-math.inf, 1.0, 0.0)
    for k0 in REAL_STRENGTHS:
        precision = 1.0 / (noise * (1.0 / k0 + 1.0 / w))
        p0 = float((precision * mean).sum() / precision.sum())
        score = 0.5 * float((np.log(precision) - precision * (mean - p0) ** 2).sum())
        score -= 0.5 * math.log(precision.sum()) + abs(math.log(k0 / 8.0))
        best = max(best, (score, float(k0), p0))
    return best[1], best[2]


def middle_level(
    counts: Counts, pulls: FloatMatrix, totals: FloatMatrix, kappa: float, noise: float
) -> tuple[float, FloatVector, FloatVector, float, float]:
    """Return kappa by the likelihood of the groups' sums, then p_j, W_j, k0 and p0."""
    population = _population(counts, pulls, totals, kappa, noise)
    centre, before = population[0], kappa

    def likely(strength: float) -> float:
        if counts.real:
            return likelihoods.normal_marginals(strength, centre, totals, pulls, noise)
        return likelihoods.beta_binomials(strength, centre, totals, pulls)

    kappa = climb(REAL_STRENGTHS if counts.real else STRENGTHS, kappa, likely)
    if kappa != before:
        population = _population(counts, pulls, totals, kappa, noise)
    return kappa, *population


def climb(grid: FloatVector, start: float, score: Callable[[float], float]) -> float:
    """Return the value on an increasing grid whose score no neighbour beats, uphill from a start.

    >>> climb(STRENGTHS, 2.0, lambda x: -abs(x - 70.0))
    64.0
    """
    at = int(np.searchsorted(grid, start))
    best = score(float(grid[at]))
    for step in (1, -1):
        while 0 <= at + step < len(grid):
            tried = score(float(grid[at + step]))
            if tried <= best:
                break
            at, best = at + step, tried
    return float(grid[at])


def _population(
    counts: Counts, pulls: FloatMatrix, totals: FloatMatrix, kappa: float, noise: float
) -> tuple[FloatVector, FloatVector, float, float]:
    mean = np.divide(totals, pulls, out=np.zeros_like(totals), where=pulls > 0)
    w = kappa * pulls / (pulls + kappa)
    weight, total = w.sum(axis=1), (w * mean).sum(axis=1)
    k0, p0 = top_level(counts.real, weight, total, noise)
    prior_weight = k0 + weight
    return (k0 * p0 + total) / prior_weight, prior_weight, k0, p0
