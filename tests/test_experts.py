"""EXP4 with constant experts: exact against EXP3 in ten lines, and its regret."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lumpable as lb
from lumpable.learners import ConstantExperts


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


def test_probabilities_are_those_of_exp3() -> None:
    rng = np.random.default_rng(1)
    learner = ConstantExperts(4, horizon=300, seed=2)
    past: list[tuple[int, float]] = []
    for _ in range(300):
        context = int(rng.integers(7))
        arm, reward = learner.ask(context), float(rng.random())
        learner.tell(context, arm, reward)
        past.append((arm, reward))
        assert np.allclose(learner.probabilities(), exp3(past, 4, 300), rtol=1e-12)
    assert learner.rounds == 300


def test_asking_changes_nothing_and_the_context_does_not_matter() -> None:
    learner = ConstantExperts(5, horizon=50, seed=3)
    asked = []
    for _ in range(20):
        before = learner.probabilities()
        arms = {learner.ask(context) for context in (0, 1, 0, 99)}
        assert len(arms) == 1
        assert learner.probabilities() == before
        asked.append(arms.pop())
        learner.tell(0, asked[-1], 0.5)
    again = ConstantExperts(5, horizon=50, seed=3)
    for arm in asked:
        assert again.ask(7) == arm
        again.tell(7, arm, 0.5)
    assert len(set(asked)) > 1


def test_arms_are_drawn_with_their_probabilities() -> None:
    """Over seeds, in the second round: chi-squared, p > 1e-9."""
    counts = np.zeros(3)
    for seed in range(9000):
        learner = ConstantExperts(3, horizon=2, seed=seed)
        if learner.ask(0) == 1:
            learner.tell(0, 1, 0.5)
            counts[learner.ask(0)] += 1
            after = learner.probabilities()
    number = counts.sum()
    assert min(after) < 0.25  # not uniform
    assert stats.chisquare(counts, number * np.array(after)).pvalue > 1e-9
    assert stats.chisquare(counts, np.full(3, number / 3)).pvalue < 1e-9


def test_probabilities_are_a_copy() -> None:
    learner = ConstantExperts(2, horizon=9, seed=1)
    learner.probabilities()[0] = 9.0
    assert learner.probabilities() == [0.5, 0.5]


def test_one_arm_is_always_played() -> None:
    learner = ConstantExperts(1, horizon=9, seed=1)
    learner.tell(0, learner.ask(0), 0.0)
    assert learner.ask(0) == 0
    assert learner.probabilities() == [1.0]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((0, 9, 1), "arms: expected a whole number of at least 1, got 0"),
        ((2.0, 9, 1), "arms: expected"),
        ((2, 0, 1), "horizon: expected a whole number of at least 1, got 0"),
        ((2, 9, -1), "seed: expected a whole number of at least 0, got -1"),
    ],
)
def test_bad_arguments(arguments: tuple[Any, Any, Any], named: str) -> None:
    arms, horizon, seed = arguments
    with pytest.raises(ValueError, match=named):
        ConstantExperts(arms, horizon=horizon, seed=seed)


@pytest.mark.parametrize(
    ("arm", "reward", "named"),
    [
        (2, 0.5, "arm: expected one of 0 .. 1, got 2"),
        (-1, 0.5, "arm: expected one of 0 .. 1, got -1"),
        (0, 1.01, r"reward: expected a number in \[0, 1\], got 1.01"),
        (0, -0.01, r"reward: expected a number in \[0, 1\], got -0.01"),
        (0, math.nan, "reward: expected"),
        (0, "1", "reward: expected"),
    ],
)
def test_a_bad_reward_changes_nothing(arm: Any, reward: Any, named: str) -> None:
    learner = ConstantExperts(2, horizon=9, seed=1)
    with pytest.raises(ValueError, match=named):
        learner.tell(0, arm, reward)
    assert (learner.rounds, learner.probabilities()) == (0, [0.5, 0.5])


@pytest.mark.parametrize("reward", [0, 1, 0.0, 1.0])
def test_rewards_at_the_ends_are_fine(reward: float) -> None:
    ConstantExperts(2, horizon=9, seed=1).tell(0, 0, reward)


def test_regret_on_non_negative_rank_one() -> None:
    """At most sqrt(2KT log K) on average; who learned nothing would have over three times it."""
    K, T, seeds = 4, 3000, 20
    weight, value = np.linspace(0, 1, 6), np.array([0.4, 0.9, 0.1, 0.6])
    world = lb.worlds.from_matrix(np.outer(weight, value), noise="bernoulli")
    bound = math.sqrt(2 * K * T * math.log(K))
    regrets = [
        lb.play(ConstantExperts(K, horizon=T, seed=seed), world, horizon=T, seed=1000 + seed).regret
        for seed in range(seeds)
    ]
    nothing_learned = T * float(np.mean(world.best[:, np.newaxis] - world.mean))
    assert nothing_learned > 3 * bound
    assert np.mean(regrets) <= bound


def test_a_reward_of_another_arm_is_late_and_changes_nothing() -> None:
    learner = ConstantExperts(3, horizon=100, seed=1)
    asked = learner.ask(0)
    learner.tell(0, (asked + 1) % 3, 0.0)
    assert (learner.rounds, learner.late, learner.ask(0)) == (0, 1, asked)
    assert learner.probabilities() == [1 / 3] * 3
    learner.tell(0, asked, 0.0)
    assert (learner.rounds, learner.late) == (1, 1)


# --- UCB1 -----------------------------------------------------------------------------------


def test_ucb1_is_the_printed_index_decision_by_decision() -> None:
    """A literal UCB1 for each context, over a thousand rounds."""
    world = lb.worlds.lumpable(5, 4, 2, noise="bernoulli", seed=3)
    learner = lb.learners.UCB1(5, 4)
    rng = np.random.default_rng(8)
    seen: dict[tuple[int, int], list[float]] = {}
    for _ in range(1000):
        i = int(rng.integers(5))
        tried = {j: seen[i, j] for j in range(4) if (i, j) in seen}
        n = sum(map(len, tried.values()))
        index = [
            sum(tried[j]) / len(tried[j]) + math.sqrt(2 * math.log(n) / len(tried[j]))
            if j in tried
            else math.inf
            for j in range(4)
        ]
        arm = learner.ask(i)
        assert arm == learner.ask(i) == index.index(max(index))
        reward = world.reward(i, arm, rng)
        learner.tell(i, arm, reward)
        seen.setdefault((i, arm), []).append(reward)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda u: u.ask(2), "context: expected one of 0 .. 1, got 2"),
        (lambda u: u.tell(0, 3, 0.5), "arm: expected one of 0 .. 2, got 3"),
        (lambda u: u.tell(0, 0, 1.5), "reward: expected a number in"),
        (lambda u: u.tell(5, 0, 0.5), "context: expected one of"),
        (lambda u: lb.learners.UCB1(0, 3), "contexts: expected"),
    ],
)
def test_bad_input_to_ucb1(call: Any, named: str) -> None:
    learner = lb.learners.UCB1(2, 3)
    with pytest.raises(ValueError, match=named):
        call(learner)
    assert learner.plays.sum() == 0


def test_ucb1_learns_each_context_on_its_own() -> None:
    """Regret is far below that of arms at random, and grows slower than T."""
    world = lb.worlds.from_matrix([[0.9, 0.1], [0.2, 0.7]], noise="bernoulli")
    played = lb.play(lb.learners.UCB1(2, 2), world, horizon=1 << 14, seed=4)
    half, whole = (row["regret"] for row in played.rows()[-2:])
    assert whole < 0.05 * 0.325 * played.rounds
    assert whole - half < 0.5 * half


def test_a_world_and_its_play_share_no_draws() -> None:
    """The same seed for both is harmless: contexts do not come from the stream of the means."""
    world = lb.worlds.lumpable(4, 3, 4, seed=7)
    stream = np.random.default_rng(7).random(64)
    drawn = np.random.default_rng([7, 1]).random(64)
    assert not set(stream) & set(drawn)
    assert set(np.unique(world.mean)) & set(stream)
