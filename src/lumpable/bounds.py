"""What the theorems promise and what it costs: request lengths, worst cases, loss bounds.

Formulas only. Plans take their request lengths from here, so what is asked and what is promised
cannot drift apart. `log` is base 2 where it counts levels and natural elsewhere (reading 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from lumpable.problem import PAPER, Constants, Problem

FORGIVEN = 1e-9
"""Rounding errors of logarithms and quotients that are forgiven before rounding up (reading 2)."""


def round_up(value: float) -> int:
    """Return the smallest whole number that is not below `value`, forgiving 1e-9."""
    return math.ceil(value - FORGIVEN)


# --- Request lengths ------------------------------------------------------------------------


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
        """sqrt(lg / 2^n): contexts closer than this leave together."""
        return math.sqrt(self.lg / 2.0**level)

    def worst_case(self) -> Iterator[int]:
        """Yield the rounds of each request when r screenings a level are needed (reading 33)."""
        _, K, r = self.problem.letters
        for _level in range(self.levels):
            yield self.explore
        for level in range(1, self.levels + 1):
            for _screening in range(r):
                yield self.test(level)
        for _candidate in range(min(K, r * self.levels)):
            yield self.settle


def lengths(
    problem: Problem, epsilon: float, delta: float, constants: Constants = PAPER
) -> Lengths:
    """Return the request lengths of Algorithm 1.

    >>> lengths(Problem(60, 40, 3), epsilon=0.2, delta=0.05).levels
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


def whole(problem: Problem, epsilon: float, delta: float, constants: Constants = PAPER) -> int:
    """Return N of Algorithm 3, the printed bound on Algorithm 1's samples."""
    S, K, r = problem.letters
    levels = (1 + 2 * math.log2(1 / epsilon)) ** 2
    x = r * S * K / delta
    return math.ceil(constants.whole * math.log(x) * levels * r * (S + K) / epsilon**2)


def bucket_epsilon(epsilon: float, frequency: float) -> float:
    """Return epsilon_l = min(1/2, 2 epsilon / sqrt(nu-hat(X_l))) (reading 16)."""
    return min(0.5, 2 * epsilon / math.sqrt(frequency))


def stretched(rounds: int, frequency: float, constants: Constants = PAPER) -> int:
    """Return how many rounds give a bucket of this frequency `rounds` of its own (reading 17)."""
    return math.ceil(constants.stretch * rounds / frequency)


# --- Phases of the regret algorithms ----------------------------------------------------------


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
        """2^n', the least power of two that is not below 1/epsilon'^2 (reading 23)."""
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


def standard_is_better(problem: Problem) -> bool:
    """Say whether sqrt(SKT) is below sqrt(r^3 (S + K) T), whatever T (reading 33)."""
    S, K, r = problem.letters
    return r**3 * (S + K) > S * K


def cover(problem: Problem, bound: float, alpha: float) -> int:
    """Return R = min(S, ceil(2B/alpha)^r), the cells of the cover of low rank (reading 34)."""
    S, _, r = problem.letters
    if 2 * bound / alpha >= S:
        return S
    return int(min(S, max(1, round_up(2 * bound / alpha)) ** r))


def cover_width(problem: Problem, horizon: int) -> float:
    """Return alpha = ((S + K)/T)^p, p = 1/(3r + 2): the cells' width for regret (reading 34)."""
    S, K, r = problem.letters
    return math.pow((S + K) / horizon, 1 / (3 * r + 2))


def last_phase(alpha: float) -> int:
    """Return H, after which contexts of one cell would be split (reading 34)."""
    return max(1, math.floor(2 * math.log2(1 / alpha) + FORGIVEN))


def regret_rate(problem: Problem, horizon: float) -> float:
    """Return sqrt(r^3 (S + K) T): Theorems 4 and 5 leave out constants and logarithms."""
    S, K, r = problem.letters
    return math.sqrt(r**3 * (S + K) * horizon)


def standard_rate(problem: Problem, horizon: float) -> float:
    """Return sqrt(SKT), the standard bound without constants and logarithms."""
    return math.sqrt(problem.contexts * problem.arms * horizon)


# --- Worst cases ----------------------------------------------------------------------------


def near_uniform_rounds(
    problem: Problem, epsilon: float, delta: float, constants: Constants = PAPER
) -> int:
    """Return the most rounds that Algorithm 1 asks for, at r screenings a level."""
    return sum(lengths(problem, epsilon, delta, constants).worst_case())


def bucket_rounds(
    bucket: Problem, epsilon: float, delta: float, frequency: float, constants: Constants = PAPER
) -> int:
    """Return the most rounds that a bucket of Algorithm 3 asks for; epsilon is epsilon_l."""
    requests = lengths(bucket, epsilon, delta, constants).worst_case()
    return sum(stretched(rounds, frequency, constants) for rounds in requests)


def any_contexts_rounds(
    problem: Problem, epsilon: float, delta: float, constants: Constants = PAPER
) -> int:
    """Return Algorithm 3's worst case when one bucket holds everybody (reading 33)."""
    inside = bucket_epsilon(epsilon, 1.0)
    J = arrivals(problem, epsilon, delta, constants)
    return J + bucket_rounds(problem, inside, delta, 1.0, constants)


def naive_rounds(
    problem: Problem, epsilon: float, delta: float, constants: Constants = PAPER
) -> int:
    """Return the rounds of the naive method: Step 3 with all arms."""
    return problem.arms * settle(problem, epsilon, delta, constants)


def elimination_phases(problem: Problem, epsilon: float, delta: float) -> int:
    """Return after how many phases elimination per context has certified its policy.

    By then, with probability at least 1 - 2 delta, for any context frequencies and all gaps zero:
    contexts with M nu(i) / K >= 16 log(SK/delta) have M nu(i) / (2K) plays of every arm, their
    widths add up by sum sqrt(nu(i)) <= sqrt(S), and all others weigh 16 SK/M log(SK/delta).
    """
    S, K, _ = problem.letters
    phases = 1
    while True:
        M = S * K * (2**phases - 1)
        log_term = 2 * math.log(2 * S * K / delta) + math.log(M + 1)
        common = 2 * math.sqrt(1.125 * log_term * 2 * S * K / M)
        rare = 16 * S * K * math.log(S * K / delta) / M
        if common + rare + 2 * frequency_error(S, M, phases, delta) <= epsilon:
            return phases
        phases += 1


def elimination_rounds(problem: Problem, epsilon: float, delta: float) -> int:
    """Return the most rounds that elimination per context asks for."""
    phases = elimination_phases(problem, epsilon, delta)
    return problem.contexts * problem.arms * ((1 << phases) - 1)


def frequency_error(contexts: int, rounds: int, phase: int, delta: float) -> float:
    """Return how far nu may be above nu-hat on any set of contexts, in every phase at once.

    sqrt((S log 2 + log(1/a)) / (2M)) with a = delta / (2 phase (phase + 1)): Hoeffding and a union
    over all 2^S sets; the a add up to delta / 2.
    """
    log_term = contexts * math.log(2) + math.log(2 * phase * (phase + 1) / delta)
    return math.sqrt(log_term / (2 * rounds))


def lower_bound(problem: Problem, epsilon: float) -> float:
    """Return min(r (S + K), SK) / epsilon^2: Theorem 3 leaves out a constant factor."""
    S, K, r = problem.letters
    return min(r * (S + K), S * K) / epsilon**2


# --- Promises -------------------------------------------------------------------------------


def near_uniform_printed(problem: Problem, epsilon: float, delta: float) -> float:
    """Return the loss that Theorem 1's proof states: 2 (10 sqrt(log x) + 1) epsilon."""
    return 2 * (10 * _root_log_x(problem, delta) + 1) * epsilon


def near_uniform_promise(problem: Problem, epsilon: float, delta: float) -> float:
    """Return what its steps give: 1.25 C epsilon + epsilon + Step 3's share, C = 8 sqrt(log x)."""
    C = 8 * _root_log_x(problem, delta)
    return (1.25 * C + 1) * epsilon + naive_promise(epsilon)


def any_contexts_printed(problem: Problem, epsilon: float, delta: float) -> float:
    """Return the loss that Theorem 2's proof states: C sqrt(L) epsilon."""
    C = 2 * math.sqrt(2) * (10 * _root_log_x(problem, delta) + 1)
    return C * math.sqrt(last_bucket(problem, epsilon)) * epsilon


def any_contexts_promise(problem: Problem, epsilon: float, delta: float) -> float:
    """Return what its steps give, bucket by bucket.

    Algorithm 1's promise at epsilon_l <= 3.08 epsilon / sqrt(nu(X_l)), weighted with nu(X_l) and
    added up over L buckets, and 1.9 epsilon for the contexts that are given up (docs/paper.md).
    """
    L = last_bucket(problem, epsilon)
    inside = 10 * _root_log_x(problem, delta) + 3.9
    return (3.08 * inside * math.sqrt(L) + 1.9) * epsilon + 38 * L * epsilon**2


def naive_promise(epsilon: float, constants: Constants = PAPER) -> float:
    """Return 2 sqrt(2) epsilon + 4 epsilon^2: the naive method's average loss, for any frequencies.

    With probability at least 1 - 2 delta: contexts with nu(i) >= 4 epsilon^2 / S have at least half
    of their expected plays, so their loss is at most 2 sqrt(2) epsilon / sqrt(S nu(i)), and
    sum sqrt(nu(i)) <= sqrt(S); the others together weigh at most 4 epsilon^2.
    """
    c = constants.policy
    return 4 * math.sqrt(2 / c) * epsilon + 16 / c * epsilon**2


def _root_log_x(problem: Problem, delta: float) -> float:
    S, K, r = problem.letters
    return math.sqrt(math.log(r * S * K / delta))
