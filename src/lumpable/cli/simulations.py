"""The commands `lumpable simulate pac | regret`: options in, a run in a world, its result out."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import msgspec

from lumpable import worlds
from lumpable.cli import outputs, show
from lumpable.cli.budgets import advice
from lumpable.cli.options import (
    accuracy_options,
    hard_option,
    horizon_option,
    matrix_option,
    one_of,
    output_options,
    size_options,
    world_options,
)
from lumpable.cli.outcomes import print_policy, print_regret
from lumpable.cli.watching import watch_run
from lumpable.plans import lengths, methods
from lumpable.plans.about import About
from lumpable.plans.costs import budget
from lumpable.plans.making import Algorithm
from lumpable.plans.problem import Problem
from lumpable.runs.outcome import comparable, policy_outcome, regret_outcome
from lumpable.worlds.world import World

POLICY = {make.about.option: make for make in methods.POLICY}
REGRET = {make.about.option: make for make in methods.REGRET}
RANK = "The rank of low-rank is --rank, or else --groups."
METHODS = "The method that learns; listed below."
UNUSED = {
    "matrix": ("contexts", "arms", "sizes", "means", "rank", "hard"),
    "hard": ("sizes", "frequency", "noise", "sd", "means", "rank"),
    "rank": ("sizes", "means"),
}
"""Options that have no effect beside another one; to give both is an error."""


def _list(makers: dict[str, Algorithm[...]]) -> str:
    """List the methods with a summary of each, for the end of a help page."""
    lines = ["\b", "Methods:"]
    for option, make in makers.items():
        about = make.about
        title = "" if about.title.startswith(option) else f"{about.title}: "
        lines += textwrap.wrap(
            title + about.summary,
            width=78,
            initial_indent=f"  {option:<16}",
            subsequent_indent=18 * " ",
        )
    return "\n".join([*lines, "", RANK])


@click.group()
def simulate() -> None:
    """Let a method learn in a made-up world.

    The result has exactly the distribution of playing round by round.
    """


@simulate.command("pac", epilog=_list(POLICY))
@size_options(1000, 1000, 5)
@accuracy_options
@one_of("--algorithm", *POLICY, help=METHODS, metavar="NAME")
@world_options
@hard_option
@matrix_option
@output_options("matrix.png")
@click.pass_context
def simulate_pac(
    ctx: click.Context, /, as_json: bool, png: Path | None, html: Path | None, **given: Any
) -> None:
    """Find a near-optimal policy: an arm for every context, nearly the best one.

    Hides groups in a world, lets a method find a policy, and says how good the policy is, what it
    cost and what was promised. With --matrix, contexts and arms are those of the file, and --groups
    is what the learner is told (by default, the number of different rows).

    \b
    Examples:
      lumpable simulate pac --contexts 1500 --arms 1500 --epsilon 0.02
      lumpable simulate pac --frequency zipf --algorithm cheaper --json
      lumpable simulate pac --matrix rewards.csv --groups 3 --html found.html
    """
    from lumpable.reports import charts

    make = POLICY[given["algorithm"]]
    pictures = _pictures(given["matrix"], png and png / "matrix.png", html)
    world, problem = _setting(ctx, given, make.about)
    epsilon, delta, seed = given["epsilon"], given["delta"], given["seed"]
    found = budget(_grouped_problem(make.about, problem, epsilon), epsilon, delta)
    run = watch_run(make(problem, epsilon=epsilon, delta=delta), world, seed=seed + 1)
    asked = _parameters(given, problem)
    result = policy_outcome(run, found, seed=seed, given=asked)
    if as_json:
        click.echo(msgspec.json.encode(result))
    else:
        print_policy(result, run)
        if not make.about.low_rank:
            show.console().print("\n" + advice(found))
    _draw(lambda: charts.sorted_matrix(run), pictures)


@simulate.command("regret", epilog=_list(REGRET))
@size_options(200, 100, 3)
@horizon_option
@one_of("--algorithm", *REGRET, help=METHODS, metavar="NAME")
@click.option(
    "--mended",
    is_flag=True,
    help="The repaired Algorithm 6: split no finer than the level that showed a gap.",
)
@world_options
@matrix_option
@output_options("run.png")
@click.pass_context
def simulate_regret(
    ctx: click.Context, /, as_json: bool, png: Path | None, html: Path | None, **given: Any
) -> None:
    """Learn while playing, and lose little reward on the way.

    Hides groups in a world, lets a method play up to the horizon, and says how much reward
    learning cost, when the groups were told apart, and what the paper's bound is.

    \b
    Examples:
      lumpable simulate regret --horizon 1e14 --html run.html
      lumpable simulate regret --algorithm any-groups --sizes giant --mended
      lumpable simulate regret --algorithm unknown-groups --json
    """
    make = REGRET[given["algorithm"]]
    if given["mended"] and not make.about.mendable:
        mendable = [option for option, other in REGRET.items() if other.about.mendable]
        raise click.UsageError(f"--mended goes with {', '.join(mendable)} only", ctx)
    pictures = _pictures(given["matrix"], png and png / "run.png", html)
    world, problem = _setting(ctx, given, make.about)
    taken = [name for name in ("horizon", "mended") if name in make.about.takes]
    plan = make(problem, **{name: given[name] for name in taken})
    run = watch_run(plan, world, seed=given["seed"] + 1, horizon=given["horizon"])
    asked = _parameters(given, problem)
    result = regret_outcome(run, problem, seed=given["seed"], given=asked)
    if as_json:
        click.echo(msgspec.json.encode(result))
    else:
        print_regret(result, run, comparable(run, problem))
    _draw(run.plot, pictures)


def _grouped_problem(about: About, problem: Problem, epsilon: float) -> Problem:
    """Return the problem with groups that is solved: for low rank, the cells of the cover."""
    if not about.low_rank:
        return problem
    return Problem(problem.contexts, problem.arms, lengths.cover(problem, 1.0, epsilon))


def make_world(given: Mapping[str, Any]) -> World:
    """Make the world that the options ask for."""
    noise = {name: given[name] for name in ("frequency", "noise", "sd", "seed")}
    S, K, r = given["contexts"], given["arms"], given["groups"]
    if given["matrix"] is not None:
        return worlds.read(given["matrix"], **noise)
    if given["rank"] is not None:
        return worlds.low_rank(S, K, given["rank"], **noise)
    if given.get("hard") is not None:
        return worlds.hard(given["hard"], S, K, r, epsilon=given["epsilon"], seed=given["seed"])
    return worlds.lumpable(S, K, r, sizes=given["sizes"], means=given["means"], **noise)


def _setting(ctx: click.Context, given: Mapping[str, Any], about: About) -> tuple[World, Problem]:
    """Return the world, and the problem as the learner is told it."""
    _refuse_unused(ctx)
    world = make_world(given)
    groups = given["groups"]
    if about.guesses:
        groups = 1  # the paper's first guess
    elif _by_default(ctx, "groups"):
        if given["matrix"] is not None:
            groups = world.groups
        elif given["rank"] is not None and about.low_rank:
            groups = given["rank"]
    return world, Problem(world.contexts, world.arms, groups)


def _parameters(given: dict[str, Any], problem: Problem) -> dict[str, Any]:
    """Return the parameters that had an effect, with the sizes of the problem."""
    asked = dict(given)
    asked["matrix"] = None if given["matrix"] is None else str(given["matrix"])
    for kind, unused in UNUSED.items():
        if asked.get(kind) is not None:
            asked |= dict.fromkeys(set(unused) & set(given))
    return asked | asdict(problem)


def _refuse_unused(ctx: click.Context) -> None:
    """Refuse an option that would have no effect."""
    for kind, unused in UNUSED.items():
        if ctx.params.get(kind) is None:
            continue
        for name in unused:
            if name in ctx.params and not _by_default(ctx, name):
                raise click.UsageError(f"--{name} has no effect with --{kind}; leave one out", ctx)


def _by_default(ctx: click.Context, option: str) -> bool:
    return ctx.get_parameter_source(option) is click.core.ParameterSource.DEFAULT


def _pictures(matrix: Path | None, png: Path | None, html: Path | None) -> list[Path]:
    """Make the folders, and refuse what cannot be drawn before anything is run."""
    from lumpable.reports.kit import save

    outputs.check({"--png": png, "--html": html}, read=[matrix])
    asked = [path for path in (png, html) if path is not None]
    for path in asked:
        save.check(path)
        path.parent.mkdir(parents=True, exist_ok=True)
    return asked


def _draw(make: Callable[[], Any], paths: list[Path]) -> None:
    from lumpable.reports.kit import save

    if not paths:
        return
    chart = make()
    for path in paths:
        save.chart(chart, path)
        show.say(f"wrote {path}", err=True)
