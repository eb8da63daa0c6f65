"""Which method to choose: what each costs and promises, and where the other one would be cheaper.

Arithmetic on the formulas of `bounds`; runs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from lumpable import bounds, checks
from lumpable.problem import Problem


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
        return bounds.any_contexts_promise(p, e, delta)

    def paper_equal(p: Problem) -> int:
        return bounds.any_contexts_rounds(
            p, _epsilon_for(lambda e: paper_promise(p, e), epsilon), delta
        )

    naive_epsilon = _epsilon_for(bounds.naive_promise, epsilon)
    one_epsilon = _epsilon_for(lambda e: bounds.near_uniform_promise(problem, e, delta), epsilon)
    any_epsilon = _epsilon_for(lambda e: paper_promise(problem, e), epsilon)
    methods = (
        Method(
            "near_uniform",
            bounds.near_uniform_rounds(problem, epsilon, delta),
            bounds.near_uniform_printed(problem, epsilon, delta),
            bounds.near_uniform_promise(problem, epsilon, delta),
            one_epsilon,
            bounds.near_uniform_rounds(problem, one_epsilon, delta),
        ),
        Method(
            "any_contexts",
            bounds.any_contexts_rounds(problem, epsilon, delta),
            bounds.any_contexts_printed(problem, epsilon, delta),
            bounds.any_contexts_promise(problem, epsilon, delta),
            any_epsilon,
            bounds.any_contexts_rounds(problem, any_epsilon, delta),
        ),
        Method(
            "naive",
            bounds.naive_rounds(problem, epsilon, delta),
            epsilon,
            bounds.naive_promise(epsilon),
            naive_epsilon,
            bounds.naive_rounds(problem, naive_epsilon, delta),
        ),
        Method(
            "elimination",
            bounds.elimination_rounds(problem, epsilon, delta),
            None,
            epsilon,
            epsilon,
            bounds.elimination_rounds(problem, epsilon, delta),
        ),
    )
    cheaper, other_from = _choice(
        problem,
        lambda p: bounds.any_contexts_rounds(p, epsilon, delta),
        lambda p: bounds.naive_rounds(p, epsilon, delta),
    )
    equal_cheaper, equal_other_from = _choice(
        problem, paper_equal, lambda p: bounds.naive_rounds(p, naive_epsilon, delta)
    )
    bound = bounds.lower_bound(problem, epsilon)
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
