"""Beta Thompson: Agrawal and Goyal, "Analysis of Thompson sampling ...", COLT 2012.

"Analysis of Thompson sampling for the multi-armed bandit problem", Algorithms 1 and 2; first in
Thompson, Biometrika 25 (1933). The reshaping of posteriors is that of Chapelle and Li, "An
empirical evaluation of Thompson sampling", NIPS 2011.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine import Clock, Kernels, beta, kernel, largest, uniform
from lumpable.learners.learner import Compiled


class State(NamedTuple):
    """A Beta posterior for each row and arm."""

    a: FloatMatrix
    """1 + successes."""
    b: FloatMatrix
    """1 + failures."""
    row: IntVector
    """The row of each context."""
    score: FloatVector
    power: float
    """1 / spread^2."""


def fresh(row: IntVector, arms: int, spread: float) -> State:
    """Return a state with uniform posteriors for contexts that fall into these rows."""
    spread = checks.real("spread", spread, "a positive number", 0.0, 1e6)
    shape = (int(row.max()) + 1, arms)
    return State(np.ones(shape), np.ones(shape), row, np.zeros(arms), spread**-2)


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Draw a mean for each arm from its posterior and play the largest."""
    i, score, power = state.row[context], state.score, state.power
    for j in range(len(score)):
        score[j] = beta(clock, state.a[i, j] * power, state.b[i, j] * power)
    return largest(score, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Count a success with the reward's probability: a coin toss unless it is 0 or 1."""
    i = state.row[context]
    if uniform(clock) < reward:
        state.a[i, arm] += 1.0
    else:
        state.b[i, arm] += 1.0


def best_arms(state: State) -> IntVector:
    """Return for each context the arm with the largest posterior mean."""
    best: IntVector = np.argmax(state.a / (state.a + state.b), axis=1)
    return best[state.row]


class BetaThompson(Compiled):
    """Thompson sampling with Beta(1 + s, 1 + f) posteriors, for each context or, if `pooled`, all.

    For rewards in [0, 1]; one that is neither 0 nor 1 is replaced by the toss of a coin with that
    bias. `spread` reshapes the posterior Beta(a, b) to Beta(a / spread^2, b / spread^2): the same
    mean and about `spread` times the standard deviation; below 1 it explores less. Hard to beat on
    its own, but shares nothing between contexts, or everything. An arm that has both won and lost
    costs two gamma draws.

    >>> learner = BetaThompson(contexts=1, arms=2, seed=1)
    >>> for _ in range(9):
    ...     learner.tell(0, 1, 1.0)
    >>> learner.policy()
    array([1])
    """

    kernels = Kernels(choose, update)
    unit_rewards = True

    def __init__(
        self, contexts: int, arms: int, *, pooled: bool = False, spread: float = 1.0, seed: int = 0
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        row = np.zeros(S, dtype=np.int64) if pooled else np.arange(S)
        super().__init__(S, K, seed, fresh(row, K, spread))

    def policy(self) -> IntVector:
        """Return each context's arm with the largest posterior mean."""
        return best_arms(self.state)
