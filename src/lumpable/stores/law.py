"""What every store promises. Knows entries, and nothing of what they mean to a learner."""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from lumpable.base.units import Name
from lumpable.stores.log_entries import Entry

Trouble = Literal[
    "full", "read-only", "disk", "files", "gone", "busy", "read", "damaged", "away", "closed",
    "decided", "other",
]  # fmt: skip
"""What went wrong: no space; no right to write; a disk that fails; too many open files; a file that
was removed or replaced; somebody else who writes, or who reads what is to be erased; not what was
written; a server that is not reached; a store that was closed; a second decision of an event; and
what nobody foresaw."""
OF_SYSTEM: dict[int, Trouble] = {
    errno.ENOSPC: "full", errno.EDQUOT: "full", errno.EROFS: "read-only", errno.EACCES: "read-only",
    errno.EPERM: "read-only", errno.EIO: "disk", errno.EMFILE: "files", errno.ENFILE: "files",
    errno.ESTALE: "gone",
}  # fmt: skip
"""What the numbers of the operating system's errors mean to a store."""


class StoreError(Exception):
    """The store could not do it: a full disk, a lost server. Nothing of it was done.

    It may be tried again when the cause is gone. `kind` says what went wrong, for programs, and
    `why` for people; `place`, a file or an address, is not for everybody.

    >>> print(StoreError("database or disk is full", "full", place="/srv/clicks.db"))
    /srv/clicks.db: database or disk is full
    """

    def __init__(self, why: str, kind: Trouble = "other", *, place: str = "") -> None:
        self.why, self.kind, self.place = why, kind, place
        super().__init__(f"{place}: {why}" if place else why)


def kind_of(error: OSError) -> Trouble:
    """Return what went wrong where the operating system says so."""
    return OF_SYSTEM.get(error.errno or 0, "other")


class AlreadyDecided(StoreError):
    """An event has a decision already; the batch was refused as a whole."""

    def __init__(self, why: str, kind: Trouble = "decided", *, place: str = "") -> None:
        super().__init__(why, kind, place=place)


@dataclass(frozen=True, slots=True)
class Damage:
    """A place where a store does not hold what was written."""

    where: str
    what: str


class Store(ABC):
    """A log that only grows, but for what is erased.

    1. `append` adds entries in this order, all of them or, with `StoreError`, none: also after a
       crash at any moment. When it returns they are durable: no crash or power cut loses them.
    2. Entries are numbered 1, 2, 3 .. without gaps, and read back in this order, as they were. (No
       text in them has a NUL character.)
    3. One decision an event: a second one is refused with `AlreadyDecided`.
    4. `erase` removes a user: no byte of the name or of their events stays in any file, and what
       remains is still verified. Their entries keep their numbers, and are read no more.
    5. `verify` finds every change that was made behind the store's back, down to a bit: in entries,
       also the last ones, in what is erased, in names, settings, tables and what is put aside. Only
       who makes all of it anew, digests and all, or puts an older copy there, is not found out.
    6. One process writes at a time. If it is not a `SharedStore`, another one is refused when it
       opens.
    7. Threads may share a store.
    """

    @property
    @abstractmethod
    def last(self) -> int:
        """The number of the last entry; 0: there is none."""

    @property
    @abstractmethod
    def settings(self) -> bytes:
        """What `configure` wrote last; empty: nothing."""

    @abstractmethod
    def configure(self, settings: bytes) -> None:
        """Keep settings, durably."""

    @abstractmethod
    def append(self, entries: Sequence[Entry]) -> int:
        """Add entries, durably; return the number of the last."""

    @abstractmethod
    def entries(self, after: int = 0) -> Iterator[tuple[int, Entry]]:
        """Yield the entries after a number, with theirs, in order; those that were erased are not.

        What is appended meanwhile may or may not come.
        """

    @property
    def arms(self) -> set[Name]:
        """The arms that entries name, or named before they were erased."""
        return {entry.arm for _, entry in self.entries() if entry.arm is not None}

    @abstractmethod
    def about(self, event: str) -> list[tuple[int, Entry]]:
        """Return the entries of an event, with their numbers, in order."""

    @abstractmethod
    def digest(self, number: int) -> bytes:
        """Return the digest of an entry, which stays when it is erased; empty: there is none."""

    @abstractmethod
    def ready_to_erase(self, user: Name) -> bool:
        """Return whether there is anything of a user; what one who was erased left is removed.

        `StoreError` if nobody could be erased now.
        """

    @abstractmethod
    def erase(self, user: Name) -> int:
        """Remove all entries of a user and of their events; return how many there were."""

    @abstractmethod
    def verify(self) -> list[Damage]:
        """Return every damage that can be found."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and locks; calling it twice is fine."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class SharedStore(Store):
    """A log that several processes write, one after the other; each reads what the others wrote.

    8. A process appends in its turn only, which it waits for, and holds until it gives it up, ends,
       or loses the store. What was written before the turn can be read in it, and nobody else
       writes meanwhile. Entries can be read at any time: always the first so many.
    9. At most one process at a time is elected. It stays so until it ends or loses the store.
    10. What is put aside is durable, is what was put there, and is a cache: it may be gone.
    """

    @abstractmethod
    def take_turn(self) -> None:
        """Wait for the turn of this process; it must not have it."""

    @abstractmethod
    def end_turn(self) -> None:
        """Let others write; without the turn, nothing happens."""

    @abstractmethod
    def elected(self) -> bool:
        """Whether this process is the elected one; if nobody is, it becomes it."""

    @abstractmethod
    def put_aside(self, kind: str, content: bytes, most: int) -> str:
        """Keep something for other processes, the newest `most` of a kind; return its name."""

    @abstractmethod
    def find_aside(self, kind: str, name: str = "") -> bytes | None:
        """Return what was put aside by this name, or the newest of the kind; None: it is gone."""

    @abstractmethod
    def clear_aside(self) -> None:
        """Remove all that was put aside: somebody in it is forgotten."""
