"""Counts for tests of the model and of the search: from tables, from rewards, and from groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.lumps.model.counts import Counts, Others
from lumpable.lumps.model.fit import Fit


def made(n: npt.NDArray[Any], s: npt.NDArray[Any]) -> Counts:
    """Return the counts of coins, from dense tables (S, K)."""
    n, s = n.astype(np.float64), s.astype(np.float64)
    seen = n > 0
    first = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    context, arm = np.arange(len(n)), np.nonzero(seen)[1].copy()  # contiguous, as a learner's are
    return Counts(context, first, arm, n[seen], s[seen], n.shape[1], float(n.sum()))


def counted(context: IntVector, arm: IntVector, reward: FloatVector, arms: int) -> Counts:
    """Return the counts of rewards one by one, in whatever order they come."""
    kept: dict[tuple[int, int], list[float]] = {}
    for i, j, y in zip(context.tolist(), arm.tolist(), reward.tolist(), strict=True):
        kept.setdefault((i, j), []).append(y)
    cells = sorted(kept)
    row, column = (np.array([cell[k] for cell in cells], dtype=np.int64) for k in (0, 1))
    seen, length = np.unique(row, return_counts=True)
    others = [
        (c, y, float(times))
        for c, cell in enumerate(cells)
        for y, times in sorted(Counter(kept[cell]).items())
        if y not in (0.0, 1.0)
    ]
    return Counts(
        seen, np.concatenate([[0], np.cumsum(length)]), column,
        np.array([float(len(kept[cell])) for cell in cells]),
        np.array([float(kept[cell].count(1.0)) for cell in cells]), arms, float(len(reward)),
        Others(*(np.array(x) for x in zip(*others, strict=True))) if others else None,
    )  # fmt: skip


def listed(counts: Counts) -> tuple[IntVector, IntVector, FloatVector]:
    """Return the rewards one by one again: their context, arm and value, sorted."""
    row, rows = counts.context[counts.row], []
    odd = np.zeros(len(counts.n))
    if counts.others is not None:
        for c, y, times in zip(*counts.others, strict=True):
            rows += [(row[c], counts.arm[c], y)] * int(times)
            odd[c] += times
    for c in range(len(counts.n)):
        rows += [(row[c], counts.arm[c], 1.0)] * int(counts.s[c])
        rows += [(row[c], counts.arm[c], 0.0)] * int(counts.n[c] - counts.s[c] - odd[c])
    context, arm, reward = zip(*sorted(rows), strict=True)
    return np.array(context), np.array(arm), np.array(reward)


def mapped(counts: Counts, change: Callable[[FloatVector], FloatVector]) -> Counts:
    """Return the counts of other rewards in the place of these."""
    context, arm, reward = listed(counts)
    return counted(context, arm, change(reward), counts.arms)


def dense(counts: Counts) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the tables of coins again."""
    n, s = np.zeros((2, counts.contexts, counts.arms))
    row = np.repeat(np.arange(counts.contexts), np.diff(counts.first))
    n[row, counts.arm], s[row, counts.arm] = counts.n, counts.s
    return n, s


def rewarded(mean: FloatMatrix, n: int, sd: float | None, seed: int) -> Counts:
    """Return n rewards of each cell with these means: of 0 and 1, or with normal noise."""
    rng = np.random.default_rng(seed)
    if sd is None:
        return made(np.full(mean.shape, float(n)), rng.binomial(n, mean))
    return drawn(rng.normal(mean[:, :, None], sd, (*mean.shape, n)))


def drawn(rewards: npt.NDArray[np.float64]) -> Counts:
    """Return the counts of a table (S, K, n) of rewards."""
    S, K, n = rewards.shape
    context, arm, _ = np.indices((S, K, n))
    return counted(context.ravel(), arm.ravel(), rewards.ravel(), K)


def equal(one: Any, two: Any) -> bool:
    """Whether two fits, counts or parts of them are the same to the last bit."""
    if type(one) is not type(two):
        return False
    if is_dataclass(one) and not isinstance(one, type):
        return all(equal(getattr(one, x.name), getattr(two, x.name)) for x in fields(one))
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(equal, one, two))
    return np.array_equal(one, two)


def blocks(groups: int, contexts: int, low: float = 0.15, high: float = 0.9) -> FloatMatrix:
    """Return means (contexts, 3 groups): each group has three good arms of its own."""
    arm = np.arange(3 * groups) // 3
    group = np.arange(contexts) % groups
    return np.where(arm == group[:, None], high, low)


def together(fit: Fit) -> FloatMatrix:
    """Return how likely any two contexts are to be together: free of labels."""
    return np.asarray(fit.member @ fit.member.T)


def same_order(one: Fit, two: Fit) -> IntVector:
    """Return the groups of the first fit in the order in which the second one has them."""
    order: IntVector = np.argmax(two.member.T @ one.member, axis=1)
    return order


def alike(group: IntVector) -> FloatMatrix:
    """Return which contexts are together in truth."""
    return np.asarray(group[:, None] == group, dtype=np.float64)
