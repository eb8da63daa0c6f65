"""EXP4: Auer and others, "The nonstochastic multiarmed bandit problem", SIAM J. Comput. 2002.

Auer, Cesa-Bianchi, Freund and Schapire, with constant experts: each recommends one arm to
everybody, so this is EXP3 that ignores the context (reading 35). The form with losses and without
uniform mixing is that of Lattimore and Szepesvari, Bandit algorithms, 2020, chapter 18.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatVector, IntVector
from lumpable.learners.engine import Clock, Kernels, drawn, kernel
from lumpable.learners.learner import Compiled

LEAST = 1e-100
"""A late reward may be of an arm whose probability has vanished since; it is weighed with this."""


class State(NamedTuple):
    """One number an arm, for all contexts."""

    loss: FloatVector
    """Sum of the importance-weighted losses."""
    probability: FloatVector
    rate: float
    """eta."""


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Draw an arm with the experts' probabilities, whatever the context."""
    return drawn(state.probability, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add the loss over its probability, and reweight the experts."""
    loss, p = state.loss, state.probability
    loss[arm] += (1.0 - reward) / max(p[arm], LEAST)
    least = loss.min()
    total = 0.0
    for j in range(len(loss)):
        p[j] = math.exp(state.rate * (least - loss[j]))
        total += p[j]
    for j in range(len(loss)):
        p[j] /= total


class ConstantExperts(Compiled):
    """EXP4 with K experts, each for one arm: right where one arm is best for all contexts.

    That is so for means of rank one with non-negative weights. Importance-weighted losses
    (1 - reward) / p, no uniform mixing, eta = sqrt(2 log K / (KT)): against the best single arm the
    regret is at most sqrt(2KT log K) on average, for rewards in [0, 1]. A reward that comes late is
    weighed with the probability that its arm has when it is told, so the bound holds for rewards in
    time only.

    >>> learner = ConstantExperts(contexts=5, arms=2, horizon=100, seed=1)
    >>> learner.tell(0, learner.ask(0), 1.0)
    >>> learner.probabilities()
    [0.5, 0.5]
    """

    kernels = Kernels(choose, update)
    unit_rewards = True

    def __init__(self, contexts: int, arms: int, *, horizon: int, seed: int = 0) -> None:
        K = checks.whole("arms", arms, 1)
        T = checks.whole("horizon", horizon, 1)
        state = State(
            loss=np.zeros(K),
            probability=np.full(K, 1 / K),
            rate=math.sqrt(2 * math.log(K) / (K * T)),
        )
        super().__init__(contexts, K, seed, state)

    def probabilities(self) -> list[float]:
        """Return the probability of each arm in the next round."""
        return self.state.probability.tolist()

    def policy(self) -> IntVector:
        """Return the arm of the heaviest expert, for everybody."""
        return np.full(self.contexts, np.argmax(self.state.probability), dtype=np.int64)
