"""What the regret algorithms believe about who is alike, and the evidence against it.

A partition of the contexts, the good arms of each cluster at each accuracy level, and the gaps that
show that a cluster is mixed; and what follows for a reader: the best arms, a belief. Makes no
requests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from lumpable.base.arrays import BoolMatrix, BoolVector, FloatMatrix, IntVector
from lumpable.plans.about import Kind
from lumpable.plans.plan import Belief
from lumpable.plans.seen import Sample

Number = TypeVar("Number", np.int64, np.float64)


@dataclass(slots=True, eq=False)
class Clusters:
    """A partition and its good sets. Arrays are replaced, never written to."""

    label: IntVector
    """The cluster of each context: P_h."""
    good: list[BoolMatrix]
    """For each level a row of arms for each cluster: GOOD_{h,n}."""

    @classmethod
    def everybody(cls, contexts: int, arms: int) -> Clusters:
        """Put all contexts into one cluster, for which every arm may be good."""
        return cls(np.zeros(contexts, dtype=np.int64), [np.ones((1, arms), dtype=bool)])

    @property
    def number(self) -> int:
        """How many clusters there are."""
        return len(self.good[0])

    def arms(self, position: int = 0) -> BoolMatrix:
        """Return K(i) for each context: the good arms of its cluster, as an array of its own."""
        return self.good[position][self.label]

    def divide(self, cluster: int, parts: IntVector) -> IntVector:
        """Divide a cluster; its first part keeps the label, all parts get its good sets.

        `parts` is the part of each of its contexts. Returns the old label of each new cluster
        (readings 24 and 29).
        """
        new = int(parts.max())
        parent = np.concatenate([np.arange(self.number), np.full(new, cluster)])
        self.label = np.where(parts > 0, self.number - 1 + parts, self.label)
        self.good = [rows[parent] for rows in self.good]
        return parent

    def largest(self, values: FloatMatrix) -> FloatMatrix:
        """Return each cluster's largest value, column by column, ignoring NaN."""
        order, start = self._runs()
        return np.fmax.reduceat(values[order], start, axis=0)

    def total(self, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Return each cluster's sum, column by column."""
        order, start = self._runs()
        return np.add.reduceat(values[order], start, axis=0)

    def _runs(self) -> tuple[IntVector, IntVector]:
        """Return the contexts cluster by cluster, and where each cluster begins."""
        order = np.argsort(self.label, kind="stable")
        return order, np.searchsorted(self.label[order], np.arange(self.number))


@dataclass(slots=True, eq=False)
class Level:
    """The data of one accuracy level in one phase: D_{h,n} and A-hat_{h,n}."""

    level: int
    threshold: float
    """sqrt(lg_h / 2^n)."""
    mean: FloatMatrix

    def set_aside(self, contexts: BoolVector) -> None:
        """Leave these contexts out of gaps and maxima from now on (reading 24)."""
        if contexts.any():
            self.mean = np.where(contexts[:, np.newaxis], np.nan, self.mean)

    def gaps(self, found: Clusters) -> FloatMatrix:
        """Return how far apart the contexts of each cluster are on each arm; NaN: no data."""
        with np.errstate(over="ignore"):
            return found.largest(self.mean) + found.largest(-self.mean)

    def survivors(self, found: Clusters, good: BoolMatrix | None = None) -> BoolMatrix:
        """Return the good arms that are within twice the threshold of a cluster's best.

        An arm without finished plays stays good and is not in the maximum (reading 21).
        """
        top = found.largest(self.mean)
        best = np.fmax.reduce(top, axis=1, keepdims=True)
        with np.errstate(over="ignore"):
            worse = best - top > 2 * self.threshold
        before = found.good[0] if good is None else good
        return before & ~worse


@dataclass(frozen=True, slots=True)
class Gap:
    """A cluster that is mixed, and the arm that shows it."""

    cluster: int
    arm: int
    position: int
    """Where the level stands among those of the phase."""
    level: int


def widest(levels: list[Level], found: Clusters, tested: BoolMatrix) -> Gap | None:
    """Return the gap to test next, the widest of the deepest level (reading 30), if any.

    Ties go to the cluster with the smallest context, then to the smallest arm (reading 4).
    """
    for position in reversed(range(len(levels))):
        level = levels[position]
        gap = np.where(tested, np.nan, level.gaps(found))
        shown = gap >= level.threshold
        if shown.any():
            _, first = np.unique(found.label, return_index=True)
            order = np.argsort(first)
            cell = int(np.argmax(np.where(shown, gap, -np.inf)[order]))
            row, arm = divmod(cell, gap.shape[1])
            return Gap(int(order[row]), arm, position, level.level)
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """What Algorithm 5 made of a cluster."""

    label: IntVector
    """The part of each context, numbered from the largest mean down; -1 outside the cluster."""
    unseen: BoolVector
    """Contexts of the cluster without an estimate: they went with the largest part."""

    @property
    def number(self) -> int:
        """How many parts there are."""
        return int(self.label.max()) + 1


def best_arms(found: Clusters, sample: Sample) -> IntVector:
    """Return for each context the good arm with its cluster's largest pooled mean, if it has one.

    The algorithms do not use it: it is what they would answer if they were stopped.
    """
    plays = found.total(sample.plays)
    weight = sample.plays / np.maximum(plays, 1)[found.label]
    with np.errstate(over="ignore", invalid="ignore"):
        pooled = found.total(weight * np.where(sample.plays > 0, sample.mean, 0.0))
    seen = found.good[-1] & (plays > 0) & ~np.isnan(pooled)
    pooled = np.where(seen, pooled, -math.inf)
    first = np.argmax(found.good[-1], axis=1)
    arm: IntVector = np.where(seen.any(axis=1), np.argmax(pooled, axis=1), first)
    return arm[found.label]


def belief_in(
    found: Clusters,
    kind: Kind,
    words: str,
    h: int,
    policy: IntVector,
    given_up: tuple[str, ...] = (),
) -> Belief:
    """Return the belief in these clusters that goes with a request."""
    good = found.good[-1]
    return Belief(words, policy, (), h, found.label, good, given_up, kind, len(given_up))
