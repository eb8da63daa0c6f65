"""What `lumpable serve --learned` names: a nightly state, a saved learner, or a log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lumpable.base.errors import BadArgument
from lumpable.cli.options import stack
from lumpable.cli.show import say

COLUMNS = ("user", "item", "reward", "time", "id", "propensity")
"""Of a log; a state and a saved learner know theirs."""

column_options = stack(
    click.option("--user", help="The column of the log that says who.  [user]"),
    click.option("--item", help="The column of the log that says what.  [item]"),
    click.option("--reward", help="The column of the log that says what came of it.  [reward]"),
    click.option("--time", help="A column of times of the log, as `lumpable learn` reads it."),
    click.option("--id", help="A column of event ids of the log; a repeated event counts once."),
    click.option("--propensity", help="A column of the log: how likely each item was chosen."),
)
"""Give a command the columns of the log that it begins with."""


def open_learned(path: Path, **columns: Any) -> Any:
    """Open what was learned: a state that learns by night, a saved learner, or a log."""
    from lumpable.lumps.use.named import Lumps
    from lumpable.nightly.night_state import Nightly
    from lumpable.tables.ingest import read_events
    from lumpable.tables.remembered import events_of

    folder = path.is_dir() and not Nightly(path).begun and any(path.iterdir())
    if folder or (path.is_file() and path.suffix != ".lumps"):
        events = read_events(path, **columns)
        if events.dirt.faults:
            say(f"--learned: {events.dirt}", err=True)
        return events
    if columns:
        got = f"--{min(columns)} beside {str(path)!r}"
        raise BadArgument("--learned", "a log, as columns are named", got)
    if path.suffix == ".lumps":
        return events_of(Lumps.load(path))
    state = Nightly(path)
    if not state.segments:
        raise BadArgument("--learned", "a folder with evidence", repr(str(path)))
    return state
