"""Many callers, one writer: what they hand in while a commit runs goes into the next one.

Nobody is answered before what they handed in is durable. If a commit fails, so does everything
that was handed in after it: it may rest on what was lost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from lumpable.stores.law import Store, StoreError
from lumpable.stores.log_entries import Entry

MOST = 10_000
"""Entries of one commit, about."""
Handed = tuple[Sequence[Entry], "Future[None]"]
"""What somebody handed in, and when it is durable."""


class Writer:
    """Appends to a store what others hand in, in this order, in a thread of its own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ready = threading.Condition()
        self._queue: list[Handed] = []
        self._latest: Future[None] = Future()
        self._latest.set_result(None)
        self._failure: StoreError | None = None
        self._closing = False
        self._thread: threading.Thread | None = None
        self.on_idle: Callable[[], None] = lambda: None
        """Called when all that was handed in is written."""

    def start(self) -> None:
        """Begin to work."""
        self._thread = threading.Thread(target=self._run, name="lumpable writer", daemon=True)
        self._thread.start()

    def hand_in(self, entries: Sequence[Entry]) -> Future[None]:
        """Let entries be appended; the result is there when they are durable."""
        done: Future[None] = Future()
        with self._ready:
            if self._failure is not None:
                done.set_exception(self._failure)
            elif self._closing:
                done.set_exception(StoreError("the experiment is closed"))
            else:
                self._queue.append((entries, done))
                self._latest = done
                self._ready.notify()
        return done

    def so_far(self) -> Future[None]:
        """Return when all that was handed in is durable: who repeats a call waits for the first."""
        with self._ready:
            return self._latest

    @property
    def idle(self) -> bool:
        """Whether all that was handed in is written, or lost."""
        return self._latest.done()

    @property
    def failure(self) -> StoreError | None:
        """What went wrong; None: nothing."""
        return self._failure

    def start_again(self) -> None:
        """Take entries again after a failure."""
        with self._ready:
            self._failure, self._latest = None, Future()
            self._latest.set_result(None)

    def _run(self) -> None:
        while True:
            with self._ready:
                self._ready.wait_for(lambda: self._queue or self._closing)
            if not self.commit():
                return

    def commit(self) -> bool:
        """Append what was handed in, in one commit; False: there was nothing."""
        batch = self._next()
        if not batch:
            return False
        try:
            self._store.append([entry for handed, _ in batch for entry in handed])
        except BaseException as error:
            self._fail(batch, error)
        else:
            for _, done in batch:
                done.set_result(None)
        if self.idle:
            self.on_idle()
        return True

    def _next(self) -> list[Handed]:
        with self._ready:
            size = taken = 0
            while taken < len(self._queue) and size < MOST:
                size += len(self._queue[taken][0])
                taken += 1
            batch, self._queue = self._queue[:taken], self._queue[taken:]
            return batch

    def _fail(self, batch: list[Handed], error: BaseException) -> None:
        failure = error if isinstance(error, StoreError) else StoreError(f"not written: {error!r}")
        with self._ready:
            self._failure = failure
            lost, self._queue = batch + self._queue, []
        for _, done in lost:
            done.set_exception(failure)

    def close(self) -> None:
        """Write what was handed in, and stop."""
        with self._ready:
            self._closing = True
            self._ready.notify()
        if self._thread is not None:
            self._thread.join()
