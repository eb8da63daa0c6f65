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
OWN_STRENGTHS: FloatVector = np.append(2.0 ** np.arange(-4.0, 11.0), np.inf)
"""Values of m0 that are compared. Below 1, contexts like an arm or do not; infinity: contexts of a
group are alike."""
USUAL_OWN_STRENGTH = 8.0
"""Median of the prior of a finite m0, in rewards: log-normal with a scale of 2."""


def own_strength_grid(counts: Counts) -> FloatVector:
    """Return the values of m0 that are compared, up to as many coins as 1,024 rewards are worth."""
    more = max(0, round(-math.log2(counts.unit)))
    return np.concatenate([OWN_STRENGTHS[:-1], 2.0 ** np.arange(11.0, 11.0 + more), [np.inf]])


def score_own_strengths(
    counts: Counts, member: FloatMatrix, pulls: FloatMatrix, totals: FloatMatrix,
    centre: FloatVector, kappa: float, before: float,
) -> FloatVector:  # fmt: skip
    """Return the log posterior of each m0 of the grid, up to a constant.

    m0 says how closely contexts keep to their group, judged by means without themselves.
    """
    grid, member = own_strength_grid(counts), np.ascontiguousarray(member)
    likely = likelihoods.compare_strengths(
        *counts.rows, counts.weight(before), member, pulls, totals, centre, kappa, grid,
        counts.like_coins,
    )  # fmt: skip
    scores: FloatVector = likely + own_strength_prior(counts)
    return scores


def own_strength_prior(counts: Counts) -> FloatVector:
    """Return the log prior of each m0 of the grid, up to a constant."""
    grid = own_strength_grid(counts)
    finite = np.minimum(counts.unit * grid, 1e300)
    prior = np.where(np.isinf(grid), 0.0, -((np.log(finite / USUAL_OWN_STRENGTH) / 2) ** 2) / 2)
    log_prior: FloatVector = prior
    return log_prior


def own_strength(counts: Counts, *fitted: Any) -> float:
    """Return the likeliest m0; arguments are those of `score_own_strengths`."""
    return float(own_strength_grid(counts)[np.argmax(score_own_strengths(counts, *fitted))])


def top_level(weight: FloatVector, total: FloatVector) -> tuple[float, float]:
    """Return the strength k0 and the mean p0 of the arms' prior, by penalised likelihood."""
    seen = weight > 0
    return likelihoods.top_of_bernoulli(weight[seen], total[seen], STRENGTHS)


def middle_level(
    pulls: FloatMatrix, totals: FloatMatrix, kappa: float
) -> tuple[float, FloatVector, FloatVector, float, float]:
    """Return kappa by the likelihood of the groups' sums, then p_j, W_j, k0 and p0."""
    population = _population(pulls, totals, kappa)
    centre, before = population[0], kappa

    def likely(strength: float) -> float:
        return likelihoods.beta_binomials(strength, centre, totals, pulls)

    kappa = climb(STRENGTHS, kappa, likely)
    if kappa != before:
        population = _population(pulls, totals, kappa)
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
    pulls: FloatMatrix, totals: FloatMatrix, kappa: float
) -> tuple[FloatVector, FloatVector, float, float]:
    mean = np.divide(totals, pulls, out=np.zeros_like(totals), where=pulls > 0)
    w = kappa * pulls / (pulls + kappa)
    weight, total = w.sum(axis=1), (w * mean).sum(axis=1)
    k0, p0 = top_level(weight, total)
    prior_weight = k0 + weight
    return (k0 * p0 + total) / prior_weight, prior_weight, k0, p0
