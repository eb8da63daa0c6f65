"""Agnostic clusters against a literal version, and their published behaviour."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners.maillard_mannor import AgnosticClusters
from twins.agree import agree
from twins.stream import Stream


class LiteralAgnostic:
    """Intervals, who is compatible and the pools: all from the rewards, anew for each choice."""

    def __init__(self, contexts: int, arms: int, width: float, sd: float, seed: int) -> None:
        self.contexts, self.arms, self.factor = contexts, arms, 2 * width * sd
        self.stream = Stream(seed)
        self.rewards: list[list[list[float]]] = [[[] for _ in range(arms)] for _ in range(contexts)]

    def interval(self, context: int, arm: int) -> tuple[float, float]:
        x = self.rewards[context][arm]
        if not x:
            return -math.inf, math.inf
        visits = sum(len(seen) for seen in self.rewards[context])
        power = 2 ** (math.floor(math.log2(visits)) + 1)
        radius = self.factor * math.sqrt(2 * math.log(power) / len(x))
        return sum(x) / len(x) - radius, sum(x) / len(x) + radius

    def compatible(self, context: int, other: int) -> bool:
        for arm in range(self.arms):
            (low, high), (low2, high2) = self.interval(context, arm), self.interval(other, arm)
            if max(low, low2) > min(high, high2):
                return False
        return True

    def pool(self, context: int) -> list[int]:
        return [other for other in range(self.contexts) if self.compatible(context, other)]

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        pool = self.pool(context)
        visits = sum(len(x) for other in pool for x in self.rewards[other])
        scores = []
        for arm in range(self.arms):
            low, high = self.interval(context, arm)
            x = [reward for other in pool for reward in self.rewards[other][arm]]
            bound = math.inf
            if x:
                radius = self.factor * math.sqrt(2 * math.log(1 + visits) / len(x))
                bound = sum(x) / len(x) + radius
            scores.append(min(high, bound) if bound >= low else high)
        return self.stream.largest(scores)

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.rewards[context][arm].append(reward)
        self.stream.told()


SETTINGS = [("bernoulli", 0.5, 1.0), ("bernoulli", 0.5, 0.25), ("gaussian", 1.0, 0.2)]


@pytest.mark.parametrize(("noise", "sd", "width"), SETTINGS)
def test_decisions_are_the_literal_ones(noise: str, sd: float, width: float) -> None:
    world = lb.worlds.lumpable(6, 4, 3, noise=noise, frequency="zipf", seed=3)
    learner = AgnosticClusters(6, 4, sd=sd, width=width, seed=8)
    agree(learner, LiteralAgnostic(6, 4, width, sd, 8), world)


@pytest.mark.parametrize(
    ("noise", "sd", "width"), [("bernoulli", 0.5, 0.3), ("gaussian", 1.0, 0.2)]
)
def test_pools_are_the_literal_ones_for_any_arms(noise: str, sd: float, width: float) -> None:
    """Arms that it would not choose: contexts part and join again."""
    world = lb.worlds.lumpable(6, 4, 3, noise=noise, seed=4)
    learner = AgnosticClusters(6, 4, sd=sd, width=width)
    literal = LiteralAgnostic(6, 4, width, sd, 0)
    rng = np.random.default_rng(9)
    parted = joined = 0
    for _ in range(600):
        context, arm = int(rng.integers(6)), int(rng.integers(4))
        reward = world.reward(context, arm, rng)
        before = learner.state.apart == 0
        learner.tell(context, arm, reward)
        literal.tell(context, arm, reward)
        after = learner.state.apart == 0
        parted += int((before & ~after).sum())
        joined += int((after & ~before).sum())
        for i in range(6):
            pool = literal.pool(i)
            assert after[i].nonzero()[0].tolist() == pool
            for j in range(4):
                x = [y for other in pool for y in literal.rewards[other][j]]
                assert learner.state.pool_plays[i, j] == len(x)
                assert learner.state.pool_total[i, j] == pytest.approx(sum(x), abs=1e-9)
            assert learner.state.pool_visits[i] == learner.state.pool_plays[i].sum()
    assert parted > 0
    assert joined > 0


def test_a_pool_that_lies_below_the_own_interval_does_not_count() -> None:
    """Each of 59 others is compatible with context 0 on arm 0, but all of them together are not.

    There, 8 rewards of 1 leave it 1 -+ 0.208; the others' means are 0.625, the pool's bound 0.673.
    Its own upper bound counts, not the pool's and not its own lower one: either is below the 0.813
    of arm 1. What it recommends is cut to its own interval, too: 0.792 against 0.77.
    """
    learner = AgnosticClusters(60, 2, width=0.25, seed=1)
    literal = LiteralAgnostic(60, 2, 0.25, 0.5, 1)
    told = [(0, 0, 1.0)] * 8
    for other in range(1, 60):
        told += [(other, 0, float(k < 5)) for k in range(8)] + [(other, 1, 0.77)] * 8
    for one in told:
        learner.tell(*one)
        literal.tell(*one)
    assert literal.pool(0) == list(range(60))
    assert learner.ask(0) == literal.ask(0) == 0
    assert learner.state.score.tolist() == pytest.approx([1.208, 0.813], abs=1e-3)
    assert learner.policy()[0] == 0
    assert learner.policy()[1] == 1


def test_arms_that_nobody_has_played_are_not_recommended() -> None:
    learner = AgnosticClusters(3, 4, seed=1)
    learner.tell(0, 2, -1.0)
    assert learner.policy().tolist() == [2, 2, 2]


def test_clusters_are_connected_parts() -> None:
    """Means of 0, 1/4 and 1/2: the one between overlaps with both, which do not with each other."""
    learner = AgnosticClusters(4, 1, sd=0.1, width=1.0, seed=1)
    for _ in range(16):
        for context, reward in enumerate((0.0, 0.25, 0.5, 3.0)):
            learner.tell(context, 0, reward)
    assert (learner.state.apart[0] == 0).tolist() == [True, True, False, False]
    assert learner.labels().tolist() == [0, 0, 0, 1]


def test_lies_between_a_ucb_for_each_context_and_one_for_each_group() -> None:
    """Between UCB for each context and UCB for each group, which is an oracle.

    200 contexts in 5 groups, 50 arms, Bernoulli, 40,000 rounds, width 0.2 for all three, 3 worlds:
    in each of them its regret is at most half of UCB1's for each context and at least that of UCB1
    for each group, which has 40 times as much data on every cell.
    """
    for seed in range(3):
        world = lb.worlds.lumpable(200, 50, 5, noise="bernoulli", seed=100 + seed)
        first = [int((world.group == b).argmax()) for b in range(5)]
        merged = lb.worlds.from_matrix(world.mean[first], noise="bernoulli")
        learner = AgnosticClusters(200, 50, width=0.2, seed=seed)
        regret = lb.play(learner, world, horizon=40_000, seed=seed, at=[]).regret
        each, oracle = (
            lb.play(
                lb.learners.UCB1(w.contexts, 50, width=0.2, seed=seed), w, horizon=40_000, seed=seed
            ).regret
            for w in (world, merged)
        )
        assert oracle < regret < 0.5 * each


def test_says_when_it_is_too_large_and_what_is_wrong() -> None:
    with pytest.raises(lb.learners.Unfit, match="all pairs of contexts"):
        AgnosticClusters(3_001, 2)
    with pytest.raises(ValueError, match="width"):
        AgnosticClusters(2, 2, width=0.0)
    with pytest.raises(ValueError, match="sd"):
        AgnosticClusters(2, 2, sd=-1.0)
