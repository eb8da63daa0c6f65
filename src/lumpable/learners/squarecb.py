"""SquareCB: Foster and Rakhlin, "Beyond UCB", ICML 2020.

"Beyond UCB: optimal and efficient contextual bandits with regression oracles", Algorithm 1
(inverse-gap weighting), but with gamma_t = gamma t^exponent and the defaults of Vowpal Wabbit,
where the paper fixes one gamma for a known horizon. The oracles are ours.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine import TELLS, Clock, Kernels, drawn, kernel, largest, start_choice
from lumpable.learners.fitting import regression
from lumpable.learners.learner import NEVER, Cells, Compiled, PerArm, zeros


class State(NamedTuple):
    """What the oracle learns from, what it predicts, and scratch for one context."""

    plays: Cells
    sums: Cells
    total: FloatVector
    """Plays and rewards of all cells."""
    prediction: FloatMatrix
    """Of the last fit; a single row of scratch for the oracle of cells, which is always up to date.
    """
    probability: PerArm
    due: IntVector
    gamma: float
    exponent: float
    online: bool


@kernel
def inverse_gap(
    prediction: FloatVector, gamma: float, probability: FloatVector, clock: Clock
) -> None:
    """Fill 1 / (K + gamma (y_b - y_a)) for each arm a; the best b, any of several, has the rest."""
    K = len(prediction)
    b = largest(prediction, clock)
    rest = 1.0
    for a in range(K):
        if a != b:
            probability[a] = 1.0 / (K + gamma * (prediction[b] - prediction[a]))
            rest -= probability[a]
    probability[b] = rest


@kernel
def weigh(state: State, context: int, clock: Clock) -> None:
    """Fill the arms' probabilities for this context."""
    row = 0 if state.online else context
    y = state.prediction[row]
    if state.online:
        middle = state.total[1] / max(state.total[0], 1.0)
        for a in range(len(y)):
            y[a] = (state.sums[context, a] + middle) / (state.plays[context, a] + 1.0)
    gamma = state.gamma * float(clock[TELLS]) ** state.exponent
    inverse_gap(y, gamma, state.probability, clock)


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Draw an arm by the inverse gaps of the predictions."""
    weigh(state, context, clock)
    return drawn(state.probability, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Keep the reward for the oracle."""
    state.plays[context, arm] += 1.0
    state.sums[context, arm] += reward
    state.total[0] += 1.0
    state.total[1] += reward


class SquareCB(Compiled):
    """SquareCB: an arm's probability falls with the gap between its prediction and the best one's.

    With an oracle whose squared error is small the regret is of order sqrt(K T error). The oracle
    of cells is up to date in every round; the others are fitted again each time that the rewards
    have grown by the factor `growth`, and the last fit holds in between. At 1,000 contexts and 100
    arms a fit by clusters takes some hundredths of a second, one of low rank some tenths.

    Parameters
    ----------
    oracle
        `cells`, `additive`, `lumpable` (contexts in clusters) or `low rank`: see `regression`.
    gamma, exponent
        Greediness gamma t^exponent, the main thing to tune: 10 to 1,000.
    clusters, rank
        Of the lumpable and the low-rank oracle: guesses, not the truth.
    growth
        Between two fits, above 1.

    >>> learner = SquareCB(contexts=2, arms=2, gamma=100.0)
    >>> learner.tell(0, 1, 1.0)
    >>> learner.tell(0, 0, 0.0)
    >>> p = learner.probabilities(0)
    >>> float(p[0].round(4)), float(p.sum())  # gap 1/2, gamma 100 sqrt(2)
    (0.0138, 1.0)
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        oracle: str = "cells",
        gamma: float = 10.0,
        exponent: float = 0.5,
        clusters: int = 8,
        rank: int = 3,
        growth: float = 1.25,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        self.oracle = regression.make_oracle(oracle, clusters, rank)
        self.growth = checks.real("growth", growth, "a number above 1", 1.0, 1e6)
        self.fits = 0
        """How often the oracle was fitted."""
        self._labels: IntVector | None = None
        online = oracle == "cells"
        state = zeros(State, S, K)._replace(
            total=np.zeros(2),
            prediction=np.zeros((1 if online else S, K)),
            due=np.array([NEVER if online else K]),  # no oracle finds much in less
            gamma=checks.real("gamma", gamma, "a positive number", 0.0, 1e12),
            exponent=checks.real("exponent", exponent, "a number in (0, 1]", 0.0, 1.0),
            online=online,
        )
        super().__init__(S, K, seed, state)

    def refit(self) -> None:
        """Fit the oracle to all rewards so far."""
        state = self.state
        rng = np.random.default_rng([self.seed, self.tells])
        state.prediction[:], self._labels = regression.fit(
            self.oracle, state.plays, state.sums, rng
        )
        self.fits += 1
        state.due[0] = max(self.tells + 1, math.ceil(self.growth * self.tells))

    def probabilities(self, context: int) -> FloatVector:
        """Return the probability of each arm, were this context the next."""
        context = checks.whole("context", context, 0, self.contexts - 1)
        clock = self.clock.copy()
        start_choice(clock, context)
        weigh(self.state, context, clock)
        return self.state.probability.copy()

    def policy(self) -> IntVector:
        """Return each context's arm with the largest prediction."""
        state = self.state
        if state.online:
            middle = state.total[1] / max(state.total[0], 1.0)
            best = np.argmax(regression.shrink(state.plays, state.sums, middle), axis=1)
        else:
            best = np.argmax(state.prediction, axis=1)
        return np.asarray(best, dtype=np.int64)

    def labels(self) -> IntVector | None:
        """Return the clusters of the lumpable oracle's last fit; None for the other oracles."""
        return None if self._labels is None else self._labels.copy()
