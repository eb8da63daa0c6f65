"""Checkpoints are made beside the writer: no commit makes one, and no promise suffers."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kits.stores import decided, rewarded
from lumpable.stores import checkpoints
from lumpable.stores.checkpoints import Checkpoints
from lumpable.stores.in_sqlite import SQLiteStore

SECRET = "zanzibar-ann"


def at_every(step: int, longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "STEP", step)
    monkeypatch.setattr(checkpoints, "LONGEST", longest)


def rest(store: SQLiteStore) -> None:
    """Wait until none is being made."""
    for thread in threading.enumerate():
        if thread.name == "lumpable checkpoint":
            thread.join()
    assert store._checkpoints is not None
    assert not store._checkpoints._making


def in_the_main_file(path: Path, to: Path) -> int:
    """Return how many entries are found without the write-ahead log."""
    to.mkdir()
    shutil.copy(path, to)
    with SQLiteStore(to / path.name) as store:
        assert not store.verify()
        return store.last


def test_no_commit_makes_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_every(40, 10**9, monkeypatch)
    with SQLiteStore(tmp_path / "log.db") as store:
        assert store._rows("PRAGMA wal_autocheckpoint") == [(0,)]
        for k in range(300):
            store.append([decided(f"{k}", f"u{k % 9}")])
        rest(store)
        last = store.last
        assert 10 <= in_the_main_file(store.path, tmp_path / "copy") <= last
        assert list(store.entries())[-1][0] == last
    with SQLiteStore(tmp_path / "log.db") as store:
        assert not store.verify()
        assert store.last == 300


def test_a_log_that_is_long_is_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if something is committed during each: then the writer is held up for another one."""
    at_every(40, 100, monkeypatch)
    once, beside = Checkpoints._copy_pages, list[int]()

    def while_somebody_writes(self: Checkpoints) -> int:
        pages = once(self)
        if not self._writing._is_owned():  # type: ignore[attr-defined]
            beside.append(pages)
            store.append([decided(f"meanwhile {len(beside)}")])
        return pages

    monkeypatch.setattr(Checkpoints, "_copy_pages", while_somebody_writes)
    with SQLiteStore(tmp_path / "log.db") as store:
        for k in range(600):
            store.append([decided(f"{k}", f"u{k % 9}")])
            if k % 20 == 19:
                rest(store)
        assert len(beside) >= 30
        assert max(beside) > 100
        assert Path(f"{store.path}-wal").stat().st_size < 4_200 * (100 + 30 * 10)  # at most 10 each
        assert not store.verify()


def test_one_begins_only_when_something_was_committed_since_the_last() -> None:
    """While the log is all in the main file a writer begins it again, and nobody may look then."""
    made, go = list[str](), threading.Semaphore(0)

    class Slow:
        def execute(self, query: str) -> Any:
            made.append(query)
            go.acquire()
            return self

        def fetchone(self) -> tuple[int, int, int]:
            return 0, 10, 10

        def close(self) -> None: ...

    writing = threading.RLock()
    beside = Checkpoints(Slow(), writing)  # type: ignore[arg-type]

    def write() -> None:
        with writing:
            beside.wrote(checkpoints.STEP)

    try:
        write()
        for _ in range(5):
            write()  # while it is made: it may be in it or not, so it does not count
        go.release()
        for thread in threading.enumerate():
            if thread.name == "lumpable checkpoint":
                thread.join()
        with writing:
            beside.wrote(0)
        assert len(made) == 1
        write()
        go.release()
        beside.close()
        assert len(made) == 2
        write()
        assert len(made) == 2  # none when it is closed
    finally:
        go.release(100)


def test_nobody_is_left_in_a_file_while_they_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To erase empties the log, which a checkpoint beside it would keep it from."""
    at_every(1, 1, monkeypatch)
    with SQLiteStore(tmp_path / "log.db") as store:
        for life in range(60):
            for k in range(4):
                store.append([decided(f"{life}/{SECRET}/{k}", SECRET), decided(f"{life}/{k}")])
            assert store.erase(SECRET) == 4
            held = {path.name: path.read_bytes() for path in tmp_path.iterdir() if life % 20 == 19}
            assert all(SECRET.encode() not in content for content in held.values()), held.keys()
        assert not store.verify()


@contextmanager
def failing(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    class Full:
        def execute(self, *_: object) -> None:
            raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(store._checkpoints, "_db", Full())
        yield
        rest(store)


def test_one_that_fails_harms_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_every(8, 100, monkeypatch)
    with SQLiteStore(tmp_path / "log.db") as store:
        with failing(store, monkeypatch):
            for k in range(50):
                store.append([decided(f"{k}"), rewarded(f"{k}", k)])
        assert store.last == 100
        for k in range(50, 60):
            store.append([decided(f"{k}"), rewarded(f"{k}", k)])
        rest(store)
        assert in_the_main_file(store.path, tmp_path / "copy") >= 100
        assert not store.verify()


def test_without_threads_they_come_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_every(8, 100, monkeypatch)

    def none_left(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    with SQLiteStore(tmp_path / "log.db") as store:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", none_left)
            store.append([decided(f"{k}") for k in range(50)])
        store.append([decided("later")])
        rest(store)
        assert in_the_main_file(store.path, tmp_path / "copy") == 51


def test_a_file_that_cannot_be_opened_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then SQLite makes them inside commits, as it always did."""

    def locked(path: Path) -> sqlite3.Connection:
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(checkpoints, "beside", locked)
    with SQLiteStore(tmp_path / "log.db") as store:
        assert store._rows("PRAGMA wal_autocheckpoint") == [(1_000,)]
        for k in range(400):
            store.append([decided(f"{k}", f"u{k}")])
        assert Path(f"{store.path}-wal").stat().st_size < 4_200 * 1_010
        store.erase("u7")
    assert in_the_main_file(tmp_path / "log.db", tmp_path / "copy") == 400


def test_readers_are_not_disturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads at one moment keeps reading it, and holds nobody up."""
    at_every(8, 8, monkeypatch)
    with SQLiteStore(tmp_path / "log.db") as store:
        store.append([decided("first")])
        with SQLiteStore(tmp_path / "log.db", read_only=True) as reader:
            reader._db.execute("BEGIN")
            assert len(list(reader.entries())) == 1
            for k in range(60):
                store.append([decided(f"{k}")])
            rest(store)
            assert len(list(reader.entries())) == 1
            reader._db.execute("ROLLBACK")
            assert len(list(reader.entries())) == 61
            assert not reader.verify()


def test_closing_waits_for_one_that_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closed again and again in the middle of them, the file is whole, and there is no log."""
    at_every(1, 1, monkeypatch)
    path = tmp_path / "log.db"
    for life in range(20):
        with SQLiteStore(path) as store:
            for k in range(5):
                store.append([decided(f"{life}/{k}")])
        assert not Path(f"{path}-wal").exists()
    assert in_the_main_file(path, tmp_path / "copy") == 100
