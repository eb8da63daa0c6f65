"""A disk in memory that outlives processes, as each of them sees it: alone, or shared in turns.

Each view fails by itself: it refuses to write, its process dies before or after a commit, or it
loses its sessions, as those of a database server do.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lumpable.base.units import Name
from lumpable.stores.in_memory import MemoryStore
from lumpable.stores.law import SharedStore, Store, StoreError
from lumpable.stores.log_entries import Entry


class Fault:
    """What happens to the next write, if anything."""

    REFUSED, CUT_BEFORE, CUT_AFTER = "refused", "cut before", "cut after"
    LOST_BEFORE, LOST_AFTER = "lost before", "lost after"


ALONE = (Fault.REFUSED, Fault.CUT_BEFORE, Fault.CUT_AFTER)
SHARED = (*ALONE, Fault.LOST_BEFORE, Fault.LOST_AFTER)


class Disk(MemoryStore):
    """What outlives processes: a log, what was put aside, and who has the turn."""

    def __init__(self) -> None:
        super().__init__(salt=lambda: b"salt")
        self.aside: dict[str, dict[str, bytes]] = {}
        self.turn: Shared | None = None
        self.elected: Shared | None = None
        self.freed = threading.Condition()

    def release(self, view: Shared) -> None:
        """Take turn and election from a process that ended or lost its session."""
        with self.freed:
            self.turn = None if self.turn is view else self.turn
            self.elected = None if self.elected is view else self.elected
            self.freed.notify_all()

    def wait(self, ready: Callable[[], bool]) -> None:
        """Wait as a thread does."""
        with self.freed:
            self.freed.wait_for(ready)


class Mounted(Store):
    """The disk as one process sees it: after a power cut nothing reaches it, or comes back."""

    def __init__(self, disk: Disk) -> None:
        self._disk, self.dead = disk, False
        self.next: str = ""
        """The fault of the next write."""

    def _for_reading(self) -> Disk:
        if self.dead:
            raise StoreError("the process is gone", "closed")
        return self._disk

    def _for_writing(self) -> Disk:
        if self.dead:
            raise StoreError("the process is gone", "closed")
        return self._disk

    def die(self) -> None:
        self.dead = True

    def lose(self) -> None:
        """Lose the session; a file has none."""

    def _write(self, change: Callable[[Disk], int]) -> int:
        disk, fault, self.next = self._for_writing(), self.next, ""
        if fault == Fault.REFUSED:
            raise StoreError("the disk is full; nothing was written", "full")
        after = fault in (Fault.CUT_AFTER, Fault.LOST_AFTER)
        result = change(disk) if after or not fault else 0
        if fault in (Fault.CUT_BEFORE, Fault.CUT_AFTER):
            self.die()
        elif fault:
            self.lose()
        if fault:
            raise StoreError(f"{fault} it was written", "away" if "lost" in fault else "disk")
        return result

    @property
    def last(self) -> int:
        return self._for_reading().last

    @property
    def settings(self) -> bytes:
        return self._for_reading().settings

    def configure(self, settings: bytes) -> None:
        self._for_reading().configure(settings)

    def append(self, entries: Sequence[Entry]) -> int:
        return self._write(lambda disk: disk.append(entries)) if entries else self.last

    def entries(self, after: int = 0) -> Iterator[tuple[int, Entry]]:
        return self._for_reading().entries(after)

    def about(self, event: str) -> list[tuple[int, Entry]]:
        return self._for_reading().about(event)

    def digest(self, number: int) -> bytes:
        return self._for_reading().digest(number)

    def ready_to_erase(self, user: Name) -> bool:
        return self._for_reading().ready_to_erase(user)

    def erase(self, user: Name) -> int:
        return self._write(lambda disk: disk.erase(user))

    def verify(self) -> list[Any]:
        return self._for_reading().verify()

    def close(self) -> None: ...


class Shared(Mounted, SharedStore):
    """The disk as one of several processes sees it, by two sessions: one reads, one writes.

    A session that is lost is an error once, and takes turn and election with it.
    """

    def __init__(
        self, disk: Disk, wait: Callable[[Callable[[], bool]], None] | None = None
    ) -> None:
        super().__init__(disk)
        self._wait = wait or disk.wait
        self.lost_reading = self.lost_writing = False
        self._has_turn = self._is_elected = False

    def _for_reading(self) -> Disk:
        if self.lost_reading:
            self.lost_reading = False
            raise StoreError("the session that reads was lost", "away")
        return super()._for_reading()

    def _for_writing(self) -> Disk:
        if self.lost_writing:
            self.lost_writing = self._has_turn = self._is_elected = False
            raise StoreError("the session that writes was lost", "away")
        return super()._for_writing()

    def die(self) -> None:
        super().die()
        self._disk.release(self)

    def lose(self) -> None:
        self.lost_writing = True
        self._disk.release(self)

    def close(self) -> None:
        self.die()

    # --- Turns --------------------------------------------------------------------------------

    def take_turn(self) -> None:
        disk = self._for_writing()
        if self._has_turn:
            raise AssertionError("it has the turn already")
        self._wait(lambda: self.dead or self.lost_writing or disk.turn is None)
        self._for_writing().turn, self._has_turn = self, True

    def end_turn(self) -> None:
        if self._has_turn:
            self._has_turn = False
            disk = self._for_writing()
            with disk.freed:
                disk.turn = None
                disk.freed.notify_all()

    def elected(self) -> bool:
        if not self._is_elected:
            disk = self._for_writing()
            disk.elected = disk.elected or self
            self._is_elected = disk.elected is self
        return self._is_elected

    def _write(self, change: Callable[[Disk], int]) -> int:
        self._for_writing()
        if not self._has_turn:
            raise StoreError("another process may write now", "busy")
        return super()._write(change)

    # --- Aside --------------------------------------------------------------------------------

    def put_aside(self, kind: str, content: bytes, most: int) -> str:
        held, name = self._for_reading().aside.setdefault(kind, {}), digest(content)
        held.pop(name, None)
        held[name] = bytes(content)
        for old in list(held)[:-most]:
            del held[old]
        return name

    def find_aside(self, kind: str, name: str = "") -> bytes | None:
        held = self._for_reading().aside.get(kind, {})
        return held.get(name or next(reversed(held), ""))

    def clear_aside(self) -> None:
        self._for_reading().aside.clear()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
