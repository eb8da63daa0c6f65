"""All that was seen, as cells: how many rewards each context had of each arm, and which.

Who is alike is found by a model of coins:

    p_j ~ Beta(k0 p0, k0 (1 - p0)),  theta_gj ~ Beta(kappa p_j, kappa (1 - p_j)),
    mu_ij ~ Beta(m0 theta_gj, m0 (1 - theta_gj)) with g = z_i ~ pi,  rewards ~ Bernoulli(mu_ij).

With one group there is no middle level: theta_j ~ Beta(k0 p0, k0 (1 - p0)). Rewards that are no
coins enter it by their scores (see `scores`); what they are worth is in `worth`. Everything in this
folder is a pure function of counts; it knows no round and no learner.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.lumps.model import arithmetic

LIKE_COINS = 0.5
"""Scores that vary at least this part of what coins do are taken for coins; others for normal."""
BLOCK = 1 << 20
"""Cells that are looked at together, or a row if it is longer."""
SAMPLES = 43
"""A stream of chance."""


class Others(NamedTuple):
    """Rewards that are neither 0 nor 1, sorted by cell and value, each value of a cell once."""

    cell: IntVector
    value: FloatVector
    times: FloatVector


NO_OTHERS = Others(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Counts:
    """All that was seen: rows of cells, sorted by context and arm."""

    context: IntVector
    """The contexts that were seen, in order; what follows numbers them 0, 1, .."""
    first: IntVector
    """Cells of context i are at first[i] .. first[i + 1] - 1."""
    arm: IntVector
    n: FloatVector
    """Rewards of the cell; as coins of a score they may be more or fewer, and fractions."""
    s: FloatVector
    """How many of them are 1."""
    arms: int
    rewards: float
    """How many rewards there were."""
    others: Others | None = None
    """The rewards that are neither 0 nor 1; None if there are none."""
    unit: float = 1.0
    """How many rewards one of these coins is worth."""
    ends: tuple[float, float, float] | None = None
    """The two values that contexts' own means would have if they had about two, and how closely
    they would keep to them; None for coins, where these are 0 and 1 and a small m0 says it."""

    @property
    def contexts(self) -> int:
        """S."""
        return len(self.first) - 1

    @property
    def real(self) -> bool:
        """Whether rewards are read as real ones: some are, or were, neither 0 nor 1."""
        return self.others is not None

    def read_as(self, *, real: bool) -> Counts:
        """Return the same as a fit reads it that took rewards for real ones, or for coins.

        Rewards may turn real, or all to 0 and 1, until the next fit. As coins, those beyond 0 and 1
        count as the nearer one.
        """
        if real == self.real:
            return self
        if self.others is None:
            return replace(self, others=NO_OTHERS)
        cell, value, times = self.others
        more = np.bincount(cell, times * np.clip(value, 0.0, 1.0), minlength=len(self.s))
        return replace(self, s=self.s + more, others=None)

    @property
    def like_coins(self) -> bool:
        """Whether the law of a cell is near a coin's, and not near a normal one."""
        return self.unit > LIKE_COINS

    @property
    def rows(self) -> tuple[IntVector, IntVector, FloatVector, FloatVector]:
        """The cells, as compiled functions take them."""
        return self.first, self.arm, self.n, self.s

    @property
    def row(self) -> IntVector:
        """The place of each cell's context among those seen."""
        return np.repeat(np.arange(self.contexts), np.diff(self.first))

    def weight(self, m0: float) -> FloatVector:
        """Return how much a coin of each cell tells about its group's mean.

        Rewards of one context share its own deviation: n of them tell as much as n weight(m0).
        """
        return weight_of(self.n, m0)

    def blocks(self) -> Iterator[tuple[slice, slice]]:
        """Yield contexts and their cells, some at a time, for what is made on the way."""
        return blocks(self.first)


def weight_of(n: FloatVector, m0: float) -> FloatVector:
    """Return how much a coin of cells with n of them tells about their group's mean."""
    if math.isinf(m0):
        return np.ones(len(n))
    weight: FloatVector = (1.0 + m0) / (n + m0)
    return weight


def blocks(first: IntVector) -> Iterator[tuple[slice, slice]]:
    """Yield rows of cells that begin at `first`, and these cells: about BLOCK at a time.

    >>> list(blocks(np.array([0, 3, 5])))
    [(slice(0, 2, None), slice(0, 5, None))]
    """
    ends = np.searchsorted(first, np.arange(BLOCK, first[-1] + BLOCK, BLOCK), side="right") - 1
    start = 0
    for end in ends.tolist():
        if end > start:
            yield slice(start, end), slice(int(first[start]), int(first[end]))
            start = end


def sample(counts: Counts, cells: int) -> tuple[Counts, IntVector]:
    """Return contexts with about so many cells, drawn at random, and their rows; all if it is less.

    Rewards that are neither 0 nor 1 must be coins already.
    """
    rows: IntVector = np.arange(counts.contexts)
    if len(counts.arm) <= cells:
        return counts, rows
    number = max(2, counts.contexts * cells // len(counts.arm))
    rows = np.sort(np.random.default_rng(SAMPLES).permutation(rows)[:number])
    length = np.diff(counts.first)[rows]
    first = np.concatenate([[0], np.cumsum(length)])
    at = np.arange(first[-1]) + np.repeat(counts.first[rows] - first[:-1], length)
    n, s = counts.n[at], counts.s[at]
    some = replace(
        counts, context=counts.context[rows], first=first, arm=counts.arm[at], n=n, s=s,
        rewards=float(n.sum() * counts.unit), others=None,
    )  # fmt: skip
    return some, rows


class _Weighed(NamedTuple):
    m0: float
    n: FloatVector
    s: FloatVector


_weighed: WeakKeyDictionary[Counts, _Weighed] = WeakKeyDictionary()
"""Cells as weighed last: EM asks for the same again and again, and large tables have many."""


def weighed(counts: Counts, m0: float) -> tuple[FloatVector, FloatVector]:
    """Return n and s of each cell, as much as they tell about its group's mean."""
    if math.isinf(m0):
        return counts.n, counts.s
    known = _weighed.get(counts)
    if known is None or known.m0 != m0:
        weight = counts.weight(m0)
        known = _weighed[counts] = _Weighed(m0, counts.n * weight, counts.s * weight)
    return known.n, known.s


def group_sums(counts: Counts, member: FloatMatrix, m0: float) -> tuple[FloatMatrix, FloatMatrix]:
    """Return pulls and totals of each arm and group."""
    return gathered(counts, *weighed(counts, m0), member)


def gathered(
    counts: Counts, n: FloatVector, s: FloatVector, member: FloatMatrix
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return two numbers of each cell, summed by arm and group."""
    pulls, totals = (np.zeros((counts.arms, member.shape[1])) for _ in range(2))
    member = np.ascontiguousarray(member)  # each layout would be compiled for
    arithmetic.gather(counts.first, counts.arm, n, s, member, pulls, totals)
    return pulls, totals
