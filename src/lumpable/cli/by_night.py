"""The commands `lumpable plan` and `lumpable evidence`: a state that learns by night."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lumpable.base.errors import BadArgument
from lumpable.base.words import counted
from lumpable.cli import outputs
from lumpable.cli.from_log import Named, dirt_table, progress_shown
from lumpable.cli.options import (
    column_options,
    default_is,
    memory_option,
    rewards_option,
    strict_option,
)
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
    help="The state's folder; created if missing.",
)


@click.command("evidence")
@click.argument("source", required=False, type=Named(path_type=Path))
@STATE
@column_options(filled=False)
@rewards_option(filled=False)
@strict_option
@memory_option
def evidence(
    source: Path | None, state: Path, rewards: str | tuple[float, float] | None, strict: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Add events to a state, or, without SOURCE, say what is in it.

    SOURCE is a CSV or Parquet file, or a folder of them, as `lumpable learn` takes it. The columns
    are remembered from the first time on. Running it again changes nothing: events are known by
    their ids (--id) or, without ids, files by their contents. If it is killed, the state is either
    as before or as after.

    \b
    Examples:
      lumpable evidence --state state/ monday.csv --user customer --item offer
      lumpable evidence --state state/ tuesday.csv
      lumpable evidence --state state/

    Exit codes: 0 done, 2 bad input, 130 stopped by Ctrl-C.
    """
    from lumpable.nightly.night_state import Nightly

    nightly = Nightly(state)
    if source is None:
        given = [name for name, value in options.items() if value is not None]
        if given or strict or rewards is not None:
            raise BadArgument(
                "SOURCE", "a file or folder", "none", why="required with these options"
            )
        show_state(nightly, state)
        return
    with progress_shown() as progress:
        added = nightly.evidence(
            source, rewards=rewards, strict=strict, progress=progress, **options
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
        words = f"{one.source}: already added; nothing counts twice"
    if one.again:
        words += f", {one.again:,} already known"
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
    help=default_is("File with a column of users, .csv or .parquet.", "all with events"),
)  # fmt: skip
@click.option(
    "--items", type=click.Path(path_type=Path), metavar="FILE",
    help=default_is("File with a column of items, .csv or .parquet.", "all with events"),
)  # fmt: skip
@click.option(
    "--user", metavar="NAME",
    help=default_is("Column of --users.", "as in the evidence, else user"),
)  # fmt: skip
@click.option(
    "--item", metavar="NAME",
    help=default_is("Column of --items.", "as in the evidence, else item"),
)  # fmt: skip
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), metavar="FILE",
    help="The plan: .csv or .parquet.",
)  # fmt: skip
@click.option(
    "--learner", metavar="NAME", help=default_is("lumps, or a plan of the paper.", "lumps")
)
@click.option(
    "--learner-option", "learner_options", multiple=True, metavar="NAME=VALUE",
    help="An option of the plan; repeat for more.",
)  # fmt: skip
@click.option("--floor", type=float, help="The least probability of each item.")
@click.option("--seed", type=int, help=default_is("Random seed.", "0"))
@memory_option
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
      lumpable plan --state state/ --users users.csv --items offers.csv \\
        --out plan.csv --learner pac.near_uniform --learner-option groups=4 \\
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
