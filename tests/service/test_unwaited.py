"""Calls that are not waited for, and answers that rest on what is not durable yet."""

from __future__ import annotations

import threading
from typing import Any

from kits.service import opened
from lumpable.stores.in_memory import MemoryStore
from lumpable.stores.law import StoreError


class Slow(MemoryStore):
    """A store whose next commit waits, and then fails."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.slow = False

    def append(self, entries: Any) -> int:
        if self.slow and entries:
            self.begun.set()
            assert self.go_on.wait(30)
            raise StoreError("disk full")
        return super().append(entries)


def test_a_repeat_is_not_answered_before_what_it_repeats_is_durable() -> None:
    store, said = Slow(), dict[str, str]()

    def ask(name: str) -> None:
        try:
            said[name] = e.decide("ann", event="e1").event
        except StoreError as error:
            said[name] = str(error)

    with opened(store) as e:
        store.slow = True
        first, again = (threading.Thread(target=ask, args=(name,)) for name in ("first", "again"))
        first.start()
        assert store.begun.wait(30)
        again.start()
        again.join(0.05)  # it would be answered by now, if nothing held it
        assert not said
        store.go_on.set()
        first.join()
        again.join()
        assert said == {"first": "disk full", "again": "disk full"}
        store.slow = False
        assert e.decide("ann", event="e1").event == "e1"


def test_calls_of_one_thread_can_be_waited_for_later() -> None:
    store = Slow()
    with opened(store) as e:
        store.slow = True
        with e.without_waiting() as handed_in:
            made = e.decide("ann", event="e1")
            assert store.begun.wait(30)
            assert not handed_in[0].done()
        store.go_on.set()
        assert isinstance(handed_in[0].exception(), StoreError)
        store.slow = False
        assert e.status().decisions == 0  # what was refused is not shown, ...
        with e.without_waiting() as handed_in:
            assert e.decide("ann", event="e1") == made
        assert handed_in[0].exception() is None  # ... and can be made anew
        assert e.reward("e1", 1.0) == "rewarded"
        assert e.status().decisions == 1
