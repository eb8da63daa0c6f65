"""Known classes: after Maillard and Mannor, "Latent bandits", ICML 2014.

Theirs: the first two of their settings; the means mu_cj of all classes c are known, the class of a
context is not; a context's class must lie in the confidence intervals of all arms that it played,
and the learner plays the best arm of the most promising class that is left, or UCB if none is. Our
reading: the width of the intervals (that of UCB1, scaled to the noise), and that each context keeps
its own intervals and counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine import Clock, Kernels, kernel, largest
from lumpable.learners.learner import Cells, Compiled, Counts, PerArm, PerContext, zeros
from lumpable.learners.mucb import check_means


class State(NamedTuple):
    """One row per context; one row of `group_means` per class."""

    plays: Counts
    """n_ij."""
    mean: Cells
    """m_ij; 0 for an arm that was not played yet."""
    visits: PerContext
    """n_i."""
    group_means: FloatMatrix
    """mu_cj."""
    best_arm: IntVector
    best_mean: FloatVector
    radius: PerArm
    promise: FloatVector
    score: PerArm
    scale: float


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play the best arm of the class with the largest best mean among those in all intervals."""
    plays, mean, radius = state.plays[context], state.mean[context], state.radius
    log = math.log(1.0 + state.visits[context])
    for j in range(len(radius)):
        radius[j] = state.scale * math.sqrt(2.0 * log / plays[j]) if plays[j] > 0 else np.inf
    left = False
    for c in range(len(state.promise)):
        state.promise[c] = -np.inf
        inside = True
        for j in range(len(radius)):
            if abs(mean[j] - state.group_means[c, j]) > radius[j]:
                inside = False
                break
        if inside:
            left = True
            state.promise[c] = state.best_mean[c]
    if left:
        return state.best_arm[largest(state.promise, clock)]
    for j in range(len(radius)):
        state.score[j] = mean[j] + radius[j]
    return largest(state.score, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to its arm's mean."""
    state.visits[context] += 1
    state.plays[context, arm] += 1
    state.mean[context, arm] += (reward - state.mean[context, arm]) / state.plays[context, arm]


class KnownClusters(Compiled):
    """Optimism over the known classes that a context's rewards do not rule out.

    Class c is ruled out for context i if |m_ij - mu_cj| > U_ij = 2 width sd sqrt(2 ln(1 + n_i) /
    n_ij) for some arm j, which is the width of UCB1 for rewards in [0, 1] (sd 1/2). By our reading
    its regret is bounded for all time if every more promising class differs from the true one on
    the true one's best arm; otherwise it grows like ln T. It does not know how many contexts share
    a class, and learns nothing from one context for another.

    Parameters
    ----------
    group_means
        mu, one row for each class: knowledge that only an oracle has.
    sd
        Scale of the noise: 1/2 for rewards in [0, 1].
    width
        Factor of the intervals; smaller rules out classes earlier, and the true one at times.

    >>> learner = KnownClusters(1, 2, group_means=[[0.1, 0.9], [0.8, 0.2]], seed=1)
    >>> for _ in range(30):
    ...     learner.tell(0, 1, 0.0)
    >>> learner.ask(0), learner.labels()
    (0, array([1]))
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        group_means: npt.ArrayLike,
        sd: float = 0.5,
        width: float = 1.0,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        mu = check_means(group_means, K)
        sd = checks.real("sd", sd, "a number of at least 0", -math.ulp(0.0), 1e9)
        width = checks.real("width", width, "a positive number", 0.0, 1e9)
        state = zeros(State, S, K)._replace(
            group_means=mu,
            best_arm=np.argmax(mu, axis=1),
            best_mean=np.max(mu, axis=1),
            promise=np.zeros(len(mu)),
            scale=2.0 * width * sd,
        )
        super().__init__(S, K, seed, state)
        self._variance = max(sd, 1e-9) ** 2

    def _fit(self) -> FloatMatrix:
        """Return the logarithm of each class's likelihood for each context, its best being 0."""
        plays, mean, mu = self.state.plays, self.state.mean, self.state.group_means
        error = plays @ (mu * mu).T - 2.0 * (plays * mean) @ mu.T
        return (error.min(axis=1, keepdims=True) - error) / (2.0 * self._variance)

    def labels(self) -> IntVector:
        """Return each context's most likely class, by least squares weighted with the plays."""
        return np.argmax(self._fit(), axis=1)

    def policy(self) -> IntVector:
        """Return each context's arm with the largest mean over classes, weighted by likelihood."""
        return np.argmax(np.exp(self._fit()) @ self.state.group_means, axis=1)
