"""One problem turned into another, under scripted answers: what the paper says in prose."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lumpable as lb
from lumpable.plans.lengths import any_groups_phase
from lumpable.plans.plan import Plan
from lumpable.plans.reductions import (
    any_contexts_online,
    low_rank,
    low_rank_online,
    never_worse,
    side_by_side,
    unknown_groups,
)
from twins.scripted import Script

NAN = math.nan


# --- Any context frequencies, online --------------------------------------------------------

FOUR = lb.Problem(4, 2, 3)
T20 = 2**20
"""With four contexts 1/sqrt(ST) is 2^-11 exactly."""
PLAYS = [[2048, 2048], [1024, 1024], [1022, 1022], [2, 2]]
"""1/2, 1/4, a little less and 2^-11."""


def estimating(S: int, T: int) -> int:
    """J = 8 sqrt(ST) log(2ST), rounded up, at most T."""
    return min(T, math.ceil(8 * math.sqrt(S * T) * math.log(2 * S * T)))


def test_any_contexts_online_line_by_line() -> None:
    plan = Script(any_contexts_online(FOUR, horizon=T20))
    J = estimating(4, T20)
    assert 1 < J < T20
    assert (plan.asks.rounds, plan.asks.repeats) == (J, 1)
    assert plan.asks.arms.all()
    assert plan.belief.policy.tolist() == [0, 0, 0, 0]
    plan.tell_all([[0.0, 0.1], [0.9, 1.0], [0.0, 0.0], [0.0, 0.0]], plays=PLAYS)

    # buckets (1/4, 1/2] and (1/8, 1/4]; a context at 2^-11 exactly is given up
    assert plan.splits.rounds == T20 - J
    assert plan.splits.bucket.tolist() == [0, 1, 1, -1]
    for inner, size in zip(plan.splits.plans, [(1, 2, 1), (2, 2, 2)], strict=True):
        assert inner.name == "lumpable.regret.any_groups"
        assert inner.parameters["problem"] == lb.Problem(*size)  # min(r, S_b) groups
        assert inner.parameters["constants"] == lb.PAPER
    assert plan.belief.policy.tolist() == [1, 1, 1, 1]  # the arm that looks best over everybody
    assert plan.belief.phase == f"horizon {T20}: 2 buckets side by side, 1 contexts given up"
    plan.told([0], [1, 0])
    assert plan.result.policy.tolist() == [0, 1, 0, 1]
    assert plan.progress.rounds == T20


def test_a_context_just_above_the_line_is_kept() -> None:
    plan = Script(any_contexts_online(FOUR, horizon=T20))
    plan.tell_all(0.0, plays=[*PLAYS[:3], [3, 2]])
    assert plan.splits.bucket.tolist() == [0, 1, 1, 2]
    assert len(plan.splits.plans) == 3


@given(
    counts=st.lists(st.integers(0, 2**16), min_size=1, max_size=8).filter(lambda n: sum(n) > 0),
    T=st.integers(1, 2**40),
)
def test_buckets_are_the_printed_intervals(counts: list[int], T: int) -> None:
    """Kept: n^2 S T > total^2; side by side: the same power of two; numbered from the frequent."""
    S, total = len(counts), sum(counts)
    bucket = side_by_side(np.array(counts) / total, T).tolist()
    levels: dict[int, int] = {}
    for count, number in zip(counts, bucket, strict=True):
        line, mine = total**2, count**2 * S * T
        if abs(mine - line) > 1e-9 * line:
            assert (number >= 0) == (mine > line)
        if number >= 0:
            level = next(k for k in range(64) if total < count * 2 ** (k + 1))
            assert count * 2**level <= total
            assert levels.setdefault(number, level) == level
    assert sorted(levels) == list(range(len(levels)))
    assert [levels[b] for b in sorted(levels)] == sorted(set(levels.values()))


def test_a_short_horizon_is_all_estimating() -> None:
    """T == J: nothing is left to split."""
    plan = Script(any_contexts_online(FOUR, horizon=1000))
    assert plan.asks.rounds == 1000 == estimating(4, 1000)
    plan.tell_all([0.2, 0.3])
    assert plan.result.policy.tolist() == [1, 1, 1, 1]


def test_nobody_is_kept() -> None:
    """Nothing was seen: everybody plays the pooled arm, here none, for the rest."""
    plan = Script(any_contexts_online(FOUR, horizon=T20))
    plan.tell({})
    assert plan.asks.rounds == T20 - estimating(4, T20)
    assert not plan.asks.arms.any()
    assert plan.belief.policy.tolist() == [0, 0, 0, 0]
    plan.tell({})
    assert plan.result.policy.tolist() == [0, 0, 0, 0]


def test_without_a_horizon_it_doubles() -> None:
    """The standard algorithm up to T0, then T0 + 1 .. 2 T0, and so on, each time from scratch."""
    plan = Script(any_contexts_online(FOUR))
    T = next(T for T in (2**k for k in range(64)) if 2 * estimating(4, T) <= T)
    assert plan.splits.rounds == T
    assert plan.splits.bucket.tolist() == [0, 0, 0, 0]
    assert [inner.name for inner in plan.splits.plans] == ["lumpable.standard.online"]
    plan.told([1, 0, 1, 0])
    policy = [1, 0, 1, 0]
    for _ in range(3):
        assert plan.progress.rounds == T
        assert plan.asks.rounds == estimating(4, T)
        assert plan.asks.arms.all()
        assert plan.belief.policy.tolist() == policy  # what was known is played meanwhile
        plan.tell_all([0.2, 0.3], plays=PLAYS)
        inner = plan.splits.plans
        assert plan.splits.rounds == T - estimating(4, T)
        assert all(p.name == "lumpable.regret.any_groups" for p in inner)
        plan.told([0], [0, 1])
        policy = [0, 0, 1, 1]  # context 3 was given up: the arm that looked best over everybody
        T *= 2


def test_constants_and_groups_reach_the_buckets() -> None:
    small = replace(lb.PAPER, online=1.0, levels=2.0)
    plan = Script(any_contexts_online(FOUR, horizon=T20, constants=small))
    assert plan.asks.rounds == math.ceil(math.sqrt(4 * T20) * math.log(8 * T20))
    plan.tell_all(0.0)
    assert plan.splits.plans[0].parameters["constants"] == small
    assert plan.splits.plans[0].parameters["problem"] == FOUR


def test_a_world_of_very_different_frequencies() -> None:
    """Noiseless and whole: exactly T rounds, buckets in the sides, no loss where it was learned."""
    nu = np.array([0.5, 0.25, 0.125, 0.0625, 0.0625])
    world = lb.worlds.from_matrix(np.eye(5)[:, :3], frequency=nu, sd=0.0)
    small = replace(lb.PAPER, online=1.0, levels=0.1, split=0.05)
    plan = any_contexts_online(lb.Problem(5, 3, 4), horizon=10**6, constants=small)
    run = lb.exact(plan, world)
    assert run.rounds == 10**6
    assert [side.contexts.tolist() for side in run.sides] == [[0], [1], [2], [3, 4]]
    assert world.loss_by_context(run.policy)[:3].tolist() == [0, 0, 0]


# --- An unknown number of groups ------------------------------------------------------------

FIVE = lb.Problem(5, 2, 1)


def check_first_request(plan: Script, r: int) -> None:
    """Phase 1 with this guess: one cluster, all arms, its own length."""
    problem = lb.Problem(5, 2, r)
    assert plan.belief.number == 1
    assert plan.asks.rounds == any_groups_phase(problem, 1).explore(1)
    assert plan.asks.repeats == 2
    assert plan.asks.arms.all()
    assert plan.belief.cluster is not None
    assert plan.belief.cluster.tolist() == [0] * 5


def show_a_gap(plan: Script, r: int) -> None:
    """Answer phase 1 with a gap on arm 0 between the first context and the others."""
    t = any_groups_phase(lb.Problem(5, 2, r), 1).threshold(1)
    plan.tell_all([[9 * t, 0.0]] + [[0.0, 0.0]] * 4)
    assert plan.belief.phase == "phase 1: splitting a cluster of 5 on arm 0, level 1"


def test_more_clusters_than_groups_double_the_guess() -> None:
    plan = Script(unknown_groups(FIVE))
    check_first_request(plan, 1)
    show_a_gap(plan, 1)
    plan.tell_column(0, [1e6, 0, 0, 0, 0])
    first = "r = 1 was given up in phase 1: 2 clusters, more than r = 1"
    assert plan.belief.notes == (first,)
    check_first_request(plan, 2)
    show_a_gap(plan, 2)
    plan.tell_column(0, [1e6, 0, 0, 0, 0])  # two clusters are all right now
    assert plan.belief.number == 2
    assert plan.belief.notes == (first,)


def test_a_gap_that_cannot_be_separated_doubles_the_guess() -> None:
    plan = Script(unknown_groups(FIVE))
    for r, following in ((1, 2), (2, 4), (4, 5)):  # at most to S
        check_first_request(plan, r)
        show_a_gap(plan, r)
        plan.tell_column(0, [0] * 5)
        assert plan.belief.notes[-1] == (
            f"r = {r} was given up in phase 1: a gap that Algorithm 5 could not separate, "
            f"impossible with r = {r}"
        )
        check_first_request(plan, following)
    show_a_gap(plan, 5)
    plan.tell_column(0, [0] * 5)  # at r = S there is no restart: reading 20 holds
    assert plan.belief.number == 2
    assert len(plan.belief.notes) == 3


def test_a_context_that_was_not_seen_proves_nothing() -> None:
    plan = Script(unknown_groups(FIVE))
    show_a_gap(plan, 1)
    plan.tell_column(0, [NAN, 0, 0, 0, 0])
    assert plan.belief.number == 2
    assert plan.belief.notes == ()


def test_the_first_guess_and_the_policy_are_kept() -> None:
    """A restart forgets clusters and arms; what it would answer meanwhile stays."""
    plan = Script(unknown_groups(lb.Problem(5, 2, 3)))
    check_first_request(plan, 3)
    plan.tell_all([0.0, 0.5])
    assert plan.belief.policy.tolist() == [1] * 5
    t = any_groups_phase(lb.Problem(5, 2, 3), 2).threshold(1)
    plan.tell_all([[9 * t, 0.0]] + [[0.0, 0.0]] * 4)
    plan.tell_all(0.0)
    plan.tell_column(0, [3e6, 2e6, 1e6, 0, 0])
    assert plan.belief.notes == ("r = 3 was given up in phase 2: 4 clusters, more than r = 3",)
    check_first_request(plan, 5)
    assert plan.belief.policy.tolist() == [1] * 5


def test_it_finds_the_groups_without_noise() -> None:
    group = np.repeat(np.arange(3), 3)
    world = lb.World(np.eye(3)[group], np.full(9, 1 / 9), group, sd=0.0)
    run = lb.exact(unknown_groups(lb.Problem(9, 3, 1)), world, horizon=10**13)
    assert [note.split(" was")[0] for note in run.notes] == ["r = 1", "r = 2"]
    assert run.rows()[-1].clusters == 3
    assert world.loss(run.policy) == 0


# --- The switch -----------------------------------------------------------------------------


def first_words(plan: Plan) -> str:
    belief = next(plan).belief
    assert belief is not None
    return belief.phase


@pytest.mark.parametrize(
    ("size", "standard"),
    [
        ((16, 16, 2), False),  # SK = 256 = r^3 (S + K)
        ((16, 15, 2), True),
        ((15, 16, 2), True),
        ((17, 16, 2), False),
        ((2, 2, 1), False),  # 4 = 4
        ((2, 1, 1), True),
    ],
)
def test_never_worse_switches_at_the_printed_boundary(
    size: tuple[int, int, int], standard: bool
) -> None:
    words = first_words(never_worse(lb.Problem(*size)))
    assert words.startswith("phase 1, " if standard else "phase 1: exploring, level 1 of 1")


def test_never_worse_is_the_algorithm_itself() -> None:
    """The same requests, with the constants it was given."""
    small = replace(lb.PAPER, levels=2.0)
    plan = Script(never_worse(lb.Problem(2, 2, 1), constants=small))
    for h, n in ((1, 1), (2, 1), (2, 2)):
        assert plan.asks.rounds == any_groups_phase(lb.Problem(2, 2, 1), h, small).explore(n)
        plan.tell({})


def test_the_standard_algorithm_doubles_its_phases_and_takes_nothing_back() -> None:
    """An arm falls when its bounds, from all data, say so; they hold for all time: for good."""
    plan = Script(lb.standard.online(lb.Problem(2, 2, 1)))
    for phase, (mean, good) in enumerate(
        [([0.0, 0.5], [0, 1]), ([-30.0, 5.0], [1]), ([NAN, -90.0], [1])], 1
    ):
        assert (plan.asks.rounds, plan.asks.repeats) == (4 * 2 ** (phase - 1), 1)
        assert plan.belief.number == phase
        plan.tell_all(mean, plays=4)
        assert plan.arms == [good] * 2
    assert plan.belief.policy.tolist() == [1, 1]


def test_the_standard_algorithm_drops_an_arm_exactly_when_its_bounds_part() -> None:
    """Normal mixture at delta = 2^-63: |sum| < sqrt((n+1) (2 log(2SK/delta) + log(n+1)))."""
    n, cells = 1000, 2
    width = math.sqrt((n + 1) * (2 * math.log(2 * cells * (2**63 - 1)) + math.log(n + 1))) / n
    for gap, good in ((2.001 * width, [1]), (1.999 * width, [0, 1])):
        plan = Script(lb.standard.online(lb.Problem(1, 2, 1)))
        plan.tell_all([0.0, gap], plays=n)
        assert plan.arms == [good]


def test_the_standard_algorithm_is_flat_once_it_knows() -> None:
    """No arm comes back in a late phase, which would cost half of its rounds."""
    world = lb.worlds.lumpable(10, 10, 3, seed=0)
    run = lb.simulate(lb.standard.online(lb.Problem(10, 10, 3)), world, seed=0, horizon=4**31)
    assert len({row.regret for row in run.rows()[-30:]}) == 1


# --- Low rank -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "bound", "cells"),
    [(0.5, 1.0, 16), (0.5, 0.5, 4), (0.3, 1.0, 40), (0.3, 0.6, 16), (0.5, 0.1, 1)],
)
def test_low_rank_runs_algorithm_1_on_the_cover(epsilon: float, bound: float, cells: int) -> None:
    """R = min(S, ceil(2B/epsilon)^r), at the same epsilon and delta."""
    small = replace(lb.PAPER, explore=0.5)
    plan = low_rank(
        lb.Problem(40, 3, 2), epsilon=epsilon, delta=0.1, bound=bound, switch=False, constants=small
    )
    script = Script(plan)
    size = lb.lengths.near_uniform_lengths(lb.Problem(40, 3, cells), epsilon, 0.1, small)
    for level in range(1, size.levels + 1):
        assert (script.asks.rounds, script.asks.repeats) == (size.explore, 2**level)
        script.tell({})


@pytest.mark.parametrize(("size", "words"), [(8, "trying"), (500, "collecting")])
def test_low_rank_takes_the_cheaper_one(size: int, words: str) -> None:
    """One cell: Algorithm 1 pays off only when there are very many contexts and arms."""
    problem = lb.Problem(size, size, 1)
    dear = lb.bounds.naive_rounds(problem, 0.5, 0.1) <= lb.bounds.near_uniform_rounds(
        problem, 0.5, 0.1
    )
    assert dear == (words == "trying")
    assert words in first_words(low_rank(problem, epsilon=0.5, delta=0.1, bound=0.25))


SIX = lb.Problem(6, 4, 1)


def test_low_rank_online_line_by_line() -> None:
    """T = 320: alpha = (10/320)^(1/5) = 1/2 exactly, R = 4 cells, H = 2 phases, then frozen."""
    cells = lb.Problem(6, 4, 4)
    plan = Script(low_rank_online(SIX, horizon=320, switch=False))
    for h, n in ((1, 1), (2, 1), (2, 2)):
        size = any_groups_phase(cells, h)
        assert plan.belief.phase == f"phase {h}: exploring, level {n} of {h}"
        assert (plan.asks.rounds, plan.asks.repeats) == (size.explore(n), 2**n)
        plan.tell_all([0.0, 0.0, 0.0, 3 * size.threshold(n)])
    frozen = (any_groups_phase(cells, 2).explore(2), 4)
    for mean in (9e9, -9e9, NAN, 0.0):  # whatever comes, GOOD_{3,3} is played, for twice as long
        assert (plan.asks.rounds, plan.asks.repeats) == frozen
        frozen = (2 * frozen[0], 4)
        assert plan.arms == [[3]] * 6
        assert plan.belief.phase == "frozen after phase 2"
        assert plan.belief.number == 2
        assert plan.belief.policy.tolist() == [3] * 6
        plan.tell_column(3, [mean, 0.0, 0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("horizon", "bound", "cells", "last"),
    [(320, 1.0, 4, 2), (320, 0.25, 1, 2), (319, 1.0, 4, 1), (11, 1.0, 3, 1), (10_240, 1.0, 6, 4)],
)
def test_low_rank_online_cells_and_last_phase(
    horizon: int, bound: float, cells: int, last: int
) -> None:
    """R = min(S, ceil(2B/alpha)^r) and H = max(1, floor(2 log2(1/alpha)))."""
    plan = Script(low_rank_online(SIX, horizon=horizon, bound=bound, switch=False))
    assert plan.asks.rounds == any_groups_phase(lb.Problem(6, 4, cells), 1).explore(1)
    for _ in range(last * (last + 1) // 2):
        assert "exploring" in plan.belief.phase
        plan.tell({})
    assert plan.belief.phase == f"frozen after phase {last}"


@pytest.mark.parametrize(
    ("bound", "words"), [(1.0, "phase 1, "), (0.1, "phase 1: exploring, level 1 of 1")]
)
def test_low_rank_online_switches_with_the_cells(bound: float, words: str) -> None:
    """S = K = 20, R = 1: 400 > 40; with 2B/alpha above 2 the cells are too many."""
    problem = lb.Problem(20, 20, 1)
    assert first_words(low_rank_online(problem, horizon=1280, bound=bound)).startswith(words)


def test_the_standard_algorithm_knows_no_cells() -> None:
    plan: Any = Script(low_rank_online(SIX, horizon=320))
    for phase in range(4):
        assert plan.asks.rounds == 24 * 2**phase
        plan.tell({})


def test_buckets_begin_with_the_arm_that_looked_best_over_everybody() -> None:
    """A bucket that has learned nothing yet must not answer worse than the pooled arm."""
    world = lb.worlds.from_matrix(np.tile([0.1, 0.2, 0.9], (6, 1)), frequency="zipf")
    plan = lb.reductions.any_contexts_online(lb.Problem(6, 3, 2), horizon=10**5)
    run = lb.simulate(plan, world, seed=1)
    assert run.sides
    assert run.policy.tolist() == [2] * 6
