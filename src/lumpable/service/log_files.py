"""A live log as a log of events that `lumpable learn` reads: what each event taught the learner."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.base.extras import need
from lumpable.base.files import replacing
from lumpable.service.exporting import ROWS, settings_of
from lumpable.service.joining import Event, outcome, settled
from lumpable.stores.law import Store
from lumpable.stores.log_entries import Name, plain

Row = tuple[Name, Name, float, str, int, float | None]
COLUMNS = ("user", "item", "reward", "id", "time", "propensity")


def taught(store: Store, now: int) -> Iterator[Row]:
    """Yield what the learner was told: user, arm, reward, event, time and propensity.

    Defaults that are due by `now` are among it, as they are when the experiment is next opened.
    Events without a reward, and rewards without a decision, taught it nothing.
    """
    rules, events = settings_of(store), dict[str, Event]()
    for _, entry in store.entries():
        if entry.event:
            events.setdefault(entry.event, Event()).add(entry)
    for id, event in events.items():
        decision, counted = event.decision, outcome(settled(event, rules, now), rules)
        if counted is None or decision is None or decision.user is None or decision.arm is None:
            continue
        yield decision.user, decision.arm, plain(counted), id, decision.at, decision.propensity


def export_log(store: Store, path: Path, now: int) -> int:
    """Write a Parquet file, or a folder with one for each kind of names; return the rows.

    A column of a Parquet file has one type, and 17 and "17" must stay two names.
    """
    kinds = defaultdict[tuple[str, str], list[Row]](list)
    for row in taught(store, now):
        kinds[_kind(row[0]), _kind(row[1])].append(row)
    if not kinds:
        raise BadArgument("file", "an experiment with rewards", "one without any")
    if path.suffix == ".parquet":
        if len(kinds) > 1:
            expected = "a folder (a name without .parquet), as names are numbers and text"
            raise BadArgument("out", expected, repr(path.name))
        targets = dict.fromkeys(kinds, path)
    else:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            expected = "a name that ends in .parquet, or a new folder"
            raise BadArgument("out", expected, repr(str(path)))
        path.mkdir(exist_ok=True)
        targets = {kind: path / f"{'-'.join(kind)}.parquet" for kind in kinds}
    with ExitStack() as stack:
        for kind, target in targets.items():
            _write(stack.enter_context(replacing(target)), kind, kinds[kind])
    return sum(map(len, kinds.values()))


def _kind(name: Name) -> str:
    return "text" if isinstance(name, str) else "whole"


def _write(file: Any, kind: Iterable[str], rows: list[Row]) -> None:
    pa = need("pyarrow", "research", "writing Parquet files")
    parquet = need("pyarrow.parquet", "research", "writing Parquet files")
    names = [pa.string() if one == "text" else pa.int64() for one in kind]
    stamp = pa.timestamp("us", tz="UTC")
    types = (*names, pa.float64(), pa.string(), stamp, pa.float64())
    schema = pa.schema(list(zip(COLUMNS, types, strict=True)))
    with parquet.ParquetWriter(file, schema) as writer:
        for first in range(0, len(rows), ROWS):
            columns = zip(*rows[first : first + ROWS], strict=True)
            arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
            writer.write_table(pa.table(arrays, schema=schema))
