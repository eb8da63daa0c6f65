"""Rewards that are not like the others: worth a warning before they count."""

from __future__ import annotations

import numpy as np

from lumpable.base.arrays import FloatVector
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.state import HIGH, LOW, REAL
from lumpable.lumps.model.scores import fence_of, outer_ends

MANY = 1000
"""Rewards so far from which on it can be said what is usual."""
FEW = 0.01
"""Rewards beside zeros and ones are a surprise up to this share, if ones are more."""


def surprise(core: Levels, rewards: FloatVector) -> str:
    """Say what is odd about new rewards; nothing if they are like those so far."""
    odd = rewards[(rewards != 0.0) & (rewards != 1.0)]
    seen = core.tells + len(rewards)
    if len(odd) == 0 or seen < MANY:
        return ""
    value = core.state.value
    ends = _ends_of_coins(core, rewards, odd)
    if ends is not None:
        low, high = fence_of(*ends)
        whole = ends == (0.0, 1.0) and not 0.0 < odd[0] < 1.0
        scored = "as 0 or 1" if whole else f"from {ends[0]:g} to {ends[1]:g}"
        return (
            f"a reward of {odd[0]:g}, where nearly all of {seen:,} are 0 or 1: it counts in means, "
            f"within {low:g} to {high:g}, and {scored} in finding groups; rewards='binary' would "
            "refuse it"
        )
    if value[REAL] == 0.0:
        return ""
    beyond = odd[(odd < value[LOW]) | (odd > value[HIGH])]
    if len(beyond) == 0 or core.tells < MANY:
        return ""
    return (
        f"a reward of {beyond[0]:g}, where nearly all others lie far inside {value[LOW]:g} to "
        f"{value[HIGH]:g}: it counts as the nearer end"
    )


def _ends_of_coins(
    core: Levels, rewards: FloatVector, odd: FloatVector
) -> tuple[float, float] | None:
    """Return the ends of the scores where zeros and ones are usual; None where they are not.

    Rare amounts beside zeros are usual, too: there are no ones, or fewer. What fits have seen, they
    say; before the first reward that is neither, there is only one way to know how many are ones.
    """
    state, seen = core.state, core.tells + len(rewards)
    if state.logged[0] + len(odd) > FEW * seen:
        return None
    logged = slice(int(state.logged[0]))
    others = np.append(state.log_value[logged], odd)
    times = np.append(state.log_count[logged], np.ones(len(odd)))
    if times.sum() > FEW * seen:
        return None
    if state.value[REAL] > 0.0:
        ends = float(state.knot[0]), float(state.knot[-1])
        return ends if ends == (0.0, 1.0) else None
    ones = float(core.counts().s.sum()) + float((rewards == 1.0).sum())
    if ones <= times.sum():
        return None
    value, place = np.unique(np.append(others, [0.0, 1.0]), return_inverse=True)
    weight = np.bincount(place, np.append(times, [seen - ones - times.sum(), ones]))
    return outer_ends(value[weight > 0.0], weight[weight > 0.0].astype(np.float64))


def surprising(core: Levels, reward: float) -> str:
    """Say the same of one reward."""
    if reward == 0.0 or reward == 1.0:
        return ""
    return surprise(core, np.array([reward]))
