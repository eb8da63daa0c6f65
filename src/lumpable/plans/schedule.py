"""How long the regret algorithms ask: the lengths and thresholds of their phases.

Formulas only; plans take their requests from here. `log` is natural in confidence terms, and powers
of two are kept as whole numbers (readings 1 and 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from lumpable.plans.bounds import FORGIVEN, round_up
from lumpable.plans.problem import PAPER, Constants, Problem


def doubled(value: float, times: float) -> int:
    """Return value x 2^times rounded up, exact however many times it is doubled (reading 2)."""
    whole_times = math.floor(times)
    numerator, denominator = (value * math.exp2(times - whole_times)).as_integer_ratio()
    return -((-numerator << max(0, whole_times)) // (denominator << max(0, -whole_times)))


@dataclass(frozen=True, slots=True)
class Phase:
    """Everything that Algorithms 4 and 6 compute at the head of phase h, and Algorithm 5 in it."""

    problem: Problem
    h: int
    lg: float
    """lg_h, the confidence term."""
    split_lg: float
    """lg of Algorithm 5, its own (reading 23)."""
    constants: Constants

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
        """(4r)^2: how much finer Algorithm 5 looks than the level that showed the gap."""
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
    return Phase(problem, h, lg, _split_lg(problem, h, constants), constants)


def _log_inverse_delta(problem: Problem, h: int) -> float:
    """log(1/delta_h), delta_h = epsilon_h^2 / (r^3 SK) and epsilon_h^2 = 2^-h."""
    S, K, r = problem.letters
    return math.log(r**3 * S * K) + h * math.log(2)


def _split_lg(problem: Problem, h: int, constants: Constants) -> float:
    """64 log(S/delta'), delta' = delta_h / r."""
    S, _, r = problem.letters
    return constants.split * (math.log(S * r) + _log_inverse_delta(problem, h))


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
