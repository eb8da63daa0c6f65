"""What arms are worth to groups, on the scale of the rewards: means, and how sure they are.

    p_j ~ N(p0, t0^2),  theta_gj ~ N(p_j, tau^2),  the average of n rewards ~ N(theta_gj, v_gj / n)

Who is in which group comes from scores; here are the rewards themselves. Their noise v_gj differs
by arm and group, as it does for counts, durations and amounts of money. Where contexts differ
widely in noise, a reward of a noisy one counts for less than one. Contexts deviate from their group
as their scores do: own rewards count against the group's mean as m0 scores would. With one group
there is no middle level: theta_j ~ N(p0, tau^2). Wild rewards count as the fence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.lumps.model.counts import Counts, gathered
from lumpable.lumps.model.ends import NO_ENDS, Ends, two_ends
from lumpable.lumps.model.scores import Cells
from lumpable.lumps.model.variances import draw_together

PRIOR_FREEDOM = 5.0
"""The variance of all rewards counts as this many degrees of freedom within cells."""
RATIOS: FloatVector = 2.0 ** np.arange(-12.0, 11.0)
"""Variances between arms and between groups that are compared: the usual noise over these."""
USUAL_RATIO = 8.0
"""Variances between arms farther from the usual noise over this are less likely beforehand."""
OWN_WIDTH = 2.0
"""How far m0 of rewards may be from that of scores, as the width of its prior in logarithms."""
CEILING = 0.75
"""The ceiling is this quantile of the best means that contexts have found."""
RIDGE = 5.0
"""Loadings are drawn to 0 as by this many rewards with usual factors."""


@dataclass(frozen=True, eq=False)
class Worth:
    """What arms are worth to groups. Tables are (arms, groups)."""

    pulls: FloatMatrix
    """Rewards, as much as they tell about the group's mean, and their totals."""
    totals: FloatMatrix
    noise: FloatMatrix
    """v_gj."""
    between: float
    """tau^2."""
    centre: FloatVector
    """p_j; p0 with one group."""
    hold: FloatVector
    """The precision of p_j; infinite with one group."""
    p0: float
    t0: float
    """t0^2."""
    own: float
    """m0, in rewards; infinite: contexts of a group are alike."""
    loading: FloatMatrix
    """(K, q), what a context's factors add to each arm."""
    ceiling: float
    """What the best arms that contexts have found are worth to them, but for the best quarter."""
    ends: Ends = NO_ENDS
    """Where contexts' own means are if they have about two values."""

    @property
    def means(self) -> FloatMatrix:
        """Posterior means of theta, (K, M)."""
        strength = self.noise / self.between
        table: FloatMatrix = (self.totals + strength * self.centre[:, None]) / (
            self.pulls + strength
        )
        return table

    @property
    def variances(self) -> FloatMatrix:
        """Posterior variances of theta, (K, M), as if members were known."""
        x = self.pulls + self.noise / self.between
        lift = self.noise / self.between / x
        table: FloatMatrix = self.noise / x + lift**2 / self.hold[:, None]
        return table


def own_strength(m0: float, counts: Counts, phi: FloatVector) -> float:
    """Return m0 in rewards, of which each is worth 1 / phi_j coins."""
    return m0 * float((counts.n * phi[counts.arm]).sum() / counts.rewards)


def worth(
    counts: Counts, cells: Cells, member: FloatMatrix, own: float, factor: FloatMatrix
) -> Worth:
    """Return what arms are worth to groups with these members, or to contexts with these factors.

    `factor` is (S, q); with factors there is one group. `own` is what scores say of how much
    contexts deviate; the rewards have the last word on how much, not on whether.
    """
    found = _worth(counts, cells, member, own, factor)
    if math.isfinite(own):
        found = _worth(counts, cells, member, _own(counts, cells, member, found, factor), factor)
        found = replace(found, ends=_ends(counts, cells, member, found, factor))
    return replace(found, ceiling=_ceiling(counts, cells, member, found, factor))


def _worth(
    counts: Counts, cells: Cells, member: FloatMatrix, own: float, factor: FloatMatrix
) -> Worth:
    """Return the same for contexts that deviate so much; without a ceiling."""
    weight = np.ones(len(cells.n)) if math.isinf(own) else own / (own + cells.n)
    noise = _noise(counts, cells, member, own)
    s, loading = cells.s, np.zeros((counts.arms, 0))
    if factor.shape[1] > 0:
        loading = _loading(counts, cells, weight, factor)
        s = s - cells.n * (loading[counts.arm] * factor[counts.row]).sum(axis=1)
    pulls, totals = gathered(counts, cells.n * weight, s * weight, member)
    laws = _levels(pulls, totals, noise)
    return Worth(pulls, totals, noise, *laws, own, loading, math.inf)


def _own(
    counts: Counts, cells: Cells, member: FloatMatrix, found: Worth, factor: FloatMatrix
) -> float:
    """Return m0 by the likelihood of the cells' averages, near what scores say of it.

    Scores by rank make large deviations look small. Where few large rewards make most of the noise,
    averages tell less.
    """
    gap = cells.s / cells.n - _means(counts, member, found, factor)
    noise = (member @ found.noise.T)[counts.row, counts.arm]
    best = -math.inf, found.own
    for ratio in RATIOS:
        variance = noise * (1.0 / cells.n + 1.0 / ratio)
        likely = -0.5 * float((np.log(variance) + gap**2 / variance).sum())
        score = cells.telling * likely - (math.log(ratio / found.own) / OWN_WIDTH) ** 2 / 2.0
        best = max(best, (score, float(ratio)))
    return best[1]


def _ends(
    counts: Counts, cells: Cells, member: FloatMatrix, found: Worth, factor: FloatMatrix
) -> Ends:
    """Return the two values of contexts' own means, if that is likelier than a normal law."""
    mean, expected = cells.s / cells.n, _means(counts, member, found, factor)
    noise = (member @ found.noise.T)[counts.row, counts.arm]
    two = two_ends(mean, cells.n, noise, expected)
    if two is None:
        return NO_ENDS
    variance = noise * (1.0 / cells.n + 1.0 / found.own)
    normal = -0.5 * float((np.log(variance) + (mean - expected) ** 2 / variance).sum())
    ends, likely = two
    more = math.log(len(mean))  # by Schwarz: two more numbers were fitted to so many cells
    return ends if cells.telling * (likely - normal) > more else NO_ENDS


def _means(counts: Counts, member: FloatMatrix, found: Worth, factor: FloatMatrix) -> FloatVector:
    """Return what contexts' groups or factors say of the mean of each cell."""
    mean: FloatVector = (member @ found.means.T)[counts.row, counts.arm]
    if factor.shape[1] > 0:
        mean = mean + (found.loading[counts.arm] * factor[counts.row]).sum(axis=1)
    return mean


def _levels(
    pulls: FloatMatrix, totals: FloatMatrix, noise: FloatMatrix
) -> tuple[float, FloatVector, FloatVector, float, float]:
    """Return tau^2, p_j and its precision, p0 and t0^2."""
    known = pulls > 0.0
    y = np.divide(totals, pulls, out=np.zeros_like(totals), where=known)
    spread = np.divide(noise, pulls, out=np.full_like(noise, np.inf), where=known)
    usual = float((pulls * noise).sum() / pulls.sum())
    if pulls.shape[1] == 1:
        p0, t0 = _top(y[:, 0], spread[:, 0], usual)
        return t0, np.full(len(y), p0), np.full(len(y), np.inf), p0, t0
    between = _between(y, spread, usual)
    return between, *_population(y, spread, between, usual)


def _ceiling(
    counts: Counts, cells: Cells, member: FloatMatrix, found: Worth, factor: FloatMatrix
) -> float:
    """Return a high quantile of the best means of contexts, of the arms that they tried."""
    own = found.own
    if math.isinf(own):
        return math.inf
    mean = _means(counts, member, found, factor)
    start = counts.first[:-1][np.diff(counts.first) > 0]  # of half of the rewards, some have none
    best = np.maximum.reduceat((own * mean + cells.s) / (own + cells.n), start)
    return float(np.quantile(best, CEILING))


def widen(held: Worth, more: int) -> Worth:
    """Return the same with more arms, which have no rewards."""
    M, q = held.pulls.shape[1], held.loading.shape[1]
    nothing, hold = np.zeros((more, M)), np.inf if M == 1 else 1.0 / held.t0
    usual = float(held.noise.mean())
    return Worth(
        np.concatenate([held.pulls, nothing]), np.concatenate([held.totals, nothing]),
        np.concatenate([held.noise, nothing + usual]), held.between,
        np.append(held.centre, np.full(more, held.p0)), np.append(held.hold, np.full(more, hold)),
        held.p0, held.t0, held.own, np.concatenate([held.loading, np.zeros((more, q))]),
        held.ceiling, held.ends,
    )  # fmt: skip


def _noise(counts: Counts, cells: Cells, member: FloatMatrix, own: float) -> FloatMatrix:
    """Return v_gj, drawn to the noise of the arm, and that to the noise of all arms.

    Contexts that deviate tell about the noise within cells only; alike ones by all their rewards.
    """
    n, mean = cells.n, cells.s / cells.n
    around = _around(counts, cells, np.ones((counts.contexts, 1))).sum()
    all_noise = max(float(around) / max(counts.rewards - 1.0, 1.0), 1e-200)
    all_noise = max(all_noise, 1e-24 * float((n * mean**2).sum() / n.sum()))
    if math.isinf(own):
        squares = _around(counts, cells, member)
        rewards, _ = gathered(counts, cells.rewards, cells.rewards, member)
        free = np.maximum(rewards - 1.0, 0.0)
    else:
        squares, free = gathered(counts, cells.s_squares, cells.rewards - 1.0, member)
        within = (squares.sum() + PRIOR_FREEDOM * all_noise) / (free.sum() + PRIOR_FREEDOM)
        all_noise = max(float(within), 1e-12 * all_noise)
    each, common = 2.0 / cells.telling, np.full(counts.arms, all_noise)
    of_arm = squares.sum(axis=1) / np.maximum(free.sum(axis=1), 1e-9)
    arm = draw_together(of_arm, free.sum(axis=1), each, common)[:, None]
    towards = np.repeat(arm, member.shape[1], axis=1)
    return draw_together(squares / np.maximum(free, 1e-9), free, each, towards)


def _around(counts: Counts, cells: Cells, member: FloatMatrix) -> FloatMatrix:
    """Return the squares of rewards around the average of their arm and group."""
    pulls, totals = gathered(counts, cells.n, cells.s, member)
    origin = totals.sum() / pulls.sum()  # or squares of large rewards would lose their differences
    mean = cells.s / cells.n - origin
    squares, first = gathered(counts, cells.s_squares + cells.n * mean**2, cells.n * mean, member)
    squares -= np.divide(first**2, pulls, out=np.zeros_like(first), where=pulls > 0.0)
    return np.maximum(squares, 0.0)


def _top(y: FloatVector, spread: FloatVector, usual: float) -> tuple[float, float]:
    """Return p0 and t0^2 of arms with these averages, by penalised likelihood."""
    known = np.isfinite(spread)
    y, spread = y[known], spread[known]
    best = (-math.inf, 0.0, usual / USUAL_RATIO)
    for ratio in RATIOS:
        precision = 1.0 / (usual / ratio + spread)
        p0 = float((precision * y).sum() / precision.sum())
        score = 0.5 * float((np.log(precision) - precision * (y - p0) ** 2).sum())
        score -= 0.5 * math.log(precision.sum()) + abs(math.log(ratio / USUAL_RATIO))
        best = max(best, (score, p0, usual / float(ratio)))
    return best[1], best[2]


def _population(
    y: FloatMatrix, spread: FloatMatrix, between: float, usual: float
) -> tuple[FloatVector, FloatVector, float, float]:
    """Return p_j and its precision, p0 and t0^2."""
    precision = 1.0 / (between + spread)
    weight, total = precision.sum(axis=1), (precision * y).sum(axis=1)
    known = weight > 0.0
    average = np.divide(total, weight, out=np.zeros_like(total), where=known)
    sure = np.divide(1.0, weight, out=np.full_like(weight, np.inf), where=known)
    p0, t0 = _top(average, sure, usual)
    hold = 1.0 / t0 + weight
    return (p0 / t0 + total) / hold, hold, p0, t0


def _between(y: FloatMatrix, spread: FloatMatrix, usual: float) -> float:
    """Return tau^2 by the likelihood of the groups' averages around those of their arm."""
    best = -math.inf, usual
    for ratio in RATIOS:
        between = usual / float(ratio)
        precision = 1.0 / (between + spread)
        weight = np.maximum(precision.sum(axis=1), 1e-300)
        centre = (precision * y).sum(axis=1) / weight
        away = precision * (y - centre[:, None]) ** 2
        score = 0.5 * float((np.log(np.maximum(precision, 1e-300)) - away).sum(where=precision > 0))
        score -= 0.5 * float(np.log(weight).sum(where=weight > 1e-300))
        best = max(best, (score, between))
    return best[1]


def _loading(counts: Counts, cells: Cells, weight: FloatVector, factor: FloatMatrix) -> FloatMatrix:
    """Return what factors add to each arm: a regression of its rewards on them."""
    q, K, f = factor.shape[1], counts.arms, factor[counts.row]
    x = np.column_stack([np.ones(len(f)), f])  # with an intercept, which is thrown away
    n = cells.n * weight
    A, b = np.zeros((K, q + 1, q + 1)), np.zeros((K, q + 1))
    np.add.at(A, counts.arm, n[:, None, None] * x[:, :, None] * x[:, None, :])
    np.add.at(b, counts.arm, (weight * cells.s)[:, None] * x)
    A += np.diag(np.append(1e-9, np.full(q, RIDGE * max(float(factor.var()), 1e-9))))
    loading: FloatMatrix = np.linalg.solve(A, b[:, :, None])[:, 1:, 0]
    return loading
