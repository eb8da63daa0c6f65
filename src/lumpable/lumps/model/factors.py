"""Contexts that differ along few directions: factor analysis of what the population leaves.

    mu_ij = theta_j + L_j f_i + own deviation,  f_i ~ N(0, I),  L_j ~ N(0, tau^2)

To find the factors, Bernoulli rewards are treated as normal with the population's variance. The
evidence is Laplace's, with their own law.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.lumps.model import directions, likelihoods
from lumpable.lumps.model.counts import Counts, group_sums, weighed
from lumpable.lumps.model.evidence import price
from lumpable.lumps.model.fit import Fit

RANKS = 5
"""Directions at most."""
STEPS = 12
POWER_STEPS = 8
"""Iterations towards leading directions."""
WORTH = 1.0
"""Another direction must raise the log evidence by this much."""
CLOSE = 0.02
"""Population means stay this far from 0 and 1 in variances."""


def low_rank(counts: Counts, one: Fit, best: Fit) -> Fit:
    """Return the better of a fit and of one group with factors, of as many as pay."""
    found, last = best, one.evidence
    for q in range(1, min(RANKS, counts.arms - 1, counts.contexts - 1) + 1):
        tried = _fit_factors(counts, one, _start(counts, one, q))
        gain, last = tried.evidence - last, tried.evidence
        if gain <= WORTH:
            break
        if last > found.evidence + WORTH:
            found = tried
        elif last + (RANKS - q) * gain <= found.evidence:
            break  # leading directions come first: the others bring less than this one
    return found


def lead(
    counts: Counts, x: FloatVector, q: int, rng: np.random.Generator
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the q leading directions v of the matrix x of cells, and x v."""
    v = np.linalg.qr(rng.standard_normal((counts.arms, q)))[0]
    for _ in range(POWER_STEPS):
        y = directions.forth(counts.first, counts.arm, x, v)
        v = np.linalg.qr(directions.back(counts.first, counts.arm, x, y, counts.arms))[0]
    return v, directions.forth(counts.first, counts.arm, x, v)


def _start(counts: Counts, one: Fit, q: int) -> FloatMatrix:
    """Return loadings to start from: the leading directions of what the population leaves."""
    gap = (counts.s - counts.n * one.means[counts.arm, 0]) / (counts.n + 1.0)
    v, y = lead(counts, gap, q, np.random.default_rng([11, q]))
    start: FloatMatrix = v * np.sqrt((y**2).mean(axis=0) + 1e-4)
    return start


def _fit_factors(counts: Counts, one: Fit, loading: FloatMatrix) -> Fit:
    """Fit the factors; m0 falls from infinity to that of one group, as far as it pays."""
    best: Fit | None = None
    m0, steps = math.inf, STEPS
    while True:
        tried = _at_strength(counts, one, m0, loading, steps)
        if best is not None and tried.evidence <= best.evidence:
            return best
        best, loading, steps = tried, tried.loading, STEPS // 3
        if m0 <= one.m0:
            return best
        m0 = max(one.m0, 1024.0 if math.isinf(m0) else m0 / 4.0)


def _at_strength(counts: Counts, one: Fit, m0: float, loading: FloatMatrix, steps: int) -> Fit:
    S, (K, q) = counts.contexts, loading.shape
    n, s = weighed(counts, m0)
    pulls, totals = group_sums(counts, one.member, m0)
    plain = replace(one, pulls=pulls, totals=totals, m0=m0)
    f, cover = np.empty((S, q)), np.empty((S, q, q))
    centre, k0, p0 = plain.means[:, 0], one.k0, one.p0
    for _ in range(steps):
        variance = spread(centre)
        tau2 = np.maximum((loading**2).mean(axis=0), 1e-8)
        H, h, rest = np.zeros((K, q, q)), np.zeros((K, q)), np.zeros((K, 2))
        directions.factor_step(
            counts.first, counts.arm, n, s, centre, variance, loading, f, cover, H, h, rest
        )
        A = H + np.diag(1.0 / tau2)
        loading = np.linalg.solve(A, h[:, :, None])[:, :, 0].astype(np.float64)
        centre = (k0 * p0 + rest[:, 1] + rest[:, 0] * centre) / (k0 + rest[:, 0])
    totals = (centre * (k0 + rest[:, 0]) - k0 * p0)[:, None]
    width = np.linalg.slogdet(A)[1].sum() + K * np.log(tau2).sum() + (loading**2 / tau2).sum()
    width += (f**2).sum() - np.linalg.slogdet(cover)[1].sum()
    likely = likelihoods.factor_likelihood(*counts.rows, centre, loading, f, m0, CLOSE)
    found = likely + price(counts, plain) - 0.5 * float(width)
    return replace(plain, totals=totals, loading=loading, evidence=found)


def spread(centre: FloatVector) -> FloatVector:
    """Return the variance of a reward of each arm."""
    p = np.clip(centre, CLOSE, 1.0 - CLOSE)
    variance: FloatVector = p * (1.0 - p)
    return variance


def factor_beliefs(counts: Counts, fit: Fit) -> tuple[FloatMatrix, npt.NDArray[np.float64]]:
    """Return what each context's cells say of its factors: precision times mean, and precision.

    Shapes are (S, q) and (S, q, q), of the contexts that were seen.
    """
    q, S = fit.rank, counts.contexts
    precision_mean, precision = np.zeros((S, q)), np.tile(np.eye(q), (S, 1, 1))
    row, p, L = counts.row, fit.means[:, 0], fit.loading[counts.arm]
    each = counts.weight(fit.m0) / spread(p)[counts.arm]
    gap = each * (counts.s - counts.n * p[counts.arm])
    np.add.at(precision_mean, row, gap[:, None] * L)
    outer = L[:, :, None] * L[:, None, :]
    np.add.at(precision, row, (each * counts.n)[:, None, None] * outer)
    return precision_mean, precision


def residual_sums(counts: Counts, fit: Fit) -> tuple[FloatMatrix, FloatMatrix]:
    """Return pulls and totals of each arm, less what the contexts' factors explain."""
    precision_mean, precision = factor_beliefs(counts, fit)
    factor = np.linalg.solve(precision, precision_mean[:, :, None])[:, :, 0]
    explained = counts.n * (fit.loading[counts.arm] * factor[counts.row]).sum(axis=1)
    weight = counts.weight(fit.m0)
    pulls, totals = np.zeros((counts.arms, 1)), np.zeros((counts.arms, 1))
    np.add.at(pulls[:, 0], counts.arm, weight * counts.n)
    np.add.at(totals[:, 0], counts.arm, weight * (counts.s - explained))
    return pulls, totals
