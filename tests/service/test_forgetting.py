"""Who is forgotten is gone: from memory, from every file, and after every kind of accident."""

from __future__ import annotations

from pathlib import Path

import pytest

import lumpable as lb
from kits.service import Clock, bits, opened
from lumpable.service import ledger
from lumpable.stores.in_memory import MemoryStore

SECRET = "zanzibar-ann"


def leaks(folder: Path) -> list[str]:
    return [p.name for p in folder.iterdir() if SECRET.encode() in p.read_bytes()]


def test_a_user_of_a_snapshot_who_had_no_reward_is_forgotten(tmp_path: Path) -> None:
    """Their events are not in memory: what is under way and what will close must go all the same."""
    path = tmp_path / "clicks.db"
    with lb.open(path, ["red"], window=1e6, default=0.0, fits="at once") as e:
        e.decide(SECRET, event=f"{SECRET}/1")
    assert leaks(tmp_path)
    with lb.open(path, fits="at once") as e:
        e.forget(SECRET)
        assert e.status().waiting == 0
        live = bits(e)
    assert not leaks(tmp_path)
    with lb.open(path, fits="at once") as e:
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
