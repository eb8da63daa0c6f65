"""Kinds of contexts: whose posteriors over groups are about the same share a table in a batch."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from lumpable.base.arrays import FloatVector, IntVector
from lumpable.learners.engine.clock import GOLDEN, TELLS, Clock, kernel, mixed
from lumpable.lumps.core.state import State

Words = npt.NDArray[np.uint64]
VISIT_BITS = 12
"""Contexts are sorted by their rewards, up to 2^12."""
NEAR = 4
"""Blocks of 2^4 contexts stay together in the order, because they do in memory."""
SCATTER = np.uint64(0x9E3779B97F4A7C15)


@kernel
def weigh_about(row: FloatVector, weight: FloatVector, steps: float) -> float:
    """Put e^row in whole steps of its largest entry into `weight`; return the sum."""
    highest, whole = row[0], 0.0
    for g in range(1, len(row)):
        highest = max(highest, row[g])
    for g in range(len(row)):
        weight[g] = math.floor(steps * math.exp(row[g] - highest) + 0.5)
        whole += weight[g]
    return whole


@kernel
def kind_of(state: State, i: int, steps: float) -> np.uint64:
    """Return a number for the kind of a context: about the same weights of groups.

    With factors each context is of its own kind.
    """
    hashed = np.uint64(0)
    if len(state.factor) > 0:
        hashed = mixed((np.uint64(i) + np.uint64(1)) * GOLDEN)
    if len(state.weight) > 1:
        weigh_about(state.log_weight[i], state.weight, steps)
        for g in range(len(state.weight)):
            hashed = mixed(hashed + np.uint64(state.weight[g]) + GOLDEN)
    return hashed


@kernel
def few_kinds(
    state: State, contexts: IntVector, steps: float, most: int, seen: Words, clock: Clock
) -> bool:
    """Whether there are at most this many kinds; stops at the first that is too many.

    `seen` is room for twice as many or more, a power of two, full of zeros.
    """
    number, last = 0, np.uint64(len(seen) - 1)
    for k in range(len(contexts)):
        kind = max(kind_of(state, contexts[k], steps), np.uint64(1))  # 0 means free
        at = kind & last
        while seen[at] != np.uint64(0) and seen[at] != kind:
            at = (at + np.uint64(1)) & last
        if seen[at] == np.uint64(0):
            seen[at] = kind
            number += 1
            if number > most:
                return False
    return True


@kernel
def sort_keys(
    state: State, contexts: IntVector, steps: float, kind: Words, key: Words, clock: Clock
) -> None:
    """Fill in what kind of context each is, and numbers that sort them as they are asked."""
    S, width = len(state.visits), NEAR
    while 1 << width < S:
        width += 1
    near, far = np.uint64((1 << NEAR) - 1), np.uint64((1 << width - NEAR) - 1)
    half = np.uint64((width - NEAR + 1) // 2)
    most = (1 << VISIT_BITS) - 1
    for k in range(len(contexts)):
        i = contexts[k]
        place, hashed = np.uint64(i), kind_of(state, i, steps)
        turn = clock[TELLS] * GOLDEN
        block = ((place >> np.uint64(NEAR)) * SCATTER + turn) & far  # one to one
        block = ((block ^ (block >> half)) * SCATTER) & far
        place = (block << np.uint64(NEAR)) | ((place ^ (turn >> np.uint64(60))) & near)
        visits = np.uint64(min(state.visits[i], most))
        kind[k] = hashed
        key[k] = (((hashed << np.uint64(VISIT_BITS)) | visits) << np.uint64(width)) | place
