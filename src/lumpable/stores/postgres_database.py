"""A PostgreSQL database as a store uses it: sessions, tables, advisory locks."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.base.extras import need
from lumpable.stores import log_end
from lumpable.stores.law import Trouble

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # errors say it, once
SCHEMA = 3
"""The version of the tables."""
USUAL = "lumpable"
"""The schema of the database that they are in, where the search path names no other."""
DECISIONS = "decisions"
"""The index that refuses a second decision of an event."""
TABLES = f"""
CREATE TABLE about (key TEXT PRIMARY KEY, value BYTEA NOT NULL);
CREATE TABLE ever (users BIGINT NOT NULL, erasures BIGINT NOT NULL);
CREATE TABLE users (number BIGINT PRIMARY KEY, name TEXT NOT NULL, salt BYTEA NOT NULL);
CREATE UNIQUE INDEX names ON users (md5(name));
CREATE TABLE arms (number BIGINT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE log (number BIGINT PRIMARY KEY, kind TEXT NOT NULL, at BIGINT, event TEXT,
                  "user" BIGINT, arm BIGINT, value BIGINT, propensity FLOAT8, version BIGINT,
                  active BOOLEAN, detail TEXT, digest BYTEA NOT NULL);
CREATE INDEX events ON log (event) WHERE event IS NOT NULL;
CREATE INDEX own ON log ("user") WHERE kind = 'decided';
CREATE UNIQUE INDEX {DECISIONS} ON log (event) WHERE kind = 'decided';
CREATE TABLE chain (last BIGINT PRIMARY KEY, link BYTEA NOT NULL);
CREATE TABLE aside (number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind TEXT NOT NULL,
                    name TEXT NOT NULL, content BYTEA NOT NULL, UNIQUE (kind, name));
INSERT INTO ever VALUES (0, 0);
INSERT INTO about VALUES ('schema', '{SCHEMA}'), ('settings digest', sha256('')),
                         ('{log_end.KEY}', '{log_end.End().to_bytes().decode()}');
"""
KEPT = "(SELECT value FROM about WHERE key = 'settings')"
MIGRATIONS = {
    1: f"""INSERT INTO about VALUES ('settings digest', sha256(coalesce({KEPT}, '')))
           ON CONFLICT DO NOTHING""",  # so that a change of them is found
    2: f"INSERT INTO about VALUES ('{log_end.KEY}', %s) ON CONFLICT DO NOTHING",  # and of the end
}
"""What leads from a schema to the next one; %s is where the log ends."""
ADDED = """
SELECT 'trigger ' || tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
 WHERE relnamespace = current_schema()::regnamespace AND NOT tgisinternal
UNION ALL SELECT 'rule ' || rulename FROM pg_rules WHERE schemaname = current_schema()
"""
INDICES = """
SELECT relname::text FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
 WHERE relnamespace = current_schema()::regnamespace AND indisvalid AND indisunique = (
       relname NOT IN ('events', 'own'))
"""
NEEDED_INDICES = {"names", "events", "own", DECISIONS, "aside_kind_name_key"} | {
    f"{table}_pkey" for table in ("about", "users", "arms", "log", "chain", "aside")
}
NEEDED = "psycopg", "postgres", "sharing an experiment by PostgreSQL"
KEEPALIVES: dict[str, Any] = {
    "application_name": "lumpable", "keepalives_idle": 10, "keepalives_interval": 5,
    "keepalives_count": 3,
}  # fmt: skip
OURS = {"about", "ever", "users", "arms", "log", "chain", "aside"}
FOUND = (
    "SELECT relname::text FROM pg_class JOIN pg_namespace AS spaces ON spaces.oid = relnamespace "
    "WHERE nspname = %s AND relkind IN ('r', 'p', 'v', 'm', 'f')"
)
SESSION = (
    "SET synchronous_commit = on", "SET default_transaction_isolation = 'read committed'",
    "SET lock_timeout = 0", "SET statement_timeout = 0", "SET idle_session_timeout = 0",
    "SET tcp_keepalives_idle = 10", "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
)  # fmt: skip
"""Durable; who waits for a turn waits; a machine that is gone loses its turn in half a minute."""
TROUBLES: tuple[tuple[str, Trouble], ...] = (
    ("53100", "full"), ("25006", "read-only"), ("42501", "read-only"), ("58030", "disk"),
    ("XX001", "damaged"), ("XX002", "damaged"), ("42", "damaged"), ("3F", "damaged"),
    ("23505", "busy"), ("40", "busy"), ("55P03", "busy"), ("08", "away"), ("28", "away"),
    ("3D", "away"), ("53300", "away"), ("57P", "away"),
)  # fmt: skip
"""What PostgreSQL's codes mean that begin so (42: our queries are right, so the tables are not)."""
Row = tuple[Any, ...]
Statement = tuple[str, Sequence[Any]]


def is_address(text: str) -> bool:
    """Whether this is the address of a PostgreSQL database, and not a file."""
    return text.startswith(("postgresql://", "postgres://"))


def place_of(address: str) -> str:
    """Return an address without its password, for people.

    >>> place_of("postgresql://ann:secret@db.example/shop?password=x&sslmode=require")
    'postgresql://ann@db.example/shop?sslmode=require'
    """
    plain = re.sub(r"(?<=//)([^/@:]*):[^/@]*@", r"\1@", address)
    return re.sub(r"([?&])password=[^&]*&?", r"\1", plain).rstrip("?&")


def kind_of(error: Any) -> Trouble:
    """Return what went wrong by PostgreSQL's code; it gives none when it is not reached."""
    from psycopg import InterfaceError, OperationalError

    if error.sqlstate is None:
        return "away" if isinstance(error, InterfaceError | OperationalError) else "other"
    return next((kind for code, kind in TROUBLES if error.sqlstate.startswith(code)), "other")


class Session:
    """One connection, which threads may share. Each call is a transaction, durable at its end."""

    def __init__(self, connection: Any) -> None:
        self._db, self._alone = connection, threading.RLock()
        self._key = 0
        """What its advisory locks go by: the table of this log."""

    @property
    def broken(self) -> bool:
        """Whether it is lost."""
        return bool(self._db.closed)

    def rows(self, query: str, *given: Any) -> list[Row]:
        """Return what a statement finds."""
        with self._alone:
            cursor = self._db.execute(query, given)
            return [] if cursor.description is None else cursor.fetchall()

    def write(self, statements: Sequence[Statement]) -> None:
        """Run statements in one transaction, and wait for the disk."""
        with self._alone, self._db.pipeline(), self._db.transaction():
            for query, given in statements:
                self._db.execute(query, given)

    def locked_rows(self, which: int, query: str) -> list[Row]:
        """Wait for an advisory lock; return what a query finds then.

        They are two statements in one message: a statement sees what was there when it began.
        """
        with self._alone, self._db.pipeline():
            self._db.execute("SELECT pg_advisory_lock(%s, %s)", (self._key, which))
            found: list[Row] = self._db.execute(query).fetchall()
            return found

    def try_lock(self, which: int) -> bool:
        """Take an advisory lock if it is free."""
        return bool(self.rows("SELECT pg_try_advisory_lock(%s, %s)", self._key, which)[0][0])

    def unlock(self, which: int) -> None:
        """Give up an advisory lock."""
        self.rows("SELECT pg_advisory_unlock(%s, %s)", self._key, which)

    def give_up(self) -> None:
        """Give up all advisory locks, if nobody is at work here and it is not lost."""
        from psycopg import Error

        if self._alone.acquire(blocking=False):
            try:
                with contextlib.suppress(Error):
                    self.rows("SELECT pg_advisory_unlock_all()")
            finally:
                self._alone.release()

    @contextlib.contextmanager
    def one_moment(self) -> Iterator[None]:
        """Read everything as it is at one moment."""
        with self._alone, self._db.transaction():
            self._db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield

    def changed_tables(self) -> str:
        """Name indices that are missing, and triggers and rules that were added; empty: none."""
        missing = NEEDED_INDICES - {name for (name,) in self.rows(INDICES)}
        added = [words for (words,) in self.rows(ADDED)]
        return ", ".join([*(f"index {name}" for name in sorted(missing)), *sorted(added)])

    def close(self) -> None:
        """End the session, with its locks."""
        self._db.close()

    def prepare(self, *, make: bool) -> None:
        """Find the tables, or make them if they may be made; refuse those of later versions."""
        path = self.rows("SHOW search_path")[0][0]
        first = path.split(",")[0].strip().strip('"')
        schema = USUAL if first in ("$user", "public", "") else first
        self._db.execute("SELECT set_config('search_path', %s, false)", (f'"{schema}"',))
        for query in SESSION:
            self._db.execute(query)
        with self._db.transaction():
            self._db.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (f"lumpable {schema}",))
            found = {name for (name,) in self.rows(FOUND, schema)}
            if not found and not make:
                raise FileNotFoundError(f"no experiment in the schema {schema!r}")
            if not found:
                self._db.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
                self._db.execute(TABLES)
            elif not found >= OURS:
                expected = "a schema of lumpable, or an empty one"
                raise BadArgument("path", expected, f"the schema {schema!r} with other tables")
            self._migrate(make=make)
        key = self.rows("SELECT 'log'::regclass::oid::bigint")[0][0]
        self._key = (key + 2**31) % 2**32 - 2**31  # a signed number of 32 bits, as locks take it

    def _migrate(self, *, make: bool) -> None:
        """Bring tables of an older version up to date; refuse those of later versions."""
        written = self.rows("SELECT value FROM about WHERE key = 'schema'")
        version = int(written[0][0]) if written else SCHEMA
        if version > SCHEMA:
            got = f"tables that a later version wrote (schema {version})"
            raise BadArgument("path", f"tables of schema {SCHEMA} or older", got)
        for older in range(version, SCHEMA) if make else ():
            query = MIGRATIONS[older]
            end = [
                log_end.sum_tables(self.rows, self.rows("SELECT users FROM ever")[0][0]).to_bytes()
            ]
            self._db.execute(query, end if "%s" in query else None)
            new = str(older + 1).encode()
            self._db.execute("UPDATE about SET value = %s WHERE key = 'schema'", (new,))


def connect(address: str, *, make: bool = True) -> Session:
    """Connect to a database and find its tables, or make them."""
    psycopg = need(*NEEDED)
    connection = psycopg.connect(address, autocommit=True, **KEEPALIVES)
    session = Session(connection)
    try:
        session.prepare(make=make)
    except BaseException:
        session.close()
        raise
    return session


def check_address(address: str) -> str:
    """Return an address that PostgreSQL can read.

    What is wrong with another one may be in its password, which is not repeated.
    """
    psycopg = need(*NEEDED)
    server, _, database = address.partition("//")[2].partition("?")[0].partition("/")
    malformed = "@" in database or server.count("@") > 1
    try:
        if not malformed:
            psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        malformed = True
    if malformed:
        expected = "an address such as postgresql://user@host/database, with %40 for an @ in a name"
        raise BadArgument("path", expected, "one that PostgreSQL cannot read")
    return address


def rows_into(table: str, kinds: str, rows: list[Row]) -> Statement:
    """Return the statement that adds rows: an array for each column."""
    arrays = ", ".join(f"%s::{kind}[]" for kind in kinds.split(", "))
    columns = [list(column) for column in zip(*rows, strict=True)]
    return f"INSERT INTO {table} SELECT * FROM unnest({arrays})", columns
