"""A log as a table: one row an event, with what it came to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from lumpable.base import row_files
from lumpable.base.units import Name, from_micro
from lumpable.service.deciding import decided_by, learner_choice
from lumpable.service.joining import Event, count_default, outcome, standing
from lumpable.service.settings import Settings, decode
from lumpable.stores.law import Store
from lumpable.stores.log_entries import Entry

COLUMNS = {
    "event": "string", "user": "string", "arm": "string", "propensity": "float64",
    "version": "int64", "decided_by": "string", "wanted": "string", "decided_at": "timestamp",
    "shown": "bool", "standing": "string", "rewards": "int64", "reward": "float64",
}  # fmt: skip
"""Users and arms are written as JSON, so that 17 and "17" stay two names. What was `wanted` is what
the learner would have shown, where it was in the shadow."""


def settings_of(store: Store) -> Settings:
    """Return the settings of a store."""
    return decode(store.settings)


def rows(store: Store, now: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each event, in the order in which they first came."""
    rules, events = settings_of(store), dict[str, Event]()
    for _, entry in store.entries():
        if entry.event:
            events.setdefault(entry.event, Event()).add(entry)
    for id, event in events.items():
        yield _row(id, count_default(event, rules, now), rules, now)


def _row(id: str, event: Event, rules: Settings, now: int) -> dict[str, Any]:
    decision, counted = event.decision or Entry(kind="decided", at=0), outcome(event, rules)
    return {
        "event": id, "user": _text(decision.user), "arm": _text(decision.arm),
        "propensity": decision.propensity, "version": decision.version,
        "decided_by": decided_by(decision.detail) or None,
        "wanted": _text(learner_choice(decision.detail)),
        "decided_at": None if event.decision is None else decision.at, "shown": event.shown,
        "standing": standing(event, rules, now), "rewards": len(event.rewards),
        "reward": None if counted is None else from_micro(counted),
    }  # fmt: skip


def _text(name: Name | None) -> str | None:
    return None if name is None else msgspec.json.encode(name).decode()


def export(store: Store, path: Path, now: int, argument: str = "path") -> int:
    """Write a CSV or Parquet file whole; return the number of rows."""
    row_files.check(path, argument)
    return row_files.write(path, COLUMNS, (tuple(row.values()) for row in rows(store, now)))
