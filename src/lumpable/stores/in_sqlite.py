"""A store in one SQLite file: every commit synced, one writer, a chain of our own over it.

SQLite does not notice a flipped bit in its main file; the chain does (`verify`).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from lumpable.stores.law import AlreadyDecided, Damage, Store, StoreError
from lumpable.stores.log_entries import Entry, Name, digest_of, linked
from lumpable.stores.sqlite_file import Numbered, connected, store_errors
from lumpable.stores.writer_lock import WriterLock

ERASED = "erased"
COLUMNS = "number, kind, at, event, user, arm, value, propensity, version, active, detail, digest"
INSERT = f"INSERT INTO log ({COLUMNS}) VALUES ({', '.join('?' * len(COLUMNS.split(', ')))})"
BLANK = ", ".join(f"{name} = NULL" for name in COLUMNS.split(", ")[2:-1])
PAGE = 10_000
"""Entries that are read at a time."""
Row = tuple[Any, ...]


class SQLiteStore(Store):
    """A log in an SQLite file, which is made if it is not there.

    With `read_only` it may be read while another process writes.
    """

    def __init__(
        self, path: str | Path, *, read_only: bool = False,
        salt: Callable[[], bytes] = lambda: os.urandom(16),
    ) -> None:  # fmt: skip
        self.path, self._salt = Path(path), salt
        self._lock, self._closed = threading.RLock(), False
        with store_errors(self.path):
            self._owner = None if read_only else WriterLock(self.path.resolve())
        try:
            with store_errors(self.path):
                self._db = connected(self.path, read_only=read_only)
                self._read_names()
                self._last, self._link = self._end_of_chain()
        except BaseException:
            if self._owner is not None:
                self._owner.release()
            raise

    def _read_names(self) -> None:
        try:
            self._read_tables()
        except (TypeError, ValueError) as error:
            raise StoreError(f"{self.path}: names are damaged: {error}") from error

    def _read_tables(self) -> None:
        users = self._db.execute("SELECT number, name, salt FROM users").fetchall()
        self._users = Numbered((number, name) for number, name, _ in users)
        self._salts: dict[int | None, bytes] = {number: salt for number, _, salt in users}
        self._salts[None] = b""
        self._arms = Numbered(self._db.execute("SELECT number, name FROM arms"))
        highest = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'users'")
        self._users_ever = (highest.fetchone() or (0,))[0]  # a number does not come again

    def _end_of_chain(self) -> tuple[int, bytes]:
        rows = self._rows("SELECT last, link FROM chain ORDER BY last DESC LIMIT 1")
        if rows and not isinstance(rows[0][1], bytes):
            raise StoreError(f"{self.path}: the chain is damaged")
        return rows[0] if rows else (0, b"")

    @contextlib.contextmanager
    def _change(self) -> Iterator[None]:
        """Run a transaction: when the block is over it is durable, or nothing of it was done."""
        with self._lock, store_errors(self.path):
            if self._closed:
                raise StoreError(f"{self.path}: the store is closed")
            if self._db.in_transaction:  # the disk failed so badly that it was not rolled back
                self._db.execute("ROLLBACK")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    with contextlib.suppress(sqlite3.Error):  # what went wrong first is said
                        self._db.execute("ROLLBACK")
                raise

    def _rows(self, query: str, *given: Any) -> list[Row]:
        with self._lock, store_errors(self.path):
            return self._db.execute(query, given).fetchall()

    # --- Writing --------------------------------------------------------------------------------

    @property
    def last(self) -> int:
        """The number of the last entry."""
        return self._last

    @property
    def settings(self) -> bytes:
        """What `configure` wrote last."""
        found = self._rows("SELECT value FROM about WHERE key = 'settings'")
        if found and not isinstance(found[0][0], bytes):
            raise StoreError(f"{self.path}: its settings are damaged")
        return found[0][0] if found else b""

    def configure(self, settings: bytes) -> None:
        """Keep settings."""
        with self._change():
            self._db.execute("REPLACE INTO about VALUES ('settings', ?)", (settings,))

    def append(self, entries: Sequence[Entry]) -> int:
        """Add entries in one transaction."""
        if not entries:
            return self._last
        with self._lock:
            users, arms = self._name_new(entries)
            rows = [self._row(number, e) for number, e in enumerate(entries, self._last + 1)]
            last, link = self._last + len(rows), linked(self._link, [row[-1] for row in rows])
            try:
                with self._change():
                    self._db.executemany("INSERT INTO users VALUES (?, ?, ?)", users)
                    self._db.executemany("INSERT INTO arms VALUES (?, ?)", arms)
                    self._db.executemany(INSERT, rows)
                    self._db.execute("INSERT INTO chain VALUES (?, ?)", (last, link))
            except BaseException as error:
                for number, *_ in users:
                    self._users.drop(number)
                    del self._salts[number]
                for number, _ in arms:
                    self._arms.drop(number)
                if isinstance(error, sqlite3.IntegrityError):
                    if "log.event" not in str(error):
                        raise StoreError(f"{self.path} is damaged: {error}") from error
                    raise AlreadyDecided(f"{self.path}: an event was decided before") from error
                raise
            self._last, self._link, self._users_ever = last, link, self._users_ever + len(users)
            return last

    def _name_new(self, entries: Sequence[Entry]) -> tuple[list[Row], list[Row]]:
        """Give new users and arms numbers; return the rows that say so."""
        users: list[Row] = []
        arms: list[Row] = []
        for entry in entries:
            if entry.user is not None and entry.user not in self._users.number:
                number, salt = self._users_ever + len(users) + 1, self._salt()
                self._salts[number] = salt
                users.append((*self._users.add(entry.user, number), salt))
            if entry.arm is not None and entry.arm not in self._arms.number:
                arms.append(self._arms.add(entry.arm, 1 + len(self._arms.number)))
        return users, arms

    def _row(self, number: int, entry: Entry) -> Row:
        user = None if entry.user is None else self._users.number[entry.user]
        return (
            number, entry.kind, entry.at, entry.event or None, user,
            None if entry.arm is None else self._arms.number[entry.arm], entry.value,
            entry.propensity, entry.version, entry.active, entry.detail,
            digest_of(entry, self._salts[user]),
        )  # fmt: skip

    # --- Reading --------------------------------------------------------------------------------

    def entries(self, after: int = 0) -> Iterator[tuple[int, Entry]]:
        """Yield the entries after a number, a page at a time."""
        for row in self._log(after):
            if row[1] != ERASED:
                yield row[0], self._entry(row)

    def _log(self, after: int) -> Iterator[Row]:
        query = f"SELECT {COLUMNS} FROM log WHERE number > ? ORDER BY number LIMIT {PAGE}"
        while rows := self._rows(query, after):
            yield from rows
            after = rows[-1][0]

    def about(self, event: str) -> list[tuple[int, Entry]]:
        """Return the entries of an event."""
        query = f"SELECT {COLUMNS} FROM log WHERE event = ? ORDER BY number"
        return [(row[0], self._entry(row)) for row in self._rows(query, event)]

    def _entry(self, row: Row) -> Entry:
        number, kind, at, event, user, arm, value, propensity, version, active, detail, _ = row
        try:
            who = None if user is None else self._users.name[user]
            what = None if arm is None else self._arms.name[arm]
            shown = None if active is None else bool(active)
            plain = (kind, at, event or "", who, what, value, propensity, version, shown, detail)
            return msgspec.convert(plain, Entry)
        except (KeyError, TypeError, msgspec.ValidationError) as error:
            raise StoreError(f"{self.path}: entry {number} is damaged: {error!r}") from error

    def digest(self, number: int) -> bytes:
        """Return the digest of an entry."""
        found = self._rows("SELECT digest FROM log WHERE number = ?", number)
        return found[0][0] if found and isinstance(found[0][0], bytes) else b""

    # --- Erasing and verifying ------------------------------------------------------------------

    def erase(self, user: Name) -> int:
        """Overwrite all that a user left, in the main file and in the write-ahead log."""
        with self._lock:
            number = self._users.number.get(user)
            if number is None:
                self._empty_wal()  # maybe the last time it could not be
                return 0
            own = "user = :user OR event IN (SELECT event FROM log WHERE user = :user)"
            with self._change():
                # which ones must be known first: an update would change what it looks for
                query = f"SELECT number FROM log WHERE {own}"
                found = self._db.execute(query, {"user": number}).fetchall()
                update = f"UPDATE log SET kind = '{ERASED}', {BLANK} WHERE number = ?"
                self._db.executemany(update, found)
                self._db.execute("DELETE FROM users WHERE number = ?", (number,))
            self._users.drop(number)
            del self._salts[number]
            self._empty_wal()
            return len(found)

    def _empty_wal(self) -> None:
        """Leave nothing in the write-ahead log, where what was erased may still stand."""
        if self._rows("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] != 0:
            why = "somebody reads the file, and what was erased may still be in its log"
            raise StoreError(f"{self.path}: {why}; erase it again")

    def verify(self) -> list[Damage]:
        """Check SQLite's own structure, every entry against its digest, and the chain."""
        with self._lock:
            try:
                said = [words for (words,) in self._db.execute("PRAGMA integrity_check")]
                damages = [Damage("the file", words) for words in said if words != "ok"]
                self._read_names()  # what is in the file now, not what was when it was opened
                return damages + list(self._broken())
            except (sqlite3.Error, StoreError, TypeError, ValueError) as error:
                return [Damage("the file", f"cannot be read: {error}")]

    def _broken(self) -> Iterator[Damage]:
        links = dict(self._db.execute("SELECT last, link FROM chain"))
        link, digests, expected = b"", [], 1
        for row in self._log(0):
            if row[0] != expected:
                yield Damage(f"entry {expected}", "is missing")
                return
            if row[1] != ERASED and not self._matches(row):
                yield Damage(f"entry {expected}", "is not what was written")
            digests.append(row[-1])
            if expected in links:
                link, digests = linked(link, digests), []
                if link != links[expected]:
                    yield Damage(f"entries up to {expected}", "the chain is broken")
                    return
            expected += 1
        if digests or max(links, default=0) != expected - 1:
            yield Damage(f"entry {expected}", "log and chain end at different places")

    def _matches(self, row: Row) -> bool:
        try:
            return digest_of(self._entry(row), self._salts[row[4]]) == bytes(row[-1])
        except (StoreError, KeyError, TypeError, ValueError):
            return False

    def close(self) -> None:
        """Close the file and let another process write."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._db.close()
                if self._owner is not None:
                    self._owner.release()
