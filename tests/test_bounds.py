"""Counts and promises: the formulas against the paper's, the switch, and what a run really asks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lumpable as lb
from lumpable import bounds

sizes = st.tuples(st.integers(2, 400), st.integers(2, 400), st.integers(1, 10)).map(
    lambda size: lb.Problem(size[0], size[1], min(size[2], size[0], size[1]))
)
epsilons = st.floats(1e-4, 0.5)
deltas = st.floats(1e-6, 0.5)


@pytest.mark.parametrize(
    ("epsilon", "levels"), [(0.5, 2), (0.25, 4), (0.125, 6), (0.2, 5), (0.01, 14), (2.0**-10, 20)]
)
def test_levels(epsilon: float, levels: int) -> None:
    assert bounds.lengths(lb.Problem(60, 40, 3), epsilon, 0.05).levels == levels


def test_rounding_is_forgiven() -> None:
    """epsilon = 1/8 in a bucket of frequency 1/2 is 3 levels, not 4 (reading 2)."""
    inside = bounds.bucket_epsilon(0.125, 0.5)
    assert 1 / inside**2 != 8.0  # the float is a hair off
    assert bounds.lengths(lb.Problem(4, 4, 2), inside, 0.1).levels == 3


@given(problem=sizes, epsilon=epsilons, delta=deltas)
def test_lengths_are_the_printed_ones(problem: lb.Problem, epsilon: float, delta: float) -> None:
    S, K, r = problem.letters
    size = bounds.lengths(problem, epsilon, delta)
    lg = 16 * math.log(r * S * K / delta)
    assert size.explore == pytest.approx(r * (S + K) * lg / epsilon**2, abs=1)
    assert size.test(3) == pytest.approx(8 * lg * 8 * S, abs=1)
    assert size.threshold(3) == pytest.approx(math.sqrt(lg / 8))
    assert size.settle == pytest.approx(4 * S / epsilon**2 * math.log(S * K / delta), abs=1)


@given(problem=sizes, epsilon=epsilons, delta=deltas)
def test_the_524_formula_bounds_the_worst_case(
    problem: lb.Problem, epsilon: float, delta: float
) -> None:
    """Theorem 1: Algorithm 1's samples are at most N, up to rounding each request up."""
    size = bounds.lengths(problem, epsilon, delta)
    requests = sum(1 for _ in size.worst_case())
    assert bounds.near_uniform_rounds(problem, epsilon, delta) <= (
        bounds.whole(problem, epsilon, delta) + requests
    )


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1000),
    epsilon=st.sampled_from([0.5, 0.2, 0.05]),
    frequency=st.sampled_from(["uniform", "zipf"]),
)
def test_a_run_asks_for_what_was_counted(seed: int, epsilon: float, frequency: str) -> None:
    """Noisy runs stay within the worst cases; a bucket's rounds add up."""
    problem = lb.Problem(12, 9, 3)
    world = lb.worlds.lumpable(12, 9, 3, frequency=frequency, seed=seed)
    plan = lb.pac.any_contexts(problem, epsilon=epsilon, delta=0.1)
    run = lb.simulate(plan, world, seed=seed)
    assert run.result is not None
    J = bounds.arrivals(problem, epsilon, 0.1)
    assert run.rounds == J + sum(bucket.rounds for bucket in run.result.buckets)
    for bucket in run.result.buckets:
        if bucket.result is not None and not bucket.result.notes:
            count = int(bucket.contexts.sum())
            inside = lb.Problem(count, 9, min(3, count))
            worst = bounds.bucket_rounds(inside, bucket.epsilon, 0.1, bucket.frequency)
            assert bucket.rounds <= worst <= bounds.whole(problem, epsilon, 0.1)
    naive = lb.simulate(lb.standard.naive(problem, epsilon=epsilon, delta=0.1), world, seed=seed)
    assert naive.rounds == bounds.naive_rounds(problem, epsilon, 0.1)
    elimination = lb.standard.elimination(problem, epsilon=epsilon, delta=0.1)
    rounds = lb.simulate(elimination, world, seed=seed).rounds
    assert rounds <= bounds.elimination_rounds(problem, epsilon, 0.1)


@pytest.mark.parametrize(("epsilon", "last"), [(0.2, 399), (0.01, 736)])
def test_where_the_naive_method_stops_being_cheaper(epsilon: float, last: int) -> None:
    """With printed constants, r = 3, S = K: Algorithm 1 is cheaper only above these sizes."""
    for size, naive_wins in ((last, True), (last + 1, False)):
        problem = lb.Problem(size, size, 3)
        naive = bounds.naive_rounds(problem, epsilon, 0.05)
        assert (naive <= bounds.near_uniform_rounds(problem, epsilon, 0.05)) == naive_wins


@settings(max_examples=50, deadline=None)
@given(problem=sizes, epsilon=st.sampled_from([0.5, 0.2, 0.05]))
def test_the_crossing_is_a_crossing(problem: lb.Problem, epsilon: float) -> None:
    """At `other_from` the other method is cheaper."""
    plan = lb.budget(problem, epsilon, 0.05)
    if plan.other_from is not None:
        other = lb.Problem(*plan.other_from, problem.groups)
        assert lb.budget(other, epsilon, 0.05).cheaper != plan.cheaper


def test_the_crossing_is_the_first() -> None:
    plan = lb.budget(lb.Problem(100, 100, 5), 0.1, 0.05)
    assert plan.cheaper == "naive"
    assert plan.other_from is not None
    S, K = plan.other_from
    assert S == K
    assert lb.budget(lb.Problem(S - 1, K - 1, 5), 0.1, 0.05).cheaper == "naive"
    assert lb.budget(lb.Problem(S, K, 5), 0.1, 0.05).other_from == (S - 1, K - 1)


@pytest.mark.parametrize("size", [(1000, 1000, 5), (60, 40, 3), (10, 1, 1), (1, 10, 1)])
def test_equal_promises_are_equal(size: tuple[int, int, int]) -> None:
    problem, epsilon, delta = lb.Problem(*size), 0.1, 0.05
    methods = {method.name: method for method in lb.budget(problem, epsilon, delta).methods}
    promise: dict[str, Callable[[float], float]] = {
        "near_uniform": lambda e: bounds.near_uniform_promise(problem, e, delta),
        "any_contexts": lambda e: bounds.any_contexts_promise(problem, e, delta),
        "naive": bounds.naive_promise,
    }
    for name, method in methods.items():
        if name in promise:
            at = method.equal_epsilon
            assert promise[name](at) <= epsilon
            assert promise[name](at * 1.02) > epsilon * 0.999
            assert method.equal_rounds >= method.rounds
        assert method.printed is None or method.printed > 0


def test_printed_promise_is_empty_at_usual_epsilon() -> None:
    problem = lb.Problem(60, 40, 3)
    assert bounds.near_uniform_printed(problem, 0.1, 0.05) > 1
    assert bounds.near_uniform_printed(problem, 0.01, 0.05) < 1
    assert bounds.near_uniform_promise(problem, 0.02, 0.05) < 1.2


def test_budget_checks_its_arguments() -> None:
    with pytest.raises(ValueError, match="epsilon"):
        lb.budget(lb.Problem(4, 4, 2), 0.6, 0.1)
    with pytest.raises(ValueError, match="delta"):
        lb.budget(lb.Problem(4, 4, 2), 0.1, 0.0)


def test_lower_bound() -> None:
    assert bounds.lower_bound(lb.Problem(100, 50, 2), 0.1) == pytest.approx(2 * 150 / 0.01)
    assert bounds.lower_bound(lb.Problem(100, 3, 50), 0.1) == pytest.approx(300 / 0.01)


def test_square_root_less_its_square_is_at_most_a_quarter() -> None:
    """The step behind 1.25 C: sum omega_b eps_b <= 1.25 eps for any group frequencies."""
    rng = np.random.default_rng(1)
    for r in (1, 2, 5, 50):
        omega = rng.dirichlet(np.full(r, 0.3), size=2000)
        with np.errstate(divide="ignore"):
            epsilon_b = np.maximum(1.0, 1 / np.sqrt(r * omega))
        total = np.nansum(np.where(omega > 0, omega * epsilon_b, 0.0), axis=1)
        assert total.max() <= 1.25 + 1e-12


def test_constants_print_what_they_change() -> None:
    changed = dataclasses.replace(lb.PAPER, policy=64, explore=0.5)
    assert str(changed) == "PAPER with explore = 0.5 (printed 1), policy = 64 (printed 4)"
    world = lb.worlds.lumpable(6, 4, 2, seed=1)
    plan = lb.pac.near_uniform(lb.Problem(6, 4, 2), epsilon=0.5, delta=0.1, constants=changed)
    assert str(changed) in repr(lb.simulate(plan, world, seed=1))


def test_the_worst_case_counts_no_arm_twice() -> None:
    """Two arms: at most two candidates, however many levels there are."""
    size = bounds.lengths(lb.Problem(10, 2, 2), 0.1, 0.05)
    assert list(size.worst_case()).count(size.settle) == 2
    explore = size.levels * size.explore
    tests = sum(2 * size.test(level) for level in range(1, size.levels + 1))
    assert sum(size.worst_case()) == explore + tests + 2 * size.settle
