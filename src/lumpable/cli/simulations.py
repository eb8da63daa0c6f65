"""The commands `lumpable simulate pac | regret`: options in, a world, a run, what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import msgspec

from lumpable import worlds
from lumpable.base.version import __version__
from lumpable.cli import show
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
from lumpable.cli.watching import watched
from lumpable.plans import pac, reductions, regret, schedule, standard
from lumpable.plans.costs import budget
from lumpable.plans.plan import Plan
from lumpable.plans.problem import Problem
from lumpable.runs.account import account
from lumpable.runs.outcome import outcome
from lumpable.worlds.world import World

PLANS: dict[str, Callable[..., Plan]] = {
    "any-contexts": pac.any_contexts,
    "near-uniform": pac.near_uniform,
    "naive": standard.naive,
    "elimination": standard.elimination,
    "cheaper": reductions.cheaper,
    "low-rank": reductions.low_rank,
}
ENDLESS: dict[str, Callable[..., Plan]] = {
    "equal-groups": regret.equal_groups,
    "any-groups": regret.any_groups,
    "any-contexts": reductions.any_contexts_online,
    "unknown-groups": reductions.unknown_groups,
    "never-worse": reductions.never_worse,
    "standard": standard.online,
    "low-rank": reductions.low_rank_online,
}
"""Plans that are cut off at the horizon; two of them are told it."""
MENDABLE = ("any-groups", "any-contexts", "unknown-groups", "never-worse")
"""Those that run Algorithm 6."""
UNUSED = {
    "matrix": ("contexts", "arms", "sizes", "means", "rank", "hard"),
    "hard": ("sizes", "frequency", "noise", "sd", "means", "rank"),
    "rank": ("sizes", "means"),
}
"""Options that say nothing beside another one; people who give both are told."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options that say in which world which method learns, as given."""

    algorithm: str
    contexts: int
    arms: int
    groups: int
    sizes: str
    frequency: str
    noise: str
    sd: float
    means: str
    rank: int | None
    matrix: Path | None
    seed: int
    hard: int | None = None
    epsilon: float | None = None
    delta: float | None = None
    horizon: int | None = None
    mended: bool | None = None


@click.group()
def simulate() -> None:
    """Let a method learn in a made-up world, exactly as it would round by round."""


@simulate.command("pac")
@size_options(1000, 1000, 5)
@accuracy_options
@one_of(
    "--algorithm",
    *PLANS,
    help="any-contexts is the paper's Algorithm 3, near-uniform its Algorithm 1; naive and "
    "elimination ignore groups; cheaper takes Algorithm 3 or naive, by their worst cases; low-rank "
    "takes --rank, or else --groups, for the rank, and Algorithm 1 on its cover or naive.",
)
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
    is what the learner is told (by default as many as there are different rows).

    \b
    Examples:
      lumpable simulate pac --contexts 1500 --arms 1500 --epsilon 0.02
      lumpable simulate pac --frequency zipf --algorithm cheaper --json
      lumpable simulate pac --matrix rewards.csv --groups 3 --html found.html
    """
    from lumpable.reports import charts

    settings = Settings(**given)
    pictures = _pictures(png and png / "matrix.png", html)
    world, problem = _setting(ctx, settings)
    epsilon, delta = given["epsilon"], given["delta"]
    found = budget(_grouped(settings, problem), epsilon, delta)
    plan = PLANS[settings.algorithm](problem, epsilon=epsilon, delta=delta)
    run = watched(plan, world, seed=settings.seed + 1)
    asked = _asked(given, problem)
    result = outcome(run, found, version=__version__, seed=settings.seed, given=asked)
    if as_json:
        click.echo(msgspec.json.encode(result))
    else:
        show.outcome(result)
        if settings.algorithm != "low-rank":
            show.console().print("\n" + show.advice(found))
    _draw(lambda: charts.sorted_matrix(run), pictures)


@simulate.command("regret")
@size_options(200, 100, 3)
@horizon_option
@one_of(
    "--algorithm",
    *ENDLESS,
    help="equal-groups is the paper's Algorithm 4, any-groups its Algorithm 6; any-contexts runs "
    "Algorithm 6 side by side on contexts that come about equally often; unknown-groups is not "
    "told --groups; standard ignores groups; never-worse takes Algorithm 6 or standard, by their "
    "bounds; low-rank takes --rank, or else --groups, for the rank.",
)
@click.option(
    "--mended",
    is_flag=True,
    help="Where Algorithm 6 runs: split no finer than the level that showed a gap.",
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
    learning cost, which groups it told apart and when, and what the paper's bound is.

    \b
    Examples:
      lumpable simulate regret --horizon 1e14 --html run.html
      lumpable simulate regret --algorithm any-groups --sizes giant --mended
      lumpable simulate regret --algorithm unknown-groups --json
    """
    settings = Settings(**given)
    if settings.mended and settings.algorithm not in MENDABLE:
        raise click.UsageError(f"--mended goes with {', '.join(MENDABLE)} only", ctx)
    pictures = _pictures(png and png / "run.png", html)
    world, problem = _setting(ctx, settings)
    plan = endless(settings, problem)
    run = watched(plan, world, seed=settings.seed + 1, horizon=settings.horizon)
    result = account(
        run, problem, version=__version__, seed=settings.seed, given=_asked(given, problem)
    )
    if as_json:
        click.echo(msgspec.json.encode(result))
    else:
        show.account(result)
    _draw(run.plot, pictures)


def _grouped(settings: Settings, problem: Problem) -> Problem:
    """Return the problem with groups that is solved: for low rank, the cells of the cover."""
    if settings.algorithm != "low-rank" or settings.epsilon is None:
        return problem
    cells = schedule.cover(problem, 1.0, settings.epsilon)
    return Problem(problem.contexts, problem.arms, cells)


def endless(settings: Settings, problem: Problem) -> Plan:
    """Make the plan that the options ask for."""
    extra: dict[str, Any] = {}
    if settings.algorithm in ("any-contexts", "low-rank"):
        extra["horizon"] = settings.horizon
    if settings.mended:
        extra["mended"] = True
    return ENDLESS[settings.algorithm](problem, **extra)


def make_world(settings: Settings) -> World:
    """Make the world that the options ask for."""
    s = settings
    noise: dict[str, Any] = {"frequency": s.frequency, "noise": s.noise, "sd": s.sd, "seed": s.seed}
    if s.matrix is not None:
        return worlds.read(s.matrix, **noise)
    if s.rank is not None:
        return worlds.low_rank(s.contexts, s.arms, s.rank, **noise)
    if s.hard is not None and s.epsilon is not None:
        return worlds.hard(s.hard, s.contexts, s.arms, s.groups, epsilon=s.epsilon, seed=s.seed)
    return worlds.lumpable(s.contexts, s.arms, s.groups, sizes=s.sizes, means=s.means, **noise)


def _setting(ctx: click.Context, settings: Settings) -> tuple[World, Problem]:
    """Return the world, and the problem as the learner is told it."""
    _refuse_unused(ctx, settings)
    world = make_world(settings)
    told = settings.groups
    if settings.algorithm == "unknown-groups":
        told = 1  # the paper's first guess
    elif _by_default(ctx, "groups"):
        if settings.matrix is not None:
            told = world.groups
        elif settings.rank is not None and settings.algorithm == "low-rank":
            told = settings.rank
    return world, Problem(world.contexts, world.arms, told)


def _asked(given: dict[str, Any], problem: Problem) -> dict[str, Any]:
    """Return the parameters that had a meaning, sizes as they turned out."""
    asked = given | asdict(problem)
    asked["matrix"] = None if given["matrix"] is None else str(given["matrix"])
    for kind, unused in UNUSED.items():
        if asked.get(kind) is not None:
            nothing = {name for name in unused if name not in ("contexts", "arms")}
            asked |= dict.fromkeys(nothing & set(given))
    return asked


def _refuse_unused(ctx: click.Context, settings: Settings) -> None:
    """Tell people when an option that they gave would say nothing."""
    for kind, unused in UNUSED.items():
        if getattr(settings, kind) is None:
            continue
        for name in unused:
            if name in ctx.params and not _by_default(ctx, name):
                raise click.UsageError(f"--{name} says nothing beside --{kind}; leave one out", ctx)


def _by_default(ctx: click.Context, option: str) -> bool:
    return ctx.get_parameter_source(option) is click.core.ParameterSource.DEFAULT


def _pictures(*paths: Path | None) -> list[Path]:
    """Make the folders, and refuse what cannot be drawn before anything is run."""
    from lumpable.reports.kit import save

    asked = [path for path in paths if path is not None]
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
        click.echo(f"wrote {path}", err=True)
