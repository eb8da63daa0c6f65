"""Fresh phases answered by hand, request by request; their formulas and intervals."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lumpable as lb
from lumpable.plans.clusters import Clusters
from lumpable.plans.fresh_lengths import FreshPhase, Stages, fresh_phase
from lumpable.plans.intervals import Intervals, components
from lumpable.plans.regret import fresh_guesses, fresh_phases
from lumpable.plans.seen import Sample, Seen
from twins.scripted import Script

NAN = math.nan
SMALL = replace(lb.PAPER, levels=0.05)
"""Levels begin at 1, so that a phase has h of them."""


def just_below(value: float) -> float:
    return math.nextafter(value, -math.inf)


# --- Formulas -------------------------------------------------------------------------------

sizes = st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40)).map(
    lambda size: lb.Problem(size[0], size[1], min(size[2], size[0]))
)


@settings(max_examples=40)
@given(problem=sizes, h=st.integers(1, 60))
def test_tight_lengths_errors_and_levels(problem: lb.Problem, h: int) -> None:
    S, K, r = problem.letters
    size = fresh_phase(problem, h, lb.TIGHT)
    beta = 2 ** (-h / 2) / S
    ell = math.log(4 * S * K * h / beta)
    n = size.first
    assert size.error(n) < 0.5 <= size.error(n - 1)
    for level in (n, n + 3):
        assert math.isclose(size.error(level), math.sqrt(2 * ell / 2**level))
        exact = 1.25 * (8 * S * 2**level + r * K * ell * 2 ** ((level + h) / 2))
        assert -1e-9 * exact <= size.explore(level) - exact <= 1 + 1e-9 * exact
    radii = size.intervals(n, np.array([[1, 4, 9]]))
    assert np.allclose(radii, [[size.error(n) / k for k in (1, 2, 3)]])


@pytest.mark.parametrize("known", [True, False])
@settings(max_examples=40)
@given(problem=sizes, h=st.integers(1, 60))
def test_printed_lengths_errors_and_levels(known: bool, problem: lb.Problem, h: int) -> None:
    """Those of Algorithm 6; where r is a guess, S takes its place in the confidence."""
    S, K, r = problem.letters
    size = fresh_phase(problem, h, lb.PAPER, known)
    told = lb.lengths.any_groups_phase(replace(problem, groups=r if known else S), h)
    n = size.first
    assert size.error(n) <= 0.5 < size.error(n - 1)
    for level in (n, n + 3):
        assert math.isclose(4 * size.error(level), told.threshold(level))
        exact = r * (S + K) * told.lg * 2 ** ((level + h) / 2)
        assert -1e-9 * exact <= size.explore(level) - exact <= 1 + 1e-9 * exact
    assert np.all(size.intervals(n, np.array([[1, 9]])) == size.error(n))


@settings(max_examples=40)
@given(problem=sizes, h=st.integers(1, 60), R=st.floats(1e-6, 1.0))
def test_stages(problem: lb.Problem, h: int, R: float) -> None:
    S, _, r = problem.letters
    eta = 1 + math.log(r)
    stages = Stages(problem, h, R, adaptive=True)
    assert 2 ** (stages.number - 1) <= 2 * eta * max(1, r - 1) < 2**stages.number
    lam = math.log(3 * S**4 * stages.number * 2**h)
    for q in range(stages.number):
        M = stages.repeats(q)
        assert math.isclose(M, 32 * lam * 4**q / R**2, rel_tol=1e-9, abs_tol=1)
        assert 10 * (stages.rounds(q) - 1) < 13 * 8 * S * M <= 10 * stages.rounds(q)
        assert stages.intervals(q, np.array([[1]])) <= R / 4 / 2**q * (1 + 1e-9)
        assert stages.enough(q, math.ceil(max(1, 2**q / (2 * eta))))
        assert not stages.enough(q, math.ceil(max(1, 2**q / (2 * eta))) - 1)
    fixed = Stages(problem, h, R, adaptive=False)
    assert fixed.number == 1
    assert fixed.intervals(0, np.array([[1]])) <= R / 4 / max(1, r - 1) * (1 + 1e-9)
    assert fixed.enough(0, 1)
    assert not fixed.enough(0, 0)


def test_the_smallest_gaps_and_constants_that_floats_can_hold() -> None:
    stages = Stages(lb.Problem(4, 2, 3), 9, 1e-300, adaptive=True)
    assert stages.repeats(0) > 10**600
    assert stages.intervals(0, np.array([[1]])) <= 1e-300
    assert fresh_phase(lb.Problem(1, 1, 1), 1, replace(lb.PAPER, levels=5e-324)).first == 1


@settings(max_examples=50)
@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=60), st.integers(0, 60))
def test_some_stage_cuts_enough(steps: list[float], spare: int) -> None:
    """Whatever the distances between r means, a stage that cuts those of R 2^-q ends the call."""
    r = len(steps) + 1 + spare
    stages = Stages(lb.Problem(r, 2, r), 9, 0.5, adaptive=True)
    distance = np.array(steps) / math.fsum(steps)  # in units of R
    cuts = [int(np.sum(distance >= 2.0**-q)) for q in range(stages.number)]
    q = next(q for q, k in enumerate(cuts) if stages.enough(q, k))
    bound = 4 * 60 * 8 * stages.eta**2 * stages.confidence * cuts[q] ** 2 * r / stages.R**2
    assert sum(stages.rounds(p) for p in range(q + 1)) <= bound


# --- Intervals ------------------------------------------------------------------------------


def parts(*ends: tuple[float, float], inside: list[bool] | None = None) -> list[int]:
    lower, upper = np.array(ends, dtype=float).T
    within = np.ones(len(ends), dtype=bool) if inside is None else np.array(inside)
    return [int(part) for part in components(lower, upper, within)]


def test_parts_are_connected_components() -> None:
    assert parts((0, 1), (2, 3), (4, 5)) == [2, 1, 0]
    assert parts((0, 2.5), (2, 4.5), (4, 5)) == [0, 0, 0]  # a chain
    assert parts((0, 9), (2, 3), (4, 5)) == [0, 0, 0]  # one that covers all
    assert parts((0, 1), (1, 2)) == [1, 0]  # ends that only touch
    assert parts((0, 1), (just_below(1), 2)) == [0, 0]
    assert parts((0, 1), (0, 1)) == [0, 0]


def test_who_was_not_seen_goes_with_the_largest_part() -> None:
    out = (NAN, NAN)
    assert parts((0, 1), (2, 3), out, (2, 3)) == [1, 0, 0, 0]
    assert parts((0, 1), (2, 3), out) == [1, 0, 0]  # tied: the first
    assert parts((0, 1), (0, 1), (2, 3), out) == [1, 1, 0, 1]
    assert parts(out, out) == [0, 0]
    assert parts((0, 1), (2, 3), (9, 10), inside=[True, True, False]) == [1, 0, -1]


def test_a_mean_that_is_not_finite_is_no_finished_play() -> None:
    means = np.array([0.0, math.inf, -math.inf, NAN])  # no executor gives such means
    sample = Sample.of((1, 4), Seen(np.arange(4), np.ones(4, dtype=np.int64), means))
    seen = Intervals.around(sample, np.full((1, 4), 0.5))
    assert np.array_equal(seen.lower, [[-0.5, NAN, NAN, NAN]], equal_nan=True)
    assert np.array_equal(seen.upper, [[0.5, NAN, NAN, NAN]], equal_nan=True)


def two_arms(first: list[tuple[float, float]], second: list[tuple[float, float]]) -> Intervals:
    ends = np.array([first, second]).transpose(2, 1, 0)
    return Intervals(ends[0], ends[1])


def test_an_arm_falls_only_if_another_is_better_for_everybody() -> None:
    """Safe with gaps: context 1 still likes arm 0, so it stays, however bad it is for others."""
    found = Clusters.everybody(2, 2)
    mixed = two_arms([(0.0, 0.1), (0.8, 0.9)], [(0.5, 0.6), (0.5, 0.6)])
    assert mixed.surely_worse(found).tolist() == [[False, False]]
    clear = two_arms([(0.0, 0.1), (0.3, 0.4)], [(0.5, 0.6), (0.45, 0.5)])
    assert clear.surely_worse(found).tolist() == [[True, False]]
    touch = two_arms([(0.0, 0.1), (0.3, 0.45)], [(0.5, 0.6), (0.45, 0.5)])
    assert touch.surely_worse(found).tolist() == [[False, False]]
    unseen = two_arms([(NAN, NAN), (NAN, NAN)], [(5, 6), (5, 6)])
    assert unseen.surely_worse(found).tolist() == [[False, False]]
    assert unseen.far_below(found, 0.1).tolist() == [[False, False]]


def test_ties_of_gaps_go_to_the_smallest_context_then_the_smallest_arm() -> None:
    mean = np.array([[0.0, 0.0], [0, 0], [2, 2], [2, 2]])
    seen = Intervals(mean - 0.25, mean + 0.25)
    found = Clusters(np.array([1, 0, 1, 0]), [np.ones((2, 2), dtype=bool)])
    gap = seen.widest(found, 1.5)
    assert gap is not None
    assert (gap.cluster, gap.arm, gap.size) == (1, 0, 1.5)
    assert seen.widest(found, 1.51) is None


# --- Scripted -------------------------------------------------------------------------------

SIX = lb.Problem(6, 2, 3)


def first_played(problem: lb.Problem, constants: Any, levels: int = 1) -> FreshPhase:
    """The first phase with so many levels."""
    return next(
        size
        for size in (fresh_phase(problem, h, constants) for h in range(1, 99))
        if size.first + levels - 1 <= size.h
    )


def test_phases_without_a_level_are_left_out() -> None:
    for constants in (lb.TIGHT, lb.PAPER):
        plan = Script(fresh_phases(SIX, constants=constants))
        size = first_played(SIX, constants)
        assert plan.belief.number == size.h == size.first
        for h in range(size.h, size.h + 4):
            size = fresh_phase(SIX, h, constants)
            for n in range(size.first, h + 1):
                assert (plan.asks.rounds, plan.asks.repeats) == (size.explore(n), 2**n)
                assert plan.belief.phase == f"phase {h}: exploring, level {n} of {h}"
                plan.tell({})


def test_a_split_line_by_line() -> None:
    """Two groups far apart, and a third that is near the second: stage 0 cuts one, and ends."""
    plan = Script(fresh_phases(SIX))
    size = first_played(SIX, lb.TIGHT)
    h, n = size.h, size.first
    e = size.error(n)
    column = [0.9, 0.9, 0.0, 0.0, 0.05, 0.05]
    wide = [[4.5 * e, 0], [4.5 * e, 0], [0, 0], [0, 0], [0, 0], [0, 0]]
    plan.tell_all(wide, plays=1)
    stages = Stages(SIX, h, min(1.0, 2.5 * e), adaptive=True)  # G = 4.5e - 2e
    assert (plan.asks.rounds, plan.asks.repeats) == (stages.rounds(0), stages.repeats(0))
    assert plan.arms == [[0]] * 6
    words = f"phase {h}: splitting a cluster of 6 on arm 0, level {n}, stage 0"
    assert plan.belief.phase == words
    plan.tell_column(0, column)
    assert plan.belief.cluster is not None
    assert plan.belief.cluster.tolist() == [0, 0, 1, 1, 1, 1]
    assert plan.belief.number == h + 1  # no other gap is shown


def test_a_gap_is_shown_from_four_errors_on() -> None:
    """With one play; more plays narrow the intervals."""
    e = first_played(SIX, lb.TIGHT).error(first_played(SIX, lb.TIGHT).first)
    for gap, plays, calls in ((4, 1, True), (3.99, 1, False), (3.01, 4, True), (2.99, 4, False)):
        plan = Script(fresh_phases(SIX))
        plan.tell_all([[gap * e + 1e-12, 0]] + [[0, 0]] * 5, plays=plays)
        assert ("splitting" in plan.belief.phase) == calls


def test_printed_gaps_are_those_of_algorithm_6() -> None:
    size = first_played(SIX, lb.PAPER)
    t = lb.lengths.any_groups_phase(SIX, size.h).threshold(size.first)
    for gap, calls in ((1 + 1e-9, True), (1 - 1e-9, False)):
        plan = Script(fresh_phases(SIX, constants=lb.PAPER))
        plan.tell_all([[gap * t, 0]] + [[0, 0]] * 5, plays=9)
        assert ("splitting" in plan.belief.phase) == calls


def test_stages_become_finer_until_the_cuts_are_enough() -> None:
    plan = Script(fresh_phases(SIX))
    plan.tell_all([[1.9, 0]] + [[0, 0]] * 5, plays=100)
    number = Stages(SIX, plan.belief.number, 1.0, adaptive=True).number
    assert number == 4  # 2 eta (r - 1) = 8.4
    repeats = []
    for q in range(number):
        assert plan.belief.phase.endswith(f"stage {q}")
        repeats.append(plan.asks.repeats)
        plan.tell_column(0, [0.5] * 6)
    assert all(b == pytest.approx(4 * a, abs=4) for a, b in pairwise(repeats))
    assert plan.belief.number == first_played(SIX, lb.TIGHT).h + 1  # not fine: nothing more


def two_levels(problem: lb.Problem, **more: Any) -> tuple[Script, FreshPhase]:
    """A plan at the start of the first phase with two levels."""
    size = first_played(problem, SMALL, levels=2)
    plan = Script(fresh_phases(problem, constants=SMALL, **more))
    while plan.belief.number < size.h:
        plan.tell({})
    return plan, size


def test_after_a_call_that_is_not_fine_nothing_is_split_in_the_phase() -> None:
    """The next phase splits again. Printed elimination leaves who shows a gap alone."""
    plan, size = two_levels(lb.Problem(9, 2, 9), adaptive=False)
    wide = [[9.0 * i, 0] for i in range(9)]
    plan.tell_all(wide)
    assert plan.belief.phase.endswith("stage 0")
    plan.tell_column(0, [0] * 9)
    assert plan.belief.phase == f"phase {size.h}: exploring, level {size.first + 1} of {size.h}"
    assert plan.asks.arms.all()
    plan.tell_all(wide)
    assert plan.belief.number == size.h + 1
    assert plan.asks.arms.all()
    plan.tell_all(wide)
    assert "splitting" in plan.belief.phase


def test_printed_arms_fall_more_than_two_thresholds_below() -> None:
    problem = lb.Problem(2, 2, 1)
    for distance, left in ((2 + 1e-9, [0]), (2 - 1e-9, [0, 1])):
        plan, size = two_levels(problem)
        t = lb.lengths.any_groups_phase(problem, size.h, SMALL).threshold(size.first)
        plan.tell_all([[distance * t, 0.0]] * 2, plays=99)
        assert plan.arms == [left] * 2


def test_tight_arms_fall_where_intervals_part() -> None:
    """With four plays they have half the error of one."""
    problem = lb.Problem(2, 2, 1)
    size = first_played(problem, lb.TIGHT, levels=2)
    for distance, left in ((1 + 1e-9, [0]), (1 - 1e-9, [0, 1])):
        plan = Script(fresh_phases(problem))
        while plan.belief.number < size.h:
            plan.tell({})
        plan.tell_all([[distance * size.error(size.first), 0.0]] * 2, plays=4)
        assert plan.arms == [left] * 2


def test_parts_of_the_last_stage_are_used_even_if_they_are_too_few() -> None:
    plan, size = two_levels(lb.Problem(9, 2, 9))
    plan.tell_all([[9.0 * i, 0] for i in range(9)])
    for q in range(6):  # 2 eta (r - 1) = 51.2; stages 3 to 5 ask for 2, 3 and 6 cuts
        assert plan.belief.phase.endswith(f"stage {q}")
        assert plan.belief.cluster is not None
        assert plan.belief.cluster.max() == 0
        plan.tell_column(0, [9.0 if q > 2 else 0.0] + [0.0] * 8)
    assert plan.belief.cluster is not None
    assert plan.belief.cluster.tolist() == [0] + [1] * 8
    assert plan.belief.phase == f"phase {size.h}: exploring, level {size.first + 1} of {size.h}"


def test_who_was_not_seen_in_a_split_is_set_aside_for_the_level() -> None:
    problem = lb.Problem(4, 2, 2)
    plan = Script(fresh_phases(problem))
    plan.tell_all([[1.9, 0], [1.9, 0], [0, 0], [0, 1.9]], plays=100)
    plan.tell_column(0, [0.9, 0.9, 0.0, NAN])
    assert plan.belief.cluster is not None
    assert plan.belief.cluster.tolist() == [0, 0, 1, 0]  # the gap on arm 1 went with context 3
    assert "exploring" in plan.belief.phase


def test_sets_start_anew_and_the_partition_does_not() -> None:
    problem = lb.Problem(4, 2, 2)
    plan = Script(fresh_phases(problem))
    size = first_played(problem, lb.TIGHT, levels=2)
    while plan.belief.number < size.h:
        plan.tell({})
    plan.tell_all([[0.9, 0.1]] * 2 + [[0.1, 0.9]] * 2, plays=10**4)
    while "splitting" in plan.belief.phase:
        plan.tell_all([[0.9, 0.1]] * 2 + [[0.1, 0.9]] * 2, plays=10**4)
    assert plan.arms == [[0], [0], [1], [1]]
    plan.tell_all([[0.9, 0.1]] * 2 + [[0.1, 0.9]] * 2, plays=10**4)
    assert plan.belief.number == size.h + 1
    assert plan.arms == [[0, 1]] * 4
    assert plan.belief.cluster is not None
    assert plan.belief.cluster.tolist() == [0, 0, 1, 1]
    assert plan.belief.policy.tolist() == [0, 0, 1, 1]


def test_guesses_grow_when_clusters_or_uncut_gaps_disprove_them() -> None:
    problem = lb.Problem(6, 2, 1)
    plan = Script(fresh_guesses(problem))
    h = plan.belief.number
    assert plan.asks.rounds == fresh_phase(replace(problem, groups=2), h, lb.TIGHT).explore(h)
    plan.tell_all([[1.9, 0]] + [[0, 0]] * 5, plays=100)
    while "splitting" in plan.belief.phase:  # a gap that no stage cuts
        plan.tell_column(0, [0.5] * 6)
    assert plan.belief.notes == (
        f"r = 2 was given up in phase {h}: a gap that could not be cut, impossible with r = 2",
    )
    assert plan.belief.number == h
    assert plan.asks.rounds == fresh_phase(replace(problem, groups=4), h, lb.TIGHT).explore(h)
    plan.tell_all([[1.9, 0]] + [[0, 0]] * 5, plays=100)
    plan.tell_all([[0.2 * i, 0] for i in range(6)], plays=10**6)
    given_up = plan.belief.notes[-1]
    assert given_up == f"r = 4 was given up in phase {h}: 6 clusters, more than r = 4"
    assert plan.belief.restarts == 2
    assert plan.asks.rounds == fresh_phase(replace(problem, groups=6), h, lb.TIGHT).explore(h)
