"""Fresh phases, answered by hand and by anything; formulas, bad input, saved sessions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lumpable as lb
from lumpable.plans.clusters import Clusters
from lumpable.plans.fresh_lengths import FreshPhase, Stages, fresh_phase
from lumpable.plans.intervals import Intervals, components
from lumpable.plans.plan import Belief, Collect, Plan, Sample
from lumpable.plans.progress import Progress
from lumpable.plans.regret import fresh_guesses, fresh_phases
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
    sample = Sample(np.ones((1, 4), dtype=np.int64), np.zeros((1, 4)))
    object.__setattr__(sample, "mean", np.array([[0.0, math.inf, -math.inf, NAN]]))
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


# --- Any answer at all ----------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """One request, read off its words."""

    request: Collect
    belief: Belief
    level: int
    stage: int
    """-1: exploring."""

    @classmethod
    def of(cls, request: Collect) -> Asked:
        belief = request.belief
        assert belief is not None
        level = re.search(r"level (\d+)", belief.phase)
        stage = re.search(r"stage (\d+)", belief.phase)
        assert level is not None
        assert (stage is not None) == (belief.kind == "splitting")
        return cls(request, belief, int(level[1]), int(stage[1]) if stage else -1)

    @property
    def clusters(self) -> int:
        assert self.belief.good is not None
        return len(self.belief.good)


def wild(request: Collect, rng: np.random.Generator, kind: str) -> Sample:
    shape = request.arms.shape
    plays = rng.integers(1, 50, size=shape)
    if kind == "nothing":
        plays[:] = 0
    if kind == "missing":
        plays[rng.random(shape) < 0.6] = 0
    plays[~request.arms] = 0
    values = {
        "loud": 300 * rng.normal(size=shape),
        "ties": rng.integers(0, 2, size=shape).astype(float),
        "extreme": rng.choice([0.0, 1e-300, 1.7e308, -1.7e308], size=shape),
        "line": np.linspace(0, 1, shape[0])[:, np.newaxis] * rng.choice([1, 1e3], size=shape[1]),
    }
    return Sample(plays, np.where(plays > 0, values.get(kind, rng.random(shape)), np.nan))


WAYS: dict[str, Callable[..., Plan]] = {
    "adaptive": fresh_phases,
    "fixed": lambda problem, **more: fresh_phases(problem, adaptive=False, **more),
    "guesses": fresh_guesses,
}


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=25, deadline=None)
@given(
    size=st.tuples(st.integers(1, 9), st.integers(1, 4), st.integers(1, 9)),
    constants=st.sampled_from([lb.TIGHT, SMALL]),
    kinds=st.lists(
        st.sampled_from(["nothing", "missing", "loud", "ties", "extreme", "line", "plain"]),
        min_size=1,
        max_size=4,
    ),
    seed=st.integers(0, 2**32),
)
def test_laws_under_every_answer(
    way: str, size: tuple[int, int, int], constants: Any, kinds: list[str], seed: int
) -> None:
    problem = lb.Problem(size[0], size[1], min(size[2], size[0]))
    rng = np.random.default_rng(seed)
    progress = Progress(WAYS[way](problem, constants=constants))
    asked: list[Asked] = []
    while len(asked) < 120:
        assert isinstance(progress.request, Collect)
        asked.append(Asked.of(progress.request))
        progress.answer(wild(progress.request, rng, kinds[len(asked) % len(kinds)]))
    attempts = [
        list(one) for _, one in groupby(asked, key=lambda a: (a.belief.number, a.belief.notes))
    ]
    for before, after in pairwise(asked):
        check_refined(before.belief, after.belief)
    for looks in attempts[:-1]:
        check_attempt(problem, constants, way, looks)
    if len(attempts) > 1:
        check_attempt(problem, constants, way, attempts[-1], whole=False)


def check_refined(before: Belief, after: Belief) -> None:
    """Contexts that are apart stay apart."""
    assert before.cluster is not None
    assert after.cluster is not None
    pairs = set(zip(before.cluster.tolist(), after.cluster.tolist(), strict=True))
    assert len({new for _, new in pairs}) == len(pairs)


def check_attempt(
    problem: lb.Problem, constants: Any, way: str, looks: list[Asked], whole: bool = True
) -> None:
    S, K, r = problem.letters
    h = looks[0].belief.number
    explored = [look for look in looks if look.stage < 0]
    guesses = [
        guess
        for guess in (range(1, S + 1) if way == "guesses" else [r])
        for law in [fresh_phase(lb.Problem(S, K, guess), h, constants, way != "guesses")]
        if all(look.request.rounds == law.explore(look.level) for look in explored)
    ]
    assert len(guesses) == 1  # so r^ <= S
    law = fresh_phase(lb.Problem(S, K, guesses[0]), h, constants, way != "guesses")
    levels = [look.level for look in explored]
    assert levels == list(range(law.first, law.first + len(levels)))
    assert levels[-1] == h or not whole or way == "guesses"
    assert explored[0].request.arms.all()
    for low, deep in pairwise(explored):
        assert not (deep.request.arms & ~low.request.arms).any()
    calls = [look for look in looks if look.stage == 0]
    assert len(calls) <= S
    for look in looks:
        check_rows(look)
    check_stages(Stages(law.problem, h, 1.0, way != "fixed"), looks)


def check_rows(look: Asked) -> None:
    """Everybody plays the good arms of its cluster; a call plays one of them on all of C."""
    good, cluster = look.belief.good, look.belief.cluster
    assert good is not None
    assert cluster is not None
    assert good.any(axis=1).all()
    rows = look.request.arms
    assert not (rows & ~good[cluster]).any()
    other = np.any(rows != good[cluster], axis=1)
    if look.stage < 0:
        assert not other.any()
        return
    found = re.search(r"cluster of (\d+) on arm (\d+)", look.belief.phase)
    assert found is not None
    alone = (rows.sum(axis=1) == 1) & rows[:, int(found[2])]
    mixed = [c for c in range(len(good)) if alone[cluster == c].all()]
    assert any(np.sum(cluster == c) == int(found[1]) for c in mixed)
    assert len(set(cluster[other].tolist())) <= 1


def check_stages(stages: Stages, looks: list[Asked]) -> None:
    """Stages come one by one up to Q - 1; cuts pay for the last one, or nothing is split again."""
    for before, after in pairwise(looks):
        if before.stage < 0:
            assert after.stage in (-1, 0)
            continue
        assert before.stage < stages.number
        if after.stage == before.stage + 1:
            assert after.clusters == before.clusters
        elif not stages.enough(before.stage, after.clusters - before.clusters):
            assert before.stage == stages.number - 1
            later = looks[looks.index(after) :]
            assert all(look.stage < 0 for look in later)


def test_noise_300_times_too_large() -> None:
    """Every attempt ends, and the run goes on."""
    world = lb.worlds.lumpable(12, 8, 3, sd=300.0, seed=1)
    for make in WAYS.values():
        run = lb.simulate(make(lb.Problem(12, 8, 3)), world, horizon=10**13, seed=1)
        assert run.rounds == 10**13
        assert len(run.requests) < 5000


@pytest.mark.parametrize("size", [(1, 1, 1), (1, 4, 1), (5, 1, 2), (5, 3, 1), (7, 3, 7)])
def test_smallest_sizes(size: tuple[int, int, int]) -> None:
    world = lb.worlds.lumpable(*size, seed=1)
    for make in WAYS.values():
        for constants in (lb.TIGHT, lb.PAPER):
            run = lb.simulate(
                make(lb.Problem(*size), constants=constants), world, horizon=10**11, seed=1
            )
            assert run.rounds == 10**11
            assert run.regret == 0 or size[1] > 1


# --- Bad input, other plans, saved sessions ---------------------------------------------------


@pytest.mark.parametrize(
    ("make", "arguments", "named"),
    [
        (fresh_phases, {"problem": (6, 3, 1)}, "problem: expected a lumpable.Problem, got"),
        (fresh_phases, {"adaptive": 1}, "adaptive: expected True or False, got 1"),
        (fresh_phases, {"constants": "x"}, "constants: expected a lumpable.Constants or .*got 'x'"),
        (fresh_guesses, {"constants": None}, "constants: expected a lumpable.Constants or .*None"),
    ],
)
def test_bad_arguments_are_named(make: Any, arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        make(**{"problem": SIX, **arguments})


@pytest.mark.parametrize("make", [lb.regret.any_groups, lb.regret.equal_groups])
def test_other_plans_refuse_tight_by_name(make: Any) -> None:
    with pytest.raises(ValueError, match=r"constants: expected a lumpable\.Constants, got TIGHT"):
        make(SIX, constants=lb.TIGHT)


def test_results_report_the_constants() -> None:
    assert f"{lb.TIGHT} {lb.TIGHT!r}" == "TIGHT TIGHT"
    assert "constants=TIGHT" in repr(fresh_phases(SIX))


@pytest.mark.parametrize(
    "make",
    [
        lambda: fresh_phases(lb.Problem(2, 2, 2)),
        lambda: fresh_phases(lb.Problem(2, 2, 2), constants=SMALL, adaptive=False),
        lambda: fresh_guesses(lb.Problem(2, 2, 1)),
    ],
    ids=["adaptive", "fixed, printed", "guesses"],
)
def test_a_saved_session_goes_on_as_if_nothing_had_happened(
    make: Callable[[], Plan], tmp_path: Path
) -> None:
    """Saved and opened again every 999 rounds, it decides the same as one that was not."""
    mean = np.array([[0.0, 3.0], [3.0, 0.0]])  # so far apart that the first phase shows it
    rng = np.random.default_rng(1)
    session, twin = lb.Session(make(), seed=3), lb.Session(make(), seed=3)
    kinds = set()
    for t in range(14_000):
        context = int(rng.integers(2))
        arm = session.ask(context)
        assert arm == twin.ask(context)
        reward = mean[context, arm] + 0.1 * rng.normal()
        for one in (session, twin):
            one.tell(context, arm, reward)
        assert session.belief is not None
        kinds.add((session.belief.kind, session.belief.number))
        if t % 999 == 0:
            session.save(tmp_path / "s")
            session = lb.Session.load(tmp_path / "s")
    assert {kind for kind, _ in kinds} == {"exploring", "splitting"}
    assert len({number for _, number in kinds}) >= 2
    assert session.policy.tolist() == twin.policy.tolist() == [1, 0]
