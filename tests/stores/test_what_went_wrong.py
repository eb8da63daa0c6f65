"""A store that could not do it says of what kind the trouble is; nobody reads that from words."""

from __future__ import annotations

import ast
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kits import postgres
from kits.power import Disk
from kits.stores import decided, in_turn
from lumpable.stores import law
from lumpable.stores.in_memory import MemoryStore
from lumpable.stores.in_postgres import PostgresStore
from lumpable.stores.in_sqlite import SQLiteStore
from lumpable.stores.law import AlreadyDecided, Store, StoreError, Trouble, kind_of


def trouble(call: Callable[[], Any]) -> StoreError:
    """Return the error of a call that must fail."""
    with pytest.raises(StoreError) as found:
        call()
    assert str(found.value) == f"{found.value.place}: {found.value.why}"
    return found.value


def append(store: Store, event: str = "b") -> Callable[[], int]:
    return lambda: store.append([decided(event)])


# --- In a file ----------------------------------------------------------------------------------


def written(path: Path) -> SQLiteStore:
    """Return an open store with an entry."""
    store = SQLiteStore(path)
    store.append([decided("a")])
    return store


def read_only(path: Path, change: Callable[[], Any]) -> Callable[[], Any]:
    """Return how to open a file to read it, after a change."""
    change()
    return lambda: list(SQLiteStore(path, read_only=True).entries())


def behind(path: Path, query: str) -> None:
    """Change a file behind the store's back."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(query)
    db.close()


@pytest.mark.parametrize(
    ("kind", "pragma"), [("full", "max_page_count = 1"), ("read-only", "query_only = ON")]
)
def test_a_file_that_takes_no_more(tmp_path: Path, kind: Trouble, pragma: str) -> None:
    with written(tmp_path / "log.db") as store:
        store._db.execute(f"PRAGMA {pragma}")
        error = trouble(lambda: store.append([decided(f"{k}", "x" * 500) for k in range(99)]))
        assert (error.kind, error.place) == (kind, str(tmp_path / "log.db"))
        assert error.why.endswith("; nothing was written")


@pytest.mark.parametrize("kind", ["disk", "full"])
def test_a_disk_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Trouble) -> None:
    disk = Disk()
    with disk.used(monkeypatch), written(tmp_path / "log.db") as store:
        disk.full, disk.cut = kind == "full", kind == "disk"
        error = trouble(append(store))
        disk.full = disk.cut = False
        assert error.kind == kind


def test_a_file_in_other_hands(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with written(path) as store:
        store._db.execute("PRAGMA busy_timeout = 0")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert trouble(append(store)).kind == "busy"
        other.close()
        path.rename(tmp_path / "moved.db")
        gone = trouble(append(store))
        assert (gone.kind, gone.place) == ("gone", str(path))


def test_a_store_that_is_closed_or_only_read(tmp_path: Path) -> None:
    store = written(tmp_path / "log.db")
    store.close()
    for call in (append(store), lambda: list(store.entries()), lambda: store.settings):
        assert trouble(call).kind == "closed"
    with SQLiteStore(tmp_path / "log.db", read_only=True) as reader:
        assert trouble(append(reader)).kind == "read-only"


@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE log",
        "UPDATE log SET user = 99",
        "UPDATE log SET event = CAST(x'ff' AS TEXT)",
        "UPDATE users SET name = 'no json'",
        "UPDATE chain SET link = 7",
    ],
)
def test_a_file_that_is_damaged(tmp_path: Path, query: str) -> None:
    path = tmp_path / "log.db"
    written(path).close()
    error = trouble(read_only(path, lambda: behind(path, query)))
    assert (error.kind, error.place) == ("damaged", str(path))
    assert "nothing was written" not in str(error)


def test_what_is_no_database_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    error = trouble(read_only(path, lambda: path.write_text("hello " * 1000)))
    assert (error.kind, error.why) == ("damaged", "file is not a database")


def test_an_end_that_was_changed_is_damage(tmp_path: Path) -> None:
    written(tmp_path / "log.db").close()
    behind(tmp_path / "log.db", "DELETE FROM chain")
    assert trouble(lambda: SQLiteStore(tmp_path / "log.db")).kind == "damaged"


@pytest.mark.parametrize(
    ("number", "kind"),
    [(28, "full"), (30, "read-only"), (13, "read-only"), (5, "disk"), (24, "files"), (23, "files")],
)
def test_what_the_system_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: Trouble
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise OSError(number, "some words")

    monkeypatch.setattr("os.open", fails)
    assert trouble(lambda: SQLiteStore(tmp_path / "log.db")).kind == kind
    assert kind_of(OSError(number, "other words")) == kind
    assert kind_of(OSError("without a number")) == "other"


# --- In a database ------------------------------------------------------------------------------


def test_a_database_that_is_not_reached() -> None:
    address = "postgresql://postgres:hush@127.0.0.1:1/postgres"
    error = trouble(lambda: PostgresStore(address))
    assert (error.kind, error.place) == ("away", "postgresql://postgres@127.0.0.1:1/postgres")
    assert trouble(lambda: PostgresStore(postgres.server().address() + "&sslmode=x")).kind == "away"


def test_a_session_that_is_lost() -> None:
    server = postgres.server()
    with PostgresStore(server.address()) as store, server.connect() as db:
        in_turn(store)
        for session, call in (
            (store._writing, append(store)), (store._reading, lambda: list(store.entries())),
        ):  # fmt: skip
            assert session is not None
            (found,) = session.rows("SELECT pg_backend_pid()")
            db.execute("SELECT pg_terminate_backend(%s, 10000)", found)
            assert trouble(call).kind == "away"


@pytest.mark.parametrize(
    ("kind", "query"),
    [("read-only", "SET default_transaction_read_only = on"), ("damaged", "DROP TABLE log"),
     ("busy", "INSERT INTO log (number, kind, digest) VALUES (1, 'arm', '')")],
)  # fmt: skip
def test_a_database_that_refuses(kind: Trouble, query: str) -> None:
    with PostgresStore(postgres.server().address()) as store:
        in_turn(store)
        store._in_turn().rows(query)
        assert trouble(append(store)).kind == kind


def test_a_store_without_its_turn_or_closed() -> None:
    store = PostgresStore(postgres.server().address())
    assert trouble(append(store)).kind == "busy"
    store.close()
    assert trouble(lambda: store.settings).kind == "closed"


# --- Whatever it is -----------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["memory", "sqlite", "postgres"])
def test_a_second_decision(tmp_path: Path, where: str) -> None:
    made: dict[str, Callable[[], Store]] = {
        "memory": MemoryStore, "sqlite": lambda: SQLiteStore(tmp_path / "log.db"),
        "postgres": lambda: in_turn(PostgresStore(postgres.server().address())),
    }  # fmt: skip
    with made[where]() as store:
        store.append([decided("a")])
        with pytest.raises(AlreadyDecided) as found:
            store.append([decided("a")])
        assert found.value.kind == "decided"


def test_whoever_raises_one_says_why() -> None:
    root = Path(law.__file__).parents[1]
    calls = [
        (path.name, node)
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "StoreError"
    ]
    assert len(calls) > 10
    assert not [(name, ast.unparse(node)) for name, node in calls if len(node.args) < 2]


@pytest.mark.parametrize("type", [StoreError, AlreadyDecided])
def test_an_error_survives_the_way_from_another_process(type: type[StoreError]) -> None:
    error = type("database or disk is full", "full", place="log.db")
    again = pickle.loads(pickle.dumps(error))
    assert again.__class__ is type
    assert str(again) == str(error) == "log.db: database or disk is full"
    assert (again.why, again.kind, again.place) == (error.why, error.kind, error.place)
