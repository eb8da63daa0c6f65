"""Counts for tests of the model and of the search: from dense tables, and with planted groups."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from lumpable.base.arrays import FloatMatrix, IntVector
from lumpable.lumps.model.counts import Counts
from lumpable.lumps.model.fit import Fit


def made(
    n: npt.NDArray[Any], s: npt.NDArray[Any], real: bool = False, squares: float = 0.0
) -> Counts:
    """Return the counts of dense tables (S, K)."""
    n, s = n.astype(np.float64), s.astype(np.float64)
    seen = n > 0
    first = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    context, arm = np.arange(len(n)), np.nonzero(seen)[1].copy()  # contiguous, as a learner's are
    return Counts(context, first, arm, n[seen], s[seen], n.shape[1], real, squares)


def dense(counts: Counts) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the tables again."""
    n, s = np.zeros((2, counts.contexts, counts.arms))
    row = np.repeat(np.arange(counts.contexts), np.diff(counts.first))
    n[row, counts.arm], s[row, counts.arm] = counts.n, counts.s
    return n, s


def rewarded(mean: FloatMatrix, n: int, sd: float | None, seed: int) -> Counts:
    """Return n rewards of each cell with these means: of 0 and 1, or with normal noise."""
    rng = np.random.default_rng(seed)
    pulls = np.full(mean.shape, float(n))
    if sd is None:
        return made(pulls, rng.binomial(n, mean))
    totals = n * mean + sd * math.sqrt(n) * rng.normal(size=mean.shape)
    return made(pulls, totals, True, sd**2 * float(rng.chisquare((n - 1) * mean.size)))


def blocks(groups: int, contexts: int, low: float = 0.15, high: float = 0.9) -> FloatMatrix:
    """Return means (contexts, 3 groups): each group has three good arms of its own."""
    arm = np.arange(3 * groups) // 3
    group = np.arange(contexts) % groups
    return np.where(arm == group[:, None], high, low)


def together(fit: Fit) -> FloatMatrix:
    """Return how likely any two contexts are to be together: free of labels."""
    return np.asarray(fit.member @ fit.member.T)


def alike(group: IntVector) -> FloatMatrix:
    """Return which contexts are together in truth."""
    return np.asarray(group[:, None] == group, dtype=np.float64)
