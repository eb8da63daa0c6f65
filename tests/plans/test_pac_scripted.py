"""Algorithms 1 and 3 and the methods that ignore groups, under scripted answers."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lumpable as lb
from lumpable.base.arrays import BoolMatrix
from twins.scripted import Script, column

# --- Scripted: Algorithm 1 ------------------------------------------------------------------


def test_algorithm_1_line_by_line() -> None:
    """Three contexts, three arms, epsilon = 1/2: two levels; every request as printed."""
    S, K, r, epsilon, delta = 3, 3, 2, 0.5, 0.1
    lg = 16 * math.log(r * S * K / delta)
    plan = Script(lb.pac.near_uniform(lb.Problem(S, K, r), epsilon=epsilon, delta=delta))

    for n in (1, 2):  # lines 2 to 4: L rounds at each of N = 2 levels
        assert plan.asks.rounds == math.ceil(r * (S + K) * lg / epsilon**2)
        assert plan.asks.repeats == 2**n
        assert plan.asks.arms.all()
        plan.tell({(0, 2): 9.0, (1, 1): 9.0, (2, 0): 100.0} if n == 1 else {(1, 0): 1.0})

    # lines 7 to 10: the largest mean of level 1 is (2, 0)
    assert plan.asks.rounds == math.ceil(8 * lg * 2 * S)
    assert plan.asks.repeats == 2
    assert plan.arms == [[0]] * 3
    # line 11: context 0 is near (leaves), 1 has no estimate (stays), 2 is i* (leaves, though far)
    assert math.sqrt(lg / 2) < 100
    plan.tell_column(0, [100.0, math.nan, -100.0])
    assert plan.arms == [[1]] * 3  # context 1 is left, with arm 1
    assert plan.belief.candidates == (0, 1)
    plan.tell_column(1, [9.0, 9.0, 9.0])

    assert plan.asks.repeats == 4  # level 2 has one pair: (1, 0)
    assert plan.asks.rounds == math.ceil(8 * lg * 4 * S)
    plan.tell({})  # nobody has an estimate: i* leaves all the same

    # line 12: candidates 0 and 1 in increasing order
    for arm, values in ((0, [0.3, 0.7, math.nan]), (1, [0.3, 0.8, math.nan])):
        assert plan.asks.rounds == math.ceil(4 * S / epsilon**2 * math.log(S * K / delta))
        assert plan.asks.repeats == 1
        assert plan.arms == [[arm]] * 3
        plan.tell_column(arm, values)
    # a tie goes to the first arm; context 2 takes the arm with the best average, 1
    assert plan.result.policy.tolist() == [0, 1, 1]
    assert plan.result.candidates == (0, 1)
    assert plan.result.screenings == (2, 1)
    assert plan.result.notes == ()


def test_the_threshold_is_strict() -> None:
    """A context exactly sqrt(lg/2^n) away stays: line 11 keeps >=."""
    problem = lb.Problem(2, 2, 2)
    size = lb.lengths.near_uniform_lengths(problem, 0.5, 0.1)
    for distance, arms_asked in ((size.threshold(1), 2), (size.threshold(1) * 0.999, 1)):
        plan = Script(lb.pac.near_uniform(problem, epsilon=0.5, delta=0.1))
        for mean in ({(0, 0): 0.0, (1, 1): -1.0}, {}, column(0, [0.0, -distance])):
            plan.tell(mean)
        assert (plan.asks.repeats == 2) == (arms_asked == 2)


def test_more_than_r_screenings_are_noted() -> None:
    """Four contexts that never agree: r = 1 is wrong, and the result says so."""
    plan = Script(lb.pac.near_uniform(lb.Problem(4, 4, 1), epsilon=0.5, delta=0.1))
    while not plan.over:
        if plan.asks.arms.all():
            plan.tell({(i, i): 1e3 * i for i in range(4)})
        else:
            plan.tell_column(plan.arms[0][0], [-1e6] * 4)
    assert plan.result.screenings == (4, 4)
    assert "level 1 took 4 screenings, more than r = 1" in plan.result.notes


def test_nothing_seen_gives_arm_0() -> None:
    plan = Script(lb.pac.near_uniform(lb.Problem(3, 3, 1), epsilon=0.5, delta=0.1))
    while not plan.over:
        plan.tell({})
    assert plan.result.policy.tolist() == [0, 0, 0]
    assert plan.result.candidates == ()


def test_more_groups_than_arms_is_noted() -> None:
    world = lb.worlds.lumpable(4, 2, 3, seed=1)
    run = lb.exact(lb.pac.near_uniform(lb.Problem(4, 2, 3), epsilon=0.5, delta=0.1), world)
    assert any("outside the theorem's assumptions" in note for note in run.notes)


# --- Scripted: Algorithm 3 ------------------------------------------------------------------


def test_algorithm_3_line_by_line() -> None:
    """One context with half of all arrivals, two with a quarter, one never seen."""
    S, K, r, epsilon, delta = 4, 2, 2, 0.125, 0.1
    plan = Script(lb.pac.any_contexts(lb.Problem(S, K, r), epsilon=epsilon, delta=delta))
    J = math.ceil(4 * S / epsilon * math.log(S / delta))
    assert plan.asks.rounds == J
    assert plan.asks.repeats == 1
    assert plan.asks.arms.all()
    plan.tell_all([[0.1, 0.9]] * 4, plays=[[2], [1], [1], [0]])

    # (1/4, 1/2] is bucket 1: context 0 alone, epsilon_1 = 2/8 / sqrt(1/2), three levels exactly
    size = lb.lengths.near_uniform_lengths(lb.Problem(1, K, 1), 2 * epsilon / math.sqrt(0.5), delta)
    assert size.levels == 3
    assert plan.arms == [[0, 1], [], [], []]
    assert plan.asks.rounds == math.ceil(4 * size.explore / 0.5)
    assert plan.belief.policy.tolist()[1:] == [1, 1, 1]  # the best pooled arm, for now

    asked = set()
    while not plan.over:
        asked.add(tuple(i for i in range(S) if plan.arms[i]))
        plan.tell_all([0.8, 0.2])
    assert asked == {(0,), (1, 2)}  # (1/8, 1/4] is bucket 2; context 3 is given up
    result = plan.result
    assert result.policy.tolist() == [0, 0, 0, 1]
    assert [bucket.level for bucket in result.buckets] == [1, 2]
    assert [bucket.frequency for bucket in result.buckets] == [0.5, 0.5]
    assert J + sum(bucket.rounds for bucket in result.buckets) == plan.progress.rounds


def test_a_context_with_more_than_half_of_the_arrivals_is_learned() -> None:
    """Bucket 0 exists (reading 15): the printed loop would skip it."""
    world = lb.worlds.from_matrix(
        [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], frequency=[0.8, 0.1, 0.1], sd=0.0
    )
    run = lb.exact(lb.pac.any_contexts(lb.Problem(3, 2, 2), epsilon=0.1, delta=0.1), world)
    assert run.result is not None
    assert run.result.buckets[0].level == 0
    assert world.loss(run.policy) == 0.0


@given(st.lists(st.integers(0, 2**20), min_size=1, max_size=8).filter(lambda n: sum(n) > 0))
def test_bucket_of_is_the_printed_interval(counts: list[int]) -> None:
    """nu-hat in (2^-l-1, 2^-l], compared in whole numbers."""
    total, last = sum(counts), 12
    levels = lb.pac.bucket_of(np.array(counts) / total, last)
    for count, level in zip(counts, levels.tolist(), strict=True):
        if level < last:
            assert total < count * 2 ** (level + 1)
            assert count * 2**level <= total
        else:
            assert count * 2**last <= total


def test_a_bucket_that_would_take_too_long_is_given_up() -> None:
    """With a tiny N every bucket is given up; the policy is the pooled arm, and a note says so."""
    constants = dataclasses.replace(lb.PAPER, whole=1e-6)
    plan = Script(
        lb.pac.any_contexts(lb.Problem(3, 2, 1), epsilon=0.5, delta=0.1, constants=constants)
    )
    plan.tell_all([0.2, 0.4])
    assert plan.result.policy.tolist() == [1, 1, 1]
    assert all(bucket.result is None for bucket in plan.result.buckets)
    assert "was given up" in plan.result.notes[0]


# --- The other methods ----------------------------------------------------------------------


def test_naive_asks_for_every_arm_in_turn() -> None:
    problem = lb.Problem(3, 4, 1)
    plan = Script(lb.standard.naive(problem, epsilon=0.2, delta=0.1))
    for arm in range(4):
        assert plan.arms == [[arm]] * 3
        plan.tell_column(arm, [float(arm == 2), float(-arm), math.nan])
    assert plan.result.policy.tolist() == [2, 0, 0]
    assert plan.progress.rounds == lb.bounds.naive_rounds(problem, 0.2, 0.1)


def test_elimination_drops_what_cannot_be_best() -> None:
    world = lb.worlds.from_matrix([[0.9, 0.1, 0.88], [0.1, 0.9, 0.2]], sd=0.0)
    dropped: list[BoolMatrix] = []
    run = lb.exact(
        lb.standard.elimination(lb.Problem(2, 3, 2), epsilon=0.01, delta=0.1),
        world,
        watch=lambda step: dropped.append(~step.request.arms),
    )
    assert world.loss(run.policy) == 0.0
    assert all((late | early == late).all() for early, late in pairwise(dropped))


def test_elimination_says_when_it_could_not_certify() -> None:
    plan = Script(lb.standard.elimination(lb.Problem(2, 2, 1), epsilon=0.5, delta=0.1))
    while not plan.over:
        plan.tell({})
    assert plan.result.notes == ("not certified: loss <= 1, asked for 0.5",)


@pytest.mark.parametrize(("size", "method"), [(100, "trying"), (1500, "estimating")])
def test_cheaper_takes_the_cheaper_one(size: int, method: str) -> None:
    plan = lb.reductions.cheaper(lb.Problem(size, size, 3), epsilon=0.2, delta=0.05)
    belief = next(plan).belief
    assert belief is not None
    assert belief.phase.startswith(method)
