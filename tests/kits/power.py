"""A disk that loses power: what was not synced is lost, torn, or there, sector by sector.

SQLite runs on it through `apsw`, whose files are our own; the store is the one that everybody uses,
with two connections that share SQLite's index of the log in memory, which a cut leaves nothing of.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw

from lumpable.stores import checkpoints
from lumpable.stores.in_sqlite import SQLiteStore
from lumpable.stores.law import StoreError

SECTOR = 512
OURS = {apsw.IOError: sqlite3.SQLITE_IOERR, apsw.FullError: sqlite3.SQLITE_FULL}
"""Errors that the disk raises, which have no code yet."""
_names = itertools.count()


class PowerCut(Exception):
    """Nothing happens any more."""


class Sectors:
    """A file: what is durable, and what was written since the last sync."""

    def __init__(self) -> None:
        self.durable, self.pending = bytearray(), list[tuple[int, bytes | None]]()

    def sync(self) -> None:
        for at, data in self.pending:
            put(self.durable, at, data)
        self.pending.clear()

    def after_a_cut(self, rng: random.Random) -> bytes:
        """Return what is found: each unsynced sector is there, missing, or torn."""
        found = bytearray(self.durable)
        for at, data in self.pending:
            if data is None:
                if rng.random() < 0.5:
                    put(found, at, None)
                continue
            for start in range(0, len(data), SECTOR):
                part, fate = data[start : start + SECTOR], rng.random()
                if fate < 0.45:
                    put(found, at + start, part)
                elif fate < 0.6:
                    put(found, at + start, part[: rng.randrange(len(part) + 1)])
        return bytes(found)


def put(content: bytearray, at: int, data: bytes | None) -> None:
    """Write bytes at a place; None: cut the file there."""
    if data is None:
        del content[at:]
    elif data:
        content.extend(bytes(max(0, at - len(content))))
        content[at : at + len(data)] = data


class Disk:
    """All files of a machine, until the power is cut after so many writes and syncs."""

    def __init__(self, cut_after: int | None = None, fails: frozenset[int] = frozenset()) -> None:
        self.files: dict[str, Sectors] = {}
        self.left, self.steps, self.fails = cut_after, 0, fails
        """Steps until the power is cut, taken so far, and those that fail once."""
        self.full = self.cut = False
        self.meanwhile: Callable[[], None] = lambda: None
        """What others do before the next step."""
        self.name = f"power {next(_names)}"
        self._vfs = _VFS(self)

    def step(self) -> None:
        """Count a write or a sync, which may not happen."""
        self.meanwhile()
        self.steps += 1
        if self.left is not None:
            self.left -= 1
            self.cut = self.cut or self.left < 0
        if self.cut or self.steps in self.fails:
            raise apsw.IOError()
        if self.full:
            raise apsw.FullError()

    def left_in(self, folder: Path, rng: random.Random) -> None:
        """Write what is found after the cut."""
        for name, sectors in self.files.items():
            (folder / Path(name).name).write_bytes(sectors.after_a_cut(rng))

    @contextlib.contextmanager
    def used(self, monkeypatch: Any) -> Iterator[None]:
        """Let stores be on this disk."""
        with monkeypatch.context() as here:
            here.setattr(sqlite3, "connect", lambda path, **_: Connection(path, self.name))
            yield


class Beside:
    """Checkpoints as they are made beside the writer, but when luck says so: no thread decides.

    Each is made later than the commit that asked for it, and others may commit between its writes.
    The power may be cut in the middle of one.
    """

    def __init__(self, disk: Disk, rng: random.Random, cut_in: int | None) -> None:
        self.begun = self.whole = self.overtaken = 0
        """How many were begun and made whole, and commits that came in the middle of one."""
        self.cut = False
        """Whether the power was cut in one."""
        self._disk, self._rng, self._cut_in = disk, rng, cut_in
        self._asked: list[Callable[[], None]] = []

    @contextlib.contextmanager
    def used(self, monkeypatch: Any, step: int, longest: int) -> Iterator[None]:
        """Let stores make them this way, one in so many pages."""
        with monkeypatch.context() as here:
            here.setattr(checkpoints, "STEP", step)
            here.setattr(checkpoints, "LONGEST", longest)
            fake = SimpleNamespace(Thread=self._thread, Lock=threading.Lock)
            here.setattr(checkpoints, "threading", fake)
            yield

    def _thread(self, *, target: Callable[[], None], **_: Any) -> Any:
        return SimpleNamespace(start=lambda: self._asked.append(target))

    def turn(self, store: SQLiteStore, commit: Callable[[], None]) -> None:
        """Maybe make what was asked for, while others commit."""
        if not self._asked or self._rng.random() < 0.3:
            return
        self.begun += 1
        if self._cut_in is not None and self.begun == self._cut_in:
            self._disk.left = self._rng.randrange(8)
        self._disk.meanwhile = lambda: self._between(store, commit)
        try:
            self._asked.pop()()
        finally:
            self._disk.meanwhile = lambda: None
        self.cut = self._disk.cut
        self.whole += not self.cut

    def _between(self, store: SQLiteStore, commit: Callable[[], None]) -> None:
        """Commit between two writes, unless the writer is held up, or has no power."""
        if not (self._disk.cut or store._lock._is_owned()) and self._rng.random() < 0.2:  # type: ignore[attr-defined]
            self.overtaken += 1
            usual, self._disk.meanwhile = self._disk.meanwhile, lambda: None
            with contextlib.suppress(StoreError):  # there was no power left for it
                commit()
            self._disk.meanwhile = usual


class _VFS(apsw.VFS):
    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        super().__init__(disk.name, "unix")

    def excepthook(self, *_: Any) -> bool:
        """Say nothing of errors that SQLite was told of, too."""
        return True

    def xOpen(self, name: Any, flags: list[int]) -> _File:
        return _File(self.disk, name, flags)

    def xDelete(self, name: str, sync: bool) -> None:
        self.disk.step()
        super().xDelete(name, sync)
        self.disk.files.pop(name, None)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        own = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        self._disk, self._sectors = disk, disk.files.setdefault(own, Sectors())

    def excepthook(self, *_: Any) -> bool:
        """Say nothing of errors that SQLite was told of, too."""
        return True

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.step()
        self._sectors.pending.append((offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:
        self._disk.step()
        self._sectors.pending.append((size, None))
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:
        self._disk.step()
        self._sectors.sync()  # the real disk need not wait


class Connection:
    """The part of `sqlite3.Connection` that a store uses, on another SQLite."""

    def __init__(self, path: str, vfs: str) -> None:
        with _as_usual():
            made = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
            self._db = apsw.Connection(path, vfs=vfs, flags=made)

    def execute(self, query: str, given: Any = ()) -> Rows:
        with _as_usual():
            return Rows(list(self._db.execute(query, given or None)))

    def executemany(self, query: str, rows: Iterable[Any]) -> None:
        with _as_usual():
            self._db.executemany(query, list(rows))

    def executescript(self, script: str) -> None:
        self.execute(script)

    @property
    def in_transaction(self) -> bool:
        return self._db.in_transaction

    def close(self) -> None:
        with _as_usual():
            self._db.close(True)


class Rows(list[Any]):
    def fetchall(self) -> list[Any]:
        return self

    def fetchone(self) -> Any:
        return self[0] if self else None


@contextlib.contextmanager
def _as_usual() -> Iterator[None]:
    """Raise the errors that the usual module raises."""
    try:
        yield
    except apsw.ConstraintError as error:
        raise sqlite3.IntegrityError(str(error)) from error
    except apsw.Error as error:
        usual = sqlite3.OperationalError(f"{type(error).__name__} {error}")
        usual.sqlite_errorcode = OURS.get(type(error)) or vars(error)["result"]
        raise usual from error
