"""A store in one SQLite file: every commit synced, one writer, a chain of our own over it.

SQLite does not notice a flipped bit in its main file; the chain does (`verify`).
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lumpable.base.units import Name
from lumpable.stores import log_end
from lumpable.stores.checkpoints import Checkpoints
from lumpable.stores.in_tables import (
    BLANK,
    COLUMNS,
    DIGEST,
    ERASED,
    OWN,
    SETTINGS,
    Row,
    TableStore,
)
from lumpable.stores.law import AlreadyDecided, Damage, StoreError
from lumpable.stores.log_entries import Entry, digest_of_settings
from lumpable.stores.page_gaps import Gaps
from lumpable.stores.sqlite_file import PATIENCE, changed_tables, connect, store_errors
from lumpable.stores.writer_lock import WriterLock, check_file

KEEP = "UPDATE about SET value = ? WHERE key = ?"
PLACES = f"({', '.join('?' * len(COLUMNS.split(', ')))})"
IMPATIENCE = 0.1
"""Seconds that whoever erases waits for somebody who reads: all callers wait meanwhile."""
ROWS = 50
"""Of the log that one statement writes: each one lets another thread run, and waits for it."""


class SQLiteStore(TableStore):
    """A log in an SQLite file, which is made if it is not there.

    With `read_only` it may be read while another process writes.
    """

    DIGEST_SINCE, END_SINCE = 3, 4

    def __init__(
        self, path: str | Path, *, read_only: bool = False,
        salt: Callable[[], bytes] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(str(path), salt)
        self.path, self._read_only = Path(path), read_only
        self._checkpoints: Checkpoints | None = None
        self._owner: WriterLock | None = None
        self._gaps: Gaps | None = None
        self._may_hold_erased = True
        """Whether files may hold what was erased, as somebody who erased may have been cut off."""
        with self._errors(), contextlib.ExitStack() as undo:
            file = check_file(self.path)
            if not read_only:
                self._owner = WriterLock(file)
                undo.callback(self._owner.release, unused=True)
            self._db = connect(file, read_only=read_only)
            undo.callback(self._db.close)
            self._read_names()
            if self._owner is not None:
                self._owner.watch(str(file), f"{file}-wal")
                self._check_end()
                self._checkpoint_beside()
            undo.pop_all()

    def _checkpoint_beside(self) -> None:
        """Let no commit make checkpoints, if they can be made beside."""
        self._checkpoints = Checkpoints.begin(self.path, self._lock)
        if self._checkpoints is not None:
            self._db.execute("PRAGMA wal_autocheckpoint = 0")

    def _errors(self) -> contextlib.AbstractContextManager[None]:
        return store_errors(self.path, read_only=self._read_only)

    def _highest_user(self) -> int:
        highest = self._rows("SELECT seq FROM sqlite_sequence WHERE name = 'users'")
        return highest[0][0] if highest else 0

    def _schema(self) -> int:
        schema: int = self._rows("PRAGMA user_version")[0][0]
        return schema

    @contextlib.contextmanager
    def _change(self) -> Iterator[None]:
        """Run a transaction: when the block is over it is durable, or nothing of it was done."""
        with self._lock, self._errors():
            self._check_open()
            if self._owner is None:
                raise StoreError("the store is read-only", "read-only", place=self.place)
            self._owner.check()
            if self._db.in_transaction:  # the disk failed so badly that it was not rolled back
                self._db.execute("ROLLBACK")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
                self._owner.check()
            except BaseException:
                if self._db.in_transaction:
                    with contextlib.suppress(sqlite3.Error):  # what went wrong first is said
                        self._db.execute("ROLLBACK")
                raise

    def _rows(self, query: str, *given: Any) -> list[Row]:
        with self._lock, self._errors():
            self._check_open()
            return self._db.execute(query, given).fetchall()

    def _write(
        self, users: list[Row], arms: list[Row], log: list[Row], link: Row, end: bytes
    ) -> None:
        try:
            with self._change():
                self._db.executemany("INSERT INTO users VALUES (?, ?, ?)", users)
                self._db.executemany("INSERT INTO arms VALUES (?, ?)", arms)
                for first in range(0, len(log), ROWS):
                    rows = log[first : first + ROWS]
                    places = ", ".join([PLACES] * len(rows))
                    given = [value for row in rows for value in row]
                    self._db.execute(f"INSERT INTO log ({COLUMNS}) VALUES {places}", given)
                self._db.execute("INSERT INTO chain VALUES (?, ?)", link)
                self._db.execute(KEEP, (end, log_end.KEY))
            if self._checkpoints is not None:
                self._checkpoints.wrote(len(log))
        except sqlite3.IntegrityError as error:
            if "log.event" not in str(error):
                why = "another process wrote it, or it is damaged"
                raise self._damaged(f"{why}: {error}") from error
            raise AlreadyDecided("an event was decided before", place=self.place) from error

    def _entry(self, row: Row) -> Entry:
        """Make an entry; names that are unknown were given by another process, or are damaged."""
        unknown = row[4] not in self._salts or (
            row[5] is not None and row[5] not in self._arms.name
        )
        if unknown and self._owner is not None:
            self._owner.check()
        elif unknown:
            self._read_names()
        return super()._entry(row)

    def configure(self, settings: bytes) -> None:
        """Keep settings."""
        rows = [(SETTINGS, settings), (DIGEST, digest_of_settings(settings))]
        with self._change():
            self._db.executemany("REPLACE INTO about VALUES (?, ?)", rows)

    # --- Erasing and verifying ------------------------------------------------------------------

    def ready_to_erase(self, user: Name) -> bool:
        """See whether the write-ahead log can be emptied: not while somebody reads the file."""
        with self._no_checkpoints(), self._lock:
            if user in self._users.number:
                with self._change():  # or a reader of the main file alone would not be noticed
                    self._db.execute(f"PRAGMA user_version = {self._schema()}")
                self._empty_wal("nothing was erased")
                return True
            self._clean_up()
            return False

    def erase(self, user: Name) -> int:
        """Overwrite all that a user left, in the main file and in the write-ahead log."""
        with self._no_checkpoints(), self._lock:
            number = self._users.number.get(user)
            if number is None:
                self._clean_up()
                return 0
            self._may_hold_erased = True
            with self._change():
                # which ones must be known first: an update would change what it looks for
                found = self._db.execute(OWN.replace("%s", "?"), (number,)).fetchall()
                row = self._rows(f"{log_end.USERS} WHERE number = ?", number)[0]
                end = self._end.without(row, found)
                update = f"UPDATE log SET kind = '{ERASED}', {BLANK} WHERE number = ?"
                self._db.executemany(update, [(entry,) for entry, _ in found])
                self._db.execute("DELETE FROM users WHERE number = ?", (number,))
                self._db.execute(KEEP, (end.to_bytes(), log_end.KEY))
            self._end = end
            self._users.drop(number)
            del self._salts[number]
            self._clean_up()
            return len(found)

    def _no_checkpoints(self) -> contextlib.AbstractContextManager[None]:
        """Let none be made beside meanwhile; the lock must not be held yet."""
        return contextlib.nullcontext() if self._checkpoints is None else self._checkpoints.none()

    def _clean_up(self) -> None:
        """Leave nothing of what was erased where SQLite does: in its log, and between its rows."""
        if self._may_hold_erased and self._owner is not None:
            self._empty_wal("what was erased may still be in its log; erase it again")
            self._owner.check()
            with self._errors():
                if self._gaps is None:
                    self._gaps = Gaps(self.path)
                self._gaps.wipe(self._db)
            self._may_hold_erased = False

    def _empty_wal(self, otherwise: str) -> None:
        """Leave nothing in the write-ahead log; say what is so if somebody reads the file."""
        self._rows(f"PRAGMA busy_timeout = {round(1e3 * IMPATIENCE)}")
        try:
            busy = self._rows("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]
        finally:
            self._rows(f"PRAGMA busy_timeout = {round(1e3 * PATIENCE)}")
        if busy:
            raise StoreError(f"somebody reads the file; {otherwise}", "read", place=self.place)

    def verify(self) -> list[Damage]:
        """Check SQLite's own structure, the tables, and all that is in them."""
        with self._lock, self._one_moment():
            try:
                said = [words for (words,) in self._rows("PRAGMA integrity_check")]
                damages = [Damage("the file", words) for words in said if words != "ok"]
                if changed := changed_tables(self._db):
                    damages.append(Damage("the tables", f"are not as they were made: {changed}"))
                return [*damages, *self._damages()]
            except (sqlite3.Error, StoreError, TypeError, ValueError) as error:
                return [Damage("the file", f"cannot be read: {error}")]

    @contextlib.contextmanager
    def _one_moment(self) -> Iterator[None]:
        """Read all as it is at one moment, while another process may write."""
        if not self._read_only:  # nobody else writes
            yield
            return
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file and let another process write."""
        if self._checkpoints is not None:
            self._checkpoints.close()
        with self._lock:
            if not self._closed:
                self._closed = True
                self._db.close()
                if self._gaps is not None:
                    self._gaps.close()
                if self._owner is not None:
                    self._owner.release()
