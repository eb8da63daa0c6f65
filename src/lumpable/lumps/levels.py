"""The practical learner, with numbers for contexts and arms: three levels of belief and an index.

Between two fits (see `search`) a reward moves its cell, its context's posterior over groups and the
groups' sums (see `steps`); the strengths stay. Letters are those of `model`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lumpable.base import checks
from lumpable.base.checks import FloatMatrix, IntVector
from lumpable.learners.engine.entries import Kernels
from lumpable.learners.learner import Compiled
from lumpable.lumps import search
from lumpable.lumps.factors import spread as reward_spread
from lumpable.lumps.model import Counts, Fit
from lumpable.lumps.state import KAPPA, M0, NOISE, REAL, SQUARES, blank
from lumpable.lumps.steps import choose, update

FIRST_FIT, EARLY_GROWTH, GROWTH = 10, 1.5, 1.25
"""Fits come after so many rewards, then whenever these are so many times more: first while contexts
were seen less than EARLY times on average, then later."""
EARLY = 2


class ThreeLevels(Compiled):
    """Learn what works for all, for groups and for each context, as far as the evidence goes.

    Nothing to set: the number of groups, how alike their contexts are, the noise and whether there
    are groups at all are fitted at geometric times. `lumpable.Lumps` is the same with names, for
    live use.

    >>> learner = ThreeLevels(contexts=3, arms=2, seed=1)
    >>> for context in (0, 1, 2, 0, 1, 2):
    ...     learner.tell(context, learner.ask(context), 1.0)
    >>> learner.policy().shape
    (3,)
    """

    kernels = Kernels(choose, update)

    def __init__(self, contexts: int, arms: int, *, seed: int = 0) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        self.fit: Fit | None = None
        """The last fit; None before the first."""
        self.next_fit = FIRST_FIT
        super().__init__(S, K, seed, blank(S, K, FIRST_FIT))

    def counts(self) -> Counts:
        """Return all that was seen."""
        state = self.state
        context = np.flatnonzero(state.length)
        length = state.length[context]
        first = np.concatenate([[0], np.cumsum(length)])
        row = np.repeat(np.arange(len(context)), length)
        at = np.arange(first[-1]) - first[row] + state.start[context][row]
        at = at[np.argsort(row * self.arms + state.arm[at])]
        return Counts(
            context, first, state.arm[at].astype(np.int64), state.pulls[at], state.total[at],
            self.arms, bool(state.value[REAL]), float(state.value[SQUARES]),
        )  # fmt: skip

    def refit(self) -> None:
        """Make room for more cells; fit anew if it is time, or if rewards turned out to be real."""
        self._make_room()
        turned = self.state.value[REAL] > 0.0 and (self.fit is None or not self.fit.real)
        if self.tells >= self.next_fit or turned:
            self.adopt(search.fit(self.counts(), self.fit))
        self.state.due[0] = self.next_fit
        self._connect()

    def _make_room(self) -> None:
        state, places = self.state, len(self.state.arm)
        if state.used[0] + 2 * self.arms + 4 > places:  # as in `steps.full`
            more = np.zeros(places + 2 * self.arms + 4)
            self.state = state._replace(
                arm=np.concatenate([state.arm, more.astype(np.int32)]),
                pulls=np.concatenate([state.pulls, more]),
                total=np.concatenate([state.total, more]),
            )

    def adopt(self, fit: Fit) -> None:
        """Go on from a fit of what was seen."""
        state, S = self.state, self.contexts
        early = self.tells < EARLY * len(fit.context)
        growth = EARLY_GROWTH if early else GROWTH
        self.fit = fit
        self.next_fit = max(self.tells + 1, math.ceil(growth * self.tells))
        state.value[[KAPPA, M0, NOISE]] = fit.kappa, fit.m0, fit.noise
        log_weight = np.tile(fit.share, (S, 1))
        log_weight[fit.context] = np.log(np.maximum(fit.member, 1e-300))
        visits = state.visits[fit.context] @ fit.member
        self.state = state._replace(
            log_weight=log_weight,
            group_pulls=fit.pulls.T.copy(order="C"),
            group_total=fit.totals.T.copy(order="C"),
            group_visits=visits,
            pending=np.zeros((fit.groups, self.arms)),
            centre=fit.centre.copy(),
            hold=fit.hold.copy(),
            weight=np.ones(fit.groups),
            **self._factors(fit),
        )
        self.state.due[0] = self.next_fit
        self._connect()

    def _factors(self, fit: Fit) -> dict[str, Any]:
        """Return what each context's cells say about its factors."""
        counts, q, S = self.counts(), fit.rank, self.contexts
        force, grip = np.zeros((S, q)), np.tile(np.eye(q), (S, 1, 1))
        if q > 0:
            row = np.repeat(counts.context, np.diff(counts.first))
            p, L = fit.means[:, 0], fit.loading[counts.arm]
            precision = counts.weight(fit.m0) / reward_spread(counts.real, p, fit.noise)[counts.arm]
            gap = precision * (counts.s - counts.n * p[counts.arm])
            np.add.at(force, row, gap[:, None] * L)
            outer = L[:, :, None] * L[:, None, :]
            np.add.at(grip, row, (precision * counts.n)[:, None, None] * outer)
        loading = fit.loading.copy(order="C")
        room = {"cover": np.zeros((q, q)), "factor": np.zeros(q)}
        return {"loading": loading, "force": force, "grip": grip, **room}

    def posterior_means(self, contexts: IntVector) -> FloatMatrix:
        """Return the mean reward of every arm for these contexts, as believed now."""
        state = self.state
        kappa, m0 = state.value[KAPPA], state.value[M0]
        theta = (state.group_total + kappa * state.centre) / (state.group_pulls + kappa)
        mean: FloatMatrix = self.membership(contexts) @ theta
        if state.loading.shape[1] > 0:
            factor = np.linalg.solve(state.grip[contexts], state.force[contexts][:, :, None])
            mean = mean + factor[:, :, 0] @ state.loading.T
        if not math.isinf(m0):
            for row, i in enumerate(contexts):
                cells = slice(state.start[i], state.start[i] + state.length[i])
                arm, n, s = state.arm[cells], state.pulls[cells], state.total[cells]
                mean[row, arm] = (m0 * mean[row, arm] + s) / (m0 + n)
        return mean

    def membership(self, contexts: IntVector) -> FloatMatrix:
        """Return the posterior over groups of these contexts, as believed now."""
        row = self.state.log_weight[contexts]
        weight = np.exp(row - row.max(axis=1, keepdims=True))
        member: FloatMatrix = weight / weight.sum(axis=1, keepdims=True)
        return member

    def policy(self) -> IntVector:
        """Return each context's allowed arm with the largest posterior mean."""
        best = np.empty(self.contexts, dtype=np.int64)
        for rows in np.array_split(
            np.arange(self.contexts), 1 + self.contexts * self.arms // 10**7
        ):
            mean = np.where(self.state.allowed, self.posterior_means(rows), -np.inf)
            best[rows] = np.argmax(mean, axis=1)
        return best

    def labels(self) -> IntVector:
        """Return the likeliest group of each context."""
        label: IntVector = np.argmax(self.state.log_weight, axis=1)
        return label
