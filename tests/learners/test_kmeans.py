"""Explore, then k-means against a literal version, and what it is for."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners.fitting.lloyd import lloyd
from lumpable.learners.kmeans import ExploreThenKMeans
from lumpable.runs.measures import adjusted_rand
from lumpable.runs.playing import play
from twins.agree import agree
from twins.stream import Stream


class LiteralKMeans:
    """From the list of all rounds each time; only the k-means itself is shared."""

    def __init__(
        self,
        contexts: int,
        arms: int,
        groups: int,
        *,
        explore: int,
        scale: float,
        growth: float,
        seed: int,
    ) -> None:
        self.contexts, self.arms, self.groups, self.explore = contexts, arms, groups, explore
        self.scale, self.growth, self.seed = scale, growth, seed
        self.rounds: list[tuple[int, int, float]] = []
        self.group = [0] * contexts
        self.prior = [0.0] * arms
        self.due = contexts * explore
        self.refits = 0
        self.stream = Stream(seed)

    def rewards(self, contexts: list[int], arm: int) -> list[float]:
        return [y for i, j, y in self.rounds if i in contexts and j == arm]

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        plays = [len(self.rewards([context], j)) for j in range(self.arms)]
        if sum(plays) < self.explore:
            least = [j for j in range(self.arms) if plays[j] == min(plays)]
            return least[self.stream.below(len(least))]
        peers = [i for i in range(self.contexts) if self.group[i] == self.group[context]]
        theta = []
        for j in range(self.arms):
            seen = self.rewards(peers, j)
            mean = (sum(seen) + self.prior[j]) / (len(seen) + 1)
            theta.append(mean + self.scale / math.sqrt(len(seen) + 1) * self.stream.normal())
        return theta.index(max(theta))

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.rounds.append((context, arm, reward))
        self.stream.told()
        if len(self.rounds) < self.due:
            return
        self.refits += 1
        self.due = max(len(self.rounds) + 1, math.ceil(self.growth * len(self.rounds)))
        cells = [[self.rewards([i], j) for j in range(self.arms)] for i in range(self.contexts)]
        plays = [[len(cell) for cell in row] for row in cells]
        mean = [[sum(cell) / len(cell) if cell else math.nan for cell in row] for row in cells]
        rng = np.random.default_rng([self.seed, len(self.rounds)])
        labels, _ = lloyd(plays, mean, self.groups, rng, known=np.array(self.group))
        self.group = labels.tolist()
        every = [y for _, _, y in self.rounds]
        for j in range(self.arms):
            seen = self.rewards(list(range(self.contexts)), j) or every
            self.prior[j] = sum(seen) / len(seen)


@pytest.mark.parametrize(
    ("explore", "width", "growth", "noise"),
    [(5, 1.0, 1.2, "bernoulli"), (12, 0.5, 2.0, "gaussian"), (1, 2.0, 1.5, "bernoulli")],
)
def test_decisions_are_the_literal_ones(
    explore: int, width: float, growth: float, noise: str
) -> None:
    world = lb.worlds.lumpable(8, 5, 3, noise=noise, seed=3)
    learner = ExploreThenKMeans(
        8, 5, groups=3, sd=0.4, explore=explore, width=width, growth=growth, seed=8
    )
    literal = LiteralKMeans(8, 5, 3, explore=explore, scale=width * 0.4, growth=growth, seed=8)
    agree(learner, literal, world)
    assert learner.labels().tolist() == literal.group
    assert literal.refits >= 4


def test_exploration_is_even() -> None:
    """Each context plays every arm once before any twice, in random order, whatever it sees."""
    learner = ExploreThenKMeans(3, 4, groups=2, explore=8, seed=1)
    orders = set()
    for context in range(3):
        for turn in range(2):
            arms = []
            for _ in range(4):
                arms.append(learner.ask(context))
                learner.tell(context, arms[-1], float(arms[-1] == 0))
            assert sorted(arms) == [0, 1, 2, 3], (context, turn)
            orders.add(tuple(arms))
    assert len(orders) > 1


@pytest.mark.parametrize(
    ("horizon", "explore"), [(None, 5), (1, 1), (199, 1), (400, 2), (1000, 5), (10**6, 5)]
)
def test_explores_a_tenth_but_at_most_five_plays(horizon: int | None, explore: int) -> None:
    assert ExploreThenKMeans(20, 2, groups=2, horizon=horizon).state.explore == explore


def test_groups_are_found_and_pay() -> None:
    """What the method is for: with enough rounds the groups are exact, and the regret is far below
    that of the same Thompson sampling for all contexts together (groups = 1) and for each alone
    (as many groups as contexts), and near that with the true groups known from the start.

    200 contexts, 50 arms, 5 groups, T = 40,000, Bernoulli. Asked for: 0.6 of the others' regret,
    with each of 2 seeds.
    """
    for seed in range(2):
        world = lb.worlds.lumpable(200, 50, 5, noise="bernoulli", seed=seed)
        played, one, each = (
            play(
                ExploreThenKMeans(200, 50, groups=groups, horizon=40_000, growth=growth, seed=seed),
                world,
                horizon=40_000,
                seed=seed,
                at=[],
            )
            for groups, growth in ((5, 1.2), (1, 1e9), (200, 1e9))
        )
        assert adjusted_rand(played.learner.labels(), world.group) > 0.98  # type: ignore[attr-defined]
        assert played.regret < 0.6 * min(one.regret, each.regret)
        assert world.loss(played.learner.policy()) < 0.02  # type: ignore[attr-defined]


def test_pooled_sums_are_those_of_the_groups() -> None:
    world = lb.worlds.lumpable(30, 6, 3, seed=4)
    learner = ExploreThenKMeans(30, 6, groups=3, sd=1.0, growth=1.3, seed=1)
    play(learner, world, horizon=7_777, seed=2, at=[])
    s = learner.state
    assert learner.tells < s.due[0] <= math.ceil(1.3 * learner.tells)
    for b in range(3):
        mine = s.label == b
        np.testing.assert_array_equal(s.N[b], 1 + s.plays[mine].sum(axis=0))
        prior = s.mean[b] * s.N[b] - s.total[mine].sum(axis=0)  # one play at the arm's mean
        assert np.all(np.abs(prior - world.mean.mean(axis=0)) < 0.5)


def test_more_groups_than_contexts_are_no_error() -> None:
    learner = ExploreThenKMeans(3, 2, groups=7, explore=2, seed=1)
    for t in range(60):
        learner.tell(t % 3, learner.ask(t % 3), 1.0)
    assert learner.policy().shape == (3,)


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="groups:"):
        ExploreThenKMeans(3, 2, groups=0)
    with pytest.raises(ValueError, match="explore:"):
        ExploreThenKMeans(3, 2, groups=2, explore=0)
    with pytest.raises(ValueError, match="width:"):
        ExploreThenKMeans(3, 2, groups=2, width=0.0)
    with pytest.raises(ValueError, match="growth:"):
        ExploreThenKMeans(3, 2, groups=2, growth=1.0)
    with pytest.raises(ValueError, match="sd:"):
        ExploreThenKMeans(3, 2, groups=2, sd=-1.0)
