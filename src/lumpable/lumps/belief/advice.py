"""What to do with what is believed: the best arm for each context, and what choosing by it brings.

Nothing here explores. Draws are from the joint posterior: the groups' means, then each context's
group, its factors and its own deviation from them. They have fixed seeds, and contexts share them
where they can; large tables take fewer of them. Pure reads of a learner.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolVector, FloatVector, IntVector
from lumpable.lumps.belief import lifts
from lumpable.lumps.belief.beliefs import LEVEL
from lumpable.lumps.belief.drawn import Draws
from lumpable.lumps.belief.shared_draws import FAR, SharedDraws
from lumpable.lumps.core.learning import Levels

BELOW_1 = math.nextafter(1.0, 0.0)
Names = Sequence[Hashable]


@dataclass(frozen=True, slots=True)
class Advice:
    """The arm that is believed best for a context, and how sure that is."""

    context: Any
    best_arm: Any
    mean: float
    """Its mean reward for this context, and the ends of an interval."""
    low: float
    high: float
    probability_best: float
    runner_up: Any
    """The arm with the next largest mean, and this mean; None where there is no other arm."""
    runner_up_mean: float | None
    expected_loss: float
    """What a wrong choice costs on average: how far the best mean lies above this arm's."""


@dataclass(frozen=True, slots=True)
class Lift:
    """What each context's own best arm brings over one arm for all, per reward."""

    one_arm: Any
    one_mean: float
    policy_mean: float
    lift: float
    """How much more the policy brings, and the ends of an interval."""
    low: float
    high: float
    probability_positive: float
    relative: float | None
    """The same as a part of the one arm's mean; None where that may be 0 or less."""
    relative_low: float | None
    relative_high: float | None


def advise(
    learner: Levels, contexts: IntVector, allowed: Sequence[BoolVector], level: float = LEVEL,
    *, context_names: Names, arm_names: Names,
) -> list[Advice]:  # fmt: skip
    """Return a row for each of these contexts; `allowed` says which arms each may have."""
    level = _level(level)
    draws = Draws(learner, len(contexts), learner.arms)
    if learner.effects.shape[1] == 0:
        return _advise_all(draws, contexts, allowed, level, context_names, arm_names)
    rows = []
    for name, context, mask in zip(context_names, contexts.tolist(), allowed, strict=True):
        mean = np.where(mask, draws.believed(context), -np.inf)
        rows.append(Advice(name, *_compare(draws, context, mean, level, arm_names)))
    return rows


def _advise_all(
    draws: Draws, contexts: IntVector, allowed: Sequence[BoolVector], level: float,
    context_names: Names, arm_names: Names,
) -> list[Advice]:  # fmt: skip
    """Return the same for contexts that share their draws."""
    if len(contexts) == 0:
        return []
    found = SharedDraws(draws).rows(contexts, allowed, level)
    columns = zip(context_names, *(column.tolist() for column in found), strict=True)
    return [
        Advice(
            name, arm_names[best], mean, low, high, sure, arm_names[next_one], next_mean, loss
        ) if next_one >= 0 else
        Advice(name, arm_names[best], mean, low, high, sure, None, None, loss)
        for name, (best, next_one), (mean, next_mean), (sure, loss), (low, high) in columns
    ]  # fmt: skip


def _compare(
    draws: Draws, context: int, mean: FloatVector, level: float, names: Names
) -> tuple[Any, ...]:
    """Return a row without its context; arms that may not be chosen have a mean of -infinity."""
    best, *others = np.argsort(-mean, kind="stable")[: min(2, int(np.isfinite(mean).sum()))]
    sd = np.sqrt(draws.variance(context, mean))
    arms = np.flatnonzero(mean + FAR * np.hypot(sd, sd[best]) >= mean[best])
    drawn = draws.means(context, arms, mean[arms])
    own, top = drawn[:, int(np.searchsorted(arms, best))], drawn.max(axis=1)
    low, high = _interval(own, level, float(mean[best]))
    return (
        names[int(best)], float(mean[best]), low, high, float((own >= top).mean()),
        names[int(others[0])] if others else None, float(mean[others[0]]) if others else None,
        float((top - own).mean()),
    )  # fmt: skip


def lift(learner: Levels, contexts: IntVector, level: float = LEVEL, *, arm_names: Names) -> Lift:
    """Return what each context's own best arm brings over the best arm for all.

    Both are chosen by posterior means, then each draw of the posterior judges both. A context
    counts as often as it had rewards, and once more.
    """
    level, weight = _level(level), learner.state.visits[contexts] + 1.0
    weight /= weight.sum()
    draws = Draws(learner, len(contexts), 2)
    contexts, weight = _one_of_each(draws.settled(contexts), contexts, weight)
    choice = lifts.chosen(draws, contexts, weight)
    value, single = lifts.evaluate(draws, contexts, weight, choice)
    return _as_lift(
        arm_names[choice.one], choice.one_mean, choice.policy_mean, value, single, level
    )


def _one_of_each(
    place: IntVector, contexts: IntVector, weight: FloatVector
) -> tuple[IntVector, FloatVector]:
    """Return contexts and weights: of those settled in one group, the first has all of it."""
    kept = place < 0
    for g in np.unique(place[~kept]):
        own = place == g
        first = int(np.argmax(own))
        kept[first], weight[first] = True, weight[own].sum()
    return contexts[kept], weight[kept]


def _as_lift(
    one_arm: Any, one_mean: float, policy_mean: float, value: FloatVector, single: FloatVector,
    level: float,
) -> Lift:  # fmt: skip
    more = value - single
    relative: tuple[float | None, float | None, float | None] = (None, None, None)
    if one_mean > 0.0 and (single > 0.0).all():
        part = policy_mean / one_mean - 1.0
        relative = part, *_interval(more / single, level, part)
    lifted = policy_mean - one_mean
    return Lift(
        one_arm, one_mean, policy_mean, lifted, *_interval(more, level, lifted),
        float((more > 0.0).mean()), *relative,
    )  # fmt: skip


def _interval(drawn: FloatVector, level: float, mean: float) -> tuple[float, float]:
    """Return the ends between which draws lie with this probability; the mean is inside."""
    low, high = np.quantile(drawn, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return min(float(low), mean), max(float(high), mean)


def _level(level: float) -> float:
    return checks.real("level", level, "a probability in (0, 1)", 0.0, BELOW_1)
