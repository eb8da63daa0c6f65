"""Request lengths, repeats and thresholds of every algorithm.

Formulas only; plans take their requests from here. `log` is base 2 where it counts levels and
natural in confidence terms; powers of two stay whole numbers (readings 1 and 2).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from lumpable.plans.problem import PAPER, Constants, Problem

FORGIVEN = 1e-9
"""Rounding errors of logarithms and quotients, ignored when rounding up (reading 2)."""


def round_up(value: float) -> int:
    """Return the smallest whole number that is not below `value`, up to 1e-9."""
    return math.ceil(value - FORGIVEN)


def doubled(value: float, times: float) -> int:
    """Return value x 2^times rounded up, exact for any `times` (reading 2)."""
    whole_times = math.floor(times)
    numerator, denominator = (value * math.exp2(times - whole_times)).as_integer_ratio()
    return -((-numerator << max(0, whole_times)) // (denominator << max(0, -whole_times)))


# --- Algorithms 1 and 3 -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lengths:
    """Everything that Algorithm 1 computes before it asks: lines 1, 2, 9, 11 and 12."""

    problem: Problem
    levels: int
    """N, the number of accuracy levels."""
    lg: float
    """lg = 16 log(rSK/delta), the confidence term."""
    explore: int
    """L, the rounds of Step 1 at each level."""
    settle: int
    """The rounds that Step 3 gives to each candidate (reading 13)."""
    constants: Constants

    def test(self, level: int) -> int:
        """L', the rounds of one screening at this level."""
        return math.ceil(self.constants.test * self.lg * 2.0**level * self.problem.contexts)

    def threshold(self, level: int) -> float:
        """sqrt(lg / 2^n): contexts closer than this are screened out together."""
        return math.sqrt(self.lg / 2.0**level)

    def worst_case(self) -> Iterator[tuple[int, int]]:
        """Yield rounds and how many requests have them, with r screenings a level (reading 33)."""
        _, K, r = self.problem.letters
        yield self.explore, self.levels
        for level in range(1, self.levels + 1):
            yield self.test(level), r
        yield self.settle, min(K, r * self.levels)


def near_uniform_lengths(
    problem: Problem, epsilon: float, delta: float, constants: Constants = PAPER
) -> Lengths:
    """Return the request lengths of Algorithm 1.

    >>> near_uniform_lengths(Problem(60, 40, 3), epsilon=0.2, delta=0.05).levels
    5
    """
    S, K, r = problem.letters
    N = round_up(math.log2(1 / epsilon**2))
    lg = constants.confidence * math.log(r * S * K / delta)
    L = math.ceil(constants.explore * r * (S + K) * lg / epsilon**2)
    return Lengths(problem, N, lg, L, settle(problem, epsilon, delta, constants), constants)


def settle(problem: Problem, epsilon: float, delta: float, constants: Constants = PAPER) -> int:
    """Return the rounds that Step 3 and the naive method give to each arm (reading 13)."""
    S, K, _ = problem.letters
    return max(1, math.ceil(constants.policy * S / epsilon**2 * math.log(S * K / delta)))


def arrivals(problem: Problem, epsilon: float, delta: float, constants: Constants = PAPER) -> int:
    """Return J, the rounds in which Algorithm 3 estimates the context frequencies."""
    S = problem.contexts
    return max(1, math.ceil(constants.arrivals * S / epsilon * math.log(S / delta)))


def last_bucket(problem: Problem, epsilon: float) -> int:
    """Return L of Algorithm 3: contexts rarer than 2^-L are given up."""
    return round_up(math.log2(problem.contexts / epsilon))


def bucket_epsilon(epsilon: float, frequency: float) -> float:
    """Return epsilon_l = min(1/2, 2 epsilon / sqrt(nu-hat(X_l))) (reading 16)."""
    return min(0.5, 2 * epsilon / math.sqrt(frequency))


def stretched(rounds: int, frequency: float, constants: Constants = PAPER) -> int:
    """Return how many rounds give a bucket of this frequency `rounds` of its own (reading 17)."""
    return math.ceil(constants.stretch * rounds / frequency)


# --- Algorithms 4, 5 and 6 --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Phase:
    """Everything that Algorithms 4 and 6 compute at the start of phase h, and Algorithm 5 in it."""

    problem: Problem
    h: int
    lg: float
    """lg_h, the confidence term."""
    split_lg: float
    """lg of Algorithm 5, its own (reading 23)."""
    constants: Constants
    levelled: bool = False
    """Whether Step 1 explores all levels up to h, as in Algorithm 6, or level h alone."""

    @property
    def levels(self) -> range:
        """The accuracy levels of Step 1."""
        return range(1 if self.levelled else self.h, self.h + 1)

    def explore(self, level: int) -> int:
        """L_{h,n} = r (S + K) lg_h 2^{(n+h)/2}, the rounds of Step 1 (reading 26)."""
        S, K, r = self.problem.letters
        times = self.h - self.constants.taper * (self.h - level)
        return doubled(r * (S + K) * self.lg, times)

    def threshold(self, level: int) -> float:
        """sqrt(lg_h / 2^n): a gap of this size shows that a cluster is mixed."""
        return math.sqrt(self.lg) * math.exp2(-level / 2)

    def split_rounds(self, level: int) -> int:
        """L' = S lg / epsilon'^2 at epsilon' = 2^(-n/2) / (4r); as printed, n is h."""
        return doubled(self.problem.contexts * self.split_lg * float(self._finer()), level)

    def split_repeats(self, level: int) -> int:
        """2^n', the least power of two (but at least 2^n) not below 1/epsilon'^2 (reading 23)."""
        return 1 << level + max(0, math.ceil(self._finer()) - 1).bit_length()

    def split_threshold(self, level: int) -> float:
        """sqrt(lg) epsilon': sorted means this far apart are in different parts."""
        return math.sqrt(self.split_lg / float(self._finer())) * math.exp2(-level / 2)

    def _finer(self) -> Fraction:
        """(4r)^2: how much finer Algorithm 5 measures than the level that showed the gap."""
        return (Fraction(self.constants.finer) * self.problem.groups) ** 2


def equal_groups_phase(problem: Problem, h: int, constants: Constants = PAPER) -> Phase:
    """Return the lengths of Algorithm 4's phase h: lg_h = 64 log(rSK/delta_h).

    >>> equal_groups_phase(Problem(30, 20, 3), 1).explore(1)
    343324
    """
    S, K, r = problem.letters
    lg = constants.phase * (math.log(r * S * K) + _log_inverse_delta(problem, h))
    return Phase(problem, h, lg, _split_lg(problem, h, constants), constants)


def any_groups_phase(problem: Problem, h: int, constants: Constants = PAPER) -> Phase:
    """Return the lengths of Algorithm 6's phase h: lg_h = 128 log(rSKN_h/delta_h), N_h = h."""
    S, K, r = problem.letters
    lg = constants.levels * (math.log(r * S * K * h) + _log_inverse_delta(problem, h))
    return Phase(problem, h, lg, _split_lg(problem, h, constants), constants, levelled=True)


def _log_inverse_delta(problem: Problem, h: int) -> float:
    """log(1/delta_h), delta_h = epsilon_h^2 / (r^3 SK) and epsilon_h^2 = 2^-h."""
    S, K, r = problem.letters
    return math.log(r**3 * S * K) + h * math.log(2)


def _split_lg(problem: Problem, h: int, constants: Constants) -> float:
    """64 log(S/delta'), delta' = delta_h / r."""
    S, _, r = problem.letters
    return constants.split * (math.log(S * r) + _log_inverse_delta(problem, h))


# --- Any context frequencies online -----------------------------------------------------------


def estimate_rounds(contexts: int, horizon: int, constants: Constants = PAPER) -> int:
    """Return J, the rounds that estimate frequencies online: at most the horizon (reading 31)."""
    area = contexts * horizon
    J = math.ceil(constants.online * math.sqrt(area) * math.log(2 * area))
    return max(1, min(horizon, J))


def first_horizon(contexts: int, constants: Constants = PAPER) -> int:
    """Return the first power of two whose J takes at most half of it (reading 31)."""
    T = 1
    while 2 * estimate_rounds(contexts, T, constants) > T:
        T *= 2
    return T


# --- Low rank ---------------------------------------------------------------------------------


def cover(problem: Problem, bound: float, alpha: float) -> int:
    """Return R = min(S, ceil(2B/alpha)^r), the cells of the cover of low rank (reading 34)."""
    S, _, r = problem.letters
    if 2 * bound / alpha >= S:
        return S
    intervals = max(1, round_up(2 * bound / alpha))
    return S if intervals > 1 and r > S.bit_length() else int(min(S, intervals**r))


def cover_width(problem: Problem, horizon: int) -> float:
    """Return alpha = ((S + K)/T)^p, p = 1/(3r + 2): the cells' width for regret (reading 34)."""
    S, K, r = problem.letters
    return math.pow((S + K) / horizon, 1 / (3 * r + 2))


def last_phase(alpha: float) -> int:
    """Return H, after which contexts of one cell would be split (reading 34)."""
    return max(1, math.floor(2 * math.log2(1 / alpha) + FORGIVEN))
