"""Maillard and Mannor with known classes: a literal version, and bounded regret."""

from __future__ import annotations

import math

import pytest

import lumpable as lb
from lumpable.learners.maillard_mannor_known import KnownClusters
from twins.agree import agree
from twins.stream import Stream


class LiteralKnown:
    """Classes in all intervals, the most promising of them, else UCB: from the rewards, anew."""

    def __init__(self, mu: list[list[float]], width: float, sd: float, seed: int) -> None:
        self.mu, self.width, self.sd = mu, width, sd
        self.stream = Stream(seed)
        self.rewards: dict[int, list[list[float]]] = {}
        self.fallbacks = 0

    def row(self, context: int) -> list[list[float]]:
        return self.rewards.setdefault(context, [[] for _ in self.mu[0]])

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        row = self.row(context)
        visits = sum(len(seen) for seen in row)
        mean = [sum(x) / len(x) if x else 0.0 for x in row]
        radius = [
            2 * self.width * self.sd * math.sqrt(2 * math.log(1 + visits) / len(x))
            if x
            else math.inf
            for x in row
        ]
        left = [
            c
            for c, means in enumerate(self.mu)
            if all(abs(m - x) <= u for m, x, u in zip(means, mean, radius, strict=True))
        ]
        if left:
            promise = [max(self.mu[c]) if c in left else -math.inf for c in range(len(self.mu))]
            chosen = self.mu[self.stream.largest(promise)]
            return chosen.index(max(chosen))
        self.fallbacks += 1
        return self.stream.largest([m + u for m, u in zip(mean, radius, strict=True)])

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.row(context)[arm].append(reward)
        self.stream.told()


@pytest.mark.parametrize(
    ("noise", "sd", "width"), [("bernoulli", 0.5, 1.0), ("bernoulli", 0.5, 0.2), ("gaussian", 1, 1)]
)
def test_decisions_are_the_literal_ones(noise: str, sd: float, width: float) -> None:
    world = lb.worlds.lumpable(6, 5, 4, noise=noise, seed=3)
    mu = [world.mean[int((world.group == b).argmax())].tolist() for b in range(4)]
    learner = KnownClusters(6, 5, group_means=mu, sd=sd, width=width, seed=8)
    agree(learner, LiteralKnown(mu, width, sd, 8), world)


def test_without_a_class_left_it_is_ucb() -> None:
    world = lb.worlds.lumpable(3, 4, 1, noise="bernoulli", seed=5)
    mu = [[0.99, 0.0, 0.0, 0.0], [0.0, 0.99, 0.0, 0.0]]
    literal = LiteralKnown(mu, 0.5, 0.5, 2)
    agree(KnownClusters(3, 4, group_means=mu, width=0.5, seed=2), literal, world)
    assert literal.fallbacks > 500


def late_regret(mu: list[list[float]], seed: int) -> float:
    """Regret of a context of class 0 in rounds 3,001 to 100,000."""
    world = lb.worlds.from_matrix([mu[0]], noise="bernoulli")
    learner = KnownClusters(1, len(mu[0]), group_means=mu, seed=seed)
    rows = lb.play(learner, world, horizon=100_000, seed=seed, at=[3_000]).rows()
    return float(rows[-1].regret - rows[0].regret)


def test_regret_is_bounded_where_classes_differ_on_the_best_arm() -> None:
    """Our reading: regret is bounded if the best arm tells the classes apart, else it is ln T.

    Class 0 is true, class 1 promises more on arm 1. First they differ on arm 0, the best arm of
    class 0, by 0.3: it rules class 1 out, for good once 0.3 > U, which takes 260 plays, and a false
    alarm at 3,000 plays or more has probability below exp(-2 * 3,000 * 0.15^2) < 1e-50: nothing is
    lost later. Then they agree on arm 0: only arm 1 can rule class 1 out, and because U grows with
    ln n this must be repeated: something is lost later, in each of 10 runs.
    """
    apart = [[0.5, 0.2], [0.2, 0.8]]
    confusable = [[0.5, 0.2], [0.5, 0.8]]
    assert [late_regret(apart, seed) for seed in range(10)] == [0.0] * 10
    assert min(late_regret(confusable, seed) for seed in range(10)) > 0.0


def test_finds_the_groups() -> None:
    """Classes that differ by 0.2 on every arm; 1,000 rewards each err with p < 40 exp(-20)."""
    mu = [[0.1 + 0.2 * ((c + j) % 4) for j in range(4)] for c in range(4)]
    world = lb.worlds.lumpable(40, 4, 4, noise="bernoulli", means=mu, seed=4)
    learner = KnownClusters(40, 4, group_means=mu, seed=1)
    row = lb.play(learner, world, horizon=40_000, seed=1, at=[]).rows()[-1]
    assert row.simple_regret == 0.0
    assert row.ari == 1.0


def test_recommends_what_is_good_for_all_likely_classes() -> None:
    """Two classes that its plays cannot tell apart: the arm with the best mean over both."""
    learner = KnownClusters(1, 3, group_means=[[0.9, 0.0, 0.8], [0.0, 0.9, 0.8], [0.0, 0.0, 0.1]])
    for _ in range(20):
        learner.tell(0, 2, 0.8)
    assert learner.policy().tolist() == [2]


def test_names_what_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"group_means: expected shape \(groups, 3\)"):
        KnownClusters(2, 3, group_means=[[0.1, 0.2]])
    with pytest.raises(ValueError, match="group_means"):
        KnownClusters(2, 2, group_means=[[0.1, math.nan]])
    with pytest.raises(ValueError, match="width"):
        KnownClusters(2, 2, group_means=[[0.1, 0.2]], width=0.0)
    with pytest.raises(ValueError, match="sd"):
        KnownClusters(2, 2, group_means=[[0.1, 0.2]], sd=-1.0)
