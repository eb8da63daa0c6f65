"""Empirical Bayes with factors: after Rubin and Thayer, "EM algorithms for ML ...", 1982.

The model is that of factor analysis ("EM algorithms for ML factor analysis", Psychometrika 47),
with a level for each context; the bandit on it is ours. All contexts' rewards say which arms go
together: the means of a context over the arms are normal,

    mu_i ~ N(m, L L' + lambda^2 1 1' + D),   y ~ N(mu_ij, v_j),

L (K, rank), D diagonal, and v_j one sigma^2 for all arms or, as long as all rewards are 0 or 1, the
variance of arm j, p (1 - p). All of these are fitted by `fitting.factor_analysis`, whose letters
these are; l_j and m_j keep their uncertainty, so that an arm with few rewards is still open. Given
them, the context's own f_i, g_i and e_ij have an exact posterior from its tried arms only, by
Woodbury's identity: with t = n / (n D + v),

    precision of (f, g): diag(1, .., 1, 1 / lambda^2) + sum_j t_ij b_j b_j',   b_j = (l_j, 1),
    shift: sum_j t_ij (x_ij - m_j) b_j;   E e_ij = n D / (n D + v) (x_ij - m_j - b_j . (f, g)).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.learners.bmf import factor, sample
from lumpable.learners.engine import Clock, Kernels, kernel, largest, normal, normals
from lumpable.learners.fitting import factor_analysis
from lumpable.learners.fitting.factor_analysis import Data, Factors
from lumpable.learners.learner import Cells, Compiled, PerArm, zeros
from lumpable.learners.particle import backward, forward

GROWTH = 0.1
"""A refit comes when the tells have grown by this share since the last one."""
RULES = ("thompson", "index")


class State(NamedTuple):
    """Counts; the fitted law of the arms; and room for a choice."""

    plays: Cells
    """n_ij."""
    mean: Cells
    """x_ij; 0 for an arm that was not played yet."""
    squares: FloatVector
    """The sum of all squared distances from their pair's mean."""
    coins: IntVector
    """1 as long as all rewards were 0 or 1."""
    fitted: IntVector
    """1 after the first fit."""
    arm: FloatMatrix
    """Means of (l_j, m_j), (K, rank + 1)."""
    cover: FloatMatrix
    """Lower Cholesky factors of their covariances."""
    own: PerArm
    """D."""
    noise: PerArm
    """v."""
    prior: FloatVector
    """Prior precisions of (f, g); without levels, of f."""
    w: FloatMatrix
    precision: FloatMatrix
    root: FloatMatrix
    shift: FloatVector
    half: FloatVector
    u: FloatVector
    score: PerArm
    due: IntVector
    spread: float
    by_index: bool


@kernel
def loading(w: FloatMatrix, j: int, d: int) -> float:
    """Entry d of b_j: a factor's loading, or 1 for the level."""
    return w[j, d] if d < w.shape[1] - 1 else 1.0


@kernel
def believe(state: State, context: int, w: FloatMatrix) -> None:
    """Posterior of the context's (f, g) given these arms: fill in `root` and `half`."""
    P, b = state.precision, state.shift
    size, rank = len(b), w.shape[1] - 1
    for d in range(size):
        b[d] = 0.0
        for e in range(d + 1):
            P[d, e] = state.prior[d] if d == e else 0.0
    for j in range(len(w)):
        n = state.plays[context, j]
        if n > 0.0:
            t = n / (n * state.own[j] + state.noise[j])
            left = state.mean[context, j] - w[j, rank]
            for d in range(size):
                at = t * loading(w, j, d)
                b[d] += left * at
                for e in range(d + 1):
                    P[d, e] += at * loading(w, j, e)
    factor(P, b, state.root, state.half)


@kernel
def expected(state: State, context: int, j: int, w: FloatMatrix, u: FloatVector) -> float:
    """Mean of mu_ij given these arms and this (f, g)."""
    centre = w[j, w.shape[1] - 1]
    for d in range(len(u)):
        centre += loading(w, j, d) * u[d]
    n = state.plays[context, j]
    part = n * state.own[j] / (n * state.own[j] + state.noise[j])
    return centre + part * (state.mean[context, j] - centre)


@kernel
def draw(state: State, context: int, clock: Clock) -> None:
    """Draw all arms, then the context's (f, g) given them, then each mu_ij."""
    w, score, size = state.w, state.score, state.w.shape[1]
    for j in range(len(score)):
        normals(clock, w[j])
        for d in range(size - 1, -1, -1):
            total = 0.0
            for e in range(d + 1):
                total += state.cover[j, d, e] * w[j, e]
            w[j, d] = state.arm[j, d] + state.spread * total
    believe(state, context, w)
    sample(state.root, state.half, state.spread, clock, state.u)
    for j in range(len(score)):
        n = state.plays[context, j]
        rest = state.own[j] * (state.noise[j] / (n * state.own[j] + state.noise[j]))
        score[j] = expected(state, context, j, w, state.u)
        score[j] += state.spread * math.sqrt(rest) * normal(clock)


@kernel
def bound(state: State, context: int) -> None:
    """Mean and spread standard deviations of each mu_ij."""
    arm, score, u, b = state.arm, state.score, state.u, state.shift
    believe(state, context, arm)
    for d in range(len(u)):
        u[d] = state.half[d]
    backward(state.root, u)
    for j in range(len(score)):
        n = state.plays[context, j]
        part = state.noise[j] / (n * state.own[j] + state.noise[j])
        for d in range(len(u)):
            b[d] = loading(arm, j, d)
        forward(state.root, b)
        doubt = 0.0  # of m + b . (f, g): first that of (f, g), then that of the arm
        for d in range(len(u)):
            doubt += b[d] * b[d]
        rank = arm.shape[1] - 1
        for e in range(rank + 1):
            total = state.cover[j, rank, e]
            for d in range(e, rank):
                total += state.cover[j, d, e] * u[d]
            doubt += total * total
        variance = part * state.own[j] + part * part * doubt
        score[j] = expected(state, context, j, arm, u) + state.spread * math.sqrt(variance)


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play the arm with the largest drawn mean, or the largest index; before the first fit, any."""
    if state.fitted[0] == 0:
        state.score[:] = 0.0
    elif state.by_index:
        bound(state, context)
    else:
        draw(state, context, clock)
    return largest(state.score, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to its pair."""
    n, before = state.plays[context, arm], state.mean[context, arm]
    mean = before + (reward - before) / (n + 1.0)
    state.plays[context, arm], state.mean[context, arm] = n + 1.0, mean
    state.squares[0] += (reward - before) * (reward - mean)
    if reward != 0.0 and reward != 1.0:
        state.coins[0] = 0


class FactorBayes(Compiled):
    """Thompson sampling that learns from all contexts which arms go together.

    The means of a context over the arms are normal, with a covariance of low rank plus a diagonal
    plus a level for each context. It is fitted whenever the rewards are 10 % more: all variances
    too, so that it works for any rewards and needs no scale. A context without rewards is served
    from the population's law, with the uncertainty of each arm's own mean; a few rewards say much
    about the arms that were not tried. A round takes time of order K rank^2.

    Strong where contexts are seen a few times each, whether they fall into groups or not; groups
    that differ in more than `rank` directions are seen as own deviations.

    Parameters
    ----------
    rank
        Number of factors. One too many is shrunk away.
    levels
        Whether contexts differ in a level that is common to all arms.
    spread
        Factor on the posterior's spread; 1 is Thompson sampling, less explores less.
    rule
        "thompson", or "index": posterior mean plus `spread` standard deviations, nothing drawn.
    sweeps
        Sweeps of the fit each time.

    >>> learner = FactorBayes(contexts=4, arms=2, rank=1, seed=1)
    >>> for context in (0, 1, 2, 3) * 50:
    ...     arm = learner.ask(context)
    ...     learner.tell(context, arm, float(arm == context % 2))
    >>> learner.policy().tolist()
    [0, 1, 0, 1]
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        rank: int = 3,
        levels: bool = True,
        spread: float = 1.0,
        rule: str = "thompson",
        sweeps: int = 10,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        self.rank, self.levels = checks.whole("rank", rank, 1), bool(levels)
        self.sweeps = checks.whole("sweeps", sweeps, 1)
        self.factors: Factors | None = None
        """The last fit."""
        size = self.rank + self.levels
        state = zeros(State, S, K)._replace(
            squares=np.zeros(1),
            coins=np.ones(1, dtype=np.int64),
            fitted=np.zeros(1, dtype=np.int64),
            arm=np.zeros((K, self.rank + 1)),
            cover=np.zeros((K, self.rank + 1, self.rank + 1)),
            prior=np.ones(size),
            w=np.zeros((K, self.rank + 1)),
            precision=np.zeros((size, size)),
            root=np.zeros((size, size)),
            shift=np.zeros(size),
            half=np.zeros(size),
            u=np.zeros(size),
            due=np.array([2]),
            spread=checks.real("spread", spread, "a positive number", 0.0, 1e6),
            by_index=checks.choice("rule", rule, RULES) == "index",
        )
        super().__init__(S, K, seed, state)

    def _data(self) -> Data | None:
        """Return what there is to fit to; None as long as all rewards are equal."""
        state = self.state
        context, arm = np.nonzero(state.plays)
        n, x, squares = state.plays[context, arm], state.mean[context, arm], state.squares[0]
        if squares == 0.0 and x.min() == x.max():
            return None
        variance = (squares + np.sum(n * (x - np.average(x, weights=n)) ** 2)) / self.tells
        shape, coins = (self.contexts, self.arms), bool(state.coins[0])
        return Data(shape, context, arm, n, x, squares, variance, coins)

    def refit(self) -> None:
        """Sweep from a draw of the arms, so that a factor that faded can come back.

        Random draws: K (rank + 1) normals.
        """
        state, q = self.state, self.rank
        state.due[0] = self.tells + math.ceil(GROWTH * self.tells)
        data = self._data()
        if data is None:
            return
        fit = self.factors = self.factors or factor_analysis.start(data, q, self.levels)
        root = np.linalg.cholesky(fit.arms.cover[:, : q + 1, : q + 1])
        z = np.random.default_rng([self.seed, self.tells]).standard_normal((self.arms, q + 1, 1))
        fit.arms.mean[:, : q + 1] += (root @ z)[:, :, 0]
        for _ in range(self.sweeps):
            fit.sweep(data)
        state.arm[:] = fit.arms.mean[:, : q + 1]
        state.cover[:] = np.linalg.cholesky(fit.arms.cover[:, : q + 1, : q + 1])
        state.own[:], state.noise[:] = fit.own, fit.noise
        if self.levels:
            state.prior[q] = 1.0 / fit.level
        state.fitted[0] = 1

    def means(self) -> FloatMatrix:
        """Return the posterior means of all mu_ij, given the arms' fitted means."""
        state, q, n = self.state, self.rank, self.state.plays
        if state.fitted[0] == 0:
            return np.zeros((self.contexts, self.arms))
        b = np.ones((self.arms, len(state.prior)))
        b[:, :q] = state.arm[:, :q]
        t = n / (n * state.own + state.noise)
        squares = (b[:, :, None] * b[:, None, :]).reshape(self.arms, -1)
        P = (t @ squares).reshape(-1, b.shape[1], b.shape[1]) + np.diag(state.prior)
        shift = (t * (state.mean - state.arm[:, q])) @ b
        centre = state.arm[:, q] + np.linalg.solve(P, shift[:, :, None])[:, :, 0] @ b.T
        return centre + t * state.own * (state.mean - centre)

    def policy(self) -> IntVector:
        """Return each context's arm with the largest posterior mean."""
        return np.argmax(self.means(), axis=1)
