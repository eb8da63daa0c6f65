"""Confidence intervals of pairs, and what they show: mixed clusters, bad arms, parts of a cluster.

Plain arrays; makes no requests. Where a pair was not seen its ends are NaN, and maxima and minima
run over the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lumpable.base.arrays import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector
from lumpable.plans.clusters import Clusters
from lumpable.plans.seen import Sample


@dataclass(frozen=True, slots=True)
class WideGap:
    """A cluster that is mixed, the arm that shows it, and how far apart it is for certain."""

    cluster: int
    arm: int
    size: float
    """G = max lower - min upper end, over the contexts of the cluster."""


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """The interval of each pair: lower and upper ends; NaN without a finished play."""

    lower: FloatMatrix
    upper: FloatMatrix

    @classmethod
    def around(cls, sample: Sample, radius: FloatMatrix) -> Intervals:
        """Put an interval around each mean; one that is not finite counts as no finished play."""
        seen = (sample.plays > 0) & np.isfinite(sample.mean)
        mean = np.where(seen, sample.mean, np.nan)
        return cls(mean - radius, mean + radius)

    def without(self, contexts: BoolVector) -> Intervals:
        """Set these contexts aside."""
        out = contexts[:, np.newaxis]
        return Intervals(np.where(out, np.nan, self.lower), np.where(out, np.nan, self.upper))

    def gaps(self, found: Clusters) -> FloatMatrix:
        """Return max lower - min upper end for each cluster and arm: the range is larger."""
        with np.errstate(over="ignore"):
            return found.largest(self.lower) + found.largest(-self.upper)

    def widest(self, found: Clusters, least: float) -> WideGap | None:
        """Return the largest gap that is at least so large, if any.

        Ties go to the cluster with the smallest context, then to the smallest arm.
        """
        gap = self.gaps(found)
        shown = gap >= least
        if not shown.any():
            return None
        _, first = np.unique(found.label, return_index=True)
        order = np.argsort(first)
        row, arm = divmod(int(np.argmax(np.where(shown, gap, -np.inf)[order])), gap.shape[1])
        cluster = int(order[row])
        return WideGap(cluster, arm, float(gap[cluster, arm]))

    def surely_worse(self, found: Clusters) -> BoolMatrix:
        """Say which arms of a cluster are worse than another one for every context seen.

        max_j' min_i lower(i, j') > max_i upper(i, j). An arm without finished plays is neither.
        """
        least, most = -found.largest(-self.lower), found.largest(self.upper)
        worse: BoolMatrix = np.fmax.reduce(least, axis=1, keepdims=True) > most
        return worse

    def far_below(self, found: Clusters, distance: float) -> BoolMatrix:
        """Say which arms have their best context further than this below the best arm's.

        An arm without finished plays is neither. For intervals of one width.
        """
        top = found.largest(self.lower)
        with np.errstate(over="ignore"):
            below: BoolMatrix = np.fmax.reduce(top, axis=1, keepdims=True) - top > distance
        return below


def components(lower: FloatVector, upper: FloatVector, inside: BoolVector) -> IntVector:
    """Return the part of each context: its connected component of overlapping intervals.

    Numbered from the largest upper end down; -1 outside. Intervals that only touch do not overlap.
    A context without one goes with the largest part, the first of them if tied.
    """
    seen = np.flatnonzero(inside & ~np.isnan(upper))
    order = seen[np.argsort(-upper[seen], kind="stable")]
    apart = upper[order[1:]] <= np.minimum.accumulate(lower[order])[:-1]
    label = np.full(len(upper), -1, dtype=np.int64)
    label[order] = np.concatenate([[0], np.cumsum(apart)])[: len(order)]
    label[inside & np.isnan(upper)] = np.argmax(np.bincount(label[order])) if len(order) else 0
    return label
