"""FALCON: Simchi-Levi and Xu, "Bypassing the monster", Math. Oper. Res. 47 (2022).

"Bypassing the monster: a faster and simpler optimal algorithm for contextual bandits under
realizability". Epochs end at tau_m = 2^m. FALCON learns from all rounds before an epoch, FALCON+
from the epoch before only. The logarithm in gamma_m differs between versions of the paper; that
below, and log |F| for classes that are not finite, are our reading.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatVector, IntVector
from lumpable.learners.engine import Clock, Kernels, drawn, kernel, start_choice
from lumpable.learners.fitting import regression
from lumpable.learners.learner import Cells, Compiled, PerArm, zeros
from lumpable.learners.squarecb import inverse_gap


class State(NamedTuple):
    """What the next fit learns from, what the last one predicts, and scratch for one context."""

    plays: Cells
    sums: Cells
    prediction: Cells
    """f_m."""
    gamma: FloatVector
    """gamma_m, one number."""
    probability: PerArm
    due: IntVector
    """tau_m."""


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Draw an arm by the inverse gaps of the epoch's predictions."""
    inverse_gap(state.prediction[context], state.gamma[0], state.probability, clock)
    return drawn(state.probability, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Keep the reward for the next fit."""
    state.plays[context, arm] += 1.0
    state.sums[context, arm] += reward


class FALCON(Compiled):
    """FALCON: one regression at the start of each epoch, inverse-gap weighting within it.

    gamma_m = c sqrt(K tau / (log |F| + log(tau / delta))) for epoch m, tau the rounds before it;
    the first epoch is uniform play. The oracle is called log_2 T times, and the regret is of order
    sqrt(K T log |F|). As log |F| counts the numbers that a function has (see `regression`),
    exploration is long: with the authors' c = 1/30 it is next to uniform play at any usual size.

    Parameters
    ----------
    oracle, clusters, rank
        The class of functions, as for SquareCB.
    c
        Greediness, the main thing to tune: 1 to 100.
    delta
        Confidence of the theorem.
    forget
        Whether a regression sees the epoch before only, as in FALCON+, not all rounds so far.

    >>> learner = FALCON(contexts=1, arms=2)
    >>> for arm in (0, 1):
    ...     learner.tell(0, arm, float(arm))
    >>> learner.fits, int(learner.policy()[0])
    (1, 1)
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        oracle: str = "cells",
        c: float = 1.0,
        delta: float = 0.05,
        clusters: int = 8,
        rank: int = 3,
        forget: bool = False,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        self.oracle = regression.make_oracle(oracle, clusters, rank)
        self.c = checks.real("c", c, "a positive number", 0.0, 1e9)
        below_one = math.nextafter(1.0, 0.0)
        self.delta = checks.real("delta", delta, "a number in (0, 1)", 0.0, below_one)
        self.forget = bool(forget)
        self.fits = 0
        """How often the oracle was called."""
        self._labels: IntVector | None = None
        state = zeros(State, S, K)._replace(gamma=np.ones(1), due=np.array([2]))
        super().__init__(S, K, seed, state)

    def refit(self) -> None:
        """Begin an epoch: fit the oracle, set gamma, and forget."""
        state = self.state
        tau = self.tells
        rng = np.random.default_rng([self.seed, tau])
        state.prediction[:], self._labels = regression.fit(
            self.oracle, state.plays, state.sums, rng
        )
        self.fits += 1
        size = regression.log_size(self.oracle, self.contexts, self.arms)
        state.gamma[0] = self.c * math.sqrt(self.arms * tau / (size + math.log(tau / self.delta)))
        state.due[0] = 2 * tau
        if self.forget:
            state.plays[:] = 0.0
            state.sums[:] = 0.0

    def probabilities(self, context: int) -> FloatVector:
        """Return the probability of each arm, were this context the next."""
        context = checks.whole("context", context, 0, self.contexts - 1)
        clock = self.clock.copy()
        start_choice(clock, context)
        state = self.state
        p = np.zeros(self.arms)
        inverse_gap(state.prediction[context], state.gamma[0], p, clock)
        return p

    def policy(self) -> IntVector:
        """Return each context's arm with the largest prediction of this epoch."""
        return np.asarray(np.argmax(self.state.prediction, axis=1), dtype=np.int64)

    def labels(self) -> IntVector | None:
        """Return the clusters of the lumpable oracle's last fit; None for the other oracles."""
        return None if self._labels is None else self._labels.copy()
