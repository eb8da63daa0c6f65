"""Which method to choose for low regret: what each promises, and where another one is better.

Arithmetic on the rates and bounds of the methods (`About.rate`); runs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lumpable.base import checks
from lumpable.base.errors import BadArgument
from lumpable.base.words import short
from lumpable.plans import bounds, compared_rates, methods, regret_bounds
from lumpable.plans.bounds import Rate
from lumpable.plans.costs import LARGEST, turning_point
from lumpable.plans.problem import Problem

FARTHEST = 1e60
"""Horizons beyond this are not looked at."""


@dataclass(frozen=True, slots=True)
class RegretMethod:
    """One row of a budget for regret: what a method promises, and where that begins to matter."""

    name: str
    """Its public path; empty for what is no plan of its own, or a method of others."""
    title: str
    formula: str
    logs: str
    """The logarithms that the rate leaves out, where a theorem names them."""
    source: str
    rate: float
    """Without constants and logarithms."""
    bound: float | None
    """With constants and logarithms; None where no constant is named."""
    vacuous: bool
    """Whether the bound is no less than the horizon: no regret is larger."""
    speaks_from: float | None
    """The horizon from which on the bound is below it; None without a bound."""
    rate_wins: bool
    """Whether its rate is below sqrt(SKT), that of each context on its own."""
    rate_turns_at: tuple[int, int] | None
    """(S, K) at which that turns, both scaled together: up if it does not win here, else down."""
    rate_wins_until: float | None
    """The horizon at which it ceases to win at this size; None: at none, or it never does."""
    bound_wins: bool | None
    """Whether its bound is below 2 sqrt(SKT ln K), that of EXP3 on each context; None: no bound."""
    bound_turns_at: tuple[int, int] | None
    oracle: bool = False
    """Whether it knows the groups."""
    conjectured: bool = False
    """Whether the rate is the paper's for a known r, and nobody has proved it without."""
    remark: str = ""
    """What to know of the rate before it is believed."""


AS_PRINTED = "as printed; see errata"
REMARKS = {
    "lumpable.regret.any_groups": AS_PRINTED,
    "lumpable.reductions.any_contexts_online": AS_PRINTED,
    "lumpable.reductions.never_worse": AS_PRINTED,
    "lumpable.reductions.low_rank_online": "not proved; see errata",
}
"""Plans whose rate is the paper's, while a step of its proof fails."""


@dataclass(frozen=True, slots=True)
class RegretBudget:
    """What each method promises about regret for a problem and a horizon."""

    problem: Problem
    horizon: int
    lower_bound: float
    """What every method loses in some world (`regret_bounds.regret_lower_bound`)."""
    methods: tuple[RegretMethod, ...]
    """Plans of the package first, then theorems about forms of them (`regret_bounds.FORMS`), then
    what the paper compares itself with."""


def regret_budget(problem: Problem, horizon: int | float) -> RegretBudget:
    """Compare what methods promise about regret in `horizon` rounds; nothing is run.

    >>> found = regret_budget(Problem(1000, 1000, 5), horizon=1e12)
    >>> row = next(row for row in found.methods if row.title == "Algorithm 6")
    >>> row.formula, row.rate_wins, row.rate_turns_at, row.bound
    ('sqrt(r^3 (S+K) T)', True, (250, 250), None)
    """
    T = checks.count("horizon", horizon, 1, checks.MOST_ROUNDS)
    for name, size in (("contexts", problem.contexts), ("arms", problem.arms)):
        if size > LARGEST:
            got = f"a number of {size.bit_length()} bits"
            raise BadArgument(name, f"at most {short(LARGEST)}", got)
    ours = [
        _row(
            problem,
            T,
            make.about.title,
            make.about.rate,
            name=make.about.name,
            conjectured=make.about.guesses and make.about.rate is bounds.LUMPABLE,
            remark=REMARKS.get(make.about.name, ""),
        )
        for make in methods.REGRET
        if make.about.rate is not None
    ]
    forms = [_row(problem, T, title, rate, remark=run) for title, rate, run in regret_bounds.FORMS]
    others = [
        _row(
            problem,
            T,
            each.title,
            each.rate,
            oracle=each.rate is compared_rates.KNOWN_GROUPS,
            remark=each.remark,
        )
        for each in compared_rates.COMPARED
    ]
    lower = regret_bounds.regret_lower_bound(problem, T)
    return RegretBudget(problem, T, lower, (*ours, *forms, *others))


def _row(
    problem: Problem,
    T: int,
    title: str,
    rate: Rate,
    *,
    name: str = "",
    oracle: bool = False,
    conjectured: bool = False,
    remark: str = "",
) -> RegretMethod:
    bound = rate.bound

    def rate_loses(size: Problem) -> bool:
        return bounds.standard_rate(size, T) <= rate.of(size, T)

    def bound_loses(size: Problem) -> bool:
        return bound is not None and compared_rates.per_context_bound(size, T) <= bound(size, T)

    rate_lost, rate_turn = turning_point(problem, rate_loses)
    bound_lost, bound_turn = turning_point(problem, bound_loses)
    value = None if bound is None else bound(problem, T)
    return RegretMethod(
        name=name,
        title=title,
        formula=rate.formula,
        logs=rate.logs,
        source=rate.source,
        rate=rate.of(problem, T),
        bound=value,
        vacuous=value is not None and value >= T,
        speaks_from=speaks_from(problem, bound) if bound is not None else None,
        rate_wins=not rate_lost,
        rate_turns_at=rate_turn,
        rate_wins_until=_wins_until(problem, rate),
        bound_wins=not bound_lost if bound is not None else None,
        bound_turns_at=bound_turn if bound is not None else None,
        oracle=oracle,
        conjectured=conjectured,
        remark=remark,
    )


def speaks_from(problem: Problem, bound: Callable[[Problem, float], float]) -> float | None:
    """Return the least horizon, within 1 percent, from which on a bound is below it."""
    return _first(lambda T: bound(problem, T) < T, 1.0)


def _wins_until(problem: Problem, rate: Rate) -> float | None:
    """Return the horizon at which a rate that grows faster than sqrt(SKT) passes it."""

    def wins(T: float) -> bool:
        return rate.of(problem, T) < (1 - 1e-9) * bounds.standard_rate(problem, T)

    return _first(lambda T: not wins(T), 1.0) if wins(1.0) else None


def _first(holds: Callable[[float], bool], start: float) -> float | None:
    """Return the least number from `start` on that holds, within 1 percent; it then keeps so."""
    if holds(start):
        return start
    near, far = start, 2 * start
    while not holds(far):
        if far > FARTHEST:
            return None
        near, far = far, 2 * far
    while far > 1.01 * near:
        middle = (near * far) ** 0.5
        near, far = (near, middle) if holds(middle) else (middle, far)
    return far
