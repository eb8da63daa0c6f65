"""Explore uniformly, group the contexts by k-means, then one Thompson sampling per group.

The plain way to use the number r of groups. The grouping is weighted k-means with missing cells
(`lloyd`): min sum_ij n_ij (m_ij - B_{g(i) j})^2 over the groups g. It is repeated with all that was
seen since, at geometric times. In a group the learner is Gaussian Thompson sampling (Agrawal and
Goyal, "Further optimal regret bounds for Thompson sampling", AISTATS 2013) on the pooled plays of
its contexts,

    theta_j ~ N(mu_j, (width sd)^2 / (N_j + 1)),   mu_j = (sum of rewards + a_j) / (N_j + 1),

where a_j, the mean of arm j over all contexts, counts as one play.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, IntVector
from lumpable.learners.engine import Clock, Kernels, among, kernel, normal
from lumpable.learners.fitting.lloyd import lloyd
from lumpable.learners.learner import Cells, Compiled, Counts, PerContext, zeros

MOST_EXPLORED = 5
"""Plays of each context to explore with, at most, unless more are asked for."""


class State(NamedTuple):
    """One row per context and one per group."""

    plays: Counts
    """n_ij."""
    total: Cells
    """Sums of rewards; over n_ij they are m_ij."""
    visits: PerContext
    label: PerContext
    """The group of each context: a row of the next two."""
    mean: FloatMatrix
    """mu_j."""
    N: FloatMatrix
    """N_j + 1."""
    due: IntVector
    """[the tells at which contexts are grouped next]."""
    scale: float
    explore: int


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play an arm that the context has played least, then the largest theta_j of its group."""
    if state.visits[context] < state.explore:
        plays = state.plays[context]
        return among(plays, plays.min(), clock)
    mean, N = state.mean[state.label[context]], state.N[state.label[context]]
    best, top = 0, -np.inf
    for j in range(len(mean)):
        theta = mean[j] + state.scale / math.sqrt(N[j]) * normal(clock)
        if theta > top:
            best, top = j, theta
    return best


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to its context and its group."""
    state.visits[context] += 1
    state.plays[context, arm] += 1
    state.total[context, arm] += reward
    b = state.label[context]
    state.N[b, arm] += 1.0
    state.mean[b, arm] += (reward - state.mean[b, arm]) / state.N[b, arm]


class ExploreThenKMeans(Compiled):
    """Explore uniformly, group the contexts by k-means, then one Thompson sampling per group.

    Knows r, which most others do not need. Contexts that have explored enough before the first
    grouping play one Thompson for all. Good with 50 and more rounds for each context; with fewer,
    the exploration is most of the regret and the groups are guesses.

    Parameters
    ----------
    explore
        Plays of each context to explore with. Unless given, a tenth of its rounds, but at most 5:
        since contexts are grouped again and again, more did not pay in trials.
    width
        1 draws from the posterior for rewards with standard deviation `sd`; less is greedier.
    growth
        Contexts are grouped again when the number of tells has grown by this factor.

    >>> learner = ExploreThenKMeans(contexts=4, arms=2, groups=2, explore=10, seed=1)
    >>> for _ in range(50):
    ...     for context in range(4):
    ...         arm = learner.ask(context)
    ...         learner.tell(context, arm, float(arm == context % 2))
    >>> learner.policy().tolist()
    [0, 1, 0, 1]
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        groups: int,
        horizon: int | None = None,
        sd: float = 0.5,
        explore: int | None = None,
        width: float = 1.0,
        growth: float = 1.2,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        r = checks.whole("groups", groups, 1)
        if explore is None:
            rounds = MOST_EXPLORED * 10 * S if horizon is None else horizon
            explore = min(max(checks.whole("horizon", rounds, 1) // (10 * S), 1), MOST_EXPLORED)
        explore = checks.whole("explore", explore, 1)
        self.growth = checks.real("growth", growth, "a number above 1", 1.0, 1e9)
        width = checks.real("width", width, "a positive number", 0.0, 1e9)
        state = zeros(State, S, K)._replace(
            mean=np.zeros((r, K)),
            N=np.ones((r, K)),
            due=np.array([S * explore]),
            scale=width * checks.real("sd", sd, "a positive number", 0.0, 1e9),
            explore=explore,
        )
        super().__init__(S, K, seed, state)

    def refit(self) -> None:
        """Group the contexts again and pool their plays."""
        s, r = self.state, len(self.state.N)
        plays, total = s.plays.astype(np.float64), s.total
        rng = np.random.default_rng([self.seed, self.tells])
        s.label[:], _ = lloyd(plays, total / np.maximum(plays, 1.0), r, rng, known=s.label)
        every = plays.sum(axis=0)
        a = np.where(every > 0, total.sum(axis=0), total.sum() / every.sum()) / np.maximum(every, 1)
        member = (s.label == np.arange(r)[:, None]).astype(np.float64)
        s.N[:] = member @ plays + 1.0
        s.mean[:] = (member @ total + a) / s.N
        s.due[0] = max(self.tells + 1, math.ceil(self.growth * self.tells))

    def policy(self) -> IntVector:
        """Return the arm with the largest mean in each context's group."""
        return np.argmax(self.state.mean, axis=1)[self.state.label]

    def labels(self) -> IntVector:
        """Return the group of each context."""
        return self.state.label.copy()
