"""Counts and promises: the formulas against the paper's, the switch, and what a run really asks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lumpable as lb
from lumpable import bounds, lengths
from lumpable.plans.plan import Branching

sizes = st.tuples(st.integers(2, 400), st.integers(2, 400), st.integers(1, 10)).map(
    lambda size: lb.Problem(size[0], size[1], min(size[2], size[0], size[1]))
)
epsilons = st.floats(1e-4, 0.5)
deltas = st.floats(1e-6, 0.5)


@pytest.mark.parametrize(
    ("epsilon", "levels"), [(0.5, 2), (0.25, 4), (0.125, 6), (0.2, 5), (0.01, 14), (2.0**-10, 20)]
)
def test_levels(epsilon: float, levels: int) -> None:
    assert lengths.near_uniform_lengths(lb.Problem(60, 40, 3), epsilon, 0.05).levels == levels


def test_rounding_is_forgiven() -> None:
    """epsilon = 1/8 in a bucket of frequency 1/2 is 3 levels, not 4 (reading 2)."""
    inside = lengths.bucket_epsilon(0.125, 0.5)
    assert 1 / inside**2 != 8.0  # the float is a hair off
    assert lengths.near_uniform_lengths(lb.Problem(4, 4, 2), inside, 0.1).levels == 3


@given(problem=sizes, epsilon=epsilons, delta=deltas)
def test_lengths_are_the_printed_ones(problem: lb.Problem, epsilon: float, delta: float) -> None:
    S, K, r = problem.letters
    size = lengths.near_uniform_lengths(problem, epsilon, delta)
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
    size = lengths.near_uniform_lengths(problem, epsilon, delta)
    requests = sum(number for _, number in size.worst_case())
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
    J = lengths.arrivals(problem, epsilon, 0.1)
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
    size = lengths.near_uniform_lengths(lb.Problem(10, 2, 2), 0.1, 0.05)
    assert (size.settle, 2) in size.worst_case()
    explore = size.levels * size.explore
    tests = sum(2 * size.test(level) for level in range(1, size.levels + 1))
    whole = sum(rounds * number for rounds, number in size.worst_case())
    assert whole == explore + tests + 2 * size.settle


# --- The regret half --------------------------------------------------------------------------

PHASES = [(30, 20, 3, 1), (30, 20, 3, 7), (1000, 200, 5, 33), (7, 1, 7, 2), (2, 5, 1, 64)]
phases = pytest.mark.parametrize(("S", "K", "r", "h"), PHASES)


def rounded_up(value: Fraction) -> int:
    return -((-value.numerator) // value.denominator)


@given(
    value=st.floats(1e-6, 1e12),
    times=st.sampled_from([-70, -3, 0, 1, 52, 63, 64, 1023, 1024, 5000]),
)
def test_doubling_is_exact(value: float, times: int) -> None:
    assert lengths.doubled(value, times) == rounded_up(Fraction(value) * Fraction(2) ** times)
    half = lengths.doubled(value, times + 0.5)
    square = Fraction(value) ** 2 * Fraction(2) ** (2 * times + 1)
    root = Fraction(math.isqrt(rounded_up(square * 4**60)), 2**60)  # 60 bits past the point
    assert abs(half - root) <= 1 + root * Fraction(1, 2**50)


def test_doubling_at_hand() -> None:
    assert lengths.doubled(3.0, 2) == 12
    assert lengths.doubled(2.5, 0) == 3
    assert lengths.doubled(10.0, -2) == 3
    assert lengths.doubled(8.0, -3) == 1
    assert lengths.doubled(1.0, 200) == 2**200
    assert lengths.doubled(1.0, 0.5) == 2
    assert type(lengths.doubled(0.3, 4000)) is int


def inverse_delta(S: int, K: int, r: int, h: int) -> int:
    """1/delta_h = r^3 SK / epsilon_h^2, epsilon_h^2 = 2^-h: a whole number."""
    return r**3 * S * K << h


@phases
def test_lengths_of_a_phase(S: int, K: int, r: int, h: int) -> None:
    """Every length is its printed formula, rounded up; logarithms of whole numbers."""
    problem = lb.Problem(S, K, r)
    equal = 64 * math.log(r * S * K * inverse_delta(S, K, r, h))
    levelled = 128 * math.log(r * S * K * h * inverse_delta(S, K, r, h))
    split = 64 * math.log(S * r * inverse_delta(S, K, r, h))
    for phase, lg in (
        (lengths.equal_groups_phase(problem, h), equal),
        (lengths.any_groups_phase(problem, h), levelled),
    ):
        assert phase.lg == pytest.approx(lg, rel=1e-12)
        assert phase.split_lg == pytest.approx(split, rel=1e-12)
        for n in {1, (h + 1) // 2, h}:
            printed = r * (S + K) * lg * math.sqrt(2.0 ** (n + h))
            assert printed * (1 - 1e-12) <= phase.explore(n) < printed * (1 + 1e-12) + 1
            assert phase.threshold(n) == pytest.approx(math.sqrt(lg / 2.0**n), rel=1e-12)
        fine = Fraction(1, 16 * r**2 * 2**h)  # epsilon'^2
        rounds = Fraction(S) * Fraction(phase.split_lg) / fine
        assert phase.split_rounds(h) == pytest.approx(rounded_up(rounds), rel=1e-12, abs=1)
        root = math.sqrt(split) * 2.0 ** (-h / 2) / (4 * r)
        assert phase.split_threshold(h) == pytest.approx(root, rel=1e-12)


def test_the_deepest_level_is_as_long_as_the_phase() -> None:
    """L_{h,h} = r (S + K) lg_h 2^h, and with taper 0 so is every level."""
    phase = lengths.any_groups_phase(lb.Problem(30, 20, 3), 8)
    assert phase.explore(8) == rounded_up(Fraction(3 * 50 * phase.lg) * 2**8)
    flat = dataclasses.replace(lb.PAPER, taper=0.0)
    even = lengths.any_groups_phase(lb.Problem(30, 20, 3), 8, flat)
    assert {even.explore(n) for n in range(1, 9)} == {phase.explore(8)}


@given(
    r=st.integers(1, 40),
    h=st.sampled_from([1, 2, 13, 40, 64, 200]),
    finer=st.sampled_from([4.0, 1.0, 0.5, 0.01, 1.7]),
)
def test_repeats_of_a_split(r: int, h: int, finer: float) -> None:
    """A power of two, at least 1/epsilon'^2 and less than twice that, if that is at least 2^h."""
    constants = dataclasses.replace(lb.PAPER, finer=finer)
    repeats = lengths.equal_groups_phase(lb.Problem(40, 9, r), h, constants).split_repeats(h)
    needed = (Fraction(finer) * r) ** 2 * 2**h
    assert repeats & (repeats - 1) == 0
    assert repeats >= needed
    assert repeats < 2 * max(needed, Fraction(2**h))


def test_requests_pass_64_bits_as_whole_numbers() -> None:
    """At (1000, 200, 5) Algorithm 5's request does from phase 33 on (reading 2)."""
    problem = lb.Problem(1000, 200, 5)
    rounds = {h: lengths.equal_groups_phase(problem, h).split_rounds(h) for h in (32, 33, 600)}
    assert rounds[32] < 2**63 <= rounds[33]
    assert all(type(number) is int for number in rounds.values())
    assert rounds[600].bit_length() > 600


@lb.algorithm
def beyond(split: bool) -> Branching:
    """Ask for 2^90 rounds, or split for as many."""
    everything = np.ones((2, 2), dtype=bool)
    yield lb.Collect(100, 1, everything)
    if split:
        alone = lb.Problem(1, 2, 1)
        plans = (lb.standard.online(alone), lb.standard.online(alone))
        yield lb.Split(2**90, np.array([0, 1]), plans)
    yield lb.Collect(2**90, 2**80, everything)
    return lb.Result(np.zeros(2, dtype=np.int64))


@pytest.mark.parametrize("horizon", [101, 2**53 + 1, 2**63 - 1])
@pytest.mark.parametrize("split", [False, True], ids=["collect", "split"])
def test_the_executor_cuts_before_numbers_get_too_large(horizon: int, split: bool) -> None:
    world = lb.worlds.from_matrix([[0.0, 1.0], [1.0, 0.0]])
    run = lb.simulate(beyond(split), world, seed=1, horizon=horizon)
    assert run.rounds == horizon == run.rows()[-1].rounds
    assert 0 < run.regret < horizon
    assert lb.exact(beyond(split), world, horizon=horizon).rounds == horizon
    with pytest.raises(ValueError, match=r"rounds: a request of 1\.24e\+27 rounds is more"):
        lb.simulate(beyond(split), world, seed=1)
    with pytest.raises(ValueError, match=r"horizon: expected one of 1 \.\. 9223372036854775807"):
        lb.simulate(beyond(split), world, seed=1, horizon=2**63)


def printed_J(S: int, T: int) -> int:
    return min(T, math.ceil(8 * math.sqrt(S * T) * math.log(2 * S * T)))


@pytest.mark.parametrize("S", [1, 2, 10, 30, 1000, 10**6])
def test_the_first_horizon_is_the_first(S: int) -> None:
    first = lengths.first_horizon(S)
    powers = [2**k for k in range(first.bit_length())]
    assert first == powers[-1]
    assert [T for T in powers if 2 * printed_J(S, T) <= T] == [first]
    for T in (1, 7, first, 10 * first):
        assert lengths.estimate_rounds(S, T) == printed_J(S, T)


def test_estimating_takes_a_round_at_least() -> None:
    tiny = dataclasses.replace(lb.PAPER, online=1e-9)
    assert lengths.estimate_rounds(5, 100, tiny) == 1


@given(
    S=st.integers(2, 10**6),
    r=st.integers(1, 5),
    cells=st.integers(1, 300),
    bound=st.sampled_from([0.5, 1.0, 3.0, 0.1, 7.3]),
)
def test_cells_of_a_cover(S: int, r: int, cells: int, bound: float) -> None:
    """Width 2B/m makes m intervals, not m + 1, however the quotient is rounded."""
    problem = lb.Problem(S, 3, min(r, S))
    width = 2 * bound / cells
    for near in (width, math.nextafter(width, 0), math.nextafter(width, 9)):
        assert lengths.cover(problem, bound, near) == min(S, cells**problem.groups)
    wider, narrower = 2 * bound / (cells - 0.5), 2 * bound / (cells + 0.5)
    assert lengths.cover(problem, bound, wider) == min(S, cells**problem.groups)
    assert lengths.cover(problem, bound, narrower) == min(S, (cells + 1) ** problem.groups)


@given(problem=sizes, T=st.integers(1000, 10**15))
def test_width_of_the_cells(problem: lb.Problem, T: int) -> None:
    S, K, r = problem.letters
    alpha = lengths.cover_width(problem, T)
    assert alpha ** (3 * r + 2) == pytest.approx((S + K) / T, rel=1e-9)


@given(k=st.integers(1, 200))
def test_the_last_phase_forgives_rounding(k: int) -> None:
    """alpha = 2^(-k/2) is phase k, not k - 1; a bit more is k - 1, a bit less still k."""
    alpha = math.exp2(-k / 2)
    for near in (alpha, math.nextafter(alpha, 1), math.nextafter(alpha, 0)):
        assert lengths.last_phase(near) == k
    assert lengths.last_phase(alpha * 1.001) == max(1, k - 1)
    assert lengths.last_phase(alpha * 0.999) == k
    assert lengths.last_phase(1.0) == lengths.last_phase(5.0) == 1


@given(problem=sizes, T=st.integers(1, 10**15))
def test_rates_and_the_switch(problem: lb.Problem, T: int) -> None:
    S, K, r = problem.letters
    assert bounds.regret_rate(problem, T) ** 2 == pytest.approx(r**3 * (S + K) * T)
    assert bounds.standard_rate(problem, T) ** 2 == pytest.approx(S * K * T)
    assert bounds.standard_is_better(problem) == (Fraction(S * K, S + K) < r**3)


@pytest.mark.parametrize("r", [1, 2, 3])
def test_equal_rates_are_no_reason_to_switch(r: int) -> None:
    size = 2 * r**3
    assert not bounds.standard_is_better(lb.Problem(size, size, r))
    assert bounds.standard_is_better(lb.Problem(size, size - 1, r))
