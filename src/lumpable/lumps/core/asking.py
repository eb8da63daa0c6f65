"""Many choices before any reward, compiled: tables of indices and a tree of maxima.

Contexts of one kind (see `kinds`) share a table, kept as a tree of maxima; each context puts its
own cells in their place and takes them out again. Each choice counts for those after it as a pull
whose reward has not come. Letters are those of `model.counts`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from lumpable.base.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine.clock import Clock, kernel, kernel_without_nan, start_choice
from lumpable.learners.engine.draws import bits
from lumpable.lumps.core.index import (
    UNLIKELY,
    away,
    believed,
    between,
    effects,
    mix,
    parts,
    solve_factors,
)
from lumpable.lumps.core.kinds import Words, weigh_about
from lumpable.lumps.core.state import M0, OWN, REAL, State
from lumpable.lumps.core.steps import information, worth_information
from lumpable.lumps.core.widths import eagerness, group_width, upper

STALE = 1.05
"""A table is made anew when N has grown by this factor."""
LEVEL, SQUARE, OWN_SQUARE = range(3)
"""Rows of a table: the index of an arm without a cell is upper(LEVEL, SQUARE, OWN_SQUARE L_u)."""
ROUNDS, C2, LOG = range(3)
"""Places in `now`: N and c^2 of contexts of this kind, and L_u of an arm without a cell."""


@kernel
def ask_in_turn(
    state: State, contexts: IntVector, kind: Words, order: IntVector, steps: float,
    allowed: BoolVector, arms: IntVector, clock: Clock,
) -> None:  # fmt: skip
    """Choose for one context after the other; each choice counts for those after it.

    It counts in the pulls under way and visits of the state, so these must be copies.
    """
    K, alike = len(state.mean), math.isinf(state.value[OWN])
    table, tree, now = np.empty((3, K)), np.empty(2 * K), np.empty(3)
    own = np.zeros(K)  # pulls that the context made in this batch, and the arms of these pulls
    tried, number = np.empty(K, dtype=np.int64), 0
    last, seen = -1, -1.0
    for at in range(len(order)):
        i = contexts[order[at]]
        if i != last:
            for x in range(number):
                own[tried[x]] = 0.0
            number = 0
        anew = last < 0 or kind[order[at]] != kind[order[at - 1]]
        anew = anew or rounds(state.weight, state.group_visits) > STALE * now[ROUNDS]
        if anew:
            prepare(state, i, steps, allowed, now, table)
        if anew or (state.visits[i] != seen and not alike):
            seen = state.visits[i]
            now[LOG] = eagerness(state.value, seen, state.value[OWN])
            grow(state.value, table, now[LOG], tree)
        last = i
        start_choice(clock, i)
        if not alike:
            put_own(state, i, allowed, now, tree, own, tried[:number])
        j = top(tree, clock)
        if not alike:
            cells = slice(state.start[i], state.start[i] + state.length[i])
            take_out(state.value, state.arm[cells], now[LOG], table, tree)
            take_out(state.value, tried[:number], now[LOG], table, tree)
        arms[order[at]] = j
        if own[j] == 0.0:
            tried[number] = j
            number += 1
        expect(state, i, j, now, table, own)
        put(tree, j, untried(state.value, table, j, now[LOG]))


@kernel
def rounds(weight: FloatVector, visits: FloatVector) -> float:
    """Return N for contexts with these weights of groups, as `mix` does."""
    N = 0.0
    for g in range(len(weight)):
        N += weight[g] * visits[g]
    return N


@kernel
def prepare(
    state: State, i: int, steps: float, allowed: BoolVector, now: FloatVector, table: FloatMatrix
) -> None:
    """Fill in the table of contexts like this one, whose weights of groups stay in `weight`."""
    whole = weigh_about(state.log_weight[i], state.weight, steps)
    for g in range(len(state.weight)):
        state.weight[g] /= whole
    now[ROUNDS] = mix(state)
    now[C2] = group_width(state, now[ROUNDS], allowed.sum())
    if len(state.factor) > 0:
        solve_factors(state, i)
    enter(state, allowed, now, table)


@kernel
def put_own(
    state: State, i: int, allowed: BoolVector, now: FloatVector, tree: FloatVector,
    own: FloatVector, tried: IntVector,
) -> None:  # fmt: skip
    """Put in the indices of arms that a context pulled itself, before or in this batch."""
    first, length, visits, m0 = state.start[i], state.length[i], state.visits[i], state.value[OWN]
    for k in range(len(tried) + length):
        n, s = 0.0, 0.0
        if k < len(tried):
            j = tried[k]
        else:
            c = first + k - len(tried)  # a cell comes later and counts
            j, n, s = int(state.arm[c]), state.pulls[c], state.total[c]
        if allowed[j]:
            shift, around = away(effects(state), state.factor, state.cover, j)
            belief = state.mean[j], state.spread[j], state.scale[j], shift, around
            a, b, c_own = parts(state.value, now[ROUNDS], now[C2], belief, n, s, own[j])
            L = eagerness(state.value, visits, m0 + n + own[j])
            put(tree, j, upper(state.value, a, b, c_own * L))


@kernel
def take_out(
    value: FloatVector, arms: npt.NDArray[np.integer], L: float, table: FloatMatrix,
    tree: FloatVector,
) -> None:  # fmt: skip
    """Put back the indices that these arms have without a cell."""
    for j in arms:
        put(tree, j, untried(value, table, j, L))


@kernel
def expect(
    state: State, i: int, j: int, now: FloatVector, table: FloatMatrix, own: FloatVector
) -> None:
    """Count a pull whose reward is to come, as much as `update` will make of it.

    The belief in its arm, and the column of the table, are those after it.
    """
    n = own[j]
    for c in range(state.start[i], state.start[i] + state.length[i]):
        if state.arm[c] == j:
            n += state.pulls[c]
    real, centre = state.value[REAL] > 0.0, state.centre[j]
    d = information(state.value[M0], n, 1.0)
    if real:
        centre, d = state.worth_centre[j], worth_information(state.value[OWN], n, 1.0)
    own[j] += 1.0
    m_all, v_all, scale, square, kept = 0.0, 0.0, 0.0, 0.0, 0.0
    for g in range(len(state.weight)):
        w = state.weight[g]
        state.pending[g, j] += w * d
        state.group_visits[g] += w
        if w >= UNLIKELY:
            m, v, noise = believed(state, g, j)
            m_all += w * m
            v_all += w * v
            scale += w * noise
            square += w * (m - centre) * (m - centre)
            kept += w
    m_all, v_all = m_all / kept, v_all / kept
    v_all += between(square / kept, m_all - centre)
    scale = scale / kept if real else m_all * (1.0 - m_all)
    state.mean[j], state.spread[j], state.scale[j] = m_all, v_all, scale
    shift, around = away(effects(state), state.factor, state.cover, j)
    belief = m_all, v_all, scale, shift, around
    level, square, own_square = parts(state.value, now[ROUNDS], now[C2], belief, 0.0, 0.0, 0.0)
    table[LEVEL, j], table[SQUARE, j], table[OWN_SQUARE, j] = level, square, own_square


@kernel
def enter(state: State, allowed: BoolVector, now: FloatVector, table: FloatMatrix) -> None:
    """Write the table: the index of each arm without a cell."""
    loading, factor, cover, value = effects(state), state.factor, state.cover, state.value
    for j in range(len(state.mean)):
        level, square, own = -math.inf, 0.0, 0.0
        if allowed[j]:
            shift, around = away(loading, factor, cover, j)
            belief = state.mean[j], state.spread[j], state.scale[j], shift, around
            level, square, own = parts(value, now[ROUNDS], now[C2], belief, 0.0, 0.0, 0.0)
        table[LEVEL, j], table[SQUARE, j], table[OWN_SQUARE, j] = level, square, own


# --- A tree of maxima: tree[1] is the largest, tree[k] of tree[2 k] and tree[2 k + 1], and the
# --- value of arm j is at K + j


@kernel
def untried(value: FloatVector, table: FloatMatrix, j: int, L: float) -> float:
    """Return the index of an arm without a cell."""
    return upper(value, table[LEVEL, j], table[SQUARE, j], table[OWN_SQUARE, j] * L)


@kernel_without_nan
def grow(value: FloatVector, table: FloatMatrix, L: float, tree: FloatVector) -> None:
    """Fill in the whole tree."""
    K = table.shape[1]
    for j in range(K):
        tree[K + j] = untried(value, table, j, L)
    for at in range(K - 1, 0, -1):
        tree[at] = max(tree[2 * at], tree[2 * at + 1])


@kernel
def put(tree: FloatVector, j: int, value: float) -> None:
    """Change one leaf, and what is above it as far as it changes."""
    at = len(tree) // 2 + j
    tree[at] = value
    while at > 1:
        at //= 2
        larger = max(tree[2 * at], tree[2 * at + 1])
        if tree[at] == larger:
            return
        tree[at] = larger


@kernel
def top(tree: FloatVector, clock: Clock) -> int:
    """Return an arm with the largest value; where two sides are equal, a coin decides."""
    K, at, coins = len(tree) // 2, 1, bits(clock)
    while at < K:
        at *= 2
        if tree[at] < tree[at + 1] or (tree[at] == tree[at + 1] and coins & np.uint64(1)):
            at += 1
        coins >>= np.uint64(1)
    return at - K
