"""Snapshots: a ledger in a file of its own, so that a long log need not be replayed from its start.

A snapshot holds nothing that the log does not. One that is missing, damaged, of another log or of
another version costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Protocol

import msgspec

from lumpable.base import files
from lumpable.base.errors import BadArgument
from lumpable.lumps.use.believer import Believer
from lumpable.service.ledger import Kept, Ledger
from lumpable.service.settings import LASTING, Settings, rewards_for_learner
from lumpable.stores.law import SharedStore, Store, StoreError, kind_of

EVERY = 50_000
"""Entries after which another snapshot is written."""


class Snapshot(msgspec.Struct, forbid_unknown_fields=True):
    """What a snapshot holds beside the learner."""

    mark: str
    """The store's digest of the last entry that is in it."""
    settings: str
    """Of what the entries came to."""
    kept: Kept


class Place(Protocol):
    """Where snapshots are."""

    def write(self, learner: Believer, said: bytes) -> None:
        """Keep a snapshot instead of the one before."""

    def read(self) -> tuple[Believer, bytes] | None:
        """Return it; None: there is none."""

    def remove(self) -> None:
        """Keep it no more."""


class InFile:
    """One in a file beside the store's, after the digest of all its bytes."""

    BEGINS, BEGAN = b"lumpable snapshot, sha256:", b"PK\x03\x04"
    """The second: a file of an earlier version, whose parts have checksums of their own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, learner: Believer, said: bytes) -> None:
        """Write the file whole."""
        held = learner.to_bytes(said)
        with files.replacing(self._path, mode=0o600) as file:
            file.write(self.BEGINS + hashlib.sha256(held).digest())
            file.write(held)

    def read(self) -> tuple[Believer, bytes] | None:
        """Read the file."""
        try:
            held = self._path.read_bytes()
        except FileNotFoundError:
            return None
        if not held.startswith(self.BEGAN):
            end = len(self.BEGINS) + 32
            digest = hashlib.sha256(memoryview(held)[end:]).digest()
            if held[:end] != self.BEGINS + digest:
                raise BadArgument("path", why=f"{str(self._path)!r} is not what was written")
        return Believer.from_bytes(held)

    def remove(self) -> None:
        """Remove the file, durably."""
        try:
            files.remove(self._path)
        except OSError as error:
            why = f"{error}; nothing was erased"
            raise StoreError(why, kind_of(error), place=str(self._path)) from error


class InStore:
    """One that is put aside in a store, where all who share it find it."""

    KIND, KEPT = "snapshot", 1

    def __init__(self, store: SharedStore) -> None:
        self._store = store

    def write(self, learner: Believer, said: bytes) -> None:
        """Put it aside."""
        self._store.put_aside(self.KIND, learner.to_bytes(said), self.KEPT)

    def read(self) -> tuple[Believer, bytes] | None:
        """Return what was put aside last."""
        held = self._store.find_aside(self.KIND)
        return None if held is None else Believer.from_bytes(held)

    def remove(self) -> None:
        """Remove all that is put aside: fits saw whom snapshots saw."""
        self._store.clear_aside()


class Snapshots:
    """Writes and reads the snapshot of a store; without a place it does nothing."""

    def __init__(self, path: Path | None, store: Store, settings: Settings) -> None:
        self._place: Place | None = None if path is None else InFile(path)
        if isinstance(store, SharedStore):
            self._place = InStore(store)
        self._store = store
        self._settings = _digest_of(settings)
        self._last = 0
        self._writing: threading.Thread | None = None

    def due(self, ledger: Ledger, every: int = EVERY) -> bool:
        """Whether it is time for another one: never while a fit is due or made; only of Lumps."""
        idle = self._writing is None or not self._writing.is_alive()
        return self._place is not None and idle and ledger.number >= self._last + every and (
            ledger.taken is None and not ledger.due() and isinstance(ledger.learner, Believer)
        )  # fmt: skip

    def write(self, ledger: Ledger, durable: Future[None]) -> None:
        """Write a snapshot beside, as soon as all that is in it is durable."""
        learner, kept = copy.deepcopy(ledger.learner), ledger.to_keep()
        assert isinstance(learner, Believer)
        self._last = ledger.number
        self._writing = threading.Thread(target=self._write, args=(learner, kept, durable))
        self._writing.start()

    def _write(self, learner: Believer, kept: Kept, durable: Future[None]) -> None:
        if self._place is None or durable.exception() is not None:
            return
        with contextlib.suppress(OSError, StoreError):  # a full disk: it costs time, nothing else
            mark = self._store.digest(kept.number).hex()
            snapshot = Snapshot(mark, self._settings, kept)
            self._place.write(learner, msgspec.json.encode(snapshot))
            if self._forgot_since(kept.number):  # another process did, meanwhile
                self._place.remove()

    def _forgot_since(self, number: int) -> bool:
        return any(entry.kind == "forgot" for _, entry in self._store.entries(number))

    def read(self, settings: Settings) -> Ledger | None:
        """Return the ledger of a snapshot that fits the store; None: there is none."""
        try:
            found = None if self._place is None else self._place.read()
            if found is None:
                return None
            learner, said = found
            snapshot = msgspec.json.decode(said, type=Snapshot)
            if snapshot.settings != self._settings or snapshot.kept.number > self._store.last:
                return None
            if snapshot.kept.history.tells_less():
                return None
            if self._store.digest(snapshot.kept.number).hex() != snapshot.mark:
                return None
        except (BadArgument, OSError, msgspec.MsgspecError):
            return None
        if self._forgot_since(snapshot.kept.number):
            with contextlib.suppress(StoreError):
                self.remove()  # it came back from the dead, with somebody who was forgotten since
            return None
        self._last = snapshot.kept.number
        return Ledger.of(settings, self._store.about, learner, snapshot.kept)

    def remove(self) -> None:
        """Remove the snapshot, for good: somebody in it is forgotten."""
        self.finish()
        self._last = 0
        if self._place is not None:
            self._place.remove()

    def finish(self) -> None:
        """Wait for one that is being written."""
        if self._writing is not None:
            self._writing.join()


def _digest_of(settings: Settings) -> str:
    """Return what stands for all that entries and the learner's own checks depend on."""
    given = {name: getattr(settings, name) for name in (*LASTING, "at_most")}
    told = given | {"rewards": rewards_for_learner(settings)}
    return hashlib.sha256(msgspec.json.encode(list(told.values()))).hexdigest()


def problem(path: Path, store: Store) -> str:
    """Say what is wrong with the snapshot of a store; nothing if all is well, or there is none."""
    try:
        found = InFile(path).read()
        if found is None:
            return ""
        snapshot = msgspec.json.decode(found[1], type=Snapshot)
    except (BadArgument, OSError, msgspec.MsgspecError) as error:
        return str(error)
    if store.digest(snapshot.kept.number).hex() != snapshot.mark:
        return "it is not of this log"
    return ""
