"""Broken variants of claims break one thing only; what measures them agrees with counting."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import lumpable as lb
from lumpable import PAPER, lengths, pac, regret, worlds
from lumpable.base.arrays import BoolMatrix
from lumpable.learners import LumpableExperts
from lumpable.reproduce.claims import expert_classes, goodsets, lost_arm, nested, phases, theorems
from lumpable.runs.run import Step

# --- Theorem 2 --------------------------------------------------------------------------------


def test_all_buckets_are_algorithm_3() -> None:
    """With bucket 0 the variant is Algorithm 3, round for round; without it, it is not."""
    problem, world = theorems.GENERAL_SIZE, theorems.outvoted(24, 10)
    e, d = 0.002, 0.05
    whole = lb.simulate(pac.any_contexts(problem, epsilon=e, delta=d), world, seed=3)
    all_of_them = theorems.buckets_from(problem, epsilon=e, delta=d, first=0)
    same = lb.simulate(all_of_them, world, seed=3)
    skipped = lb.simulate(theorems.buckets_from(problem, epsilon=e, delta=d), world, seed=3)
    assert (same.rounds, same.policy.tolist()) == (whole.rounds, whole.policy.tolist())
    assert skipped.rounds < whole.rounds
    assert world.loss(whole.policy) < 0.01
    assert world.loss(skipped.policy) == pytest.approx(0.3, abs=0.01)  # 0.6 x 0.5


# --- Coverage ---------------------------------------------------------------------------------


def test_a_late_phase_is_what_algorithm_6_plays() -> None:
    """Where nothing falls and nothing is split, the phase is that of a run from the start."""
    problem = lb.Problem(8, 6, 2)
    world = goodsets.silent(problem, levelled=True)
    rounds = [
        sum(lengths.any_groups_phase(problem, h).explore(n) for n in range(1, h + 1))
        for h in range(1, 5)
    ]
    whole = phases.looks(regret.any_groups(problem), world, 1, sum(rounds) + 1)
    late = phases.looks(goodsets.from_phase(problem, h=4), world, 1, rounds[-1] + 1)
    tail = [look for look in whole if look.h == 4]
    for a, b in zip(tail, late, strict=True):
        assert (a.h, a.step.request.rounds, a.level) == (b.h, b.step.request.rounds, b.level)
        assert np.array_equal(a.good, b.good)
        assert np.array_equal(a.cluster, b.cluster)


@pytest.mark.parametrize("side", goodsets.SIDES)
def test_the_first_phase_that_covers_three_levels(side: int) -> None:
    problem = lb.Problem(side, side, 2)
    world, h = goodsets.silent(problem, levelled=True), goodsets.first_covering(problem)
    assert phases.protected_levels(world, 2, h)[1] == 3
    assert phases.protected_levels(world, 2, h - 1)[1] == 2


def test_exact_chance_of_a_miss_by_drawing() -> None:
    """2000 draws of three levels; five standard errors off would be no accident (3e-7)."""
    side, runs = 360, 2000
    problem, rng = lb.Problem(side, side, 2), np.random.default_rng(1)
    size = lengths.any_groups_phase(
        problem, goodsets.first_covering(problem), replace(PAPER, taper=1.0)
    )
    missed = np.zeros(runs, dtype=bool)
    for n in range(1, 4):
        plays = rng.binomial(size.explore(n), 1 / (8 * side), runs) // 2**n
        missed |= [(rng.multinomial(k, np.full(side, 1 / side)) == 0).any() for k in plays]
    chance = goodsets.chance_of_a_miss(goodsets.SHORT, side)
    assert 0.2 < chance < 0.8
    assert abs(missed.mean() - chance) < 5 * math.sqrt(chance * (1 - chance) / runs)


# --- Nested sets ------------------------------------------------------------------------------


def test_the_worst_deep_arm_by_hand() -> None:
    """Thresholds are nearly zero, so that every arm counts as bad: the worst played is the gap."""
    world = replace(nested.tiers(0), sd=0.0)
    problem = lb.Problem(60, 60, 2)
    constants = replace(PAPER, levels=1e-6)
    plan = regret.any_groups(problem, constants=constants)
    horizon = 10**7
    for look in phases.explorations(phases.looks(plan, world, 0, horizon)):
        levels = phases.protected_levels(world, 2, look.h)
        deep = [b for b in (0, 1) if 2 <= levels[b] < look.level]
        gap = world.best[:, np.newaxis] - world.mean
        expected = [
            max(gap[i, look.good[i]].max() for i in np.flatnonzero(world.group == b))
            / look.size.threshold(levels[b])
            for b in deep
        ]
        worst = nested.worst_deep(look)
        assert worst == pytest.approx(max(expected)) if expected else math.isnan(worst)


# --- The lost arm -----------------------------------------------------------------------------


def test_carried_sets_only_shrink_and_fresh_ones_do_not() -> None:
    def sets(plan: lb.Plan) -> list[BoolMatrix]:
        seen: list[BoolMatrix] = []

        def watch(step: Step) -> None:
            belief = step.request.belief
            if belief is not None and belief.kind == "exploring":
                seen.append(step.request.arms)

        lb.simulate(plan, lost_arm.odd_taste(), horizon=10**8, seed=1, watch=watch)
        return seen

    carried = sets(lost_arm.carrying_sets(lost_arm.PROBLEM, constants=lost_arm.SMALL))
    fresh = sets(regret.fresh_phases(lost_arm.PROBLEM, constants=lost_arm.SMALL))
    assert all((after <= before).all() for before, after in pairwise(carried))
    assert not all((after <= before).all() for before, after in pairwise(fresh))
    assert carried[-1].sum() < carried[0].sum()


def test_linear_regret_is_told_from_its_root() -> None:
    times = [2.0**k for k in range(30, 37)]
    rate = lost_arm.LOSS / lost_arm.SIDE
    assert lost_arm.is_linear(rate * np.array(times), times)
    assert not lost_arm.is_linear(1e2 * np.sqrt(times), times)


# --- EXP4 and SupLinRel -----------------------------------------------------------------------


def test_bounds_by_hand() -> None:
    """At S = K = 2^20 and r = 2, the smallest ratio of each class."""
    n = 2**20
    assert expert_classes.of_standard(expert_classes.features) == 1
    assert expert_classes.of_standard(expert_classes.told_groups) == pytest.approx(
        math.sqrt(2 * math.log(n) / n)
    )
    assert expert_classes.of_standard(expert_classes.groupings) == pytest.approx(
        math.sqrt(math.log(2) * (1 - 1 / 16))
    )


def test_told_the_groups_it_has_an_expert_for_every_map_of_groups() -> None:
    """K^r maps: with r = 2 and K = 3 its mixture is that of the nine, listed."""
    group = np.array([0, 1, 0, 1, 1])
    learner = expert_classes.Told(group, 3, horizon=500, seed=1)
    told = [(0, 1, 1.0), (3, 2, 0.5), (2, 1, 1.0), (4, 0, 1.0), (1, 2, 1.0)]
    gain = np.zeros((2, 3))
    gamma = learner.inside.state.gamma
    for context, arm, reward in told:
        b = group[context]
        weight = np.exp(gamma * gain / 3)
        mixture = (1 - gamma) * weight[b] / weight[b].sum() + gamma / 3
        assert learner.inside.probabilities(int(b)) == pytest.approx(mixture)
        gain[b, arm] += reward / mixture[arm]
        learner.tell(context, arm, reward)
    assert gamma == pytest.approx(math.sqrt(3 * math.log(3**2) / ((math.e - 1) * 500)))


def test_told_the_groups_the_number_of_contexts_does_not_matter() -> None:
    """The same arrivals of groups, from two contexts and from twenty: the same arms."""
    arrivals = np.random.default_rng(1).integers(0, 2, 200)
    small = expert_classes.Told(np.arange(2), 4, horizon=200, seed=5)
    large = expert_classes.Told(np.arange(20) % 2, 4, horizon=200, seed=5)
    each = LumpableExperts(20, 4, groups=2, horizon=200, seed=5)
    apart = 0
    for t, b in enumerate(arrivals.tolist()):
        other = b + 2 * (t % 10)
        arm = small.ask(b)
        assert large.ask(other) == arm
        apart += each.ask(other) != arm
        reward = float(arm == b)
        small.tell(b, arm, reward)
        large.tell(other, arm, reward)
        each.tell(other, arm, reward)
    assert apart > 0


def test_worlds_of_the_variants() -> None:
    odd, outvoted = lost_arm.odd_taste(), theorems.outvoted(24, 10)
    assert odd.groups == 2
    assert np.ptp(odd.mean, axis=1).max() == 1
    assert odd.policy.tolist() == [0] * 99 + [1]
    assert outvoted.frequency[0] == pytest.approx(0.6)
    pooled = outvoted.frequency @ outvoted.mean
    assert (int(pooled.argmax()), int(outvoted.policy[0])) == (1, 0)
    assert worlds.lumpable(8, 4, 2, means="hard", gap=0.4, seed=0).mean.max() <= 1
