"""Full disks, failing writes, too few open files: refused, said why, and over when the cause is."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

import lumpable as lb
from kits.power import Disk
from kits.service import bits, opened
from lumpable.base.errors import BadArgument
from lumpable.stores.in_sqlite import SQLiteStore
from lumpable.stores.law import StoreError


def closed(e: Any) -> None:
    """Close, which must not hang."""
    closing = threading.Thread(target=e.close, daemon=True)
    closing.start()
    closing.join(60)
    assert not closing.is_alive()


def acknowledged(path: Path) -> set[str]:
    with SQLiteStore(path) as store:
        assert not store.verify()
        return {entry.event for _, entry in store.entries() if entry.kind == "decided"}


def test_every_write_may_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The k-th write or sync fails, for each k: that call is refused, and all others count."""
    disk = Disk()
    with disk.used(monkeypatch):
        e = opened(SQLiteStore(tmp_path / "log.db"))
        e._store._db.execute("PRAGMA wal_autocheckpoint = 5")  # type: ignore[attr-defined]
        before, answered, refused = disk.steps, set[str](), list[StoreError]()
        for k in range(60):
            disk.fails = frozenset({disk.steps + 1 + k % 9})
            try:
                answered.add(e.decide(f"u{k % 4}", event=f"{k}").event)
            except StoreError as error:
                refused.append(error)
        disk.fails = frozenset()
        assert disk.steps > before
        assert len(refused) > 5
        assert {error.kind for error in refused} == {"disk"}
        assert all("IOError" in str(error) for error in refused)
        e.decide("ann", event="after")
        closed(e)
    assert answered | {"after"} <= acknowledged(tmp_path / "log.db")


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk()
    with disk.used(monkeypatch):
        e = opened(SQLiteStore(tmp_path / "log.db"))
        first = e.decide("ann")
        disk.full = True
        for call in (lambda: e.decide("bob", event="x"), lambda: e.reward(first.event, 1.0),
                     lambda: e.add_arm("new"), lambda: e.forget("ann")):  # fmt: skip
            with pytest.raises(StoreError, match="Full") as refused:
                call()
            assert refused.value.kind == "full"
        disk.full = False
        assert e.decide("ann", event=first.event) == first
        assert e.reward(first.event, 1.0) == "rewarded"
        e._writer.so_far().result()
        whole = bits(e)
        closed(e)
    with opened(SQLiteStore(tmp_path / "log.db"), arms=()) as again:
        assert bits(again) == whole


def test_what_was_refused_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither while the disk is full, nor after it: reads do not wait for the next write."""
    disk = Disk()
    with disk.used(monkeypatch):
        e = opened(SQLiteStore(tmp_path / "log.db"))
        e.reward(e.decide("ann", event="first").event, 1.0)
        e.decide("ann", event="second")
        before = e.evidence(), e.status(), e.summary(), e.activity(), e.beliefs()
        for full in (True, False):
            disk.full = True
            with pytest.raises(StoreError, match="Full"):
                e.reward("second", 0.0)
            disk.full = full
            assert (e.evidence(), e.status(), e.summary(), e.activity(), e.beliefs()) == before
        assert e.reward("second", 0.5) == "rewarded"
        assert sum(times for *_, times in e.evidence()) == 2
        closed(e)


def test_what_may_have_been_refused_is_not_shown_while_nobody_can_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    e = opened()

    def gone(*_: Any) -> Any:
        raise StoreError("the disk is gone")

    with monkeypatch.context() as patch:
        for name in ("append", "entries"):
            patch.setattr(e._store, name, gone)
        for call in (lambda: e.decide("ann"), e.status, e.evidence, e.groups):
            with pytest.raises(StoreError, match="gone"):
                call()
    assert e.status().decisions == 0
    e.decide("ann")
    closed(e)
    assert e.status().decisions == 1  # what it was when it was closed


def test_a_disk_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "clicks.db"
    with lb.open(path, ["red"], fits="inline") as e:
        e._store._db.execute("PRAGMA query_only = ON")  # type: ignore[attr-defined]
        with pytest.raises(StoreError, match="readonly") as refused:
            e.decide("ann")
        assert refused.value.kind == "read-only"
        e._store._db.execute("PRAGMA query_only = OFF")  # type: ignore[attr-defined]
        e.decide("ann")

    def none_left(*_: Any, **__: Any) -> Any:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr("os.open", none_left)
        with pytest.raises(StoreError, match="Too many open files") as refused:
            lb.open(path)
        assert refused.value.kind == "files"
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", none_left)
        with pytest.raises(StoreError, match="Too many open files"):
            lb.open(path)
    lb.open(path, fits="inline").close()


def test_an_import_that_fails_is_an_error_of_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call may import what it needs first; without open files nothing of it is done."""
    e = opened()
    made = e.decide("ann", event="first")
    learner, asked = type(e._ledger.learner), list[str]()
    once = learner.ask

    def ask(self: Any, user: str, *rest: Any) -> Any:
        asked.append(user)
        if len(asked) == 2:
            raise OSError(24, "Too many open files")
        return once(self, user, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(learner, "ask", ask)
        with pytest.raises(StoreError, match="Too many open files") as refused:
            e.decide_many(["bob", "cid"], events=["b", "c"])
        assert refused.value.kind == "files"
        assert e.status().decisions == 1
    with monkeypatch.context() as patch:
        patch.setattr(learner, "tell", lambda *_: (_ for _ in ()).throw(OSError(24, "Too many")))
        with pytest.raises(StoreError, match="Too many"):
            e.reward(made.event, 1.0)
    assert e.evidence() == []
    assert e.reward(made.event, 1.0) == "rewarded"
    assert [entry.event for _, entry in e._store.entries() if entry.event] == ["first", "first"]


def test_a_snapshot_that_cannot_be_written_harms_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "clicks.db"
    e = lb.open(path, ["red"], fits="inline")
    made = e.decide("ann")
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space")))
        closed(e)
    with lb.open(path, fits="inline") as e:
        assert e.decide("ann", event=made.event) == made


def test_an_error_in_the_middle_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C, or a bug: what is in memory is made anew from the log."""
    e = opened()
    made = e.decide("ann")
    learner = type(e._ledger.learner)
    for error in (KeyboardInterrupt(), RuntimeError("a bug")):

        def cut_off(*_: Any, error: BaseException = error) -> None:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(learner, "tell", cut_off)
            with pytest.raises(type(error)):
                e.reward(made.event, 1.0)
        assert e.reward("other", 1.0) == "early"
        assert e.evidence() == []
    assert e.reward(made.event, 1.0) == "rewarded"
    assert e._ledger.number == e._store.last
    assert bits(opened(e._store, arms=())) == bits(e)


def test_who_begins_to_read_in_between_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user is erased by then; the log of commits is emptied the next time."""
    with SQLiteStore(tmp_path / "log.db") as store:
        e = opened(store)
        e.decide("zanzibar-ann")
        reader, ready = sqlite3.connect(tmp_path / "log.db", isolation_level=None), []

        def read(user: str) -> bool:
            ready.append(SQLiteStore.ready_to_erase(store, user))
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM log").fetchone()
            return bool(ready[-1])

        with monkeypatch.context() as between:
            between.setattr(store, "ready_to_erase", read)
            with pytest.raises(StoreError, match="erase it again"):
                e.forget("zanzibar-ann")
        with pytest.raises(StoreError, match="erase it again"):
            e.forget("zanzibar-ann")
        reader.close()
        entries = store.last
        e.forget("zanzibar-ann")
        assert store.last == entries
        for file in tmp_path.iterdir():
            assert b"zanzibar" not in file.read_bytes()
        e.close()


def test_erasing_is_refused_while_somebody_reads(tmp_path: Path) -> None:
    """While somebody reads, the log cannot be emptied: that is said at once, costs nothing, and is
    done the next time."""
    with SQLiteStore(tmp_path / "log.db") as store:
        e = opened(store, snapshot=tmp_path / "log.db.snapshot")
        e.decide("zanzibar-ann")
        e._snapshots.write(e._ledger, e._writer.so_far())
        e._snapshots.finish()
        reader = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM log").fetchone()
        ledger, entries = e._ledger, store.last
        with pytest.raises(StoreError, match="nothing was erased") as refused:
            e.forget("zanzibar-ann")
        assert refused.value.kind == "read"
        assert e.decide("zanzibar-ann", event="while it is read").arm
        assert (e._ledger is ledger, store.last) == (True, entries + 1)  # no replay, no entry
        assert (tmp_path / "log.db.snapshot").exists()
        reader.close()
        e.forget("zanzibar-ann")
        for file in tmp_path.iterdir():
            assert b"zanzibar" not in file.read_bytes()
        e.close()


def test_eight_threads(tmp_path: Path) -> None:
    """Deciding, rewarding, repeating, forgetting, beside each other: nothing lost, no deadlock."""
    path, errors = tmp_path / "clicks.db", list[BaseException]()
    e = lb.open(path, ["red", "green"], fits="inline")

    def work(name: int) -> None:
        try:
            for k in range(25):
                event = f"{name}/{k}"
                made = e.decide(f"u{k % 5}/{name}", event=event)
                assert e.decide(f"u{k % 5}/{name}", event=event) == made
                e.reward(event, float(k % 2), at=5.0)
                e.reward(event, float(k % 2), at=5.0)
                if k % 9 == 0:
                    e.evidence()
            e.forget(f"u0/{name}")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert not errors
    assert sum(times for *_, times in e.evidence()) == 8 * 20
    evidence, version = e.evidence(), e.status().version
    closed(e)
    with lb.open(path, fits="inline") as e:
        assert e.evidence() == evidence
        assert e.status().version == version
        assert not e._store.verify()


def test_one_process_writes_through_links_too(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "clicks.db")
    with (
        lb.open(tmp_path / "clicks.db", ["red"], fits="inline"),
        pytest.raises(BadArgument, match="no other process"),
    ):
        lb.open(tmp_path / "link.db")
