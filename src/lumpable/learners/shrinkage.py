"""Empirical Bayes: Efron and Morris, "Data analysis using Stein's estimator ...", JASA 1975.

Thompson sampling with one group, whose means are shrunk towards all contexts' mean. The two-level
normal model is that of "Data analysis using Stein's estimator and its generalizations", JASA 70;
the bandit on it is ours: y ~ N(mu_ij, sigma^2), mu_ij ~ N(a_j, sigma^2 / m0), a_j flat. With n and
s the number and sum of a pair's rewards, P_j = sum_i n_ij / (n_ij + m0) and Q_j = sum_i s_ij /
(n_ij + m0), the posterior of a_j is N(Q_j / P_j, sigma^2 / (m0 P_j)) and so

    mu_ij | data ~ N((m0 Q_j / P_j + s_ij) / (m0 + n_ij), sigma^2 (k + m0 k^2 / P_j)),
    k = 1 / (m0 + n_ij).

The strength m0 and sigma maximise the restricted likelihood (Patterson and Thompson, Biometrika 58,
1971), which stays valid when arms are chosen by past rewards, under a weak prior for m0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolMatrix, FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine import Clock, Kernels, among, kernel, largest, normals
from lumpable.learners.learner import Cells, Compiled, PerArm, zeros

USUAL = 5.0
"""Median of the prior of m0: a log-normal law with a scale of 2."""
STRENGTHS = USUAL * 2.0 ** (np.arange(-20, 21) / 2)
"""Values of m0 that are compared."""


class State(NamedTuple):
    """One row per context, and the population."""

    plays: Cells
    """n_ij."""
    mean: Cells
    """s_ij / n_ij; 0 for an arm that was not played yet."""
    weight: PerArm
    """P_j."""
    pull: PerArm
    """Q_j."""
    fit: FloatVector
    """m0 and sigma."""
    squares: FloatVector
    """The sum of all squared distances from their pair's mean."""
    unplayed: IntVector
    """The number of arms that no context has played yet."""
    due: IntVector
    score: PerArm
    spread: float


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play an arm that no context has played; else draw all means and play the largest."""
    if state.unplayed[0] > 0:
        return among(state.weight, 0.0, clock)
    m0, sigma = state.fit[0], state.spread * state.fit[1]
    score = state.score
    normals(clock, score)
    for j in range(len(score)):
        n = state.plays[context, j]
        k = 1.0 / (m0 + n)
        mean = (m0 * state.pull[j] / state.weight[j] + n * state.mean[context, j]) * k
        score[j] = mean + sigma * math.sqrt(k + m0 * k * k / state.weight[j]) * score[j]
    return largest(score, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to its pair and to the population."""
    m0 = state.fit[0]
    n, before = state.plays[context, arm], state.mean[context, arm]
    if state.weight[arm] == 0.0:
        state.unplayed[0] -= 1
    mean = before + (reward - before) / (n + 1.0)
    state.plays[context, arm], state.mean[context, arm] = n + 1.0, mean
    state.squares[0] += (reward - before) * (reward - mean)
    state.weight[arm] += (n + 1.0) / (n + 1.0 + m0) - n / (n + m0)
    state.pull[arm] += (n + 1.0) * mean / (n + 1.0 + m0) - n * before / (n + m0)


class Shrinkage(Compiled):
    """Thompson sampling that believes all contexts to be one group with some spread inside.

    How much an arm's mean in a context is drawn to its mean in all is learnt: `m0` plays of prior,
    fitted whenever the rewards are `growth` times as many. `spread` multiplies the standard
    deviation of the drawn means; below 1 it explores less. Works for any rewards and needs no
    scale. Good early on, and where contexts differ by a little; it cannot see groups.

    >>> learner = Shrinkage(contexts=3, arms=2, seed=1)
    >>> for context in (0, 1, 0, 1):
    ...     learner.tell(context, learner.ask(context), 1.0)
    >>> learner.policy().shape
    (3,)
    """

    kernels = Kernels(choose, update)

    def __init__(
        self, contexts: int, arms: int, *, spread: float = 1.0, growth: float = 2.0, seed: int = 0
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        self.growth = checks.real("growth", growth, "a number above 1", 1.0, 1e9)
        state = zeros(State, S, K)._replace(
            fit=np.array([USUAL, 1.0]),
            squares=np.zeros(1),
            unplayed=np.array([K]),
            due=np.array([2]),
            spread=checks.real("spread", spread, "a positive number", 0.0, 1e6),
        )
        super().__init__(S, K, seed, state)

    def refit(self) -> None:
        """Fit m0 and sigma to all rewards, and recompute the population's sums.

        There is nothing to fit until an arm has had different rewards.
        """
        state = self.state
        state.due[0] = max(self.tells + 1, math.ceil(self.growth * self.tells))
        seen = state.weight > 0.0
        n, x = state.plays[:, seen], state.mean[:, seen]
        freedom = n.sum() - n.shape[1]
        played = n > 0.0
        most = np.where(played, x, -np.inf).max(axis=0)
        least = np.where(played, x, np.inf).min(axis=0)
        if state.squares[0] == 0.0 and (most == least).all():
            return
        fits = [self._fit(m0, n, x, played, freedom) for m0 in STRENGTHS]
        best = int(np.argmin([loss for loss, _ in fits]))
        m0 = STRENGTHS[best]
        state.fit[:] = m0, math.sqrt(fits[best][1])
        state.weight[:] = (state.plays / (state.plays + m0)).sum(axis=0)
        state.pull[:] = (state.plays * state.mean / (state.plays + m0)).sum(axis=0)

    def _fit(
        self, m0: float, n: FloatMatrix, x: FloatMatrix, played: BoolMatrix, freedom: float
    ) -> tuple[float, float]:
        """Return -2 times the log posterior density of m0 with the best sigma^2, and that."""
        w = n / (n + m0)
        P = w.sum(axis=0)
        a = (w * x).sum(axis=0) / P
        variance = (self.state.squares[0] + m0 * (w * (x - a) ** 2).sum()) / freedom
        determinants = np.log((n[played] + m0) / m0).sum() + np.log(m0 * P).sum()
        prior = (math.log(m0 / USUAL) / 2.0) ** 2
        return freedom * math.log(variance) + determinants + prior, variance

    def policy(self) -> IntVector:
        """Return each context's arm with the largest posterior mean."""
        state, m0 = self.state, self.state.fit[0]
        seen = state.weight > 0.0
        population = state.pull / np.where(seen, state.weight, 1.0)
        mean = (m0 * population + state.plays * state.mean) / (m0 + state.plays)
        return np.argmax(np.where(seen, mean, -np.inf), axis=1)
