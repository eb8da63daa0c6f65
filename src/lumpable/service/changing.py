"""One change after the other: from a call to entries of the log, and to an answer.

Every call is worked out in memory under one lock, becomes entries of the log, and is answered when
they are durable. What is in memory is a function of the log: when a commit failed, it is made anew
from there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Self

from lumpable.base.errors import BadArgument
from lumpable.lumps.core.parts_compiled import of_fits, of_rounds
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.use.believer import Believer, FitInput
from lumpable.lumps.use.naming import Names
from lumpable.lumps.use.rewards import Accepted
from lumpable.service import asked
from lumpable.service.fits_beside import Fitter
from lumpable.service.following import OFTEN, SELDOM, Follower
from lumpable.service.ledger import Ledger
from lumpable.service.minds import warm_up
from lumpable.service.reading import Reading
from lumpable.service.settings import Settings
from lumpable.service.snapshots import Snapshots
from lumpable.service.turns import Turns
from lumpable.service.writer import Writer
from lumpable.stores.law import Store, StoreError, kind_of
from lumpable.stores.log_entries import Entry

PORTION = 50
"""Decisions whose windows have closed that one call looks at, however many there are."""


def now() -> int:
    """Return the time in microseconds since 1970."""
    return time.time_ns() // 1000


class Changing(Reading):
    """What every call of an experiment goes through; knows no call."""

    def __init__(
        self, store: Store, settings: Settings, fitter: Fitter, *, snapshot: Path | None = None,
        clock: Callable[[], int] = now, new_id: Callable[[], str] = asked.new_id,
        writer: Callable[[Store], Writer] = Writer,
    ) -> None:  # fmt: skip
        self.settings = settings
        self._store, self._fitter, self._new_id = store, fitter, new_id
        self._closed, self._doubtful = False, False
        """Doubtful: what is in memory may not be what the log says."""
        self._users, self._arms = Names("user"), Names("arm")
        self._accepted = Accepted.of(settings.rewards)
        """What names and rewards of callers are checked with."""
        self._own = threading.local()
        self._turns = Turns(store)
        self._snapshots = Snapshots(snapshot, store, settings)
        self._follower: Follower | None = None
        self._fitting: FitInput | None = None
        """What a fit is made of here, now."""
        self._clock = clock
        super().__init__(self._replay(), clock)
        self._turns.end()
        self._writer = writer(store)
        self._writer.on_idle = self._rest
        self._writer.start()
        try:
            self._start_fit()
        except BaseException:  # nobody gets it, and its thread ends
            self._writer.close()
            raise

    def _replay(self) -> Ledger:
        """Make the ledger of the log in a turn of this process: nobody is erased meanwhile."""
        if not self._turns.held:
            self._turns.take(self._clock())
        try:
            start = self._snapshots.read(self.settings)
            return Ledger.replay(self.settings, self._store, start, self._turns.find_fit)
        except BaseException:  # others must not wait for who cannot go on
            with suppress(StoreError):
                self._turns.end()
            raise

    # --- One change after the other ---------------------------------------------------------------

    @contextmanager
    def _changing(self) -> Iterator[list[Entry]]:
        """Collect the entries of a call, under the lock; then wait until they are durable.

        A call without any rests on what others handed in, maybe its first try: it waits for them.
        Entries are applied one by one as they are collected. Those of a call that failed half-way
        are as true as any, and are written, too; so a call checks everything before the first.
        """
        try:
            with self._lock:
                self._recover()
                self._take_turn()
                entries: list[Entry] = []
                try:  # as `_doubting`, which costs too much for every call
                    try:
                        self._settle(entries)
                        yield entries
                        if self._ledger.due() and self._turns.elected():
                            self._enter(entries, Entry(kind="taken", at=self._clock()))
                    except OSError:  # no file could be opened for what a call imports
                        entries.clear()
                        raise
                    finally:
                        done = self._writer.hand_in(entries) if entries else self._writer.so_far()
                except (BadArgument, StoreError):  # nothing was done, or the writer says so
                    raise
                except BaseException:
                    self._doubtful = True
                    raise
                self._start_fit()
                if self._snapshots.due(self._ledger) and self._turns.elected():
                    self._snapshots.write(self._ledger, self._writer.so_far())
        except OSError as error:
            raise StoreError(f"{error}; nothing was written", kind_of(error)) from error
        finally:
            self._rest()
        unwaited: list[Future[None]] | None = getattr(self._own, "unwaited", None)
        if unwaited is None:
            done.result()
        else:
            unwaited.append(done)

    @contextmanager
    def without_waiting(self) -> Iterator[list[Future[None]]]:
        """Let calls of this thread return at once; collect what says when each is durable.

        Nobody may be told the result of a call before that: a server answers many callers this way
        with one wait.
        """
        self._own.unwaited = collected = list[Future[None]]()
        try:
            yield collected
        finally:
            self._own.unwaited = None

    def _enter(self, entries: list[Entry], entry: Entry) -> None:
        """Apply an entry and collect it. As `_doubting`, which costs too much for every one."""
        try:
            self._ledger.apply(entry)
            entries.append(entry)
        except BaseException:
            self._doubtful = True
            raise

    @contextmanager
    def _doubting(self) -> Iterator[None]:
        """Doubt what is in memory if the block is cut off: by Ctrl-C, or by an error in it."""
        try:
            yield
        except BaseException:
            self._doubtful = True
            raise

    def _recover(self) -> None:
        """Go on from what is durable, if a commit failed or memory may differ from the log."""
        if self._closed:
            raise StoreError("the experiment is closed", "closed")
        if self._doubtful and self._writer.failure is None:
            self._writer.so_far().result()
        if self._doubtful or self._writer.failure is not None:
            with suppress(StoreError):  # it may be lost already
                self._turns.end()
            self._ledger = self._replay()
            self._doubtful = False
            self._writer.start_again()
            self._start_fit()

    def _settle(self, entries: list[Entry]) -> None:
        """Count the defaults of some decisions whose windows have closed; the next call goes on."""
        at = self._clock()
        for event in self._ledger.closing(at, PORTION):
            self._enter(entries, Entry(kind="expired", at=at, event=event))

    # --- Others who write -------------------------------------------------------------------------

    def _take_turn(self) -> None:
        """Have the turn, and know all that others wrote before it."""
        if self._turns.held:
            if not self._turns.too_long(self._clock()):
                return
            self._writer.so_far().result()
            self._turns.end()
        self._turns.take(self._clock())
        try:
            if self._store.last > self._ledger.number and self._notice():
                self._ledger = self._replay()
        except BaseException:  # a turn without all that was written is none
            with suppress(StoreError):
                self._turns.end()
            raise

    def _notice(self) -> bool:
        """Take notice of what others wrote; True: only until they forgot somebody.

        Who forgets erases before their turn ends: whether it is done, one knows in a turn only.
        Nothing of this process may be on its way.
        """
        new = list(self._store.entries(self._ledger.number))
        with self._doubting():
            for number, entry in new:
                if entry.kind == "forgot":
                    return True
                self._ledger.apply(entry, number)
        return False

    def _look(self) -> Ledger:
        """Return what is known now, also of what others wrote, if the store is there.

        What was refused is not shown: if memory may differ from the log, it is made anew first.
        """
        if self._closed:
            return self._ledger
        if self._doubtful or self._writer.failure is not None:
            self._recover()
            self._rest()
        elif not self._turns.held:
            with suppress(StoreError):
                self._notice()
        return self._ledger

    def _rest(self) -> None:
        """Give up the turn if nothing is left to write; whoever is at work does so afterwards."""
        if self._turns.shared and self._lock.acquire(blocking=False):
            try:
                if self._writer.idle:
                    with suppress(StoreError):  # then it is gone with the connection
                        self._turns.end()
            finally:
                self._lock.release()

    def follow(self) -> bool:
        """Take notice of what others wrote, and see to what is due, though nobody calls.

        Returns whether more is due by now.
        """
        with self._lock:
            self._recover()
            forgot = not self._turns.held and self._notice()
            self._start_fit()
            at = self._clock()
            due = self._ledger.due() or self._ledger.closes_before(at)
            due = forgot or (due and self._turns.elected())
        self._rest()
        if due:
            with self._changing():
                pass
            with self._lock:
                return self._ledger.closes_before(at)
        return False

    # --- Fits -------------------------------------------------------------------------------------

    def warm(self) -> None:
        """Compile what calls need, or load it from the disk; nobody who calls has to wait.

        Before, decisions and rewards are interpreted, to the same bits, and what else is called is
        compiled while its caller waits. The process that fits begins at the other end.
        """
        learner = self._learner()
        if not isinstance(learner, Believer):
            warm_up(learner, min(max(1.0, self._accepted.low), self._accepted.high))
            return
        self._fitter.prepare()
        for part in [*of_rounds(), *reversed(of_fits())]:
            if self._closed:
                return
            part.make()

    @property
    def failed_fits(self) -> int:
        """How often fits have failed since one was last made; decisions go on without them."""
        return self._fitter.failed

    def _start_fit(self) -> None:
        """Let what was taken be fitted, also if that was begun before a restart, or elsewhere."""
        taken = self._ledger.taken
        if taken is not None and taken is not self._fitting and self._turns.elected():
            self._fitting = taken
            self._fitter.start(taken, partial(self._adopt, taken))

    def _adopt(self, taken: FitInput, made: Fit) -> None:
        """Go on from a fit, if it is of what was taken last: what it saw may be lost by now."""
        try:
            packed = self._turns.pack(made)
            with self._lock:
                if self._closed or self._doubtful or self._writer.failure is not None:
                    return
                self._take_turn()
                ledger = self._ledger
                if ledger.taken is not taken or not self._turns.elected():
                    return
                # in the turn: whoever is forgotten is in no fit that is put aside
                kept, version = self._turns.keep_fit(packed), ledger.version + 1
                entry = Entry(kind="adopted", at=self._clock(), version=version, detail=kept)
                before = ledger.number
                try:
                    ledger.apply(entry, made=made)
                    self._writer.hand_in([entry])
                except BaseException as error:  # what cannot be adopted leaves all as it was
                    self._doubtful = not isinstance(error, Exception) or ledger.number > before
                    raise
        except Exception as error:
            self._fitting = None  # it is made once more as soon as the store is there
            if not isinstance(error, StoreError):  # a bug, which who makes fits counts
                raise
        finally:
            self._rest()

    @property
    def shared(self) -> bool:
        """Whether other processes may write to its store, too."""
        return self._turns.shared

    def keep_following(self) -> None:
        """From now on, follow what others write where others do, and let windows close in time."""
        if self._follower is None and self._turns.shared:
            self._follower = Follower(self.follow, OFTEN)
        elif self._follower is None and self.settings.window is not None:
            self._follower = Follower(self.follow, SELDOM)

    def close(self) -> None:
        """Write what was handed in and let go of the store; calling it twice is fine."""
        if self._follower is not None:
            self._follower.stop()
        with self._lock, ExitStack() as rest:
            if self._closed:
                return
            for last_first in (
                self._store.close, self._snapshots.finish, self._writer.close, self._fitter.close,
            ):  # fmt: skip
                rest.callback(last_first)
            self._closed = True  # whoever is cut off before this closes it another time
            sound = self._writer.failure is None and not self._doubtful
            if sound and self._snapshots.due(self._ledger, 1) and self._turns.elected():
                self._snapshots.write(self._ledger, self._writer.so_far())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
