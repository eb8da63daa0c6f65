"""A log as a table: one row an event, with what it came to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from lumpable.base.extras import need
from lumpable.base.files import replacing
from lumpable.service.deciding import wanted, who
from lumpable.service.joining import Event, outcome, settled, standing
from lumpable.service.settings import Settings, decoded
from lumpable.stores.law import Store
from lumpable.stores.log_entries import Entry, Name, plain

COLUMNS = {
    "event": "string", "user": "string", "arm": "string", "propensity": "float64",
    "version": "int64", "decided_by": "string", "wanted": "string", "decided_at": "timestamp",
    "shown": "bool", "standing": "string", "rewards": "int64", "reward": "float64",
}  # fmt: skip
"""Users and arms are written as JSON, so that 17 and "17" stay two names. What was `wanted` is what
the learner would have shown, where it was in the shadow."""
ROWS = 50_000
"""Rows that are written at a time."""


def settings_of(store: Store) -> Settings:
    """Return the settings of a store."""
    return decoded(store.settings)


def rows(store: Store, now: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each event, in the order in which they first came."""
    rules, events = settings_of(store), dict[str, Event]()
    for _, entry in store.entries():
        if entry.event:
            events.setdefault(entry.event, Event()).add(entry)
    for id, event in events.items():
        yield _row(id, settled(event, rules, now), rules, now)


def _row(id: str, event: Event, rules: Settings, now: int) -> dict[str, Any]:
    decision, counted = event.decision or Entry(kind="decided", at=0), outcome(event, rules)
    return {
        "event": id, "user": _text(decision.user), "arm": _text(decision.arm),
        "propensity": decision.propensity, "version": decision.version,
        "decided_by": who(decision.detail) or None, "wanted": _text(wanted(decision.detail)),
        "decided_at": None if event.decision is None else decision.at, "shown": event.shown,
        "standing": standing(event, rules, now), "rewards": len(event.rewards),
        "reward": None if counted is None else plain(counted),
    }  # fmt: skip


def _text(name: Name | None) -> str | None:
    return None if name is None else msgspec.json.encode(name).decode()


def export(store: Store, path: Path, now: int) -> int:
    """Write a Parquet file whole; return the number of rows."""
    pa = need("pyarrow", "research", "writing Parquet files")
    parquet = need("pyarrow.parquet", "research", "writing Parquet files")
    kinds = {"timestamp": pa.timestamp("us", tz="UTC"), "bool": pa.bool_()}
    schema = pa.schema([
        (name, kinds[kind] if kind in kinds else getattr(pa, kind)())
        for name, kind in COLUMNS.items()
    ])  # fmt: skip
    written, batch = 0, list[dict[str, Any]]()
    with replacing(path) as file, parquet.ParquetWriter(file, schema) as writer:
        for row in rows(store, now):
            batch.append(row)
            if len(batch) == ROWS:
                writer.write_table(pa.Table.from_pylist(batch, schema))
                written, batch = written + len(batch), []
        writer.write_table(pa.Table.from_pylist(batch, schema))
    return written + len(batch)
