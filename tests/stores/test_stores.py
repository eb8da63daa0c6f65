"""Every store keeps the law of stores."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kits import postgres
from kits.stores import Shelf, decided, in_turn, rewarded
from lumpable.base.errors import BadArgument
from lumpable.base.units import from_micro, to_micro
from lumpable.stores.in_memory import MemoryStore
from lumpable.stores.in_postgres import PostgresStore
from lumpable.stores.in_sqlite import SQLiteStore
from lumpable.stores.in_tables import BLANK, OWN
from lumpable.stores.law import AlreadyDecided, StoreError
from lumpable.stores.log_entries import Entry, Kind

KINDS: tuple[Kind, ...] = ("rewarded", "activated", "expired", "arm", "taken", "adopted")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Shelf:
    if request.param == "memory":
        kept = MemoryStore()
        return Shelf(lambda: kept, lasting=False)
    if request.param == "sqlite":
        return Shelf(lambda: SQLiteStore(tmp_path / "log.db"), lasting=True)
    address = postgres.server().address()
    return Shelf(lambda: in_turn(PostgresStore(address)), lasting=True)


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
NAMES = st.one_of(TEXTS, st.integers(-(2**63), 2**63 - 1))
NUMBERS = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))
ENTRIES = st.builds(
    Entry,
    kind=st.sampled_from(KINDS), at=st.integers(-(2**63), 2**63 - 1),
    event=TEXTS,
    user=st.one_of(st.none(), NAMES), arm=st.one_of(st.none(), NAMES), value=NUMBERS,
    propensity=st.one_of(st.none(), st.floats(0, 1)), version=NUMBERS,
    active=st.one_of(st.none(), st.booleans()), detail=TEXTS,
)  # fmt: skip


@pytest.mark.parametrize("rows", [49, 50, 51, 121])
def test_a_large_commit_is_read_back_whole(rows: int, shelf: Shelf) -> None:
    written = [rewarded(f"e{k}", k) for k in range(rows)]
    with shelf.open() as store:
        first = store.last
        store.append(written)
    with shelf.open() as store:
        assert list(store.entries(first)) == list(enumerate(written, first + 1))
        assert store.verify() == []


BATCHES = st.lists(st.lists(ENTRIES, max_size=4), max_size=4)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=BATCHES)
def test_what_was_written_is_read_back(batches: list[list[Entry]], shelf: Shelf) -> None:
    """Any names, numbers and words, in order, by number and by event, also when opened again."""
    write_and_read(batches, shelf)


@pytest.mark.nightly
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=BATCHES)
def test_much_that_was_written_is_read_back(batches: list[list[Entry]], shelf: Shelf) -> None:
    write_and_read(batches, shelf)


def write_and_read(batches: list[list[Entry]], shelf: Shelf) -> None:
    with shelf.open() as store:
        first = store.last
        for batch in batches:
            store.append(batch)
    written = [entry for batch in batches for entry in batch]
    with shelf.open() as store:
        assert list(store.entries(first)) == list(enumerate(written, first + 1))
        assert store.last == first + len(written)
        assert not store.verify()
        for event in {entry.event for entry in written if entry.event}:
            here = [(k, e) for k, e in enumerate(written, first + 1) if e.event == event]
            assert store.about(event)[-len(here) :] == here


def test_an_event_is_decided_once(shelf: Shelf) -> None:
    with shelf.open() as store:
        store.append([decided("a")])
        before = list(store.entries())
        for batch in ([decided("b"), decided("a", "bob", "new")], [decided("c"), decided("c")]):
            with pytest.raises(AlreadyDecided):
                store.append(batch)
            assert list(store.entries()) == before
        store.append([decided("b", "bob", "new")])  # names of a refused batch left no trace
        assert not store.verify()
        assert [entry for _, entry in store.entries()] == [decided("a"), decided("b", "bob", "new")]


def test_an_erased_user_is_read_no_more(shelf: Shelf) -> None:
    entries = [
        rewarded("early", 5), decided("early", "ann"), decided("other", "bob"),
        decided("late", "ann"), rewarded("late", 7, "ann"), rewarded("other", 9, "bob"),
    ]  # fmt: skip
    with shelf.open() as store:
        assert not store.ready_to_erase("ann")
        store.append(entries)
        assert [store.ready_to_erase(user) for user in ("ann", "never seen", 7)] == [
            True,
            False,
            False,
        ]
        assert store.erase("ann") == 4
        assert not store.ready_to_erase("ann")
        assert store.erase("ann") == 0
        assert store.erase("never seen") == 0
        assert list(store.entries()) == [(3, entries[2]), (6, entries[5])]
        assert store.about("early") == store.about("late") == []
        assert not store.verify()
        store.append([decided("early", "ann")])  # a new life
        assert store.ready_to_erase("ann")
        assert store.last == 7
    with shelf.open() as store:
        assert list(store.entries(6)) == [(7, decided("early", "ann"))]
        assert not store.verify()


def test_the_arms_of_entries_are_known(shelf: Shelf) -> None:
    with shelf.open() as store:
        assert store.arms == set()
        store.append([decided("a", arm="red"), Entry(kind="arm", at=1, arm=17, detail="added")])
        assert store.arms == {"red", 17}
    with shelf.open() as store:
        assert store.arms == {"red", 17}


def test_settings_are_kept(shelf: Shelf) -> None:
    with shelf.open() as store:
        assert store.settings == b""
        store.configure(b"one")
        store.configure(b"two")
        assert not store.verify()
    with shelf.open() as store:
        assert store.settings == b"two"
        assert not store.verify()


def test_threads_may_share_a_store(shelf: Shelf) -> None:
    with shelf.open() as store:

        def write(name: str) -> None:
            for k in range(20):
                store.append([decided(f"{name}-{k}", name), rewarded(f"{name}-{k}", k)])

        threads = [threading.Thread(target=write, args=(f"t{k}",)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = [entry for _, entry in store.entries()]
        assert [number for number, _ in store.entries()] == list(range(1, 161))
        for name in ("t0", "t3"):
            own = [e.event for e in found if e.kind == "decided" and e.user == name]
            assert own == [f"{name}-{k}" for k in range(20)]
        assert not store.verify()


# --- Files ----------------------------------------------------------------------------------


def test_no_byte_of_an_erased_user_stays(tmp_path: Path) -> None:
    secret = "zanzibar-ann"
    with SQLiteStore(tmp_path / "log.db") as store:
        for k in range(300):  # pages split, and rows move
            user = secret if k % 3 == 0 else f"u{k}"
            store.append([decided(f"{user}/{k}", user), rewarded(f"{user}/{k}", k)])
        assert store.erase(secret) == 200
        held = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        assert all(secret.encode() not in content for content in held.values()), held.keys()
        assert not store.verify()


def test_one_process_writes(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "log.db"), pytest.raises(BadArgument, match="no other process"):
        SQLiteStore(tmp_path / "log.db")
    SQLiteStore(tmp_path / "log.db").close()


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE t (x)")
    other.close()
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(BadArgument, match="another database"):
        SQLiteStore(tmp_path / "other.db")
    assert (tmp_path / "other.db").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["other.db"]
    (tmp_path / "text.db").write_text("hello " * 1000)
    with pytest.raises(StoreError, match="not a database"):
        SQLiteStore(tmp_path / "text.db")
    with pytest.raises(FileNotFoundError, match="no folder"):
        SQLiteStore(tmp_path / "no folder" / "log.db")
    with pytest.raises(FileNotFoundError, match=r"none\.db"):
        SQLiteStore(tmp_path / "none.db", read_only=True)
    with SQLiteStore(tmp_path / "log.db") as store:
        store._db.execute("PRAGMA user_version = 99")
    with pytest.raises(BadArgument, match="later version"):
        SQLiteStore(tmp_path / "log.db")


def test_files_of_the_first_schema_are_brought_up_to_date(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "log.db") as store:
        store.append([decided("a"), rewarded("a", 1)])
        store.configure(b"some")
        store._db.executescript("DROP INDEX own; PRAGMA user_version = 1;")
        store._db.execute("DELETE FROM about WHERE key IN ('settings digest', 'end')")
        before = list(store.entries())
    with SQLiteStore(tmp_path / "log.db", read_only=True) as store:  # left as it is
        assert list(store.entries()) == before
        assert store._rows("PRAGMA user_version") == [(1,)]
        assert not store.verify()
    with SQLiteStore(tmp_path / "log.db") as store:
        assert store._rows("PRAGMA user_version") == [(4,)]
        assert store.settings == b"some"
        plan = store._rows("EXPLAIN QUERY PLAN " + OWN.replace("%s", "1"))
        assert "own" in str(plan)
        assert "events" in str(plan)
        assert store.erase("ann") == 2
        assert not store.verify()


def test_settings_of_the_second_schema_get_a_digest(tmp_path: Path) -> None:
    """What nobody can know of an older file is no damage; from then on a change is found."""
    with SQLiteStore(tmp_path / "log.db") as store:
        store.configure(b'{"seed":1}')
        store._db.execute("DELETE FROM about WHERE key = 'settings digest'")
        assert store.verify()
        store._db.execute("PRAGMA user_version = 2")
        assert not store.verify()
    with SQLiteStore(tmp_path / "log.db") as store:
        assert store.settings == b'{"seed":1}'
        assert not store.verify()
        store._db.execute("UPDATE about SET value = x'00' WHERE key = 'settings'")
        assert [damage.where for damage in store.verify()] == ["the settings"]


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "log.db")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.append([decided("a")])


def damaged(path: Path, query: str) -> SQLiteStore:
    """Change a file behind the store's back."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA ignore_check_constraints = ON")
    db.executescript(query)
    db.commit()
    db.close()
    return SQLiteStore(path, read_only=True)


BLANKED = f"UPDATE log SET kind = 'erased', {BLANK}"


@pytest.mark.parametrize(
    "query",
    [
        "UPDATE log SET kind = 'erased' WHERE kind = 'rewarded'",
        f"{BLANKED} WHERE number = 2",
        f"{BLANKED} WHERE number = 4",
        "UPDATE log SET value = 3 WHERE kind = 'erased'",
        "UPDATE log SET kind = 'rewarded' WHERE kind = 'erased'",
        "DELETE FROM log; DELETE FROM chain",
        "DELETE FROM log WHERE number = 6; DELETE FROM chain WHERE last = 6",
        "DELETE FROM log WHERE number = 6; DELETE FROM chain WHERE last = 6; "
        "DELETE FROM about WHERE key = 'end'",
        "INSERT INTO log SELECT 0, kind, at, event, user, arm, value, propensity, version, active,"
        " detail, digest FROM log WHERE kind = 'rewarded' LIMIT 1",
        "UPDATE about SET value = '{}' WHERE key = 'end'",
        "UPDATE about SET value = CAST(value || ' ' AS BLOB) || x'00' WHERE key = 'end'",
        "INSERT INTO about VALUES ('more', x'00')",
        "DELETE FROM about WHERE key = 'end'",
        "INSERT INTO arms VALUES (99, '\"evil\"')",
        "INSERT INTO users VALUES (3, '\"evil\"', x'00')",
        "UPDATE users SET salt = x'00' WHERE number = 2",
        "UPDATE sqlite_sequence SET seq = 1000",
        "DROP INDEX decisions",
        "DROP INDEX events",
        "DROP INDEX own",
        "CREATE TABLE more (x)",
        "CREATE VIEW more AS SELECT * FROM log",
        "CREATE TRIGGER more AFTER INSERT ON log BEGIN DELETE FROM log; END",
        "DROP INDEX decisions; CREATE INDEX decisions ON log (event) WHERE kind = 'decided'",
        "UPDATE log SET value = value + 1 WHERE number = 2",
        "UPDATE log SET at = 0 WHERE number = 1",
        "UPDATE log SET digest = zeroblob(32) WHERE number = 3",
        "UPDATE log SET user = 2 WHERE number = 1",
        "UPDATE users SET name = '\"eve\"' WHERE number = 1",
        "UPDATE arms SET name = '\"blue\"' WHERE number = 1",
        "UPDATE chain SET link = zeroblob(32) WHERE last = 2",
        "DELETE FROM log WHERE number = 2",
        "DELETE FROM log WHERE number = 6",
        "DELETE FROM chain WHERE last = 6",
        "DELETE FROM users WHERE number = 1",
        "UPDATE about SET value = x'6f6e64' WHERE key = 'settings'",
        "UPDATE about SET value = 'one' WHERE key = 'settings'",
        "UPDATE about SET value = zeroblob(32) WHERE key = 'settings digest'",
        "DELETE FROM about WHERE key = 'settings'",
        "DELETE FROM about WHERE key = 'settings digest'",
        "DELETE FROM about",
        "UPDATE sqlite_sequence SET seq = 1",
        "UPDATE sqlite_sequence SET seq = 'text'",
    ],
)
def test_changes_behind_its_back_are_found(tmp_path: Path, query: str) -> None:
    with SQLiteStore(tmp_path / "log.db") as store:
        store.append([decided("a"), rewarded("a", 1)])
        store.append([decided("b", "bob"), rewarded("b", 2)])
        store.append([decided("c", "cid"), decided("d", "cid")])
        store.configure(b"one")
        store.erase("cid")
        assert not store.verify()
    with damaged(tmp_path / "log.db", query) as store:
        assert store.verify()


def test_nothing_is_written_after_an_end_that_was_changed(tmp_path: Path) -> None:
    """It would be the new end, and nobody would see that entries are gone."""
    path = tmp_path / "log.db"
    with SQLiteStore(path) as store:
        store.append([decided("a"), rewarded("a", 1)])
    damaged(path, "DELETE FROM log; DELETE FROM chain").close()
    with pytest.raises(StoreError, match="verify"):
        SQLiteStore(path)


def test_files_of_the_third_schema_get_an_end(tmp_path: Path) -> None:
    """Of names and erasures that there are then."""
    path = tmp_path / "log.db"
    with SQLiteStore(path) as store:
        store.append([decided("a"), rewarded("a", 1), decided("b", "bob")])
        store.erase("ann")
        kept = store._end
        store._db.execute("DELETE FROM about WHERE key = 'end'")
        store._db.execute("PRAGMA user_version = 3")
        assert not store.verify()
    with SQLiteStore(path) as store:
        assert store._end == kept
        assert not store.verify()
        store.append([rewarded("b", 1)])
        store.erase("bob")
        assert not store.verify()


def test_rewards_in_millionths() -> None:
    assert [from_micro(to_micro(x)) for x in (0.0, 1.0, -0.5, 123.456789)] == [
        0.0,
        1.0,
        -0.5,
        123.456789,
    ]
    for bad in (float("nan"), float("inf"), 1e10):
        with pytest.raises(BadArgument, match="reward"):
            to_micro(bad)
