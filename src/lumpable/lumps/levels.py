"""The practical learner, one round at a time: three levels of belief and an index.

Between two fits (see `search`) a reward moves its cell, its context's posterior over groups and the
groups' sums; the strengths stay. An arm's index is the mean of its value plus a multiple of its
standard deviation that grows with ln(N / n): for Bernoulli rewards on the logit scale, whose exact
moments (digamma, trigamma) matter, for real ones on their own. Letters are those of `model`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lumpable import checks
from lumpable.checks import BoolVector, FloatMatrix, FloatVector, IntVector
from lumpable.compiled import Clock, Kernels, kernel, kernel_without_nan
from lumpable.draws import largest
from lumpable.learners.base import Compiled
from lumpable.lumps import search
from lumpable.lumps.arithmetic import invert
from lumpable.lumps.factors import spread as reward_spread
from lumpable.lumps.model import USUAL_OWN_STRENGTH, Counts, Fit

KAPPA, M0, NOISE, REAL, SQUARES = range(5)
"""Places in `value`."""
WIDTH, WIDTH_LOG = 0.2, 0.05
"""The group level is explored with c^2 = WIDTH + WIDTH_LOG ln(1 + N / K) ..."""
OWN_WIDTH = 0.04
"""... and a context's own deviation with this."""
UNLIKELY = 1e-3
"""Groups that a context belongs to with less than this are left out of its index."""
EDGE = 1e-4
"""Means of Bernoulli rewards stay this far from 0 and 1."""
FIRST_FIT, EARLY_GROWTH, GROWTH = 10, 1.5, 1.25
"""Fits come after so many rewards, then whenever these are so many times more: first while contexts
were seen less than EARLY times on average, then later."""
EARLY = 2


class State(NamedTuple):
    """Cells of contexts, beliefs about contexts and groups, and room to calculate."""

    start: IntVector
    """The cells of context i are the length[i] ones from start[i] on, with room for room[i]."""
    length: IntVector
    room: IntVector
    arm: npt.NDArray[np.int32]
    pulls: FloatVector
    total: FloatVector
    used: IntVector
    """Places that are taken."""
    visits: FloatVector
    """Rewards of each context."""
    log_weight: FloatMatrix
    """ln of the posterior over groups of each context, up to a constant, (S, M)."""
    group_pulls: FloatMatrix
    """(M, K), as `Fit.pulls`."""
    group_total: FloatMatrix
    group_visits: FloatVector
    pending: FloatMatrix
    """(M, K): pulls whose reward has not come; they narrow the index and leave the mean."""
    centre: FloatVector
    hold: FloatVector
    value: FloatVector
    """kappa, m0, sigma^2, whether rewards are real, and their squares within cells."""
    loading: FloatMatrix
    """L (K, q)."""
    force: FloatMatrix
    grip: npt.NDArray[np.float64]
    """Each context's factors: precision (S, q, q), and precision times mean (S, q)."""
    allowed: BoolVector
    """Arms that may be chosen now."""
    weight: FloatVector
    mean: FloatVector
    spread: FloatVector
    cover: FloatMatrix
    factor: FloatVector
    score: FloatVector
    due: IntVector


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


@kernel_without_nan
def mix(state: State, real: bool) -> float:
    """Put mean and variance of each arm's group mean into `mean` and `spread`; return N."""
    kappa, noise = state.value[KAPPA], state.value[NOISE]
    mean, spread, centre, hold = state.mean, state.spread, state.centre, state.hold
    mean[:] = 0.0
    spread[:] = 0.0
    N = 0.0
    for g in range(len(state.weight)):
        w = state.weight[g]
        if w < UNLIKELY:
            continue
        N += w * state.group_visits[g]
        pulls, total, pending = state.group_pulls[g], state.group_total[g], state.pending[g]
        for j in range(len(mean)):
            p = centre[j]
            m = (total[j] + kappa * p) / (pulls[j] + kappa)
            x = 1.0 / (pulls[j] + pending[j] + kappa)
            lift = kappa * x
            if real:
                v = noise * (x + lift * lift / hold[j])
            else:
                v = m * (1.0 - m) * x / (1.0 + x) + lift * lift * p * (1.0 - p) / (hold[j] + 1.0)
            mean[j] += w * m
            spread[j] += w * v
    return N


@kernel
def solve_factors(state: State, i: int) -> None:
    """Put mean and covariance of a context's factors into `factor` and `cover`."""
    invert(state.grip[i], state.cover)
    for x in range(len(state.factor)):
        state.factor[x] = 0.0
        for y in range(len(state.factor)):
            state.factor[x] += state.cover[x, y] * state.force[i, y]


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
def index(real: bool, m: float, v: float, u: float, bonus: float) -> float:
    """Return the index of an arm with mean m, variance v + u, and this bonus in its square."""
    if real:
        return m + math.sqrt(2.0 * bonus)
    m = min(max(m, EDGE), 1.0 - EDGE)
    e = max(m * (1.0 - m) / (v + u) - 1.0, 0.5)
    mean, variance = logit_moments(m * e, (1.0 - m) * e)
    return mean + math.sqrt(2.0 * variance * bonus / (v + u))


@kernel
def rate(state: State, i: int) -> None:
    """Put the index of each allowed arm for this context into `score`; others get -infinity."""
    real = state.value[REAL] > 0.0
    weigh(state, i)
    N = mix(state, real)
    m0, noise, score = state.value[M0], state.value[NOISE], state.score
    first, open_arms = state.start[i], 0
    for j in range(len(score)):
        score[j] = -1.0  # where the arm's cell is, before it becomes the index
        open_arms += state.allowed[j]
    for c in range(first, first + state.length[i]):
        score[state.arm[c]] = c
    q = len(state.factor)
    if q > 0:
        solve_factors(state, i)
    c2 = WIDTH + WIDTH_LOG * math.log(1.0 + N / open_arms)
    for j in range(len(score)):
        if not state.allowed[j]:
            score[j] = -math.inf
            continue
        m, v, u, around = state.mean[j], state.spread[j], 0.0, 0.0
        scale = noise if real else m * (1.0 - m)
        bonus = c2 * v * math.log(1.0 + N * v / scale)
        for x in range(q):
            m += state.loading[j, x] * state.factor[x]
            for y in range(q):
                around += state.loading[j, x] * state.loading[j, y] * state.cover[x, y]
        if not math.isinf(m0):
            n, s, c = 0.0, 0.0, int(score[j])
            if c >= 0:
                n, s = state.pulls[c], state.total[c]
            x = m0 + n
            m = (m0 * m + s) / x
            share = (m0 / x) * (m0 / x)
            v, bonus, around = share * v, share * bonus, share * around
            u = noise / x if real else max(m * (1.0 - m), EDGE) / (x + 1.0)
            bonus += OWN_WIDTH * u * math.log(1.0 + state.visits[i] / x)
        bonus += OWN_WIDTH * around
        score[j] = index(real, m, v, u + around, bonus)


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play the arm with the largest index."""
    rate(state, context)
    return largest(state.score, clock)


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
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to its cell, to its context's posterior and to the groups' sums."""
    value, i, j = state.value, context, arm
    c = cell(state, i, j)
    n, s = state.pulls[c], state.total[c]
    before = s / n if n > 0.0 else reward
    value[SQUARES] += (reward - before) * (reward - (s + reward) / (n + 1.0))
    state.pulls[c], state.total[c] = n + 1.0, s + reward
    state.visits[i] += 1.0
    if reward != 0.0 and reward != 1.0 and value[REAL] == 0.0:
        value[REAL] = 1.0
        state.due[0] = 0  # everything looks different now: fit at once
    if state.used[0] + 2 * len(state.mean) + 4 > len(state.arm):
        state.due[0] = 0  # the next cell may have no place
    m0 = value[M0]
    d = 1.0  # how much more the cell now tells about its group
    if not math.isinf(m0):
        each = m0 if value[REAL] > 0.0 else 1.0 + m0
        d = each * ((n + 1.0) / (n + 1.0 + m0) - n / (n + m0))
    learn_groups(state, i, j, d, reward)


@kernel
def learn_groups(state: State, i: int, j: int, d: float, reward: float) -> None:
    """Move a context's posterior over groups (or its factors), then the groups' sums."""
    value, row = state.value, state.log_weight[i]
    real, kappa, noise = value[REAL] > 0.0, value[KAPPA], value[NOISE]
    if len(row) > 1:
        for g in range(len(row)):
            x = state.group_pulls[g, j] + kappa
            m = (state.group_total[g, j] + kappa * state.centre[j]) / x
            if real:
                gap = reward - m
                row[g] -= 0.5 * d * gap * gap / (noise * (1.0 + 1.0 / x))
            else:
                m = min(max(m, EDGE), 1.0 - EDGE)
                row[g] += d * (reward * math.log(m) + (1.0 - reward) * math.log(1.0 - m))
    weigh(state, i)
    left = reward
    q = len(state.factor)
    if q > 0:
        solve_factors(state, i)
        p = (state.group_total[0, j] + kappa * state.centre[j]) / (state.group_pulls[0, j] + kappa)
        precision = d / (noise if real else max(p * (1.0 - p), 0.02))
        for x in range(q):
            left -= state.loading[j, x] * state.factor[x]
            state.force[i, x] += precision * (reward - p) * state.loading[j, x]
            for y in range(q):
                state.grip[i, x, y] += precision * state.loading[j, x] * state.loading[j, y]
    for g in range(len(row)):
        w = state.weight[g]
        state.group_pulls[g, j] += w * d
        state.group_total[g, j] += w * d * left
        state.group_visits[g] += w


class ThreeLevels(Compiled):
    """Learn what works for all, for groups and for each context, as far as the evidence goes.

    Nothing to set: the number of groups, how alike their contexts are, the noise and whether there
    are groups at all are fitted at geometric times. Ahead of every relative at 30 to 1,000 rounds
    for each context; `lumpable.Lumps` is the same with names, for live use.

    >>> learner = ThreeLevels(contexts=3, arms=2, seed=1)
    >>> for context in (0, 1, 2, 0, 1, 2):
    ...     learner.tell(context, learner.ask(context), 1.0)
    >>> learner.policy().shape
    (3,)
    """

    kernels = Kernels(choose, update)

    def __init__(self, contexts: int, arms: int, *, seed: int = 0) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        self.fit: Fit | None = None
        """The last fit; None before the first."""
        self.next_fit = FIRST_FIT
        super().__init__(S, K, seed, _blank(S, K))

    def counts(self) -> Counts:
        """Return all that was seen."""
        state = self.state
        context = np.flatnonzero(state.length)
        length = state.length[context]
        first = np.concatenate([[0], np.cumsum(length)])
        row = np.repeat(np.arange(len(context)), length)
        at = np.arange(first[-1]) - first[row] + state.start[context][row]
        at = at[np.argsort(row * self.arms + state.arm[at])]
        return Counts(
            context, first, state.arm[at].astype(np.int64), state.pulls[at], state.total[at],
            self.arms, bool(state.value[REAL]), float(state.value[SQUARES]),
        )  # fmt: skip

    def refit(self) -> None:
        """Make room for more cells; fit anew if it is time, or if rewards turned out to be real."""
        self._make_room()
        turned = self.state.value[REAL] > 0.0 and (self.fit is None or not self.fit.real)
        if self.tells >= self.next_fit or turned:
            self.adopt(search.fit(self.counts(), self.fit))
        self.state.due[0] = self.next_fit
        self._connect()

    def _make_room(self) -> None:
        state, places = self.state, len(self.state.arm)
        if state.used[0] + 2 * self.arms + 4 > places:
            more = np.zeros(places + 2 * self.arms + 4)
            self.state = state._replace(
                arm=np.concatenate([state.arm, more.astype(np.int32)]),
                pulls=np.concatenate([state.pulls, more]),
                total=np.concatenate([state.total, more]),
            )

    def adopt(self, fit: Fit) -> None:
        """Go on from a fit of what was seen."""
        state, S = self.state, self.contexts
        early = self.tells < EARLY * len(fit.context)
        growth = EARLY_GROWTH if early else GROWTH
        self.fit = fit
        self.next_fit = max(self.tells + 1, math.ceil(growth * self.tells))
        state.value[[KAPPA, M0, NOISE]] = fit.kappa, fit.m0, fit.noise
        log_weight = np.tile(fit.share, (S, 1))
        log_weight[fit.context] = np.log(np.maximum(fit.member, 1e-300))
        visits = state.visits[fit.context] @ fit.member
        self.state = state._replace(
            log_weight=log_weight,
            group_pulls=np.ascontiguousarray(fit.pulls.T),
            group_total=np.ascontiguousarray(fit.totals.T),
            group_visits=visits,
            pending=np.zeros((fit.groups, self.arms)),
            centre=fit.centre.copy(),
            hold=fit.hold.copy(),
            weight=np.ones(fit.groups),
            **self._factors(fit),
        )

    def _factors(self, fit: Fit) -> dict[str, Any]:
        """Return what each context's cells say about its factors."""
        counts, q, S = self.counts(), fit.rank, self.contexts
        force, grip = np.zeros((S, q)), np.tile(np.eye(q), (S, 1, 1))
        if q > 0:
            row = np.repeat(counts.context, np.diff(counts.first))
            p, L = fit.means[:, 0], fit.loading[counts.arm]
            precision = counts.weight(fit.m0) / reward_spread(counts.real, p, fit.noise)[counts.arm]
            gap = precision * (counts.s - counts.n * p[counts.arm])
            np.add.at(force, row, gap[:, None] * L)
            outer = L[:, :, None] * L[:, None, :]
            np.add.at(grip, row, (precision * counts.n)[:, None, None] * outer)
        loading = np.ascontiguousarray(fit.loading)
        room = {"cover": np.zeros((q, q)), "factor": np.zeros(q)}
        return {"loading": loading, "force": force, "grip": grip, **room}

    def posterior_means(self, contexts: IntVector) -> FloatMatrix:
        """Return the mean reward of every arm for these contexts, as believed now."""
        state = self.state
        kappa, m0 = state.value[KAPPA], state.value[M0]
        theta = (state.group_total + kappa * state.centre) / (state.group_pulls + kappa)
        mean: FloatMatrix = self.membership(contexts) @ theta
        if state.loading.shape[1] > 0:
            factor = np.linalg.solve(state.grip[contexts], state.force[contexts][:, :, None])
            mean = mean + factor[:, :, 0] @ state.loading.T
        if not math.isinf(m0):
            for row, i in enumerate(contexts):
                cells = slice(state.start[i], state.start[i] + state.length[i])
                arm, n, s = state.arm[cells], state.pulls[cells], state.total[cells]
                mean[row, arm] = (m0 * mean[row, arm] + s) / (m0 + n)
        return mean

    def membership(self, contexts: IntVector) -> FloatMatrix:
        """Return the posterior over groups of these contexts, as believed now."""
        row = self.state.log_weight[contexts]
        weight = np.exp(row - row.max(axis=1, keepdims=True))
        member: FloatMatrix = weight / weight.sum(axis=1, keepdims=True)
        return member

    def policy(self) -> IntVector:
        """Return each context's arm with the largest posterior mean."""
        best = np.empty(self.contexts, dtype=np.int64)
        for rows in np.array_split(
            np.arange(self.contexts), 1 + self.contexts * self.arms // 10**7
        ):
            best[rows] = np.argmax(self.posterior_means(rows), axis=1)
        return best

    def labels(self) -> IntVector:
        """Return the likeliest group of each context."""
        label: IntVector = np.argmax(self.state.log_weight, axis=1)
        return label


def _blank(S: int, K: int) -> State:
    """Return the state of a learner that was told nothing."""
    places = 4 * S + 2 * K + 4
    value = np.zeros(5)
    value[[KAPPA, M0, NOISE]] = 2.0, USUAL_OWN_STRENGTH, 1.0
    return State(
        start=np.zeros(S, dtype=np.int64), length=np.zeros(S, dtype=np.int64),
        room=np.zeros(S, dtype=np.int64), arm=np.zeros(places, dtype=np.int32),
        pulls=np.zeros(places), total=np.zeros(places), used=np.zeros(1, dtype=np.int64),
        visits=np.zeros(S), log_weight=np.zeros((S, 1)), group_pulls=np.zeros((1, K)),
        group_total=np.zeros((1, K)), group_visits=np.zeros(1), pending=np.zeros((1, K)),
        centre=np.full(K, 0.5), hold=np.full(K, np.inf), value=value, loading=np.zeros((K, 0)),
        force=np.zeros((S, 0)), grip=np.zeros((S, 0, 0)), allowed=np.ones(K, dtype=np.bool_),
        weight=np.ones(1), mean=np.zeros(K), spread=np.zeros(K), cover=np.zeros((0, 0)),
        factor=np.zeros(0), score=np.zeros(K), due=np.array([FIRST_FIT]),
    )  # fmt: skip
