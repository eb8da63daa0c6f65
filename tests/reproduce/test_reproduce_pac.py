"""What the claims are measured with, mostly of the PAC half: against brute force and by hand."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import lumpable as lb
from lumpable import PAPER, lengths, worlds
from lumpable.base.arrays import FloatVector
from lumpable.reports.kit import axes
from lumpable.reproduce.claim import Measured
from lumpable.reproduce.claims import (
    buckets,
    clustering,
    frozen,
    hardest,
    lowrank,
    near_optimal,
    rates,
    regret_growth,
    samples,
    several_levels,
    sketch,
    skewed,
    tails,
    witness,
)


@pytest.mark.parametrize(("elements", "draws"), [(1, 1), (2, 1), (2, 4), (3, 5), (4, 6)])
def test_miss_probability_by_counting_all_sequences(elements: int, draws: int) -> None:
    sequences = list(itertools.product(range(elements), repeat=draws))
    missed = sum(len(set(sequence)) < elements for sequence in sequences)
    assert tails.miss_probability(elements, draws) == pytest.approx(missed / len(sequences))


def test_tails_by_hand() -> None:
    risk = math.exp(-0.5)  # one radius is 1/sqrt(2): a fair sign is always further off
    assert tails.largest_error_tail(risk, 1.0) == 1.0
    # at p = 1/2 and M = 2 a count below 1/2 is none at all: 1/4; rarer successes come near e^-1
    assert tails.largest_count_tail(1 / math.e, 1.0) == pytest.approx(math.exp(-1), rel=1e-3)


def test_a_wider_threshold_leaves_all_lengths() -> None:
    problem = lb.Problem(12, 8, 3)
    printed = lengths.near_uniform_lengths(problem, 0.01, 0.05)
    wide = lengths.near_uniform_lengths(problem, 0.01, 0.05, witness.threshold_times(4.0))
    assert list(wide.worst_case()) == list(printed.worst_case())
    assert wide.threshold(3) == pytest.approx(4 * printed.threshold(3))


def test_worlds_are_what_they_say() -> None:
    root = math.sqrt(witness.log_x(lb.Problem(12, 8, 2)))
    decoy = witness.decoy(12, 8, 0.01, 3.0)
    assert decoy.mean[1, 1] - decoy.mean[1, 0] == pytest.approx(3 * root * 0.01)
    large = witness.one_large_block(50, 6, 3, 0.5)
    assert np.bincount(large.group).tolist() == [48, 1, 1]
    assert large.frequency[-2:] == pytest.approx([1 / 400, 1 / 400])
    assert 1 / 8 <= large.frequency.min() * 50 <= large.frequency.max() * 50 <= 8
    assert witness.most_uneven(63).sum() == pytest.approx(1)
    assert buckets.spread_out(100, 0.1).min() == pytest.approx(1e-4)


def test_sizeable_blocks_and_their_levels() -> None:
    """omega = (1/2, 3/8, 1/8) and r = 3: only the last has r omega below 1, so n_b below N."""
    mean = np.eye(3)[np.array([0, 0, 0, 0, 1, 1, 1, 2])]
    world = worlds.from_matrix(mean)
    epsilon = 2.0**-4
    found = list(witness.sizeable(world, 3, epsilon))
    assert [block.level for block in found] == [8, 8, 7]
    assert found[2].epsilon == pytest.approx(epsilon / math.sqrt(3 / 8))
    assert len(list(witness.sizeable(world, 3, 0.5))) == 2  # 1/8 is below epsilon / r = 1/6


def test_what_a_run_missed_is_seen() -> None:
    world = worlds.lumpable(6, 5, 2, seed=1)
    few = replace(PAPER, explore=PAPER.explore / 500)
    for constants, missing in ((PAPER, False), (few, True)):
        run = witness.algorithm_1(world, 0.3, 1, constants, only_step_1=True)
        assert run.run.result is None
        assert any(run.uncovered(block) for block in run.blocks()) is missing
    whole = witness.algorithm_1(world, 2.0**-8, 1)
    assert [whole.gap(block) for block in whole.blocks()] == [0.0, 0.0]
    assert whole.candidates == sorted(set(world.policy))


def test_one_arm_for_all_is_the_best_single_candidate() -> None:
    run = witness.algorithm_1(witness.planted(6, 4, 2, 0.5), 2.0**-6, 0)
    assert run.candidates == [0, 1]
    assert near_optimal.one_arm_for_all(run) == pytest.approx(0.25)


def test_the_deepest_level_alone_is_one_level_of_algorithm_1() -> None:
    world = worlds.lumpable(6, 5, 2, seed=1)
    problem = witness.size_of(world)
    plan = several_levels.deepest_level_only(problem, epsilon=0.1, delta=0.05)
    alone = witness.watch(plan, world, 1)
    N = lengths.near_uniform_lengths(problem, 0.1, 0.05).levels
    repeats = [step.request.repeats for step in alone.steps]
    assert repeats == [2**N, 2**N] + [1] * len(alone.candidates)


def test_the_slip_of_the_estimate_by_drawing() -> None:
    """A lower bound on the probability, and close to it: five standard errors of 4,000 draws."""
    _, probability = buckets.slip(100, 1.0)
    drawn = buckets.slips(100, 4000, 1.0) / 4000
    assert abs(drawn - probability) < 5 * math.sqrt(probability / 4000)
    assert buckets.slip(100, 2.0)[1] < probability / 10


def test_the_exponent_at_the_same_sum() -> None:
    """Rounds in proportion to log(rSK/delta) (S + 2 K) have exponent 0 in S K."""
    sizes = [lb.Problem(S, K, 5) for S, K in samples.SAME_SUM]
    found = []
    for problem in sizes:
        S, K, _ = problem.letters
        rounds = round(1e6 * witness.log_x(problem) * (S + 2 * K))
        found.append(samples.Runs(problem, 0.1, (rounds, rounds), (0.0, 0.0)))
    assert samples.at_same_sum(found, naive=False)[0] == pytest.approx(0, abs=1e-6)
    assert samples.at_same_sum(found, naive=True)[0] == pytest.approx(1, abs=0.02)


def test_ticks_are_few_and_inside() -> None:
    for low, high in ((1e-22, 1.0), (0.003, 8.0), (25.0, 400.0), (0.9, 1.1)):
        ticks = axes.ticks(low, high)
        assert 1 <= len(ticks) <= 9
        assert low / 1.02 <= min(ticks) <= max(ticks) <= high * 1.02


def test_the_widest_threshold_is_the_largest_span() -> None:
    problem = lb.Problem(50, 30, 5)
    wide = lengths.near_uniform_lengths(
        problem, lowrank.ACCURACY, witness.DELTA, lowrank.widest(problem)
    )
    assert wide.threshold(wide.levels) == pytest.approx(1)


def test_a_charge_says_something_from_its_first_time_on() -> None:
    for method, first in ((regret_growth.FOUR, 4.0**23), (regret_growth.SIX, 4.0**25)):
        times = regret_growth.says_something(regret_growth.BASE, method.law)
        assert times == [T for T in regret_growth.TIMES if first <= T]


def test_a_charge_adds_up_what_the_proof_charges() -> None:
    """Two phases of Algorithm 4 by hand; the second one is cut off in the middle of Step 1."""
    problem = lb.Problem(6, 5, 3)
    one, two = (lengths.equal_groups_phase(problem, h) for h in (1, 2))
    T = one.explore(1) + two.explore(2) / 2
    calls = [6 * p.threshold(p.h) * min(T, 2 * p.split_rounds(p.h)) for p in (one, two)]
    step_1 = 6 * (one.threshold(1) * one.explore(1) + two.threshold(2) * two.explore(2) / 2)
    charge = rates.charge(problem, T, lengths.equal_groups_phase)
    assert charge == pytest.approx(sum(calls) + step_1)


def test_a_charge_is_of_the_order_of_the_theorem() -> None:
    """Each of T and S + K four times as large: twice the charge, but for logarithms."""
    for law in (lengths.equal_groups_phase, lengths.any_groups_phase):
        base = rates.charge(lb.Problem(40, 40, 8), 1e17, law)
        longer = rates.charge(lb.Problem(40, 40, 8), 4e17, law)
        larger = rates.charge(lb.Problem(160, 160, 8), 1e17, law)
        assert 1.9 < longer / base < 2.3
        assert 1.9 < larger / base < 2.6


def test_copies_are_the_same_world() -> None:
    problem = lb.Problem(16, 12, 3)
    world = hardest.own_arms(problem, 4, uneven=True)
    twice = hardest.copied(world, 2)
    assert (twice.contexts, twice.arms, twice.groups) == (32, 24, 3)
    assert twice.frequency.min() == pytest.approx(1 / (8 * 32))
    assert twice.loss(twice.policy * 0) == pytest.approx(world.loss(world.policy * 0))
    assert world.span == 1.0


def test_the_worst_gap_is_found_wherever_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regret that peaks at k = 20, below what T rounds can lose there."""
    looked: list[float] = []

    def peaked(plan: lb.Plan, world: lb.World, seed: int, times: tuple[float, ...]) -> FloatVector:
        looked.append(-math.log2(float(world.mean.max())))
        k = looked[-1] - looked[0]
        return np.array([T * 2.0 ** (-22 - abs(k - 20)) for T in times])

    monkeypatch.setattr(hardest, "curve", peaked)
    problem = lb.Problem(8, 8, 2)
    world = hardest.own_arms(problem, 0)
    worst = hardest.worst_regret(lambda: lb.standard.online(problem), world, 0, (1e18,), step=0.5)
    assert worst == pytest.approx([1e18 * 2.0**-22])
    assert looked[-1] - looked[0] == pytest.approx(21.5)  # from 22 on, nothing can be worse


def test_a_plan_frozen_at_once_plays_every_arm_for_ever() -> None:
    world = worlds.lumpable(6, 5, 6, seed=2)
    run = lb.simulate(frozen.frozen_at_once(lb.Problem(6, 5, 6)), world, horizon=10**15, seed=2)
    never = 1e15 * float(world.frequency @ (world.best - world.mean.mean(axis=1)))
    assert run.regret == pytest.approx(never, rel=1e-4)


def test_what_a_whole_run_may_fail_by_adding_up_its_phases() -> None:
    r = clustering.WHOLE.groups
    each = [2.0**-h / (r**3 * 36 * 20) for h in range(1, 60)]
    assert clustering.promised_whole() == pytest.approx(sum((r - 1) * 2 * d / r for d in each))


def test_a_bucket_surely_learns_once_its_schedule_says_so() -> None:
    """Nothing falls before phase h with 3.5 eps~ < 1 is over, however few groups there are."""
    problem = lb.Problem(1, 5, 1)
    h = 1
    while 3.5 * lengths.any_groups_phase(problem, h).threshold(h) >= 1:
        h += 1
    phases = [lengths.any_groups_phase(problem, k) for k in range(1, h + 1)]
    needed = sum(phase.explore(n) for phase in phases for n in range(1, phase.h + 1))
    assert skewed.surely_learns(problem, needed)
    assert not skewed.surely_learns(problem, needed - 1)


def test_a_sketch_refuses_a_series_that_was_not_measured() -> None:
    rows = sketch.curves("S", (10, 20), "rounds", {"naive": (200, 800)})
    measured = Measured(seeds=2, setting={"K": 5}, rows=rows)
    one = sketch.Sketch(
        sketch.Axis("S", "contexts"),
        sketch.Axis("rounds", "rounds"),
        {"naive": "blue"},
        title="Rounds",
        subtitle="K = {K}, {seeds} runs.",
        description="A line.",
    )
    assert one(measured).to_dict()["title"]["subtitle"] == ["K = 5, 2 runs."]
    with pytest.raises(ValueError, match="series: expected names of measured series"):
        replace(one, series={"naive": "blue", "other": "green"})(measured)


def test_a_worst_gap_at_the_start_of_the_search_is_refused() -> None:
    problem = lb.Problem(6, 6, 2)
    world = hardest.own_arms(problem, 1)
    with pytest.raises(AssertionError, match="not beyond"):
        hardest.worst_regret(lambda: lb.standard.online(problem), world, 0, (1e6,), start=15.0)
