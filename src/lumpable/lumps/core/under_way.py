"""Pulls under way: arms that were decided on and whose rewards have not come.

Each counts as a pull without reward in one group: the one that was likeliest for its context when
it was decided on, until the next fit finds other groups. Knows no learner.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.base.units import Name


class Pull(NamedTuple):
    """An arm that is being played for a context."""

    context: Name
    """By name, as a context has no number before its first reward."""
    arm: int
    propensity: float
    """The probability with which the arm was chosen."""
    group: int
    """Where it counts."""


def likeliest(log_weight: FloatMatrix, share: FloatVector, context: int | None) -> int:
    """Return the likeliest group of a context; None: of an unknown one."""
    weights = (share if context is None else log_weight[context]).tolist()
    return int(weights.index(max(weights)))  # argmax would let another thread run, and wait for it


def count(pulls: Mapping[int, Pull], groups: int, arms: int) -> FloatMatrix:
    """Return the number of pulls under way, groups by arms."""
    cell = np.array([group * arms + arm for _, arm, _, group in pulls.values()], dtype=np.int64)
    pending: FloatMatrix = np.bincount(cell, minlength=groups * arms).astype(np.float64)
    return pending.reshape(groups, arms)


def regroup(
    pulls: Mapping[int, Pull], numbers: Mapping[Name, int], log_weight: FloatMatrix,
    share: FloatVector,
) -> dict[int, Pull]:  # fmt: skip
    """Return the same pulls, each in the group that is likeliest now."""
    if not pulls:
        return {}
    # the last one stands for contexts that are unknown
    group = [*log_weight.argmax(axis=1).tolist(), int(share.argmax())]
    place = numbers.get
    return {
        id: pull if pull.group == (now := group[place(pull.context, -1)])
        else pull._replace(group=now)
        for id, pull in pulls.items()
    }  # fmt: skip
