"""Who is forgotten is gone: from memory, from every file, and after every kind of accident."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import lumpable as lb
from kits.service import Clock, bits, opened
from lumpable.base import files
from lumpable.base.units import Name
from lumpable.service import ledger
from lumpable.stores.in_memory import MemoryStore
from lumpable.stores.in_sqlite import SQLiteStore
from lumpable.stores.law import StoreError
from lumpable.stores.log_entries import Entry

SECRET = "zanzibar-ann"


def leaks(folder: Path) -> list[str]:
    return [p.name for p in folder.iterdir() if SECRET.encode() in p.read_bytes()]


def test_a_user_of_a_snapshot_who_had_no_reward_is_forgotten(tmp_path: Path) -> None:
    """Their events are not in memory: what is under way and what will close must go, too."""
    path = tmp_path / "clicks.db"
    with lb.open(path, ["red"], window=1e6, default=0.0, fits="inline") as e:
        e.decide(SECRET, event=f"{SECRET}/1")
    assert leaks(tmp_path)
    with lb.open(path, fits="inline") as e:
        e.forget(SECRET)
        assert e.status().waiting == 0
        live = bits(e)
    assert not leaks(tmp_path)
    with lb.open(path, fits="inline") as e:
        assert bits(e) == live


def test_a_user_whose_events_were_let_go_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "MOST_EVENTS", 8)
    monkeypatch.setattr(ledger, "MOST_UNDER_WAY", 24)
    store, clock = MemoryStore(), Clock()
    e = opened(store, clock, window=10, default=0.0)
    for k in range(20):
        e.decide("ann" if k % 4 == 0 else f"u{k}", event=f"e{k}")
    e.forget("ann")
    for k in range(20, 40):
        e.decide(f"u{k}", event=f"e{k}")
    e.decide("ann", event="e0")  # a new life
    clock.now += 100
    e.decide("bob", event="last")
    assert [entry.event for _, entry in store.entries() if entry.kind == "expired"].count("e0") == 1
    e._writer.so_far().result()
    assert bits(opened(store, clock, arms=(), window=10, default=0.0)) == bits(e)


def test_who_is_unknown_or_forgotten_already_costs_nothing(tmp_path: Path) -> None:
    """A client repeats what got no answer; groups, versions and the snapshot stay."""
    with SQLiteStore(tmp_path / "log.db") as store:
        e = opened(store, snapshot=tmp_path / "snapshot")
        for k in range(40):
            e.reward(e.decide(f"u{k % 4}").event, float(k % 2))
        e.forget("u3")
        for k in range(40):
            e.reward(e.decide(f"u{k % 3}").event, float(k % 2))
        e._snapshots.write(e._ledger, e._writer.so_far())
        e._snapshots.finish()
        before = bits(e), e.status(), e.activity().versions, e.groups()
        for nobody in ("u3", "never-seen", 7):
            e.forget(nobody)
        assert (bits(e), e.status(), e.activity().versions, e.groups()) == before
        assert (tmp_path / "snapshot").exists()
        e.close()


def test_who_was_decided_for_in_the_same_moment_is_known() -> None:
    """Their decision may not be written yet."""
    e = opened()
    with e.without_waiting():
        e.decide("ann", event="a")
    e.forget("ann")
    e._writer.so_far().result()
    assert not any(entry.user for _, entry in e._store.entries())


class Shaky(MemoryStore):
    """Fails once, at the write that is counted down to."""

    def __init__(self) -> None:
        super().__init__()
        self.left = -1

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise StoreError("the disk is full; nothing was written")

    def append(self, entries: Sequence[Entry]) -> int:
        self._count()
        return super().append(entries)

    def erase(self, user: Name) -> int:
        self._count()
        return super().erase(user)


@pytest.mark.parametrize("fails", [1, 2])
def test_a_crash_while_somebody_is_forgotten_does_no_harm(fails: int) -> None:
    """The only user there is, after fits: a log of fits of nothing must open, too."""
    store = Shaky()
    e = opened(store)
    for k in range(30):
        e.reward(e.decide("ann").event, float(k % 2))
    assert e.status().version > 0
    e._writer.so_far().result()
    store.left = fails
    with pytest.raises(StoreError):
        e.forget("ann")
    again = opened(store, arms=())
    again.forget("ann")
    assert again.evidence() == []
    assert not any(entry.user for _, entry in store.entries())
    again._writer.so_far().result()
    assert bits(opened(store, arms=())) == bits(again)
    e.decide("bob", event="after")  # the first one goes on, too


def test_a_snapshot_that_comes_back_brings_nobody_back(tmp_path: Path) -> None:
    """A power cut may undo the removal of a file; a backup may bring it back."""
    path = tmp_path / "clicks.db"
    with lb.open(path, ["red"], fits="inline") as e:
        e.reward(e.decide(SECRET).event, 1.0)
    old = (tmp_path / "clicks.db.snapshot").read_bytes()
    with lb.open(path, fits="inline") as e:
        e.forget(SECRET)
    (tmp_path / "clicks.db.snapshot").write_bytes(old)
    with lb.open(path, fits="inline") as e:
        assert e.evidence() == []
    assert not leaks(tmp_path)


def test_what_a_killed_process_left_of_a_snapshot_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "clicks.db"
    with lb.open(path, ["red"], fits="inline") as e:
        e.reward(e.decide(SECRET).event, 1.0)
    whole = (tmp_path / "clicks.db.snapshot").read_bytes()
    left = f".clicks.db.snapshot.{files._machine()}-{2**22 + 1}-1"  # no process has this number
    (tmp_path / left).write_bytes(whole)
    with lb.open(path, fits="inline") as e:
        e.forget(SECRET)
        assert not leaks(tmp_path)
