"""What is believed, at a glance: as much as fits on a screen, however many contexts there are.

Pure reads of a learner. What rows are computed from is in `posterior`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lumpable.base.arrays import FloatVector, IntVector
from lumpable.lumps.belief.beliefs import LEVEL, Names
from lumpable.lumps.belief.posterior import (
    Posterior,
    averaged_posterior,
    chances,
    interval,
    seen_now,
    sizes,
)
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.model.counts import Counts

BEST = 3
"""Arms of each group."""
MOST_ROWS, MOST_COLUMNS = 60, 30
"""Of the matrix of rewards: contexts of a group that do not fit share a row."""
MOST_DOUBTFUL, SURE = 12, 0.95
"""Contexts whose likeliest group has less than this probability are doubtful members."""


@dataclass(frozen=True, slots=True)
class ArmNow:
    """An arm of a group: its mean reward with an interval, and how likely it is the best."""

    arm: Any
    mean: float
    low: float
    high: float
    probability_best: float
    share: float | None
    """Its part of the last decisions for members of the group; None: there were none."""


@dataclass(frozen=True, slots=True)
class GroupNow:
    """A group: how many contexts are expected in it, with an interval, and its best arms."""

    group: int
    size: float
    size_low: int
    size_high: int
    decisions: int
    """Of the last ones, those for its members."""
    arms: list[ArmNow]


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """Contexts of one group, and their mean reward of each arm; None: no reward."""

    group: int
    contexts: int
    means: list[float | None]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rewards as they came, contexts sorted by group."""

    arms: list[Any]
    """The best of each group first, then those with most rewards."""
    arms_in_all: int
    rows: list[MatrixRow]


@dataclass(frozen=True, slots=True)
class Doubtful:
    """A context whose group is uncertain: the two likeliest ones."""

    context: Any
    rewards: int
    group: int
    probability: float
    other: int
    other_probability: float
    best_arm: Any


@dataclass(frozen=True, slots=True)
class Glance:
    """What is believed of groups, arms and contexts."""

    groups: list[GroupNow]
    matrix: Matrix
    doubtful_in_all: int | None
    """Contexts whose group is uncertain; None while no groups are identified."""
    doubtful: list[Doubtful]
    """Some of them, the least sure first."""


NOTHING = Glance([], Matrix([], 0, []), None, [])
"""Where there is nothing to see."""


def outline(learner: Levels) -> list[tuple[int, int | None]]:
    """Return the number of contexts and the best arm of each group; quick, for every version."""
    seen, means = learner.state.visits > 0, learner.group_means()
    number = np.bincount(learner.labels()[seen], minlength=len(means))
    allowed = learner.state.allowed
    best = np.argmax(np.where(allowed, means, -np.inf), axis=1)
    return [
        (int(size), int(arm) if allowed[arm] else None)
        for size, arm in zip(number, best, strict=True)
    ]


def glance(
    learner: Levels, lately: Iterable[tuple[int, int]] = (), *, context_names: Names,
    arm_names: Names,
) -> Glance:  # fmt: skip
    """Return what is believed now; `lately` are contexts and arms of the last decisions."""
    seen = averaged_posterior(learner)
    label, several = np.argmax(seen.member, axis=1), seen.member.shape[1] > 1
    doubtful = int((seen.member.max(axis=1) < SURE).sum()) if several else None
    return Glance(
        _groups(learner, seen, lately, arm_names), _matrix(learner, seen, label, arm_names),
        doubtful, _doubtful(learner, seen, context_names, arm_names),
    )  # fmt: skip


def _groups(
    learner: Levels, seen: Posterior, lately: Iterable[tuple[int, int]], names: Names
) -> list[GroupNow]:
    label = learner.labels()
    shown = Counter((int(label[context]), arm) for context, arm in lately)
    rows = []
    for g in range(seen.member.shape[1]):
        low, high = interval(seen, g, LEVEL)
        own = sum(times for (group, _), times in shown.items() if group == g)
        order, probability = chances(seen, g, learner.state.allowed)
        arms = [
            ArmNow(names[j], float(seen.mean[j, g]), float(low[j]), float(high[j]),
                   float(probability[j]), shown[g, j] / own if own else None)
            for j in order[:BEST].tolist()
        ]  # fmt: skip
        least, most = sizes(seen.member[:, g], LEVEL)
        rows.append(GroupNow(g, float(seen.member[:, g].sum()), least, most, own, arms))
    return rows


# --- The matrix -----------------------------------------------------------------------------------


def _matrix(learner: Levels, seen: Posterior, label: IntVector, names: Names) -> Matrix:
    counts, arms = seen_now(learner), _columns(learner, seen)  # as they came
    parts = _parts(seen, label)
    bin_of = np.empty(counts.contexts, dtype=np.int64)
    for number, part in enumerate(parts):
        bin_of[part] = number
    at = np.full(learner.arms, -1)
    at[arms] = np.arange(len(arms))
    shown = at[counts.arm] >= 0
    place = bin_of[counts.row[shown]], at[counts.arm[shown]]
    n, total = (np.zeros((len(parts), len(arms))) for _ in range(2))
    np.add.at(n, place, counts.n[shown])
    np.add.at(total, place, _totals(counts)[shown])
    rows = [
        MatrixRow(int(label[part[0]]), len(part), [
            float(t / k) if k > 0 else None for t, k in zip(*own, strict=True)
        ])
        for part, own in zip(parts, zip(total, n, strict=True), strict=True)
    ]  # fmt: skip
    return Matrix([names[j] for j in arms], learner.arms, rows)


def _totals(counts: Counts) -> FloatVector:
    """Return the sum of the rewards of each cell."""
    total = counts.s.copy()
    if counts.others is not None:
        np.add.at(total, counts.others.cell, counts.others.value * counts.others.times)
    return total


def _columns(learner: Levels, seen: Posterior) -> list[int]:
    """Return the arms to show: the best of each group, then by pulls; retired ones last."""
    allowed = learner.state.allowed
    best = np.where(allowed[:, None], seen.mean, -np.inf).argmax(axis=0)
    pulls = np.bincount(seen.counts.arm, seen.counts.n, minlength=learner.arms)
    order = [*best.tolist(), *np.lexsort((-pulls, ~allowed)).tolist()]
    return list(dict.fromkeys(order))[:MOST_COLUMNS]


def _parts(seen: Posterior, label: IntVector) -> list[IntVector]:
    """Return the contexts of each row: of one group, the surest first; as even as may be."""
    size = np.bincount(label, minlength=seen.member.shape[1])
    room = MOST_ROWS - len(size)
    rows = np.minimum(size, 1 + (room * size) // max(1, len(label)))
    order = np.lexsort((-seen.member.max(axis=1), label))
    return [
        part
        for own, number in zip(np.split(order, np.cumsum(size)[:-1]), rows.tolist(), strict=True)
        if number
        for part in np.array_split(own, number)
    ]


# --- Contexts -------------------------------------------------------------------------------------


def _doubtful(
    learner: Levels, seen: Posterior, contexts: Names, arms: Sequence[Hashable]
) -> list[Doubtful]:
    if seen.member.shape[1] == 1:
        return []
    sure = seen.member.max(axis=1)
    few = np.argsort(sure, kind="stable")[:MOST_DOUBTFUL]
    few = few[sure[few] < SURE]
    numbers = seen.counts.context[few]
    means = np.where(learner.state.allowed, learner.posterior_means(numbers), -np.inf)
    rows = []
    for row, c, mean in zip(few, numbers.tolist(), means, strict=True):
        first, second = np.argsort(-seen.member[row], kind="stable")[:2].tolist()
        own = seen.member[row]
        rows.append(Doubtful(
            contexts[c], int(learner.state.visits[c]), first, float(own[first]), second,
            float(own[second]), arms[int(np.argmax(mean))],
        ))  # fmt: skip
    return rows
