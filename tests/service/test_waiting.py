"""Nobody is answered before what the answer rests on is durable."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kits.service import bits, opened
from lumpable.service import ledger
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
