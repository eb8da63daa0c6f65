"""mUCB: Hong, Kveton, Zaheer, Chow, Ahmed, Boutilier, "Latent bandits revisited", NeurIPS 2020.

Their UCB with known means, for each context. With B_l the state that was believed in round l,

    N(s) = #{l: B_l = s},    G(s) = sum over those rounds of mu(A_l, s) - R_l,
    C = {s: G(s) <= sigma sqrt(6 N(s) log n)},    B, A = argmax over s in C and a of mu(a, s).

Our readings: the constant 6; without a horizon, n is the number of the context's round; if no state
is consistent, the one that is least over its bound is believed; a reward that comes late counts for
the state that would play its arm now, if there is one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.learners.engine import Clock, Kernels, kernel, largest
from lumpable.learners.learner import Compiled


class State(NamedTuple):
    """One row per context, one column per latent state."""

    plays: FloatMatrix
    """N(s)."""
    gap: FloatMatrix
    """G(s)."""
    visits: IntVector
    means: FloatMatrix
    """mu, latent states by arms."""
    best: IntVector
    """The best arm of each latent state."""
    score: FloatVector
    slack: float
    """Width times sigma sqrt 6."""
    log_horizon: float
    """log n; 0 if there is no horizon."""


@kernel
def rate(state: State, context: int, arm: int) -> None:
    """Score the latent states that would play this arm, or all if it is -1; the largest leads.

    A consistent state's score is its best mean, all others are below: by how much they are over
    their bounds if no state is consistent.
    """
    score, r = state.score, len(state.score)
    log_n = state.log_horizon
    if log_n == 0.0:
        log_n = math.log(state.visits[context] + 1.0)
    consistent = False
    for s in range(r):
        excess = state.gap[context, s] - state.slack * math.sqrt(state.plays[context, s] * log_n)
        score[s] = -excess
        if arm >= 0 and state.best[s] != arm:
            score[s] = -np.inf
        consistent |= score[s] >= 0.0
    if consistent:
        for s in range(r):
            score[s] = state.means[s, state.best[s]] if score[s] >= 0.0 else -np.inf


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play the best arm of the consistent state that promises most; ties at random."""
    rate(state, context, -1)
    return state.best[largest(state.score, clock)]


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Compare a reward with the mean in the state that was believed: the leader with this arm."""
    rate(state, context, arm)
    s = np.argmax(state.score)
    state.visits[context] += 1
    if state.best[s] == arm:
        state.plays[context, s] += 1.0
        state.gap[context, s] += state.means[s, arm] - reward


def check_means(group_means: npt.ArrayLike, arms: int) -> FloatMatrix:
    """Return the means of the latent states as a new array, if they are finite and (r, arms)."""
    means = np.array(group_means, dtype=np.float64, order="C")
    if means.ndim != 2 or len(means) == 0 or means.shape[1] != arms:
        raise BadArgument("group_means", f"shape (groups, {arms})", f"{means.shape}")
    if not np.isfinite(means).all():
        raise BadArgument("group_means", "finite numbers", "NaN or infinity")
    return means


class ModelUCB(Compiled):
    """mUCB: knows the means of all groups and, in each context, rules out groups by its rewards.

    `group_means` is (r, K), `sd` the scale of the noise (1/2 for rewards in [0, 1]), `width` a
    factor of the bound; try 0.2 to 0.5. Regret per context grows with r, not with K. An oracle:
    true means are rarely known, and it trusts them blindly.

    >>> learner = ModelUCB(contexts=2, arms=2, group_means=[[0.1, 0.9], [0.8, 0.2]])
    >>> learner.ask(0), learner.labels()
    (1, array([0, 0]))
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        group_means: npt.ArrayLike,
        sd: float = 0.5,
        horizon: int | None = None,
        width: float = 1.0,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        means = check_means(group_means, K)
        width = checks.real("width", width, "a positive number", 0.0, 1e9)
        sd = checks.real("sd", sd, "a positive number", 0.0, 1e100)
        state = State(
            plays=np.zeros((S, len(means))),
            gap=np.zeros((S, len(means))),
            visits=np.zeros(S, dtype=np.int64),
            means=means,
            best=np.argmax(means, axis=1),
            score=np.zeros(len(means)),
            slack=width * sd * math.sqrt(6.0),
            log_horizon=0.0 if horizon is None else math.log(checks.whole("horizon", horizon, 1)),
        )
        super().__init__(S, K, seed, state)

    def policy(self) -> IntVector:
        """Return the best arm of the state that each context would believe now."""
        return self.state.best[self.labels()]

    def labels(self) -> IntVector:
        """Return the state that each context would believe now, the first of several."""
        believed = np.empty(self.contexts, dtype=np.int64)
        for context in range(self.contexts):
            rate(self.state, context, -1)
            believed[context] = np.argmax(self.state.score)
        return believed
