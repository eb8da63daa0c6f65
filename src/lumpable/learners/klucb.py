"""KL-UCB: Garivier and Cappé, "The KL-UCB algorithm for bounded ... bandits", COLT 2011.

"The KL-UCB algorithm for bounded stochastic bandits and beyond", Algorithm 1, with the divergence
of Bernoulli laws; the factor `width` is ours: kl(m, q) = m ln(m/q) + (1-m) ln((1-m)/(1-q)).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, IntVector
from lumpable.learners.engine import Clock, Kernels, among, kernel, kernel_without_nan
from lumpable.learners.learner import Cells, Compiled, Counts, PerArm, PerContext, zeros

STEPS = 64
"""Newton steps at most; convergence takes about six."""
BELOW_ONE = 1.0 - 2.0**-53


class State(NamedTuple):
    """One row per context."""

    plays: Counts
    """N[a]."""
    total: Cells
    """S[a]."""
    mean: FloatMatrix
    """S[a] / N[a]; infinite for an arm that was not played yet."""
    root: Cells
    """1 / sqrt(2 N[a]), 0 for an arm that was not played yet."""
    visits: PerContext
    score: PerArm
    c: float
    width: float


@kernel
def divergence(m: float, q: float) -> float:
    """kl(m, q) for 0 < q < 1."""
    left = m * math.log(m / q) if m > 0.0 else 0.0
    return left + ((1.0 - m) * math.log((1.0 - m) / (1.0 - q)) if m < 1.0 else 0.0)


@kernel
def bound(m: float, level: float) -> float:
    """Return the largest q with kl(m, q) <= level.

    Newton's steps on a convex function from the right of its root: they go down to it and stop when
    they would go up. Both starting points are to its right: Pinsker's inequality, and kl(m, q) >=
    m ln m + (1-m) ln((1-m)/(1-q)).
    """
    if m >= 1.0 or level <= 0.0:
        return m
    if m <= 0.0:
        return -math.expm1(-level)
    rest = (1.0 - m) * math.exp((m * math.log(m) - level) / (1.0 - m))
    q = min(m + math.sqrt(0.5 * level), 1.0 - rest, BELOW_ONE)  # only a mean of 1 has the bound 1
    for _ in range(STEPS):
        after = q - (divergence(m, q) - level) * q * (1.0 - q) / (q - m)
        if not m < after < q:
            break
        q = after
    return q


@kernel_without_nan
def choose(state: State, context: int, clock: Clock) -> int:
    """Play the arm with the largest bound; ties at random.

    Bounds are worked out only where they can be the largest: an arm is out if its Pinsker bound or
    its divergence from the largest bound so far says so. The margins are far above rounding.
    """
    plays, mean, score = state.plays[context], state.mean[context], state.score
    log_t = math.log(state.visits[context] + 1.0)
    level = state.width**2 * max(log_t + state.c * math.log(max(log_t, 1.0)), 0.0)
    scale, beyond = math.sqrt(level), level + 1e-9 * (1.0 + level)
    high = -np.inf
    for j in range(len(score)):
        score[j] = mean[j] + scale * state.root[context, j]
        high = score[j] if score[j] > high else high
    if high == np.inf:
        return among(score, high, clock)
    first = 0
    for j in range(len(score)):
        first = j if score[j] == high else first
    top = bound(mean[first], level / plays[first])
    for j in range(len(score)):
        if score[j] < top - 1e-9:
            continue
        if mean[j] < top < 1.0 and plays[j] * divergence(mean[j], top) > beyond:
            score[j] = -np.inf
            continue
        score[j] = bound(mean[j], level / plays[j])
        top = score[j] if score[j] > top else top
    return among(score, top, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward; means are sums over counts, so that equal histories tie."""
    state.visits[context] += 1
    state.plays[context, arm] += 1
    state.total[context, arm] += reward
    n = state.plays[context, arm]
    state.mean[context, arm] = state.total[context, arm] / n
    state.root[context, arm] = 1.0 / math.sqrt(2.0 * n)


class KLUCB(Compiled):
    """KL-UCB for each context on its own; rewards in [0, 1].

    Every arm once, then in round t of the context the arm with the largest q such that
    N[a] kl(S[a]/N[a], q) <= width^2 (ln t + c ln ln t). Theory takes c = 3, the authors recommend
    c = 0. Near the mean the interval is `width` times as wide as theirs. Meets the lower bound of
    Lai and Robbins for Bernoulli rewards, and is much better than UCB1 where means are near 0 or 1;
    shares nothing between contexts.

    >>> learner = KLUCB(contexts=1, arms=2, seed=1)
    >>> for reward in (0.0, 1.0, 1.0):
    ...     learner.tell(0, learner.ask(0), reward)
    >>> int(learner.policy()[0]) == learner.ask(0)
    True
    """

    kernels = Kernels(choose, update)
    unit_rewards = True

    def __init__(
        self, contexts: int, arms: int, *, c: float = 0.0, width: float = 1.0, seed: int = 0
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        state = zeros(State, S, K)._replace(
            mean=np.full((S, K), np.inf),
            c=checks.real("c", c, "a number of at least 0", -math.ulp(0.0), 1e9),
            width=checks.real("width", width, "a positive number", 0.0, 1e9),
        )
        super().__init__(S, K, seed, state)

    def policy(self) -> IntVector:
        """Return each context's arm with the largest mean so far."""
        mean = np.where(self.state.plays > 0, self.state.mean, -np.inf)
        return np.argmax(mean, axis=1)
