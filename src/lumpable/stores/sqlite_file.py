"""An SQLite file as a store uses it: how it is opened, its tables, and what its errors mean."""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from lumpable.base.errors import BadArgument
from lumpable.stores import log_end
from lumpable.stores.law import StoreError, Trouble, kind_of
from lumpable.stores.log_entries import digest_of_settings
from lumpable.stores.writer_lock import PRIVATE

SCHEMA = 4
MARK = 0x4C554D50
"""SQLite's application id of our files: LUMP."""
TABLES = """
CREATE TABLE about (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE users (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE NOT NULL,
                    salt BLOB NOT NULL);
CREATE TABLE arms (number INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL);
CREATE TABLE log (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, at INTEGER, event TEXT,
                  user INTEGER, arm INTEGER, value INTEGER, propensity REAL, version INTEGER,
                  active INTEGER, detail TEXT, digest BLOB NOT NULL);
CREATE INDEX events ON log (event) WHERE event IS NOT NULL;
CREATE UNIQUE INDEX decisions ON log (event) WHERE kind = 'decided';
CREATE TABLE chain (last INTEGER PRIMARY KEY, link BLOB NOT NULL);
"""
"""As they were first."""
PATIENCE = 30.0
"""Seconds that a connection waits for another."""
WRITING = ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON")
"""Every commit is synced, and what is deleted is overwritten."""
TROUBLES: dict[int, Trouble] = {
    sqlite3.SQLITE_FULL: "full", sqlite3.SQLITE_READONLY: "read-only",
    sqlite3.SQLITE_PERM: "read-only", sqlite3.SQLITE_AUTH: "read-only",
    sqlite3.SQLITE_IOERR: "disk", sqlite3.SQLITE_CANTOPEN: "disk", sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy", sqlite3.SQLITE_PROTOCOL: "busy",
    sqlite3.SQLITE_CORRUPT: "damaged", sqlite3.SQLITE_NOTADB: "damaged",
    sqlite3.SQLITE_ERROR: "damaged",
}  # fmt: skip
"""What SQLite's codes mean. (The last: our queries are right, so the tables are not.)"""


def _own_index(db: sqlite3.Connection) -> str:
    """Let somebody be forgotten quickly."""
    return "CREATE INDEX own ON log (user) WHERE kind = 'decided';"


def _settings_digest(db: sqlite3.Connection) -> str:
    """Let a change of the settings be found; if they are no bytes, opening them says so."""
    held = db.execute("SELECT value FROM about WHERE key = 'settings'").fetchone()
    value = b"" if held is None else held[0]
    digest = digest_of_settings(value if isinstance(value, bytes) else repr(value).encode())
    return f"REPLACE INTO about VALUES ('settings digest', x'{digest.hex()}');"


def _end(db: sqlite3.Connection) -> str:
    """Let it be found if the last entries are gone, or names or blank rows are others."""
    highest = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'users'").fetchone()
    try:
        end = log_end.sum_tables(
            lambda query: db.execute(query).fetchall(), highest[0] if highest else 0
        )
    except (TypeError, ValueError) as error:
        raise sqlite3.DatabaseError(f"its tables are damaged: {error}") from error
    return f"INSERT OR IGNORE INTO about VALUES ('{log_end.KEY}', x'{end.to_bytes().hex()}');"


MIGRATIONS = {1: _own_index, 2: _settings_digest, 3: _end}
"""What leads from a schema to the next one."""


def connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Open a file, or make one unless it is only to be read."""
    if read_only:
        return _reading(path)
    new = not path.exists()
    if new:  # SQLite gives its own files beside it the same mode
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE))
    try:
        db = _at(path, "rw")
        try:
            empty = _is_empty(db, path)  # before the mode of a file of others is changed
            for pragma in WRITING:
                db.execute(f"PRAGMA {pragma}")
            if empty:
                marks = f"PRAGMA application_id = {MARK}; PRAGMA user_version = {min(MIGRATIONS)};"
                db.executescript(f"BEGIN IMMEDIATE; {TABLES} {marks} COMMIT;")
            _migrate(db)
        except BaseException:
            db.close()
            raise
    except BaseException:
        if new and path.exists() and path.stat().st_size == 0:
            path.unlink()
        raise
    return db


def _reading(path: Path) -> sqlite3.Connection:
    """Open a file to read it, also where nothing can be written; then nobody else may write it.

    SQLite reads a log of commits by an index of it, which it makes beside the file.
    """
    if not path.exists():
        raise FileNotFoundError(f"no such file: {str(path)!r}")
    log = path.with_name(f"{path.name}-wal")
    for more in ("", "&immutable=1"):
        db = _at(path, f"ro{more}")
        try:
            if _is_empty(db, path):
                raise BadArgument("path", "a file of lumpable", f"an empty one, {str(path)!r}")
        except sqlite3.OperationalError as error:
            db.close()
            if more or os.access(path.parent, os.W_OK, effective_ids=_BY_EFFECT):
                raise
            if log.exists() and log.stat().st_size > 0:
                why = f"its last commits are in {log.name!r}, and its folder cannot be written"
                shut = sqlite3.OperationalError(f"{why}: copy both, and read the copy")
                shut.sqlite_errorcode = sqlite3.SQLITE_READONLY
                raise shut from error
        except BaseException:
            db.close()
            raise
        else:
            return db
    raise AssertionError("one of the two was opened or raised")


_BY_EFFECT = os.access in os.supports_effective_ids


def beside(path: Path) -> sqlite3.Connection:
    """Open a file that this process writes once more, for checkpoints; these are synced, too."""
    db = _at(path, "rw")
    try:
        for pragma in WRITING:
            db.execute(f"PRAGMA {pragma}")
    except BaseException:
        db.close()
        raise
    return db


def _at(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?mode={mode}"
    return sqlite3.connect(
        address, uri=True, isolation_level=None, check_same_thread=False, timeout=PATIENCE
    )


def _is_empty(db: sqlite3.Connection, path: Path) -> bool:
    """Return whether a file has no tables yet; refuse files of others and of later versions."""
    mark, schema, tables = (
        db.execute(query).fetchone()[0]
        for query in (
            "PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_schema",
        )
    )  # fmt: skip
    if (mark, schema, tables) == (0, 0, 0):
        return True
    if mark != MARK:
        raise BadArgument("path", "a file of lumpable", f"another database, {str(path)!r}")
    if schema < min(MIGRATIONS):
        raise sqlite3.DatabaseError("the version of its tables is damaged")
    if schema > SCHEMA:
        written = f"{str(path)!r}, which a later version wrote (schema {schema})"
        raise BadArgument("path", f"a file of schema {SCHEMA} or older", written)
    return False


def _migrate(db: sqlite3.Connection, to: int = SCHEMA) -> None:
    """Bring the tables of an older version up to date, one version after the other."""
    while (schema := db.execute("PRAGMA user_version").fetchone()[0]) < to:
        mark = f"PRAGMA user_version = {schema + 1};"
        db.executescript(f"BEGIN IMMEDIATE; {MIGRATIONS[schema](db)} {mark} COMMIT;")


def changed_tables(db: sqlite3.Connection) -> str:
    """Name what is missing, changed or added among tables, indices and triggers; empty: nothing."""
    found = {(kind, name, sql) for kind, name, sql in db.execute(MADE).fetchall()}
    expected = _fresh_schema(db.execute("PRAGMA user_version").fetchone()[0])
    return ", ".join(sorted({f"{kind} {name}" for kind, name, _ in found ^ expected}))


MADE = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\'"
"""All but what SQLite counts for itself, if somebody asks it to."""


@functools.cache
def _fresh_schema(version: int) -> frozenset[tuple[str, str, str | None]]:
    """Return what tables, indices and triggers a file of this version has."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        db.executescript(f"{TABLES} PRAGMA user_version = {min(MIGRATIONS)};")
        _migrate(db, version)
        return frozenset((kind, name, sql) for kind, name, sql in db.execute(MADE).fetchall())
    finally:
        db.close()


@contextlib.contextmanager
def store_errors(path: Path, *, read_only: bool) -> Iterator[None]:
    """Raise what goes wrong with the file as an error of the store."""
    so = "" if read_only else "; nothing was written"
    try:
        yield
    except (sqlite3.IntegrityError, FileNotFoundError):
        raise
    except OSError as error:
        raise StoreError(f"{error}{so}", kind_of(error), place=str(path)) from error
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise StoreError(f"{error}{so}", _kind_of(error), place=str(path)) from error


def _kind_of(error: sqlite3.Error | UnicodeDecodeError) -> Trouble:
    """Return what went wrong by SQLite's code; without one, nobody can read what is there."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return "damaged" if code is None else TROUBLES.get(code & 0xFF, "other")
