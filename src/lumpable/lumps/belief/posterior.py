"""The posterior of groups now: their arms' means, the best of those, their sizes.

Pure reads of a learner; draws have fixed seeds. Group means are gathered anew from all that was
seen, with the memberships and strengths believed now. Four things are uncertain: rewards are few,
the population's own mean, who is a member, and how many groups there are (see `model.rivals`).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from statistics import NormalDist
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from lumpable.base.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from lumpable.lumps.belief.beta_laws import beta_quantiles, beta_shape
from lumpable.lumps.belief.strengths_doubted import second_moments
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.state import KAPPA, M0
from lumpable.lumps.model import likelihoods
from lumpable.lumps.model.counts import Counts, group_sums
from lumpable.lumps.model.dispersion import evened
from lumpable.lumps.model.evidence import MOST_LOST, lost_part
from lumpable.lumps.model.fit import Fit, Scale
from lumpable.lumps.model.fitted import coins_of, with_worth
from lumpable.lumps.model.rivals import Rival, refit, rivals
from lumpable.lumps.model.scores import scored

DRAWS = 4000
"""Draws for the probability that an arm is the best: its standard error is at most 0.008."""
MOST_RIVALS = 200
"""Arms that are drawn to see which is the best: those that could be largest."""
ESTIMATED = 1.15
"""Variances are larger by this factor than with known strengths, noise and shares; measured."""
EXACT_SIZES = 5000
"""Up to this many doubtful members, the law of a group's size is exact; then it is normal."""
Made = TypeVar("Made")


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
    spread: FloatMatrix
    """The variance of a single reward."""

    @property
    def own(self) -> FloatMatrix:
        """Return the variance of contexts' own means around that of their group."""
        strength = self.m0 if self.counts.real else 1.0 + self.m0
        table: FloatMatrix = self.spread / strength
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
        coins = coins_now(learner)
        others = rivals(coins, learner.last_fit, learner.membership(coins.context))
        known = _known[learner] = _Known(*now, others)
    return known.rivals


def seen_now(learner: Levels) -> Counts:
    """Return all that was seen."""
    return _shared(learner, "counts", lambda: learner.counts())


def counts_now(learner: Levels) -> Counts:
    """Return all that was seen, as the learner reads it until its next fit."""
    fit = learner.last_fit
    return seen_now(learner).read_as(real=fit is not None and fit.real)


def coins_now(learner: Levels) -> Counts:
    """Return all that was seen, as the coins that the learner takes it for."""
    return coins_of(counts_now(learner), learner.last_fit)


def current_fit(learner: Levels, coins: Counts) -> Fit:
    """Return the model believed now, fitted to all that was seen."""
    return refit(coins, learner.last_fit, learner.membership(coins.context))


def posterior_now(learner: Levels) -> Posterior:
    """Return what is believed of rewards now, as if the number of groups were known."""
    return _shared(learner, "posterior", lambda: _posterior(learner))


def _posterior(learner: Levels) -> Posterior:
    counts = counts_now(learner)
    if not counts.real or learner.last_fit is None:
        return score_posterior(learner)
    member = learner.membership(counts.context)
    return _of_worth(counts, replace(learner.last_fit, member=member, context=counts.context))


def score_posterior(learner: Levels) -> Posterior:
    """Return what is believed of scores now, which are the rewards themselves if all are coins."""
    return _shared(learner, "scores", lambda: _score_posterior(learner))


def _score_posterior(learner: Levels) -> Posterior:
    coins, state = coins_now(learner), learner.state
    kappa, m0 = (float(state.value[k]) for k in (KAPPA, M0))
    member = learner.membership(coins.context)
    pulls, totals = state.group_pulls.T, state.group_total.T
    if state.loading.shape[1] == 0:  # else totals are net of the factors
        pulls, totals = group_sums(coins, member, m0)
    return _of_coins(coins, member, pulls, totals, kappa, state.centre, state.prior_weight, m0)


_held: WeakKeyDictionary[Levels, dict[Hashable, Any]] = WeakKeyDictionary()
"""Of learners that are asked many questions at once; it is as large as all that was seen."""


@contextlib.contextmanager
def cache_answers(learner: Levels) -> Iterator[None]:
    """Let many questions about what a learner believes share counts and posteriors."""
    outermost = learner not in _held
    _held.setdefault(learner, {})
    try:
        yield
    finally:
        if outermost:
            _held.pop(learner, None)


def _shared(learner: Levels, name: Hashable, make: Callable[[], Made]) -> Made:
    """Return what is made of a learner, once in `cache_answers` unless it learns more."""
    place = _held.get(learner)
    if place is None:
        return make()
    now = learner.tells, learner.last_fit, learner.arms
    if place.get("now") != now:
        place.clear()
        place["now"] = now
    if name not in place:
        place[name] = make()
    made: Made = place[name]
    return made


def averaged_posterior(learner: Levels) -> Posterior:
    """Return what is believed of rewards now, averaged over how many groups there may be."""
    return _shared(learner, "averaged", lambda: _averaged(learner))


def intervals_of(learner: Levels, level: float) -> list[tuple[FloatVector, FloatVector]]:
    """Return the ends of the intervals of all arms' means, of each group."""

    def make() -> list[tuple[FloatVector, FloatVector]]:
        seen = averaged_posterior(learner)
        return [interval(seen, g, level) for g in range(seen.member.shape[1])]

    return _shared(learner, ("intervals", level), make)


def best_arms_of(learner: Levels) -> list[tuple[int, float]]:
    """Return the allowed arm with the largest mean of each group, and how likely it is the best."""
    allowed = learner.state.allowed

    def make() -> list[tuple[int, float]]:
        seen = averaged_posterior(learner)
        return [best_arm(seen, g, allowed) for g in range(seen.member.shape[1])]

    return _shared(learner, ("best", allowed.tobytes()), make)


def _averaged(learner: Levels) -> Posterior:
    """Return the posterior now, with a variance for the doubt about how many groups there are.

    In another model the members of a group are spread over its groups; the mean of a group here is
    that of a member drawn at random.
    """
    now, last = posterior_now(learner), learner.last_fit
    scale = None if last is None else last.scale
    own, others = 1.0, np.zeros_like(now.mean)
    size = np.maximum(now.member.sum(axis=0), 1e-300)
    for probability, fit in rivals_of(learner):
        other = posterior_of(now.counts, fit, scale)
        part = now.member.T @ other.member / size[:, None]
        for g in range(len(size)):
            apart = other.mean - now.mean[:, [g]]
            others[:, g] += probability * ((other.variance + apart**2) @ part[g])
        own -= probability
    return now._replace(variance=own * now.variance + others)


def posterior_of(counts: Counts, fit: Fit, scale: Scale | None) -> Posterior:
    """Return what another model believes of rewards that are read by this scale."""
    if scale is not None:
        return _of_worth(counts, replace(fit, scale=scale))
    return _of_coins(
        counts, fit.member, fit.pulls, fit.totals, fit.kappa, fit.centre, fit.prior_weight, fit.m0
    )


def _of_coins(
    counts: Counts, member: FloatMatrix, pulls: FloatMatrix, totals: FloatMatrix, kappa: float,
    centre: FloatVector, prior_weight: FloatVector, m0: float,
) -> Posterior:  # fmt: skip
    """Return the law of the means: few rewards, the population's own mean, who is a member."""
    p, prior_weight = centre[:, None], prior_weight[:, None]
    x = pulls + kappa
    mean, lift = (totals + kappa * p) / x, kappa / x
    variance = mean * (1.0 - mean) / (x + 1.0) + lift**2 * p * (1.0 - p) / (prior_weight + 1.0)
    spread = np.maximum(mean * (1.0 - mean), 1e-12)
    lost = lost_part(counts, member, mean, spread, variance, m0)
    return Posterior(counts, member, pulls, mean, ESTIMATED * variance / (1.0 - lost), m0, spread)


def _of_worth(counts: Counts, fit: Fit) -> Posterior:
    """Return the same of real rewards; wild ones count as the fence."""
    assert fit.scale is not None
    cells = scored(counts, fit.scale.score)
    found = with_worth(counts, fit, fit.scale.score, cells, fit.scale.phi).scale
    assert found is not None
    cells, worth = evened(counts, cells), found.worth
    weight = np.ones(len(cells.n)) if math.isinf(worth.own) else worth.own / (worth.own + cells.n)
    member = np.ascontiguousarray(fit.member)  # each layout would be compiled for
    lost = likelihoods.information_lost(
        counts.first, counts.arm, cells.n, cells.s, weight, member, worth.means, worth.noise
    )
    part = np.minimum(lost * worth.variances, MOST_LOST)
    variance = ESTIMATED * second_moments(counts, cells, fit.member, worth) / (1.0 - part)
    return Posterior(counts, fit.member, worth.pulls, worth.means, variance, worth.own, worth.noise)


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
    order, probability = chances(seen, g, allowed)
    return int(order[0]), float(probability[order[0]])


def chances(seen: Posterior, g: int, allowed: BoolVector) -> tuple[IntVector, FloatVector]:
    """Return the allowed arms, the largest mean of a group first, and each arm's chance to be best.

    Where none is allowed, all are.
    """
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
    largest = rivals[np.argmax(theta, axis=1)]
    probability = np.bincount(largest, minlength=len(mean)) / DRAWS
    order = np.argsort(-mean, kind="stable")
    return order[np.isfinite(mean[order])], probability


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
