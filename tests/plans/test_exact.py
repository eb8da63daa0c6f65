"""The exact world: endless data, no noise; the lemmas hold for any problem that is invented.

At usual epsilon the screening threshold is above 1 and proves nothing, so epsilon goes down to
2^-10, and constants are scaled so that the threshold bites at larger ones too.
"""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import lumpable as lb
from lumpable.base.arrays import FloatVector
from lumpable.runs.run import Run

SHARP = dataclasses.replace(lb.PAPER, confidence=0.02)
"""lg so small that the threshold is below 1 at every epsilon."""


@st.composite
def lumpable_worlds(draw: st.DrawFn, near_uniform: bool) -> lb.World:
    """Invent a lumpable problem: ties, equal groups, empty contexts and all."""
    contexts = draw(st.integers(1, 8))
    arms = draw(st.integers(1, 6))
    groups = draw(st.integers(1, contexts))
    grid = st.integers(0, 16).map(lambda k: k / 16)
    row = st.lists(grid, min_size=arms, max_size=arms)
    means = np.array(draw(st.lists(row, min_size=groups, max_size=groups)))
    group = draw(st.lists(st.integers(0, groups - 1), min_size=contexts, max_size=contexts))
    share = st.integers(1, 8) if near_uniform else st.sampled_from([0, 1, 2, 64, 4096])
    weight = np.array(draw(st.lists(share, min_size=contexts, max_size=contexts)), dtype=float)
    assume(weight.sum() > 0)
    return lb.World(means[group], weight / weight.sum(), np.array(group), sd=0.0)


epsilons = st.sampled_from([0.5, 0.3, 0.1, 0.02, 2.0**-8, 2.0**-10])
constants = st.sampled_from([lb.PAPER, SHARP])


def groups_of(world: lb.World) -> int:
    """r as a learner is told it: no more than contexts, no fewer than the groups that are there."""
    return min(world.contexts, world.groups)


def candidate_gap(world: lb.World, candidates: tuple[int, ...]) -> FloatVector:
    """How far the best candidate is below the best arm, for each context."""
    gap: FloatVector = world.best - world.mean[:, list(candidates)].max(axis=1)
    return gap


def check_candidates(world: lb.World, run: Run, size: lb.lengths.Lengths, epsilon: float) -> None:
    """Lemmas pac-3 and pac-4 without noise, and what follows for the policy."""
    assert run.result is not None
    r = size.problem.groups
    assert len(run.result.candidates) <= size.levels * r
    assert all(count <= r for count in run.result.screenings)
    comes = world.frequency > 0
    gap = candidate_gap(world, run.result.candidates)
    for b in range(world.groups):
        members = (world.group == b) & comes
        omega = world.frequency[members].sum()
        if omega >= epsilon / r:
            epsilon_b = max(1.0, 1 / math.sqrt(r * omega)) * epsilon
            level = lb.lengths.round_up(math.log2(1 / epsilon_b**2))
            assert (gap[members] < size.threshold(level)).all()
            if gap_to_second(world, b) >= size.threshold(level):
                assert (world.loss_by_context(run.policy)[members] == 0).all()


def gap_to_second(world: lb.World, group: int) -> float:
    """The smallest gap of an arm of this group that is not best (inf: all are)."""
    i = int(np.argmax(world.group == group))
    gaps = world.best[i] - world.mean[i]
    return float(gaps[gaps > 0].min(initial=math.inf))


@settings(max_examples=200, deadline=None)
@given(world=lumpable_worlds(near_uniform=True), epsilon=epsilons, constants=constants)
def test_algorithm_1(world: lb.World, epsilon: float, constants: lb.Constants) -> None:
    problem = lb.Problem(world.contexts, world.arms, groups_of(world))
    plan = lb.pac.near_uniform(problem, epsilon=epsilon, delta=0.1, constants=constants)
    run = lb.exact(plan, world)
    size = lb.lengths.near_uniform_lengths(problem, epsilon, 0.1, constants)
    check_candidates(world, run, size, epsilon)
    # Step 3 is exact: nobody does worse than the best candidate
    assert run.result is not None
    assert np.array_equal(
        world.loss_by_context(run.policy), candidate_gap(world, run.result.candidates)
    )


@settings(max_examples=200, deadline=None)
@given(world=lumpable_worlds(near_uniform=False), epsilon=epsilons, constants=constants)
@example(
    world=lb.World(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 0.0]), np.arange(2), sd=0.0),
    epsilon=0.5,
    constants=lb.PAPER,
)
def test_algorithm_3(world: lb.World, epsilon: float, constants: lb.Constants) -> None:
    problem = lb.Problem(world.contexts, world.arms, groups_of(world))
    plan = lb.pac.any_contexts(problem, epsilon=epsilon, delta=0.1, constants=constants)
    result = lb.exact(plan, world).result
    assert result is not None
    learned = np.zeros(world.contexts, dtype=int)
    for bucket in result.buckets:
        learned += bucket.contexts
        if bucket.result is not None:
            check_bucket(world, bucket, constants, problem.groups)
    assert learned.max() <= 1  # a context is in one bucket
    rare = world.frequency <= 2.0 ** -lb.lengths.last_bucket(problem, epsilon)
    assert np.array_equal(learned == 0, rare)


def check_bucket(world: lb.World, bucket: lb.Bucket, constants: lb.Constants, r: int) -> None:
    """A bucket is a problem of its own, with Algorithm 1's promises."""
    assert bucket.result is not None
    inside = bucket.contexts
    nu = world.frequency[inside]
    assert nu.max() < 2 * nu.min() * (1 + 1e-9)  # within a factor of two
    part = lb.World(world.mean[inside], nu / nu.sum(), world.group[inside], sd=0.0)
    problem = lb.Problem(part.contexts, part.arms, min(r, part.contexts))
    size = lb.lengths.near_uniform_lengths(problem, bucket.epsilon, 0.1, constants)
    plan = lb.pac.near_uniform(problem, epsilon=bucket.epsilon, delta=0.1, constants=constants)
    alone = lb.exact(plan, part)
    assert alone.result is not None
    assert alone.result.candidates == bucket.result.candidates
    assert np.array_equal(alone.policy, bucket.result.policy)
    check_candidates(part, alone, size, bucket.epsilon)


@settings(max_examples=100, deadline=None)
@given(world=lumpable_worlds(near_uniform=True), epsilon=st.sampled_from([0.5, 0.1, 2.0**-10]))
def test_naive_is_optimal(world: lb.World, epsilon: float) -> None:
    problem = lb.Problem(world.contexts, world.arms, groups_of(world))
    run = lb.exact(lb.standard.naive(problem, epsilon=epsilon, delta=0.1), world)
    assert (world.loss_by_context(run.policy) == 0).all()


@settings(max_examples=50, deadline=None)
@given(world=lumpable_worlds(near_uniform=False), epsilon=st.sampled_from([0.5, 0.1, 0.02]))
def test_elimination_keeps_the_best_arm_and_ends_certified(world: lb.World, epsilon: float) -> None:
    problem = lb.Problem(world.contexts, world.arms, groups_of(world))
    kept = []

    def watch(step: lb.Step) -> None:
        kept.append(step.request.arms[np.arange(world.contexts), world.policy].all())

    run = lb.exact(lb.standard.elimination(problem, epsilon=epsilon, delta=0.1), world, watch=watch)
    assert all(kept)
    assert run.notes == ()
    assert world.loss(run.policy) <= epsilon


def test_the_threshold_says_nothing_at_usual_epsilon() -> None:
    """Why the tests above go down to 2^-10: at (60, 40, 3) it is above 1 until 0.088."""
    problem = lb.Problem(60, 40, 3)
    threshold = {
        epsilon: size.threshold(size.levels)
        for epsilon in (0.2, 0.05, 0.01, 2.0**-10)
        for size in [lb.lengths.near_uniform_lengths(problem, epsilon, 0.05)]
    }
    assert threshold[0.2] > 2
    assert threshold[0.05] > 0.6
    assert threshold[0.01] < 0.13
    assert threshold[2.0**-10] < 0.02


def test_screening_finds_every_group_when_the_threshold_bites() -> None:
    """Five groups that share no arm, epsilon 2^-10: the candidates are their best arms, W = r."""
    means = np.eye(5)
    group = np.repeat(np.arange(5), 4)
    world = lb.World(means[group], np.full(20, 1 / 20), group, sd=0.0)
    plan = lb.pac.near_uniform(lb.Problem(20, 5, 5), epsilon=2.0**-10, delta=0.1)
    run = lb.exact(plan, world)
    assert run.result is not None
    assert run.result.candidates == (0, 1, 2, 3, 4)
    assert run.result.screenings[-1] == 5
    assert world.loss(run.policy) == 0


# --- Plans without end ----------------------------------------------------------------------


def lengths_of(run: Run) -> list[int]:
    """Return the rounds of each request."""
    ends = [0, *(row.rounds for row in run.rows())]
    return [b - a for a, b in pairwise(ends)]


@pytest.mark.parametrize("horizon", [1, 1000, 343_324, 343_325, 10**9, 10**12, 10**30])
def test_a_horizon_cuts_an_endless_plan_exactly_there(horizon: int) -> None:
    """The regret is the expected one, request by request, however long a request is."""
    group = np.arange(30) % 3
    world = lb.World(np.eye(20)[group], np.full(30, 1 / 30), group, sd=0.0)
    asked: list[lb.Step] = []
    plan = lb.regret.equal_groups(lb.Problem(30, 20, 3))
    run = lb.exact(plan, world, horizon=horizon, watch=asked.append)
    assert run.rounds == horizon == sum(lengths_of(run))
    assert run.result is None
    assert [step.request.rounds for step in asked] == lengths_of(run)
    gap = world.best[:, np.newaxis] - world.mean
    expected = 0.0
    for step in asked:
        played = (gap * step.request.arms).sum(axis=1) / step.request.arms.sum(axis=1)
        expected += step.request.rounds * float(world.frequency @ played)
    assert run.regret == pytest.approx(expected, rel=1e-12)


def test_turns_say_when_groups_came_apart_and_arms_fell() -> None:
    """Three groups that share no best arm, a gap of 1: apart at 4e9 at the earliest."""
    group = np.arange(30) % 3
    world = lb.World(np.eye(20)[group], np.full(30, 1 / 30), group, sd=0.0)
    run = lb.exact(lb.regret.equal_groups(lb.Problem(30, 20, 3)), world, horizon=10**13)
    first, *_ = run.turns
    assert (first.rounds, _clusters(first)) == (0, [0] * 30)
    apart = next(turn for turn in run.turns if max(_clusters(turn)) == 2)
    assert 10**9 < apart.rounds < 10**11
    assert len(set(zip(_clusters(apart), group.tolist(), strict=True))) == 3
    last = run.turns[-1].belief
    assert last.good is not None
    assert last.good.sum() == 3
    assert world.loss(run.policy) == 0
    assert [turn.rounds for turn in run.turns] == sorted({turn.rounds for turn in run.turns})


def _clusters(turn: lb.Turn) -> list[int]:
    assert turn.belief.cluster is not None
    return [int(label) for label in turn.belief.cluster]
