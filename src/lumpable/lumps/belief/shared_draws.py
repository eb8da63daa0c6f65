"""How sure it is which arm is best, for many contexts at once: they share their draws.

Whoever is in group g and had the same rewards of an arm has the same law of its mean: draws belong
to a group, an arm and what a context saw of it. So there are as many as there are such kinds of
cells, not as there are contexts. Arms that a context never had are the same for all of a group, and
are kept in order for each draw: the largest that is open is found at once. What is drawn in a group
is weighted by the probability that the context is in it.

The laws are those of `drawn`. Chance is a pure function of group, arm and rewards: a context alone
has the same row as in a table with as many draws. Contexts that differ along directions have laws
of their own and are drawn one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lumpable.base.arrays import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector
from lumpable.lumps.belief import shared_kernels
from lumpable.lumps.belief.beta_laws import beta_shape
from lumpable.lumps.belief.drawn import EDGE, GROUPS, Draws, own_variance
from lumpable.lumps.core.layout import cells_at

FAR = 4.0
"""Arms this many standard deviations below the best one are not drawn: one in 30,000 is missed."""
BLOCK = 2_000_000
"""Means that are looked at together, ..."""
KEPT = 20_000_000
"""... and draws that are kept; beyond this they are made again when they are needed."""
TINY = 1e-6
"""Groups that a context is in with less than this probability change no row."""
KINDS = 37
"""A stream of chance."""
Kind = tuple[int, float, float]
"""An arm, and the number and total of a context's rewards of it."""


class Rows(NamedTuple):
    """What is best for each context, and how sure that is."""

    best: npt.NDArray[np.int64]
    """The best arm and the next one, -1 where there is none, and their means below."""
    mean: FloatMatrix
    sure: FloatMatrix
    """The probability that the arm is the best, and the expected loss, ..."""
    ends: FloatMatrix
    """... and the ends of the interval of its mean."""


class _Cells(NamedTuple):
    """Rewards of contexts: those of row i are at first[i] .. first[i + 1] - 1."""

    first: IntVector
    arm: IntVector
    n: FloatVector
    s: FloatVector

    def only(self, kept: BoolVector) -> _Cells:
        """Return some of these."""
        first = np.concatenate([[0], np.cumsum(kept)])[self.first]
        return _Cells(first, self.arm[kept], self.n[kept], self.s[kept])


class SharedDraws:
    """The same draws for all contexts of a kind."""

    def __init__(self, draws: Draws) -> None:
        self.draws, self.seen, self.number = draws, draws.seen, draws.number
        self.believed = draws.learner.group_means()
        self._centre = np.ascontiguousarray(self.seen.mean)
        self._groups: IntVector = np.arange(0)
        self._forget()

    def _forget(self) -> None:
        self._place: dict[Kind, int] = {}
        self._drawn = np.empty((0, len(self._groups), self.number))
        self._ordered = self._drawn
        self._arms: IntVector = np.arange(0)
        self._order = np.empty((len(self._groups), self.number, 0), dtype=np.int32)

    def rows(self, contexts: IntVector, allowed: Sequence[BoolVector], level: float) -> Rows:
        """Return the rows of these contexts; each has an arm that is allowed."""
        arms, found = self.draws.learner.arms, list[Rows]()
        kept, same = _one_of_each(self.draws.settled(contexts), allowed)
        contexts, allowed = contexts[kept], [allowed[k] for k in kept.tolist()]
        member = self.draws.members(contexts)
        self._groups = np.flatnonzero((member >= TINY).any(axis=0))
        self._forget()
        step = max(1, BLOCK // arms)
        for a in range(0, len(contexts), step):
            mask = np.array(allowed[a : a + step])
            found += self._block(contexts[a : a + step], member[a : a + step], mask, level)
        return Rows(*(np.concatenate(column)[same] for column in zip(*found, strict=True)))

    def _block(
        self, contexts: IntVector, member: FloatMatrix, allowed: BoolMatrix, level: float
    ) -> list[Rows]:
        """Return the rows of some contexts, in parts whose kinds of cells fit into memory."""
        seen, cells, size = self.seen, self._cells(contexts), len(contexts)
        best, mean = np.empty((size, 2), dtype=np.int64), np.empty((size, 2))
        near, near_cell = np.empty(allowed.shape, dtype=bool), np.zeros(len(cells.n), dtype=bool)
        extra = 0.0 if seen.counts.real else 1.0
        shared_kernels.survey(
            member, allowed, *cells, self.believed, self._centre,
            np.ascontiguousarray(seen.variance), np.ascontiguousarray(seen.spread), seen.m0, extra,
            EDGE, FAR, best, mean, near, near_cell,
        )  # fmt: skip
        cells = cells.only(near_cell)
        kinds, which = self._kinds(cells)
        if size > 1 and len(kinds) * len(self._groups) * self.number > KEPT:
            parts = (slice(0, size // 2), slice(size // 2, size))
            halves = (self._block(contexts[x], member[x], allowed[x], level) for x in parts)
            return [row for half in halves for row in half]
        places = self._places([*kinds, *self._never(near)])[: len(kinds)][which]
        sure, ends = self._judged(member, best[:, 0].copy(), near, cells, places, level)
        ends[:, 0] = np.minimum(ends[:, 0], mean[:, 0])  # a law that is hardly ever far from 0
        ends[:, 1] = np.maximum(ends[:, 1], mean[:, 0])  # has its mean beyond most quantiles
        return [Rows(best, mean, sure, ends)]

    def _judged(
        self, member: FloatMatrix, best: IntVector, near: BoolMatrix, cells: _Cells,
        cell_place: IntVector, level: float,
    ) -> tuple[FloatMatrix, FloatMatrix]:  # fmt: skip
        weight = np.where(member >= TINY, member, 0.0)[:, self._groups]
        weight = np.ascontiguousarray(weight / weight.sum(axis=1, keepdims=True))
        place = np.full(near.shape[1], -1)
        place[self._arms] = [self._place[j, 0.0, 0.0] for j in self._arms.tolist()]
        shift = cells.s / (self.seen.m0 + cells.n) if self.seen.counts.real else 0.0 * cells.s
        sure, ends = np.empty((2, len(best), 2))
        own_place, own_shift = np.empty(len(best), dtype=np.int64), np.empty(len(best))
        shared_kernels.judge(
            weight, best, near, cells.first, cells.arm, cell_place, shift, place, self._order,
            self._drawn, sure, own_place, own_shift,
        )  # fmt: skip
        levels = np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        shared_kernels.quantiles(weight, own_place, own_shift, self._ordered, levels, ends)
        return sure, ends

    # --- Kinds of cells -------------------------------------------------------------------------

    def _cells(self, contexts: IntVector) -> _Cells:
        """Return the rewards of these contexts; none where all of a group are alike."""
        state = self.draws.learner.state
        if math.isinf(self.seen.m0):
            none: FloatVector = np.empty(0)
            first = np.zeros(len(contexts) + 1, dtype=np.int64)
            return _Cells(first, none.astype(np.int64), none, none)
        row, at = cells_at(state, contexts)
        first = np.searchsorted(row, np.arange(len(contexts) + 1))
        return _Cells(first, state.arm[at].astype(np.int64), state.pulls[at], state.total[at])

    def _kinds(self, cells: _Cells) -> tuple[list[Kind], IntVector]:
        """Return the kinds of cells, and which each cell is; real totals only shift the draws."""
        s = np.zeros_like(cells.s) if self.seen.counts.real else cells.s
        table = np.column_stack([cells.arm, cells.n, s])
        if len(table) == 0:
            return [], np.empty(0, dtype=np.int64)
        kinds, inverse = np.unique(table, axis=0, return_inverse=True)
        return [(int(j), n, s) for j, n, s in kinds.tolist()], inverse.ravel()

    def _never(self, near: BoolMatrix) -> list[Kind]:
        """Return the kinds of the arms that somebody never had and that may be best."""
        return [(j, 0.0, 0.0) for j in np.flatnonzero(near.any(axis=0)).tolist()]

    def _places(self, kinds: list[Kind]) -> IntVector:
        """Return where the draws of these kinds are, after drawing those that are new."""
        new = [kind for kind in kinds if kind not in self._place]
        if len(self._drawn) and (len(self._place) + len(new)) * self._drawn[0].size > KEPT:
            self._forget()
            new = kinds
        if new:
            drawn = np.array([[self._draw(kind, g) for g in self._groups] for kind in new])
            self._place |= {kind: len(self._drawn) + k for k, kind in enumerate(new)}
            self._drawn = np.concatenate([self._drawn, drawn])
            self._ordered = np.concatenate([self._ordered, np.sort(drawn, axis=2)])
        arms = np.array([j for j, n, _ in self._place if n == 0.0], dtype=np.int64)
        if len(arms) > len(self._arms):
            at = [self._place[j, 0.0, 0.0] for j in arms.tolist()]
            largest_first = np.argsort(-self._drawn[at], axis=0, kind="stable")
            self._arms = arms
            self._order = np.ascontiguousarray(
                np.moveaxis(arms[largest_first], 0, 2), dtype=np.int32
            )
        return np.array([self._place[kind] for kind in kinds], dtype=np.int64)

    def _draw(self, kind: Kind, g: int) -> FloatVector:
        """Return draws of the mean of an arm for contexts of group g that had such rewards of it.

        The total of real rewards is left out.
        """
        (j, n, s), seen, m0 = kind, self.seen, self.seen.m0
        rng = np.random.default_rng([KINDS, GROUPS, j, g])
        mean, variance = seen.mean[j, g], seen.variance[j, g]
        to, theta = self.believed[g, j] - mean, np.empty(self.number)
        if seen.counts.real:
            theta[:] = to + rng.normal(mean, math.sqrt(variance), self.number)
        else:
            theta[:] = to + rng.beta(*beta_shape(mean, variance), self.number)
            theta = np.clip(theta, EDGE, 1.0 - EDGE)
        if math.isinf(m0):
            return theta
        rng = np.random.default_rng([KINDS, j, g, *_bits(n, s)])
        rewards = np.full(self.number, n)
        if seen.counts.real:
            spread = np.full(self.number, seen.spread[j, g])
            wide = np.sqrt(own_variance(seen, spread, rewards))
            return rng.normal(m0 / (m0 + n) * theta, wide)
        around = np.clip((m0 * theta + s) / (m0 + n), EDGE, 1.0 - EDGE)
        return rng.beta(*beta_shape(around, own_variance(seen, around * (1.0 - around), rewards)))


def _one_of_each(settled: IntVector, allowed: Sequence[BoolVector]) -> tuple[IntVector, IntVector]:
    """Return the contexts whose rows are to be found, and the place among these of each one's row.

    Contexts that are settled in one group whose members are alike, and may have the same arms, have
    the same row.
    """
    _, mask = np.unique(np.fromiter(map(id, allowed), np.int64), return_inverse=True)
    alone = np.arange(len(settled)) + (int(settled.max()) + 1) * len(settled)
    kind = np.where(settled >= 0, settled * len(settled) + mask, alone)
    _, kept, same = np.unique(kind, return_index=True, return_inverse=True)
    return kept, same


def _bits(*numbers: float) -> list[int]:
    """Return numbers as whole ones that a seed is made of."""
    return [int(bits) for bits in np.array(numbers).view(np.uint64)]
