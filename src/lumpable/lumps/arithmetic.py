"""Compiled arithmetic of the three-level model: sums over observed cells. Knows no search.

Cells come as rows: those of context i are at first[i] .. first[i + 1] - 1, sorted by arm, each with
its arm, its number n of rewards and their total s. All functions here call only functions of this
file, so that their compiled code can be kept on disk.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from lumpable.base.checks import FloatMatrix, FloatVector, IntVector

FEW = 16
"""Up to so many rewards of a cell, a ratio of gamma functions is a product."""
SERIES = 6.0
"""From here on, the asymptotic series of digamma and trigamma are exact to 1e-9."""


@njit(cache=True, error_model="numpy")
def digamma(x: float) -> float:
    """Return the derivative of the logarithm of the gamma function, for x > 0."""
    below = 0.0
    while x < SERIES:
        below += 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y * (1.0 / 240.0))))
    return math.log(x) - 0.5 / x - series - below


@njit(cache=True, error_model="numpy")
def trigamma(x: float) -> float:
    """Return the derivative of digamma, for x > 0."""
    below = 0.0
    while x < SERIES:
        below += 1.0 / (x * x)
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0))))
    return below + (1.0 + 0.5 / x + series) / x


@njit(cache=True, error_model="numpy")
def rising(x: float, n: float) -> float:
    """Return ln Gamma(x + n) - ln Gamma(x)."""
    if n <= FEW and n == math.floor(n):
        product = 1.0
        for k in range(int(n)):
            product *= x + k
        return math.log(product)
    return math.lgamma(x + n) - math.lgamma(x)


@njit(cache=True, error_model="numpy")
def members(
    first: IntVector, arm: IntVector, n: FloatVector, s: FloatVector,
    slope: FloatMatrix, level: FloatMatrix, share: FloatVector, out: FloatMatrix,
) -> float:  # fmt: skip
    """Fill in each context's posterior over groups; return the sum of their log normalisers.

    The log likelihood of a cell under group g is s slope[j, g] + n level[j, g].
    """
    M = len(share)
    total = 0.0
    for i in range(len(first) - 1):
        row = out[i]
        for g in range(M):
            row[g] = share[g]
        for c in range(first[i], first[i + 1]):
            j = arm[c]
            for g in range(M):
                row[g] += s[c] * slope[j, g] + n[c] * level[j, g]
        top = row[0]
        for g in range(1, M):
            top = max(top, row[g])
        whole = 0.0
        for g in range(M):
            row[g] = math.exp(row[g] - top)
            whole += row[g]
        for g in range(M):
            row[g] /= whole
        total += top + math.log(whole)
    return total


@njit(cache=True, error_model="numpy")
def gather(
    first: IntVector, arm: IntVector, n: FloatVector, s: FloatVector, member: FloatMatrix,
    pulls: FloatMatrix, totals: FloatMatrix,
) -> None:  # fmt: skip
    """Sum the cells of each group's members, weighted by membership, into (K, M) tables."""
    pulls[:] = 0.0
    totals[:] = 0.0
    for i in range(len(first) - 1):
        for c in range(first[i], first[i + 1]):
            j = arm[c]
            for g in range(member.shape[1]):
                pulls[j, g] += member[i, g] * n[c]
                totals[j, g] += member[i, g] * s[c]


@njit(cache=True, error_model="numpy")
def cell_likelihood(real: bool, n: float, s: float, mean: float, m0: float, noise: float) -> float:
    """Return the log likelihood of a cell whose own mean lies around `mean` with strength m0.

    Bernoulli: beta-binomial. Real: the cell's average only, ~ N(mean, noise (1/n + 1/m0)).
    """
    if real:
        variance = noise * (1.0 / n + 1.0 / m0)
        gap = s / n - mean
        return -0.5 * (math.log(variance) + gap * gap / variance)
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


@njit(cache=True, error_model="numpy")
def mixture_likelihood(
    first: IntVector, arm: IntVector, n: FloatVector, s: FloatVector, mean: FloatMatrix,
    share: FloatVector, member: FloatMatrix, m0: float, real: bool, noise: float,
) -> float:  # fmt: skip
    """Return the log likelihood of all cells under the mixture with these (K, M) group means.

    Groups that a context almost surely does not belong to are left out of its sum.
    """
    M = len(share)
    row = np.empty(M)
    total = 0.0
    for i in range(len(first) - 1):
        top = -math.inf
        for g in range(M):
            row[g] = -math.inf
            if member[i, g] < 1e-6:
                continue
            row[g] = share[g]
            for c in range(first[i], first[i + 1]):
                row[g] += cell_likelihood(real, n[c], s[c], mean[arm[c], g], m0, noise)
            top = max(top, row[g])
        whole = 0.0
        for g in range(M):
            whole += math.exp(row[g] - top)
        total += top + math.log(whole)
    return total


@njit(cache=True, error_model="numpy")
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


@njit(cache=True, error_model="numpy")
def strengths_compared(
    first: IntVector, arm: IntVector, n: FloatVector, s: FloatVector, used: FloatVector,
    member: FloatMatrix, pulls: FloatMatrix, totals: FloatMatrix, centre: FloatVector,
    kappa: float, strengths: FloatVector, real: bool, noise: float,
) -> FloatVector:  # fmt: skip
    """Return the log likelihood of all cells for each strength m0, around means without them.

    `used` is the weight of each reward of a cell in the tables of the groups.
    """
    scores = np.zeros(len(strengths))
    for i in range(len(first) - 1):
        for c in range(first[i], first[i + 1]):
            if n[c] < 2.0 and not real:
                continue  # one Bernoulli reward says nothing about m0
            j = arm[c]
            for g in range(member.shape[1]):
                w = member[i, g]
                if w < 0.05:
                    continue
                rest = max(pulls[j, g] - w * n[c] * used[c], 0.0)
                total = totals[j, g] - w * s[c] * used[c]
                mean = (total + kappa * centre[j]) / (rest + kappa)
                if not real:
                    mean = min(max(mean, 1e-4), 1.0 - 1e-4)
                for k in range(len(strengths)):
                    # what is not known about the group's mean adds to the spread of the cell
                    around = 1.0 / (1.0 / strengths[k] + 1.0 / (rest + kappa))
                    scores[k] += w * cell_likelihood(real, n[c], s[c], mean, around, noise)
    return scores


@njit(cache=True, error_model="numpy")
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


@njit(cache=True, error_model="numpy")
def normal_marginals(
    strength: float, centre: FloatVector, totals: FloatMatrix, pulls: FloatMatrix, noise: float
) -> float:
    """Return the same for averages ~ N(p_j, noise (1 / strength + 1 / n))."""
    total = 0.0
    for j in range(pulls.shape[0]):
        for g in range(pulls.shape[1]):
            n = pulls[j, g]
            if n > 0.0:
                variance = noise * (1.0 / strength + 1.0 / n)
                gap = totals[j, g] / n - centre[j]
                total -= 0.5 * (math.log(variance) + gap * gap / variance)
    return total


@njit(cache=True, error_model="numpy")
def invert(A: FloatMatrix, out: FloatMatrix) -> float:
    """Put the inverse of a positive definite matrix into `out`; return ln det A."""
    q = A.shape[0]
    work = A.copy()
    for a in range(q):
        for b in range(q):
            out[a, b] = 1.0 if a == b else 0.0
    determinant = 0.0
    for a in range(q):
        pivot = work[a, a]
        determinant += math.log(pivot)
        for b in range(q):
            work[a, b] /= pivot
            out[a, b] /= pivot
        for c in range(q):
            if c != a:
                factor = work[c, a]
                for b in range(q):
                    work[c, b] -= factor * work[a, b]
                    out[c, b] -= factor * out[a, b]
    return determinant


@njit(cache=True, error_model="numpy")
def factors(
    first: IntVector, arm: IntVector, n: FloatVector, s: FloatVector, centre: FloatVector,
    variance: FloatVector, loading: FloatMatrix, f: FloatMatrix, cover: FloatMatrix,
    H: FloatMatrix, h: FloatMatrix, rest: FloatMatrix,
) -> None:  # fmt: skip
    """One step of factor analysis on what the population leaves: mu_ij = p_j + L_j f_i.

    Fills in the posterior means f (S, q) and covariances (S, q, q), the sums H (K, q, q) and h
    (K, q) of the regression of each arm on f, and `rest` (K, 2): pulls and what is left over.
    """
    q = loading.shape[1]
    H[:] = 0.0
    h[:] = 0.0
    rest[:] = 0.0
    A, b, C = np.empty((q, q)), np.empty(q), np.empty((q, q))
    for i in range(len(first) - 1):
        for x in range(q):
            b[x] = 0.0
            for y in range(q):
                A[x, y] = 1.0 if x == y else 0.0
        for c in range(first[i], first[i + 1]):
            j = arm[c]
            w, r = n[c] / variance[j], (s[c] - n[c] * centre[j]) / variance[j]
            for x in range(q):
                b[x] += r * loading[j, x]
                for y in range(q):
                    A[x, y] += w * loading[j, x] * loading[j, y]
        invert(A, C)
        for x in range(q):
            f[i, x] = 0.0
            for y in range(q):
                f[i, x] += C[x, y] * b[y]
                cover[i, x, y] = C[x, y]
        for c in range(first[i], first[i + 1]):
            j = arm[c]
            w, r = n[c] / variance[j], (s[c] - n[c] * centre[j]) / variance[j]
            left = s[c] - n[c] * centre[j]
            for x in range(q):
                h[j, x] += r * f[i, x]
                left -= n[c] * loading[j, x] * f[i, x]
                for y in range(q):
                    H[j, x, y] += w * (f[i, x] * f[i, y] + C[x, y])
            rest[j, 0] += n[c]
            rest[j, 1] += left


@njit(cache=True, error_model="numpy")
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


@njit(cache=True, error_model="numpy")
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


@njit(cache=True, error_model="numpy")
def natural(
    real: bool, pulls: FloatMatrix, totals: FloatMatrix, kappa: float, centre: FloatVector,
    noise: float,
) -> tuple[FloatMatrix, FloatMatrix]:  # fmt: skip
    """Return what a reward and what a pull add to the expected log likelihood, (K, M) each."""
    slope, level = np.empty_like(pulls), np.empty_like(pulls)
    for j in range(pulls.shape[0]):
        p = centre[j]
        for g in range(pulls.shape[1]):
            x = pulls[j, g] + kappa
            if real:
                mean = (totals[j, g] + kappa * p) / x
                slope[j, g] = mean / noise
                level[j, g] = -0.5 * (mean * mean / noise + 1.0 / x)
            else:
                a = totals[j, g] + kappa * p
                failure = digamma(x - a)
                slope[j, g] = digamma(a) - failure
                level[j, g] = failure - digamma(x)
    return slope, level


@njit(cache=True, error_model="numpy")
def factor_likelihood(
    first: IntVector, arm: IntVector, n: FloatVector, s: FloatVector, centre: FloatVector,
    loading: FloatMatrix, f: FloatMatrix, m0: float, real: bool, noise: float, edge: float,
) -> float:  # fmt: skip
    """Return the log likelihood of all cells around p_j + L_j f_i."""
    total = 0.0
    for i in range(len(first) - 1):
        for c in range(first[i], first[i + 1]):
            mean = centre[arm[c]]
            for x in range(loading.shape[1]):
                mean += loading[arm[c], x] * f[i, x]
            if not real:
                mean = min(max(mean, edge), 1.0 - edge)
            total += cell_likelihood(real, n[c], s[c], mean, m0, noise)
    return total


@njit(cache=True, error_model="numpy")
def forth(first: IntVector, arm: IntVector, x: FloatVector, v: FloatMatrix) -> FloatMatrix:
    """Return X v for the sparse matrix X of cells, (S, q)."""
    out = np.zeros((len(first) - 1, v.shape[1]))
    for i in range(len(first) - 1):
        for c in range(first[i], first[i + 1]):
            for k in range(v.shape[1]):
                out[i, k] += x[c] * v[arm[c], k]
    return out


@njit(cache=True, error_model="numpy")
def back(
    first: IntVector, arm: IntVector, x: FloatVector, y: FloatMatrix, arms: int
) -> FloatMatrix:
    """Return X' y, (K, q)."""
    out = np.zeros((arms, y.shape[1]))
    for i in range(len(first) - 1):
        for c in range(first[i], first[i + 1]):
            for k in range(y.shape[1]):
                out[arm[c], k] += x[c] * y[i, k]
    return out


@njit(cache=True, error_model="numpy")
def leading(
    first: IntVector, arm: IntVector, x: FloatVector, label: IntVector, groups: int, arms: int
) -> tuple[FloatVector, FloatVector]:
    """Return each context's place on its group's leading direction, and how much that explains.

    The latter is the leading eigenvalue of X'X within the group, over what noise would give.
    """
    S = len(first) - 1
    v = np.empty((groups, arms))
    state = np.uint64(88172645463325252)
    for g in range(groups):
        for j in range(arms):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            v[g, j] = (state >> np.uint64(11)) * 2.0**-53 - 0.5
    y, strength, cells = np.zeros(S), np.zeros(groups), np.zeros(groups)
    for i in range(S):
        cells[label[i]] += first[i + 1] - first[i]
    for _ in range(12):
        out = np.zeros((groups, arms))
        for i in range(S):
            g = label[i]
            y[i] = 0.0
            for c in range(first[i], first[i + 1]):
                y[i] += x[c] * v[g, arm[c]]
            for c in range(first[i], first[i + 1]):
                out[g, arm[c]] += x[c] * y[i]
        for g in range(groups):
            strength[g] = math.sqrt((out[g] ** 2).sum())
            if strength[g] > 0.0:
                v[g] = out[g] / strength[g]
    for g in range(groups):
        if cells[g] > 0.0:
            strength[g] /= 1.0 + cells[g] / arms
    return y, strength
