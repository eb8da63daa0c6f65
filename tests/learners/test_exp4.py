"""EXP4 with constant experts: exact against EXP3 in ten lines, and its regret."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lumpable as lb
from lumpable.learners import ConstantExperts
from twins.agree import agree
from twins.stream import Stream


def exp3(losses: list[tuple[int, float]], arms: int, horizon: int) -> list[float]:
    """The probabilities after these (arm, reward): exponential weights of estimated losses."""
    eta = math.sqrt(2 * math.log(arms) / (arms * horizon))
    total = [0.0] * arms
    probability = [1 / arms] * arms
    for arm, reward in losses:
        total[arm] += (1 - reward) / probability[arm]
        weight = [math.exp(-eta * loss) for loss in total]
        probability = [w / sum(weight) for w in weight]
    return probability


class LiteralEXP3:
    def __init__(self, arms: int, horizon: int, seed: int) -> None:
        self.arms, self.horizon, self.stream = arms, horizon, Stream(seed)
        self.past: list[tuple[int, float]] = []

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        u = self.stream.uniform()
        cumulative = np.cumsum(exp3(self.past, self.arms, self.horizon))
        return int(np.searchsorted(cumulative, u, side="right"))

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.past.append((arm, reward))
        self.stream.told()


@pytest.mark.parametrize(("arms", "horizon"), [(4, 1000), (3, 60)])
def test_decisions_are_the_literal_ones(arms: int, horizon: int) -> None:
    world = lb.worlds.lumpable(6, arms, 2, noise="bernoulli", seed=3)
    learner = ConstantExperts(6, arms, horizon=horizon, seed=8)
    agree(learner, LiteralEXP3(arms, horizon, 8), world, rounds=1000 if horizon == 1000 else 300)


def test_probabilities_are_those_of_exp3() -> None:
    rng = np.random.default_rng(1)
    learner = ConstantExperts(7, 4, horizon=300, seed=2)
    past: list[tuple[int, float]] = []
    for _ in range(300):
        context = int(rng.integers(7))
        arm, reward = learner.ask(context), float(rng.random())
        learner.tell(context, arm, reward)
        past.append((arm, reward))
        assert np.allclose(learner.probabilities(), exp3(past, 4, 300), rtol=1e-12)
    assert learner.tells == 300
    assert learner.policy().tolist() == [int(np.argmax(learner.probabilities()))] * 7


def test_asking_changes_nothing_and_the_context_does_not_matter() -> None:
    """It learns the same from rewards of others; only the draw is a context's own."""
    learner, again = (ConstantExperts(100, 5, horizon=50, seed=3) for _ in range(2))
    asked = []
    for _ in range(20):
        before = learner.probabilities()
        asked.append(learner.ask(0))
        assert [learner.ask(context) for context in (1, 99, 0)][2] == asked[-1]
        assert learner.probabilities() == before == again.probabilities()
        learner.tell(0, asked[-1], 0.5)
        again.tell(7, asked[-1], 0.5)
    assert len(set(asked)) > 1


def test_arms_are_drawn_with_their_probabilities() -> None:
    """Over seeds, in the second round: chi-squared, p > 1e-9."""
    counts = np.zeros(3)
    for seed in range(9000):
        learner = ConstantExperts(1, 3, horizon=2, seed=seed)
        if learner.ask(0) == 1:
            learner.tell(0, 1, 0.5)
            counts[learner.ask(0)] += 1
            after = learner.probabilities()
    number = counts.sum()
    assert min(after) < 0.25  # not uniform
    assert stats.chisquare(counts, number * np.array(after)).pvalue > 1e-9
    assert stats.chisquare(counts, np.full(3, number / 3)).pvalue < 1e-9


def test_probabilities_are_a_copy() -> None:
    learner = ConstantExperts(1, 2, horizon=9, seed=1)
    learner.probabilities()[0] = 9.0
    assert learner.probabilities() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((0, 2, 9, 1), "contexts: expected a whole number of at least 1, got 0"),
        ((3, 0, 9, 1), "arms: expected a whole number of at least 1, got 0"),
        ((3, 2.0, 9, 1), "arms: expected"),
        ((3, 2, 0, 1), "horizon: expected a whole number of at least 1, got 0"),
        ((3, 2, 9, -1), "seed: expected a whole number of at least 0, got -1"),
    ],
)
def test_bad_arguments(arguments: tuple[Any, Any, Any, Any], named: str) -> None:
    contexts, arms, horizon, seed = arguments
    with pytest.raises(ValueError, match=named):
        ConstantExperts(contexts, arms, horizon=horizon, seed=seed)


@pytest.mark.parametrize("reward", [1.01, -0.01, "1"])
def test_a_reward_outside_the_unit_interval_changes_nothing(reward: Any) -> None:
    learner = ConstantExperts(1, 2, horizon=9, seed=1)
    with pytest.raises(ValueError, match=r"reward: expected a number in \[0, 1\], got"):
        learner.tell(0, 0, reward)
    assert (learner.tells, learner.probabilities()) == (0, [0.5, 0.5])


def test_a_late_reward_is_weighed_with_the_probability_of_now() -> None:
    """Also one of an arm whose probability has vanished: nothing becomes NaN."""
    learner = ConstantExperts(1, 3, horizon=10, seed=1)
    past = [(0, 0.0), (2, 0.25), (2, 0.5)]
    for arm, reward in past:
        learner.tell(0, arm, reward)
    assert np.allclose(learner.probabilities(), exp3(past, 3, 10), rtol=1e-12)
    assert learner.policy().tolist() == [1]  # the only one without a loss
    for reward in (0.0, 0.0, 0.0, 0.0, 1.0, 0.0):
        for _ in range(40):
            learner.tell(0, 1, reward)
    assert math.isclose(sum(learner.probabilities()), 1.0)
    assert learner.probabilities()[1] < 1e-200


def test_regret_on_non_negative_rank_one() -> None:
    """At most sqrt(2KT log K) on average; who learned nothing would have over three times it."""
    K, T, seeds = 4, 3000, 20
    weight, value = np.linspace(0, 1, 6), np.array([0.4, 0.9, 0.1, 0.6])
    world = lb.worlds.from_matrix(np.outer(weight, value), noise="bernoulli")
    bound = math.sqrt(2 * K * T * math.log(K))
    regrets = [
        lb.play(
            ConstantExperts(6, K, horizon=T, seed=seed), world, horizon=T, seed=1000 + seed
        ).regret
        for seed in range(seeds)
    ]
    nothing_learned = T * float(np.mean(world.best[:, np.newaxis] - world.mean))
    assert nothing_learned > 3 * bound
    assert np.mean(regrets) <= bound
