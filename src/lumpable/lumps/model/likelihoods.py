"""Likelihoods of the three-level model, compiled: how well means and strengths explain cells.

Cells come as in `arithmetic`. Functions here call only functions of this file, so that their
compiled code can be kept on disk.
"""

from __future__ import annotations

import math

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine import cached_njit, kernel
from lumpable.lumps.model.ends import RARELY

UNLIKELY = 1e-6
"""Groups that a context belongs to with less than this are left out of its likelihood."""
FEW = 16
"""Up to this many rewards of a cell, a ratio of gamma functions is a product."""
MOST_TABLED, MANY = 3, 40
"""In tables with so many cells for each arm, likelihoods of cells with so few rewards are looked
up: each of them comes often."""


@kernel
def rising(x: float, n: float) -> float:
    """Return ln Gamma(x + n) - ln Gamma(x)."""
    if n <= FEW and n == math.floor(n):
        product = 1.0
        for k in range(int(n)):
            product *= x + k
        return math.log(product)
    return math.lgamma(x + n) - math.lgamma(x)


@kernel
def cell_likelihood(n: float, s: float, mean: float, m0: float) -> float:
    """Return the log likelihood of a cell whose own mean lies around `mean` with strength m0.

    Beta-binomial; n and s may be fractions.
    """
    if math.isinf(m0):
        return s * math.log(mean) + (n - s) * math.log(1.0 - mean)
    if n > FEW or n != math.floor(n) or s != math.floor(s):
        up = rising(m0 * mean, s) + rising(m0 * (1.0 - mean), n - s)
        return up - rising(m0, n)
    up, whole = 1.0, 1.0  # products, so that one logarithm is enough
    for k in range(int(s)):
        up *= m0 * mean + k
    for k in range(int(n - s)):
        up *= m0 * (1.0 - mean) + k
    for k in range(int(n)):
        whole *= m0 + k
    return math.log(up / whole)


@kernel
def normal_likelihood(n: float, s: float, mean: float, m0: float) -> float:
    """Return the same for the normal law with the moments of the beta-binomial."""
    own = 1.0 / (1.0 + m0)
    variance = mean * (1.0 - mean) * (own + (1.0 - own) / n)
    gap = s / n - mean
    return -0.5 * (math.log(variance) + gap * gap / variance)


@kernel
def _log_sum(row: FloatVector) -> float:
    """Return ln of the sum of the exponentials."""
    top, whole = float(row[0]), 0.0
    for x in row:
        top = max(top, x)
    for x in row:
        whole += math.exp(x - top)
    return top + math.log(whole)


@cached_njit(error_model="numpy")
def mixture_likelihood(
    first: IntVector, arm: IntVector, n: FloatVector, s: FloatVector, mean: FloatMatrix,
    share: FloatVector, member: FloatMatrix, m0: float,
) -> float:  # fmt: skip
    """Return the log likelihood of all cells under the mixture with these (K, M) group means."""
    M, K = len(share), mean.shape[0]
    row = np.empty(M)
    most = MOST_TABLED if len(arm) > MANY * K else 0  # cells with so few rewards are looked up
    table = np.empty((most * (most + 3) // 2, K, M))
    for k in range(1, most + 1):
        for paid in range(k + 1):
            for j in range(K):
                for g in range(M):
                    at = (k - 1) * (k + 2) // 2 + paid
                    table[at, j, g] = cell_likelihood(float(k), float(paid), mean[j, g], m0)
    total, likely = 0.0, np.empty(M, dtype=np.int64)
    for i in range(len(first) - 1):
        groups = 0
        for g in range(M):
            row[g] = -math.inf
            if member[i, g] >= UNLIKELY:
                row[g] = share[g]
                likely[groups] = g
                groups += 1
        for c in range(first[i], first[i + 1]):
            j, pulled, paid = arm[c], n[c], s[c]
            if 1.0 <= pulled <= most and pulled == int(pulled) and paid == int(paid):
                at = (int(pulled) - 1) * (int(pulled) + 2) // 2 + int(paid)
                for k in range(groups):
                    row[likely[k]] += table[at, j, likely[k]]
            else:
                for k in range(groups):
                    row[likely[k]] += cell_likelihood(pulled, paid, mean[j, likely[k]], m0)
        total += _log_sum(row)
    return total


@cached_njit(error_model="numpy")
def two_valued_likelihood(
    first: IntVector, arm: IntVector, n: FloatVector, s: FloatVector, mean: FloatMatrix,
    share: FloatVector, member: FloatMatrix, low: float, high: float, strength: float,
) -> float:  # fmt: skip
    """Return the same if own means lie around `low` or `high`, which average to the group's.

    They keep to either with this strength, as contexts do to their group's mean.
    """
    M = len(share)
    row = np.empty(M)
    total = 0.0
    for i in range(len(first) - 1):
        for g in range(M):
            row[g] = share[g] if member[i, g] >= UNLIKELY else -math.inf
        for c in range(first[i], first[i + 1]):
            up = cell_likelihood(n[c], s[c], high, strength)
            down = cell_likelihood(n[c], s[c], low, strength)
            larger = max(up, down)
            up, down = math.exp(up - larger), math.exp(down - larger)
            for g in range(M):
                if member[i, g] >= UNLIKELY:
                    part = (mean[arm[c], g] - low) / (high - low)
                    part = min(max(part, RARELY), 1.0 - RARELY)
                    row[g] += larger + math.log(part * up + (1.0 - part) * down)
        total += _log_sum(row)
    return total


@cached_njit(error_model="numpy")
def factor_likelihood(
    first: IntVector, arm: IntVector, n: FloatVector, s: FloatVector, centre: FloatVector,
    loading: FloatMatrix, f: FloatMatrix, m0: float, edge: float,
) -> float:  # fmt: skip
    """Return the log likelihood of all cells around p_j + L_j f_i."""
    total = 0.0
    for i in range(len(first) - 1):
        for c in range(first[i], first[i + 1]):
            mean = centre[arm[c]]
            for x in range(loading.shape[1]):
                mean += loading[arm[c], x] * f[i, x]
            mean = min(max(mean, edge), 1.0 - edge)
            total += cell_likelihood(n[c], s[c], mean, m0)
    return total


@cached_njit(error_model="numpy")
def information_lost(
    first: IntVector, arm: IntVector, n: FloatVector, s: FloatVector, weight: FloatVector,
    member: FloatMatrix, mean: FloatMatrix, spread: FloatMatrix,
) -> FloatMatrix:  # fmt: skip
    """Return how much information about each (K, M) mean is lost, as members are doubtful.

    Louis (1982), one mean at a time: the variance of its score over who is a member. `weight` is
    how much a reward of each cell tells, `spread` the variance of a single reward.
    """
    lost = np.zeros(mean.shape)
    for i in range(len(first) - 1):
        for g in range(member.shape[1]):
            doubt = member[i, g] * (1.0 - member[i, g])
            if doubt < 1e-9:
                continue
            for c in range(first[i], first[i + 1]):
                j = arm[c]
                score = weight[c] * (s[c] - n[c] * mean[j, g]) / spread[j, g]
                lost[j, g] += doubt * score * score
    return lost


@cached_njit(error_model="numpy")
def compare_strengths(
    first: IntVector, arm: IntVector, n: FloatVector, s: FloatVector, used: FloatVector,
    member: FloatMatrix, pulls: FloatMatrix, totals: FloatMatrix, centre: FloatVector,
    kappa: float, strengths: FloatVector, coins: bool,
) -> FloatVector:  # fmt: skip
    """Return the log likelihood of all cells for each strength m0, around means without them.

    `used` is the weight of each reward of a cell in the tables of the groups. Cells that are no
    coins have the normal law with the same moments, which is nearer to theirs, and quicker.
    """
    scores = np.zeros(len(strengths))
    for i in range(len(first) - 1):
        for c in range(first[i], first[i + 1]):
            if n[c] < 2.0:
                continue  # the law of one Bernoulli reward does not depend on m0
            j = arm[c]
            for g in range(member.shape[1]):
                w = member[i, g]
                if w < 0.05:
                    continue
                rest = max(pulls[j, g] - w * n[c] * used[c], 0.0)
                total = totals[j, g] - w * s[c] * used[c]
                mean = (total + kappa * centre[j]) / (rest + kappa)
                mean = min(max(mean, 1e-4), 1.0 - 1e-4)
                for k in range(len(strengths)):
                    # what is not known about the group's mean adds to the spread of the cell
                    around = 1.0 / (1.0 / strengths[k] + 1.0 / (rest + kappa))
                    if coins:
                        scores[k] += w * cell_likelihood(n[c], s[c], mean, around)
                    else:
                        scores[k] += w * normal_likelihood(n[c], s[c], mean, around)
    return scores


@cached_njit(error_model="numpy")
def beta_binomials(
    strength: float, centre: FloatVector, success: FloatMatrix, pulls: FloatMatrix
) -> float:
    """Return the log marginal likelihood of (K, M) sums under Beta(strength x (p_j, 1 - p_j))."""
    total = 0.0
    whole = math.lgamma(strength)
    for j in range(pulls.shape[0]):
        a, b = strength * centre[j], strength * (1.0 - centre[j])
        base = math.lgamma(a) + math.lgamma(b) - whole
        for g in range(pulls.shape[1]):
            n, s = pulls[j, g], success[j, g]
            if n > 0.0:
                total += math.lgamma(a + s) + math.lgamma(b + n - s) - math.lgamma(strength + n)
                total -= base
    return total


@kernel
def top_score(k0: float, p0: float, weight: FloatVector, total: FloatVector) -> float:
    """Return the penalised log likelihood of the arms' prior Beta(k0 p0, k0 (1 - p0))."""
    a, b = k0 * p0, k0 * (1.0 - p0)
    base = math.lgamma(a) + math.lgamma(b) - math.lgamma(k0)
    score = -4.0 * abs(math.log(k0 / 2.0)) - 8.0 * abs(p0 - 0.5)
    for j in range(len(weight)):
        n, s = weight[j], total[j]
        if n > 0.0:
            score += math.lgamma(a + s) + math.lgamma(b + n - s) - math.lgamma(k0 + n) - base
    return score


@cached_njit(error_model="numpy")
def top_of_bernoulli(
    weight: FloatVector, total: FloatVector, strengths: FloatVector
) -> tuple[float, float]:
    """Return k0, one of these strengths, and p0, a multiple of 0.05, by climbing `top_score`."""
    k, p = min(1, len(strengths) - 1), 10
    best = top_score(strengths[k], 0.05 * p, weight, total)
    climbing = True
    while climbing:
        climbing = False
        for step_k, step_p in ((0, 1), (0, -1), (1, 0), (-1, 0)):
            while 0 <= k + step_k < len(strengths) and 1 <= p + step_p <= 19:
                tried = top_score(strengths[k + step_k], 0.05 * (p + step_p), weight, total)
                if tried <= best:
                    break
                k, p, best, climbing = k + step_k, p + step_p, tried, True
    return strengths[k], 0.05 * p
