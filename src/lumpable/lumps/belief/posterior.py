"""The posterior of groups now: their arms' means, the best of those, their sizes.

Pure reads of a learner; draws have fixed seeds. Group means are gathered anew from all that was
seen, with the memberships and strengths believed now. Four things are uncertain: rewards are few,
the population's own mean, who is a member, and how many groups there are (see `model.rivals`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from lumpable.base.arrays import BoolVector, FloatMatrix, FloatVector
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.state import KAPPA, M0, NOISE
from lumpable.lumps.model import arithmetic
from lumpable.lumps.model.counts import Counts, group_sums
from lumpable.lumps.model.evidence import lost_part
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.model.rivals import Rival, refit, rivals

DRAWS = 4000
"""Draws for the probability that an arm is the best: its standard error is at most 0.008."""
MOST_RIVALS = 200
"""Arms that are drawn to see which is the best: those that could be largest."""
ESTIMATED = 1.15
"""Variances are larger by this factor than with known strengths, noise and shares; measured."""
EXACT_SIZES = 5000
"""Up to this many doubtful members, the law of a group's size is exact; then it is normal."""
GRID: FloatVector = np.linspace(-12.0, 12.0, 961)
"""Standard deviations of the logit at which a Beta law is summed up, ..."""
BENDS: FloatVector = np.linspace(-25.0, 25.0, 501)
"""... and logits where the density of a very wide one bends."""


class Posterior(NamedTuple):
    """What was seen and what is believed of groups now; tables are (arms, groups)."""

    counts: Counts
    member: FloatMatrix
    """(S, M), of the contexts that were seen."""
    pulls: FloatMatrix
    mean: FloatMatrix
    variance: FloatMatrix
    """Of the posterior of theta."""
    m0: float
    noise: float

    @property
    def spread(self) -> FloatMatrix:
        """Return the variance of a single reward of each arm and group."""
        if self.counts.real:
            return np.full(self.mean.shape, self.noise)
        table: FloatMatrix = np.maximum(self.mean * (1.0 - self.mean), 1e-12)
        return table


class _Known(NamedTuple):
    tells: int
    fit: Fit | None
    arms: int
    rivals: list[Rival]


_known: WeakKeyDictionary[Levels, _Known] = WeakKeyDictionary()
"""The rivals of each learner, until it learns more: they take about as long as a fit."""


def rivals_of(learner: Levels) -> list[Rival]:
    """Return the likely ones among the models with one group less or more."""
    known = _known.get(learner)
    now = learner.tells, learner.last_fit, learner.arms
    if known is None or known[:3] != now:
        counts = learner.counts()
        others = rivals(counts, learner.last_fit, learner.membership(counts.context))
        known = _known[learner] = _Known(*now, others)
    return known.rivals


def current_fit(learner: Levels, counts: Counts) -> Fit:
    """Return the model believed now, fitted to all that was seen."""
    return refit(counts, learner.last_fit, learner.membership(counts.context))


def posterior_now(learner: Levels) -> Posterior:
    """Return what is believed now, as if the number of groups were known."""
    counts, state = learner.counts(), learner.state
    kappa, m0, noise = (float(state.value[k]) for k in (KAPPA, M0, NOISE))
    member = learner.membership(counts.context)
    pulls, totals = state.group_pulls.T, state.group_total.T
    if state.loading.shape[1] == 0:  # else totals are net of the factors
        pulls, totals = group_sums(counts, member, m0)
    return _with_doubts(
        counts, member, pulls, totals, kappa, state.centre, state.prior_weight, m0, noise
    )


def averaged_posterior(learner: Levels) -> Posterior:
    """Return the same with a variance for the doubt about how many groups there are.

    In another model the members of a group are spread over its groups; the mean of a group here is
    that of a member drawn at random.
    """
    now = posterior_now(learner)
    own, others = 1.0, np.zeros_like(now.mean)
    size = np.maximum(now.member.sum(axis=0), 1e-300)
    for probability, fit in rivals_of(learner):
        other = posterior_of(now.counts, fit)
        part = (now.member.T @ other.member / size[:, None]).T
        square = (other.variance + other.mean**2) @ part
        others += probability * (square - 2.0 * now.mean * (other.mean @ part) + now.mean**2)
        own -= probability
    return now._replace(variance=own * now.variance + others)


def posterior_of(counts: Counts, fit: Fit) -> Posterior:
    """Return what another model believes."""
    return _with_doubts(
        counts, fit.member, fit.pulls, fit.totals, fit.kappa, fit.centre, fit.prior_weight, fit.m0,
        fit.noise,
    )  # fmt: skip


def _with_doubts(
    counts: Counts, member: FloatMatrix, pulls: FloatMatrix, totals: FloatMatrix, kappa: float,
    centre: FloatVector, prior_weight: FloatVector, m0: float, noise: float,
) -> Posterior:  # fmt: skip
    """Return the law of the means: few rewards, the population's own mean, who is a member."""
    p, prior_weight = centre[:, None], prior_weight[:, None]
    x = pulls + kappa
    mean, lift = (totals + kappa * p) / x, kappa / x
    if counts.real:
        variance = noise * (1.0 / x + lift**2 / prior_weight)
    else:
        variance = mean * (1.0 - mean) / (x + 1.0) + lift**2 * p * (1.0 - p) / (prior_weight + 1.0)
    posterior = Posterior(counts, member, pulls, mean, variance, m0, noise)
    lost = lost_part(counts, member, mean, posterior.spread, variance, m0)
    return posterior._replace(variance=ESTIMATED * variance / (1.0 - lost))


def beta_shape(mean: FloatVector, variance: FloatVector) -> tuple[FloatVector, FloatVector]:
    """Return the Beta law with these moments."""
    mean = np.clip(mean, 1e-9, 1.0 - 1e-9)
    e = np.maximum(mean * (1.0 - mean) / np.maximum(variance, 1e-300) - 1.0, 0.05)
    return mean * e, (1.0 - mean) * e


def beta_quantiles(a: FloatVector, b: FloatVector, levels: Sequence[float]) -> list[FloatVector]:
    """Return quantiles of Beta(a, b), summed up on the logit scale, where its density is smooth.

    >>> [round(float(x[0]), 4) for x in beta_quantiles(np.ones(1), np.ones(1), [0.05, 0.95])]
    [0.05, 0.95]
    """
    psi, width = np.vectorize(arithmetic.digamma), np.vectorize(arithmetic.trigamma)
    sd = np.sqrt(width(a) + width(b))[:, None]
    y = (psi(a) - psi(b))[:, None] + sd * GRID
    y = np.sort(np.column_stack([y, np.tile(BENDS, (len(a), 1))]), axis=1)
    density = a[:, None] * y - (a + b)[:, None] * np.logaddexp(0.0, y)
    density = np.exp(density - density.max(axis=1, keepdims=True))
    below = np.cumsum((density[:, 1:] + density[:, :-1]) * np.diff(y, axis=1), axis=1)
    below = np.column_stack([np.zeros(len(a)), below / below[:, -1:]])
    ends = [[np.interp(q, row, at) for row, at in zip(below, y, strict=True)] for q in levels]
    return [1.0 / (1.0 + np.exp(-np.array(end))) for end in ends]


def interval(seen: Posterior, g: int, level: float) -> tuple[FloatVector, FloatVector]:
    """Return the ends of the intervals of a group's means."""
    tail = (1.0 - level) / 2.0
    mean, variance = seen.mean[:, g], seen.variance[:, g]
    if seen.counts.real:
        wide = NormalDist().inv_cdf(1.0 - tail) * np.sqrt(variance)
        return mean - wide, mean + wide
    low, high = beta_quantiles(*beta_shape(mean, variance), [tail, 1.0 - tail])
    return low, high


def best_arm(seen: Posterior, g: int, allowed: BoolVector) -> tuple[int, float]:
    """Return the allowed arm with the largest mean of a group, and how likely it is the best."""
    mean = np.where(allowed, seen.mean[:, g], -np.inf) if allowed.any() else seen.mean[:, g]
    variance = seen.variance[:, g]
    best, reach = int(np.argmax(mean)), 5.0 * np.sqrt(variance)
    rivals = np.flatnonzero(mean + reach >= mean[best] - reach[best])
    if len(rivals) > MOST_RIVALS:
        upper = mean[rivals] + 2.0 * np.sqrt(variance[rivals])
        rivals = np.union1d(rivals[np.argsort(-upper)[:MOST_RIVALS]], [best])
    rng = np.random.default_rng([13, g])
    if seen.counts.real:
        theta = rng.normal(mean[rivals], np.sqrt(variance[rivals]), (DRAWS, len(rivals)))
    else:
        theta = rng.beta(*beta_shape(mean[rivals], variance[rivals]), (DRAWS, len(rivals)))
    return best, float((rivals[np.argmax(theta, axis=1)] == best).mean())


def sizes(probability: FloatVector, level: float) -> tuple[int, int]:
    """Return the interval of a number of members, each in with its own probability."""
    p = probability[(probability > 1e-9) & (probability < 1.0 - 1e-9)]
    sure, tail = int((probability >= 1.0 - 1e-9).sum()), (1.0 - level) / 2.0
    if len(p) > EXACT_SIZES:
        law = NormalDist(float(p.sum()), math.sqrt(float((p * (1.0 - p)).sum())))
        ends = law.inv_cdf(tail) - 0.5, law.inv_cdf(1.0 - tail) + 0.5
        return sure + max(0, math.floor(ends[0])), sure + min(len(p), math.ceil(ends[1]))
    mass = np.ones(1)
    for one in p:
        mass = np.convolve(mass, (1.0 - one, one))
    below = np.minimum(np.cumsum(mass), 1.0)
    low, high = np.searchsorted(below, [tail, 1.0 - tail - 1e-12])
    return sure + int(low), sure + int(high)
