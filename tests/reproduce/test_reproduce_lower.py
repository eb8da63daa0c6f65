"""What the claims on lower bounds and on E[T] are measured with: against brute force."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest

import lumpable as lb
from lumpable import bounds, lengths, worlds
from lumpable.reproduce.claims import attackers, guessing, mean_rounds, regret_lower, two_arms
from lumpable.reproduce.claims.attackers import ATTACKERS
from lumpable.reproduce.claims.guessing import Size
from lumpable.reproduce.claims.witness import DELTA

Counts = tuple[tuple[int, int], ...]


def least(gap: float, arms: int, plays: int, price: float) -> float:
    """Return the least cost of any play, by all counts of successes and failures of all arms."""

    def weights(counts: Counts) -> np.ndarray:
        each = [(1 + 2 * gap) ** won * (1 - 2 * gap) ** lost for won, lost in counts]
        return np.array(each) / sum(each)

    @functools.cache
    def value(left: int, counts: Counts) -> float:
        p = weights(counts)
        if left == 0:
            return 0.0 if price else float(1 - p.max())
        costs = []
        for arm, (won, lost) in enumerate(counts):
            chance = 0.5 + gap * p[arm]
            after = [
                value(left - 1, (*counts[:arm], new, *counts[arm + 1 :]))
                for new in ((won + 1, lost), (won, lost + 1))
            ]
            costs.append(price * (1 - p[arm]) + chance * after[0] + (1 - chance) * after[1])
        return float(min(costs))

    return value(plays, ((0, 0),) * arms)


@pytest.mark.parametrize("gap", [0.05, 0.25, 0.4])
def test_the_best_play_of_two_arms_by_brute_force(gap: float) -> None:
    plays = range(7)
    assert two_arms.least_error(gap, 6) == pytest.approx([least(gap, 2, n, 0.0) for n in plays])
    assert two_arms.least_regret(gap, 6) == pytest.approx([least(gap, 2, n, gap) for n in plays])


@pytest.mark.parametrize(("arms", "most"), [(2, 8), (3, 6), (4, 4)])
@pytest.mark.parametrize("gap", [0.05, 0.25, 0.45])
def test_no_play_is_below_the_bound(arms: int, most: int, gap: float) -> None:
    for n in range(most + 1):
        bound = guessing.wrong_at_least(arms, gap, np.array(float(n)))
        assert least(gap, arms, n, 0.0) >= bound - 1e-12


@pytest.mark.parametrize(("arms", "plays"), [(2, 0), (2, 3), (3, 2), (4, 1)])
def test_uniform_play_by_counting_all_outcomes(arms: int, plays: int) -> None:
    gap, wrong = 0.2, 0.0
    for outcome in itertools.product(range(plays + 1), repeat=arms):  # arm 0 is the good one
        chance = 1.0
        for arm, heads in enumerate(outcome):
            p = 0.5 + gap * (arm == 0)
            chance *= math.comb(plays, heads) * p**heads * (1 - p) ** (plays - heads)
        ties = outcome.count(max(outcome))
        wrong += chance * (1 - (outcome[0] == max(outcome)) / ties)
    assert guessing.wrong_if_uniform(arms, gap, plays) == pytest.approx(wrong)


def test_a_quarter_of_wrong_arms_is_a_loss_of_epsilon() -> None:
    """Failing with probability 1/2 is what the bound says up to `half_fail`, if gap <= 1/4."""
    for k, epsilon in ((3, 1 / 16), (8, 1 / 16), (8, 0.01), (100, 0.01)):
        n = guessing.half_fail(k) * k / epsilon**2
        bound = guessing.wrong_at_least(k, 4 * epsilon, np.array(n))
        assert guessing.failure_at_least(float(bound)) >= 0.5 - 1e-12
    assert guessing.failure_at_least(0.25) == 0
    assert guessing.failure_at_least(1.0) == 1
    assert guessing.half_fail(2) == 0


@pytest.mark.parametrize(
    ("case", "sizes", "bandits"),
    [(1, (40, 8, 9), (40, 8)), (2, (40, 12, 5), (40, 5)), (3, (40, 12, 5), (5, 12))],
)
def test_the_hard_instances_are_bandits_with_one_good_arm(
    case: int, sizes: tuple[int, int, int], bandits: tuple[int, int]
) -> None:
    world = worlds.hard(case, *sizes, epsilon=0.05, seed=4)
    comes = world.frequency > 0
    assert world.frequency[comes] == pytest.approx(np.full(bandits[0], 1 / bandits[0]))
    good = world.mean[comes] > 0.5
    assert good.sum(axis=1).tolist() == [1] * bandits[0]
    assert world.mean[comes][good] == pytest.approx(0.7)
    assert not good[:, bandits[1] :].any()


@pytest.mark.parametrize("name", ATTACKERS)
def test_attackers_start_with_a_guess_and_end_with_the_good_arm(name: str) -> None:
    right = attackers.correct(ATTACKERS[name], rows=500, arms=4, gap=0.4, visits=150, seed=7)
    assert abs(right[0].mean() - 0.25) < 5 * math.sqrt(0.25 * 0.75 / 500)
    assert right[-1].mean() > 0.98


def test_nobody_beats_the_best_play_of_two_arms() -> None:
    """Five standard errors of 4,000 bandits; the greedy one, who knows the gap, is as good."""
    best = two_arms.least_error(0.2, 30)
    for name in ATTACKERS:
        right = attackers.correct(ATTACKERS[name], rows=4000, arms=2, gap=0.2, visits=30, seed=8)
        wrong = 1 - right.mean(axis=1)
        assert (wrong > best - 5 * np.sqrt(best * (1 - best) / 4000)).all()
        if name == "most probable arm":
            assert (wrong < best + 5 * np.sqrt(best * (1 - best) / 4000)).all()


def test_wrong_shares_are_those_of_what_was_played() -> None:
    """Bandits are right from their third play on: a budget of 100 rounds is enough for four."""
    right = np.arange(6)[:, np.newaxis] >= np.full(8, 3)
    size, rng = Size(2, 1 / 16), np.random.default_rng(0)
    weight = guessing.weights(right, size, 4, rng, told=False)
    assert weight.shape == (2, 4)
    for budget, wrong in ((0, 1.0), (2, 1.0), (100, 0.0)):
        assert guessing.wrong_shares(right, weight, budget, rng).tolist() == [wrong] * 2
    told = guessing.weights(right, size, 1000, rng, told=True)
    assert told.shape == (4, 2)
    assert told.sum(axis=1) == pytest.approx(np.ones(4))


def test_the_least_regret_is_above_the_bound_and_below_uniform_play() -> None:
    for contexts, horizon in ((4, 8), (64, 512), (512, 8192)):
        size = regret_lower.Size(1, contexts, 2, 2, horizon)
        assert size.bound <= size.least_regret() <= size.gap * horizon / 2
        assert size.least_regret(0.01) < size.bound


def test_more_than_r_screenings_are_what_is_added_to_the_worst_case() -> None:
    S, K, r, epsilon = 30, 20, 3, 0.1
    taken = mean_rounds.Taken(lb.Problem(S, K, r), epsilon, (1,), 0)
    size = lengths.near_uniform_lengths(taken.problem, epsilon, DELTA)
    tests = sum(size.test(level) for level in range(1, size.levels + 1))
    most = size.levels * size.explore + S * tests + min(K, S * size.levels) * size.settle
    added = taken.chance * (most - taken.few)
    assert taken.bound == pytest.approx(taken.few + added, rel=1e-12)
    assert taken.few == bounds.near_uniform_rounds(taken.problem, epsilon, DELTA)


def test_the_worst_worlds_for_the_rounds_are_what_they_say() -> None:
    world = mean_rounds.many_best_arms(9, 6, 3)
    assert world.groups == 3
    assert np.sum(world.mean == 1, axis=1).tolist() == [2] * 9
    nu = mean_rounds.ladder(40, 11)
    assert sum(nu) == pytest.approx(1)
    assert [lb.pac.bucket_of(np.array(nu), 12)[k] for k in range(10)] == list(range(2, 12))


def test_a_threshold_without_its_logarithm() -> None:
    problem, epsilon = lb.Problem(30, 20, 3), 0.1
    broken = mean_rounds.without_logarithm(problem, epsilon)
    bare = lengths.near_uniform_lengths(problem, epsilon, DELTA, broken)
    printed = lengths.near_uniform_lengths(problem, epsilon, DELTA)
    assert list(bare.worst_case()) == list(printed.worst_case())
    assert bare.threshold(4) == pytest.approx(1 / 4)
