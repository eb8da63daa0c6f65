"""The command line: `lumpable demo | simulate | budget | cite`.

Commands read options, call the package and hand the result to `show`. Errors and Ctrl-C are turned
into messages and exit codes in one place, `Careful`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from lumpable import __version__, citation, pac, reductions, show, standard, worlds
from lumpable.budget import budget
from lumpable.extras import MissingExtra
from lumpable.outcome import outcome
from lumpable.plan import Plan
from lumpable.problem import Problem
from lumpable.simulate import Run
from lumpable.watch import watched
from lumpable.world import World

BAD_INPUT, STOPPED = 2, 130
PLANS: dict[str, Callable[..., Plan]] = {
    "any-contexts": pac.any_contexts,
    "near-uniform": pac.near_uniform,
    "naive": standard.naive,
    "elimination": standard.elimination,
    "cheaper": reductions.cheaper,
}
UNUSED = {
    "matrix": ("contexts", "arms", "sizes", "means", "rank", "hard"),
    "hard": ("sizes", "frequency", "noise", "sd", "means", "rank"),
    "rank": ("sizes", "means"),
}
"""Options that say nothing beside another one; people who give both are told."""
Command = TypeVar("Command", bound=Callable[..., Any])


class Careful(click.Group):
    """A group of commands whose errors are one line on stderr: 2 for bad input, 130 for Ctrl-C."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what goes wrong by the user's hand never shows a traceback."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # click ends quietly when nobody reads on
        except (ValueError, OSError, MissingExtra, MemoryError) as error:
            lines = str(error).splitlines() or [type(error).__name__]
            click.echo(f"Error: {lines[0]}", err=True)
            ctx.exit(BAD_INPUT)
        except KeyboardInterrupt as stop:
            click.echo(str(stop) or "stopped", err=True)
            ctx.exit(STOPPED)


@click.group(cls=Careful, context_settings={"terminal_width": 88})
@click.version_option(__version__, prog_name="lumpable", message="%(prog)s %(version)s")
def main() -> None:
    """Learn who is alike while you learn what works.

    You have many users ("contexts") and many things to offer them ("arms"), and an offer earns a
    reward that is partly chance. Users belong to a few groups of the same taste, but nobody knows
    who belongs to which: lumpable finds out what to offer to whom from rewards alone, with fewer
    tries than learning for every user separately, once there are many of both.

    \b
    Start here:
      lumpable demo
      lumpable budget --contexts 2000 --arms 500 --groups 4
      lumpable simulate pac --contexts 500 --arms 300 --groups 4 --seed 7

    Exit codes: 0 done, 2 bad input, 130 stopped by Ctrl-C.
    """


def size_options(command: Command) -> Command:
    """Give a command the options of a problem and how exactly it is to be solved."""
    for name, default, help in reversed(
        (
            ("--contexts", 1000, "S, how many users."),
            ("--arms", 1000, "K, how many offers."),
            ("--groups", 5, "r, how many groups."),
            ("--epsilon", 0.1, "Accuracy, in (0, 1/2]: the smaller, the more rounds."),
            ("--delta", 0.05, "Chance of failure, in (0, 1)."),
        )
    ):
        command = click.option(name, default=default, show_default=True, help=help)(command)
    return command


def one_of(name: str, *words: str, help: str) -> Callable[[Command], Command]:
    """Return an option that takes one of a few words; the first is the default."""
    kinds = click.Choice(words)
    return click.option(name, type=kinds, default=words[0], show_default=True, help=help)


# --- simulate -------------------------------------------------------------------------------


@main.group()
def simulate() -> None:
    """Let a method learn in a made-up world, exactly as it would round by round."""


@dataclass(frozen=True)
class Settings:
    """The options of `simulate pac`, as given."""

    algorithm: str
    contexts: int
    arms: int
    groups: int
    epsilon: float
    delta: float
    sizes: str
    frequency: str
    noise: str
    sd: float
    means: str
    rank: int | None
    hard: int | None
    matrix: Path | None
    seed: int


@simulate.command("pac")
@size_options
@one_of(
    "--algorithm",
    *PLANS,
    help="any-contexts is the paper's Algorithm 3, near-uniform its Algorithm 1; naive and "
    "elimination ignore groups; cheaper takes Algorithm 3 or naive, by their worst cases.",
)
@one_of("--sizes", "equal", "geometric", "giant", help="Sizes of the groups.")
@one_of("--frequency", "uniform", "zipf", help="How often contexts come.")
@one_of("--noise", "gaussian", "bernoulli", help="Noise of the rewards.")
@click.option("--sd", default=1.0, show_default=True, help="Standard deviation of gaussian noise.")
@one_of(
    "--means",
    "uniform",
    "hard",
    help="Mean rewards of a group: uniform on [0, 1], or 1/2 with one arm 0.4 better.",
)
@click.option("--rank", type=int, help="A world of this low rank instead of groups.")
@click.option(
    "--hard", type=click.IntRange(1, 3), help="A hard instance of the paper's lower bound instead."
)
@click.option(
    "--matrix",
    type=click.Path(path_type=Path),
    help="Mean rewards of your own: CSV or Parquet with the columns context, arm, mean.",
)
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same run.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, policy included.")
@click.option(
    "--png", type=click.Path(path_type=Path), metavar="FOLDER", help="Write matrix.png there."
)
@click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", help="Write the picture as a page."
)
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
    settings = Settings(**given)
    pictures = [path for path in (png and png / "matrix.png", html) if path is not None]
    _refuse_unused(ctx, settings)
    _prepare(pictures)
    world = make_world(settings)
    told = settings.groups
    if settings.matrix is not None and _by_default(ctx, "groups"):
        told = world.groups
    problem = Problem(world.contexts, world.arms, told)
    found = budget(problem, settings.epsilon, settings.delta)
    plan = PLANS[settings.algorithm](problem, epsilon=settings.epsilon, delta=settings.delta)
    run = watched(plan, world, seed=settings.seed + 1)
    given = _given(settings, problem)
    result = outcome(run, found, version=__version__, seed=settings.seed, given=given)
    if as_json:
        click.echo(msgspec.json.encode(result))
    else:
        show.outcome(result)
        show.console().print("\n" + show.advice(found))
    _draw(run, pictures)


def make_world(settings: Settings) -> World:
    """Make the world that the options ask for."""
    s = settings
    noise: dict[str, Any] = {"frequency": s.frequency, "noise": s.noise, "sd": s.sd, "seed": s.seed}
    if s.matrix is not None:
        return worlds.read(s.matrix, **noise)
    if s.rank is not None:
        return worlds.low_rank(s.contexts, s.arms, s.rank, **noise)
    if s.hard is not None:
        return worlds.hard(s.hard, s.contexts, s.arms, s.groups, epsilon=s.epsilon, seed=s.seed)
    return worlds.lumpable(s.contexts, s.arms, s.groups, sizes=s.sizes, means=s.means, **noise)


def _given(settings: Settings, problem: Problem) -> dict[str, Any]:
    """Return the parameters that had a meaning, sizes as they turned out."""
    given = asdict(settings) | asdict(problem)
    given["matrix"] = None if settings.matrix is None else str(settings.matrix)
    for kind, unused in UNUSED.items():
        if given[kind] is not None:
            given |= {name: None for name in unused if name not in ("contexts", "arms")}
    return given


def _refuse_unused(ctx: click.Context, settings: Settings) -> None:
    """Tell people when an option that they gave would say nothing."""
    for kind, unused in UNUSED.items():
        if getattr(settings, kind) is None:
            continue
        for name in unused:
            if not _by_default(ctx, name):
                raise click.UsageError(f"--{name} says nothing beside --{kind}; leave one out", ctx)


def _by_default(ctx: click.Context, option: str) -> bool:
    return ctx.get_parameter_source(option) is click.core.ParameterSource.DEFAULT


def _prepare(paths: list[Path]) -> None:
    """Make the folders, and refuse what cannot be drawn before anything is run."""
    from lumpable import canvas

    for path in paths:
        canvas.check(path)
        path.parent.mkdir(parents=True, exist_ok=True)


def _draw(run: Run, paths: list[Path]) -> None:
    from lumpable import report

    for path in paths:
        report.save(report.matrix(run.world, run), path)
        click.echo(f"wrote {path}", err=True)


# --- The other commands ---------------------------------------------------------------------


@main.command("budget")
@size_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def budget_command(
    contexts: int, arms: int, groups: int, epsilon: float, delta: float, as_json: bool
) -> None:
    """Say what each method costs and promises at a size, before anything is run.

    \b
    Example:
      lumpable budget --contexts 1500 --arms 1500 --groups 5 --epsilon 0.02
    """
    found = budget(Problem(contexts, arms, groups), epsilon, delta)
    if as_json:
        click.echo(msgspec.json.encode(found))
    else:
        show.budget(found)


@main.command("demo")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo"),
    show_default=True,
    help="Where the pictures go.",
)
def demo_command(folder: Path) -> None:
    """Hide groups, find them and draw them: half a minute, in plain words."""
    from lumpable import demo

    demo.run(folder)


@main.command("cite")
def cite_command() -> None:
    """Print the BibTeX of the paper and of this package."""
    click.echo(citation(), nl=False)
