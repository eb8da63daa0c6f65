"""NMF-Bandit: Sen and others, "Contextual bandits with latent confounders", AISTATS 2017.

Sen, Shanmugam, Kocaoglu, Dimakis and Shakkottai, "Contextual bandits with latent confounders: an
NMF approach". A context i tells of a hidden cause by the row A_i >= 0, a cause pays by W >= 0, so
the L x K matrix of means is U = A W with m causes.

Theirs: epsilon-greedy; exploration plays arms that were chosen to recover A and W, exploitation the
largest of (A W)_i. The rest is our reading: epsilon_t = min(1, c / t), where c = 2 (L + K) is ours;
exploration of a few random arms for all contexts and of all arms for a few; A and W from weighted
least squares on all that was seen, by coordinate descent with the negative cut off; refits at
geometric times; rows that were seen little are drawn to the average row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolVector, FloatMatrix, IntMatrix, IntVector
from lumpable.learners.engine import TELLS, Clock, Kernels, below, kernel, uniform
from lumpable.learners.learner import Cells, Compiled, Counts, zeros

GROWTH = 1.25
"""How much later each refit is than the one before."""


class State(NamedTuple):
    """Counts and means of cells, and the factors of the last refit."""

    plays: Counts
    mean: Cells
    A: FloatMatrix
    """L x m."""
    W: FloatMatrix
    """m x K."""
    best: IntVector
    """argmax of (A W)_i."""
    wide: IntVector
    """The few arms that exploration plays for all contexts."""
    deep: BoolVector
    """The few contexts for which exploration plays all arms."""
    due: IntVector
    c: float


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Explore with probability min(1, c / t), else play the best arm of A W."""
    if uniform(clock) * (clock[TELLS] + 1.0) >= state.c:
        return state.best[context]
    if state.deep[context] and uniform(clock) < 0.5:
        return below(clock, state.plays.shape[1])
    return state.wide[below(clock, len(state.wide))]


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to its cell's mean."""
    state.plays[context, arm] += 1
    state.mean[context, arm] += (reward - state.mean[context, arm]) / state.plays[context, arm]


def factor(
    plays: IntMatrix, mean: FloatMatrix, A: FloatMatrix, W: FloatMatrix, ridge: float, sweeps: int
) -> None:
    """Improve A, W >= 0 in place: least squares of A W to the means, weighted by plays.

    A column of A or a row of W at a time, each in closed form with its negative entries cut off;
    `ridge` draws a row of A to the average row, and W to 0. It is added to sums of plays times
    squared factors, so it weighs as `ridge` plays where the other factor is 1 and as ridge / w^2
    where it is w: it has a unit, and the default is meant for rewards of about 1.
    """
    n = plays.astype(np.float64)
    left = n * (mean - A @ W)  # what is not explained yet, weighted
    for _ in range(sweeps):
        for k in range(A.shape[1]):
            curve, pull = n @ (W[k] ** 2) + ridge, ridge * A[:, k].mean()
            moved = np.maximum(0.0, (left @ W[k] + (curve - ridge) * A[:, k] + pull) / curve)
            left -= n * np.outer(moved - A[:, k], W[k])
            A[:, k] = moved
            curve = (A[:, k] ** 2) @ n + ridge
            moved = np.maximum(0.0, (A[:, k] @ left + (curve - ridge) * W[k]) / curve)
            left -= n * np.outer(A[:, k], moved - W[k])
            W[k] = moved


class NMFGreedy(Compiled):
    """Greedy play on a non-negative factorisation of the means, with exploration c / t.

    Good where means are a mixture of few causes and no less than 0, with gaps that do not shrink:
    then the authors bound the regret by L poly(m, log K) log T. Fragile where a few `deep` contexts
    must teach all arms, which here is far worse than the default.

    Parameters
    ----------
    rank
        m, the number of hidden causes.
    c
        Exploration; about c (1 + ln(T / c)) of T rounds explore. Unless given, 2 (L + K).
    wide, deep
        How many arms are explored for all contexts, and how many contexts explore all arms. Unless
        given, 2 m arms and all contexts; contexts that explore all arms do so half of the time.
    ridge, sweeps
        Of the least squares, see `factor`.

    >>> learner = NMFGreedy(contexts=2, arms=2, rank=1, seed=1)
    >>> for reward in (0.0, 1.0, 1.0):
    ...     learner.tell(0, learner.ask(0), reward)
    >>> learner.policy().shape
    (2,)
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        rank: int = 5,
        c: float | None = None,
        wide: int | None = None,
        deep: int | None = None,
        ridge: float = 1.0,
        sweeps: int = 20,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        m = checks.whole("rank", rank, 1)
        few_arms = min(2 * m, K) if wide is None else checks.whole("wide", wide, 1, K)
        few_contexts = S if deep is None else checks.whole("deep", deep, 0, S)
        rng = np.random.default_rng([checks.whole("seed", seed, 0), 0])
        chosen = np.zeros(S, dtype=np.bool_)
        chosen[rng.permutation(S)[:few_contexts]] = True
        state = zeros(State, S, K)._replace(
            A=rng.random((S, m)),
            W=rng.random((m, K)),
            best=rng.integers(K, size=S),
            wide=rng.permutation(K)[:few_arms],
            deep=chosen,
            due=np.array([S + K], dtype=np.int64),
            c=2.0 * (S + K) if c is None else checks.real("c", c, "a number above 0", 0, 1e18),
        )
        self.ridge = checks.real("ridge", ridge, "a positive number", 0.0, 1e9)
        self.sweeps = checks.whole("sweeps", sweeps, 1)
        super().__init__(S, K, seed, state)

    def refit(self) -> None:
        """Fit A and W to all that was seen, from where they are."""
        state = self.state
        factor(state.plays, state.mean, state.A, state.W, self.ridge, self.sweeps)
        state.best[:] = np.argmax(self.means(), axis=1)
        state.due[0] = int(GROWTH * self.tells) + 1

    def means(self) -> FloatMatrix:
        """Return A W as of the last refit."""
        return self.state.A @ self.state.W

    def policy(self) -> IntVector:
        """Return each context's best arm of A W as of the last refit."""
        return self.state.best.copy()
