"""Algorithms 4, 5 and 6 under scripted answers, request by request, and against a literal version.

Numbers are written in units of the threshold t of the phase and level that they answer.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lumpable as lb
from lumpable.base.arrays import FloatMatrix
from lumpable.plans.clusters import Clusters, Level, widest
from lumpable.plans.plan import Plan
from lumpable.plans.regret import any_groups, cut, equal_groups
from twins import literal_regret
from twins.scripted import Script

NAN = math.nan


def just_below(value: float) -> float:
    return math.nextafter(value, -math.inf)


def just_above(value: float) -> float:
    return math.nextafter(value, math.inf)


def log_over_delta(S: int, K: int, r: int, h: int, inside: float) -> float:
    """log(inside / delta_h), delta_h = 2^-h / (r^3 S K)."""
    return math.log(inside * r**3 * S * K * 2**h)


def threshold_4(problem: lb.Problem, h: int) -> float:
    """The plan's own, so that a number can be exactly at it; it must be the printed one."""
    S, K, r = problem.letters
    own = lb.lengths.equal_groups_phase(problem, h).threshold(h)
    assert math.isclose(own, math.sqrt(64 * log_over_delta(S, K, r, h, r * S * K) / 2**h))
    return own


def threshold_6(problem: lb.Problem, h: int, n: int) -> float:
    S, K, r = problem.letters
    own = lb.lengths.any_groups_phase(problem, h).threshold(n)
    assert math.isclose(own, math.sqrt(128 * log_over_delta(S, K, r, h, r * S * K * h) / 2**n))
    return own


def threshold_5(problem: lb.Problem, h: int) -> float:
    S, K, r = problem.letters
    own = lb.lengths.any_groups_phase(problem, h).split_threshold(h)
    lg = 64 * log_over_delta(S, K, r, h, S * r)
    assert math.isclose(own, math.sqrt(lg) * 2 ** (-h / 2) / (4 * r))
    return own


# --- Against the literal version ------------------------------------------------------------


def check_same(plan: Script, asked: literal_regret.Asked) -> None:
    """The same request: length (but for rounding up), repeats, sets, partition."""
    assert -1e-6 <= (plan.asks.rounds - asked.rounds) / max(1.0, asked.rounds * 1e-12) < 1.001
    assert plan.asks.repeats == asked.repeats
    assert [set(row) for row in plan.arms] == asked.sets
    assert plan.belief.cluster is not None
    labels = {i: c for c, members in enumerate(asked.partition) for i in members}
    assert plan.belief.cluster.tolist() == [labels[i] for i in range(len(labels))]


def made_up(
    asked: literal_regret.Asked, style: str, arms: int, rng: np.random.Generator
) -> FloatMatrix:
    """Means around what matters at this request: alike, in groups or random, some missing."""
    shape = (len(asked.sets), arms)
    effect = rng.integers(0, 5, size=arms) * 0.7
    if style == "groups":
        group = rng.integers(0, 3, size=shape[0])
        mean = effect + (rng.random((3, arms)) * 3)[group]
    elif style == "random":
        mean = rng.random(shape) * 3
    else:  # alike, or one context apart
        mean = np.broadcast_to(effect, shape) + 4 * (rng.random(shape) < 0.05)
    mean = (mean + 1e-3 * rng.normal(size=shape)) * asked.scale
    mean[rng.random(shape) < rng.choice([0.0, 0.1, 0.6])] = np.nan
    return mean


def converse(plan: Plan, literal: literal_regret.Play, styles: list[str], seed: int) -> None:
    """Give both the same answers: they must ask the same."""
    rng = np.random.default_rng(seed)
    script = Script(plan)
    asked = next(literal)
    for number in range(30):
        check_same(script, asked)
        mean = made_up(asked, styles[number % len(styles)], plan.shape[1], rng)
        mean[~script.asks.arms] = np.nan
        script.tell_all(mean)
        asked = literal.send({(i, j): mean[i, j] for i, j in np.argwhere(~np.isnan(mean)).tolist()})


sizes = st.tuples(st.integers(1, 7), st.integers(1, 5), st.integers(1, 4)).map(
    lambda size: (size[0], size[1], min(size[2], size[0]))
)
styles = st.lists(st.sampled_from(["alike", "groups", "random"]), min_size=1, max_size=5)
scaled = st.sampled_from([lb.PAPER, replace(lb.PAPER, phase=0.3, levels=2.0, split=0.1)])


@pytest.mark.parametrize("examples", [50, pytest.param(150, marks=pytest.mark.nightly)])
def test_algorithm_4_is_the_literal_one(examples: int) -> None:
    @settings(max_examples=examples)
    @given(size=sizes, styles=styles, constants=scaled, seed=st.integers(0, 2**32))
    def both_ask_the_same(
        size: tuple[int, int, int], styles: list[str], constants: lb.Constants, seed: int
    ) -> None:
        at = literal_regret.Setting(*size, phase=constants.phase, split=constants.split)
        plan = equal_groups(lb.Problem(*size), constants=constants)
        converse(plan, literal_regret.algorithm_4(at), styles, seed)

    both_ask_the_same()


@pytest.mark.parametrize("mended", [False, True])
@pytest.mark.parametrize("examples", [30, pytest.param(100, marks=pytest.mark.nightly)])
def test_algorithm_6_is_the_literal_one(examples: int, mended: bool) -> None:
    @settings(max_examples=examples)
    @given(size=sizes, styles=styles, constants=scaled, seed=st.integers(0, 2**32))
    def both_ask_the_same(
        size: tuple[int, int, int], styles: list[str], constants: lb.Constants, seed: int
    ) -> None:
        at = literal_regret.Setting(*size, levels=constants.levels, split=constants.split)
        plan = any_groups(lb.Problem(*size), constants=constants, mended=mended)
        converse(plan, literal_regret.algorithm_6(at, mended), styles, seed)

    both_ask_the_same()


# --- Algorithm 4 ----------------------------------------------------------------------------

THREE = lb.Problem(3, 2, 2)


def test_algorithm_4_line_by_line() -> None:
    S, K, r = THREE.letters
    plan = Script(equal_groups(THREE))
    for h in (1, 2, 3, 4):  # lines 3 to 6
        lg = 64 * log_over_delta(S, K, r, h, r * S * K)
        assert plan.asks.rounds == math.ceil(r * (S + K) * lg * 2**h)
        assert plan.asks.repeats == 2**h
        assert plan.belief.number == h
        assert plan.belief.phase == f"phase {h}: exploring"
        t = threshold_4(THREE, h)
        if h == 1:  # line 7: context 1 is exactly t above the others on arm 1
            assert plan.arms == [[0, 1]] * 3
            plan.tell_all([[0, 0], [0, t], [0, 0]])
            lg = 64 * log_over_delta(S, K, r, h, S * r)  # delta' = delta_h / r
            assert plan.asks.rounds == math.ceil(S * lg * (4 * r) ** 2 * 2)
            assert plan.asks.repeats == 2 * (4 * r) ** 2
            assert plan.arms == [[1]] * 3  # line 8
            assert plan.belief.phase == "phase 1: splitting a cluster of 3 on arm 1, level 1"
            plan.tell_column(1, [0, threshold_5(THREE, 1), 0])  # line 9: 1 above, 0 and 2 below
            assert plan.belief.cluster is not None
            assert plan.belief.cluster.tolist() == [1, 0, 1]
        elif h == 2:  # line 14: exactly 2t below keeps, a little more falls
            assert plan.arms == [[0, 1]] * 3  # line 10 copied the good arms
            plan.tell_all([[2 * t, 0], [1, just_above(1 + 2 * t)], [2 * t, 0]])
        elif h == 3:
            assert plan.arms == [[0, 1], [1], [0, 1]]
            plan.tell_all([[0, NAN], [0, 9 * t], [NAN, NAN]])  # an arm that nobody finished stays
        else:
            assert plan.arms == [[0, 1], [1], [0, 1]]


def test_a_gap_is_at_least_the_threshold() -> None:
    t = threshold_4(THREE, 1)
    for gap, calls in ((t, True), (just_below(t), False), (just_above(t), True)):
        plan = Script(equal_groups(THREE))
        plan.tell_all([[gap, 0], [0, 0], [0, 0]])
        assert ("splitting" in plan.belief.phase) == calls


def test_a_gap_has_two_ends_in_one_cluster() -> None:
    """Not between arms, not to a pair that was not seen, not between clusters."""
    t = threshold_4(THREE, 1)
    plan = Script(equal_groups(THREE))
    plan.tell_all([[9 * t, -9 * t], [NAN, NAN], [NAN, NAN]])
    assert plan.belief.number == 2
    plan = Script(equal_groups(THREE))
    plan.tell_all([[9 * t, 9 * t], [0, 0], [0, 0]])
    plan.tell_column(0, [9 * t, 0, 0])  # afterwards all gaps are between clusters
    assert plan.belief.number == 2


def test_step_3_takes_the_largest_mean_of_a_cluster() -> None:
    """An arm is judged by its best context, so one bad context does not make it fall."""
    t = threshold_4(THREE, 1)
    plan = Script(equal_groups(THREE))
    plan.tell_all([[0, 2.5 * t], [0.9 * t, 2.5 * t], [0, 2.5 * t]])
    assert plan.arms == [[0, 1]] * 3
    plan = Script(equal_groups(THREE))
    plan.tell_all([[0, 2.5 * t], [0.3 * t, 2.5 * t], [0, 2.5 * t]])
    assert plan.arms == [[1]] * 3


def test_what_it_would_answer_if_it_were_stopped() -> None:
    """The good arm with the largest mean over all plays of a cluster; unseen: the first good."""
    t = threshold_4(THREE, 1)
    plan = Script(equal_groups(THREE))
    assert plan.belief.policy.tolist() == [0, 0, 0]
    mean = [[0.5, 0.0], [0.0, 0.3], [0.0, 0.3]]
    plan.tell_all(mean, plays=[[2, 1], [1, 2], [2, 2]])
    assert plan.belief.policy.tolist() == [1, 1, 1]  # 1.0/5 and 1.2/5
    plan.tell_all(mean, plays=[[3, 1], [1, 2], [1, 2]])
    assert plan.belief.policy.tolist() == [0, 0, 0]  # 1.5/5 and 1.2/5
    plan.tell({})
    assert plan.belief.policy.tolist() == [0, 0, 0]
    plan = Script(equal_groups(THREE))
    plan.tell_all([[-3 * t, 0]] * 3)  # arm 0 falls
    plan.tell({})
    assert plan.belief.policy.tolist() == [1, 1, 1]


# --- Step 2: which gap, which answer --------------------------------------------------------


def clusters(*label: int, arms: int = 2, levels: int = 1) -> Clusters:
    return Clusters(np.array(label), [np.ones((max(label) + 1, arms), dtype=bool)] * levels)


def chosen(found: Clusters, *means: Any, tested: Any = None) -> tuple[int, int, int] | None:
    """(cluster, arm, level) of the gap that is tested next; the threshold is 1 at every level."""
    levels = [Level(n, 1.0, np.array(mean, dtype=float)) for n, mean in enumerate(means, 1)]
    shape = (found.number, levels[0].mean.shape[1])
    gap = widest(levels, found, np.zeros(shape, dtype=bool) if tested is None else tested)
    return None if gap is None else (gap.cluster, gap.arm, gap.level)


def test_the_widest_gap_first() -> None:
    assert chosen(clusters(0, 0), [[0, 0], [1, 2]]) == (0, 1, 1)
    assert chosen(clusters(0, 0), [[0, 0], [2, 1]]) == (0, 0, 1)
    assert chosen(clusters(0, 0), [[0, 0], [0.9, 0.9]]) is None
    assert chosen(clusters(0, 0), [[0, NAN], [NAN, 9]]) is None


def test_the_deepest_level_first() -> None:
    """Even when a lower one shows a wider gap (reading 30); each against its own threshold."""
    assert chosen(clusters(0, 0), [[0, 0], [9, 9]], [[0, 0], [0, 1]]) == (0, 1, 2)
    assert chosen(clusters(0, 0), [[0, 0], [9, 9]], [[0, 0], [0, 0.9]]) == (0, 0, 1)
    found = clusters(0, 0)
    levels = [Level(1, 4.0, np.array([[0.0, 0], [3, 0]])), Level(2, 2.0, np.array([[0.0], [1.0]]))]
    assert widest(levels[:1], found, np.zeros((1, 2), dtype=bool)) is None
    assert widest(levels[1:], found, np.zeros((1, 1), dtype=bool)) is None


def test_ties_go_to_the_smallest_context_then_the_smallest_arm() -> None:
    """Not to the smallest label: cluster 1 holds context 0."""
    mean = [[0, 0], [0, 0], [2, 2], [2, 2]]
    assert chosen(clusters(1, 0, 1, 0), mean) == (1, 0, 1)
    assert chosen(clusters(0, 1, 0, 1), mean) == (0, 0, 1)
    assert chosen(clusters(1, 0, 1, 0), [[9, 0], [0, 0], [9, 2], [0, 2]]) == (1, 1, 1)


def test_what_was_tested_is_not_tested_again() -> None:
    mean = [[0, 0], [3, 2]]
    assert chosen(clusters(0, 0), mean, tested=np.array([[True, False]])) == (0, 1, 1)
    assert chosen(clusters(0, 0), mean, tested=np.array([[True, True]])) is None


FOUR = lb.Problem(4, 3, 2)


@pytest.mark.parametrize("make", [equal_groups, any_groups])
def test_one_part_is_not_tested_again_and_keeps_its_arms(make: Any) -> None:
    """Reading 20: neither is a part of it on that arm, and Step 3 leaves who shows a gap alone."""
    t = threshold_4(FOUR, 1) if make is equal_groups else threshold_6(FOUR, 1, 1)
    plan = Script(make(FOUR))
    plan.tell_all([[5 * t, 0, -9 * t], [0, 3 * t, -9 * t], [0, 3 * t, -9 * t], [0, 0, -9 * t]])
    assert plan.arms == [[0]] * 4
    plan.tell_column(0, [0, 0, 0, 0])  # one part, everybody seen: the gap stays
    assert plan.arms == [[1]] * 4
    plan.tell_column(1, [0, 3 * t, 3 * t, 0])
    # {0, 3} still shows the gap on arm 0, and it is not tested: this is the next phase
    assert plan.belief.number == 2
    assert plan.belief.cluster is not None
    assert plan.belief.cluster.tolist() == [1, 0, 0, 1]
    if make is equal_groups:
        assert plan.arms == [[0, 1, 2], [1], [1], [0, 1, 2]]
        t = threshold_4(FOUR, 2)
        plan.tell_all([[5 * t, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]])
        assert plan.arms == [[0], [1], [1], [0]]  # in the next phase it is tested again


def test_who_is_left_alone_is_left_alone_at_every_level() -> None:
    """Reading 20 in Algorithm 6: a gap at level 1 only, and an arm that would fall at level 2."""
    problem = lb.Problem(2, 2, 1)
    for gap, fallen in ((1.0, False), (0.9, True)):
        plan = Script(any_groups(problem))
        plan.tell({})
        plan.tell_all([[gap * threshold_6(problem, 2, 1), 0], [0, 0]])
        plan.tell_all([[3 * threshold_6(problem, 2, 2), 0]] * 2)
        if not fallen:
            assert plan.belief.phase == "phase 2: splitting a cluster of 2 on arm 0, level 1"
            plan.tell_column(0, [0, 0])
        plan.tell({})  # phase 3, level 1
        assert plan.arms == ([[0]] * 2 if fallen else [[0, 1]] * 2)


@pytest.mark.parametrize("make", [equal_groups, any_groups])
def test_an_unseen_context_takes_no_further_part_in_the_phase(make: Any) -> None:
    """Reading 24: not in gaps, not in maxima; in the next phase it is back."""
    t = threshold_4(FOUR, 1) if make is equal_groups else threshold_6(FOUR, 1, 1)
    plan = Script(make(FOUR))
    plan.tell_all([[0, 0, 0]] * 3 + [[5 * t, 4 * t, 0]])
    plan.tell_column(0, [0, 0, 0, NAN])
    assert plan.belief.number == 2  # the gap on arm 1 is not asked about: context 3 is out
    assert plan.arms == [[0, 1, 2]] * 4
    if make is equal_groups:  # 5t was not in the maximum: nothing fell
        t = threshold_4(FOUR, 2)
        plan.tell_all([[0, 0, 0]] * 3 + [[5 * t, 0, 0]])
        assert plan.arms == [[0]] * 4


def test_unseen_contexts_are_out_at_every_level() -> None:
    problem = lb.Problem(3, 2, 1)
    plan = Script(any_groups(problem))
    plan.tell({})
    plan.tell_all([[0, 0], [0, 0], [0, 9 * threshold_6(problem, 2, 1)]])
    plan.tell_all([[0, 0], [0, 0], [9 * threshold_6(problem, 2, 2), 0]])
    assert plan.belief.phase == "phase 2: splitting a cluster of 3 on arm 0, level 2"
    plan.tell_column(0, [0, 0, NAN])
    assert plan.belief.number == 3  # the gap of level 1, on arm 1, went with it


# --- Algorithm 5 ----------------------------------------------------------------------------


def parts(mean: list[float], inside: list[bool] | None = None) -> tuple[list[int], list[bool]]:
    within = np.array(inside if inside is not None else [True] * len(mean))
    got = cut(np.array(mean, dtype=float), within, 1.0)
    return got.label.tolist(), got.unseen.tolist()


def test_cut_at_gaps_of_at_least_the_threshold() -> None:
    assert parts([0, 1, 3])[0] == [2, 1, 0]  # numbered from the largest mean down
    assert parts([0, just_below(1.0), 3])[0] == [1, 1, 0]
    assert parts([0.5, 0.5, 0.5])[0] == [0, 0, 0]
    assert parts([0, 0.9, 1.8, 2.7])[0] == [0, 0, 0, 0]  # only neighbours are compared
    assert parts([2, NAN, 0], [True, False, True]) == ([0, -1, 1], [False] * 3)
    assert parts([7])[0] == [0]


def test_unseen_contexts_go_with_the_largest_part() -> None:
    assert parts([9, NAN, 0, 0]) == ([0, 1, 1, 1], [False, True, False, False])
    assert parts([9, NAN, 0, 9])[0] == [0, 0, 1, 0]
    assert parts([9, NAN, 0])[0] == [0, 0, 1]  # a tie: the first
    assert parts([NAN, NAN]) == ([0, 0], [True, True])
    assert parts([NAN, 5, NAN], [False, True, False])[1] == [False] * 3


def test_the_first_part_keeps_the_label_and_every_level_is_copied() -> None:
    """Reading 29; what is handed in is not changed."""
    deep = np.array([[True, False], [False, True]])
    found = Clusters(np.array([0, 1, 1, 1]), [np.ones((2, 2), dtype=bool), deep])
    parent = found.divide(1, np.array([-1, 2, 0, 1]))
    assert found.label.tolist() == [0, 3, 1, 2]
    assert parent.tolist() == [0, 1, 1, 1]
    assert found.number == 4
    assert found.good[0].all()
    assert found.good[1].tolist() == [[True, False]] + [[False, True]] * 3
    assert deep.shape == (2, 2)


@pytest.mark.parametrize("r", [1, 2, 3, 5])
@pytest.mark.parametrize("h", [1, 2, 7, 90])
def test_repeats_of_algorithm_5(r: int, h: int) -> None:
    """Reading 23: a power of two in [1/eps'^2, 2/eps'^2), in whole numbers however late."""
    size = lb.lengths.equal_groups_phase(lb.Problem(9, 4, r), h)
    finer = (4 * r) ** 2 * 2**h
    assert finer <= size.split_repeats(h) < 2 * finer
    assert size.split_repeats(h).bit_count() == 1
    exact = 9 * 64 * log_over_delta(9, 4, r, h, 9 * r) * finer
    late = math.isclose(size.split_rounds(h), exact, rel_tol=1e-12)
    assert late if h == 90 else size.split_rounds(h) == math.ceil(exact)
    assert isinstance(size.split_rounds(h), int)


# --- Algorithm 6 ----------------------------------------------------------------------------


def phases(plan: Script, problem: lb.Problem, h: int, means: dict[int, Any]) -> list[list[int]]:
    """Play the exploration of a phase; means in thresholds by level, 0 elsewhere.

    Returns the good arms of the first context at each level.
    """
    good = []
    for n in range(1, h + 1):
        assert plan.belief.phase == f"phase {h}: exploring, level {n} of {h}"
        good.append(plan.arms[0])
        t = threshold_6(problem, h, n)
        plan.tell_all(np.array(means.get(n, 0.0), dtype=float) * t)
    return good


@pytest.mark.parametrize("size", [(4, 3, 2), (9, 5, 3), (1, 1, 1)])
def test_lengths_of_every_level(size: tuple[int, int, int]) -> None:
    """Reading 26: ceil(r (S+K) lg_h 2^{(n+h)/2}) rounds, each pair 2^n times."""
    S, K, r = size
    plan = Script(any_groups(lb.Problem(*size)))
    for h in range(1, 7):
        lg = 128 * log_over_delta(S, K, r, h, r * S * K * h)
        for n in range(1, h + 1):
            assert plan.belief.number == h
            assert plan.asks.rounds == math.ceil(r * (S + K) * lg * 2 ** ((n + h) / 2))
            assert plan.asks.repeats == 2**n
            plan.tell({})


def test_good_sets_are_nested_and_new_levels_start_from_the_deepest() -> None:
    """Readings 27 and 28: level 1 is everything; nothing in common leaves the lower level's set."""
    problem = lb.Problem(2, 3, 1)
    plan = Script(any_groups(problem))
    assert phases(plan, problem, 1, {1: [0, -9, -9]}) == [[0, 1, 2]]  # level 1 drops nothing
    assert phases(plan, problem, 2, {2: [-3, 0, 0]}) == [[0, 1, 2]] * 2
    deep = {2: [0, 0, 0], 3: [0, -3, 0]}
    assert phases(plan, problem, 3, deep) == [[0, 1, 2], [1, 2], [1, 2]]
    # level 2 drops arm 2, which is all that level 3 has: level 3 takes what level 2 has
    assert phases(plan, problem, 4, {2: [0, 3, 0]}) == [[0, 1, 2], [1, 2], [2], [2]]
    assert phases(plan, problem, 5, {}) == [[0, 1, 2], [1], [1], [1], [1]]
    # what fell stays fallen
    assert phases(plan, problem, 6, {}) == [[0, 1, 2]] + [[1]] * 5


def test_a_good_set_loses_what_the_level_below_lost() -> None:
    """Line 17: the intersection, where both have something in common."""
    problem = lb.Problem(2, 3, 1)
    plan = Script(any_groups(problem))
    for h in (1, 2, 3):
        phases(plan, problem, h, {})
    assert phases(plan, problem, 4, {2: [-3, 0, 0], 4: [0, -3, 0]}) == [[0, 1, 2]] * 4
    assert phases(plan, problem, 5, {}) == [[0, 1, 2], [1, 2], [1, 2], [2], [2]]


def test_exactly_twice_the_threshold_is_kept_at_every_level() -> None:
    problem = lb.Problem(2, 2, 1)
    plan = Script(any_groups(problem))
    phases(plan, problem, 1, {})
    assert phases(plan, problem, 2, {2: [0, 2]}) == [[0, 1]] * 2
    assert phases(plan, problem, 3, {2: [0, 2], 3: [0, math.nextafter(2.0, 3)]}) == [[0, 1]] * 3
    assert phases(plan, problem, 4, {}) == [[0, 1], [0, 1], [1], [1]]


@pytest.mark.parametrize("mended", [False, True])
def test_a_split_in_algorithm_6(mended: bool) -> None:
    """Readings 25, 29, 30: others play their sets of the gap's level; all levels are copied.

    Mended: the accuracy of the level that showed the gap, others play their deepest sets.
    """
    S, K, r = FOUR.letters
    plan = Script(any_groups(FOUR, mended=mended))
    phases(plan, FOUR, 1, {})
    phases(plan, FOUR, 2, {2: [-3, 0, 0]})
    phases(plan, FOUR, 3, {3: [0, -3, 0]})
    rows = {2: [[0, 4, 0], [0, 4, 0], [0, 2, 0], [0, 0, 0]]}
    good = phases(plan, FOUR, 4, rows)
    assert good == [[0, 1, 2], [1, 2], [2], [2]]

    def check_request(level: int, arms: list[list[int]]) -> None:
        accuracy = level if mended else 4
        lg = 64 * log_over_delta(S, K, r, 4, S * r)
        assert plan.asks.rounds == math.ceil(S * lg * (4 * r) ** 2 * 2**accuracy)
        assert plan.asks.repeats == (4 * r) ** 2 * 2**accuracy
        assert plan.arms == arms

    check_request(2, [[1]] * 4)
    t = threshold_5(FOUR, 4)  # at level 2 the cut is twice as wide
    plan.tell_column(1, [6 * t, 6 * t, 0, 0])
    assert plan.belief.cluster is not None
    assert plan.belief.cluster.tolist() == [0, 0, 1, 1]
    outside = [2] if mended else [1, 2]  # deepest, or level 2
    check_request(2, [outside, outside, [1], [1]])
    plan.tell_column(1, [NAN, NAN, 6 * t, 0])
    assert plan.belief.cluster is not None
    assert plan.belief.cluster.tolist() == [0, 0, 1, 2]
    # Step 3: at level 2 cluster 0 has arm 1 at 4t, and drops arm 2; what is left is {1}
    for n, first, others in (
        (1, [0, 1, 2], [0, 1, 2]),
        (2, [1], [1, 2]),
        (3, [1], [2]),
        (4, [1], [2]),
        (5, [1], [2]),
    ):
        assert plan.belief.phase == f"phase 5: exploring, level {n} of 5"
        assert plan.arms == [first, first, others, others]
        plan.tell({})


@pytest.mark.parametrize(("accuracy", "apart"), [(2, False), (4, True)])
def test_mended_cuts_at_the_accuracy_of_the_level(accuracy: int, apart: bool) -> None:
    """A gap at level 2 of phase 4: the mended cut is 2^{(4-2)/2} = 2 times as wide."""
    plan = Script(any_groups(FOUR, mended=accuracy == 2))
    for h in (1, 2, 3):
        phases(plan, FOUR, h, {})
    phases(plan, FOUR, 4, {2: [[0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0]]})
    plan.tell_column(0, [0, 0, 0, 1.9 * threshold_5(FOUR, 4)])
    assert plan.belief.number == 5
    assert plan.belief.cluster is not None
    assert (plan.belief.cluster.tolist() == [1, 1, 1, 0]) == apart


def test_beliefs_are_about_the_deepest_level() -> None:
    problem = lb.Problem(2, 3, 1)
    plan = Script(any_groups(problem))
    phases(plan, problem, 1, {})
    phases(plan, problem, 2, {2: [-3, 0, 0]})
    phases(plan, problem, 3, {3: [0, -3, 0]})
    assert plan.belief.good is not None
    assert plan.belief.good.tolist() == [[False, False, True]]
    assert plan.belief.policy.tolist() == [2, 2]
    assert plan.belief.cluster is not None
    assert plan.belief.cluster.tolist() == [0, 0]
