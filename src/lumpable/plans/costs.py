"""Which method to choose: what each costs and promises, and where the other one is cheaper.

Arithmetic on the formulas of `bounds`; runs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from lumpable.base import checks
from lumpable.base.errors import BadArgument
from lumpable.base.words import short
from lumpable.plans import bounds, pac, standard
from lumpable.plans.bounds import Promise
from lumpable.plans.problem import Problem


@dataclass(frozen=True, slots=True)
class Method:
    """One row of a budget: what a method costs, what it promises, and its cost at equal promise."""

    name: str
    rounds: int
    printed: float | None
    """The loss bound as printed in the paper; None where it prints none."""
    promise: float
    """The loss bound that its steps give; above 1 it is vacuous."""
    equal_epsilon: float
    """The epsilon at which it promises a loss of the budget's epsilon."""
    equal_rounds: int


@dataclass(frozen=True, slots=True)
class Budget:
    """What each method costs for a problem, what it promises, and which one is cheaper."""

    problem: Problem
    epsilon: float
    delta: float
    methods: tuple[Method, ...]
    lower_bound: float
    """Theorem 3 without its constant factor."""
    cheaper: str
    """`any_contexts` or `naive`, by worst-case rounds; naive if they are equal."""
    other_from: tuple[int, int] | None
    """(S, K) at which the other one is cheaper, if both are scaled together; None: nowhere."""
    equal_cheaper: str
    """The same choice when both promise a loss of epsilon."""
    equal_other_from: tuple[int, int] | None


LARGEST = 10**18
"""With more contexts or arms than this, the formulas would overflow."""

METHODS = {
    about.method: about
    for about in (
        pac.near_uniform.about,
        pac.any_contexts.about,
        pac.candidates.about,
        standard.naive.about,
        standard.elimination.about,
    )
}
"""The methods that a budget compares, by name."""


def budget(problem: Problem, epsilon: float, delta: float) -> Budget:
    """Compare all methods at the same epsilon and at the same promise, with printed constants.

    >>> budget(Problem(1000, 1000, 5), epsilon=0.1, delta=0.05).cheaper
    'any_contexts'
    >>> budget(Problem(100, 100, 5), epsilon=0.1, delta=0.05).other_from
    (682, 682)
    """
    epsilon, delta = checks.accuracy(epsilon, delta)
    for name, size in (("contexts", problem.contexts), ("arms", problem.arms)):
        if size > LARGEST:
            got = f"a number of {size.bit_length()} bits"
            raise BadArgument(name, f"at most {short(LARGEST)}", got)
    paper, naive = bounds.ANY_CONTEXTS, bounds.NAIVE
    cheaper, other_from = _choice(
        problem,
        lambda size: paper.rounds(size, epsilon, delta),
        lambda size: naive.rounds(size, epsilon, delta),
    )
    equal_cheaper, equal_other_from = _choice(
        problem,
        lambda size: _equal_rounds(paper, size, epsilon, delta),
        lambda size: _equal_rounds(naive, size, epsilon, delta),
    )
    return Budget(
        problem=problem,
        epsilon=epsilon,
        delta=delta,
        methods=tuple(
            _costs(name, about.promise, problem, epsilon, delta)
            for name, about in METHODS.items()
            if about.promise is not None
        ),
        lower_bound=bounds.lower_bound(problem, epsilon),
        cheaper=cheaper,
        other_from=other_from,
        equal_cheaper=equal_cheaper,
        equal_other_from=equal_other_from,
    )


def _costs(name: str, promise: Promise, *at: *tuple[Problem, float, float]) -> Method:
    """Return what a method costs at this epsilon, and at this promise."""
    return Method(
        name=name,
        rounds=promise.rounds(*at),
        printed=promise.printed(*at),
        promise=promise.loss(*at),
        equal_epsilon=_equal_epsilon(promise, *at),
        equal_rounds=_equal_rounds(promise, *at),
    )


def _equal_epsilon(promise: Promise, problem: Problem, loss: float, delta: float) -> float:
    """Return the largest epsilon in (0, 1/2] at which a method promises at most this loss."""
    if promise.loss(problem, 0.5, delta) <= loss:
        return 0.5
    low, high, steps = 0.0, 0.5, 0
    while steps < 60 or low < (1 - 1e-6) * high:  # a tiny loss takes more than 60
        middle = (low + high) / 2
        fits = promise.loss(problem, middle, delta) <= loss
        low, high = (middle, high) if fits else (low, middle)
        steps += 1
    return low


def _equal_rounds(promise: Promise, problem: Problem, loss: float, delta: float) -> int:
    """Return the rounds that it takes to promise this loss."""
    return promise.rounds(problem, _equal_epsilon(promise, problem, loss, delta), delta)


Rounds = Callable[[Problem], int]


def _choice(problem: Problem, paper: Rounds, naive: Rounds) -> tuple[str, tuple[int, int] | None]:
    """Return the cheaper method, and the size at which the other one takes over."""
    here, other = turning_point(problem, lambda size: naive(size) <= paper(size))
    return "naive" if here else "any_contexts", other


def turning_point(
    problem: Problem, simple_wins: Callable[[Problem], bool]
) -> tuple[bool, tuple[int, int] | None]:
    """Return whether the method for small sizes wins here, and the (S, K) at which that turns.

    Sizes are scaled together: up if it wins here, else down; None if it never turns.
    """

    def scaled(scale: float) -> Problem:
        S, K, r = problem.letters
        return Problem(max(r, round(S * scale)), max(1, round(K * scale)), r)

    here = simple_wins(scaled(1.0))
    step = 2.0 if here else 0.5
    far = 1.0
    while simple_wins(scaled(far)) == here:
        if not 1e-9 < far < 1e9 or (not here and scaled(far) == scaled(far * step)):
            return here, None
        far *= step
    near = far / step
    while scaled(near) != scaled(far) and abs(near - far) > 1e-12 * near:
        middle = math.sqrt(near * far)
        if simple_wins(scaled(middle)) == here:
            near = middle
        else:
            far = middle
    other = scaled(far)
    return here, (other.contexts, other.arms)
