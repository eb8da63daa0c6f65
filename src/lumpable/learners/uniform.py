"""Uniform play of all arms, whatever the rewards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, IntMatrix, IntVector
from lumpable.learners.engine import Clock, Kernels, below, kernel
from lumpable.learners.learner import Compiled


class State(NamedTuple):
    """One row per context."""

    plays: IntMatrix
    mean: FloatMatrix
    """Mean reward; minus infinity for an arm that was not played yet."""


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play any arm."""
    return below(clock, state.mean.shape[1])


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to its arm's mean."""
    state.plays[context, arm] += 1
    n = state.plays[context, arm]
    before = 0.0 if n == 1 else state.mean[context, arm]
    state.mean[context, arm] = before + (reward - before) / n


class Uniform(Compiled):
    """Uniform play: the floor of every comparison, and the plainest way to explore.

    It recommends the arm with the best mean in each context. Regret grows by the mean gap in every
    round; its policy is as good as even sampling without sharing can make it.

    >>> learner = Uniform(contexts=1, arms=2, seed=1)
    >>> learner.tell(0, 1, 0.5)
    >>> learner.policy()
    array([1])
    """

    kernels = Kernels(choose, update)

    def __init__(self, contexts: int, arms: int, *, seed: int = 0) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        state = State(plays=np.zeros((S, K), dtype=np.int64), mean=np.full((S, K), -np.inf))
        super().__init__(S, K, seed, state)

    def policy(self) -> IntVector:
        """Return each context's arm with the largest mean so far."""
        return np.argmax(self.state.mean, axis=1)
