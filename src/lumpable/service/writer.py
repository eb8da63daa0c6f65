"""Many callers, one writer: what they hand in while a commit runs goes into the next one.

Nobody is answered before what they handed in is durable. If a commit fails, so does everything
that was handed in after it: it may rest on what was lost.

Ctrl-C may cut off a caller between any two steps of Python, also inside Python's own `Condition`
and `Future`, which then leave a lock that nobody opens again, or wake nobody. So callers touch only
what is made of C: plain locks, one append to a list, and a bell that is rung again by who waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue

from lumpable.stores.law import Store, StoreError
from lumpable.stores.log_entries import Entry

MOST = 10_000
"""Entries of one commit, about."""
Handed = tuple[Sequence[Entry], "Future[None]"]
"""What somebody handed in, and when it is durable."""


class Durable(Future[None]):
    """When something is durable: a future that somebody who waits may be torn away from."""

    def __init__(self) -> None:
        super().__init__()
        self._over, self._failed = False, None
        self._gate = threading.Lock()
        """Open when it is over."""
        self._gate.acquire()

    _failed: BaseException | None

    def done(self) -> bool:
        """Whether it is over."""
        return self._over

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait, and return why it failed; None: it did not."""
        if not self._over and timeout is None:
            with self._gate:  # shut again behind whoever passes it
                pass
        elif not self._over:
            if not self._gate.acquire(timeout=max(0.0, timeout or 0.0)):
                raise TimeoutError
            self._gate.release()
        return self._failed

    def result(self, timeout: float | None = None) -> None:
        """Wait, and raise why it failed."""
        failed = self.exception(timeout)
        if failed is not None:
            raise failed

    def set_result(self, result: None) -> None:
        """Let all go on who wait."""
        self._over = True
        self._gate.release()
        super().set_result(result)

    def set_exception(self, exception: BaseException | None) -> None:
        """Let all fail who wait."""
        self._failed, self._over = exception, True
        self._gate.release()
        super().set_exception(exception)


def durable() -> Durable:
    """Return something that is durable already."""
    done = Durable()
    done.set_result(None)
    return done


class Writer:
    """Appends to a store what others hand in, in this order, in a thread of its own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock, self._bell = threading.Lock(), SimpleQueue[None]()
        self._queue: list[Handed] = []
        self._latest: Future[None] = durable()
        """The last that was taken out of the queue."""
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
        done = Durable()
        with self._lock:
            if self._failure is not None:
                done.set_exception(self._failure)
            elif self._closing:
                done.set_exception(StoreError("the experiment is closed", "closed"))
            else:
                self._queue.append((entries, done))
        self._bell.put(None)
        return done

    def so_far(self) -> Future[None]:
        """Return when all that was handed in is durable: who repeats a call waits for the first."""
        self._bell.put(None)  # maybe who handed it in was cut off before
        with self._lock:
            return self._queue[-1][1] if self._queue else self._latest

    @property
    def idle(self) -> bool:
        """Whether all that was handed in is written, or lost."""
        return not self._queue and self._latest.done()

    @property
    def failure(self) -> StoreError | None:
        """What went wrong; None: nothing."""
        return self._failure

    def start_again(self) -> None:
        """Take entries again after a failure."""
        with self._lock:
            self._latest = durable()
            self._failure = None

    def _run(self) -> None:
        while True:
            self._bell.get()
            while self.commit():
                pass
            if self._closing and not self._queue:
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
        with self._lock:
            size = taken = 0
            while taken < len(self._queue) and size < MOST:
                size += len(self._queue[taken][0])
                taken += 1
            batch = self._queue[:taken]
            if batch:  # first: who looks whether all is written does not take the lock
                self._latest = batch[-1][1]
            self._queue = self._queue[taken:]
            return batch

    def _fail(self, batch: list[Handed], error: BaseException) -> None:
        if isinstance(error, StoreError):
            failure = error
        else:
            failure = StoreError(f"not written: {error!r}", "other")
            failure.__cause__ = error
        with self._lock:
            self._failure = failure
            lost, self._queue = batch + self._queue, []
        for _, done in lost:
            done.set_exception(failure)

    def close(self) -> None:
        """Write what was handed in, and stop."""
        with self._lock:
            self._closing = True
        self._bell.put(None)
        if self._thread is not None:
            self._thread.join()
