"""One round: choose by the index; a reward moves its cell, its context and its groups."""

from __future__ import annotations

import math

from lumpable.base.arrays import BoolVector, FloatVector
from lumpable.learners.engine.clock import Clock, kernel, start_choice
from lumpable.learners.engine.draws import largest
from lumpable.lumps.core.index import EDGE, rate, solve_factors, weigh
from lumpable.lumps.core.state import KAPPA, M0, NOISE, REAL, SQUARES, State
from lumpable.lumps.model.factors import CLOSE

LEAST_SPREAD = CLOSE * (1.0 - CLOSE)
"""The variance of Bernoulli rewards is at least this where factors learn, as in `factors`."""


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play the arm with the largest index."""
    rate(state, context, state.allowed)
    return largest(state.score, clock)


@kernel
def choose_among(state: State, context: int, allowed: BoolVector, clock: Clock) -> int:
    """Play the one of these arms with the largest index."""
    start_choice(clock, context)
    rate(state, context, allowed)
    return largest(state.score, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward; where something must be done that a round cannot do, a refit is due at once."""
    if add(state, context, arm, reward, 1.0) or full(state):
        state.due[0] = 0


@kernel
def full(state: State) -> bool:
    """Whether the next cell may have no place."""
    return bool(state.used[0] + 2 * len(state.mean) + 4 > len(state.arm))


@kernel
def add(state: State, i: int, j: int, reward: float, count: float) -> bool:
    """Add `count` equal rewards; whether rewards turned out to be real, which changes all."""
    value = state.value
    c = cell(state, i, j)
    n, s = state.pulls[c], state.total[c]
    before = s / n if n > 0.0 else reward
    after = (s + count * reward) / (n + count)
    value[SQUARES] += count * (reward - before) * (reward - after)
    state.pulls[c], state.total[c] = n + count, s + count * reward
    state.visits[i] += count
    turned = reward != 0.0 and reward != 1.0 and value[REAL] == 0.0
    if turned:
        value[REAL] = 1.0
    learn_groups(state, i, j, information(value, n, count), reward, count)
    return turned


@kernel
def cell(state: State, i: int, j: int) -> int:
    """Return the place of the cell of a context and an arm; make one if there is none yet."""
    first, length = state.start[i], state.length[i]
    for c in range(first, first + length):
        if state.arm[c] == j:
            return c
    if length == state.room[i]:  # move the row to where there is room for twice as many
        at = state.used[0]
        for c in range(length):
            state.arm[at + c] = state.arm[first + c]
            state.pulls[at + c] = state.pulls[first + c]
            state.total[at + c] = state.total[first + c]
        state.room[i] = max(4, 2 * length)
        state.used[0] = at + state.room[i]
        state.start[i] = first = at
    state.length[i] = length + 1
    c = int(first + length)
    state.arm[c], state.pulls[c], state.total[c] = j, 0.0, 0.0
    return c


@kernel
def information(value: FloatVector, n: float, count: float) -> float:
    """Return how much more a cell tells about its group after `count` rewards more than n."""
    m0 = value[M0]
    if math.isinf(m0):
        return count
    each = float(m0) if value[REAL] > 0.0 else 1.0 + m0
    more: float = each * ((n + count) / (n + count + m0) - n / (n + m0))
    return more


@kernel
def learn_groups(state: State, i: int, j: int, d: float, reward: float, count: float) -> None:
    """Move a context's posterior over groups (or its factors), then the groups' sums."""
    value, row = state.value, state.log_weight[i]
    real, kappa, noise = value[REAL] > 0.0, value[KAPPA], value[NOISE]
    if len(row) > 1:
        for g in range(len(row)):
            x = state.group_pulls[g, j] + kappa
            m = (state.group_total[g, j] + kappa * state.centre[j]) / x
            if real:
                gap = reward - m
                wider = 1.0 + 1.0 / x
                row[g] -= 0.5 * d * (gap * gap / (noise * wider) + math.log(wider))
            else:
                m = min(max(m, EDGE), 1.0 - EDGE)
                row[g] += d * (reward * math.log(m) + (1.0 - reward) * math.log(1.0 - m))
    weigh(state, i)
    left, q = reward, len(state.factor)
    if q > 0:
        solve_factors(state, i)
        p = (state.group_total[0, j] + kappa * state.centre[j]) / (state.group_pulls[0, j] + kappa)
        precision = d / (noise if real else max(p * (1.0 - p), LEAST_SPREAD))
        for x in range(q):
            left -= state.loading[j, x] * state.factor[x]
            state.precision_mean[i, x] += precision * (reward - p) * state.loading[j, x]
            for y in range(q):
                state.precision[i, x, y] += precision * state.loading[j, x] * state.loading[j, y]
    for g in range(len(row)):
        w = state.weight[g]
        state.group_pulls[g, j] += w * d
        state.group_total[g, j] += w * d * left
        state.group_visits[g] += w * count
