"""What `lumpable budget --horizon` prints: rates, bounds, where each wins, and what was measured.

Computes nothing but the choice of words.
"""

from __future__ import annotations

import click
import msgspec
from click.core import ParameterSource

from lumpable.base.words import short
from lumpable.cli import regret_measured
from lumpable.cli.regret_measured import Measured
from lumpable.cli.show import console, grid, table
from lumpable.plans.regret_costs import RegretBudget, RegretMethod

ORDER = (
    "an order of growth: constants and logarithms are left out, so it promises nothing by itself"
)
BOUND = (
    "expected regret is at most this, under the method's assumptions; one that is not below the "
    "horizon is vacuous, since no regret is larger"
)
EXPERTS = "a weight for each of r^S K^r experts: a yardstick, no program for usual sizes"
HIDDEN = "one good arm for each group, better by u sqrt(r (S+K) / T) than one for all"
TOLD = "methods that take a horizon were told it"
ALONE = "the rate of learning for each context on its own"
STANDARD = "lumpable.standard.online"


def refuse_accuracy(ctx: click.Context) -> None:
    """Refuse options that have no effect beside --horizon."""
    for name in ("epsilon", "delta"):
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} has no effect with --horizon; leave one of them out")


def show_regret(found: RegretBudget, *, as_json: bool) -> None:
    """Print a budget for regret, with what was measured at the nearest size and horizon."""
    rows = regret_measured.measured_near(found.problem, found.horizon)
    if as_json:
        both = msgspec.to_builtins(found) | {"measured": msgspec.to_builtins(rows)}
        click.echo(msgspec.json.encode(both))
    else:
        print_regret(found, rows)


def print_regret(found: RegretBudget, rows: tuple[Measured, ...]) -> None:
    """Print what each method promises, where it wins, and what it really lost."""
    S, K, r = found.problem.letters
    out = console()
    out.print(f"{S} contexts, {K} arms, {r} groups, {short(found.horizon)} rounds\n")
    rates = {m.formula: m for m in found.methods}
    out.print(
        table(
            "Rates, without constants and logarithms",
            ("rate", "here", "below sqrt(S K T)"),
            [(formula, short(m.rate), where(m)) for formula, m in rates.items()],
        )
    )
    out.print(grid([(formula, whose(found, formula)) for formula in rates]))
    out.print()
    out.print(
        table(
            "Bounds with all constants",
            ("method", "regret, at most", "below T from"),
            [(m.title, bound(m), speaks(m)) for m in found.methods if m.bound is not None],
        )
    )
    for words in (*crossings(found), unnamed(found), best(found)):
        out.print(words)
    out.print(
        f"Every method loses at least {short(found.lower_bound)} in some world of this size "
        "(worlds.lower_bound).\n"
    )
    _print_measured(found, rows)
    meanings = [("rate", ORDER), ("bound", BOUND), ("sqrt(S K T)", ALONE), ("EXP4", EXPERTS)]
    meanings += [("hidden, u", HIDDEN), ("measured", TOLD)] if rows else []
    out.print(grid(meanings))


def whose(found: RegretBudget, formula: str) -> str:
    """Name the methods with a rate, and the logarithms that theorems name for it."""
    having = [m for m in found.methods if m.formula == formula]
    return ", ".join(m.title + _remark(m) for m in having)


def _remark(m: RegretMethod) -> str:
    if m.conjectured:
        return " (without a proof)"
    said = "; ".join(filter(None, (m.logs and f"times {m.logs}", m.remark)))
    return f" ({said})" if said else ""


def where(m: RegretMethod) -> str:
    """Say at which sizes (S x K, scaled together) or horizons a rate is below sqrt(SKT)."""
    if m.rate_wins_until is not None:
        return f"up to T = {short(m.rate_wins_until)}"
    if m.rate_turns_at is None:
        return "always" if m.rate_wins else "never"
    S, K = map(short, m.rate_turns_at)
    return f"down to {S} x {K}" if m.rate_wins else f"from {S} x {K} on"


def bound(m: RegretMethod) -> str:
    """Write a bound; say that it is vacuous."""
    return "-" if m.bound is None else f"{short(m.bound)}{' (vacuous)' if m.vacuous else ''}"


def speaks(m: RegretMethod) -> str:
    """Say from which horizon on a bound is below it."""
    return "-" if m.speaks_from is None else f"{short(m.speaks_from)} rounds"


def crossings(found: RegretBudget) -> list[str]:
    """Say for each plan with a bound at which sizes it is below that of EXP3 on each context."""
    lines = []
    for m in found.methods:
        if not m.name or m.bound is None:
            continue
        turn = "" if m.bound_turns_at is None else " x ".join(map(short, m.bound_turns_at))
        if m.bound_wins:
            words = f"is below that of EXP3 per context{turn and f', down to S x K = {turn}'}"
        elif turn:
            words = f"is below that of EXP3 per context from S x K = {turn} on"
        else:
            words = "is not below that of EXP3 per context at any size that was looked at"
        comma = "," if "," in m.title else ""
        lines.append(f"The bound of {m.title}{comma} {words}.")
    return lines


def unnamed(found: RegretBudget) -> str:
    """Say for which plans no bound is known, only a rate."""
    without = [m.title for m in found.methods if m.bound is None and m.name]
    if not without:
        return "Every plan of the package has a bound."
    return f"No constant is known for {', '.join(without)}: rates only."


def best(found: RegretBudget) -> str:
    """Say which plan has the smallest rate and which method the smallest bound."""
    plans = [m for m in found.methods if m.name and not m.conjectured]
    least = min(m.rate for m in plans)
    names = ", ".join(m.title for m in plans if m.rate == least)
    words = f"The smallest rate of a plan here: {names}."
    sure = [m for m in found.methods if m.bound is not None and not m.oracle]
    if not sure:
        return words
    first = min(sure, key=lambda m: m.bound or 0.0)
    return f"{words} The smallest bound without knowing the groups: {first.title}."


def _print_measured(found: RegretBudget, rows: tuple[Measured, ...]) -> None:
    out = console()
    if not rows:
        return
    first = rows[0]
    if (*first.size, first.horizon) != (*found.problem.letters, found.horizon):
        sizes = ", ".join(f"({S}, {K}, {r})" for S, K, r in regret_measured.SIZES)
        horizons = ", ".join(short(T) for T in regret_measured.HORIZONS)
        out.print(
            f"Not measured at your size and horizon. The nearest that were: (S, K, r) = "
            f"{first.size} and {short(first.horizon)} rounds; figures there say little about yours."
            f" (Measured: {sizes}, each for {horizons} rounds.)\n"
        )
    titles = {m.name: m.title for m in found.methods if m.name}
    lost = {(row.name, row.world): short(row.mean) for row in rows}
    out.print(
        table(
            f"Measured at {first.size}, {short(first.horizon)} rounds: mean regret in "
            f"{len(first.regret)} worlds of each kind",
            ("method", *regret_measured.WORLDS),
            [
                (
                    title,
                    *(lost.get((name, kind), "not measured") for kind in regret_measured.WORLDS),
                )
                for name, title in titles.items()
            ],
        )
    )
    if words := same_as_standard(titles, rows):
        out.print(f"{words}\n")


def same_as_standard(titles: dict[str, str], rows: tuple[Measured, ...]) -> str:
    """Name the plans that chose to be the standard algorithm: run by run, they lost the same."""
    by_world = {(row.name, row.world): row.regret for row in rows}
    worlds = {world for _, world in by_world}
    same = [
        title
        for name, title in titles.items()
        if name != STANDARD
        and all(by_world.get((name, w), ()) == by_world.get((STANDARD, w)) for w in worlds)
    ]
    if not same:
        return ""
    return f"Chose the standard algorithm here, and lost just what it lost: {', '.join(same)}."
