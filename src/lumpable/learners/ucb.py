"""UCB1: Auer, Cesa-Bianchi and Fischer, "Finite-time analysis ...", Mach. Learn. 47 (2002).

"Finite-time analysis of the multiarmed bandit problem", Figure 1. The factor `width` is ours.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, IntVector
from lumpable.learners.engine import Clock, Kernels, among, kernel, kernel_without_nan
from lumpable.learners.learner import Cells, Compiled, Counts, PerArm, PerContext, zeros


class State(NamedTuple):
    """One row per context, or a single row for all."""

    plays: Counts
    """n_j."""
    mean: FloatMatrix
    """Mean reward; infinite for an arm that was not played yet."""
    root: Cells
    """1 / sqrt(n_j), 0 for an arm that was not played yet."""
    visits: PerContext
    """n."""
    score: PerArm
    width: float
    pooled: bool


@kernel_without_nan
def choose(state: State, context: int, clock: Clock) -> int:
    """Play the arm with the largest mean + width sqrt(2 ln n / n_j), any of several."""
    i = 0 if state.pooled else context
    mean, root, score = state.mean[i], state.root[i], state.score
    scale = state.width * math.sqrt(2.0 * math.log(max(state.visits[i], 1)))
    top = -np.inf
    for j in range(len(score)):
        score[j] = mean[j] + scale * root[j]
        top = score[j] if score[j] > top else top
    return among(score, top, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to its arm's mean."""
    i = 0 if state.pooled else context
    state.visits[i] += 1
    state.plays[i, arm] += 1
    n = state.plays[i, arm]
    before = 0.0 if n == 1 else state.mean[i, arm]
    state.mean[i, arm] = before + (reward - before) / n
    state.root[i, arm] = 1.0 / math.sqrt(n)


class UCB1(Compiled):
    """UCB1 for each context on its own or, if `pooled`, one for all of them.

    Every arm once, then the one with the largest mean + width sqrt(2 ln n / n_j), where n counts
    the rounds and n_j those of the arm; ties at random. With width 1 and rewards in [0, 1] the
    regret is of order sqrt(SKT log T); try a width of 0.1 to 0.5.

    >>> learner = UCB1(contexts=1, arms=2, seed=1)
    >>> for reward in (0.0, 1.0, 1.0):
    ...     learner.tell(0, learner.ask(0), reward)
    >>> int(learner.policy()[0]) == learner.ask(0)
    True
    """

    kernels = Kernels(choose, update)

    def __init__(
        self, contexts: int, arms: int, *, width: float = 1.0, pooled: bool = False, seed: int = 0
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        rows = 1 if pooled else S
        state = zeros(State, rows, K)._replace(
            mean=np.full((rows, K), np.inf),
            width=checks.real("width", width, "a positive number", 0.0, 1e9),
            pooled=bool(pooled),
        )
        super().__init__(S, K, seed, state)

    def policy(self) -> IntVector:
        """Return each context's arm with the largest mean so far."""
        mean = np.where(self.state.plays > 0, self.state.mean, -np.inf)
        best: IntVector = np.argmax(mean, axis=1)
        return np.broadcast_to(best, self.contexts).copy()
