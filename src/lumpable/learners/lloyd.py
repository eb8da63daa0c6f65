"""Weighted k-means with missing cells: which grouping of contexts explains their mean rewards best?

Lloyd (IEEE Trans. Inf. Theory 28, 1982) from starts after Arthur and Vassilvitskii (k-means++, SODA
2007). Minimises over groups g and centres B

    sum_ij w_ij (m_ij - B_{g(i) j})^2,

where a cell with w_ij = 0 is missing. Knows no learner.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lumpable import checks
from lumpable.checks import FloatMatrix, FloatVector, IntVector

ITERATIONS = 50
"""Lloyd's iterations from one start, at most."""


def lloyd(
    weights: npt.ArrayLike,
    mean: npt.ArrayLike,
    groups: int,
    rng: np.random.Generator,
    starts: int = 4,
    known: IntVector | None = None,
) -> tuple[IntVector, FloatMatrix]:
    """Group the contexts; return the group of each and the centres of the groups.

    Parameters
    ----------
    weights
        w (contexts, arms), at least 0: the number of plays, say. 0: the cell is missing.
    mean
        m (contexts, arms); anything, NaN as well, where the weight is 0.
    groups
        How many groups at most. All have members if there are as many contexts.
    rng
        For the starts; the same generator gives the same groups.
    starts
        Random starts, of which the best result is taken.
    known
        Labels to start from besides, such as those of the last time: the result is no worse.

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
    everywhere = _over(np.sum(w * m), np.sum(w), 0.0)
    arm = _over((w * m).sum(axis=0), w.sum(axis=0), everywhere)
    # about the arms' means a centre that knows nothing is 0, and the expanded squares lose less
    problem = _Problem(w, m - arm)
    firsts = [problem.start(groups, rng) for _ in range(starts)]
    firsts += [] if known is None else [np.asarray(known, dtype=np.int64)]
    found = [problem.descend(labels, groups) for labels in firsts]
    _, labels, centres = min(found, key=lambda result: result[0])
    return labels, centres + arm


def loss(
    weights: npt.ArrayLike, mean: npt.ArrayLike, labels: IntVector, centres: FloatMatrix
) -> float:
    """Return sum_ij w_ij (m_ij - B_{g(i) j})^2, which `lloyd` makes small."""
    w = np.asarray(weights, dtype=np.float64)
    away = np.where(w > 0, np.asarray(mean, dtype=np.float64) - centres[labels], 0.0)
    return float(np.sum(w * away**2))


def _over(total: npt.ArrayLike, weight: npt.ArrayLike, otherwise: npt.ArrayLike) -> FloatMatrix:
    """Return total / weight, and something else where there is no weight."""
    known = np.asarray(weight) > 0
    ratio: FloatMatrix = np.where(known, total / np.where(known, weight, 1.0), otherwise)
    return ratio


class _Problem:
    """Weights and means about the arms' means."""

    def __init__(self, w: FloatMatrix, m: FloatMatrix) -> None:
        self.w = w
        self.wm = w * m
        self.wmm = np.sum(self.wm * m, axis=1)
        self.rows = _over(self.wm, w, 0.0)

    def distances(self, centres: FloatMatrix) -> FloatMatrix:
        """Return sum_j w_ij (m_ij - B_bj)^2 for every context i and centre b."""
        cross = self.w @ (centres**2).T - 2.0 * (self.wm @ centres.T)
        return np.maximum(cross + self.wmm[:, None], 0.0)

    def centres(self, labels: IntVector, groups: int) -> FloatMatrix:
        member = (labels == np.arange(groups)[:, None]).astype(np.float64)
        return _over(member @ self.wm, member @ self.w, 0.0)

    def start(self, groups: int, rng: np.random.Generator) -> IntVector:
        """k-means++: centres are contexts, each drawn by its distance to those drawn before."""
        chosen = [_drawn(self.w.sum(axis=1), rng)]
        nearest = np.full(len(self.w), np.inf)
        for _ in range(1, groups):
            nearest = np.minimum(nearest, self.distances(self.rows[chosen[-1:]])[:, 0])
            nearest[chosen] = 0.0
            chosen.append(_drawn(nearest, rng))
        labels: IntVector = np.argmin(self.distances(self.rows[chosen]), axis=1)
        return labels

    def descend(self, labels: IntVector, groups: int) -> tuple[float, IntVector, FloatMatrix]:
        """Return loss, labels and centres when they change no more; no step adds to the loss."""
        everyone = np.arange(len(labels))
        for _ in range(ITERATIONS):
            centres = self.centres(labels, groups)
            away = self.distances(centres)
            before, labels = labels, np.argmin(away, axis=1)
            _fill(labels, away[everyone, labels], groups)
            if np.array_equal(before, labels):
                break
        centres = self.centres(labels, groups)
        loss = float(self.distances(centres)[everyone, labels].sum())
        return loss, labels, centres


def _fill(labels: IntVector, away: FloatVector, groups: int) -> None:
    """Give each empty group the context farthest from its centre, from those not alone."""
    size = np.bincount(labels, minlength=groups)
    for empty in np.flatnonzero(size == 0):
        farthest = int(np.argmax(np.where(size[labels] > 1, away, -1.0)))
        if size[labels[farthest]] > 1:
            size[labels[farthest]] -= 1
            size[empty] = 1
            labels[farthest] = empty


def _drawn(chance: FloatVector, rng: np.random.Generator) -> int:
    """Draw an index with these chances, up to a factor; any if there are none."""
    total = np.cumsum(chance)
    if total[-1] <= 0.0:
        return int(rng.integers(len(chance)))
    place = int(np.searchsorted(total, rng.random() * total[-1], side="right"))
    return min(place, len(chance) - 1)
