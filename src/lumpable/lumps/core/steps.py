"""One round: choose by the index; a reward moves its cell, its context and its groups."""

from __future__ import annotations

import math

from lumpable.base.arrays import BoolVector, FloatVector
from lumpable.learners.engine.clock import Clock, kernel, start_choice
from lumpable.learners.engine.draws import largest
from lumpable.lumps.core.index import EDGE, rate, solve_factors, weigh
from lumpable.lumps.core.state import HIGH, KAPPA, LOW, M0, OWN, REAL, State
from lumpable.lumps.model.factors import CLOSE

LEAST_SPREAD = CLOSE * (1.0 - CLOSE)
"""The variance of Bernoulli rewards is at least this where factors learn, as in `factors`."""
TINIEST = 1e-100
"""Rewards closer to 0 than this count as 0: products of their squares would vanish."""


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
    """Whether the next cell or the next real reward may have no place."""
    cells = state.used[0] + 2 * len(state.mean) + 4 > len(state.arm)
    return bool(cells or state.logged[0] == len(state.log_value))


@kernel
def add(state: State, i: int, j: int, reward: float, count: float) -> bool:
    """Add `count` equal rewards; whether they are the first real ones, which changes all."""
    if abs(reward) < TINIEST:
        reward = 0.0
    value = state.value
    c = cell(state, i, j)
    n, real, coin = state.pulls[c], value[REAL] > 0.0, reward == 0.0 or reward == 1.0
    if coin:
        state.ones[c] += count * reward
    else:
        note(state, i, j, reward, count)
    state.pulls[c] = n + count
    state.visits[i] += count
    grade = score(state.knot, state.grade, reward) if real else min(max(reward, 0.0), 1.0)
    kept = min(max(reward, value[LOW]), value[HIGH]) if real else grade
    state.total[c] += count * kept
    learn_groups(state, i, j, n, count, grade, kept)
    return not (coin or real)


@kernel
def note(state: State, i: int, j: int, reward: float, count: float) -> None:
    """Keep a reward that is neither 0 nor 1; there must be room for it."""
    at = state.logged[0]
    state.log_context[at], state.log_arm[at] = i, j
    state.log_value[at], state.log_count[at] = reward, count
    state.logged[0] = at + 1


@kernel
def score(knot: FloatVector, grade: FloatVector, reward: float) -> float:
    """Return the score of a reward, as `Score.of` does."""
    low, high = 0, len(knot) - 1
    if reward <= knot[low]:
        return float(grade[low])
    if reward >= knot[high]:
        return float(grade[high])
    while high - low > 1:
        middle = (low + high) // 2
        if knot[middle] <= reward:
            low = middle
        else:
            high = middle
    part = (reward - knot[low]) / (knot[high] - knot[low])
    return float(grade[low] + part * (grade[high] - grade[low]))


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
            state.ones[at + c] = state.ones[first + c]
            state.total[at + c] = state.total[first + c]
        state.room[i] = max(4, 2 * length)
        state.used[0] = at + state.room[i]
        state.start[i] = first = at
    state.length[i] = length + 1
    c = int(first + length)
    state.arm[c], state.pulls[c], state.ones[c], state.total[c] = j, 0.0, 0.0, 0.0
    return c


@kernel
def information(m0: float, n: float, count: float) -> float:
    """Return how much more a cell tells about its group after `count` coins more than n."""
    if math.isinf(m0):
        return count
    return (1.0 + m0) * ((n + count) / (n + count + m0) - n / (n + m0))


@kernel
def worth_information(own: float, n: float, count: float) -> float:
    """Return the same of `count` real rewards more than n."""
    if math.isinf(own):
        return count
    return own * ((n + count) / (n + count + own) - n / (n + own))


@kernel
def learn_groups(
    state: State, i: int, j: int, n: float, count: float, grade: float, reward: float
) -> None:
    """Move a context's posterior over groups (or its factors), then the groups' sums.

    The cell had n rewards before; `grade` is the score of the new ones.
    """
    value, row = state.value, state.log_weight[i]
    real, kappa, phi = value[REAL] > 0.0, value[KAPPA], state.phi[j]
    d = information(value[M0], n / phi, count / phi)
    if len(row) > 1:
        for g in range(len(row)):
            x = state.group_pulls[g, j] + kappa
            m = (state.group_total[g, j] + kappa * state.centre[j]) / x
            m = min(max(m, EDGE), 1.0 - EDGE)
            row[g] += d * (grade * math.log(m) + (1.0 - grade) * math.log(1.0 - m))
    weigh(state, i)
    left, worth_left, q = grade, reward, len(state.factor)
    if q > 0:
        solve_factors(state, i)
        p = (state.group_total[0, j] + kappa * state.centre[j]) / (state.group_pulls[0, j] + kappa)
        precision = d / max(p * (1.0 - p), LEAST_SPREAD)
        for x in range(q):
            left -= state.loading[j, x] * state.factor[x]
            if real:
                worth_left -= state.worth_loading[j, x] * state.factor[x]
            state.precision_mean[i, x] += precision * (grade - p) * state.loading[j, x]
            for y in range(q):
                state.precision[i, x, y] += precision * state.loading[j, x] * state.loading[j, y]
    more = worth_information(value[OWN], n, count)
    for g in range(len(row)):
        w = state.weight[g]
        state.group_pulls[g, j] += w * d
        state.group_total[g, j] += w * d * left
        state.group_visits[g] += w * count
        if real:
            state.worth_pulls[g, j] += w * more
            state.worth_total[g, j] += w * more * worth_left
