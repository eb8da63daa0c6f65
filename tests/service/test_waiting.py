"""Nobody is answered before what the answer rests on is durable."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import lumpable as lb
from kits.service import Clock, bits, opened
from lumpable.service import changing, following, ledger
from lumpable.service.changing import PORTION
from lumpable.service.live_experiment import LiveExperiment
from lumpable.stores.in_memory import MemoryStore
from lumpable.stores.law import StoreError
from lumpable.stores.log_entries import Entry


class Gated(MemoryStore):
    """Writes only while the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.broken = threading.Event(), False
        self.gate.set()

    def append(self, entries: Sequence[Entry]) -> int:
        assert self.gate.wait(60)
        if self.broken and entries:
            raise StoreError("the disk is gone; nothing was written")
        return super().append(entries)


@pytest.mark.parametrize(
    "call",
    [
        lambda e: e.decide("ann", event="mine"),
        lambda e: e.observe("ann", "red", event="mine"),
        lambda e: e.reward("early", 1.0, at=5.0),
        lambda e: e.activate("prefetched"),
        lambda e: e.add_arm("new"),
    ],
)
@pytest.mark.parametrize("broken", [False, True])
def test_a_repeated_call_waits_for_the_first(
    call: Callable[[LiveExperiment], Any], broken: bool
) -> None:
    """Who is impatient and asks again learns nothing that could still be lost."""
    store = Gated()
    with opened(store) as e, ThreadPoolExecutor(2) as callers:
        e.decide("bob", event="prefetched", activate=False)
        store.gate.clear()
        first = callers.submit(call, e)
        while e._store.last == e._ledger.number:  # until it is handed in
            threading.Event().wait(0.001)
        again = callers.submit(call, e)
        try:
            with pytest.raises(TimeoutError):
                again.result(0.05)
        finally:
            store.broken = broken
            store.gate.set()
        if broken:
            for answer in (first, again):
                with pytest.raises(StoreError, match="gone"):
                    answer.result(60)
            store.broken = False
            call(e)
        else:
            assert first.result(60) == again.result(60)
        assert store.last == e.status().entries


def test_many_windows_that_close_at_once_are_no_call_of_anybody() -> None:
    """Each call counts a portion of the defaults; whoever follows counts the rest."""
    clock = Clock()
    known: dict[str, Any] = {"window": 10, "default": 0.0}
    with opened(clock=clock, **known) as e:
        e.decide_many([f"u{k % 7}" for k in range(4 * PORTION)])
        clock.now += 11
        e.decide("ann")
        assert sum(times for *_, times in e.evidence()) == PORTION
        assert [e.follow() for _ in range(4)] == [True, True, False, False]
        assert sum(times for *_, times in e.evidence()) == 4 * PORTION
        assert e.status().waiting == 1
        e._writer.hand_in([]).result()  # nobody waits until a version that was adopted is durable
        assert bits(opened(e._store, clock, arms=(), **known)) == bits(e)


def test_windows_close_though_nobody_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is open, and when it is opened again."""
    monkeypatch.setattr(changing, "SELDOM", 0.01)
    path = tmp_path / "clicks.db"
    with lb.open(path, ["red"], window=0.05, default=0.0, fits="inline") as e:
        e.decide("ann")
        until(lambda: e.evidence() == [("ann", "red", 0, 1)])
    monkeypatch.setattr(changing, "SELDOM", 1e6)
    with lb.open(path, fits="inline") as e:
        e.decide("ann")
    monkeypatch.setattr(changing, "SELDOM", 0.01)
    with lb.open(path, fits="inline") as e:
        until(lambda: e.evidence() == [("ann", "red", 0, 2)])


def until(ready: Callable[[], bool]) -> None:
    for _ in range(6_000):
        if ready():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not come in a minute")


def test_a_window_is_not_forgotten_while_the_log_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ledger, "MOST_EVENTS", 0)
    monkeypatch.setattr(ledger, "AT_A_TIME", 3)
    clock = Clock()
    with opened(clock=clock, window=10, default=0.0, arms=("red",)) as e:
        e.decide_many(["ann", "bob", "cid"])
        clock.now += 11

        def gone(*_: Any) -> Any:
            raise StoreError("the disk is gone")

        with monkeypatch.context() as patch:
            patch.setattr(e._ledger, "_lookup", gone)
            e._ledger.events.clear()
            e._ledger._let_go = True
            with pytest.raises(StoreError, match="gone"):
                e.add_arm("red")
        e.add_arm("red")
        assert [row[0] for row in e.evidence()] == ["ann", "bob", "cid"]


def test_a_follower_is_patient_with_a_store_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = list[float]()

    def follow() -> bool:
        if len(waits) in (2, 3, 4):
            raise StoreError("the disk is gone")
        return len(waits) == 6

    class Stopped:
        def wait(self, seconds: float) -> bool:
            waits.append(seconds)
            return len(waits) > 8

        def set(self) -> None: ...

    threads = SimpleNamespace(Event=Stopped, Thread=threading.Thread)
    monkeypatch.setattr(following, "threading", threads)
    following.Follower(follow, 4.0).stop()
    assert waits == [4.0, 4.0, 8.0, 10.0, 10.0, 4.0, following.BREATH, 4.0, 4.0]


def test_events_that_are_heard_of_again_and_again_keep_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Memory holds the newest events, however old some of them are."""
    monkeypatch.setattr(ledger, "MOST_EVENTS", 8)
    with opened(repeated="last") as e:
        for k in range(60):
            e.decide(f"u{k % 5}", event=f"{k}")
            for old in ("0", "1"):
                e.reward(old, float(k % 2), at=10.0 + k)
        assert len(e._ledger.events) <= 10
        assert sum(times for *_, times in e.evidence()) == 2
        assert bits(opened(e._store, arms=(), repeated="last")) == bits(e)
