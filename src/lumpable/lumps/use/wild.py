"""Rewards that are not like the others: worth a warning before they count."""

from __future__ import annotations

import numpy as np

from lumpable.base.arrays import FloatVector
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.state import HIGH, LOW, REAL

MANY = 1000
"""Rewards so far from which on it can be said what is usual."""
FEW = 0.01
"""Rewards beside zeros and ones are a surprise up to this share."""


def surprise(core: Levels, rewards: FloatVector) -> str:
    """Say what is odd about new rewards; nothing if they are like those so far."""
    odd = rewards[(rewards != 0.0) & (rewards != 1.0)]
    seen = core.tells + len(rewards)
    if len(odd) == 0 or seen < MANY:
        return ""
    value = core.state.value
    if value[REAL] == 0.0:
        if len(odd) > FEW * seen:
            return ""
        return (
            f"a reward of {odd[0]:g}, where nearly all of {seen:,} are 0 or 1: it counts in means, "
            "within -3 to 4, and as 0 or 1 in finding groups; rewards='binary' would refuse it"
        )
    beyond = odd[(odd < value[LOW]) | (odd > value[HIGH])]
    if len(beyond) == 0 or core.tells < MANY:
        return ""
    return (
        f"a reward of {beyond[0]:g}, where nearly all others lie far inside {value[LOW]:g} to "
        f"{value[HIGH]:g}: it counts as the nearer end"
    )


def surprising(core: Levels, reward: float) -> str:
    """Say the same of one reward."""
    if reward == 0.0 or reward == 1.0:
        return ""
    return surprise(core, np.array([reward]))
