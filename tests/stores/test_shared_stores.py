"""Every store that is shared keeps the law of turns, election and things put aside."""

from __future__ import annotations

import io
import random
import signal
import tracemalloc
import zipfile
from typing import Any

import msgspec
import numpy as np
import pytest

from kits import postgres
from kits.shared_stores import Bench, Beside, holder, in_memory, in_postgres
from kits.stores import decided, in_turn, rewarded
from lumpable.base import archive
from lumpable.base.errors import BadArgument
from lumpable.lumps.use import fits_kept
from lumpable.lumps.use.believer import Believer
from lumpable.lumps.use.shelf import to_write
from lumpable.stores.in_postgres import PostgresStore
from lumpable.stores.law import SharedStore, StoreError
from lumpable.stores.postgres_database import Session


@pytest.fixture(params=["memory", "postgres"])
def bench(request: pytest.FixtureRequest) -> Bench:
    return in_memory() if request.param == "memory" else in_postgres()


def test_only_who_has_the_turn_writes(bench: Bench) -> None:
    with bench.open() as one, bench.open() as two:
        one.take_turn()
        one.append([decided("a")])
        with pytest.raises(StoreError, match="another process may write"):
            two.append([decided("b")])
        with pytest.raises(StoreError, match="another process may write"):
            two.erase("ann")
        one.end_turn()
        one.end_turn()  # nothing happens
        with pytest.raises(StoreError, match="another process may write"):
            one.append([decided("b")])
        two.take_turn()
        assert two.last == 1
        assert two.append([decided("b", "bob", "new")]) == 2
        two.end_turn()
        assert one.last == 2
        assert [entry for _, entry in one.entries()] == [decided("a"), decided("b", "bob", "new")]
        assert not one.verify()


def test_who_waits_sees_all_that_was_written(bench: Bench) -> None:
    with bench.open() as one, bench.open() as two:
        one.take_turn()
        seen: list[Any] = []

        def wait() -> None:
            two.take_turn()
            seen.extend(two.entries())
            two.append([decided("late", "cyd")])
            two.end_turn()

        waiting = Beside(wait)
        for k in range(5):
            one.append([decided(f"{k}", f"u{k}", f"arm {k}"), rewarded(f"{k}", k)])
            assert not seen
        one.end_turn()
        assert waiting.finished()
        assert [number for number, _ in seen] == list(range(1, 11))
        assert one.last == 11
        assert not two.verify()


def test_turns_of_many_make_one_log(bench: Bench) -> None:
    """Four at once, each with users of its own and some of all: no number twice, none left out."""

    def work(name: str) -> None:
        with bench.open() as store:
            for k in range(6):
                store.take_turn()
                user = name if k % 2 else "everybody"
                store.append([decided(f"{name}{k}", user, f"arm {k}"), rewarded(f"{name}{k}", k)])
                store.end_turn()

    threads = [Beside(lambda name=name: work(name)) for name in "abcd"]  # type: ignore[misc]
    assert all(thread.finished() for thread in threads)
    with bench.open() as store:
        log = list(store.entries())
        assert [number for number, _ in log] == list(range(1, 49))
        for name in "abcd":
            own = [e.event for _, e in log if e.kind == "decided" and e.event[0] == name]
            assert own == [f"{name}{k}" for k in range(6)]
        assert not store.verify()


def test_at_most_one_is_elected(bench: Bench) -> None:
    one, two, three = bench.open(), bench.open(), bench.open()
    assert one.elected()
    assert one.elected()
    assert not two.elected()
    assert not three.elected()
    one.close()
    assert three.elected()
    assert not two.elected()
    bench.lose(three)
    assert two.elected()
    with pytest.raises(StoreError):  # it was lost, and does not know yet
        three.take_turn()
    assert not three.elected()
    for store in (two, three):
        store.close()


def test_a_lost_session_is_an_error_once(bench: Bench) -> None:
    with bench.open() as one, bench.open() as two:
        one.take_turn()
        one.append([decided("a")])
        bench.lose(one)
        two.take_turn()
        two.append([decided("b", "bob")])
        with pytest.raises(StoreError):  # once by the session that writes
            one.append([decided("c", "cyd")])
        with pytest.raises(StoreError, match="another process"):
            one.append([decided("c", "cyd")])
        with pytest.raises(StoreError):  # once by the one that reads
            list(one.entries())
        assert [number for number, _ in one.entries()] == [1, 2]
        two.end_turn()
        one.take_turn()
        assert one.append([decided("c", "cyd")]) == 3
        assert not one.verify()


def test_names_that_others_gave_and_took(bench: Bench) -> None:
    """A user whom another process erased is nobody; who comes again has a new life in both."""
    with bench.open() as one, bench.open() as two:
        in_turn(one).append([decided("a", "ann"), decided("b", "bob")])
        one.end_turn()
        assert in_turn(two).erase("ann") == 1
        two.append([decided("c", "cyd", "new")])
        two.end_turn()
        in_turn(one).append([decided("d", "ann", "new"), decided("e", "cyd")])
        one.end_turn()
        expected = [decided("b", "bob"), decided("c", "cyd", "new"), decided("d", "ann", "new"),
                    decided("e", "cyd")]  # fmt: skip
        for store in (one, two):
            assert [entry for _, entry in store.entries()] == expected
            assert store.about("d") == [(4, decided("d", "ann", "new"))]
            assert store.about("a") == []
            assert not store.verify()
        assert in_turn(two).erase("ann") == 1
        two.end_turn()
        assert in_turn(one).erase("ann") == 0


def test_who_was_killed_before_the_tables_were_vacuumed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is asked to erase the user once more does the rest, once."""
    bench = in_postgres()
    with bench.open() as one, bench.open() as two:
        assert isinstance(one, PostgresStore)
        in_turn(one).append([decided("a", "ann")])
        with monkeypatch.context() as cut:
            cut.setattr(one, "_clean_up", lambda _: None)
            assert one.erase("ann") == 1
        one.end_turn()
        asked, rows = list[str](), Session.rows

        def noted(self: Session, query: str, *given: Any) -> Any:
            asked.append(query)
            return rows(self, query, *given)

        monkeypatch.setattr(Session, "rows", noted)
        for _ in range(2):
            assert not in_turn(two).ready_to_erase("ann")
            two.end_turn()
        assert [query for query in asked if "VACUUM" in query] == [
            "VACUUM log", "VACUUM users", "VACUUM aside",
        ]  # fmt: skip


def test_verifying_while_another_writes(bench: Bench) -> None:
    with bench.open() as one, bench.open() as two:

        def write() -> None:
            for k in range(30):
                in_turn(one).append([decided(f"{k}", f"u{k % 7}"), rewarded(f"{k}", k)])
                if k % 5 == 4:
                    one.erase(f"u{k % 7}")
                one.end_turn()

        writing = Beside(write)
        while not writing.done.is_set():
            assert not two.verify()
        assert writing.finished()
        assert two.last == 60


def test_what_is_put_aside(bench: Bench) -> None:
    with bench.open() as one, bench.open() as two:
        assert one.find_aside("fit") is None
        names = [one.put_aside("fit", bytes([k]) * 100, 2) for k in range(3)]
        assert two.find_aside("fit", names[0]) is None  # the newest two are kept
        assert two.find_aside("fit", names[1]) == bytes([1]) * 100
        assert two.find_aside("fit") == bytes([2]) * 100
        assert two.put_aside("snapshot", b"whole", 1) not in names
        assert one.find_aside("snapshot", names[1]) is None
        assert two.put_aside("fit", bytes([1]) * 100, 2) == names[1]  # is the newest again
        assert one.put_aside("fit", b"", 2) not in names
        assert one.find_aside("fit", names[1]) == bytes([1]) * 100
        assert one.find_aside("fit", names[2]) is None
        assert one.find_aside("fit") == b""
        two.clear_aside()
        assert one.find_aside("fit") is one.find_aside("snapshot") is None


# --- PostgreSQL -----------------------------------------------------------------------------


def test_a_killed_process_gives_up_turn_and_election() -> None:
    address = postgres.server().address()
    with PostgresStore(address) as store, holder(address) as child:
        assert not store.elected()
        waiting = Beside(store.take_turn)
        child.send_signal(signal.SIGKILL)
        assert waiting.finished()
        assert store.append([decided("a")]) == 1
        while not store.elected():  # the server ends the dead session a moment later
            pass


def test_what_is_put_aside_goes_when_somebody_is_erased() -> None:
    bench = in_postgres()
    with bench.open() as store:
        in_turn(store).append([decided("a", "ann")])
        store.put_aside("fit", b"of ann", 5)
        store.erase("ann")
        assert store.find_aside("fit") is None


@pytest.mark.parametrize(
    "query",
    [
        "UPDATE log SET value = value + 1 WHERE number = 2",
        "UPDATE log SET at = 0 WHERE number = 1",
        "UPDATE log SET digest = '\\x00' WHERE number = 3",
        'UPDATE log SET "user" = 2 WHERE number = 1',
        "UPDATE users SET name = '\"eve\"' WHERE number = 1",
        "UPDATE users SET name = 'no JSON' WHERE number = 1",
        "UPDATE arms SET name = '\"blue\"' WHERE number = 1",
        "UPDATE chain SET link = '\\x00' WHERE last = 2",
        "DELETE FROM log WHERE number = 2",
        "DELETE FROM log WHERE number = 4",
        "DELETE FROM chain WHERE last = 4",
        "DELETE FROM users WHERE number = 1",
        "UPDATE about SET value = 'ond' WHERE key = 'settings'",
        "UPDATE about SET value = '' WHERE key = 'settings digest'",
        "DELETE FROM about WHERE key = 'settings'",
        "DELETE FROM about WHERE key = 'settings digest'",
        "DELETE FROM about WHERE key <> 'schema'",
        "UPDATE aside SET content = '\\x00' WHERE kind = 'fit'",
        "UPDATE aside SET name = 'x' WHERE kind = 'fit'",
        "UPDATE ever SET users = 1",
        "UPDATE log SET kind = 'erased' WHERE kind = 'rewarded'",
        "DELETE FROM log; DELETE FROM chain",
        "DELETE FROM log WHERE number = 4; DELETE FROM chain WHERE last = 4; "
        "INSERT INTO chain VALUES (3, '\\x00')",
        "DELETE FROM about WHERE key = 'end'",
        "INSERT INTO arms VALUES (99, '\"evil\"')",
        "INSERT INTO users VALUES (9, '\"evil\"', '')",
        "DROP INDEX decisions",
        "CREATE RULE more AS ON INSERT TO log DO INSTEAD NOTHING",
        "CREATE FUNCTION less() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
        "CREATE TRIGGER more BEFORE INSERT ON log FOR EACH ROW EXECUTE FUNCTION less()",
    ],
)
def test_changes_behind_its_back_are_found(query: str) -> None:
    server = postgres.server()
    address = server.address("damaged")
    with server.connect() as db:
        db.execute("DROP SCHEMA IF EXISTS damaged CASCADE")
    with PostgresStore(address) as store:
        in_turn(store).append([decided("a"), rewarded("a", 1)])
        store.append([decided("b", "bob"), rewarded("b", 2)])
        store.configure(b"one")
        store.put_aside("fit", b"a fit", 3)
        assert not store.verify()
        with server.connect() as db:
            db.execute("SET search_path = damaged")
            db.execute(query)
        assert store.verify()


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://nobody:hush@HERE/postgres",
        "postgresql://postgres:hush@HERE/no_such_database",
        "postgresql://postgres:hush@/postgres?host=/nowhere",
        "postgresql://postgres@/postgres?host=/nowhere&password=hush",
        "postgresql://postgres:hush@127.0.0.1:1/postgres",
        "postgresql://postgres:hu%zzhush@127.0.0.1/postgres",
        "postgresql://postgres:a/hush@127.0.0.1/postgres",
        "postgresql://postgres:a@hush@127.0.0.1/postgres",
        "postgresql://postgres:hush@127.0.0.1/postgres?no_such_option=1",
    ],
)
def test_wrong_addresses_are_refused_without_the_password(address: str) -> None:
    socket = postgres.server().address().partition("host=")[2].partition("&")[0]
    if "HERE" in address:
        address = address.replace("HERE", "") + f"?host={socket}"
    with pytest.raises((StoreError, BadArgument)) as error:
        PostgresStore(address)
    seen: BaseException | None = error.value
    while seen is not None:  # nor in what a traceback shows
        assert str(seen)
        assert "hush" not in str(seen)
        seen = seen.__cause__


def test_tables_of_the_first_schema_are_brought_up_to_date() -> None:
    server = postgres.server()
    address = server.address("older")
    with server.connect() as db:
        db.execute("DROP SCHEMA IF EXISTS older CASCADE")
        with PostgresStore(address) as store:
            in_turn(store).append([decided("a")])
            store.configure(b"some")
        db.execute("DELETE FROM older.about WHERE key IN ('settings digest', 'end')")
        db.execute("UPDATE older.about SET value = '1' WHERE key = 'schema'")
        with PostgresStore(address, read_only=True) as store:  # left as it is
            assert not store.verify()
            assert store._schema() == 1
        with PostgresStore(address) as store:
            assert store._schema() == 3
            assert [entry for _, entry in store.entries()] == [decided("a")]
            assert store.settings == b"some"
            assert not store.verify()
            db.execute("UPDATE older.about SET value = 'same' WHERE key = 'settings'")
            assert [damage.where for damage in store.verify()] == ["the settings"]


def test_schemas_of_others_are_refused() -> None:
    server = postgres.server()
    with server.connect() as db:
        for schema, table in (("others", "orders"), ("half", "log"), ("later", "")):
            db.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
            db.execute(f"CREATE SCHEMA {schema}")
            if table:
                db.execute(f"CREATE TABLE {schema}.{table} (x int)")
                with pytest.raises(BadArgument, match="with other tables"):
                    PostgresStore(server.address(schema))
        PostgresStore(server.address("later")).close()  # an empty one is taken
        db.execute("UPDATE later.about SET value = '99' WHERE key = 'schema'")
        with pytest.raises(BadArgument, match="later version"):
            PostgresStore(server.address("later"))
    with pytest.raises(FileNotFoundError, match="no experiment in the schema 'none_here'"):
        PostgresStore(server.address("none_here"), read_only=True)


def test_a_closed_store_says_so() -> None:
    store: SharedStore = in_postgres().open()
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.take_turn()


# --- Fits that are put aside ----------------------------------------------------------------


def some_fit(rewards: tuple[float, ...]) -> Any:
    believer = Believer(rewards="any", seed=1)
    for arm in ("red", "green", "blue"):
        believer.add_arm(arm)
    for k in range(60):
        believer.tell(f"u{k % 7}", ("red", "green", "blue")[k % 3], rewards[k % len(rewards)])
    return Believer.fit(believer.fit_input())


def same(one: Any, two: Any) -> bool:
    """Whether two fits hold the same bits."""
    here, there = to_write(one), to_write(two)
    return here.keys() == there.keys() and all(
        np.asarray(a).dtype == np.asarray(there[name]).dtype
        and np.asarray(a).tobytes() == np.asarray(there[name]).tobytes()
        for name, a in here.items()
    )


@pytest.mark.parametrize("rewards", [(0.0, 1.0), (0.0, 1.0, 0.3, -2.5)])
def test_a_fit_is_kept_to_the_bit(rewards: tuple[float, ...]) -> None:
    fit = some_fit(rewards)
    again = fits_kept.from_bytes(fits_kept.to_bytes(fit))
    assert same(fit, again)
    assert (fit.groups, fit.rank, fit.real) == (again.groups, again.rank, again.real)


def test_damaged_fits_are_refused() -> None:
    """Flipped, cut, longer, anything: one error, or, where a bit means nothing, the same fit."""
    fit, rng, refusals = some_fit((0.0, 1.0, 0.3)), random.Random(5), 0
    held = fits_kept.to_bytes(fit)
    for _ in range(300):
        kind, at = rng.randrange(4), rng.randrange(len(held))
        other = (
            held[:at] + bytes([held[at] ^ 1 << rng.randrange(8)]) + held[at + 1 :], held[:at],
            held[:at] + rng.randbytes(3) + held[at:], rng.randbytes(at),
        )[kind]  # fmt: skip
        try:
            assert same(fits_kept.from_bytes(other), fit)
        except BadArgument:
            refusals += 1
    assert refusals > 250


@pytest.mark.parametrize("size", ["contexts", "arms", "groups", "rank", "knots"])
@pytest.mark.parametrize("value", [-1, 77, 10**9, 2**39, 2**62, 10**30])
def test_sizes_under_attack_take_no_memory(size: str, value: int) -> None:
    held = fits_kept.to_bytes(some_fit((0.0, 1.0, 0.3)))
    with archive.Reader(held) as reader:
        header = msgspec.json.decode(reader.header)
    before = msgspec.json.encode(header)
    after = msgspec.json.encode(header | {size: value}) if value < 2**63 else (
        before.replace(f'"{size}":{header[size]}'.encode(), f'"{size}":{value}'.encode())
    )  # fmt: skip
    other = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(held)) as members, zipfile.ZipFile(other, "w") as to:
        for name in members.namelist():
            to.writestr(name, after if name == archive.HEADER else members.read(name))
    tracemalloc.start()
    try:
        with pytest.raises(BadArgument):
            fits_kept.from_bytes(other.getvalue())
        assert tracemalloc.get_traced_memory()[1] < 4 * len(held) + 2**20
    finally:
        tracemalloc.stop()
