"""Agnostic clusters: after Maillard and Mannor, "Latent bandits", ICML 2014.

Theirs: the last of their three settings, in which nothing is known of the classes. The rule and the
widths are our reading: contexts are put together while their confidence intervals allow that they
are of one class, and rewards of such contexts are added up. Two contexts are compatible if their
intervals overlap on every arm; a context plays by the UCB of all contexts compatible with it, cut
to its own interval. The widths are those of UCB1, scaled to the noise, and ln n_i is rounded up to
the next power of two in n_i, so that a reward moves the intervals of one arm only, except when n_i
doubles.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, IntVector
from lumpable.learners.engine import Clock, Kernels, kernel, largest
from lumpable.learners.learner import Cells, Compiled, Counts, PerArm, PerContext, Unfit, zeros

MOST_CONTEXTS = 3_000
"""Pairs of contexts take 4 S^2 bytes, and contexts that part or join cost O(K) each."""


class State(NamedTuple):
    """Intervals have arms first, contexts second: they are compared along an arm's row."""

    plays: Counts
    """n_ij, (S, K)."""
    total: Cells
    """Sums of rewards, (S, K)."""
    low: FloatMatrix
    """m_ij - U_ij, (K, S); minus infinity for an arm that was not played yet."""
    high: FloatMatrix
    """m_ij + U_ij, (K, S)."""
    visits: PerContext
    """n_i."""
    apart: npt.NDArray[np.int32]
    """On how many arms the intervals of two contexts do not overlap, (S, S)."""
    pool_plays: Counts
    """Plays of all contexts compatible with each, (S, K)."""
    pool_total: Cells
    pool_visits: PerContext
    score: PerArm
    scale: float


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play the arm with the largest upper bound of the pool, cut to the context's own interval."""
    log = math.log(1.0 + state.pool_visits[context])
    for j in range(len(state.score)):
        own, n = state.high[j, context], state.pool_plays[context, j]
        state.score[j] = own
        if n > 0:
            mean = state.pool_total[context, j] / n
            bound = mean + state.scale * math.sqrt(2.0 * log / n)
            if state.low[j, context] <= bound < own:
                state.score[j] = bound
    return largest(state.score, clock)


@kernel
def give(state: State, source: int, target: int, sign: int) -> None:
    """Add all that was seen of one context to another's pool, or take it away."""
    state.pool_visits[target] += sign * state.visits[source]
    plays, total = state.pool_plays[target], state.pool_total[target]
    more_plays, more_total = state.plays[source], state.total[source]
    for j in range(len(plays)):
        plays[j] += sign * more_plays[j]
        total[j] += sign * more_total[j]


@kernel
def move(state: State, i: int, arm: int, low: float, high: float) -> None:
    """Set a context's interval on an arm, and join or part the contexts that this concerns."""
    lows, highs, apart = state.low[arm], state.high[arm], state.apart
    low_before, high_before = lows[i], highs[i]
    lows[i], highs[i] = low, high
    for other in range(len(lows)):
        was = low_before <= highs[other] and lows[other] <= high_before
        now = low <= highs[other] and lows[other] <= high
        if was == now or other == i:
            continue
        apart[i, other] += 1 if was else -1
        apart[other, i] = apart[i, other]
        if was and apart[i, other] == 1:
            give(state, i, other, -1)
            give(state, other, i, -1)
        elif now and apart[i, other] == 0:
            give(state, i, other, 1)
            give(state, other, i, 1)


@kernel
def interval(state: State, i: int, arm: int, log: float) -> None:
    """Work out a context's interval on an arm that it has played."""
    n = state.plays[i, arm]
    mean, radius = state.total[i, arm] / n, state.scale * math.sqrt(2.0 * log / n)
    move(state, i, arm, mean - radius, mean + radius)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to the pools of its context, then update which contexts are compatible."""
    for other in range(len(state.visits)):
        if state.apart[context, other] == 0:
            state.pool_visits[other] += 1
            state.pool_plays[other, arm] += 1
            state.pool_total[other, arm] += reward
    state.visits[context] += 1
    state.plays[context, arm] += 1
    state.total[context, arm] += reward
    n, power = state.visits[context], 2
    while power <= n:
        power *= 2
    log = math.log(float(power))
    if power == 2 * n:  # n is a power of two: all intervals widen
        for j in range(len(state.score)):
            if state.plays[context, j] > 0:
                interval(state, context, j, log)
    else:
        interval(state, context, arm, log)


class AgnosticClusters(Compiled):
    """UCB on all contexts whose confidence intervals overlap with the context's own on every arm.

    U_ij = 2 width sd sqrt(2 ln n' / n_ij), where n' is the smallest power of two above n_i; the
    pool's is the same with 1 + (visits of the pool) and its plays. The pool's upper bound counts if
    it lies within the context's own interval.

    It lies between one UCB for all (before contexts can be told apart) and a UCB for each group. A
    context is held back for as long as contexts that differ from it stay compatible: at width 1 and
    few visits per cell these are all of them. A reward costs O(S), at times O(S K); memory is
    O(S^2 + S K): above 3,000 contexts it is not run.

    Parameters
    ----------
    sd
        Scale of the noise: 1/2 for rewards in [0, 1].
    width
        Factor of all intervals; 0.2 to 0.5 in practice.

    >>> learner = AgnosticClusters(contexts=3, arms=2, seed=1)
    >>> for _ in range(50):
    ...     for context, reward in ((0, 1.0), (1, 1.0), (2, 0.0)):
    ...         learner.tell(context, 0, reward)
    >>> learner.labels()
    array([0, 0, 1])
    """

    kernels = Kernels(choose, update)

    def __init__(
        self, contexts: int, arms: int, *, sd: float = 0.5, width: float = 1.0, seed: int = 0
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        if S > MOST_CONTEXTS:
            raise Unfit(
                f"AgnosticClusters: compares all pairs of contexts, at most {MOST_CONTEXTS:,}; "
                f"got {S:,}"
            )
        sd = checks.real("sd", sd, "a number of at least 0", -math.ulp(0.0), 1e9)
        state = zeros(State, S, K)._replace(
            low=np.full((K, S), -np.inf),
            high=np.full((K, S), np.inf),
            apart=np.zeros((S, S), dtype=np.int32),
            scale=2.0 * sd * checks.real("width", width, "a positive number", 0.0, 1e9),
        )
        super().__init__(S, K, seed, state)

    def policy(self) -> IntVector:
        """Return each context's arm with the largest mean of its pool, cut to its own interval."""
        state = self.state
        mean = state.pool_total / np.maximum(state.pool_plays, 1)
        mean = np.clip(mean, state.low.T, state.high.T)
        return np.argmax(np.where(state.pool_plays > 0, mean, -np.inf), axis=1)

    def labels(self) -> IntVector:
        """Return the connected parts of the graph of compatible contexts."""
        compatible = self.state.apart == 0
        label = np.full(self.contexts, -1, dtype=np.int64)
        for i in range(self.contexts):
            if label[i] < 0:
                number, edge = int(label.max()) + 1, np.arange(self.contexts) == i
                while edge.any():
                    label[edge] = number
                    edge = compatible[edge].any(axis=0) & (label < 0)
        return label
