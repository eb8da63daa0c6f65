"""Bounds of regret: formulas against sums written out, laws, and exact play in a tiny world."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lumpable as lb
from lumpable import bounds, compared_rates, lengths, regret_bounds
from lumpable.plans.bounds import Rate
from lumpable.plans.regret_bounds import PhaseTerms, last_phase_begun, regret_lower_bound
from lumpable.worlds.worst_cases import lower_bound_gap

problems = st.tuples(st.integers(1, 300), st.integers(1, 300), st.integers(1, 40)).map(
    lambda size: lb.Problem(size[0], size[1], min(size[2], size[0]))
)
horizons = st.floats(0, 60).map(lambda times: 2.0**times)
UPPER: list[Callable[[lb.Problem, float], float]] = [
    regret_bounds.fresh_fixed_bound,
    regret_bounds.fresh_fixed_carried_bound,
    regret_bounds.fresh_adaptive_bound,
    regret_bounds.fresh_carried_bound,
    functools.partial(regret_bounds.fresh_fixed_bound, tight=False),
    functools.partial(regret_bounds.fresh_adaptive_bound, tight=False),
    functools.partial(regret_bounds.fresh_carried_bound, tight=False),
    regret_bounds.fresh_unknown_bound,
    compared_rates.exp4_bound,
    compared_rates.per_context_bound,
]
RATES = [
    value
    for module in (bounds, regret_bounds, compared_rates)
    for value in vars(module).values()
    if isinstance(value, Rate)
]


# --- The lower bound ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "constant", "product"),
    [
        ((30, 20, 3), 0.027, 3 * 50),  # r divides S
        ((31, 20, 3), 0.027, 3 * 51),  # S >= K
        ((10, 20, 3), 0.022, 3 * 30),  # neither
        ((10, 20, 5), 0.027, 5 * 30),  # r divides S
        ((31, 4, 7), 0.038, 31 * 4),  # r >= K
        ((5, 4, 4), 0.038, 5 * 4),  # r = K
        ((5, 20, 1), 0.038, 20),  # one group is one bandit
    ],
)
def test_the_lower_bound_at_hand(size: tuple[int, int, int], constant: float, product: int) -> None:
    problem = lb.Problem(*size)
    for T in (product, 10**9):
        expected = constant * math.sqrt(product * T)
        assert regret_lower_bound(problem, T) == pytest.approx(expected)
    times = math.ceil(product / (product // 2))  # restarts
    assert regret_lower_bound(problem, product // 2) == pytest.approx(constant * product / times)
    assert regret_lower_bound(problem, 1) == pytest.approx(constant)
    assert regret_lower_bound(lb.Problem(5, 1, 2), 10**9) == 0


@given(problem=problems, T=horizons, factor=st.floats(1, 100))
def test_the_lower_bound_grows_and_is_below_every_upper_bound(
    problem: lb.Problem, T: float, factor: float
) -> None:
    lower = regret_lower_bound(problem, T)
    assert 0 <= lower <= regret_lower_bound(problem, T * factor) * (1 + 1e-12)
    assert lower <= 0.04 * T
    assert all(lower <= upper(problem, T) for upper in UPPER)


def test_the_lower_bound_is_below_every_upper_bound_on_a_grid() -> None:
    sizes = (1, 2, 3, 5, 10, 100, 10**4, 10**9)
    for S in sizes:
        for K in sizes:
            for r in {1, 2, 3, min(S, K), S}:
                if r <= S:
                    problem = lb.Problem(S, K, r)
                    for T in (1, 10, 10**4, 10**9, 10**18):
                        lower = regret_lower_bound(problem, T)
                        assert all(lower <= upper(problem, T) for upper in UPPER)


def least_regret(rounds: int, gap: float) -> list[float]:
    """Return the least mean regret in 0 .. `rounds` rounds, when one of two arms is `gap` better.

    By dynamic programming over successes and failures of both arms: nothing else matters to a
    learner that knows that one arm has mean 1/2 + gap, the other 1/2, with equal chances.
    """
    good, bad = 0.5 + gap, 0.5

    @functools.cache
    def weight(s1: int, f1: int, s2: int, f2: int) -> tuple[float, float]:
        first = good**s1 * (1 - good) ** f1 * bad ** (s2 + f2)
        second = good**s2 * (1 - good) ** f2 * bad ** (s1 + f1)
        return first, second

    @functools.cache
    def value(left: int, s1: int, f1: int, s2: int, f2: int) -> float:
        if left == 0:
            return 0.0
        first, second = weight(s1, f1, s2, f2)
        p = first / (first + second)  # the first arm is the good one
        play_1 = p * good + (1 - p) * bad
        play_2 = p * bad + (1 - p) * good
        one = (
            (1 - p) * gap
            + play_1 * value(left - 1, s1 + 1, f1, s2, f2)
            + (1 - play_1) * value(left - 1, s1, f1 + 1, s2, f2)
        )
        two = (
            p * gap
            + play_2 * value(left - 1, s1, f1, s2 + 1, f2)
            + (1 - play_2) * value(left - 1, s1, f1, s2, f2 + 1)
        )
        return min(one, two)

    return [value(n, 0, 0, 0, 0) for n in range(rounds + 1)]


@pytest.mark.parametrize("T", [4, 8, 16])
def test_nobody_beats_the_lower_bound_in_its_smallest_world(T: int) -> None:
    """Two contexts, two arms: the best that can be done, even told when each context comes."""
    problem = lb.Problem(2, 2, 2)
    gap = lower_bound_gap(1, 2, 2, 2, T)
    assert gap == pytest.approx(math.sqrt(3 * 4 / (8 * T)) / 4)
    lost = least_regret(T, gap)
    visits = [math.comb(T, n) / 2**T for n in range(T + 1)]
    exact = 2 * sum(chance * loss for chance, loss in zip(visits, lost, strict=True))
    assert regret_lower_bound(problem, T) <= exact <= T * gap / 2
    assert exact <= 4 * regret_lower_bound(problem, T)  # and it is not far below


@pytest.mark.parametrize("rounds", [2, 7, 14])
def test_nobody_beats_the_lower_bound_of_one_bandit(rounds: int) -> None:
    gap = math.sqrt(3 * 2 / (8 * rounds)) / 4
    exact = least_regret(rounds, gap)[-1]
    assert regret_lower_bound(lb.Problem(1, 2, 1), rounds) <= exact


# --- Fresh phases -------------------------------------------------------------------------------

SIZES = [(30, 20, 3), (1000, 1000, 5), (2, 2, 2), (5, 9, 1), (40, 3, 40)]


def written_out(problem: lb.Problem, T: float, tight: bool) -> dict[str, float]:
    """The bounds term by term, h_T found by trying all phases."""
    S, K, r = problem.letters

    def confidence(h: int) -> float:
        beta, delta = 2 ** (-h / 2) / S, 2.0**-h / (r**3 * S * K)
        return math.log(4 * S * K * h / beta) if tight else 128 * math.log(r * S * K * h / delta)

    def error(h: int) -> float:
        return math.sqrt(2 * confidence(h)) if tight else math.sqrt(confidence(h)) / 4

    def length(h: int) -> float:
        return 10 * S + 1.25 * r * K * confidence(h) if tight else r * (S + K) * confidence(h)

    def played(h: int) -> bool:
        """Some level n <= h has errors below 1/2."""
        e = error(h) * 2 ** (-h / 2)
        return e < 0.5 if tight else e <= 0.5

    first = min(h for h in range(1, 40) if played(h))
    h = max([first, *(h for h in range(first + 1, 90) if length(h - 1) * 2 ** (h - 1) <= T)])
    gamma, eta = (12 if tight else 14), 1 + math.log(r)
    step = 9.2 * gamma * error(h) * (h + 7.5) * math.sqrt(length(h) * T)
    Q = math.floor(math.log2(2 * eta * max(1, r - 1))) + 1
    fixed, adaptive = math.log(3 * S**4 * 2.0**h), math.log(3 * S**4 * Q * 2.0**h)
    N = 11 + 2 * math.log2(eta) + 2 * math.log2(r)
    calls = 190 * gamma * eta * math.sqrt(adaptive) * r * math.sqrt(S * T)
    return {
        "h": h,
        "fixed": step
        + 280 * gamma * (9 + 3 * math.log2(r)) * math.sqrt(fixed) * math.sqrt(r**3 * S * T),
        "fixed_carried": step + 44 * gamma * math.sqrt(fixed) * math.sqrt(r**3 * S * T),
        "adaptive": step + (3.5 + N) * calls,
        "carried": step * (1 + 1 / (r * S)) + (1 + 2 / r) * calls,
    }


@pytest.mark.parametrize("tight", [True, False])
@pytest.mark.parametrize("size", SIZES)
def test_bounds_of_fresh_phases_term_by_term(size: tuple[int, int, int], tight: bool) -> None:
    problem = lb.Problem(*size)
    for T in (1.0, 1e6, 1e12, 1e18):
        found = written_out(problem, T, tight)
        assert last_phase_begun(problem, T, tight=tight) == found["h"]
        for name in ("fixed", "fixed_carried", "adaptive", "carried"):
            bound = getattr(regret_bounds, f"fresh_{name}_bound")
            assert bound(problem, T, tight=tight) == pytest.approx(found[name], rel=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_small_constants_in_one_line(size: tuple[int, int, int]) -> None:
    """175 sqrt(ell) (h + 7.5) sqrt((8S + rK ell) T), and 2300 (15 + ..) for the splits."""
    problem, T = lb.Problem(*size), 1e15
    S, K, r = size
    last = PhaseTerms(problem, last_phase_begun(problem, T))
    ell, eta = last.confidence, 1 + math.log(r)
    line = 175 * math.sqrt(ell) * (last.h + 7.5) * math.sqrt((8 * S + r * K * ell) * T)
    phases = 15 + 2 * math.log2(r) + 2 * math.log2(eta)
    line += 2300 * phases * eta * math.sqrt(last.splitting(r)) * r * math.sqrt(S * T)
    assert 0.95 * line <= regret_bounds.fresh_adaptive_bound(problem, T) <= line


def test_the_bound_without_r() -> None:
    """Theorem D term by term, also where failures are a part that can be seen."""
    S, K, r, T = 30, 20, 3, 1e15
    h = max(h for h in range(8, 80) if 1.25 * (8 * S + K * ell(S, K, h - 1)) * 2.0 ** (h - 1) <= T)
    eta = 1 + math.log(6)
    Q = math.floor(math.log2(2 * eta * 5)) + 1
    lam = math.log(3 * S**4 * Q) + h * math.log(2)
    e = ell(S, K, h)
    exploring = 400 * math.sqrt(e) * (h + 7.5) * r * math.sqrt((8 * S + K * e) * T)
    calls = 3900 * (17 + 2 * math.log2(r) + 2 * math.log2(eta)) * eta * math.sqrt(lam) * r
    expected = (2 + math.log2(3)) * (exploring + calls * math.sqrt(S * T))
    A, wide = 2 + math.log2(S), 1 + math.log(4 * S)
    Q = math.floor(math.log2(2 * wide * (4 * S - 1))) + 1
    lam = math.log(3 * S**4 * Q) + h * math.log(2)
    phases = 18 + 2 * math.log2(S) + 2 * math.log2(wide)
    failed = A * wide * (900 + 230 * math.sqrt(lam) * A * phases / S) * math.sqrt(S * T)
    found = regret_bounds.fresh_unknown_bound(lb.Problem(S, K, r), T)
    assert found == pytest.approx(expected + failed, rel=1e-12)
    assert 1e-3 * expected < failed < expected


def ell(S: int, K: int, h: int) -> float:
    return math.log(4 * S * K * h * S * 2 ** (h / 2))


@given(problem=problems, T=horizons, factor=st.floats(1, 1e6))
def test_bounds_grow_with_the_horizon(problem: lb.Problem, T: float, factor: float) -> None:
    for upper in UPPER:
        assert upper(problem, T) <= upper(problem, T * factor) * (1 + 1e-12)


@given(problem=problems, T=horizons)
def test_bounds_are_at_least_their_rates(problem: lb.Problem, T: float) -> None:
    for rate in RATES:
        if rate.bound is not None and problem.arms > 1:
            assert rate.bound(problem, T) >= rate.of(problem, T)


@given(problem=problems, T=horizons)
def test_which_of_the_bounds_is_better(problem: lb.Problem, T: float) -> None:
    """Kept clusters save the phases, and knowing r saves a factor."""
    carried = regret_bounds.fresh_carried_bound(problem, T)
    S, _, r = problem.letters
    if r * S > 1:
        assert carried <= 1.5 * regret_bounds.fresh_adaptive_bound(problem, T)
    assert carried <= 2 * regret_bounds.fresh_unknown_bound(problem, T)


# --- Rates --------------------------------------------------------------------------------------


@given(problem=problems, T=horizons)
def test_rates_are_what_their_formulas_say(problem: lb.Problem, T: float) -> None:
    S, K, r = problem.letters
    names = {"S": S, "K": K, "r": r, "T": T, "sqrt": math.sqrt, "ln": math.log, "min": min}
    for rate in RATES:
        formula, _, where = rate.formula.partition(", p = ")
        names["p"] = eval(python(where), {}, names) if where else None
        assert rate.of(problem, T) == pytest.approx(eval(python(formula), {}, names), rel=1e-9)
        assert rate.source


def python(formula: str) -> str:
    """Turn a formula into Python: powers and products get signs, `ln x` and `3r` too."""
    formula = re.sub(r"ln (\w)", r"ln(\1)", formula.replace("^", "**"))
    formula = re.sub(r"\b(\d)([SKrT])", r"\1 * \2", formula)
    formula = re.sub(r"(?<=[\w)]) (?=[\w(])", " * ", formula)
    return formula


@given(problem=problems, T=horizons)
def test_the_order_of_rates(problem: lb.Problem, T: float) -> None:
    """Nothing is below the least rate there can be but what assumes more."""
    least = regret_bounds.minimax_rate(problem, T)
    assert regret_lower_bound(problem, T) <= 0.038 * least
    for rate in (bounds.LUMPABLE, bounds.STANDARD, bounds.NEVER_WORSE, regret_bounds.CANDIDATES):
        assert rate.of(problem, T) >= least
    fixed, adaptive = (
        rate.of(problem, T) for rate in (regret_bounds.FRESH_FIXED, regret_bounds.FRESH_ADAPTIVE)
    )
    assert fixed >= adaptive >= regret_bounds.groups_rate(problem, T) * 0.999999
    assert regret_bounds.FRESH_UNKNOWN.of(problem, T) >= adaptive * 0.999999


def test_exp4_knows_as_many_experts_as_there_are_maps() -> None:
    """r^S K^r ways to give each of S contexts a group and each of r groups an arm."""
    S, K, r = 3, 4, 2
    experts = sum(1 for _ in np.ndindex(*(r,) * S, *(K,) * r))
    assert compared_rates.exp4_log_experts(lb.Problem(S, K, r)) == pytest.approx(math.log(experts))
    bound = compared_rates.exp4_bound(lb.Problem(S, K, r), 100)
    assert bound == pytest.approx(math.sqrt(2 * K * 100 * math.log(experts)))


def test_exp3_keeps_its_bound_on_a_bandit() -> None:
    """EXP3 with rate sqrt(ln K / (tK)) loses at most 2 sqrt(n K ln K) on average, for every n."""
    K, n, runs = 3, 400, 200
    rng = np.random.default_rng(1)
    mean = np.array([0.5, 0.7, 0.5])
    lost = np.zeros((runs, n))
    loss = np.zeros((runs, K))
    for t in range(1, n + 1):
        weight = np.exp(-math.sqrt(math.log(K) / (t * K)) * (loss - loss.min(axis=1)[:, None]))
        p = weight / weight.sum(axis=1, keepdims=True)
        arm = (rng.random(runs)[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(max=K - 1)
        reward = rng.random(runs) < mean[arm]
        loss[np.arange(runs), arm] += (1 - reward) / p[np.arange(runs), arm]
        lost[:, t - 1] = 0.7 - mean[arm]
    regret = lost.cumsum(axis=1).mean(axis=0)
    bound = [compared_rates.known_groups_bound(lb.Problem(1, K, 1), t) for t in range(1, n + 1)]
    assert (regret <= np.array(bound)).all()


# --- Rounds of the PAC plans on average ----------------------------------------------------------


@given(problem=problems, epsilon=st.floats(1e-3, 0.5), delta=st.floats(1e-6, 0.5))
def test_rounds_on_average_are_between_few_and_most(
    problem: lb.Problem, epsilon: float, delta: float
) -> None:
    S, K, _ = problem.letters
    few = bounds.near_uniform_rounds(problem, epsilon, delta)
    size = lengths.near_uniform_lengths(problem, epsilon, delta)
    most = bounds.near_uniform_rounds(lb.Problem(S, K, S), epsilon, delta)  # r = S: longer too
    mean = bounds.near_uniform_expected_rounds(problem, epsilon, delta)
    assert few <= mean <= max(few, most)
    assert mean <= few * (1 + 3 * size.levels * delta**2 * S)
    one = bounds.any_contexts_rounds(problem, epsilon, delta)
    assert bounds.any_contexts_expected_rounds(problem, epsilon, delta) >= one


@given(
    problem=problems,
    epsilon=st.floats(1e-3, 0.5),
    delta=st.floats(1e-6, 0.5),
    cuts=st.lists(st.tuples(st.integers(0, 300), st.floats(0.501, 1)), min_size=1, max_size=20),
    shift=st.integers(0, 20),
)
def test_whatever_the_buckets_the_rounds_are_bounded(
    problem: lb.Problem,
    epsilon: float,
    delta: float,
    cuts: list[tuple[int, float]],
    shift: int,
) -> None:
    """Any sizes of buckets, as frequent as they may be: r screenings a level fit into E[T]."""
    S, K, r = problem.letters
    L = lengths.last_bucket(problem, epsilon)
    left, rounds, weight = S, lengths.arrivals(problem, epsilon, delta), 0.0
    for level, (asked, share) in enumerate(cuts, start=shift):
        s = min(asked, left, 2 ** (level + 1) - 1)
        frequency = s * share * 2.0**-level
        if s == 0 or level >= L or weight + frequency > 1:
            continue
        left, weight = left - s, weight + frequency
        inside = lb.Problem(s, K, min(r, s))
        epsilon_l = lengths.bucket_epsilon(epsilon, frequency)
        rounds += bounds.bucket_rounds(inside, epsilon_l, delta, frequency)
    assert rounds <= bounds.any_contexts_expected_rounds(problem, epsilon, delta)


@pytest.mark.parametrize("frequency", ["uniform", "zipf"])
def test_runs_take_no_more_rounds_on_average(frequency: str) -> None:
    problem = lb.Problem(24, 12, 3)
    plans = {
        lb.pac.near_uniform: bounds.near_uniform_expected_rounds,
        lb.pac.any_contexts: bounds.any_contexts_expected_rounds,
    }
    for make, bound in plans.items():
        rounds = []
        for seed in range(20):
            world = lb.worlds.lumpable(24, 12, 3, frequency=frequency, seed=seed)
            plan = make(problem, epsilon=0.05, delta=0.1)
            rounds.append(lb.simulate(plan, world, seed=seed).rounds)
        assert np.mean(rounds) <= bound(problem, 0.05, 0.1)


def test_a_level_takes_at_most_a_screening_for_each_context() -> None:
    """The worst answers: every context stays until it is screened itself."""
    S, K, epsilon, delta = 7, 5, 0.4, 0.1
    problem = lb.Problem(S, K, 2)
    size = lengths.near_uniform_lengths(problem, epsilon, delta)
    progress = lb.Progress(lb.pac.near_uniform(problem, epsilon=epsilon, delta=delta))
    rounds, turn = 0, 0.0
    while isinstance(asked := progress.request, lb.Collect):
        rounds += asked.rounds
        turn += 1e6
        plays = asked.arms.astype(np.int64)
        mean = np.where(asked.arms, turn + np.arange(S)[:, None] + np.arange(K) / 10, np.nan)
        progress.answer(lb.Sample(plays, mean))
    assert progress.result is not None
    assert progress.result.screenings == (S,) * size.levels
    tests = S * sum(size.test(level) for level in range(1, size.levels + 1))
    settled = len(progress.result.candidates) * size.settle
    assert rounds == size.levels * size.explore + tests + settled
    assert len(progress.result.candidates) <= min(K, S * size.levels)
