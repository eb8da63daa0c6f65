"""What the theorems promise and what it costs: request lengths, worst cases, loss bounds.

Formulas only. Plans take their request lengths from here, so what is asked and what is promised
cannot drift apart. `log` is base 2 where it counts levels and natural elsewhere (reading 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from lumpable.plans.problem import PAPER, Constants, Problem

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

    def worst_case(self) -> Iterator[tuple[int, int]]:
        """Yield rounds and how many requests have them, at r screenings a level (reading 33)."""
        _, K, r = self.problem.letters
        yield self.explore, self.levels
        for level in range(1, self.levels + 1):
            yield self.test(level), r
        yield self.settle, min(K, r * self.levels)


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


# --- Rates of regret --------------------------------------------------------------------------


def standard_is_better(problem: Problem) -> bool:
    """Say whether sqrt(SKT) is below sqrt(r^3 (S + K) T), whatever T (reading 33)."""
    S, K, r = problem.letters
    return r**3 * (S + K) > S * K


def regret_rate(problem: Problem, horizon: float) -> float:
    """Return sqrt(r^3 (S + K) T): Theorems 4 and 5 leave out constants and logarithms."""
    S, K, r = problem.letters
    return math.sqrt(r**3 * (S + K) * horizon)


def low_rank_rate(problem: Problem, horizon: float) -> float:
    """Return (S + K)^p T^(1-p), p = 1/(3r + 2): the rate for low rank, without logarithms."""
    S, K, r = problem.letters
    p = 1 / (3 * r + 2)
    return math.pow(S + K, p) * math.pow(horizon, 1 - p)


def standard_rate(problem: Problem, horizon: float) -> float:
    """Return sqrt(SKT), the standard bound without constants and logarithms."""
    return math.sqrt(problem.contexts * problem.arms * horizon)


# --- Worst cases ----------------------------------------------------------------------------


def near_uniform_rounds(
    problem: Problem, epsilon: float, delta: float, constants: Constants = PAPER
) -> int:
    """Return the most rounds that Algorithm 1 asks for, at r screenings a level."""
    requests = lengths(problem, epsilon, delta, constants).worst_case()
    return sum(rounds * number for rounds, number in requests)


def bucket_rounds(
    bucket: Problem, epsilon: float, delta: float, frequency: float, constants: Constants = PAPER
) -> int:
    """Return the most rounds that a bucket of Algorithm 3 asks for; epsilon is epsilon_l."""
    requests = lengths(bucket, epsilon, delta, constants).worst_case()
    return sum(stretched(rounds, frequency, constants) * number for rounds, number in requests)


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
