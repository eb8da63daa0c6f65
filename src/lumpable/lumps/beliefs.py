"""What the learner believes, as rows: groups, arms, members, who is together, and how sure it is.

Pure reads of a `ThreeLevels`: nothing here changes it. The laws behind the rows are in `laws`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lumpable.base import checks
from lumpable.base.checks import IntVector
from lumpable.base.errors import BadArgument
from lumpable.base.words import counted
from lumpable.lumps.laws import averaged, best_arm, interval, now, sizes
from lumpable.lumps.levels import ThreeLevels
from lumpable.lumps.rivals import rivals
from lumpable.lumps.state import KAPPA, M0

LEVEL = 0.9
"""Intervals hold the truth with this probability, unless told otherwise."""
Row = dict[str, Any]
Names = Sequence[Hashable]


def groups(
    learner: ThreeLevels, level: float = LEVEL, *, arm_names: Names | None = None
) -> list[Row]:
    """Return a row for each group: how large it is, its best arm, and how sure both are."""
    level, arm = _level(level), _named("arm_names", arm_names, learner.arms)
    seen, rows = averaged(learner), []
    for g in range(seen.member.shape[1]):
        best, sure = best_arm(seen, g, learner.state.allowed)
        low, high = interval(seen, g, level)
        size = float(seen.member[:, g].sum())
        least, most = sizes(seen.member[:, g], level)
        rows.append({
            "group": g, "size": size, "size_low": least, "size_high": most,
            "share": size / max(1, seen.counts.contexts), "best_arm": arm[best],
            "probability_best": sure, "mean": float(seen.mean[best, g]),
            "low": float(low[best]), "high": float(high[best]),
        })  # fmt: skip
    return rows


def arms(
    learner: ThreeLevels, level: float = LEVEL, *, arm_names: Names | None = None
) -> list[Row]:
    """Return a row for each group and arm; pulls count as much as they tell of the group's mean."""
    level, arm = _level(level), _named("arm_names", arm_names, learner.arms)
    seen, rows = averaged(learner), []
    for g in range(seen.member.shape[1]):
        low, high = interval(seen, g, level)
        rows += [
            {
                "group": g, "arm": arm[j], "pulls": float(seen.pulls[j, g]),
                "mean": float(seen.mean[j, g]), "low": float(low[j]), "high": float(high[j]),
            }
            for j in range(learner.arms)
        ]  # fmt: skip
    return rows


def members(
    learner: ThreeLevels, *, context_names: Names | None = None, arm_names: Names | None = None
) -> list[Row]:
    """Return a row for each context that was seen; without a group while none is identified.

    `deviation` is how far the expected reward of its best arm lies from what its groups, weighted
    by its posterior, expect of that arm.
    """
    arm, seen = _named("arm_names", arm_names, learner.arms), now(learner)
    context = seen.counts.context
    need = int(context[-1]) + 1 if len(context) else 0
    name = _named("context_names", context_names, need)
    expected = learner.posterior_means(context)
    state, known = learner.state, identified(learner)
    best = np.argmax(np.where(state.allowed, expected, -np.inf), axis=1)
    kappa = state.value[KAPPA]
    theta = (state.group_total + kappa * state.centre) / (state.group_pulls + kappa)
    rows = []
    for i, (c, j) in enumerate(zip(context, best, strict=True)):
        posterior, value = seen.member[i], float(expected[i, j])
        rows.append({
            "context": name[int(c)], "group": int(np.argmax(posterior)) if known else None,
            "probability": float(posterior.max()) if known else None,
            "posterior": posterior.tolist(),
            "rewards": int(state.visits[c]), "best_arm": arm[int(j)], "expected_reward": value,
            "deviation": value - float(posterior @ theta[:, j]),
        })  # fmt: skip
    return rows


def identified(learner: ThreeLevels) -> bool:
    """Whether it can be said who is together: there are groups, or all contexts look alike."""
    state = learner.state
    alike = math.isinf(state.value[M0]) and state.loading.shape[1] == 0
    return len(state.group_visits) > 1 or alike


def together(learner: ThreeLevels, a: npt.ArrayLike, b: npt.ArrayLike) -> Any:
    """Return the probability that two contexts are in one group; arrays go pair by pair.

    Averaged over how many groups there may be; NaN while groups are not identified.
    """
    first, second = np.broadcast_arrays(_contexts("a", a, learner), _contexts("b", b, learner))
    if identified(learner):
        others = rivals(learner)
        models = [(1.0 - sum(x.probability for x in others), learner.membership)]
        models += [(rival.probability, rival.fit.membership) for rival in others]
        pairs = first.ravel(), second.ravel()
        each = [p * (of(pairs[0]) * of(pairs[1])).sum(axis=1) for p, of in models]
        found = np.minimum(sum(each), 1.0).reshape(first.shape)
    else:
        found = np.full(first.shape, np.nan)
    found = np.where(first == second, 1.0, found)
    return float(found) if found.ndim == 0 else found


def _contexts(name: str, value: npt.ArrayLike, learner: ThreeLevels) -> IntVector:
    found = np.asarray(value)
    expected = f"contexts, whole numbers in 0 .. {learner.contexts - 1}"
    if found.size and not np.issubdtype(found.dtype, np.integer):
        raise BadArgument(name, expected, repr(value))
    if found.size and not (found.min() >= 0 and found.max() < learner.contexts):
        raise BadArgument(name, expected, f"{found.min()} .. {found.max()}")
    return found.astype(np.int64)


def _level(level: float) -> float:
    below_one = math.nextafter(1.0, 0.0)
    return checks.real("level", level, "a probability in (0, 1)", 0.0, below_one)


def _named(name: str, names: Names | None, need: int) -> Sequence[Hashable]:
    if names is None:
        return range(need)
    if len(names) < need:
        raise BadArgument(name, f"at least {counted(need, 'name')}", f"{len(names)}")
    return names
