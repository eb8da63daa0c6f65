"""Weighted k-means with missing cells: which grouping of contexts explains their mean rewards best?

Lloyd (IEEE Trans. Inf. Theory 28, 1982) from starts after Arthur and Vassilvitskii (k-means++, SODA
2007). Minimises over groups g and centres B

    sum_ij w_ij (m_ij - B_{g(i) j})^2,

where a cell with w_ij = 0 is missing. Knows no learner.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine import cached_njit

ITERATIONS = 50
"""The default for the most iterations from one start."""


def lloyd(
    weights: npt.ArrayLike,
    mean: npt.ArrayLike,
    groups: int,
    rng: np.random.Generator,
    starts: int = 4,
    known: IntVector | None = None,
    iterations: int = ITERATIONS,
) -> tuple[IntVector, FloatMatrix]:
    """Group the contexts; return the group of each and the centres of the groups.

    Parameters
    ----------
    weights
        w (contexts, arms), at least 0: the number of plays, say. 0: the cell is missing.
    mean
        m (contexts, arms); anything, NaN as well, where the weight is 0.
    groups
        The most groups. All have members if there are as many contexts.
    rng
        For the starts; the same generator gives the same groups.
    starts
        Random starts, of which the best result is taken.
    known
        Labels to start from besides, such as those of the last time: the result is no worse.
    iterations
        The most iterations from one start; with fewer it is faster, and the loss may be larger.

    Returns
    -------
    labels, centres
        int64 (contexts,) and float64 (groups, arms). A cell that no member of a group has seen
        takes the weighted mean of its arm over all contexts, or of everything.

    >>> plays = [[3, 1], [2, 0], [4, 9]]
    >>> mean = [[0.1, 0.9], [0.2, np.nan], [0.8, 0.1]]
    >>> labels, centres = lloyd(plays, mean, 2, np.random.default_rng(1))
    >>> bool(labels[0] == labels[1] != labels[2]), centres[labels[0]].round(2).tolist()
    (True, [0.14, 0.9])
    """
    w = np.asarray(weights, dtype=np.float64)
    m = np.where(w > 0, np.asarray(mean, dtype=np.float64), 0.0)
    groups = checks.whole("groups", groups, 1)
    checks.whole("starts", starts, 0 if known is not None else 1)
    checks.whole("iterations", iterations, 1)
    everywhere = _over(np.sum(w * m), np.sum(w), 0.0)
    arm = _over((w * m).sum(axis=0), w.sum(axis=0), everywhere)
    # about the arms' means, a centre without data is 0
    problem = _Problem(w, m - arm)
    firsts = [problem.start(groups, rng) for _ in range(starts)]
    firsts += [] if known is None else [np.asarray(known, dtype=np.int64)]
    found = [problem.descend(labels, groups, iterations) for labels in firsts]
    _, labels, centres = min(found, key=lambda result: result[0])
    return labels, centres + arm


def _over(total: npt.ArrayLike, weight: npt.ArrayLike, otherwise: npt.ArrayLike) -> FloatMatrix:
    """Return total / weight, and something else where there is no weight."""
    known = np.asarray(weight) > 0
    return np.where(known, total / np.where(known, weight, 1.0), otherwise)


class _Problem:
    """Weights and means about the arms' means: the cells that have a weight, context by context."""

    def __init__(self, w: FloatMatrix, m: FloatMatrix) -> None:
        self.shape = w.shape
        row, arm = np.nonzero(w > 0)
        self.arm = np.ascontiguousarray(arm)  # each layout would be compiled for
        self.first = np.searchsorted(row, np.arange(len(w) + 1))
        self.w, self.m = w[row, self.arm], m[row, self.arm]
        self.weight = w.sum(axis=1)

    def nearest(self, centres: FloatMatrix) -> tuple[IntVector, FloatVector]:
        """Return each context's nearest centre b, and sum_j w_ij (m_ij - B_bj)^2."""
        columns = np.ascontiguousarray(centres.T)
        label, away = np.empty(self.shape[0], dtype=np.int64), np.empty(self.shape[0])
        _nearest(self.first, self.arm, self.w, self.m, columns, label, away)
        return label, away

    def centres(self, labels: IntVector, groups: int) -> FloatMatrix:
        weight, total = np.zeros((2, groups, self.shape[1]))
        _pool(self.first, self.arm, self.w, self.m, labels, weight, total)
        return _over(total, weight, 0.0)

    def start(self, groups: int, rng: np.random.Generator) -> IntVector:
        """k-means++: centres are contexts, each drawn by its distance to those drawn before."""
        labels, nearest = np.zeros(self.shape[0], dtype=np.int64), np.full(self.shape[0], np.inf)
        for b in range(groups):
            chosen = _draw(nearest if b else self.weight, rng)
            cells = slice(self.first[chosen], self.first[chosen + 1])
            centre = np.zeros((1, self.shape[1]))
            centre[0, self.arm[cells]] = self.m[cells]
            _, away = self.nearest(centre)
            labels[away < nearest] = b
            nearest = np.minimum(nearest, away)
        return labels

    def descend(
        self, labels: IntVector, groups: int, iterations: int
    ) -> tuple[float, IntVector, FloatMatrix]:
        """Return loss, labels and centres when they change no more; no step adds to the loss."""
        for _ in range(iterations):
            centres = self.centres(labels, groups)
            before, (labels, away) = labels, self.nearest(centres)
            _fill(labels, away, groups)
            if np.array_equal(before, labels):
                return float(away.sum()), labels, centres
        centres = self.centres(labels, groups)
        return self.loss(labels, centres), labels, centres

    def loss(self, labels: IntVector, centres: FloatMatrix) -> float:
        label = np.repeat(labels, np.diff(self.first))
        return float(np.sum(self.w * (self.m - centres[label, self.arm]) ** 2))


@cached_njit()
def _nearest(
    first: IntVector, arm: IntVector, w: FloatVector, m: FloatVector, centres: FloatMatrix,
    label: IntVector, away: FloatVector,
) -> None:  # fmt: skip
    """Write each context's nearest centre, a column of `centres`, and how far it is."""
    square = np.empty(centres.shape[1])
    for i in range(len(label)):
        for b in range(len(square)):  # a loop: whole slices take longer to compile
            square[b] = 0.0
        for cell in range(first[i], first[i + 1]):
            row = centres[arm[cell]]
            for b in range(len(square)):
                square[b] += w[cell] * (m[cell] - row[b]) ** 2
        best = 0
        for b in range(1, len(square)):
            if square[b] < square[best]:
                best = b
        label[i], away[i] = best, square[best]


@cached_njit()
def _pool(
    first: IntVector, arm: IntVector, w: FloatVector, m: FloatVector, labels: IntVector,
    weight: FloatMatrix, total: FloatMatrix,
) -> None:  # fmt: skip
    """Add each context's cells to its group."""
    for i in range(len(labels)):
        for cell in range(first[i], first[i + 1]):
            weight[labels[i], arm[cell]] += w[cell]
            total[labels[i], arm[cell]] += w[cell] * m[cell]


def _fill(labels: IntVector, away: FloatVector, groups: int) -> None:
    """Give each empty group the context farthest from its centre, from those not alone."""
    size = np.bincount(labels, minlength=groups)
    for empty in np.flatnonzero(size == 0):
        farthest = int(np.argmax(np.where(size[labels] > 1, away, -1.0)))
        if size[labels[farthest]] > 1:
            size[labels[farthest]] -= 1
            size[empty] = 1
            labels[farthest] = empty


def _draw(chance: FloatVector, rng: np.random.Generator) -> int:
    """Draw an index with these chances, up to a factor; any if there are none."""
    total = np.cumsum(chance)
    if total[-1] <= 0.0:
        return int(rng.integers(len(chance)))
    place = int(np.searchsorted(total, rng.random() * total[-1], side="right"))
    return min(place, len(chance) - 1)
