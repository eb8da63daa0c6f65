"""What the theorems promise and what it costs: request lengths, worst cases, loss bounds.

Formulas only. Plans take their request lengths from here, so what is asked and what is promised
cannot drift apart. `log` is base 2 where it counts levels and natural elsewhere (reading 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lumpable import checks
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
    """Return what its steps give: 1.25 C epsilon + epsilon + Step 3's share, C = 12 sqrt(log x)."""
    C = 12 * _root_log_x(problem, delta)
    return (1.25 * C + 1) * epsilon + naive_promise(epsilon)


def any_contexts_printed(problem: Problem, epsilon: float, delta: float) -> float:
    """Return the loss that Theorem 2's proof states: C sqrt(L) epsilon."""
    C = 2 * math.sqrt(2) * (10 * _root_log_x(problem, delta) + 1)
    return C * math.sqrt(last_bucket(problem, epsilon)) * epsilon


def any_contexts_promise(problem: Problem, epsilon: float, delta: float) -> float:
    """Return the same with the last bucket at its true weight, 3 epsilon."""
    return any_contexts_printed(problem, epsilon, delta) + 3 * epsilon


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


# --- Which method is cheaper ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Method:
    """One row of a budget: what a method costs, what it promises, and its cost at equal promise."""

    name: str
    rounds: int
    printed: float | None
    """The loss bound as printed in the paper; None where it prints none."""
    promise: float
    """The loss bound that its steps give; above 1 it says nothing."""
    equal_epsilon: float
    """The epsilon at which the promise is the one that was asked for."""
    equal_rounds: int


@dataclass(frozen=True, slots=True)
class Budget:
    """What each method needs for a problem, what it promises then, and which one is cheaper."""

    problem: Problem
    epsilon: float
    delta: float
    methods: tuple[Method, ...]
    lower_bound: float
    """Theorem 3 without its constant factor."""
    cheaper: str
    """`any_contexts` or `naive`, by worst-case request counts; equal counts: naive."""
    other_from: tuple[int, int] | None
    """Where the other one becomes cheaper as S and K grow or shrink together; None: nowhere."""
    equal_cheaper: str
    """The same choice when both promise a loss of epsilon."""
    equal_other_from: tuple[int, int] | None


def budget(problem: Problem, epsilon: float, delta: float) -> Budget:
    """Compare all methods at the same epsilon and at the same promise, with printed constants.

    >>> budget(Problem(1000, 1000, 5), epsilon=0.1, delta=0.05).cheaper
    'any_contexts'
    >>> budget(Problem(100, 100, 5), epsilon=0.1, delta=0.05).other_from
    (682, 682)
    """
    epsilon, delta = checks.accuracy(epsilon, delta)

    def paper_promise(p: Problem, e: float) -> float:
        return any_contexts_promise(p, e, delta)

    def paper_equal(p: Problem) -> int:
        return any_contexts_rounds(p, _epsilon_for(lambda e: paper_promise(p, e), epsilon), delta)

    naive_epsilon = _epsilon_for(naive_promise, epsilon)
    one_epsilon = _epsilon_for(lambda e: near_uniform_promise(problem, e, delta), epsilon)
    any_epsilon = _epsilon_for(lambda e: paper_promise(problem, e), epsilon)
    methods = (
        Method(
            "near_uniform",
            near_uniform_rounds(problem, epsilon, delta),
            near_uniform_printed(problem, epsilon, delta),
            near_uniform_promise(problem, epsilon, delta),
            one_epsilon,
            near_uniform_rounds(problem, one_epsilon, delta),
        ),
        Method(
            "any_contexts",
            any_contexts_rounds(problem, epsilon, delta),
            any_contexts_printed(problem, epsilon, delta),
            any_contexts_promise(problem, epsilon, delta),
            any_epsilon,
            any_contexts_rounds(problem, any_epsilon, delta),
        ),
        Method(
            "naive",
            naive_rounds(problem, epsilon, delta),
            epsilon,
            naive_promise(epsilon),
            naive_epsilon,
            naive_rounds(problem, naive_epsilon, delta),
        ),
        Method(
            "elimination",
            elimination_rounds(problem, epsilon, delta),
            None,
            epsilon,
            epsilon,
            elimination_rounds(problem, epsilon, delta),
        ),
    )
    cheaper, other_from = _choice(
        problem,
        lambda p: any_contexts_rounds(p, epsilon, delta),
        lambda p: naive_rounds(p, epsilon, delta),
    )
    equal_cheaper, equal_other_from = _choice(
        problem, paper_equal, lambda p: naive_rounds(p, naive_epsilon, delta)
    )
    bound = lower_bound(problem, epsilon)
    return Budget(
        problem,
        epsilon,
        delta,
        methods,
        bound,
        cheaper,
        other_from,
        equal_cheaper,
        equal_other_from,
    )


Rounds = Callable[[Problem], int]


def _choice(problem: Problem, paper: Rounds, naive: Rounds) -> tuple[str, tuple[int, int] | None]:
    """Return the cheaper method and where, as S and K scale together, the other one takes over."""

    def scaled(scale: float) -> Problem:
        S, K, r = problem.letters
        return Problem(max(r, round(S * scale)), max(1, round(K * scale)), r)

    def naive_wins(scale: float) -> bool:
        size = scaled(scale)
        return naive(size) <= paper(size)

    here = naive_wins(1.0)
    step = 2.0 if here else 0.5
    far = 1.0
    while naive_wins(far) == here:
        if not 1e-9 < far < 1e9 or (not here and scaled(far) == scaled(far * step)):
            return ("naive" if here else "any_contexts"), None
        far *= step
    near = far / step
    while scaled(near) != scaled(far) and abs(near - far) > 1e-12 * near:
        middle = math.sqrt(near * far)
        if naive_wins(middle) == here:
            near = middle
        else:
            far = middle
    other = scaled(far)
    return ("naive" if here else "any_contexts"), (other.contexts, other.arms)


def _epsilon_for(promise: Callable[[float], float], loss: float) -> float:
    """Return the largest epsilon in (0, 1/2] whose promise is at most `loss`."""
    if promise(0.5) <= loss:
        return 0.5
    low, high = 0.0, 0.5
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if promise(middle) <= loss:
            low = middle
        else:
            high = middle
    return low
