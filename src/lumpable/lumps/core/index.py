"""What an arm is worth to a context now, and how much trying it is worth: the index.

An arm's index is the mean of its value plus a multiple of its standard deviation that grows with
ln(N / n): for Bernoulli rewards on the logit scale, whose exact moments (digamma, trigamma) matter,
for real ones on their own. Letters are those of `model.counts`. Reads the state; writes only the
room to calculate in it.
"""

from __future__ import annotations

import math

from lumpable.base.arrays import BoolVector, FloatMatrix, FloatVector
from lumpable.learners.engine.clock import kernel, kernel_without_nan
from lumpable.lumps.core.state import AROUND, BETWEEN, FLOOR, KAPPA, OWN, REAL, RISE, State
from lumpable.lumps.core.widths import eagerness, group_width, upper
from lumpable.lumps.model.directions import invert
from lumpable.lumps.model.ends import RARELY

OWN_WIDTH = 0.04
"""A context's own deviation is explored with this if rewards are coins (else see `widths`)."""
TELLING = 0.2
"""This part of the variance between a context's likely groups counts as spread of an arm's value:
trying it tells which group it is."""
UNLIKELY = 1e-3
"""Groups that a context belongs to with less than this are left out of its index."""
LARGEST = 50.0
"""Odds of the high value are at most the exponential of this."""
EDGE = 1e-12
"""Means of Bernoulli rewards stay this far from 0 and 1."""
LEAST = 0.1
"""The parameters of the Beta law of an arm's value are at least this, or its logit could be
anything."""


@kernel
def weigh(state: State, i: int) -> None:
    """Put the posterior over groups of a context into `weight`."""
    row, weight = state.log_weight[i], state.weight
    top = row[0]
    for g in range(1, len(row)):
        top = max(top, row[g])
    whole = 0.0
    for g in range(len(row)):
        weight[g] = math.exp(row[g] - top)
        whole += weight[g]
    for g in range(len(row)):
        weight[g] /= whole


@kernel
def group_belief(
    value: FloatVector, p: float, prior_weight: float, pulls: float, total: float, pending: float
) -> tuple[float, float]:
    """Return mean and variance of an arm's mean in a group, of coins."""
    kappa = value[KAPPA]
    m = (total + kappa * p) / (pulls + kappa)
    x = 1.0 / (pulls + pending + kappa)
    lift = kappa * x
    m = min(max(m, EDGE), 1.0 - EDGE)  # totals are net of what factors explain
    return m, m * (1.0 - m) * x / (1.0 + x) + lift * lift * p * (1.0 - p) / (prior_weight + 1.0)


@kernel
def worth_belief(
    between: float, p: float, hold: float, noise: float, pulls: float, total: float, pending: float
) -> tuple[float, float]:
    """Return the same of real rewards."""
    kappa = noise / between
    m = (total + kappa * p) / (pulls + kappa)
    x = 1.0 / (pulls + pending + kappa)
    lift = kappa * x
    return m, noise * x + lift * lift / hold


@kernel
def believed(state: State, g: int, j: int) -> tuple[float, float, float]:
    """Return mean and variance of an arm's mean in a group, and the variance of a real reward."""
    if state.value[REAL] > 0.0:
        noise = state.noise[g, j]
        m, v = worth_belief(
            state.value[BETWEEN], state.worth_centre[j], state.hold[j], noise,
            state.worth_pulls[g, j], state.worth_total[g, j], state.pending[g, j],
        )  # fmt: skip
        return m, v, noise
    m, v = group_belief(
        state.value, state.centre[j], state.prior_weight[j], state.group_pulls[g, j],
        state.group_total[g, j], state.pending[g, j],
    )  # fmt: skip
    return m, v, 0.0


@kernel
def between(square: float, shift: float) -> float:
    """Return what the variance between groups adds, by their mean square and mean of any origin."""
    return TELLING * max(square - shift * shift, 0.0)


@kernel
def mix(state: State) -> float:
    """Put each arm's group mean and how unsure it is into `mean` and `spread`; return N.

    Unsure is what is not known of the groups' means, and a part of how the likely groups differ.
    `scale` is the variance of a single reward.
    """
    if state.value[REAL] > 0.0:
        return mix_worth(state)
    return mix_coins(state)


@kernel_without_nan
def mix_coins(state: State) -> float:
    """Mix the groups of coins."""
    value, mean, spread, centre, prior_weight = (
        state.value, state.mean, state.spread, state.centre, state.prior_weight,
    )  # fmt: skip
    around = state.score  # squares around the centre, before it holds the index
    for j in range(len(mean)):  # loops: whole slices take longer to compile
        mean[j], spread[j], around[j] = 0.0, 0.0, 0.0
    N, kept = 0.0, 0.0
    for g in range(len(state.weight)):
        w = state.weight[g]
        if w < UNLIKELY:
            continue
        kept += w
        N += w * state.group_visits[g]
        pulls, total, pending = state.group_pulls[g], state.group_total[g], state.pending[g]
        for j in range(len(mean)):
            m, v = group_belief(value, centre[j], prior_weight[j], pulls[j], total[j], pending[j])
            mean[j] += w * m
            spread[j] += w * v
            around[j] += w * (m - centre[j]) * (m - centre[j])
    for j in range(len(mean)):
        mean[j] /= kept
        spread[j] = spread[j] / kept + between(around[j] / kept, mean[j] - centre[j])
        state.scale[j] = mean[j] * (1.0 - mean[j])
    return N / kept


@kernel_without_nan
def mix_worth(state: State) -> float:
    """Mix the groups of real rewards."""
    mean, spread, scale, centre, hold = (
        state.mean, state.spread, state.scale, state.worth_centre, state.hold,
    )  # fmt: skip
    around, tau2 = state.score, state.value[BETWEEN]
    for j in range(len(mean)):
        mean[j], spread[j], scale[j], around[j] = 0.0, 0.0, 0.0, 0.0
    N, kept = 0.0, 0.0
    for g in range(len(state.weight)):
        w = state.weight[g]
        if w < UNLIKELY:
            continue
        kept += w
        N += w * state.group_visits[g]
        pulls, total, pending = state.worth_pulls[g], state.worth_total[g], state.pending[g]
        noise = state.noise[g]
        for j in range(len(mean)):
            m, v = worth_belief(tau2, centre[j], hold[j], noise[j], pulls[j], total[j], pending[j])
            mean[j] += w * m
            spread[j] += w * v
            scale[j] += w * noise[j]
            around[j] += w * (m - centre[j]) * (m - centre[j])
    for j in range(len(mean)):
        mean[j] /= kept
        scale[j] /= kept
        spread[j] = spread[j] / kept + between(around[j] / kept, mean[j] - centre[j])
    return N / kept


@kernel
def solve_factors(state: State, i: int) -> None:
    """Put mean and covariance of a context's factors into `factor` and `cover`."""
    invert(state.precision[i], state.cover)
    for x in range(len(state.factor)):
        state.factor[x] = 0.0
        for y in range(len(state.factor)):
            state.factor[x] += state.cover[x, y] * state.precision_mean[i, y]


@kernel
def away(
    loading: FloatMatrix, factor: FloatVector, cover: FloatMatrix, j: int
) -> tuple[float, float]:
    """Return mean and variance of what a context's factors add to an arm."""
    shift, around = 0.0, 0.0
    for x in range(len(factor)):
        shift += loading[j, x] * factor[x]
        for y in range(len(factor)):
            around += loading[j, x] * loading[j, y] * cover[x, y]
    return shift, around


@kernel
def logit_moments(a: float, b: float) -> tuple[float, float]:
    """Return mean and variance of the logit of Beta(a, b)."""
    mean, variance = 0.0, 0.0
    while a < 3.0:
        mean -= 1.0 / a
        variance += 1.0 / (a * a)
        a += 1.0
    while b < 3.0:
        mean += 1.0 / b
        variance += 1.0 / (b * b)
        b += 1.0
    x, y = 1.0 / a, 1.0 / b
    xx, yy = x * x, y * y
    mean += math.log(a * y) - 0.5 * (x - y)
    mean -= xx * (1.0 / 12.0 - xx * (1.0 / 120.0 - xx / 252.0))
    mean += yy * (1.0 / 12.0 - yy * (1.0 / 120.0 - yy / 252.0))
    variance += x * (1.0 + 0.5 * x + xx * (1.0 / 6.0 - xx * (1.0 / 30.0 - xx / 42.0)))
    variance += y * (1.0 + 0.5 * y + yy * (1.0 / 6.0 - yy * (1.0 / 30.0 - yy / 42.0)))
    return mean, variance


@kernel
def two_valued(
    value: FloatVector, m: float, width: float, scale: float, n: float, s: float, ahead: float
) -> tuple[float, float, float]:
    """Return the parts of an index where a context's own mean is about one of two values.

    That is the mean if it is the lower one, what it is more if it is the other, and the odds of
    that. The group's mean, as high as its width says, tells how often arms are good.
    """
    low, rise, around = value[FLOOR], value[RISE], value[AROUND]
    part = min(max((m + width - low) / rise, RARELY), 1.0 - RARELY)
    odds, strength = math.log(part / (1.0 - part)), scale / around
    below = (strength * low + s) / (strength + n)
    if n > 0.0:
        odds += rise * (s / n - low - 0.5 * rise) / (around + scale / n)
    more = strength * rise / (strength + n)
    return below, more, math.exp(min(odds, LARGEST)) / (1.0 + ahead)


@kernel
def parts(
    value: FloatVector, N: float, c2: float, belief: tuple[float, float, float, float, float],
    n: float, s: float, ahead: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Return a, b, c: the index of an arm is upper(a, b, c L_u), L_u = eagerness(n_i, x).

    The context has n rewards of its own of total s, `ahead` more are still to come, and x = m0 + n
    + ahead. The belief is mean and variance of the group's mean, the variance of a single reward,
    and what `away` adds.
    """
    real, m0 = value[REAL] > 0.0, value[OWN]
    m, v, scale, shift, around = belief
    bonus = c2 * v * math.log(1.0 + N * v / scale)
    if value[RISE] > 0.0:
        return two_valued(value, m + shift, math.sqrt(2.0 * bonus), scale, n, s, ahead)
    m, u = m + shift, 0.0
    if not math.isinf(m0):
        m = (m0 * m + s) / (m0 + n)
        known = m0 + n + ahead
        share = (m0 / known) * (m0 / known)
        v, bonus, around = share * v, share * bonus, share * around
        u = scale / known if real else max(m * (1.0 - m), EDGE) / (known + 1.0)
    bonus += OWN_WIDTH * around
    if real:
        return m, 2.0 * bonus, u
    m, whole = min(max(m, EDGE), 1.0 - EDGE), v + u + around
    e = max(m * (1.0 - m) / whole - 1.0, 0.5)
    mean, variance = logit_moments(max(m * e, LEAST), max((1.0 - m) * e, LEAST))
    scale = 2.0 * variance / whole
    return mean, scale * bonus, scale * OWN_WIDTH * u


@kernel
def effects(state: State) -> FloatMatrix:
    """Return what a context's factors add to each arm, in rewards."""
    return state.worth_loading if state.value[REAL] > 0.0 else state.loading


@kernel
def rate(state: State, i: int, allowed: BoolVector) -> None:
    """Put the index of each allowed arm for this context into `score`; others get -infinity."""
    weigh(state, i)
    N = mix(state)
    value, score, m0, visits = state.value, state.score, state.value[OWN], state.visits[i]
    loading, factor, cover = effects(state), state.factor, state.cover
    first, arms = state.start[i], 0
    for j in range(len(score)):
        score[j] = -1.0  # where the arm's cell is, before it becomes the index
        arms += allowed[j]
    for c in range(first, first + state.length[i]):
        score[state.arm[c]] = c
    if len(state.factor) > 0:
        solve_factors(state, i)
    c2, untried = group_width(state, N, arms), eagerness(value, visits, m0)
    for j in range(len(score)):
        if not allowed[j]:
            score[j] = -math.inf
            continue
        n, s, L, at = 0.0, 0.0, untried, int(score[j])
        if at >= 0:
            n, s = state.pulls[at], state.total[at]
            L = eagerness(value, visits, m0 + n)
        shift, around = away(loading, factor, cover, j)  # a whole state costs too much to hand over
        belief = state.mean[j], state.spread[j], state.scale[j], shift, around
        a, b, c_own = parts(value, N, c2, belief, n, s, 0.0)
        score[j] = upper(value, a, b, c_own * L)
