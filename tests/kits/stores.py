"""The contract of a store: one kit of laws that every kind of store passes.

A kind of store is a `Shelf`: it opens the same store again and again, as a new process would.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lumpable.base.units import Name
from lumpable.stores.law import SharedStore, Store
from lumpable.stores.log_entries import Entry


@dataclass(frozen=True)
class Shelf:
    """Where a store stands between two openings."""

    open: Callable[[], Store]
    lasting: bool
    """Whether it outlives its process."""


def decided(event: str, user: Name = "ann", arm: Name = "red", at: int = 1) -> Entry:
    return Entry(kind="decided", at=at, event=event, user=user, arm=arm, propensity=0.25,
                 version=3, active=True, detail="learner")  # fmt: skip


def rewarded(event: str, value: int, user: Name | None = None, at: int = 2) -> Entry:
    return Entry(kind="rewarded", at=at, event=event, user=user, value=value)


def in_turn(store: SharedStore) -> SharedStore:
    """Return a store whose turn it is until it is closed."""
    store.take_turn()
    return store
