"""DynUCB: Nguyen and Lauw, "Dynamic clustering of contextual multi-armed bandits", CIKM 2014.

With arms for features (x is the unit vector of an arm) all matrices are diagonal and the algorithm
is, with n_ij plays and the sum s_ij of the rewards of context i and arm j:

    w_ij = s_ij / (1 + n_ij), and in a cluster k:  N_kj = 1 + sum_k n_ij,  w_kj = sum_k s_ij / N_kj,
    play the largest w_kj + alpha sqrt(ln(1 + t) / N_kj) in the cluster k of the context that came,
    then move the context to the cluster whose w_k is nearest to its w_i.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, IntVector
from lumpable.learners.engine import Clock, Kernels, kernel
from lumpable.learners.fitting.cluster_ucb import choose, distance, learn, remove
from lumpable.learners.learner import Cells, Compiled, Counts, PerArm, zeros


class State(NamedTuple):
    """One row per context and one per cluster."""

    plays: Counts
    """n_ij."""
    total: Cells
    """s_ij."""
    w: Cells
    label: IntVector
    """The cluster k of each context: a row of the next three."""
    N: FloatMatrix
    sum: FloatMatrix
    """sum_k s_ij."""
    W: FloatMatrix
    """w_kj."""
    score: PerArm
    alpha: float


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Learn for the context and its cluster, then move the context if another is nearer."""
    i, k = context, state.label[context]
    learn(state, i, k, arm, reward)
    nearest, least = k, distance(state.w[i], state.W[k], np.inf)
    for other in range(len(state.N)):
        away = distance(state.w[i], state.W[other], least)
        if away < least:
            nearest, least = other, away
    if nearest != k:
        state.label[i] = nearest
        remove(state, i, k)
        for j in range(len(state.score)):
            if state.plays[i, j] > 0:
                state.N[nearest, j] += state.plays[i, j]
                state.sum[nearest, j] += state.total[i, j]
                state.W[nearest, j] = state.sum[nearest, j] / state.N[nearest, j]


class DynUCB(Compiled):
    """A fixed number of clusters, each with one UCB; contexts move to the nearest after each round.

    Needs no r and starts from random clusters. Mistakes can be corrected, since a context may move
    at any time, so it follows preferences that change. Nearness looks at all arms, and one that was
    never played counts as 0: contexts gather by what they were made to play, and clusters may stay
    mixed for many rounds.

    Parameters
    ----------
    clusters
        How many; the default is ours.
    alpha
        Width of the confidence of an arm: alpha sqrt(ln(1 + t) / N_kj); the default was
        tuned by us at (S, K, r) = (200, 50, 5), public code uses other values.

    >>> learner = DynUCB(contexts=2, arms=2, clusters=2, alpha=0.5, seed=4)
    >>> for _ in range(300):
    ...     for context in (0, 1):
    ...         arm = learner.ask(context)
    ...         learner.tell(context, arm, float(arm == context))
    >>> learner.policy().tolist()
    [0, 1]
    """

    kernels = Kernels(choose, update)

    def __init__(
        self, contexts: int, arms: int, *, clusters: int = 16, alpha: float = 0.3, seed: int = 0
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        M = checks.whole("clusters", clusters, 1)
        rng = np.random.default_rng([checks.whole("seed", seed, 0), S])
        state = zeros(State, S, K)._replace(
            label=rng.integers(M, size=S),
            N=np.ones((M, K)),
            sum=np.zeros((M, K)),
            W=np.zeros((M, K)),
            alpha=checks.real("alpha", alpha, "a positive number", 0.0, 1e9),
        )
        super().__init__(S, K, seed, state)

    def policy(self) -> IntVector:
        """Return the arm with the largest mean in each context's cluster."""
        return np.argmax(self.state.W, axis=1)[self.state.label]

    def labels(self) -> IntVector:
        """Return the cluster of each context."""
        return self.state.label.copy()
