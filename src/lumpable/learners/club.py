"""CLUB: Gentile, Li and Zappella, "Online clustering of bandits", ICML 2014.

With arms for features (x is the unit vector of an arm) all matrices are diagonal and the algorithm
is, with n_ij plays and the sum s_ij of the rewards of context i and arm j:

    w_ij = s_ij / (1 + n_ij), and in a cluster V:  N_j = 1 + sum_V n_ij,  W_j = sum_V s_ij / N_j,
    play the largest W_j + alpha sqrt(ln(1 + t) / N_j) in the cluster of the context i that came,
    then cut each edge (i, l) with ||w_i - w_l|| > alpha_2 (F(n_i) + F(n_l)),

F(n) = sqrt((1 + ln(1 + n)) / (1 + n)). Clusters are the connected components. The reduction to arms
is ours; the paper has any features. Two later algorithms are settings of it:

RCLUMB: Wang, Xie, Liu, Li and Lui, "Online clustering of bandits with misspecified user models",
NeurIPS 2023. The mean of a pair may be up to eps off its model. An edge is cut only beyond
alpha_2 (F(n_i) + F(n_l) + slack), slack = c eps, and the index adds what eps can do to W_j, eps
times the sum of |x' M^-1 x_s| over the cluster's rounds s, which is eps (N_j - 1) / N_j with arms.

UniCLUB: Li, Liu, Dai and Lui, "Demystifying online clustering of bandits: enhanced exploration
under stochastic and smoothed adversarial contexts", ICLR 2025. Any arm is played in the first T_0
rounds, so that estimates are of all arms when the cuts matter; then CLUB.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from lumpable.learners.engine import TELLS, Clock, Kernels, below, kernel, largest
from lumpable.learners.fitting.cluster_ucb import choose as index
from lumpable.learners.fitting.cluster_ucb import learn, spread
from lumpable.learners.fitting.random_graphs import components, random_graph
from lumpable.learners.learner import Cells, Compiled, Counts, PerArm, PerContext, Unfit, zeros

MOST_EDGES = 20_000_000
"""Beyond, the graph alone takes a gigabyte."""
NOT_NEGATIVE, BELOW_ZERO = "a number of at least 0", -math.ulp(0.0)


class State(NamedTuple):
    """One row per context, one per cluster, and the graph: neighbours and edges in lists."""

    plays: Counts
    """n_ij."""
    total: Cells
    """s_ij."""
    w: Cells
    visits: PerContext
    """n_i."""
    label: IntVector
    """The cluster of each context: a row of the next three."""
    N: FloatMatrix
    sum: Cells
    """sum_V s_ij."""
    W: Cells
    clusters: IntVector
    """[their number]."""
    first: IntVector
    """Where the list of a context begins; its length is `degree`."""
    degree: IntVector
    neighbour: IntVector
    edge: IntVector
    """The number of the edge to this neighbour."""
    apart: FloatVector
    """||w_i - w_l||^2 of each edge, -1 when it is cut."""
    queue: PerContext
    """Contexts that a search has reached, in order."""
    mark: PerContext
    """The last search that has reached a context."""
    wanted: PerContext
    """The last search that looked for a context."""
    searches: IntVector
    """[their number]."""
    score: PerArm
    alpha: float
    alpha2: float
    slack: float
    misfit: float
    """eps."""
    explore: int
    """T_0."""


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play any arm in the first rounds, then the largest index of the context's cluster."""
    if clock[TELLS] < state.explore:
        return below(clock, len(state.score))
    if state.misfit == 0.0:
        return index(state, context, clock)
    c = state.label[context]
    N, W, score = state.N[c], state.W[c], state.score
    scale = state.alpha * math.sqrt(math.log(2.0 + clock[TELLS]))
    for j in range(len(score)):
        score[j] = W[j] + scale / math.sqrt(N[j]) + state.misfit * (N[j] - 1.0) / N[j]
    return largest(score, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Learn for the context and its cluster, then cut edges; if any was cut, find the clusters."""
    i, b = context, state.label[context]
    state.visits[i] += 1
    old = state.w[i, arm]
    learn(state, i, b, arm, reward)
    new = state.w[i, arm]

    own, start, before = spread(state.visits[i]), state.first[i], state.degree[i]
    at, cut = start, False
    while at < start + state.degree[i]:
        e, near = state.edge[at], state.neighbour[at]
        if state.apart[e] >= 0.0:
            # only one coordinate of w_i has changed
            theirs = state.w[near, arm]
            square = state.apart[e] + (new - theirs) ** 2 - (old - theirs) ** 2
            state.apart[e] = max(square, 0.0)
            far = state.alpha2 * (own + spread(state.visits[near]) + state.slack)
            if math.sqrt(state.apart[e]) <= far:
                at += 1
                continue
            state.apart[e] = -1.0
            cut = True
        # what is cut, now or from the other end before, moves behind the list
        state.degree[i] -= 1
        last = start + state.degree[i]
        state.edge[at], state.edge[last] = state.edge[last], e
        state.neighbour[at], state.neighbour[last] = state.neighbour[last], near
    if cut:
        part(state, i, start + state.degree[i], start + before)


@kernel
def part(state: State, i: int, begin: int, end: int) -> None:
    """Give a new cluster to all that context i no longer reaches.

    They are reached from the neighbours that it has just lost, in its list from `begin` to `end`.
    """
    b, missing = state.label[i], 0
    for at in range(begin, end):
        lost = state.neighbour[at]
        if state.label[lost] == b:
            state.wanted[lost] = state.searches[0] + 1
            missing += 1
    reached = search(state, i, missing)
    if reached == 0:
        return
    settle(state, b, reached)
    home = state.searches[0]
    for at in range(begin, end):
        lost = state.neighbour[at]
        if state.label[lost] == b and state.mark[lost] != home:
            reached = search(state, lost, -1)
            settle(state, state.clusters[0], reached)
            state.clusters[0] += 1


@kernel
def search(state: State, start: int, missing: int) -> int:
    """Queue all that can be reached; return how many, or 0 once none that is wanted is missing."""
    state.searches[0] += 1
    now, queue, size, done = state.searches[0], state.queue, 1, 0
    queue[0], state.mark[start] = start, now
    while done < size and missing != 0:
        i = queue[done]
        done += 1
        for at in range(state.first[i], state.first[i] + state.degree[i]):
            near = state.neighbour[at]
            if state.mark[near] != now and state.apart[state.edge[at]] >= 0.0:
                state.mark[near] = now
                queue[size] = near
                size += 1
                missing -= state.wanted[near] == now
    return size if missing != 0 else 0


@kernel
def settle(state: State, b: int, size: int) -> None:
    """Make cluster b of the queued contexts."""
    state.N[b] = 1.0
    state.sum[b] = 0.0
    for at in range(size):
        i = state.queue[at]
        state.label[i] = b
        for j in range(state.N.shape[1]):
            state.N[b, j] += state.plays[i, j]
            state.sum[b, j] += state.total[i, j]
    for j in range(state.N.shape[1]):
        state.W[b, j] = state.sum[b, j] / state.N[b, j]


class CLUB(Compiled):
    """Clusters of contexts as the components of a graph that only loses edges.

    Contexts whose estimates differ by more than their confidence are cut from each other; what is
    still connected plays one UCB. r need not be known. Good when contexts are well apart and come
    equally often. Fragile here: two contexts of one group that tried different arms look different,
    since an arm that was not played counts as 0; a small alpha_2 then cuts everything into single
    contexts and a large one nothing, and no cut is ever undone.

    Parameters
    ----------
    alpha
        Width of the confidence of an arm: alpha sqrt(ln(1 + t) / N_j); the default was tuned
        by us at (S, K, r) = (200, 50, 5), public code uses other values.
    alpha2
        Width of the confidence of a context's estimates, which cuts edges.
    density
        Chance of each edge at the start; 1 is the complete graph. Unless given, the usual 3 ln S /
        S, with which each true cluster of order S is connected at first.
    slack
        How much further than their confidence two contexts of a cluster may be apart, in units of
        the estimates; `rclumb` takes 1.5 times its misfit.
    misfit
        How far the mean of a pair may be off its cluster's; above 0, arms that were played are
        trusted less. `rclumb` takes 0.2, its authors' eps. Their cap of the index at 1 is left out,
        as rewards can be anything, and their complete graph is density = 1.
    explore
        Rounds for each context in which any arm is played, T_0 / S. Edges are cut in them, too.
        `uniclub` takes 5: the T_0 of its authors, of order S ln S with large factors, depends on
        the gap between clusters and is longer than most runs.

    >>> learner = CLUB(contexts=3, arms=2, density=1.0, seed=1)
    >>> for _ in range(200):
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
        alpha2: float = 0.5,
        density: float | None = None,
        slack: float = 0.0,
        misfit: float = 0.0,
        explore: float = 0.0,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        p = min(1.0, 3.0 * math.log(S) / S) if density is None else density
        p = checks.real("density", p, "a number in [0, 1]", -1e-300, 1.0)
        if p * S * (S - 1) / 2 > MOST_EDGES:
            raise Unfit(f"CLUB: a graph of {p * S * (S - 1) / 2:.0f} edges does not fit in memory")
        ends = random_graph(S, p, np.random.default_rng([checks.whole("seed", seed, 0), S]))
        label = components(S, ends)
        E = len(ends)
        order = np.argsort(ends.T.ravel(), kind="stable")
        degree = np.bincount(ends.ravel(), minlength=S)
        state = zeros(State, S, K)._replace(
            label=label,
            N=np.ones((S, K)),
            clusters=np.array([label.max() + 1]),
            first=np.concatenate([[0], np.cumsum(degree)]),
            degree=degree,
            neighbour=ends[:, ::-1].T.ravel()[order],
            edge=np.tile(np.arange(E), 2)[order],
            apart=np.zeros(E),
            searches=np.zeros(1, dtype=np.int64),
            alpha=checks.real("alpha", alpha, "a positive number", 0.0, 1e9),
            alpha2=checks.real("alpha2", alpha2, "a positive number", 0.0, 1e9),
            slack=checks.real("slack", slack, NOT_NEGATIVE, BELOW_ZERO, 1e9),
            misfit=checks.real("misfit", misfit, NOT_NEGATIVE, BELOW_ZERO, 1e9),
            explore=round(S * checks.real("explore", explore, NOT_NEGATIVE, BELOW_ZERO, 1e9)),
        )
        super().__init__(S, K, seed, state)

    def policy(self) -> IntVector:
        """Return the arm with the largest mean in each context's cluster."""
        return np.argmax(self.state.W, axis=1)[self.state.label]

    def labels(self) -> IntVector:
        """Return the component of each context."""
        return self.state.label.copy()

    def edges(self) -> IntMatrix:
        """Return the ends of all edges that are not cut, (edges, 2)."""
        s = self.state
        left = np.repeat(np.arange(self.contexts), np.diff(s.first))
        whole = (s.apart[s.edge] >= 0.0) & (left < s.neighbour)
        return np.stack([left[whole], s.neighbour[whole]], axis=1)
