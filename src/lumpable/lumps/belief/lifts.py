"""What contexts bring together, as draws: those that count most one by one, the others at once.

Given the groups' means, contexts are independent. So a sum over many of which each counts little is
about normal: its mean is linear in the draws of the groups' means, and its variance is that of each
context's group, factors and own deviation, added up.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base.arrays import FloatCube, FloatMatrix, FloatVector, IntVector
from lumpable.lumps.belief.drawn import EDGE, Draws, own_variance

ONE_BY_ONE = 300
"""Contexts that are drawn one by one: those that count most."""
BLOCK = 2_000_000
"""Means that are looked at together."""
SUMS = 41
"""A stream of chance."""


class Chosen(NamedTuple):
    """What is chosen by what is believed: an arm for all, and each context's own."""

    one: int
    one_mean: float
    best: IntVector
    policy_mean: float


def chosen(draws: Draws, contexts: IntVector, weight: FloatVector) -> Chosen:
    """Return which arms are best, and their means, weighted."""
    learner, allowed = draws.learner, draws.learner.state.allowed
    total, best = np.zeros(learner.arms + 1), np.empty_like(contexts)
    step = max(1, BLOCK // learner.arms)
    for a in range(0, len(contexts), step):
        mean, w = draws.believed_by(contexts[a : a + step]), weight[a : a + step, None]
        own = np.argmax(np.where(allowed, mean, -np.inf), axis=1)
        best[a : a + step] = own
        top = np.take_along_axis(mean, own[:, None], axis=1)
        total += (w * np.column_stack([mean, top])).sum(axis=0)  # each column in the same order
    one = int(np.argmax(np.where(allowed, total[:-1], -np.inf)))
    return Chosen(one, float(total[one]), best, float(total[-1]))


def evaluate(
    draws: Draws, contexts: IntVector, weight: FloatVector, choice: Chosen
) -> tuple[FloatVector, FloatVector]:
    """Return draws of what each context's own arm brings, and of what the one arm brings."""
    single_out = np.zeros(len(contexts), dtype=bool)
    single_out[np.argsort(-weight, kind="stable")[:ONE_BY_ONE]] = True
    value, single = np.zeros(draws.number), np.zeros(draws.number)
    few = (column[single_out].tolist() for column in (contexts, weight, choice.best))
    for context, w, best in zip(*few, strict=True):
        pair = np.array([best, choice.one])
        drawn = draws.means(context, pair, draws.believed(context)[pair])
        value += w * drawn[:, 0]
        single += w * (drawn[:, 0] if best == choice.one else drawn[:, 1])
    rest = ~single_out
    if rest.any():
        own, one = _together(draws, contexts[rest], weight[rest], choice.best[rest], choice.one)
        value, single = value + own, single + one
    return value, single


def _together(
    draws: Draws, contexts: IntVector, weight: FloatVector, best: IntVector, one: int
) -> tuple[FloatVector, FloatVector]:
    """Return the same for many contexts of which each counts little."""
    sums = _Sums(draws, one)
    step = max(1, BLOCK // draws.learner.arms)
    for a in range(0, len(contexts), step):
        part = slice(a, a + step)
        sums.add(contexts[part], weight[part], best[part])
    return sums.drawn()


class _Side(NamedTuple):
    """An arm of each context, given the groups' means."""

    share: FloatVector
    """How much of a group's mean is in the context's own."""
    around: FloatMatrix
    """How far each group lies from what is expected, ..."""
    alone: FloatVector
    """... and the variance that no other arm shares."""
    loading: FloatMatrix


class _Sums:
    """Weighted sums over contexts: what own arms bring more than the one arm, and what that brings.

    Their means, what each group's mean adds to them, and their variances.
    """

    def __init__(self, draws: Draws, one: int) -> None:
        self.draws, self.one = draws, one
        self.means, self.linear = np.zeros(2), np.zeros((2, *draws.seen.mean.shape))
        self.more, self.both, self.single = 0.0, 0.0, 0.0

    def add(self, contexts: IntVector, weight: FloatVector, best: IntVector) -> None:
        """Add contexts with their own arms; where that is the one arm, it brings nothing more."""
        one, w, rows = (
            np.full_like(best, self.one),
            weight * (best != self.one),
            np.arange(len(best)),
        )
        member, mean = self.draws.members(contexts), self.draws.believed_by(contexts)
        ours, theirs = (self._side(contexts, member, arm, mean) for arm in (best, one))
        self.means += w @ (mean[rows, best] - mean[rows, one]), weight @ mean[rows, one]
        np.add.at(self.linear[0], best, (w * ours.share)[:, None] * member)
        self.linear[0, self.one] -= (w * theirs.share) @ member
        self.linear[1, self.one] += (weight * theirs.share) @ member
        cover, step = self.draws.covers(contexts), ours.loading - theirs.loading
        apart, wide = ours.around - theirs.around, theirs.around
        more = (member * apart**2).sum(axis=1) + ours.alone + theirs.alone
        both = (member * apart * wide).sum(axis=1) - theirs.alone
        single = (member * wide**2).sum(axis=1) + theirs.alone
        self.more += float(w**2 @ (more + _form(step, cover, step)))
        self.both += float(w**2 @ (both + _form(step, cover, theirs.loading)))
        self.single += float(weight**2 @ (single + _form(theirs.loading, cover, theirs.loading)))

    def _side(
        self, contexts: IntVector, member: FloatMatrix, arm: IntVector, mean: FloatMatrix
    ) -> _Side:
        draws, seen = self.draws, self.draws.seen
        n = draws.rewards_of(contexts, arm)
        share = draws.share(n)
        around = seen.mean[arm] - (member * seen.mean[arm]).sum(axis=1, keepdims=True)
        alone = share**2 * (member * (1.0 - member) * seen.variance[arm]).sum(axis=1)
        if not math.isinf(seen.m0):
            spread = (member * seen.spread[arm]).sum(axis=1)
            if not seen.counts.real:
                own = np.clip(mean[np.arange(len(arm)), arm], EDGE, 1.0 - EDGE)
                spread = own * (1.0 - own)
            alone += own_variance(seen, spread, n)
        loading = share[:, None] * draws.learner.effects[arm]
        return _Side(share, share[:, None] * around, alone, loading)

    def drawn(self) -> tuple[FloatVector, FloatVector]:
        """Return draws of what own arms bring, and of what the one arm brings."""
        number = self.draws.number
        more, single = np.repeat(self.means[:, None], number, axis=1)
        for j in np.flatnonzero(self.linear.any(axis=(0, 2))).tolist():
            theta = self.draws.group_draws(j) - self.draws.seen.mean[j]
            more, single = more + theta @ self.linear[0, j], single + theta @ self.linear[1, j]
        part = self.both / self.more if self.more > 0.0 else 0.0
        chance = np.random.default_rng(SUMS).standard_normal((2, number))
        apart = math.sqrt(self.more) * chance[0]
        left = math.sqrt(max(self.single - part * self.both, 0.0))
        single = single + part * apart + left * chance[1]
        return single + (more + apart), single


def _form(x: FloatMatrix, cover: FloatCube, y: FloatMatrix) -> FloatVector:
    """Return x' C y of each row; 0 without factors."""
    form: FloatVector = np.einsum("ia,iab,ib->i", x, cover, y)
    return form
