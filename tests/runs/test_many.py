"""Counts of more than doubles can hold: their last bits, moments, margins, and the way there.

Doubles skip whole numbers from 2^53 on, so a count of 2^58 drawn in doubles is a multiple of 32.
Every test of chance fails only where a p-value is below 1e-9; seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy import stats

import lumpable as lb
from lumpable.base.arrays import FloatVector, IntMatrix, IntVector
from lumpable.base.checks import MOST_ROUNDS
from lumpable.runs import answers
from lumpable.runs import kernels as _kernels
from twins.laws import alike

DRAWS = 20_000
LIMIT = 2**52
"""Fewer rounds and plays are drawn as they always were."""


def _half_loop(rng: np.random.Generator, n: int, size: int) -> IntVector:
    draws = np.empty(size, np.int64)
    for i in range(size):
        draws[i] = _kernels.half(rng, n)
    return draws


def _binomial_loop(rng: np.random.Generator, n: int, p: float, size: int) -> IntVector:
    draws = np.empty(size, np.int64)
    for i in range(size):
        draws[i] = _kernels.binomial(rng, n, p)
    return draws


halves: Callable[[np.random.Generator, int, int], IntVector] = njit()(_half_loop)
binomials: Callable[[np.random.Generator, int, float, int], IntVector] = njit()(_binomial_loop)


def multinomials(seed: int, n: int, frequency: FloatVector, size: int) -> IntMatrix:
    rng = np.random.default_rng(seed)
    return np.array([answers._multinomial(rng, n, frequency) for _ in range(size)])


# --- Last bits ------------------------------------------------------------------------------

MANY = [LIMIT, 2**53 + 1, 2**54 + 2**52, 2**58, 5 * 10**18, MOST_ROUNDS]
CHANCES = [0.5, 0.4, 1 / 3, 0.75, 2**-9, 0.999]


def fair_bits(draws: IntVector, what: str) -> None:
    """The last 10 bits are fair coins each, and the last 8 together an even die.

    That is the law: P(even) - P(odd) = (1 - 2p)^n, which is 0 to thousands of digits, and
    likewise for the other remainders, since one unit is nothing beside the standard deviation.
    """
    for bit in range(10):
        ones = int((draws >> bit & 1).sum())
        alike(float(stats.binomtest(ones, len(draws), 0.5).pvalue), f"bit {bit} of {what}")
    alike(float(stats.chisquare(np.bincount(draws & 255, minlength=256)).pvalue), f"byte of {what}")


@pytest.mark.parametrize("n", MANY)
def test_last_bits_of_halves(n: int) -> None:
    fair_bits(halves(np.random.default_rng(1), n, DRAWS), f"half of {n}")


@pytest.mark.parametrize("p", CHANCES)
@pytest.mark.parametrize("n", MANY)
def test_last_bits_of_binomials(n: int, p: float) -> None:
    fair_bits(binomials(np.random.default_rng(2), n, p, DRAWS), f"binomial({n}, {p:g})")


@pytest.mark.parametrize("n", [2**53, 2**58, 5 * 10**18])
def test_a_sum_in_doubles_would_be_seen(n: int) -> None:
    """The check above can fail: the normal added to its mean in doubles does not pass it."""
    z = np.random.default_rng(3).standard_normal(DRAWS)
    with pytest.raises(AssertionError, match="bit 0 of"):
        fair_bits(np.floor(0.5 * (n + math.sqrt(n) * z) + 0.5).astype(np.int64), "doubles")


# --- Moments --------------------------------------------------------------------------------


def right_mean(draws: IntVector, n: int, p: Fraction, what: str) -> FloatVector:
    """The mean is normal; return the standardised draws, which are taken off n p exactly."""
    centre = round(n * p)
    away = (draws - centre).astype(np.float64) + float(centre - n * p)
    z: FloatVector = away / math.sqrt(n * p * (1 - p))
    alike(2 * float(stats.norm.sf(abs(z.sum()) / math.sqrt(len(z)))), f"mean of {what}")
    return z


def right_moments(draws: IntVector, n: int, p: Fraction, what: str) -> None:
    """Mean, variance and tails: squares of standard normals add up to a chi-square."""
    z = right_mean(draws, n, p, what)
    squares = float((z**2).sum())
    tails = stats.chi2.cdf(squares, len(z)), stats.chi2.sf(squares, len(z))
    alike(2 * float(min(tails)), f"variance of {what}")
    far = int((np.abs(z) > 2.83).sum())
    expected = 2 * float(stats.norm.sf(2.83))
    alike(float(stats.binomtest(far, len(z), expected).pvalue), f"tails of {what}")


@pytest.mark.parametrize("n", [2**53 + 1, 2**58, 2**62, MOST_ROUNDS])
def test_moments(n: int) -> None:
    """A variance that is wrong by 1.5 % is seen, and so is a mean that is off by 1 % of the sd."""
    size = 20 * DRAWS
    right_moments(halves(np.random.default_rng(4), n, size), n, Fraction(1, 2), f"half of {n}")
    for p in CHANCES:
        draws = binomials(np.random.default_rng(5), n, p, size)
        right_moments(draws, n, Fraction(p), f"binomial({n}, {p:g})")


@given(st.integers(2**52, MOST_ROUNDS), st.floats(2.0**-12, 0.5))
def test_the_mean_is_split_exactly(n: int, p: float) -> None:
    whole, rest = _kernels._product(n, p)
    exactly = n * Fraction(p)
    assert whole == math.floor(exactly)
    assert rest == float(exactly - whole)


@given(st.integers(LIMIT, MOST_ROUNDS), st.integers(0, 2**32))
def test_a_half_is_the_normal_rounded_to_the_nearest_number(n: int, seed: int) -> None:
    """No sample would see a shift of 1/2 beside standard deviations of 2^25 to 2^31."""
    z = Fraction(np.random.default_rng(seed).standard_normal())
    root = Fraction(math.isqrt(n << 120), 1 << 60)
    away = halves(np.random.default_rng(seed), n, 1).item() - (n + root * z) / 2
    assert abs(away) <= Fraction(1, 2) + Fraction(1, 2**18)


@given(st.integers(LIMIT, MOST_ROUNDS), st.floats(2.0**-12, 0.5), st.integers(0, 2**32))
def test_a_binomial_is_its_mean_and_a_deviation_rounded(n: int, p: float, seed: int) -> None:
    """Step 1 of BTRD, which most draws end with, as it is printed."""
    root = math.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * root
    a = -0.0873 + 0.0248 * b + 0.01 * p
    u = np.random.default_rng(seed).random() / (0.92 - 4.2 / b) - 0.43
    if n * p >= 2**51 and abs(u) < 0.43:
        deviation = Fraction((2 * a / (0.5 - abs(u)) + b) * u)
        away = binomials(np.random.default_rng(seed), n, p, 1).item() - n * Fraction(p) - deviation
        assert abs(away) <= Fraction(1, 2) + Fraction(1, 2**14)  # u has lost some digits here


@given(st.integers(LIMIT, MOST_ROUNDS), st.floats(2.0**-12, 0.5))
def test_the_mode_is_exact(n: int, p: float) -> None:
    """Steps 3.1 to 3.4 of BTRD compare with the mode floor((n + 1) p), or a neighbour as likely."""
    kernels: Any = _kernels
    asked: list[int] = []

    def accepts(n: int, p: float, npq: float, m: int, k: int, v: float) -> bool:
        asked.append(int(m))
        return True

    whole, mean = kernels._product(n, p)
    b = 1.15 + 2.53 * math.sqrt(n * p * (1 - p))
    numbers = n, p, n * p * (1 - p), 0.0248 * b, b, 0.92 - 4.2 / b, 0.999, whole, mean
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernels, "_accepts", accepts)
        kernels._btrd_rest.py_func(np.random.default_rng(1), *numbers)
    assert abs(asked[0] - math.floor((n + 1) * Fraction(p))) <= 1


@given(st.integers(0, MOST_ROUNDS), st.floats(0, 1), st.integers(0, 2**32))
def test_no_draw_is_out_of_range(n: int, p: float, seed: int) -> None:
    assert 0 <= binomials(np.random.default_rng(seed), n, p, 1)[0] <= n
    assert 0 <= halves(np.random.default_rng(seed), n, 1)[0] <= n


# --- Multinomials ---------------------------------------------------------------------------

UNEVEN = np.array([0.5, 0.0, 0.25, 0.125, 2**-9, 0.125 - 2**-9])
THIRDS = np.array([1 / 3, 1 / 3, 1 / 3])


@pytest.mark.parametrize("frequency", [UNEVEN, UNEVEN[::-1], THIRDS], ids=["u", "reversed", "3"])
@pytest.mark.parametrize("n", [LIMIT, 2**58 + 1, 2**62, MOST_ROUNDS])
def test_margins_of_a_multinomial(n: int, frequency: FloatVector) -> None:
    """Every share and every sum of two shares is a binomial, and all of them add up to n."""
    shares = multinomials(6, n, frequency, 4000)
    assert all(sum(row) == n for row in shares.tolist())
    comes = np.flatnonzero(frequency)
    assert not shares[:, frequency == 0].any()
    weights = [Fraction(weight) for weight in frequency.tolist()]
    for i in comes:
        for j in comes[comes >= i]:
            some = {i, j}
            together = shares[:, sorted(some)].sum(axis=1)
            p = sum(weights[c] for c in some) / sum(weights)
            if i == j:
                fair_bits(together, f"share {i} of {n}")
            right_moments(together, n, p, f"shares {i} and {j} of {n}")


def test_a_thousand_contexts_are_all_served_exactly() -> None:
    """Frequencies that fall from 1 to 2^-40, where plain sums of doubles have lost many digits.

    Taken off 1 one by one, as numpy does it, they leave last contexts with other shares.
    """
    weight = 2.0 ** -np.linspace(0, 40, 1000)
    frequency = weight / weight.sum()
    n, size = MOST_ROUNDS, 400
    shares = multinomials(7, n, frequency, size)
    assert (shares.sum(axis=1) == n).all()
    exact = [Fraction(w) for w in frequency.tolist()]
    for i in (0, 1, 10, 100, 500, 900, 990, 998, 999):
        p = exact[i] / sum(exact)
        right_mean(shares[:, i], n, p, f"context {i}")


def test_sums_of_frequencies_are_right_to_the_last_digits() -> None:
    frequency = np.random.default_rng(10).uniform(0, 1, 1000) ** 20
    rest = Fraction(0)
    behind = _kernels._behind(frequency).tolist()
    for each, sum_behind in zip(frequency[::-1].tolist(), behind[::-1], strict=True):
        assert abs(Fraction(sum_behind) - rest) <= rest / 2**52
        rest += Fraction(each)


@pytest.mark.parametrize("first", [True, False])
def test_a_rare_context_beside_a_frequent_one(first: bool) -> None:
    """1 less the frequency of the frequent one is wrong by a tenth of a standard deviation."""
    rare = 2.0**-40 / 3
    frequency = np.array([rare, 1 - rare] if first else [1 - rare, rare])
    shares = multinomials(9, MOST_ROUNDS, frequency, 20_000)[:, 0 if first else 1]
    exact = sum(Fraction(each) for each in frequency.tolist())
    right_moments(shares, MOST_ROUNDS, Fraction(rare) / exact, "the rare one")


@given(
    st.integers(0, MOST_ROUNDS),
    st.lists(st.floats(0, 1), min_size=1, max_size=9).filter(any),
    st.integers(0, 2**32),
)
def test_shares_add_up(n: int, weights: list[float], seed: int) -> None:
    frequency = np.array(weights) / math.fsum(weights)
    (shares,) = multinomials(seed, n, frequency, 1).tolist()
    assert sum(shares) == n
    assert min(shares) >= 0
    assert not any(share for share, f in zip(shares, frequency, strict=True) if f == 0)


# --- At the limit ---------------------------------------------------------------------------


def test_fewer_are_drawn_as_ever() -> None:
    """Recorded runs hold: numpy's multinomial, and these draws of an earlier version."""
    many = LIMIT - 1
    one, other = np.random.default_rng(8), np.random.default_rng(8)
    drawn = answers._multinomial(one, many, THIRDS)
    assert drawn.tolist() == other.multinomial(many, THIRDS).tolist()
    assert one.bit_generator.state == other.bit_generator.state
    assert halves(np.random.default_rng(7), many, 2).tolist() == [
        2251799813726525,
        2251799804486708,
    ]
    assert binomials(np.random.default_rng(7), many, 0.3, 2).tolist() == [
        1351079911462105,
        1351079871530271,
    ]


@pytest.mark.parametrize("p", [0.5, 0.3, 2**-6])
def test_nothing_jumps_at_the_limit(p: float) -> None:
    """The same random numbers give the same draws on both sides of the limit, to within 2."""
    n = round(2**51 / p)
    for seed in range(200):
        below, above = (np.random.default_rng(seed) for _ in range(2))
        apart = binomials(above, n + 4, p, 1) - binomials(below, n - 4, p, 1)
        assert -2 <= apart <= 2 + 8 * p
    for seed in range(200):
        below, above = (np.random.default_rng(seed) for _ in range(2))
        assert abs(halves(above, LIMIT, 1) - halves(below, LIMIT - 1, 1)) <= 2


# --- Whole requests -------------------------------------------------------------------------

REPEATS = 8


def many_answers(n: int, size: int) -> list[answers.Answer]:
    """Answers in a world of 4 contexts, whose rows have 3, 4, 5 and 0 arms."""
    arms = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1], [0] * 5], dtype=bool)
    mean = np.linspace(0.1, 0.9, 20).reshape(4, 5)
    world = lb.World(mean, np.array([0.4, 0.3, 0.2, 0.1]), np.arange(4), "bernoulli")
    request = lb.Collect(n, REPEATS, arms)
    return [answers.answer(request, world, np.random.default_rng([n, k])) for k in range(size)]


@pytest.mark.parametrize(
    "n", [*(pytest.param(n, marks=pytest.mark.nightly) for n in (2**55, 2**58)), 5 * 10**18]
)
def test_unfinished_plays_and_plays_of_each_arm(n: int) -> None:
    """One context in 8 has no unfinished play; plays are whole, and uniform to the last bit."""
    size = 2500
    got = many_answers(n, size)
    for each in got:
        left = each.visits - REPEATS * each.sample.plays.sum(axis=1)
        assert each.visits.sum() == n
        assert ((left[:3] >= 0) & (left[:3] < REPEATS)).all()
        assert ((left[:3] > 0) == (each.unfinished[:3] >= 0)).all()
        assert each.unfinished[3] == -1
    none = sum(int((each.unfinished[:3] < 0).sum()) for each in got)
    alike(float(stats.binomtest(none, 3 * size, 1 / REPEATS).pvalue), "contexts without a rest")
    for i, k in enumerate((3, 4, 5)):
        for j in range(k):
            fair_bits(np.array([each.sample.plays[i, j] for each in got]), f"plays of {i}, {j}")


@pytest.mark.parametrize(
    "n",
    [2**40, answers.AT_ONCE + 1, 2**62, pytest.param(MOST_ROUNDS, marks=pytest.mark.nightly)],
)
def test_sums_of_stars(n: int) -> None:
    """Drawn at once, 2^62 of them would have a variance that is 4 % too large."""
    law = lb.worlds.Stars()
    mean = np.full((200, 300), 3.2)
    rng = np.random.default_rng(11)
    total = answers._totals(law, mean, np.full(mean.shape, n), rng)
    z = (total - total.mean()) / np.sqrt(n * law.variance(mean))
    squares = float((z**2).sum())
    tails = stats.chi2.cdf(squares, z.size - 1), stats.chi2.sf(squares, z.size - 1)
    alike(2 * float(min(tails)), f"variance of {n} stars")


def test_few_rewards_are_added_up_as_ever() -> None:
    law, mean = lb.worlds.Stars(), np.array([[1.5, 2.5, 3.5]])
    number = np.array([[0, 7, answers.AT_ONCE]])
    one, other = np.random.default_rng(12), np.random.default_rng(12)
    assert (answers._totals(law, mean, number, one) == law.total(mean, number, other)).all()
    assert one.bit_generator.state == other.bit_generator.state


def test_the_same_seed_gives_the_same_answer() -> None:
    for one, other in zip(many_answers(2**60, 3), many_answers(2**60, 3), strict=True):
        assert (one.visits == other.visits).all()
        assert (one.sample.plays == other.sample.plays).all()
        np.testing.assert_array_equal(one.sample.mean, other.sample.mean)
        assert one.regret == other.regret


def test_a_plan_runs_to_the_most_rounds_there_are() -> None:
    world = lb.worlds.lumpable(6, 5, 2, seed=1)
    one, other = (
        lb.simulate(lb.regret.equal_groups(lb.Problem(6, 5, 2)), world, seed=1, horizon=MOST_ROUNDS)
        for _ in range(2)
    )
    assert one.rounds == MOST_ROUNDS
    assert one.requests == other.requests
    assert one.regret == other.regret


def test_rounds_of_plans_side_by_side_add_up() -> None:
    shares = answers.Drawn(3).share(MOST_ROUNDS, UNEVEN, (1, 2))
    assert sum(shares) == MOST_ROUNDS
    assert shares == answers.Drawn(3).share(MOST_ROUNDS, UNEVEN, (1, 2))
    assert shares[1] == 0
