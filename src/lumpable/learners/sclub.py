"""SCLUB: Li, Chen, Li and Leung, "Improved algorithm on online clustering of bandits", IJCAI 2019.

Their algorithm with its splits and merges for arms as features, where all matrices are diagonal:
with n_ij plays and the sum s_ij of the rewards of context i and arm j, of a context or of a set of
contexts,

    w_j = s_j / (1 + n_j),   F(n) = sqrt((1 + ln(1 + n)) / (1 + n)),   p_i = n_i / t,

and p the mean of the p_i of a set. Stage s = 1, 2, .. has 2^s rounds. At its start no context is
checked, and each cluster keeps its current w and n as its pivot. In each round context i of cluster
V comes and plays the largest w_j + alpha sqrt(ln(1 + t) / (1 + n_j)) of V. Then:

    split   i leaves V if ||w_i - pivot|| > alpha_theta (F(n_i) + F(pivot's n)),
            or |p_i - p_l| > 2 alpha_p F(t) for some l in V;
    check   i is checked; a cluster is when all its contexts are;
    merge   two checked clusters if ||w - w'|| < alpha_theta (F(n) + F(n')) / 2
            and |p - p'| < alpha_p F(t) / 2.

Our readings: the factors 2 and 1/2 of alpha_p F(t), in which public implementations differ; a
cluster that is new or was merged is its own pivot; merging is tried for the clusters that this
round has touched, since all other estimates are unchanged.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine import TELLS, Clock, Kernels, kernel
from lumpable.learners.fitting.cluster_ucb import choose, learn, remove, spread
from lumpable.learners.learner import Cells, Compiled, Counts, PerArm, PerContext, zeros


class State(NamedTuple):
    """One row per context and one per cluster, of which there are at most as many."""

    plays: Counts
    """n_ij."""
    total: Cells
    """s_ij."""
    w: Cells
    visits: PerContext
    """n_i."""
    checked: BoolVector
    label: PerContext
    """The cluster of each context: a row of all that follow."""
    size: IntVector
    """Contexts in the cluster; 0: the row is free."""
    unchecked: IntVector
    """How many of them are not checked."""
    seen: PerContext
    """n of the cluster."""
    width: FloatVector
    """F(n) of the cluster."""
    N: FloatMatrix
    """1 + n_j of the cluster."""
    sum: Cells
    """s_j of the cluster."""
    W: Cells
    """w of the cluster."""
    pivot: Cells
    pivot_seen: PerContext
    score: PerArm
    alpha: float
    alpha_theta: float
    alpha_p: float


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Learn for the context and its cluster, then split, check and merge."""
    t = int(clock[TELLS]) + 1
    if (t + 1) & t == 0:  # t = 2^s - 1: stage s begins
        begin_stage(state)
    i, c = context, state.label[context]
    state.visits[i] += 1
    state.seen[c] += 1
    state.width[c] = spread(state.seen[c])
    learn(state, i, c, arm, reward)
    if state.size[c] > 1 and inconsistent(state, i, c, t):
        split(state, i, c)
    here = state.label[i]
    if not state.checked[i]:
        state.checked[i] = True
        state.unchecked[here] -= 1
    if here != c and state.unchecked[c] == 0:
        merge(state, c, t)
    if state.unchecked[state.label[i]] == 0:
        merge(state, state.label[i], t)


@kernel
def begin_stage(state: State) -> None:
    """No context is checked; clusters keep their estimates as pivots."""
    state.checked[:] = False
    for c in range(len(state.size)):
        state.unchecked[c], state.pivot_seen[c] = state.size[c], state.seen[c]
        for j in range(len(state.score)):
            state.pivot[c, j] = state.W[c, j]


@kernel
def inconsistent(state: State, i: int, c: int, t: int) -> bool:
    """Whether context i differs from its cluster in rewards or frequency."""
    width = spread(state.visits[i]) + spread(state.pivot_seen[c])
    if not near(state.w[i], state.pivot[c], state.alpha_theta * width):
        return True
    widest = 0
    for other in range(len(state.label)):
        if state.label[other] == c:
            widest = max(widest, abs(state.visits[i] - state.visits[other]))
    return widest / t > 2.0 * state.alpha_p * spread(t)


@kernel
def split(state: State, i: int, c: int) -> None:
    """Make a cluster of context i alone."""
    new = 0
    while state.size[new] > 0:
        new += 1
    state.label[i] = new
    state.size[c] -= 1
    state.size[new] = 1
    state.unchecked[c] -= not state.checked[i]
    state.unchecked[new] = not state.checked[i]
    state.seen[c] -= state.visits[i]
    state.seen[new] = state.visits[i]
    state.width[c], state.width[new] = spread(state.seen[c]), spread(state.seen[new])
    for j in range(len(state.score)):
        state.N[new, j] = 1.0 + state.plays[i, j]
        state.sum[new, j] = state.total[i, j]
        state.W[new, j] = state.pivot[new, j] = state.w[i, j]
    remove(state, i, c)
    state.pivot_seen[new] = state.visits[i]


@kernel
def merge(state: State, c: int, t: int) -> None:
    """Let the other checked clusters that are near join this one in turn.

    The smaller of the two numbers stays.
    """
    close = 0.5 * state.alpha_p * spread(t) * t
    for b in range(len(state.size)):
        if b == c or state.size[b] == 0 or state.unchecked[b] > 0:
            continue
        if abs(state.seen[c] / state.size[c] - state.seen[b] / state.size[b]) >= close:
            continue
        width = 0.5 * state.alpha_theta * (state.width[c] + state.width[b])
        if not near(state.W[c], state.W[b], width):
            continue
        into, gone = min(b, c), max(b, c)
        for i in range(len(state.label)):
            if state.label[i] == gone:
                state.label[i] = into
        state.size[into] += state.size[gone]
        state.seen[into] += state.seen[gone]
        state.width[into] = spread(state.seen[into])
        state.size[gone] = 0
        for j in range(len(state.score)):
            state.N[into, j] += state.N[gone, j] - 1.0
            state.sum[into, j] += state.sum[gone, j]
            state.W[into, j] = state.pivot[into, j] = state.sum[into, j] / state.N[into, j]
        state.pivot_seen[into] = state.seen[into]
        c = into


@kernel
def near(a: FloatVector, b: FloatVector, width: float) -> bool:
    """Whether ||a - b|| is at most `width`; most pairs are told apart by their first arms."""
    total = 0.0
    for j in range(len(a)):
        total += (a[j] - b[j]) ** 2
        if total > width * width:
            return False
    return True


class SCLUB(Compiled):
    """Clusters of contexts as sets that are split and merged, in stages of doubling length.

    A context that differs from its cluster leaves it at once; clusters that agree are joined again,
    so that a hasty split can be undone. Made for contexts that come unequally often. r need not be
    known. Needs a full set of visits in each stage before it merges, and shares CLUB's weakness: an
    arm that was not played counts as 0, so that contexts of one group that tried different arms
    look different.

    Parameters
    ----------
    alpha
        Width of the confidence of an arm: alpha sqrt(ln(1 + t) / (1 + n_j)), the paper's beta;
        the default was tuned by us at (S, K, r) = (200, 50, 5), public code uses other values.
    alpha_theta
        Width of the confidence of estimates, for splits and merges.
    alpha_p
        Width of the confidence of frequencies; sqrt(2) as in public implementations.

    >>> learner = SCLUB(contexts=3, arms=2, seed=1)
    >>> for _ in range(300):
    ...     for context, good in enumerate((0, 0, 1)):
    ...         arm = learner.ask(context)
    ...         learner.tell(context, arm, float(arm == good))
    >>> learner.labels().tolist(), learner.policy().tolist()
    ([0, 0, 1], [0, 0, 1])
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        alpha: float = 0.3,
        alpha_theta: float = 1.0,
        alpha_p: float = math.sqrt(2.0),
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        positive = "a positive number"
        state = zeros(State, S, K)._replace(
            checked=np.zeros(S, dtype=np.bool_),
            size=np.array([S] + [0] * (S - 1)),
            unchecked=np.array([S] + [0] * (S - 1)),
            width=np.ones(S),
            N=np.ones((S, K)),
            alpha=checks.real("alpha", alpha, positive, 0.0, 1e9),
            alpha_theta=checks.real("alpha_theta", alpha_theta, positive, 0.0, 1e9),
            alpha_p=checks.real("alpha_p", alpha_p, positive, 0.0, 1e9),
        )
        super().__init__(S, K, seed, state)

    def policy(self) -> IntVector:
        """Return the arm with the largest mean in each context's cluster."""
        return np.argmax(self.state.W, axis=1)[self.state.label]

    def labels(self) -> IntVector:
        """Return the cluster of each context."""
        return self.state.label.copy()
