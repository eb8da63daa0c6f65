"""The commands `lumpable plan` and `lumpable evidence`: a state that learns by night."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lumpable.base.errors import BadArgument
from lumpable.base.words import counted
from lumpable.cli import outputs
from lumpable.cli.from_log import Named, dirt_table, progress_shown
from lumpable.cli.options import parse_rewards
from lumpable.cli.serving import learner_from_options
from lumpable.cli.show import console, grid, say, table

if TYPE_CHECKING:
    from lumpable.nightly.night_adding import Added
    from lumpable.nightly.night_state import Nightly

SHOWN = ("rewards", "learner", "floor", "seed")
"""Settings that are printed."""
STATE = click.option(
    "--state",
    required=True,
    type=Named(path_type=Path),
    metavar="FOLDER",
    help="Where all is kept; it is made if it is not there.",
)


@click.command("evidence")
@click.argument("source", required=False, type=Named(path_type=Path))
@STATE
@click.option("--user", help="The column that says who.  [user]")
@click.option("--item", help="The column that says what.  [item]")
@click.option("--reward", help="The column that says what came of it.  [reward]")
@click.option("--time", help="A column of times; of contradicting events the first counts.")
@click.option("--id", help="A column of event ids; an event counts in the night it first came.")
@click.option("--propensity", help="A column of probabilities with which items were chosen.")
@click.option("--rewarded", help="A column of times of rewards; none may come before its --time.")
@click.option("--rewards", help="Which are accepted: any, binary, or a range such as 0:5.  [any]")
@click.option("--strict", is_flag=True, help="Refuse a log with rows that cannot count.")
@click.option("--memory", metavar="SIZE", help="What reading may hold in memory, such as 4GB.")
def evidence(
    source: Path | None, state: Path, rewards: str | None, strict: bool, **options: Any
) -> None:
    """Add events to a state, or, without SOURCE, say what is in it.

    SOURCE is a CSV or Parquet file, or a folder of them, as `lumpable learn` takes it. The columns
    are remembered from the first time on. To run it again changes nothing: events are known by
    their ids (--id) or, without ids, files by what is in them. If it is killed, the state is as
    before or as after.

    \b
    Examples:
      lumpable evidence --state state/ monday.csv --user customer --item offer --id event
      lumpable evidence --state state/ tuesday.csv
      lumpable evidence --state state/

    Exit codes: 0 done, 2 bad input, 130 stopped by Ctrl-C.
    """
    from lumpable.nightly.night_state import Nightly

    nightly = Nightly(state)
    if source is None:
        given = [name for name, value in options.items() if value is not None]
        if given or strict or rewards is not None:
            raise BadArgument("SOURCE", "a file, as options are given", "none")
        show_state(nightly, state)
        return
    with progress_shown() as progress:
        accepted = None if rewards is None else parse_rewards(rewards)
        added = nightly.evidence(
            source, rewards=accepted, strict=strict, progress=progress, **options
        )
    for one in added:
        say_added(one)
    say(f"{state}: {counted(sum(one.events for one in nightly.segments), 'event')} in all")


def say_added(one: Added) -> None:
    """Say what became of a file."""
    out = console()
    if one.dirt is not None:
        if one.dirt.faults:
            out.print(dirt_table(one.dirt))
        for note in one.dirt.notes:
            out.print(f"note: {note}")
    for note in one.notes:
        out.print(f"note: {note}")
    words = f"{one.source}: {counted(one.events, 'new event')}"
    if not one.events and not one.known:
        words = f"{one.source}: no event counts"
    if one.known and not one.again:
        words = f"{one.source}: it is there already; nothing counts twice"
    if one.again:
        words += f", {one.again:,} were there already"
    if one.against:
        words += f" ({one.against:,} of them say something else now; what came first stays)"
    say(words)


def show_state(nightly: Nightly, state: Path) -> None:
    """Print what is in a state."""
    if not nightly.begun:
        raise BadArgument("state", "a folder with a state", repr(str(state)))
    events, settings, out = nightly.events(), nightly.settings, console()
    columns = [(f"column: {role}", name) for role, name in (settings["columns"] or {}).items()]
    others = [(name, str(settings[name])) for name in SHOWN if settings.get(name) is not None]
    out.print(grid([
        ("events", f"{len(events):,}"), ("users", f"{len(events.users):,}"),
        ("items", f"{len(events.items):,}"), ("evidence", events.digest()), *columns, *others,
    ]))  # fmt: skip
    for note in events.dirt.notes:
        out.print(f"note: {note}")
    added = [(one.source or "(a frame)", f"{one.events:,}") for one in nightly.segments]
    out.print(table("What was added", ("from", "events"), added))


@click.command("plan")
@STATE
@click.option(
    "--users", type=click.Path(path_type=Path), metavar="FILE",
    help="A column of users, .csv or .parquet.  [all that had events]",
)  # fmt: skip
@click.option(
    "--items", type=click.Path(path_type=Path), metavar="FILE",
    help="A column of items, .csv or .parquet.  [all that had events]",
)  # fmt: skip
@click.option("--user", help="The column of --users.  [as in the evidence, else user]")
@click.option("--item", help="The column of --items.  [as in the evidence, else item]")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), metavar="FILE",
    help="The plan: .csv or .parquet.",
)  # fmt: skip
@click.option("--learner", metavar="NAME", help="lumps, or a plan of the paper.  [lumps]")
@click.option(
    "--learner-option", "learner_options", multiple=True, metavar="NAME=VALUE",
    help="An option of the plan; once for each.",
)  # fmt: skip
@click.option("--floor", type=float, help="The least probability of each item.")
@click.option("--seed", type=int, help="Of all chance.  [0]")
@click.option("--memory", metavar="SIZE", help="What reading may hold in memory, such as 4GB.")
def plan(
    state: Path, out: Path, learner: str | None, learner_options: tuple[str, ...], **given: Any
) -> None:
    """Write what to give to whom, until there is more evidence.

    The file has a row for each user: user, action, propensity, version. The first row has no user:
    it is for everybody who is not named. The same state gives the same file. Learner, floor and
    seed are remembered from the first time on.

    A plan of the paper begins with all its users and items, and asks for samples night by night.

    \b
    Examples:
      lumpable plan --state state/ --users users.parquet --out plan.parquet
      lumpable plan --state state/ --users users.csv --items offers.csv --out plan.csv \\
        --learner pac.near_uniform --learner-option groups=4 \\
        --learner-option epsilon=0.2 --learner-option delta=0.1

    Exit codes: 0 done, 2 bad input, 130 stopped by Ctrl-C.
    """
    from lumpable.nightly.night_state import Nightly

    outputs.check({"--out": out}, read=[given["users"], given["items"]], states=[state])
    made = Nightly(state).plan(
        learner=learner_from_options(learner, learner_options), out=out, **given
    )
    for note in made.notes:
        say(f"note: {note}")
    say(f"{out}: version {made.version[:12]}, {counted(len(made), 'user')}, "
        f"{made.default} for everybody else")  # fmt: skip
