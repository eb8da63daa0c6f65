"""LinUCB: Li, Chu, Langford and Schapire, "A contextual-bandit approach ...", WWW 2010.

"A contextual-bandit approach to personalized news article recommendation", Algorithm 1, but with
one ridge regression for all arms, as Chu, Li, Reyzin and Schapire have it, "Contextual bandits with
linear payoff functions", AISTATS 2011. The penalty is 1. Neither kind of feature needs a d x d
matrix:

cells, d = SK: the matrix is diagonal, so a cell has mean s / (n + 1) and width alpha / sqrt(n + 1).

additive, d = S + K: a one for the context, a one for the arm. With the counts n[i, j] and
c[i] = 1 + sum_j n[i, j], the inverse of the matrix in blocks is

    P                                  for two arms
    -h, with h = P n[i] / c[i]         for the context i and an arm
    1 / c[i] + n[i].h / c[i]           for the context i and itself

A reward changes the inverse by -v v' / (1 + x'v), v = inverse times x (Sherman and Morrison), and
its block P by the same, restricted to arms: O(K^2) a round and K^2 numbers beside the counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine import Clock, Kernels, kernel, largest
from lumpable.learners.learner import Cells, Compiled, PerArm, Unfit, zeros

FEATURES = ("cells", "additive")
MOST_ARMS = 2000


class State(NamedTuple):
    """Counts and, for each kind of feature, what its regression needs."""

    plays: Cells
    """n[i, j]."""
    sums: FloatMatrix
    """Cells: rewards of each cell. Additive: one column, rewards of each context."""
    visits: FloatVector
    """c[i]."""
    P: FloatMatrix
    theta: PerArm
    """The arms' coefficients."""
    h: PerArm
    score: PerArm
    alpha: float
    additive: bool


@kernel
def cross(state: State, context: int) -> float:
    """Fill h for this context and return the inverse's entry of the context with itself."""
    n, h, c = state.plays[context], state.h, state.visits[context]
    h[:] = 0.0
    for k in range(len(n)):
        if n[k] > 0.0:
            for j in range(len(h)):
                h[j] += n[k] * state.P[k, j]
    own = 1.0
    for j in range(len(h)):
        h[j] /= c
        own += n[j] * h[j]
    return own / c


@kernel
def own_part(state: State, context: int) -> float:
    """Return the context's coefficient: the mean residual of its rewards, with penalty 1."""
    rest = state.sums[context, 0]
    for j in range(len(state.theta)):
        rest -= state.plays[context, j] * state.theta[j]
    return rest / state.visits[context]


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play the arm with the largest estimate + alpha sqrt(x' A^-1 x), any of several."""
    score, alpha = state.score, state.alpha
    if not state.additive:
        for j in range(len(score)):
            n = state.plays[context, j] + 1.0
            score[j] = state.sums[context, j] / n + alpha / math.sqrt(n)
        return largest(score, clock)
    own = cross(state, context)
    for j in range(len(score)):
        width = max(own - 2.0 * state.h[j] + state.P[j, j], 0.0)
        # the context's part is the same for all arms
        score[j] = state.theta[j] + alpha * math.sqrt(width)
    return largest(score, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add an observation to the regression."""
    if not state.additive:
        state.plays[context, arm] += 1.0
        state.sums[context, arm] += reward
        return
    h, P, theta = state.h, state.P, state.theta
    own = cross(state, context)
    scale = 1.0 / (1.0 + own - 2.0 * h[arm] + P[arm, arm])
    error = reward - own_part(state, context) - theta[arm]
    v = state.score
    for j in range(len(v)):
        v[j] = P[arm, j] - h[j]
    for j in range(len(v)):
        theta[j] += scale * error * v[j]
        if v[j] != 0.0:
            for k in range(len(v)):
                P[j, k] -= scale * v[j] * v[k]
    state.plays[context, arm] += 1.0
    state.sums[context, 0] += reward
    state.visits[context] += 1.0


class LinUCB(Compiled):
    """LinUCB on features of context and arm.

    With `cells` it shares nothing between contexts and is UCB with a width that does not grow; with
    `additive` all contexts share the arms' effects, so that only one arm can be best for all: fast
    early, linear regret where groups differ. Ties at random. Additive needs O(K^2) a round and is
    not run above 2,000 arms.

    Parameters
    ----------
    features
        `cells`: one for each context and arm; `additive`: one for each context, one for each arm.
    delta
        With probability 1 - delta an estimate is within its width; sets alpha.
    alpha
        Width, 1 + sqrt(ln(2 / delta) / 2) unless given. Try 0.3 to 1; estimates start at 0, so with
        less than the rewards' scale some arms may never be tried.

    >>> learner = LinUCB(contexts=2, arms=2, alpha=0.5)
    >>> learner.tell(0, 1, 1.0)
    >>> learner.ask(0), int(learner.policy()[0])
    (1, 1)
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        features: str = "cells",
        delta: float = 0.1,
        alpha: float | None = None,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        additive = checks.choice("features", features, FEATURES) == "additive"
        if additive and K > MOST_ARMS:
            raise Unfit(f"LinUCB, additive: at most {MOST_ARMS:,} arms, got {K:,}")
        delta = checks.real("delta", delta, "a number in (0, 1)", 0.0, math.nextafter(1.0, 0.0))
        if alpha is None:
            alpha = 1 + math.sqrt(math.log(2 / delta) / 2)
        state = zeros(State, S, K)._replace(
            sums=np.zeros((S, 1 if additive else K)),
            visits=np.ones(S),
            P=np.eye(K if additive else 1),
            alpha=checks.real("alpha", alpha, "a positive number", 0.0, 1e9),
            additive=additive,
        )
        super().__init__(S, K, seed, state)

    def policy(self) -> IntVector:
        """Return each context's arm with the largest estimate; additive: one arm for all."""
        state = self.state
        if state.additive:
            return np.full(self.contexts, np.argmax(state.theta), dtype=np.int64)
        return np.argmax(state.sums / (state.plays + 1), axis=1)
