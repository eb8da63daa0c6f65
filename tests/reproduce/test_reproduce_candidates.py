"""What the claims about candidates are measured with: by hand, and against a plain loop."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lumpable as lb
from lumpable import lengths
from lumpable.learners.online_candidates import OnlineCandidates
from lumpable.plans import bounds
from lumpable.reproduce.claims import any_order, frozen, without_r, witness

# --- 30 -------------------------------------------------------------------------------------------


def test_a_dense_world_has_r_contexts_in_each_of_r_cells() -> None:
    R = 12
    truth = frozen.dense(R * R, 0.5, seed=3)
    assert [len(cell) for cell in truth.cells(1 / R, frozen.BOUND)] == [R] * R
    problem, T = lb.Problem(R * R, frozen.ARMS, 1), frozen.horizon(R * R, R)
    assert lengths.cover_width(problem, T) == pytest.approx(1 / R)
    assert lengths.cover(problem, frozen.BOUND, 1 / R) == R
    v = np.sort(np.abs(truth.V[0]))[::-1]
    assert v[:2].tolist() == [1, 1]
    assert v[2] <= 0.5


def test_thresholds_are_as_many_standard_errors_as_printed() -> None:
    problem = lb.Problem(100, 10, 10)
    printed = lengths.any_groups_phase(problem, 6)
    quiet = lengths.any_groups_phase(problem, 6, frozen.QUIET)
    assert quiet.threshold(4) == pytest.approx(frozen.SD * printed.threshold(4))
    assert quiet.split_threshold(6) == pytest.approx(frozen.SD * printed.split_threshold(6))
    assert quiet.split_repeats(6) == printed.split_repeats(6)


def test_frozen_candidates_learn_up_to_their_last_run_and_then_serve() -> None:
    problem = lb.Problem(49, frozen.ARMS, 1)
    end = (problem.contexts + problem.arms) << frozen.FREEZE
    plan = frozen.frozen_candidates(problem)
    run = lb.simulate(plan, frozen.dense(49, 0.5, 1).world, horizon=64 * end, seed=1)
    kinds = {row.kind for row in run.requests if row.rounds > 4 * end}
    assert kinds == {"serving"}
    assert "testing" in {row.kind for row in run.requests}


# --- 32 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", any_order.ORDERS)
def test_an_order_is_fixed_by_its_seed(name: str) -> None:
    S = any_order.SIZE.contexts
    order, again = (any_order.ORDERS[name](1024, np.random.default_rng(5)) for _ in range(2))
    assert order.shape == (1024,)
    assert np.array_equal(order, again)
    assert order.dtype == np.int64
    assert 0 <= order.min() <= order.max() < S


def test_orders_by_hand() -> None:
    rng = np.random.default_rng(1)
    assert any_order.halving(16, rng).tolist() == [0] * 8 + [1] * 4 + [2] * 2 + [3, 4]
    late = [0, 1, 2, 3, *[4, 5, 6, 7] * 3]
    assert any_order.ORDERS[any_order.LATE](16, rng).tolist() == late
    assert any_order.ORDERS["sorted"](16, rng).tolist() == [i // 2 for i in range(16)]
    new = any_order.ORDERS["newcomers"](8000, rng)
    assert all((new[1000 * i : 1000 * (i + 1)] <= i).all() for i in range(8))


def test_runs_are_those_of_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw for draw, past the end of a chunk and through the broken learner's change of mind."""
    monkeypatch.setattr(any_order, "CHUNK", 2048)
    T = 5000
    order = any_order.ORDERS["bursts"](T, np.random.default_rng(2))
    world = any_order.hidden(4)
    for kind in (OnlineCandidates, any_order.ExploresEarly):
        seen = any_order.play(kind(8, 8, horizon=T, sd=0.02, seed=1), world, order, seed=3)
        learner, rng, lost = (
            kind(8, 8, horizon=T, sd=0.02, seed=1),
            np.random.default_rng([3, 32]),
            0.0,
        )
        noise = rng.standard_normal(T)
        for context, z in zip(order.tolist(), noise.tolist(), strict=True):
            arm = learner.ask(context)
            lost += world.best[context] - world.mean[context, arm]
            learner.tell(context, arm, float(world.mean[context, arm]) + 0.02 * z)
        assert seen.regret * math.sqrt(2 * 16 * T) == pytest.approx(lost)
        assert seen.candidates == len(learner.candidates())
        assert (learner.state.start == 0) == (kind is not OnlineCandidates)


def test_the_theorem_covers_the_horizons_that_are_played() -> None:
    """The proof uses 1 <= 7 c(0), which a small sd could break."""
    for T in (2**12, 2**18):
        state = OnlineCandidates(8, 8, horizon=T, sd=any_order.SD).state
        assert 7 * state.scale >= 1


def test_the_broken_learner_explores_for_a_quarter_of_all_rounds() -> None:
    learner = any_order.ExploresEarly(8, 8, horizon=4096, sd=any_order.SD)
    assert learner.state.start > 0
    assert learner.state.due.tolist() == [1024]


# --- 33 -------------------------------------------------------------------------------------------


def test_as_one_group_everybody_gets_the_same_arm() -> None:
    world = without_r.hard_worlds(0.1)[1]
    size = witness.size_of(world)
    plan = without_r.as_one_group(size, epsilon=0.1, delta=0.05)
    run = lb.simulate(plan, world, seed=1)
    assert len(set(run.policy.tolist())) == 1
    assert world.loss(run.policy) == pytest.approx(3 / 4 * 0.3)


def test_hard_worlds_are_allowed() -> None:
    for world in without_r.hard_worlds(0.1):
        S = world.contexts
        assert world.frequency.min() >= 1 / (8 * S) - 1e-12
        assert world.frequency.max() <= 8 / S + 1e-12


def test_screening_happens_and_finds_the_groups() -> None:
    seen = without_r.screened(3, seed=11)
    assert (seen.most, seen.guess) == (3, 4)


def test_algorithm_1_with_the_same_promise() -> None:
    problem = lb.Problem(100, 100, 8)
    epsilon = without_r.same_promise(problem, 0.1)
    assert bounds.near_uniform_promise(problem, epsilon, 0.05) <= 0.1
    assert bounds.near_uniform_promise(problem, 1.01 * epsilon, 0.05) > 0.1
