"""A live log as a log of events that `lumpable learn` reads: what each event taught the learner."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from lumpable.base import row_files
from lumpable.base.errors import BadArgument
from lumpable.base.files import replacing
from lumpable.base.units import Name, from_micro
from lumpable.service.exporting import settings_of
from lumpable.service.joining import Event, count_default, outcome
from lumpable.service.learned_entries import event_id
from lumpable.stores.law import Store

Row = tuple[Name, Name, float, str, int, float | None]
COLUMNS = ("user", "item", "reward", "id", "time", "propensity")


class LogFor(NamedTuple):
    """What a log is written for."""

    columns: Mapping[str, str] = {}
    """What it calls columns, where that is not what they hold."""
    known: str = ""
    """The digest of evidence that is there already: what was learned from it is left out."""
    zoned: bool = True
    """Whether times say that they are UTC."""


def counted_outcomes(store: Store, now: int, known: str = "") -> Iterator[Row]:
    """Yield what the learner was told: user, arm, reward, event, time and propensity.

    Defaults that are due by `now` are among it, as they are when the experiment is next opened.
    Events without a reward, and rewards without a decision, taught it nothing.
    """
    rules, events = settings_of(store), dict[str, Event]()
    for _, entry in store.entries():
        if entry.event:
            events.setdefault(entry.event, Event()).add(entry)
    for id, event in events.items():
        if known and id.startswith(event_id(known, 0)[:-1]):
            continue
        decision, counted = event.decision, outcome(count_default(event, rules, now), rules)
        if counted is None or decision is None or decision.user is None or decision.arm is None:
            continue
        yield decision.user, decision.arm, from_micro(counted), id, decision.at, decision.propensity


def _check_out(path: Path, argument: str = "path") -> None:
    """Refuse a name that no log can be written to, before one is read.

    A name without an ending is that of a folder, new or empty.
    """
    if path.suffix and not path.is_dir():
        row_files.check(path, argument)
    elif path.exists() and (not path.is_dir() or any(path.iterdir())):
        expected = "a name that ends in .csv or .parquet, or a new folder"
        raise BadArgument(argument, expected, repr(str(path)))
    else:
        row_files.need_parquet()


def export_log(
    store: Store, path: Path, now: int, argument: str = "path", log_for: LogFor | None = None
) -> int:
    """Write a CSV or Parquet file, or a folder with one for each kind of names; return the rows.

    17 and "17" must stay two names, and a column of a Parquet file has one type. `argument` is what
    errors call the path.
    """
    _check_out(path, argument)
    log_for = log_for or LogFor()
    kinds = defaultdict[tuple[str, str], list[Row]](list)
    for row in counted_outcomes(store, now, log_for.known):
        kinds[_kind(row[0]), _kind(row[1])].append(row)
    if not kinds:
        raise BadArgument("experiment", "one with rewards", "one without any")
    if path.suffix and not path.is_dir():
        if len(kinds) > 1:
            expected = "a folder (a name without an ending), as names are numbers and strings"
            raise BadArgument(argument, expected, repr(path.name))
        targets = dict.fromkeys(kinds, path)
    else:
        path.mkdir(exist_ok=True)
        targets = {kind: path / f"{'-'.join(kind)}.parquet" for kind in kinds}
    with ExitStack() as stack:
        for kind, target in targets.items():
            file = stack.enter_context(replacing(target))
            row_files.writer_of(target)(file, _columns(kind, log_for), kinds[kind])
    return sum(map(len, kinds.values()))


def _kind(name: Name) -> str:
    return "text" if isinstance(name, str) else "whole"


def _columns(kind: Iterable[str], log_for: LogFor) -> dict[str, str]:
    names = ["string" if one == "text" else "int64" for one in kind]
    types = (*names, "float64", "string", "timestamp" if log_for.zoned else "naive", "float64")
    named = [log_for.columns.get(role, role) for role in COLUMNS]
    return dict(zip(named, types, strict=True))
