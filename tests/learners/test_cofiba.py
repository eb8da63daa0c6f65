"""COFIBA against a literal version, and its published behaviour."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners.cofiba import COFIBA
from twins.agree import agree
from twins.linucb_alone import Alone
from twins.stream import Stream

Edges = set[frozenset[int]]


def component(edges: Edges, node: int) -> set[int]:
    """All nodes that can be reached."""
    found = {node}
    while True:
        more = {x for edge in edges if edge & found for x in edge} | found
        if more == found:
            return found
        found = more


class LiteralCOFIBA:
    """COFIBA of Li, Karatzoglou and Gentile (2016): sets of edges, lists of rewards.

    It has the graph of items, too, a random path and chords of it, and a graph of users for each
    cluster of items; graphs of users begin as the one that was drawn for the compiled one.
    """

    def __init__(self, like: COFIBA, alpha: float, alpha2: float, seed: int) -> None:
        self.contexts, self.arms, self.alpha, self.alpha2 = like.contexts, like.arms, alpha, alpha2
        self.stream = Stream(seed)
        state = like.state
        self.whole: Edges = {
            frozenset((i, int(state.to[e])))
            for i in range(self.contexts)
            for e in range(state.first[i], state.first[i + 1])
        }
        rng = np.random.default_rng(seed)
        path = rng.permutation(self.arms).tolist()
        self.items: Edges = {frozenset(edge) for edge in itertools.pairwise(path)}
        self.items |= {
            frozenset(edge)
            for edge in itertools.combinations(range(self.arms), 2)
            if rng.random() < 0.5
        }
        self.graph: dict[frozenset[int], Edges] = {frozenset(range(self.arms)): set(self.whole)}
        self.rewards: dict[tuple[int, int], list[float]] = {
            (i, j): [] for i in range(self.contexts) for j in range(self.arms)
        }

    def cluster(self, arm: int) -> frozenset[int]:
        return next(items for items in self.graph if arm in items)

    def w(self, i: int, j: int) -> float:
        return sum(self.rewards[i, j]) / (1 + len(self.rewards[i, j]))

    def similar(self, i: int, other: int, j: int) -> bool:
        t = self.stream.tells + 1
        bound = sum(
            self.alpha2 * math.sqrt(math.log(1 + t) / (1 + len(self.rewards[k, j])))
            for k in (i, other)
        )
        return abs(self.w(i, j) - self.w(other, j)) <= bound

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        t = self.stream.tells + 1
        scores = []
        for arm in range(self.arms):
            group = component(self.graph[self.cluster(arm)], context)
            N = 1 + sum(len(self.rewards[i, arm]) for i in group)
            w = sum(sum(self.rewards[i, arm]) for i in group) / N
            scores.append(w + self.alpha * math.sqrt(math.log(1 + t)) / math.sqrt(N))
        return self.stream.largest(scores)

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.rewards[context, arm].append(reward)
        items = self.cluster(arm)
        edges = self.graph[items]  # clusters of users
        for edge in [edge for edge in edges if context in edge]:
            (other,) = edge - {context}
            if not self.similar(context, other, arm):
                edges.remove(edge)
        near = self.neighbourhood(context, arm)  # clusters of items
        for edge in [edge for edge in self.items if arm in edge]:
            (other,) = edge - {arm}
            if self.neighbourhood(context, other) != near:
                self.items.remove(edge)
        del self.graph[items]
        while items:
            part = frozenset(component(self.items, arm if arm in items else min(items)))
            self.graph[part] = edges if arm in part else set(self.whole)
            items -= part
        self.stream.told()

    def neighbourhood(self, context: int, arm: int) -> set[int]:
        others = set(range(self.contexts)) - {context}
        return {other for other in others if self.similar(context, other, arm)}


SETTINGS = [
    ("bernoulli", 0.3, 0.3, 2.0),
    ("bernoulli", 1.0, 1.0, 3.0),
    ("gaussian", 0.5, 0.5, 1.0),
]


@pytest.mark.parametrize(("noise", "alpha", "alpha2", "density"), SETTINGS)
def test_decisions_are_the_literal_ones(
    noise: str, alpha: float, alpha2: float, density: float
) -> None:
    world = lb.worlds.lumpable(9, 5, 3, noise=noise, seed=3)
    learner = COFIBA(9, 5, alpha=alpha, alpha2=alpha2, density=density, seed=8)
    agree(learner, LiteralCOFIBA(learner, alpha, alpha2, 8), world)


@pytest.mark.parametrize(
    ("noise", "alpha", "alpha2", "density"), [*SETTINGS[::2], ("bernoulli", 0.3, 0.4, 3.0)]
)
def test_graphs_are_the_literal_ones_for_any_arms(
    noise: str, alpha: float, alpha2: float, density: float
) -> None:
    """Arms that it would not choose, so that clusters of arms and of contexts split."""
    world = lb.worlds.lumpable(9, 5, 3, noise=noise, means="hard", seed=4)
    learner = COFIBA(9, 5, alpha=alpha, alpha2=alpha2, density=density, seed=2)
    literal = LiteralCOFIBA(learner, alpha, alpha2, 2)
    rng = np.random.default_rng(9)
    sizes = set()
    for t in range(1500):
        context, arm = int(rng.integers(9)), int(rng.integers(5))
        reward = world.reward(context, arm, rng)
        learner.tell(context, arm, reward)
        literal.tell(context, arm, reward)
        assert learner.ask(context) == literal.ask(context)
        state = learner.state
        for j in range(5 if t % 10 == 0 else 0):
            items = literal.cluster(j)
            part = state.part[j]
            for i in range(9):
                group = component(literal.graph[items], i)
                sizes.add((len(items), len(group)))
                assert set(np.flatnonzero(part == part[i]).tolist()) == group
                n = sum(len(literal.rewards[k, j]) for k in group)
                assert state.pool_plays[j, part[i]] == n
    assert len({size for size, _ in sizes}) > 2
    assert len({size for _, size in sizes}) > 2


def test_beats_a_bandit_of_its_own_for_each_context() -> None:
    """COFIBA is ahead of LinUCB-IND where data are scarce for each context; there only.

    The authors report better predictions than other methods' on real data. Here 200 contexts in 2
    groups, 20 arms, hard means (one arm is better by 0.4), Bernoulli, 10,000 rounds: 50 for each
    context. COFIBA saves at least a tenth of the regret in each of 4 worlds, although LinUCB-IND
    may choose the best of three widths afterwards. Elsewhere a well-tuned LinUCB for each context
    beats COFIBA.
    """
    for seed in range(4):
        world = lb.worlds.lumpable(200, 20, 2, noise="bernoulli", means="hard", seed=seed)
        learner = COFIBA(200, 20, alpha=0.3, alpha2=0.2, seed=seed)
        cofiba = lb.play(learner, world, horizon=10_000, seed=seed, at=[]).regret
        alone = [
            lb.play(Alone(200, 20, alpha, seed), world, horizon=10_000, seed=seed, at=[]).regret
            for alpha in (0.2, 0.3, 0.4)
        ]
        assert cofiba < 0.9 * min(alone)


def test_contexts_are_clustered_for_each_arm() -> None:
    """What the paper is for: who belongs together depends on the arm.

    Contexts agree in pairs of halves on the first two arms and in evens and odds on the others,
    means 0.1 and 0.9. After 400 rewards for each cell, the components for each arm are exactly
    those. Estimates leave their bound alpha2 sqrt(ln(1 + t) / (1 + n)) with probability below
    t^-2 at a time; 0.8 is twice the sum of two bounds at the end.
    """
    mean = [[(0.1, 0.9)[i < 6]] * 2 + [(0.1, 0.9)[i % 2]] * 2 for i in range(12)]
    learner = COFIBA(12, 4, alpha2=1.0, seed=1)
    rng = np.random.default_rng(2)
    for _ in range(400 * 48):
        i, j = int(rng.integers(12)), int(rng.integers(4))
        learner.tell(i, j, float(rng.random() < mean[i][j]))
    for j in range(4):
        part = learner.state.part[j]
        truth = [int(i < 6) if j < 2 else i % 2 for i in range(12)]
        assert len(set(zip(part.tolist(), truth, strict=True))) == len(set(part.tolist())) == 2
    assert np.allclose(np.array(mean)[np.arange(12), learner.policy()], np.max(mean, axis=1))


@pytest.mark.parametrize("density", [1.0, 3.0])
def test_graphs_are_random_and_connected(density: float) -> None:
    """Edges with probability density ln n / n, each twice: within 6 standard errors."""
    S, number = 60, 0
    for seed in range(50):
        first, to, twin = (
            getattr(COFIBA(S, 2, density=density, seed=seed).state, x)
            for x in ("first", "to", "twin")
        )
        at = np.repeat(np.arange(S), np.diff(first))
        assert (to[twin] == at).all()
        assert (at[twin] == to).all()
        assert (at != to).all()
        assert len(set(zip(at.tolist(), to.tolist(), strict=True))) == len(to)
        edges = {frozenset(x) for x in zip(at.tolist(), to.tolist(), strict=True)}
        assert component(edges, 0) == set(range(S))
        number += len(edges)
    p, pairs = density * math.log(S) / S, 50 * S * (S - 1) / 2
    slack = 6 * math.sqrt(pairs * p * (1 - p))
    # graphs that are not connected are drawn again, which favours those with more edges
    assert -slack < number - pairs * p < (slack if density == 3.0 else 6 * slack)


def test_says_when_it_is_too_large_and_what_is_wrong() -> None:
    for contexts, arms in ((10_001, 100), (20_001, 2)):
        with pytest.raises(lb.learners.Unfit, match="at most 1,000,000 contexts times arms"):
            COFIBA(contexts, arms)
    with pytest.raises(ValueError, match="density"):
        COFIBA(3, 3, density=0.5)
    with pytest.raises(ValueError, match="alpha:"):
        COFIBA(3, 3, alpha=0.0)
    with pytest.raises(ValueError, match="alpha2:"):
        COFIBA(3, 3, alpha2=0.0)
