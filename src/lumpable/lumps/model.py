"""The three-level model: population, groups, contexts. What was seen and what is believed.

    p_j ~ Beta(k0 p0, k0 (1 - p0)),  theta_gj ~ Beta(kappa p_j, kappa (1 - p_j)),
    mu_ij ~ Beta(m0 theta_gj, m0 (1 - theta_gj)) with g = z_i ~ pi,  rewards ~ Bernoulli(mu_ij),

or, for real rewards, the same with normal laws of variance sigma^2 / strength and noise sigma^2.
With one group there is no middle level: theta_j ~ Beta(k0 p0, k0 (1 - p0)). Everything is a pure
function of counts; knows no search and no round.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lumpable.base.checks import FloatMatrix, FloatVector, IntVector
from lumpable.lumps import arithmetic

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
PRIOR_FREEDOM = 5.0
"""The variance of all rewards counts as so many degrees of freedom in sigma^2."""


@dataclass(frozen=True, eq=False)
class Counts:
    """All that was seen: rows of cells, sorted by context and arm."""

    context: IntVector
    """The contexts that were seen, in order; what follows numbers them 0, 1, .."""
    first: IntVector
    """Cells of context i are at first[i] .. first[i + 1] - 1."""
    arm: IntVector
    n: FloatVector
    """Rewards of the cell."""
    s: FloatVector
    """Their total."""
    arms: int
    real: bool
    """Whether some reward was neither 0 nor 1."""
    squares: float
    """Sum of the squared distances of rewards from their cell's average."""

    @property
    def contexts(self) -> int:
        """S."""
        return len(self.first) - 1

    @property
    def rows(self) -> tuple[IntVector, IntVector, FloatVector, FloatVector]:
        """The cells, as compiled functions take them."""
        return self.first, self.arm, self.n, self.s

    def weight(self, m0: float) -> FloatVector:
        """Return how much a reward of each cell tells about its group's mean.

        Rewards of one context share its own deviation: n of them tell as much as n weight(m0).
        """
        if math.isinf(m0):
            return np.ones(len(self.n))
        weight: FloatVector = (m0 if self.real else 1.0 + m0) / (self.n + m0)
        return weight

    def noise(self) -> float:
        """Return sigma^2, from cells with several rewards and a little from all rewards."""
        if not self.real:
            return 1.0
        n, mean = self.n, self.s / self.n
        around = float(self.s.sum() / n.sum())
        if n.sum() < 2:
            return max(around * around, 1e-200)
        total = self.squares + float((n * (mean - around) ** 2).sum())
        spread = total / max(n.sum() - 1.0, 1.0)
        noise = (self.squares + PRIOR_FREEDOM * spread) / (n.sum() - len(n) + PRIOR_FREEDOM)
        return max(float(noise), 1e-12 * max(around * around, 1e-200))


@dataclass(frozen=True, eq=False)
class Fit:
    """What the model believes after a fit. Tables are (arms, groups)."""

    context: IntVector
    """The contexts that had been seen."""
    member: FloatMatrix
    """Posterior over groups of each of them, (S, M)."""
    pulls: FloatMatrix
    """Rewards of each arm and group, as much as they tell about the group's mean."""
    totals: FloatMatrix
    share: FloatVector
    """ln pi."""
    kappa: float
    centre: FloatVector
    """p_j; p0 with one group."""
    hold: FloatVector
    """W_j: how sure p_j is, in pulls; infinite with one group."""
    m0: float
    k0: float
    p0: float
    real: bool
    noise: float
    """sigma^2; 1 for Bernoulli rewards."""
    loading: FloatMatrix
    """L (K, q): contexts differ along q directions, mu_ij = theta_j + L_j f_i; with one group."""
    rewards: float
    """How many rewards it was fitted to."""
    evidence: float
    """ln of the probability of all that was seen, about."""

    @property
    def groups(self) -> int:
        """M."""
        return len(self.share)

    @property
    def rank(self) -> int:
        """q."""
        return int(self.loading.shape[1])

    @property
    def means(self) -> FloatMatrix:
        """Posterior means of theta, (K, M)."""
        kappa = self.kappa
        table: FloatMatrix = (self.totals + kappa * self.centre[:, None]) / (self.pulls + kappa)
        return table

    def membership(self, contexts: IntVector) -> FloatMatrix:
        """Return the posterior over groups of these contexts, whether they had been seen or not."""
        share = np.exp(self.share)
        member: FloatMatrix = np.tile(share / share.sum(), (len(contexts), 1))
        at = np.minimum(np.searchsorted(self.context, contexts), len(self.context) - 1)
        seen = self.context[at] == contexts
        member[seen] = self.member[at[seen]]
        return member


def gathered(counts: Counts, member: FloatMatrix, m0: float) -> tuple[FloatMatrix, FloatMatrix]:
    """Return pulls and totals of each arm and group."""
    weight = counts.weight(m0)
    pulls, totals = (np.zeros((counts.arms, member.shape[1])) for _ in range(2))
    n, s = counts.n * weight, counts.s * weight
    arithmetic.gather(counts.first, counts.arm, n, s, member, pulls, totals)
    return pulls, totals


def posterior(
    counts: Counts, m0: float, noise: float, kappa: float, centre: FloatVector,
    share: FloatVector, pulls: FloatMatrix, totals: FloatMatrix,
) -> tuple[FloatMatrix, float]:  # fmt: skip
    """Return the posterior over groups of each context, for group means with these sums.

    And the sum of the logarithms of its normalisers, which grows as the fit gets better.
    """
    weight, member = counts.weight(m0), np.empty((counts.contexts, len(share)))
    slope, level = arithmetic.natural(counts.real, pulls, totals, kappa, centre, noise)
    n, s = counts.n * weight, counts.s * weight
    bound = arithmetic.members(counts.first, counts.arm, n, s, slope, level, share, member)
    return member, bound


def strengths(real: bool) -> FloatVector:
    """Return the values of m0 that are compared."""
    return REAL_OWN_STRENGTHS if real else OWN_STRENGTHS


def own_strength(
    counts: Counts, member: FloatMatrix, pulls: FloatMatrix, totals: FloatMatrix,
    centre: FloatVector, kappa: float, noise: float, before: float,
) -> float:  # fmt: skip
    """Return m0: how closely contexts keep to their group, judged by means without themselves."""
    grid = strengths(counts.real)
    likely = arithmetic.strengths_compared(
        *counts.rows, counts.weight(before), member, pulls, totals, centre, kappa, grid,
        counts.real, noise,
    )  # fmt: skip
    finite = np.minimum(grid, 1e300)
    prior = np.where(np.isinf(grid), 0.0, -((np.log(finite / USUAL_OWN_STRENGTH) / 2) ** 2) / 2)
    return float(grid[np.argmax(likely + prior)])


def top_level(
    real: bool, weight: FloatVector, total: FloatVector, noise: float
) -> tuple[float, float]:
    """Return the strength k0 and the mean p0 of the arms' prior, by penalised likelihood."""
    seen = weight > 0
    w, t = weight[seen], total[seen]
    if not real:
        return arithmetic.top_of_bernoulli(w, t, STRENGTHS)
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
            return arithmetic.normal_marginals(strength, centre, totals, pulls, noise)
        return arithmetic.beta_binomials(strength, centre, totals, pulls)

    kappa = climbed(REAL_STRENGTHS if counts.real else STRENGTHS, kappa, likely)
    if kappa != before:
        population = _population(counts, pulls, totals, kappa, noise)
    return kappa, *population


def climbed(grid: FloatVector, start: float, score: Callable[[float], float]) -> float:
    """Return the value on an increasing grid whose score no neighbour beats, uphill from a start.

    >>> climbed(STRENGTHS, 2.0, lambda x: -abs(x - 70.0))
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
    hold = k0 + weight
    return (k0 * p0 + total) / hold, hold, k0, p0
