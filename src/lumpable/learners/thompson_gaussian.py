"""Gaussian Thompson: after Honda and Takemura, "Optimality of Thompson ...", AISTATS 2014.

The model of "Optimality of Thompson sampling for Gaussian bandits depends on priors", but with one
variance for all pairs, which is ours: with one for each arm, they show, the prior below is not
optimal. Here y ~ N(mu_ij, sigma^2), mu flat and p(sigma^2) = 1 / sigma^2. After N rewards of P
pairs, with m_ij and n_ij the mean and the number of a pair's rewards and R the sum of all squared
distances from their pair's mean,

    sigma^2 | data ~ (R / 2) / Gamma((N - P) / 2),    mu_ij | sigma, data ~ N(m_ij, sigma^2 / n_ij).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine import Clock, Kernels, among, below, gamma, kernel, largest, normals
from lumpable.learners.learner import Cells, Compiled, Counts, PerArm, zeros


class State(NamedTuple):
    """What is known of each row and arm, and of the noise."""

    plays: Counts
    """n_ij."""
    mean: FloatMatrix
    """m_ij; infinite for an arm that was not played yet."""
    root: Cells
    """1 / sqrt(n_ij), 0 for an arm that was not played yet."""
    unplayed: IntVector
    """Arms of a row that were not played yet."""
    noise: FloatVector
    """R and N - P."""
    row: IntVector
    """The row of each context."""
    score: PerArm
    spread: float


def fresh(row: IntVector, arms: int, spread: float) -> State:
    """Return a state that was told nothing, for contexts that fall into these rows."""
    rows = int(row.max()) + 1
    return zeros(State, rows, arms)._replace(
        mean=np.full((rows, arms), np.inf),
        unplayed=np.full(rows, arms, dtype=np.int64),
        noise=np.zeros(2),
        row=row,
        spread=checks.real("spread", spread, "a positive number", 0.0, 1e6),
    )


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play an arm of the row that was never played; else draw sigma and all mu, play the largest.

    Without a degree of freedom sigma can be anything: then any arm is played.
    """
    i, score = state.row[context], state.score
    if state.unplayed[i] > 0:
        return among(state.mean[i], np.inf, clock)
    R, freedom = state.noise[0], state.noise[1]
    if freedom == 0.0:
        return below(clock, len(score))
    sigma = state.spread * math.sqrt(0.5 * R / gamma(clock, 0.5 * freedom))
    normals(clock, score)
    for j in range(len(score)):
        score[j] = state.mean[i, j] + sigma * state.root[i, j] * score[j]
    return largest(score, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to its pair's mean and to the squared distances."""
    i = state.row[context]
    state.plays[i, arm] += 1
    n = state.plays[i, arm]
    if n == 1:
        state.mean[i, arm], state.root[i, arm] = reward, 1.0
        state.unplayed[i] -= 1
        return
    before = state.mean[i, arm]
    mean = before + (reward - before) / n
    state.mean[i, arm], state.root[i, arm] = mean, 1.0 / math.sqrt(n)
    state.noise[0] += (reward - before) * (reward - mean)
    state.noise[1] += 1.0


def best_arms(state: State) -> IntVector:
    """Return for each context the arm with the largest mean so far."""
    best: IntVector = np.argmax(np.where(state.plays > 0, state.mean, -np.inf), axis=1)
    return best[state.row]


class GaussianThompson(Compiled):
    """Gaussian Thompson sampling, for each context on its own or, if `pooled`, one for all of them.

    Needs no scale: the variance of the noise is one for all pairs and is drawn each round from its
    exact posterior, then the means from theirs. Arms that were never played come first, in random
    order. `spread` multiplies the standard deviation of the drawn means; below 1 it explores less.
    Good for any rewards, sound where noise is about the same everywhere; per context it pays for
    SK first plays.

    >>> learner = GaussianThompson(contexts=1, arms=2, seed=1)
    >>> for reward in (3.0, 5.0, 4.0):
    ...     learner.tell(0, learner.ask(0), reward)
    >>> learner.policy().shape
    (1,)
    """

    kernels = Kernels(choose, update)

    def __init__(
        self, contexts: int, arms: int, *, pooled: bool = False, spread: float = 1.0, seed: int = 0
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        row = np.zeros(S, dtype=np.int64) if pooled else np.arange(S)
        super().__init__(S, K, seed, fresh(row, K, spread))

    def policy(self) -> IntVector:
        """Return each context's arm with the largest mean so far."""
        return best_arms(self.state)
