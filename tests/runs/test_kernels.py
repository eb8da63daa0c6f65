"""The compiled kernels: binomials and fair splits against their law, dealt plays against theirs.

Every test fails only where a p-value is below 1e-9; seeds are fixed. The acceptance step of BTRD
is also compared with the exact ratio of probabilities, because sampling cannot see an error
of 1e-4 in a step that decides one draw in fifty.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from numba import njit
from scipy import special, stats

import lumpable as lb
from lumpable.base.arrays import FloatVector, IntMatrix, IntVector
from lumpable.runs import kernels as _kernels
from lumpable.runs.answers import answer

FAILS_BELOW = 1e-9
SAMPLE = 2_000_000


def _loop(rng: np.random.Generator, n: int, p: float, size: int) -> IntVector:
    draws = np.empty(size, np.int64)
    for i in range(size):
        draws[i] = _kernels.binomial(rng, n, p)
    return draws


binomials: Callable[[np.random.Generator, int, float, int], IntVector] = njit()(_loop)


def alike(p: float, what: str) -> None:
    assert p >= FAILS_BELOW, f"{what}: p = {p:.3g}"


# --- Binomials ------------------------------------------------------------------------------

BTRD = [
    (20, 0.5),  # n p = 10: the smallest mean that BTRD takes
    (21, 0.49),
    (101, 0.1),
    (1001, 0.01),
    (10**5, 1.001e-4),
    (400, 0.25),
    (1600, 0.5),
    (5000, 0.02),
    (10**4, 0.3),
    (10**5, 0.5),
    (10**5, 0.001),
]
OTHER_HALF = [(30, 0.6), (1000, 0.9), (10**4, 1 - 1 / 3), (10**5, 0.999)]
INVERSION = [(19, 0.5), (1, 0.3), (50, 1e-3), (10**5, 1e-6), (10**5, 9.9e-5), (10**5, 0.99999)]


@pytest.mark.parametrize(("n", "p"), BTRD + OTHER_HALF + INVERSION)
def test_binomial_law(n: int, p: float) -> None:
    draws = binomials(np.random.default_rng([n, 1]), n, p, SAMPLE)
    assert draws.min() >= 0
    assert draws.max() <= n
    edges = _edges(n, p)
    observed = np.histogram(draws, edges)[0]
    below = stats.binom.cdf(edges[1:-1] - 0.5, n, p)
    expected = np.diff(below, prepend=0.0, append=1.0) * SAMPLE
    alike(float(stats.chisquare(observed, expected).pvalue), f"binomial({n}, {p:g})")


def _edges(n: int, p: float) -> FloatVector:
    """Return edges of at most 120 bins, each with at least 50 expected draws."""
    levels = np.linspace(0, 1, 121)[1:-1]
    tails = np.array([1e-3, 1e-4])
    quantiles = stats.binom.ppf(np.concatenate([tails, levels, 1 - tails]), n, p)
    edges = np.unique(np.concatenate([quantiles, quantiles + 1]))
    inside = [-0.5]
    last = 0.0
    for edge in edges:
        now = float(stats.binom.cdf(edge - 1, n, p))
        if min(now - last, 1 - now) * SAMPLE >= 50:
            inside.append(edge - 0.5)
            last = now
    return np.array([*inside, n + 0.5])


@pytest.mark.parametrize("n", [0, 1, 7, 10**6])
@pytest.mark.parametrize("p", [0.0, 1.0])
def test_certain_outcomes(n: int, p: float) -> None:
    assert set(binomials(np.random.default_rng(0), n, p, 100).tolist()) == {int(n * p)}


@pytest.mark.parametrize("size", [200_000, pytest.param(1_000_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("p", [0.5, 0.1, 1 / 7, 1e-3, 0.75])
@pytest.mark.parametrize("n", [10**9, 10**12, 10**15, 9 * 10**18])
def test_binomials_of_many_trials(n: int, p: float, size: int) -> None:
    """Kolmogorov-Smirnov, which sees differences of about 7e-3 in the cdf (3e-3 at night); the
    variance is seen to be wrong from 2 % on (1 % at night).

    The lattice is finer than 2e-3 / 1000 here, so the cdf may be taken as continuous.
    """
    draws = binomials(np.random.default_rng([n, 2]), n, p, size)
    alike(float(stats.kstest(_large_cdf(draws, n, p), "uniform").pvalue), f"n = {n}, p = {p:g}")
    centred = (draws - n * p) / math.sqrt(n * p * (1 - p))
    _unit_variance(centred)


def _unit_variance(z: npt.NDArray[np.floating[Any]]) -> None:
    """The squares of standard normals add up to a chi-square."""
    squares = float(np.sum(z**2))
    tails = stats.chi2.cdf(squares, len(z)), stats.chi2.sf(squares, len(z))
    alike(2 * float(min(tails)), "variance")


def _large_cdf(k: Any, n: int, p: float) -> FloatVector:
    """Return the normal law with continuity correction and skewness; see the test below."""
    sd = math.sqrt(n * p * (1 - p))
    z = (np.asarray(k) - n * p + 0.5) / sd
    skew = (1 - 2 * p) / (6 * sd) * (z**2 - 1) * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    cdf: FloatVector = special.ndtr(z) - skew
    return cdf


@pytest.mark.parametrize("n", [10**9, 10**12, 10**15])
def test_the_large_cdf_is_within_1e_7_of_the_exact_one(n: int) -> None:
    """Beyond 1e15 scipy's own cdf fails; the error of the normal law only falls with n."""
    for p in (0.5, 0.1, 1 / 7, 1e-3, 0.75):
        k = np.floor(n * p + np.linspace(-4, 4, 17) * math.sqrt(n * p * (1 - p)))
        np.testing.assert_allclose(_large_cdf(k, n, p), stats.binom.cdf(k, n, p), atol=1e-7)


@pytest.mark.parametrize("n", [10**15, 10**18])
def test_rare_successes_among_many_trials(n: int) -> None:
    """With p far below the spacing of numbers near 1, the law is Poisson to within 1e-14."""
    draws = binomials(np.random.default_rng(3), n, 5.0 / n, SAMPLE)
    top = 18
    observed = np.bincount(np.minimum(draws, top), minlength=top + 1)
    expected = stats.poisson.pmf(np.arange(top), 5.0)
    expected = np.append(expected, 1 - expected.sum()) * SAMPLE
    alike(float(stats.chisquare(observed, expected).pvalue), f"binomial({n}, {5.0 / n:g})")


# --- The steps of BTRD ----------------------------------------------------------------------


def _step(n: int, p: float, npq: float, m: int, k: int, v: float) -> str:
    """Name the step that decides about k, from the algorithm as printed."""
    far = abs(int(k) - int(m))
    if far <= 15:
        return "3.1 products"
    rho = (far / npq) * (((far / 3 + 0.625) * far + 1 / 6) / npq + 0.5)
    t = -far * far / (2 * npq)
    if math.log(v) < t - rho:
        return "3.2 squeeze accepts"
    return "3.2 squeeze rejects" if math.log(v) > t + rho else "3.4 logarithms"


STEPS = ("3.1 products", "3.2 squeeze accepts", "3.2 squeeze rejects", "3.4 logarithms")


def test_the_sampled_cases_reach_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the kernel as plain Python and count which step decides, accepting or rejecting."""
    seen: Counter[str] = Counter()
    kernels: Any = _kernels
    original = kernels._accepts.py_func

    def spy(*args: Any) -> bool:
        accepts = bool(original(*args))
        seen.update([_step(*args), f"{_step(*args)}: {accepts}"])
        return accepts

    rng = np.random.default_rng(4)
    with monkeypatch.context() as patch:
        patch.setattr(_kernels, "_accepts", spy)
        patch.setattr(_kernels, "_btrd_rest", kernels._btrd_rest.py_func)
        patch.setattr(_kernels, "_binomial", kernels._binomial.py_func)
        for n, p in BTRD:
            for _ in range(1500):
                kernels.binomial.py_func(rng, n, p)
                seen["draws"] += 1
    ends_at_once = seen["draws"] - sum(n for step, n in seen.items() if step.endswith("True"))
    assert ends_at_once > seen["draws"] // 2  # step 1
    assert all(seen[step] > 150 for step in STEPS), seen
    for step in ("3.1 products", "3.4 logarithms"):
        assert min(seen[f"{step}: True"], seen[f"{step}: False"]) > 20, seen


@pytest.mark.parametrize(("n", "p"), [*BTRD, (10**6, 0.4), (10**9, 0.2)])
def test_acceptance_is_exactly_the_ratio_of_probabilities(n: int, p: float) -> None:
    """`_accepts` says whether v <= f(k) / f(m): asked 1e-7 below and above that ratio.

    So close to the ratio a squeeze may never decide wrongly, and the logarithms must be right to
    seven digits.
    """
    npq = n * p * (1 - p)
    m = int((n + 1) * p)
    asked: Counter[str] = Counter()
    for k in _around(n, m, npq):
        log_ratio = _log_ratio(n, p, m, k)
        for v, expected in (
            (math.exp(log_ratio - 1e-7), True),
            (math.exp(log_ratio + 1e-7), False),
        ):
            got = bool(_kernels._accepts(n, p, npq, m, k, v))
            assert got == expected, f"k = {k}, m = {m}, by {_step(n, p, npq, m, k, v)}"
            asked[_step(n, p, npq, m, k, v)] += 1
    assert asked["3.1 products"] > 10
    if npq > 50:
        assert asked["3.4 logarithms"] > 10


def _around(n: int, m: int, npq: float) -> list[int]:
    """Return the places near the mode, and then ever sparser, out to 7 standard deviations."""
    far = [*range(18), *np.unique(np.geomspace(18, 7 * math.sqrt(npq) + 19, 60).astype(int))]
    places = {m + sign * int(step) for step in far for sign in (-1, 1)}
    return sorted(k for k in places if 0 <= k <= n)


def _log_ratio(n: int, p: float, m: int, k: int) -> float:
    """log f(k) / f(m), added up factor by factor."""
    low, high = min(k, m), max(k, m)
    i = np.arange(low + 1, high + 1, dtype=np.float64)
    total = math.fsum(np.log1p(((n + 1) * p - i) / (i * (1 - p))))
    return total if k > m else -total


@pytest.mark.parametrize(("n", "p"), [(400, 0.25), (1600, 0.5), (5000, 0.02), (10**5, 0.001)])
def test_squeezes_agree_with_the_ratio(n: int, p: float) -> None:
    """At random places and heights: squeezes decide as the ratio does.

    Out to 7 standard deviations, beyond which one draw in 1e11 falls: from about 9 on, where
    k is nearly 0, the printed squeezes are no bounds any more.
    """
    rng = np.random.default_rng(6)
    npq, m = n * p * (1 - p), int((n + 1) * p)
    decided: Counter[str] = Counter()
    for _ in range(4000):
        k = int(np.clip(m + rng.uniform(-7, 7) * math.sqrt(npq), 0, n))
        log_ratio = _log_ratio(n, p, m, k)
        log_v = log_ratio + rng.normal()
        v = math.exp(log_v)
        if abs(log_v - log_ratio) > 1e-7:
            assert bool(_kernels._accepts(n, p, npq, m, k, v)) == (log_v < log_ratio)
            decided[_step(n, p, npq, m, k, v)] += 1
    assert all(decided[step] > 100 for step in STEPS if n < 10**5 or "3.4" not in step), decided


@pytest.mark.parametrize("k", [*range(25), 100, 10**4, 10**9])
def test_stirling_correction(k: int) -> None:
    """log k! = (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2 + correction."""
    if k < 200:
        log_factorial = math.log(math.factorial(k))
        formula = (k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi)
        assert _kernels._stirling(k) == pytest.approx(log_factorial - formula, abs=1e-11, rel=1e-7)
    else:
        assert _kernels._stirling(k) == pytest.approx(1 / (12 * (k + 1)), rel=1e-8)


# --- Fair splits ----------------------------------------------------------------------------


def _half_loop(rng: np.random.Generator, n: int, size: int) -> IntVector:
    heads = np.zeros(n + 1, np.int64)
    for _ in range(size):
        heads[_kernels.half(rng, n)] += 1
    return heads


count_heads: Callable[[np.random.Generator, int, int], IntVector] = njit()(_half_loop)
FAIR = [0, 1, 2, 31, 53, 54, 80, 106, 107, 150, 1000, 10**5]
"""Coins counted in one word and in two, and the corrected normal from 107 on."""


@pytest.mark.parametrize("n", [*FAIR, pytest.param(108, marks=pytest.mark.nightly)])
def test_half_law(n: int) -> None:
    """So many draws that the normal left uncorrected would be seen at n = 107, 108 and 150.

    Coins below are counted one by one, and above the correction is smaller than what 20 million
    draws can see: there are fewer draws there.
    """
    size = 20_000_000 if 107 <= n <= 150 else SAMPLE
    heads = count_heads(np.random.default_rng(n), n, size)
    expected = size * stats.binom.pmf(np.arange(n + 1), n, 0.5)
    common = expected >= 10
    observed = np.append(heads[common], heads[~common].sum())
    theory = np.append(expected[common], expected[~common].sum())
    if theory[-1] < 10:
        observed, theory = observed[:-1], theory[:-1]
    if len(theory) > 1:
        alike(float(stats.chisquare(observed, theory, sum_check=False).pvalue), f"half of {n}")
    assert heads.sum() == size


def test_an_uncorrected_normal_would_be_seen() -> None:
    """The check above can fail: 20 million rounded normals do not pass it, even at n = 150, where
    they are nearer to the law than at 107."""
    n = 150
    rng = np.random.default_rng(n)
    rounded = np.floor(0.5 * (n + math.sqrt(n) * rng.standard_normal(20_000_000)) + 0.5)
    heads = np.bincount(rounded.astype(int), minlength=n + 1)
    expected = len(rounded) * stats.binom.pmf(np.arange(n + 1), n, 0.5)
    common = expected >= 10
    ratio = heads[common].sum() / expected[common].sum()
    test = stats.chisquare(heads[common], expected[common] * ratio)
    assert test.pvalue < FAILS_BELOW


@pytest.mark.parametrize("n", [*range(107, 400), 1000, 1001, 10**4, 10**5, 10**6])
def test_the_correction_is_a_probability_and_its_bound_is_below(n: int) -> None:
    """f / P <= 1 + 1/(2n), and what decides at once is never above n f / P: for every x that
    has a chance of 1e-40 or more, and the z of its bin for which the bound is largest."""
    far = 14 * math.sqrt(n) / 2
    x = np.arange(max(0, math.floor(n / 2 - far)), min(n, math.ceil(n / 2 + far)) + 1)
    sd = math.sqrt(n) / 2
    inner = np.maximum(np.abs(x - n / 2) - 0.5, 0.0) / sd
    outer = (np.abs(x - n / 2) + 0.5) / sd
    middle = np.abs(x - n / 2) < 0.5
    rounded = np.where(
        middle, 1 - 2 * stats.norm.sf(outer), stats.norm.sf(inner) - stats.norm.sf(outer)
    )
    ratio = stats.binom.pmf(x, n, 0.5) / rounded
    some = rounded > 1e-40
    assert (ratio[some] <= 1 + 0.5 / n).all()
    bound = n - 0.25 - 0.1 * (inner + 0.1) ** 4
    assert (bound[some] <= n * ratio[some]).all()


@pytest.mark.parametrize("n", [107, 1000, 10**5])
def test_the_exact_decision(n: int) -> None:
    """The two probabilities that decide when the bound does not."""
    for x in {n // 2, n // 2 + 1, int(n / 2 + math.sqrt(n)), int(n / 2 - 2 * math.sqrt(n))}:
        low, high = (2 * (x + side - n / 2) / math.sqrt(n) for side in (-0.5, 0.5))
        rounded = stats.norm.cdf(high) - stats.norm.cdf(low)
        assert _kernels._rounded(n, x) == pytest.approx(rounded, rel=1e-9)
        assert _kernels._fair(n, x) == pytest.approx(stats.binom.pmf(x, n, 0.5), rel=1e-8)


@pytest.mark.parametrize("n", [10**9, 10**12, 10**15, 9 * 10**18])
def test_halves_of_many(n: int) -> None:
    """Standardised, they are normal to within far less than a sample can see.

    A difference of 5e-3 in the cdf is seen, and one of 2 % in the variance.
    """
    draws = halves(np.random.default_rng(4), n, SAMPLE // 4)
    z = (draws - n // 2) / (math.sqrt(n) / 2)
    alike(float(stats.kstest(z, "norm").pvalue), f"half of {n}")
    _unit_variance(z)


def _halves_loop(rng: np.random.Generator, n: int, size: int) -> IntVector:
    draws = np.empty(size, np.int64)
    for i in range(size):
        draws[i] = _kernels.half(rng, n)
    return draws


halves: Callable[[np.random.Generator, int, int], IntVector] = njit()(_halves_loop)


# --- Dealing plays to arms ------------------------------------------------------------------


@pytest.mark.parametrize("plays", [2, 12, 20, 200], ids=lambda plays: f"about {plays} an arm")
@pytest.mark.parametrize("arms", [2, 3, 5, pytest.param(8, marks=pytest.mark.nightly)])
def test_plays_are_multinomial(arms: int, plays: int) -> None:
    """Given a context's plays, all arms together: covariances, and the law of every pair."""
    dealt = _dealt(arms, plays)
    n = dealt.sum(axis=1)
    for a in range(arms):
        for b in range(a, arms):
            expected = (1 / arms) * (float(a == b) - 1 / arms)
            product = (dealt[:, a] - n / arms) * (dealt[:, b] - n / arms) / n
            error = product.std(ddof=1) / math.sqrt(len(n))
            distance = abs(product.mean() - expected) / error
            alike(2 * float(stats.norm.sf(distance)), f"covariance of {a} and {b}")
    rng = np.random.default_rng(8)
    for a in range(arms):
        _uniform_rank(dealt[:, a], n, 1 / arms, rng, f"arm {a}")
    for a, b in permutations(range(arms), 2) if arms > 2 else ():
        rest = n - dealt[:, a]
        _uniform_rank(dealt[:, b], rest, 1 / (arms - 1), rng, f"arm {b} given arm {a}")


def _dealt(arms: int, plays: int) -> IntMatrix:
    """Deal about so many plays to each arm of 12,000 contexts, in three calls."""
    contexts = 4000
    frequency = np.full(contexts, 1 / contexts)
    world = lb.World(np.zeros((contexts, arms)), frequency, np.arange(contexts), sd=0.0)
    request = lb.Collect(contexts * arms * plays, 1, np.ones((contexts, arms), dtype=bool))
    rng = np.random.default_rng([arms, plays])
    dealt = np.concatenate([answer(request, world, rng).sample.plays for _ in range(3)])
    some: IntMatrix = dealt[dealt.sum(axis=1) > 0]
    return some


def _uniform_rank(
    count: IntVector, n: IntVector, p: float, rng: np.random.Generator, what: str
) -> None:
    """Count ~ Binomial(n, p), each with its own n: its randomised rank is uniform."""
    high, at = stats.binom.cdf(count, n, p), stats.binom.pmf(count, n, p)
    rank = high - at * rng.random(len(count))
    alike(float(stats.kstest(rank, "uniform").pvalue), what)
