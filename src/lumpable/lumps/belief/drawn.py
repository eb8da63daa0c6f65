"""Draws of contexts' mean rewards from the joint posterior.

The groups' means are drawn once for all contexts. Then each context draws its group, its factors
and its own deviation, with n rewards of its own:

    mu_ij = mean_ij + m0 / (m0 + n) (theta_gj - E theta_gj + L_j f_i) + its own deviation,

so that each mean is the one that the learner believes. Rewards 0 and 1 have Beta laws, others
normal ones. Chance is a pure function of the context's and the arm's numbers. Contexts that are
settled in a group whose members are all alike are the same: one of them is drawn for all.
"""

from __future__ import annotations

import math

import numpy as np

from lumpable.base.arrays import FloatCube, FloatMatrix, FloatVector, IntVector
from lumpable.lumps.belief.beta_laws import beta_shape
from lumpable.lumps.belief.posterior import Posterior, averaged_posterior
from lumpable.lumps.core.layout import cells_at
from lumpable.lumps.core.learning import Levels

DRAWS, FEWEST = 2000, 250
"""The standard error of a probability is at most 0.011; in large tables, at most 0.032."""
WORK = 400_000_000
"""Means that are drawn for one table at most, if not all have the fewest draws."""
GROUPS, CONTEXTS, MEMBERS = 23, 29, 31
"""Streams of chance."""
SURE = 1.0 - 1e-6
"""A context is settled in a group from this probability on: its doubt changes no draw."""
KEPT = 20_000_000
"""Draws of groups' means that are kept; beyond this they are made again when they are needed."""
EDGE = 1e-9


def own_variance(seen: Posterior, spread: FloatMatrix, n: FloatVector) -> FloatMatrix:
    """Return the variance of contexts' own means around their groups', after n own rewards."""
    return spread / (seen.m0 + n + (0.0 if seen.counts.real else 1.0))


class Draws:
    """The joint posterior of a learner's contexts, as draws."""

    def __init__(self, learner: Levels, contexts: int, arms: int) -> None:
        self.learner, self.seen = learner, averaged_posterior(learner)
        self.number = max(FEWEST, min(DRAWS, WORK // max(1, contexts * arms)))
        """Draws of each mean, for a table of so many contexts and arms."""
        self._theta: dict[int, FloatVector] = {}
        self._spread = self.seen.spread
        self._alike = math.isinf(self.seen.m0) and learner.effects.shape[1] == 0
        self._settled_means = learner.group_means()

    def settled(self, contexts: IntVector) -> IntVector:
        """Return the group in which each of these is settled, its members being alike; else -1."""
        none: IntVector = np.full(len(contexts), -1)
        if not self._alike or len(contexts) == 0:
            return none
        member = self.learner.membership(contexts)
        return np.where(member.max(axis=1) >= SURE, np.argmax(member, axis=1), none)

    def members(self, contexts: IntVector) -> FloatMatrix:
        """Return the probability of each group for these contexts, 1 where they are settled."""
        member: FloatMatrix = self.learner.membership(contexts)
        settled = self.settled(contexts)[:, None] >= 0
        return np.where(settled, np.rint(member), member)

    def believed(self, context: int) -> FloatVector:
        """Return the posterior mean of each arm for a context."""
        (place,) = self.settled(np.array([context])).tolist()
        if place >= 0:
            alike: FloatVector = self._settled_means[place]
            return alike
        mean: FloatVector = self.learner.posterior_means(np.array([context]))[0]
        return mean

    def believed_by(self, contexts: IntVector) -> FloatMatrix:
        """Return the same for many contexts."""
        mean, place = self.learner.posterior_means(contexts), self.settled(contexts)
        mean[place >= 0] = self._settled_means[place[place >= 0]]
        return mean

    def means(self, context: int, arms: IntVector, mean: FloatVector) -> FloatMatrix:
        """Return draws of a context's means of these arms, (draws, arms), around `mean`."""
        seen, n = self.seen, self._rewards(context)[arms]
        member, share = self._member(context), self.share(n)
        (place,) = self.settled(np.array([context])).tolist()
        rng = np.random.default_rng([CONTEXTS, context] if place < 0 else [MEMBERS, place])
        group = np.searchsorted(np.cumsum(member)[:-1], rng.random(self.number), side="right")
        at = np.arange(self.number) * len(member) + group
        theta = np.column_stack([self._group_means(j)[at] for j in arms.tolist()])
        drawn: FloatMatrix = mean + share * (theta - seen.mean[arms] @ member)
        if (cover := self._cover(context)) is not None:
            root = np.linalg.cholesky(cover)
            factor = rng.standard_normal((self.number, len(root))) @ root.T
            drawn += share * (factor @ self.learner.effects[arms].T)
        if not seen.counts.real:
            drawn = np.clip(drawn, EDGE, 1.0 - EDGE)
        if math.isinf(seen.m0):
            return drawn
        if seen.counts.real:
            spread = self._spread[arms].T[group]
            return rng.normal(drawn, np.sqrt(own_variance(seen, spread, n)))
        return rng.beta(*beta_shape(drawn, own_variance(seen, drawn * (1.0 - drawn), n)))

    def variance(self, context: int, mean: FloatVector) -> FloatVector:
        """Return the variance of a context's mean of each arm."""
        seen, n = self.seen, self._rewards(context)
        member, share = self._member(context), self.share(n)
        around = seen.mean - (seen.mean @ member)[:, None]
        variance: FloatVector = share**2 * ((seen.variance + around**2) @ member)
        if (cover := self._cover(context)) is not None:
            loading = self.learner.effects
            variance += share**2 * ((loading @ cover) * loading).sum(axis=1)
        if math.isinf(seen.m0):
            return variance
        inside = np.clip(np.where(np.isfinite(mean), mean, 0.5), EDGE, 1.0 - EDGE)
        spread = self._spread @ member if seen.counts.real else inside * (1.0 - inside)
        return variance + own_variance(seen, spread, n)

    def group_draws(self, j: int) -> FloatMatrix:
        """Return draws of an arm's mean in each group, (draws, groups)."""
        return self._group_means(j).reshape(self.number, -1)

    def rewards_of(self, contexts: IntVector, arms: IntVector) -> FloatVector:
        """Return how many rewards each of these contexts had of its arm here."""
        state, n = self.learner.state, np.zeros(len(contexts))
        row, at = cells_at(state, contexts)
        own = state.arm[at] == arms[row]
        n[row[own]] = state.pulls[at[own]]
        return n

    def _group_means(self, j: int) -> FloatVector:
        """Return draws of an arm's mean in each group, one draw after the other."""
        if j not in self._theta:
            rng, mean, variance = (
                np.random.default_rng([GROUPS, j]), self.seen.mean[j], self.seen.variance[j],
            )  # fmt: skip
            size = (self.number, len(mean))
            if self.seen.counts.real:
                theta = rng.normal(mean, np.sqrt(variance), size)
            else:
                theta = rng.beta(*beta_shape(mean, variance), size)
            if len(self._theta) * theta.size > KEPT:
                self._theta.clear()
            self._theta[j] = theta.ravel()
        return self._theta[j]

    def _member(self, context: int) -> FloatVector:
        member: FloatVector = self.learner.membership(np.array([context]))[0]
        return np.rint(member) if self._alike and member.max() >= SURE else member

    def _rewards(self, context: int) -> FloatVector:
        """Return how many rewards the context had of each arm."""
        state, n = self.learner.state, np.zeros(self.learner.arms)
        cells = slice(state.start[context], state.start[context] + state.length[context])
        n[state.arm[cells]] = state.pulls[cells]
        return n

    def share(self, n: FloatVector) -> FloatVector:
        """Return how much of the group's mean is in the context's own."""
        m0 = self.seen.m0
        return np.ones(len(n)) if math.isinf(m0) else m0 / (m0 + n)

    def covers(self, contexts: IntVector) -> FloatCube:
        """Return the covariance of the factors of these contexts."""
        cover: FloatCube = np.linalg.inv(self.learner.state.precision[contexts])
        return cover

    def _cover(self, context: int) -> FloatMatrix | None:
        """Return the covariance of a context's factors; None if there are none."""
        precision = self.learner.state.precision[context]
        return np.linalg.inv(precision) if len(precision) else None
