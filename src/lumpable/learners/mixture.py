"""Thompson sampling for a mixture of bandits with a known number of groups, by Gibbs sampling.

The model is that of Hong, Kveton, Zaheer, Chow, Ahmed and Boutilier, "Latent bandits revisited",
NeurIPS 2020. The sampler for unknown means B, and r groups, is ours: pi ~ Dirichlet(1, .., 1), z_i
~ pi, B_gj from a conjugate prior, reward ~ f(B_{z_i j}). Both likelihoods are f(y) ~ exp(y eta -
A), so counts and totals of the cells are enough: Bernoulli, eta = ln(B / (1 - B)), A = -ln(1 - B),
B ~ Beta(1, 1); or normal with a known sd, eta = B / sd^2, A = B^2 / (2 sd^2), B ~ N(m, tau^2).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine import Clock, Kernels, beta, by_log_weight, kernel, largest, normal
from lumpable.learners.fitting.lloyd import lloyd
from lumpable.learners.learner import Cells, Compiled, PerArm, PerContext, zeros

MODELS = ("auto", "gaussian")
GROWTH = 0.05
"""A refit comes when the tells have grown by this share since the last one, or by S."""
VAGUE = 0.1
"""tau^2 has an inverse gamma prior with shape 1 and this rate, in units of sd^2."""
SAME = 1e-6
"""Groups whose ln P differ by less are the same up to names and rounding."""
EDGE = 1e-12
"""Draws of a probability stay this far from 0 and 1."""


class State(NamedTuple):
    """Counts of contexts and of groups, and the last draws of B and pi."""

    plays: Cells
    total: Cells
    group: PerContext
    """z_i at the last refit."""
    group_plays: FloatMatrix
    group_total: FloatMatrix
    eta: FloatMatrix
    cost: FloatMatrix
    """A, of the last draw of B, as is eta."""
    likely: FloatMatrix
    """ln pi_g + ln f(all rewards of context i | B_g), (S, r)."""
    prior: FloatVector
    """Mean and variance of the normal prior."""
    gaussian: IntVector
    """1 if rewards are normal."""
    score: PerArm
    chance: FloatVector
    due: IntVector
    sd: float
    spread: float


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Draw z_i given B, then B_g given all groups, and play its best arm."""
    score = state.score
    g = by_log_weight(state.likely[context], state.chance, clock)
    own = 0.0 if g == state.group[context] else 1.0  # its rewards are not yet in that group
    narrow = 1.0 / state.spread**2
    for j in range(len(score)):
        n = (state.group_plays[g, j] + own * state.plays[context, j]) * narrow
        s = (state.group_total[g, j] + own * state.total[context, j]) * narrow
        if state.gaussian[0]:
            variance = 1.0 / (1.0 / state.prior[1] + n / state.sd**2)
            mean = variance * (state.prior[0] / state.prior[1] + s / state.sd**2)
            score[j] = mean + math.sqrt(variance) * normal(clock)
        else:
            score[j] = beta(clock, 1.0 + s, 1.0 + max(n - s, 0.0))
    return largest(score, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to its cell, its group, and the likelihoods of the context's groups."""
    g = state.group[context]
    state.plays[context, arm] += 1.0
    state.total[context, arm] += reward
    state.group_plays[g, arm] += 1.0
    state.group_total[g, arm] += reward
    for g in range(len(state.chance)):
        state.likely[context, g] += reward * state.eta[g, arm] - state.cost[g, arm]
    if state.gaussian[0] == 0 and (reward < 0.0 or reward > 1.0):
        state.gaussian[0] = 1
        state.due[0] = clock[1] + np.uint64(1)  # all draws so far came from the wrong model


class MixtureThompson(Compiled):
    """Mixture Thompson sampling: contexts in r groups with unknown means, by Gibbs sampling.

    In a round the context's group is drawn given the last draw of B, then that group's means given
    all rewards told so far, and the best arm is played. A refit runs two Gibbs chains, one from the
    current groups and one from weighted k-means, and keeps the groups that are more likely with pi
    and B summed out: chains from random groups get stuck. Refits come every S tells, later whenever
    the tells have grown by 5 %.

    The strongest practical peer where groups exist and their number is known; with too many or too
    few groups it degrades. It has no guarantee.

    Parameters
    ----------
    groups
        r.
    model
        "gaussian", or "auto": Bernoulli as long as all rewards lie in [0, 1], where one between
        counts as a part of a success, and normal as soon as one does not.
    sd
        Noise of the normal model.
    spread
        Factor on the posterior's spread of B; 1 is Thompson sampling, less explores less.
    sweeps
        Gibbs sweeps of each chain at a refit.

    >>> learner = MixtureThompson(contexts=4, arms=2, groups=2, seed=1)
    >>> for context in (0, 1, 2, 3) * 10:
    ...     arm = learner.ask(context)
    ...     learner.tell(context, arm, float(arm == context % 2))
    >>> learner.policy().tolist()
    [0, 1, 0, 1]
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        groups: int,
        model: str = "auto",
        sd: float = 0.5,
        spread: float = 1.0,
        sweeps: int = 10,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        r = checks.whole("groups", groups, 1)
        self.groups = r
        self.sweeps = checks.whole("sweeps", sweeps, 1)
        gaussian = checks.choice("model", model, MODELS) == "gaussian"
        sd = checks.real("sd", sd, "a positive number", 0.0, 1e9)
        state = zeros(State, S, K)._replace(
            group_plays=np.zeros((r, K)),
            group_total=np.zeros((r, K)),
            eta=np.zeros((r, K)),
            cost=np.zeros((r, K)),
            likely=np.zeros((S, r)),
            prior=np.array([0.0, sd**2]),
            gaussian=np.array([int(gaussian)]),
            chance=np.zeros(r),
            due=np.array([S]),
            sd=sd,
            spread=checks.real("spread", spread, "a positive number", 0.0, 1e9),
        )
        super().__init__(S, K, seed, state)

    def refit(self) -> None:
        """Run both chains; draw B and pi given the groups of the better one.

        Random draws of a sweep, in this order: r gammas for pi; B, row by row; in the normal model
        one normal and one gamma for its prior; S uniforms for z.
        """
        state, rng = self.state, np.random.default_rng([self.seed, self.tells])
        mean = state.total / np.maximum(state.plays, 1.0)
        nearest, _ = lloyd(state.plays, mean, self.groups, rng)
        (z, prior), other = (self._chain(z, rng) for z in (state.group.copy(), nearest))
        if self._value(other[0]) > self._value(z) + SAME:
            z, prior = other
        state.prior[:] = prior
        state.group[:] = z
        state.group_plays[:], state.group_total[:] = self._counts(z)
        state.likely[:], B = self._draw(z, prior, rng)
        state.eta[:], state.cost[:] = self._natural(B)
        state.due[0] = self.tells + max(self.contexts, math.ceil(GROWTH * self.tells))

    def _chain(self, z: IntVector, rng: np.random.Generator) -> tuple[IntVector, FloatVector]:
        """Sweep over pi and B given z, the prior given B, and z given pi and B."""
        prior, cells = self.state.prior.copy(), self.groups * self.arms
        for _ in range(self.sweeps):
            likely, B = self._draw(z, prior, rng)
            if self.state.gaussian[0]:
                prior[0] = B.mean() + math.sqrt(prior[1] / cells) * rng.standard_normal()
                rate = VAGUE * self.state.sd**2 + 0.5 * np.sum((B - prior[0]) ** 2)
                prior[1] = rate / rng.standard_gamma(1.0 + 0.5 * cells)
            chance = np.cumsum(np.exp(likely - likely.max(axis=1, keepdims=True)), axis=1)
            at = rng.random(self.contexts) * chance[:, -1]
            z = np.sum(chance <= at[:, None], axis=1)
        return z, prior

    def _counts(self, z: IntVector) -> tuple[FloatMatrix, FloatMatrix]:
        """Return plays and total rewards of the groups."""
        member = (z == np.arange(self.groups)[:, None]).astype(np.float64)
        return member @ self.state.plays, member @ self.state.total

    def _draw(
        self, z: IntVector, prior: FloatVector, rng: np.random.Generator
    ) -> tuple[FloatMatrix, FloatMatrix]:
        """Draw pi and B given z; return ln pi_g + ln f(rewards of i | B_g), and B."""
        n, s = self._counts(z)
        pi = rng.standard_gamma(1.0 + np.bincount(z, minlength=self.groups))
        if self.state.gaussian[0]:
            precision = 1.0 / prior[1] + n / self.state.sd**2
            B = (prior[0] / prior[1] + s / self.state.sd**2) / precision
            B = B + rng.standard_normal(B.shape) / np.sqrt(precision)
        else:
            B = rng.beta(1.0 + s, 1.0 + np.maximum(n - s, 0.0))
        eta, cost = self._natural(B)
        return np.log(pi / pi.sum()) + self.state.total @ eta.T - self.state.plays @ cost.T, B

    def _natural(self, B: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
        """Return eta and A at these means."""
        if self.state.gaussian[0]:
            return B / self.state.sd**2, B**2 / (2.0 * self.state.sd**2)
        B = np.clip(B, EDGE, 1.0 - EDGE)
        return np.log(B / (1.0 - B)), -np.log(1.0 - B)

    def _value(self, z: IntVector) -> float:
        """Return ln P(z and all rewards), up to a constant, with pi and B summed out."""
        n, s = self._counts(z)
        value = sum(math.lgamma(1.0 + size) for size in np.bincount(z, minlength=self.groups))
        if self.state.gaussian[0]:
            m, tau2 = self.state.prior
            precision = 1.0 / tau2 + n / self.state.sd**2
            b = m / tau2 + s / self.state.sd**2
            return value + 0.5 * float(np.sum(b**2 / precision - np.log(precision)))
        f = np.maximum(n - s, 0.0)
        return value + float(np.sum(_lgamma(1.0 + s) + _lgamma(1.0 + f) - _lgamma(2.0 + s + f)))

    def _means(self) -> FloatMatrix:
        """Return the posterior means of B given the groups."""
        state = self.state
        if state.gaussian[0]:
            m, tau2 = state.prior
            ratio = state.sd**2 / tau2
            return (ratio * m + state.group_total) / (ratio + state.group_plays)
        return (1.0 + state.group_total) / (2.0 + state.group_plays)

    def policy(self) -> IntVector:
        """Return each context's arm with the largest mean, over the groups that it may be in."""
        likely = self.state.likely
        chance = np.exp(likely - likely.max(axis=1, keepdims=True))
        return np.argmax(chance @ self._means(), axis=1)

    def labels(self) -> IntVector:
        """Return the most likely group of each context."""
        return np.argmax(self.state.likely, axis=1)


def _lgamma(x: FloatMatrix) -> FloatMatrix:
    """Return ln Gamma of each entry."""
    return np.array([math.lgamma(value) for value in x.ravel()])
