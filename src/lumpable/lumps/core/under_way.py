"""Pulls under way: arms that were decided on and whose rewards have not come.

Each counts as a pull without reward in one group: the one that was likeliest for its context when
it was decided on, until the next fit says anew which groups there are. Knows no learner.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from lumpable.base.checks import FloatMatrix, FloatVector


class Pull(NamedTuple):
    """An arm that is being played for a context."""

    context: int | None
    """None: somebody who has no number yet."""
    arm: int
    group: int
    """Where it counts."""


def likeliest(log_weight: FloatMatrix, share: FloatVector, context: int | None) -> int:
    """Return the likeliest group of a context; of one without a number, that of anybody."""
    return int(np.argmax(share if context is None else log_weight[context]))


def count(pulls: Mapping[int, Pull], groups: int, arms: int) -> FloatMatrix:
    """Return how many pulls are under way, groups by arms."""
    pending = np.zeros((groups, arms))
    for pull in pulls.values():
        pending[pull.group, pull.arm] += 1.0
    return pending


def regroup(
    pulls: Mapping[int, Pull], log_weight: FloatMatrix, share: FloatVector
) -> dict[int, Pull]:
    """Return the same pulls, each in the group that is likeliest now."""
    if not pulls:
        return {}
    group = np.argmax(log_weight, axis=1)
    anybody = int(np.argmax(share))
    return {
        id: pull._replace(group=anybody if pull.context is None else int(group[pull.context]))
        for id, pull in pulls.items()
    }


def without(pulls: Mapping[int, Pull], context: int) -> dict[int, Pull]:
    """Return the pulls of other contexts; numbers after this one move up by one."""
    return {
        id: pull if pull.context is None or pull.context < context
        else pull._replace(context=pull.context - 1)
        for id, pull in pulls.items()
        if pull.context != context
    }  # fmt: skip
