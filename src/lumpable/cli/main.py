"""The command line: `lumpable demo | play | simulate | budget | reproduce | compare | ...`.

Commands read options, call the package and print the result. Errors and Ctrl-C are turned into
messages and exit codes in one place, `Careful`.
"""

from __future__ import annotations

import importlib
import traceback
from pathlib import Path
from typing import Any

import click
import msgspec

from lumpable.base.cite import citation
from lumpable.base.errors import BadArgument
from lumpable.base.extras import MissingExtra
from lumpable.base.version import __version__
from lumpable.cli.budgets import print_budget
from lumpable.cli.options import accuracy_options, rounds, size_options
from lumpable.cli.show import say
from lumpable.cli.simulations import simulate
from lumpable.plans.costs import budget
from lumpable.plans.problem import Problem
from lumpable.plans.regret_costs import regret_budget

OUR_FAULT, BAD_INPUT, STOPPED = 1, 2, 130
BUG = f"""
This is a bug in lumpable {__version__}, not in what you typed. Please report it, with the lines
above and the command, to the people you have the package from (see CONTRIBUTING.md,
"Report a bug")."""


class Careful(click.Group):
    """A group of commands that tells bad input from bugs.

    Bad input is a line and exit code 2, or several where its reason is a table. Anything else is a
    bug: a traceback, exit code 1 and where to report it. Some commands end with 1, too, when they
    find something wrong (damage, a failed cell, a claim that does not hold); their help says so.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn errors into a message and an exit code."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # click ends quietly when the reader is gone
        except BadArgument as error:
            say(f"Error: {error}", err=True)  # whole: a table of faults is its reason
            ctx.exit(BAD_INPUT)
        except (OSError, MissingExtra, MemoryError) as error:
            lines = str(error).splitlines() or [type(error).__name__]
            say(f"Error: {lines[0]}", err=True)
            ctx.exit(BAD_INPUT)
        except KeyboardInterrupt as stop:
            say(str(stop) or "stopped", err=True)
            ctx.exit(STOPPED)
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except Exception:
            say(traceback.format_exc() + BUG, err=True)
            ctx.exit(OUR_FAULT)


class Later(click.Command):
    """A command whose module is imported only when it is called, so that others stay quick."""

    def __init__(self, name: str, module: str, short_help: str) -> None:
        super().__init__(name, short_help=short_help)
        self.module = module

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Hand over to the command itself."""
        command: click.Command = getattr(importlib.import_module(self.module), str(self.name))
        return command.make_context(*args, **extra)


@click.group(cls=Careful, context_settings={"terminal_width": 80})
@click.version_option(__version__, prog_name="lumpable", message="%(prog)s %(version)s")
def main() -> None:
    """Learn who is alike while you learn what works.

    You have many users ("contexts") and many things to offer them ("arms"), and an offer earns a
    reward that is partly chance. Users belong to a few groups with the same taste; nobody knows
    who belongs to which. lumpable finds out from rewards alone what to offer to whom. Once there
    are many users and offers, it needs fewer tries than learning for every user separately.

    \b
    Start here:
      lumpable demo
      lumpable play
      lumpable learn events.csv --user customer --item offer --reward clicked
      lumpable budget --contexts 2000 --arms 500 --groups 4
      lumpable simulate pac --contexts 500 --arms 300 --groups 4 --seed 7
      lumpable simulate regret --horizon 1e14

    Exit codes: 0 done; 1 a bug, or what a check found (verify: damage; compare: a failed cell;
    reproduce: a claim not as expected); 2 bad input; 130 stopped by Ctrl-C.
    """


main.add_command(simulate)
for name, module, about in (
    ("reproduce", "reproducing", "Measure every claim of the paper that a program can check."),
    (
        "compare",
        "comparing",
        "Play learners against each other: the same worlds, contexts and luck for all.",
    ),
    ("learn", "from_log", "Learn from a log who is alike and what works for whom."),
    ("evidence", "by_night", "Add events to a state that learns by night, each of them once."),
    ("plan", "by_night", "Write what to give to whom until there is more evidence."),
    ("report", "reporting", "Turn the rows of a comparison into one page."),
    ("play", "keep_playing", "Start a service with a simulated shop that keeps playing."),
    ("serve", "serving", "Serve decisions over HTTP, from an experiment in a file."),
    ("warm", "warming", "Compile what a service needs, and keep it on disk."),
    (
        "verify",
        "experiment_files",
        "Find damage in the file of an experiment, down to a flipped bit.",
    ),
    ("show", "experiment_files", "Print what is in the file of an experiment."),
    (
        "export",
        "experiment_files",
        "Write the events of an experiment to a CSV or Parquet file.",
    ),
):
    main.add_command(Later(name, f"lumpable.cli.{module}", about))


@main.group("sql")
def sql() -> None:
    """Print the queries of evidence, for an SQL engine of yours.

    The engine that holds the events leaves out what cannot count and adds up the rest. Names are
    quoted, so write them as the engine stores them (Snowflake: in capitals, unless they were made
    in quotes).

    \b
    Examples:
      lumpable sql evidence --dialect spark --item offer --reward clicked
      lumpable sql faults --dialect postgres --table sales.events --id event
    """


for name, about in (
    ("evidence", "Print the query of evidence: who had what, what came of it, how often."),
    ("faults", "Print the query of what evidence leaves out, by fault."),
):
    sql.add_command(Later(name, "lumpable.cli.engine_commands", about))


@main.command("budget")
@size_options(1000, 1000, 5)
@accuracy_options
@click.option(
    "--horizon",
    type=rounds,
    metavar="ROUNDS",
    help="T: what is promised about regret over this many rounds; without it, policies.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def budget_command(
    ctx: click.Context,
    contexts: int,
    arms: int,
    groups: int,
    epsilon: float,
    delta: float,
    horizon: int | None,
    as_json: bool,
) -> None:
    """Say what each method costs and promises at a given size.

    Methods that find a policy, or with --horizon those that play for low regret. Runs nothing.

    \b
    Examples:
      lumpable budget --contexts 1500 --arms 1500 --groups 5 --epsilon 0.02
      lumpable budget --contexts 30 --arms 20 --groups 3 --horizon 1e13
    """
    problem = Problem(contexts, arms, groups)
    if horizon is not None:
        from lumpable.cli import regret_budgets

        regret_budgets.refuse_accuracy(ctx)
        regret_budgets.show_regret(regret_budget(problem, horizon), as_json=as_json)
        return
    found = budget(problem, epsilon, delta)
    if as_json:
        click.echo(msgspec.json.encode(found))
    else:
        print_budget(found)


@main.command("demo")
@click.argument("which", type=click.Choice(["shop", "paper"]), default="shop")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo"),
    show_default=True,
    help="Where files and pictures go.",
)
def demo_command(which: str, folder: Path) -> None:
    """See what it does, in plain words and under a minute.

    shop, the default: a simulated shop with hidden tastes plays against a running service. You see
    what the service finds beside the truth, and what that is worth.

    paper: the paper's Algorithm 3 finds hidden groups in a world, beside the naive method.
    """
    if which == "paper":
        from lumpable.cli import paper_demo

        paper_demo.run(folder)
    else:
        from lumpable.cli import demo

        demo.run(folder)


@main.command("cite")
def cite_command() -> None:
    """Print the BibTeX of the paper and of this package."""
    click.echo(citation(), nl=False)
