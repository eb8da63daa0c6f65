"""What a learner believes, as rows: groups, their arms, members, what to expect, who is together.

Rows are frozen values with named fields; a list of them is what pandas and polars make a frame of.
Pure reads of a learner. What the rows are computed from is in `posterior`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lumpable.base import checks
from lumpable.base.arrays import IntVector
from lumpable.base.errors import BadArgument
from lumpable.base.words import counted
from lumpable.lumps.belief.posterior import (
    averaged_posterior,
    best_arms_of,
    cache_answers,
    intervals_of,
    posterior_now,
    rivals_of,
    sizes,
)
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.state import M0

LEVEL = 0.9
"""Intervals hold the truth with this probability, unless another level is asked for."""
Names = Sequence[Hashable]


@dataclass(frozen=True, slots=True)
class Group:
    """A group: how large it is, its best arm, and how sure both are."""

    group: int
    size: float
    """Contexts that are expected in it, and the ends of an interval."""
    size_low: int
    size_high: int
    share: float
    best_arm: Any
    probability_best: float
    mean: float
    """Mean reward of the best arm, and the ends of an interval."""
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean reward of an arm in a group, with an interval."""

    group: int
    arm: Any
    pulls: float
    """Rewards, as much as they tell about the group's mean."""
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Member:
    """A context that was seen: its group, how surely, and its best arm."""

    context: Any
    group: int | None
    """None while no groups are identified; so is its probability."""
    probability: float | None
    posterior: list[float]
    """The probability of each group."""
    rewards: int
    best_arm: Any
    expected_reward: float
    deviation: float
    """How far that lies from what its groups, weighted by its posterior, expect of the arm."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected of an arm for a context."""

    arm: Any
    expected_reward: float
    rewards: int
    """Rewards that the context had from the arm itself."""
    index: float
    """What the choice goes by; on the scale of logits while all rewards are 0 or 1."""


def groups(learner: Levels, level: float = LEVEL, *, arm_names: Names | None = None) -> list[Group]:
    """Return a row for each group."""
    level, arm = _level(level), _names("arm_names", arm_names, learner.arms)
    with cache_answers(learner):
        seen, rows = averaged_posterior(learner), []
        bests, ends = best_arms_of(learner), intervals_of(learner, level)
    for g, ((best, sure), (low, high)) in enumerate(zip(bests, ends, strict=True)):
        size = float(seen.member[:, g].sum())
        least, most = sizes(seen.member[:, g], level)
        share = size / max(1, seen.counts.contexts)
        mean = float(seen.mean[best, g])
        rows.append(Group(
            g, size, least, most, share, arm[best], sure, mean, float(low[best]), float(high[best])
        ))  # fmt: skip
    return rows


def means(learner: Levels, level: float = LEVEL, *, arm_names: Names | None = None) -> list[Mean]:
    """Return a row for each group and arm."""
    level, arm = _level(level), _names("arm_names", arm_names, learner.arms)
    with cache_answers(learner):
        seen, ends = averaged_posterior(learner), intervals_of(learner, level)
    return [
        Mean(
            g, arm[j], float(seen.pulls[j, g]), float(seen.mean[j, g]), float(low[j]),
            float(high[j]),
        )
        for g, (low, high) in enumerate(ends)
        for j in range(learner.arms)
    ]  # fmt: skip


def members(
    learner: Levels, *, context_names: Names | None = None, arm_names: Names | None = None,
    only: int | None = None,
) -> list[Member]:  # fmt: skip
    """Return a row for each context that was seen, or for the only one that is asked for."""
    arm, seen = _names("arm_names", arm_names, learner.arms), posterior_now(learner)
    context, member = seen.counts.context, seen.member
    need = int(context[-1]) + 1 if len(context) else 0
    name = _names("context_names", context_names, need)
    if only is not None:
        context, member = context[context == only], member[context == only]
    mean = learner.posterior_means(context)
    state, known = learner.state, identified(learner)
    best = np.argmax(np.where(state.allowed, mean, -np.inf), axis=1)
    theta, rows = learner.group_means(), []
    for i, (c, j) in enumerate(zip(context, best, strict=True)):
        posterior, value = member[i], float(mean[i, j])
        rows.append(Member(
            context=name[int(c)], group=int(np.argmax(posterior)) if known else None,
            probability=float(posterior.max()) if known else None,
            posterior=posterior.tolist(), rewards=int(state.visits[c]), best_arm=arm[int(j)],
            expected_reward=value, deviation=value - float(posterior @ theta[:, j]),
        ))  # fmt: skip
    return rows


def expected(learner: Levels, context: int, *, arm_names: Names | None = None) -> list[Expected]:
    """Return a row for each arm that may be chosen for a context, the largest index first."""
    arm, state = _names("arm_names", arm_names, learner.arms), learner.state
    learner.ask(context)
    index, mean = state.score.copy(), learner.posterior_means(np.array([context]))[0]
    own = np.zeros(learner.arms)
    cells = slice(state.start[context], state.start[context] + state.length[context])
    own[state.arm[cells]] = state.pulls[cells]
    return [
        Expected(arm[j], float(mean[j]), int(own[j]), float(index[j]))
        for j in np.argsort(-index, kind="stable").tolist()
        if state.allowed[j]
    ]


def identified(learner: Levels) -> bool:
    """Whether it can be said who is together: there are groups, or all contexts look alike."""
    state = learner.state
    alike = math.isinf(state.value[M0]) and state.loading.shape[1] == 0
    return len(state.group_visits) > 1 or alike


def together(learner: Levels, a: npt.ArrayLike, b: npt.ArrayLike) -> Any:
    """Return the probability that two contexts are in one group; arrays go pair by pair.

    Averaged over how many groups there may be; NaN while groups are not identified.
    """
    first, second = np.broadcast_arrays(_contexts("a", a, learner), _contexts("b", b, learner))
    if identified(learner):
        others = rivals_of(learner)
        models = [(1.0 - sum(x.probability for x in others), learner.membership)]
        models += [(rival.probability, rival.fit.membership) for rival in others]
        pairs = first.ravel(), second.ravel()
        each = [p * (of(pairs[0]) * of(pairs[1])).sum(axis=1) for p, of in models]
        chance = np.minimum(sum(each), 1.0).reshape(first.shape)
    else:
        chance = np.full(first.shape, np.nan)
    chance = np.where(first == second, 1.0, chance)
    return float(chance) if chance.ndim == 0 else chance


def _contexts(name: str, value: npt.ArrayLike, learner: Levels) -> IntVector:
    numbers = np.asarray(value)
    expected = f"contexts, whole numbers in 0 .. {learner.contexts - 1}"
    if numbers.size and not np.issubdtype(numbers.dtype, np.integer):
        raise BadArgument(name, expected, repr(value))
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < learner.contexts):
        raise BadArgument(name, expected, f"{numbers.min()} .. {numbers.max()}")
    return numbers.astype(np.int64)


def _level(level: float) -> float:
    below_one = math.nextafter(1.0, 0.0)
    return checks.real("level", level, "a probability in (0, 1)", 0.0, below_one)


def _names(name: str, names: Names | None, need: int) -> Sequence[Hashable]:
    if names is None:
        return range(need)
    if len(names) < need:
        raise BadArgument(name, f"at least {counted(need, 'name')}", f"{len(names)}")
    return names
