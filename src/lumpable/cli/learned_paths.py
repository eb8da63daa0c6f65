"""What `lumpable serve --learned` names: a nightly state, a saved learner, or a log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.cli.show import say


def open_learned(path: Path, **columns: Any) -> Any:
    """Open what was learned: a state that learns by night, a saved learner, or a log.

    Only a log is told its columns; a state and a saved learner know theirs.
    """
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
        why = f"only for logs, and {str(path)!r} is not one"
        raise BadArgument(f"--{min(columns)}", "a log", repr(str(path)), why=why)
    if path.suffix == ".lumps":
        return events_of(Lumps.load(path))
    state = Nightly(path)
    if not state.segments:
        raise BadArgument("--learned", "a folder with evidence", repr(str(path)))
    return state
