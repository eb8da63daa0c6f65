"""COFIBA: Li, Karatzoglou and Gentile, "Collaborative filtering bandits", SIGIR 2016.

The items are K arms without features (unit vectors), so that M_i is diagonal:
w_ij = s_ij / (1 + n_ij) and CB_i(j) = alpha2 sqrt(ln(1 + t) / (1 + n_ij)).

Then, by our argument, the graph of items decides nothing, and none is kept. A reward moves one w_ij
and narrows one CB_i(j) only; bounds grow otherwise. The reward with which contexts i and l first
differ on arm j thus makes the neighbourhoods of i for j and for all arms still linked with j
unequal, so that the update of the clusters of items cuts j off, and it alone keeps the graph of
contexts that has lost an edge. Clusters of several arms only ever have whole graphs: each arm
behaves as if it had a graph of its own.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolMatrix, BoolVector, FloatMatrix, IntVector
from lumpable.learners.engine import TELLS, Clock, Kernels, kernel, largest
from lumpable.learners.fitting.random_graphs import components, random_graph
from lumpable.learners.learner import (
    CellsByArm,
    Compiled,
    CountsByArm,
    PerArm,
    PerContext,
    Unfit,
    zeros,
)

MOST_CELLS = 1_000_000
"""Contexts times arms: beyond, the graphs of all arms take over 100 MB."""
MOST_NODES = 20_000
"""Contexts in a graph."""


class State(NamedTuple):
    """Arms first, contexts second. Edges stand twice, once at either end, as each other's twin."""

    plays: CountsByArm
    """n_ij, (K, S)."""
    total: CellsByArm
    """s_ij, (K, S)."""
    w: CellsByArm
    root: FloatMatrix
    """1 / sqrt(1 + n_ij), (K, S)."""
    first: IntVector
    """Where each context's edges begin."""
    to: IntVector
    twin: IntVector
    edge: BoolMatrix
    """Whether each edge is there in the graph of each arm, (K, edges)."""
    part: CountsByArm
    """The component of each context in the graph of each arm, (K, S)."""
    parts: IntVector
    """The number of components in each of these graphs."""
    pool_plays: CountsByArm
    """Plays of each arm by each component of its graph, (K, S)."""
    pool_total: CellsByArm
    score: PerArm
    found: PerContext
    reached: BoolVector
    alpha: float
    alpha2: float


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play the arm with the largest w + CB of the context's component for that arm."""
    scale = state.alpha * math.sqrt(math.log(2.0 + clock[TELLS]))
    for j in range(len(state.score)):
        part = state.part[j, context]
        N = 1.0 + state.pool_plays[j, part]
        state.score[j] = state.pool_total[j, part] / N + scale / math.sqrt(N)
    return largest(state.score, clock)


@kernel
def reach(
    first: IntVector, to: IntVector, edge: BoolVector, source: int, goal: int,
    found: IntVector, reached: BoolVector,
) -> int:  # fmt: skip
    """Return how many nodes are linked with `source`, listed in `found`; 0 if `goal` is one."""
    found[0], number, at = source, 1, 0
    reached[source] = True
    away = True
    while at < number and away:
        node = found[at]
        at += 1
        for e in range(first[node], first[node + 1]):
            if edge[e] and not reached[to[e]]:
                reached[to[e]] = True
                found[number] = to[e]
                number += 1
                away = away and to[e] != goal
    for k in range(number):
        reached[found[k]] = False
    return number if away else 0


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Count a reward, then cut the context off those that differ on the arm."""
    i, w, root = context, state.w[arm], state.root[arm]
    edge, part = state.edge[arm], state.part[arm]
    state.plays[arm, i] += 1
    state.total[arm, i] += reward
    n = 1.0 + state.plays[arm, i]
    w[i], root[i] = state.total[arm, i] / n, 1.0 / math.sqrt(n)
    state.pool_plays[arm, part[i]] += 1
    state.pool_total[arm, part[i]] += reward
    scale = state.alpha2 * math.sqrt(math.log(2.0 + clock[TELLS]))
    for e in range(state.first[i], state.first[i + 1]):
        other = state.to[e]
        if edge[e] and abs(w[i] - w[other]) > scale * (root[i] + root[other]):
            edge[e], edge[state.twin[e]] = False, False
            number = reach(state.first, state.to, edge, other, i, state.found, state.reached)
            if number > 0:
                split(state, arm, state.found[:number], part[i])


@kernel
def split(state: State, arm: int, contexts: IntVector, old: int) -> None:
    """Make contexts that have left a component one of their own, with what they have seen."""
    new = state.parts[arm]
    state.parts[arm] += 1
    for i in contexts:
        state.part[arm, i] = new
        state.pool_plays[arm, new] += state.plays[arm, i]
        state.pool_total[arm, new] += state.total[arm, i]
    state.pool_plays[arm, old] -= state.pool_plays[arm, new]
    state.pool_total[arm, old] -= state.pool_total[arm, new]


def connected_graph(
    nodes: int, density: float, rng: np.random.Generator
) -> tuple[IntVector, IntVector, IntVector]:
    """Draw graphs with edges of probability density ln n / n until one is connected.

    Returns where each node's edges begin, where they lead, and the place of each one's twin.
    """
    p = min(1.0, density * math.log(nodes) / nodes)
    ends = random_graph(nodes, p, rng)
    while components(nodes, ends).any():
        ends = random_graph(nodes, p, rng)
    a, b = np.concatenate((ends, ends[:, ::-1])).T
    order = np.lexsort((b, a))
    a, to = a[order], b[order]
    twin = np.empty(len(to), dtype=np.int64)
    twin[np.lexsort((a, to))] = np.arange(len(to))
    return np.searchsorted(a, np.arange(nodes + 1)), to, twin


class COFIBA(Compiled):
    """COFIBA: clusters of contexts that depend on the arm.

    Each arm has a graph of contexts, and is scored with all that the context's component in it has
    seen of the arm. After a reward, the context loses its edges to contexts that differ on the arm.
    All graphs start as one random connected graph.

    Made for contexts that agree on some arms and not on others; slow to part contexts, as it
    compares single cells. Ahead of a LinUCB for each context only where each has little data of its
    own. A round costs O(K + ln S), more when an edge is cut; memory is O(K S ln S): above 1,000,000
    cells or 20,000 contexts it is not run.

    Parameters
    ----------
    alpha
        Width of the bonus; the default of both widths is that of the library iRec.
    alpha2
        Width within which estimates are similar.
    density
        Edges come with probability density ln(n) / n; at least 1.

    >>> learner = COFIBA(contexts=4, arms=2, alpha2=0.5, seed=1)
    >>> for _ in range(100):
    ...     for context, reward in ((0, 1.0), (1, 1.0), (2, 0.0), (3, 0.0)):
    ...         learner.tell(context, 0, reward)
    >>> learner.labels()
    array([0, 0, 1, 1])
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        alpha: float = 1.0,
        alpha2: float = 1.0,
        density: float = 3.0,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        if S * K > MOST_CELLS or S > MOST_NODES:
            raise Unfit(
                f"COFIBA: keeps a graph of contexts for each arm, at most {MOST_CELLS:,} contexts "
                f"times arms and {MOST_NODES:,} contexts; got {S:,} and {K:,}"
            )
        density = checks.real("density", density, "a number of at least 1", 1 - 1e-16, 1e9)
        rng = np.random.default_rng([checks.whole("seed", seed, 0), S, K])
        first, to, twin = connected_graph(S, density, rng)
        state = zeros(State, S, K)._replace(
            root=np.ones((K, S)),
            first=first,
            to=to,
            twin=twin,
            edge=np.ones((K, len(to)), dtype=np.bool_),
            parts=np.ones(K, dtype=np.int64),
            reached=np.zeros(S, dtype=np.bool_),
            alpha=checks.real("alpha", alpha, "a positive number", 0.0, 1e9),
            alpha2=checks.real("alpha2", alpha2, "a positive number", 0.0, 1e9),
        )
        super().__init__(S, K, seed, state)

    def policy(self) -> IntVector:
        """Return each context's arm with the largest w of its component."""
        w = self.state.pool_total / (1.0 + self.state.pool_plays)
        return np.argmax(np.take_along_axis(w, self.state.part, axis=1), axis=0)

    def labels(self) -> IntVector:
        """Return the contexts' components in the graph of the arm that was played most."""
        most = np.argmax(self.state.plays.sum(axis=1))
        _, label = np.unique(self.state.part[most], return_inverse=True)
        return label
