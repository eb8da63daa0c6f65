"""What the theorems promise and what it costs: rates, worst cases, lower and loss bounds.

Formulas only. They use the same request lengths as the plans (`lengths`), so requests and promises
cannot drift apart. `log` is base 2 where it counts levels and natural elsewhere (reading 1). Bounds
of regret with all their constants are in `regret_bounds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from lumpable.plans import lengths
from lumpable.plans.problem import PAPER, Constants, Problem


@dataclass(frozen=True, slots=True)
class Rate:
    """How regret grows with the horizon, without constants and logarithms."""

    formula: str
    of: Callable[[Problem, float], float]
    """The rate for a problem and a horizon."""
    logs: str = ""
    """The logarithms that are left out, where a theorem names them."""
    source: str = ""
    """Where it is from."""
    bound: Callable[[Problem, float], float] | None = None
    """The bound with its constants and logarithms; None where no constant is named."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What a method promises for a problem, an epsilon and a delta: its loss and its rounds."""

    rounds: Callable[[Problem, float, float], int]
    """The most rounds it takes."""
    printed: Callable[[Problem, float, float], float | None]
    """The loss bound as printed in the paper; None where it prints none."""
    loss: Callable[[Problem, float, float], float]
    """The loss bound that its steps give; above 1 it is vacuous."""
    whole: Callable[[Problem, float, float], int] | None = None
    """The paper's own bound on the rounds."""
    bucketed: bool = False
    """Whether that bound is for each bucket of contexts."""


# --- Rates of regret --------------------------------------------------------------------------


def standard_is_better(problem: Problem) -> bool:
    """Say whether sqrt(SKT) is below sqrt(r^3 (S + K) T), whatever T (reading 33)."""
    S, K, r = problem.letters
    return r**3 * (S + K) > S * K


def regret_rate(problem: Problem, horizon: float) -> float:
    """Return sqrt(r^3 (S + K) T), Theorems 4 and 5 without constants and logarithms."""
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


def never_worse_rate(problem: Problem, horizon: float) -> float:
    """Return the smaller of `regret_rate` and `standard_rate`: the switch (reading 33)."""
    return min(regret_rate(problem, horizon), standard_rate(problem, horizon))


LUMPABLE = Rate("sqrt(r^3 (S+K) T)", regret_rate, source="the paper, Theorems 4 and 5")
LOW_RANK = Rate("(S+K)^p T^(1-p), p = 1/(3r+2)", low_rank_rate, source="the paper, low rank")
STANDARD = Rate("sqrt(S K T)", standard_rate, source="S bandits with K arms each")
NEVER_WORSE = Rate(
    "sqrt(min(r^3 (S+K), S K) T)", never_worse_rate, source="the paper, after Theorem 5"
)


# --- Worst cases ----------------------------------------------------------------------------


def whole(problem: Problem, epsilon: float, delta: float, constants: Constants = PAPER) -> int:
    """Return N of Algorithm 3, the printed bound on Algorithm 1's samples."""
    S, K, r = problem.letters
    levels = (1 + 2 * math.log2(1 / epsilon)) ** 2
    x = r * S * K / delta
    return math.ceil(constants.whole * math.log(x) * levels * r * (S + K) / epsilon**2)


def near_uniform_rounds(
    problem: Problem, epsilon: float, delta: float, constants: Constants = PAPER
) -> int:
    """Return the most rounds that Algorithm 1 asks for, with r screenings at each level."""
    requests = lengths.near_uniform_lengths(problem, epsilon, delta, constants).worst_case()
    return sum(rounds * number for rounds, number in requests)


def bucket_rounds(
    bucket: Problem, epsilon: float, delta: float, frequency: float, constants: Constants = PAPER
) -> int:
    """Return the most rounds that a bucket of Algorithm 3 asks for; epsilon is epsilon_l."""
    requests = lengths.near_uniform_lengths(bucket, epsilon, delta, constants).worst_case()
    return sum(
        lengths.stretched(rounds, frequency, constants) * number for rounds, number in requests
    )


def any_contexts_rounds(
    problem: Problem, epsilon: float, delta: float, constants: Constants = PAPER
) -> int:
    """Return Algorithm 3's worst case when one bucket holds all contexts (reading 33)."""
    inside = lengths.bucket_epsilon(epsilon, 1.0)
    J = lengths.arrivals(problem, epsilon, delta, constants)
    return J + bucket_rounds(problem, inside, delta, 1.0, constants)


def near_uniform_expected_rounds(problem: Problem, epsilon: float, delta: float) -> float:
    """Return a bound on E[T], the mean number of rounds of Algorithm 1, printed constants.

    Rounds follow from the answers alone: a screening removes at least the context that it is about,
    so a level takes at most S of them (`most`). More than r at some level need two of one group:
    an estimate that misses by 2 sqrt(log x / 2^n), or one that is missing: probability at most
    p = N (2 S (K + r) x^-2 + r S x^-7) <= 3 N delta^2 if S > 1, x = rSK/delta. Needs
    nu(i) >= 1/(8S).
    """
    S, K, r = problem.letters
    few = near_uniform_rounds(problem, epsilon, delta)
    size = lengths.near_uniform_lengths(problem, epsilon, delta)
    N = size.levels
    tests = sum(size.test(level) for level in range(1, N + 1))
    most = N * size.explore + S * tests + min(K, S * N) * size.settle
    x = r * S * K / delta
    p = min(1.0, N * (2 * S * (K + r) * x**-2 + r * S * x**-7))
    return few + p * (most - few)


def any_contexts_expected_rounds(problem: Problem, epsilon: float, delta: float) -> float:
    """Return a bound on E[T], the mean number of rounds of Algorithm 3, printed constants.

    A bucket of s contexts and frequency u = nu-hat(X_l) > s 2^-l-1 stretches lengths of order
    1/epsilon_l^2 by 4/u, to at most 4 max(4/u, 1/(4 epsilon^2)). Over all kept buckets the 4/u and
    4s/u add up to at most U = 16 S/epsilon each, the s to S; a length is rounded up twice. More
    than r screenings are as rare as in Algorithm 1, unless some kept context comes 25 times less
    often than estimated: probability at most S (delta/S)^4 <= delta. Any frequencies.
    """
    S, K, r = problem.letters
    size = lengths.near_uniform_lengths(problem, epsilon, delta)
    N, J = size.levels, lengths.arrivals(problem, epsilon, delta)
    buckets = min(lengths.last_bucket(problem, epsilon), S)
    U = 16 * S / epsilon
    contexts, whole_arms = U + S / (4 * epsilon**2), K * (U + buckets / (4 * epsilon**2))

    def screening(times: int) -> float:
        """Steps 2 and 3 with so many screenings a level, and what rounding up adds."""
        tests = 128 * size.lg + 16 * N * math.log(S * K / delta)
        return times * (tests * contexts + 2 * N * (U + buckets))

    collecting = N * (4 * r * size.lg * (contexts + whole_arms) + U + buckets)
    rare = min(1.0, delta + 3 * N * delta**2)
    return J + collecting + screening(r) + rare * screening(S)


def naive_rounds(
    problem: Problem, epsilon: float, delta: float, constants: Constants = PAPER
) -> int:
    """Return the rounds of the naive method: Step 3 with all arms."""
    return problem.arms * lengths.settle(problem, epsilon, delta, constants)


def elimination_phases(problem: Problem, epsilon: float, delta: float) -> int:
    """Return the phases after which elimination per context has certified its policy.

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
    """Return how far nu may be above nu-hat, for all sets of contexts and all phases.

    sqrt((S log 2 + log(1/a)) / (2M)) with a = delta / (2 phase (phase + 1)): Hoeffding and a union
    over all 2^S sets; the a add up to delta / 2.
    """
    log_term = contexts * math.log(2) + math.log(2 * phase * (phase + 1) / delta)
    return math.sqrt(log_term / (2 * rounds))


def lower_bound(problem: Problem, epsilon: float) -> float:
    """Return min(r (S + K), SK) / epsilon^2, Theorem 3 without its constant factor."""
    S, K, r = problem.letters
    return min(r * (S + K), S * K) / epsilon**2


# --- Promises -------------------------------------------------------------------------------


def near_uniform_printed(problem: Problem, epsilon: float, delta: float) -> float:
    """Return the loss in Theorem 1's proof: 2 (10 sqrt(log x) + 1) epsilon."""
    return 2 * (10 * _root_log_x(problem, delta) + 1) * epsilon


def near_uniform_promise(problem: Problem, epsilon: float, delta: float) -> float:
    """Return what its steps give: 1.25 C epsilon + epsilon + Step 3's share, C = 8 sqrt(log x)."""
    C = 8 * _root_log_x(problem, delta)
    return (1.25 * C + 1) * epsilon + naive_promise(epsilon)


def any_contexts_printed(problem: Problem, epsilon: float, delta: float) -> float:
    """Return the loss in Theorem 2's proof: C sqrt(L) epsilon."""
    C = 2 * math.sqrt(2) * (10 * _root_log_x(problem, delta) + 1)
    return C * math.sqrt(lengths.last_bucket(problem, epsilon)) * epsilon


def any_contexts_promise(problem: Problem, epsilon: float, delta: float) -> float:
    """Return what its steps give, bucket by bucket.

    Algorithm 1's promise at epsilon_l <= 3.08 epsilon / sqrt(nu(X_l)), weighted with nu(X_l) and
    added up over L buckets, and 1.9 epsilon for the contexts that are given up (paper.md).
    """
    L = lengths.last_bucket(problem, epsilon)
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


NEAR_UNIFORM = Promise(near_uniform_rounds, near_uniform_printed, near_uniform_promise, whole)
ANY_CONTEXTS = Promise(
    any_contexts_rounds, any_contexts_printed, any_contexts_promise, whole, bucketed=True
)
NAIVE = Promise(
    naive_rounds,
    lambda problem, epsilon, delta: epsilon,
    lambda problem, epsilon, delta: naive_promise(epsilon),
)
ELIMINATION = Promise(
    elimination_rounds,
    lambda problem, epsilon, delta: None,
    lambda problem, epsilon, delta: epsilon,
)
