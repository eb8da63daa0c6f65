"""A process of the service without threads: each call is a greenlet that stands still as it waits.

It waits for its commit, for a lock, or for the turn of its process. The simulator says who goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

from kits.service import Clock
from kits.simulated_clients import Request
from kits.simulated_disk import Disk, Mounted, Shared
from lumpable.base.units import Name
from lumpable.lumps.use.believer import FitInput
from lumpable.service.fits_beside import Done
from lumpable.service.live_experiment import LiveExperiment
from lumpable.service.settings import Settings
from lumpable.service.writer import Writer
from lumpable.stores.law import StoreError
from lumpable.stores.log_entries import Entry


def wait_for(ready: Callable[[], bool]) -> None:
    """Stand still until it is so, and the simulator goes on with this call."""
    while not ready():
        getcurrent().parent.switch(ready)


class Lock:
    """A lock of greenlets, which its owner may take again."""

    def __init__(self) -> None:
        self.owner: Any = None
        self._times = 0

    def acquire(self, blocking: bool = True) -> bool:
        me = getcurrent()
        if self.owner not in (None, me) and not blocking:
            return False
        wait_for(lambda: self.owner in (None, me))
        self.owner = me
        self._times += 1
        return True

    def release(self) -> None:
        self._times -= 1
        if not self._times:
            self.owner = None

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()


class Waited(Future[None]):
    """A commit: who waits for it stands still until the simulator goes on with them."""

    def result(self, timeout: float | None = None) -> None:
        if getcurrent().parent is not None:  # not in the thread that writes a snapshot
            wait_for(self.done)
        return super().result(timeout)


class Driven(Writer):
    """A writer without a thread: the simulator says when it commits."""

    def start(self) -> None: ...

    def hand_in(self, entries: Any) -> Future[None]:
        return self._waited(super().hand_in(entries))

    def so_far(self) -> Future[None]:
        return self._waited(super().so_far())

    def _waited(self, inner: Future[None]) -> Waited:
        done = Waited()

        def pass_on(made: Future[None]) -> None:
            error = made.exception()
            done.set_result(None) if error is None else done.set_exception(error)

        inner.add_done_callback(pass_on)
        return done

    def handed(self) -> list[Entry]:
        """Return what is not written yet."""
        return [entry for entries, _ in self._queue for entry in entries]

    def close(self) -> None:
        while self.commit():
            pass
        super().close()


class Fits:
    """Fits that wait until the simulator makes them, in any order."""

    failed = 0

    def __init__(self, allowed: Callable[[], None] = lambda: None) -> None:
        self.waiting: list[tuple[FitInput, Done]] = []
        self._allowed = allowed

    def prepare(self) -> None: ...

    def start(self, taken: FitInput, done: Done) -> None:
        self._allowed()
        self.waiting.append((taken, done))

    def close(self) -> None:
        self.waiting.clear()


@dataclass
class Running:
    """A call inside a process."""

    name: str
    call: greenlet
    last: int = 0
    """The last entry on the disk when it came in, ..."""
    forgets: Counter[Name] | None = None
    """... and how often each user had been forgotten."""
    request: Request | None = None
    ready: Callable[[], bool] = lambda: True
    failed: StoreError | None = None


class Worker:
    """One process, from its start to its end; `e` is there when it has read the log."""

    def __init__(
        self, name: int, disk: Disk, rules: Settings, clock: Clock, *, shared: bool,
        snapshot: Path | None = None,
    ) -> None:  # fmt: skip
        self.name, self.disk, self.rules, self.clock = name, disk, rules, clock
        self.store: Any = Shared(disk, wait_for) if shared else Mounted(disk)
        self.snapshot, self.fits, self.lock = snapshot, Fits(self._may_fit), Lock()
        self.calls: list[Running] = []
        self.e: LiveExperiment | None = None
        self.ending = False
        self.version = 0
        self.wrong = ""
        """What no process may do, and it did."""

    def boot(self) -> None:
        """Read the log: the first call of every process."""
        self.e = self.opened()
        self.e._lock = self.lock  # type: ignore[assignment]
        self.version = self.e._ledger.version

    def opened(self) -> LiveExperiment:
        return LiveExperiment(
            self.store, self.rules, self.fits, snapshot=self.snapshot, clock=self.clock,
            writer=Driven,
        )  # fmt: skip

    @property
    def up(self) -> bool:
        return self.e is not None and not self.ending and not self.store.dead

    @property
    def writer(self) -> Any:
        return None if self.e is None else self.e._writer

    @property
    def sound(self) -> bool:
        """Whether it knows how it stands: who lost its turn learns it when it writes."""
        if not self.up or self.writer.failure is not None:
            return False
        if getattr(self.store, "lost_writing", False):
            return False
        return not self.writer.handed() or getattr(self.store, "_has_turn", True)

    def commit(self) -> bool:
        """Write what was handed in; False: there was nothing."""
        if self.e is None or self.store.dead or not self.writer.commit():
            return False
        if self.writer.failure is not None:
            self.version = 0
        return True

    def die(self) -> None:
        """End at once: nobody who waits gets an answer."""
        self.store.die()
        calls, self.calls = self.calls, []
        for running in calls:
            with suppress(StoreError):
                running.call.throw(GreenletExit)

    def _may_fit(self) -> None:
        knows = isinstance(self.store, Shared) and not self.store.lost_writing
        if knows and self.disk.elected is not self.store:
            self.wrong = "it fits, and is not elected"
