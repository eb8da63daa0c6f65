"""EXP4: Auer and others, "The nonstochastic multiarmed bandit problem", SIAM J. Comput. 2002.

Auer, Cesa-Bianchi, Freund and Schapire, Section 7, with lumpable experts. An expert sends every
context to one of r arms: it is a set A of r arms and a map of the contexts into it, so there are N
= C(K, r) r^S. Theorem 7.1 wants the uniform expert among them; here the mean of all experts is
uniform, which serves its proof as well. After gains G[i, j] its weight is the product over contexts
i of exp(gamma G[i, A(i)] / K), so the weights of all maps into one set add up to a product of sums
over contexts,

    W(A) = prod_i sum_{j in A} exp(gamma G[i, j] / K),

so the r^S maps need not be listed: one number for each set of arms gives the exact mixture.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatVector, IntMatrix, IntVector
from lumpable.learners.engine import Clock, Kernels, drawn, kernel
from lumpable.learners.learner import Cells, Compiled, PerArm, Unfit, zeros

MOST_SETS = 20_000
FLOOR = 1e-300
"""Keeps the logarithm of a sum of weights finite."""


class State(NamedTuple):
    """Gains of the cells, weights of the sets of arms."""

    gain: Cells
    """gamma G[i, j] / K, where G sums the importance-weighted rewards."""
    sets: IntMatrix
    """The arms of each set A."""
    weight: FloatVector
    """log W(A)."""
    share: FloatVector
    """W(A) over the sum of all."""
    part: PerArm
    probability: PerArm
    gamma: float


@kernel
def parts(state: State, context: int) -> None:
    """Fill `part` with exp(gain) of the context's arms, over the largest."""
    gain, part = state.gain[context], state.part
    top = gain.max()
    for j in range(len(part)):
        part[j] = max(math.exp(gain[j] - top), FLOOR)


@kernel
def mix(state: State, context: int) -> None:
    """Fill `probability`: (1 - gamma) of the experts' mixture and gamma of uniform play."""
    sets, part, p = state.sets, state.part, state.probability
    K = len(p)
    parts(state, context)
    p[:] = 0.0
    for a in range(len(sets)):
        total = 0.0
        for b in range(sets.shape[1]):
            total += part[sets[a, b]]
        each = state.share[a] / total
        for b in range(sets.shape[1]):
            p[sets[a, b]] += each * part[sets[a, b]]
    for j in range(K):
        p[j] = (1.0 - state.gamma) * p[j] + state.gamma / K


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Draw an arm from the mixture."""
    mix(state, context)
    return drawn(state.probability, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Raise the weight of all experts that recommended this arm to this context."""
    sets, part, weight = state.sets, state.part, state.weight
    mix(state, context)
    rise = state.gamma * reward / (len(part) * state.probability[arm])
    state.gain[context, arm] += rise
    factor = math.expm1(rise)
    for a in range(len(sets)):
        total, inside = 0.0, False
        for b in range(sets.shape[1]):
            total += part[sets[a, b]]
            inside |= sets[a, b] == arm
        if inside:
            weight[a] += math.log1p(factor * part[arm] / total)
    top = weight.max()
    for a in range(len(sets)):
        state.share[a] = math.exp(weight[a] - top)
    state.share[:] /= state.share.sum()


class LumpableExperts(Compiled):
    """EXP4 with an expert for every lumpable policy: all maps of contexts to r groups to arms.

    Weights start equal over the C(K, r) r^S pairs of a set of r arms and a map of the contexts into
    it; a policy with exactly r arms is one expert, one with fewer is several. gamma is tuned as in
    Corollary 3.2 for g = T: sqrt(K log N / ((e - 1) T)), at most 1. The regret is then at most
    2 sqrt(e - 1) sqrt(T K log N) on average, of order sqrt(T K (S log r + r log K)): no better in S
    than a learner for each context. Knows r. The cost of a round is of order C(K, r) r, some 0.1
    microseconds for each set of arms, so more than 20,000 of them are not run. A late reward is
    weighed with the probability that its arm has when it is told.

    Parameters
    ----------
    groups
        r: the number of arms that a policy may use; more than K are K.

    >>> learner = LumpableExperts(contexts=6, arms=3, groups=2, horizon=100, seed=1)
    >>> learner.tell(0, 2, 1.0)
    >>> p = learner.probabilities(0)
    >>> bool(p[2] > p[1] == p[0])
    True
    """

    kernels = Kernels(choose, update)
    unit_rewards = True

    def __init__(
        self, contexts: int, arms: int, *, groups: int, horizon: int, seed: int = 0
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        r = min(checks.whole("groups", groups, 1), K)
        T = checks.whole("horizon", horizon, 1)
        number = math.comb(K, r)
        if number > MOST_SETS:
            raise Unfit(f"EXP4: at most {MOST_SETS:,} sets of {r} arms, got {number:,}")
        log_experts = math.log(number) + S * math.log(r)
        state = zeros(State, S, K)._replace(
            sets=np.array(list(combinations(range(K), r)), dtype=np.int64),
            weight=np.zeros(number),
            share=np.full(number, 1 / number),
            gamma=min(1.0, math.sqrt(K * log_experts / ((math.e - 1) * T))),
        )
        super().__init__(S, K, seed, state)

    def probabilities(self, context: int) -> FloatVector:
        """Return the probability of each arm, were this context the next."""
        mix(self.state, checks.whole("context", context, 0, self.contexts - 1))
        return self.state.probability.copy()

    def policy(self) -> IntVector:
        """Return what the heaviest expert recommends."""
        return self._arms()[self.labels()]

    def labels(self) -> IntVector:
        """Return the groups of the heaviest expert."""
        return np.argmax(self.state.gain[:, self._arms()], axis=1)

    def _arms(self) -> IntVector:
        return self.state.sets[np.argmax(self.state.weight)]
