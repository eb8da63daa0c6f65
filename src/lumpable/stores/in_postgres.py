"""A store in a PostgreSQL database, which several processes share: each writes in its turn.

The turn and the election are advisory locks of the session. PostgreSQL gives them to the next one
as soon as a process ends, however it ends. What is appended carries the number after the last one:
should two ever write at once, the table refuses the second.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from lumpable.base.units import Name
from lumpable.stores import log_end
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
from lumpable.stores.law import AlreadyDecided, Damage, SharedStore, StoreError
from lumpable.stores.log_entries import Entry, digest_of_settings
from lumpable.stores.postgres_database import (
    DECISIONS,
    Session,
    Statement,
    check_address,
    connect,
    kind_of,
    place_of,
    rows_into,
)

TURN, ELECTION = 1, 2
KINDS = "bigint, text, bigint, text, bigint, bigint, bigint, float8, bigint, boolean, text, bytea"
"""Of the columns of the log."""
NOW = (
    "SELECT users, erasures, (SELECT count(*) FROM arms), last, link FROM ever LEFT JOIN "
    "(SELECT last, link FROM chain ORDER BY last DESC LIMIT 1) AS newest ON true"
)
"""What names there are, and the end of the chain."""
KEEP = "UPDATE about SET value = %s WHERE key = %s"
CLEAR: list[Statement] = [
    ("LOCK TABLE aside IN SHARE ROW EXCLUSIVE MODE", ()), ("DELETE FROM aside", ()),
]  # fmt: skip
"""What was put aside goes; one process at a time, so that none waits for another in a circle."""


class PostgresStore(TableStore, SharedStore):
    """A log in a schema of a PostgreSQL database, which is made if it is not there.

    `address` is what PostgreSQL's own clients take (`postgresql://...`). The schema is the first
    one of the search path, or `lumpable` if that is the usual one. With `read_only` none is made.
    """

    DIGEST_SINCE, END_SINCE = 2, 3
    KEYS = TableStore.KEYS | {"schema"}

    def __init__(
        self, address: str, *, read_only: bool = False, salt: Callable[[], bytes] | None = None
    ) -> None:
        super().__init__(place_of(check_address(address)), salt)
        self._address, self._make = address, not read_only
        self._writing: Session | None = None
        self._reading: Session | None = None
        self._has_turn = self._is_elected = False
        self._known: Row = ()
        """How many names there were when they were read: users, erasures, arms."""
        self._cleaned = -1
        """Erasures by the time PostgreSQL cleaned up; who erased may have been cut off before."""
        try:
            with self._errors():
                self._reader()
            self._read_names()
            if not read_only:
                self._check_end()
        except BaseException:
            self.close()
            raise

    # --- Sessions ---------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise what goes wrong as an error of the store, and let go of sessions that are lost."""
        from psycopg import Error

        self._check_open()
        try:
            yield
        except Error as error:
            if self._writing is not None and self._writing.broken:
                self._leave()
            if self._reading is not None and self._reading.broken:
                self._reading = None
            why, kind = str(error).strip(), kind_of(error)
            raise StoreError(why, kind, place=self.place) from error

    def _leave(self) -> None:
        """End the session that writes, and with it the turn and the election."""
        session, self._writing = self._writing, None
        self._has_turn = self._is_elected = False
        if session is not None:
            session.close()

    def _writer(self) -> Session:
        if self._writing is None:
            self._writing = connect(self._address)
        return self._writing

    def _reader(self) -> Session:
        if self._reading is None:
            self._reading = connect(self._address, make=self._make)
        return self._reading

    def _rows(self, query: str, *given: Any) -> list[Row]:
        with self._lock, self._errors():
            return self._reader().rows(query.replace("?", "%s"), *given)

    def _schema(self) -> int:
        return int(self._rows("SELECT value FROM about WHERE key = 'schema'")[0][0])

    def _highest_user(self) -> int:
        return int(self._rows("SELECT users FROM ever")[0][0])

    # --- Turns ------------------------------------------------------------------------------------

    def take_turn(self) -> None:
        """Wait for the lock, then read which names others gave."""
        try:
            with self._errors():
                *known, last, link = self._writer().locked_rows(TURN, NOW)[0]
                self._has_turn = True
                with self._lock:
                    if tuple(known) != self._known:
                        self._read_names()
                        self._known = tuple(known)
                    self._last, self._link = last or 0, link or b""
        except BaseException:  # it may have the lock, and not know
            self._leave()
            raise

    def end_turn(self) -> None:
        """Give up the lock."""
        if self._has_turn:
            self._has_turn = False
            try:
                with self._errors():
                    self._writer().unlock(TURN)
            except BaseException:
                self._leave()
                raise

    def _in_turn(self) -> Session:
        """Return the session that has the turn: another one must not write."""
        session = self._writing
        if session is None or not self._has_turn:
            raise StoreError("another process may write now", "busy", place=self.place)
        return session

    def elected(self) -> bool:
        """Take the other lock, if nobody has it."""
        if not self._is_elected:
            with self._errors():
                self._is_elected = self._writer().try_lock(ELECTION)
        return self._is_elected

    # --- Writing ----------------------------------------------------------------------------------

    @property
    def last(self) -> int:
        """The number of the last entry."""
        return self._last if self._has_turn else self._read_end()[0]

    def configure(self, settings: bytes) -> None:
        """Keep settings."""
        query = (
            "INSERT INTO about VALUES (%s, %s) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        )
        rows = [(SETTINGS, settings), (DIGEST, digest_of_settings(settings))]
        with self._lock, self._errors():
            self._reader().write([(query, row) for row in rows])

    def _write(
        self, users: list[Row], arms: list[Row], log: list[Row], link: Row, end: bytes
    ) -> None:
        from psycopg.errors import UniqueViolation

        session = self._in_turn()
        more: list[Statement] = []
        if users:
            more.append(rows_into("users", "bigint, text, bytea", users))
            more.append(("UPDATE ever SET users = %s", (users[-1][0],)))
        if arms:
            more.append(rows_into("arms", "bigint, text", arms))
        more.append(rows_into(f"log ({COLUMNS})", KINDS, log))
        more.append(("INSERT INTO chain VALUES (%s, %s)", link))
        more.append((KEEP, (end, log_end.KEY)))
        try:
            with self._errors():
                session.write(more)
        except StoreError as error:
            cause = error.__cause__
            if isinstance(cause, UniqueViolation) and cause.diag.constraint_name == DECISIONS:
                why = "an event was decided before"
                raise AlreadyDecided(why, place=self.place) from cause
            raise
        was_users, erasures, was_arms = self._known
        self._known = was_users + len(users), erasures, was_arms + len(arms)

    # --- Reading ----------------------------------------------------------------------------------

    def _entry(self, row: Row) -> Entry:
        """Make an entry; names that others gave since are read first."""
        if row[4] not in self._salts or (row[5] is not None and row[5] not in self._arms.name):
            with self._lock:
                last, link, end = self._last, self._link, self._end
                self._read_names()
                self._last, self._link, self._end = last, link, end
                if not self._has_turn:
                    self._known = ()
        return super()._entry(row)

    # --- Erasing and verifying --------------------------------------------------------------------

    def ready_to_erase(self, user: Name) -> bool:
        """Look for the name; who erased may have been cut off before PostgreSQL cleaned up."""
        with self._lock, self._errors():
            session = self._in_turn()
            if user in self._users.number:
                return True
            self._clean_up(session)
            return False

    def erase(self, user: Name) -> int:
        """Blank all that a user left, and let PostgreSQL clean up behind it."""
        with self._lock, self._errors():
            session, number = self._in_turn(), self._users.number.get(user)
            if number is None:
                return 0
            found = session.rows(OWN, number)
            row = session.rows(f"{log_end.USERS} WHERE number = %s", number)[0]
            end = self._end.without(row, found)
            blank = f"UPDATE log SET kind = '{ERASED}', {BLANK} WHERE number = ANY(%s)"
            session.write([
                (blank, ([entry for entry, _ in found],)),
                ("DELETE FROM users WHERE number = %s", (number,)),
                (KEEP, (end.to_bytes(), log_end.KEY)), *CLEAR,
                ("UPDATE ever SET erasures = erasures + 1", ()),
            ])  # fmt: skip
            self._end = end
            self._users.drop(number)
            del self._salts[number]
            self._known = self._known[0], self._known[1] + 1, self._known[2]
            self._clean_up(session)
            return len(found)

    def _clean_up(self, session: Session) -> None:
        """Let PostgreSQL overwrite what was erased since this process did so last."""
        if self._cleaned != self._known[1]:
            for table in ("log", "users", "aside"):
                session.rows(f"VACUUM {table}")
            self._cleaned = self._known[1]

    def verify(self) -> list[Damage]:
        """Check entries, settings and what is put aside against digests, and the chain."""
        with self._lock, self._errors(), self._reader().one_moment():
            try:
                changed = self._reader().changed_tables()
                damages = [Damage("the tables", f"are not as they were made: {changed}")]
                damages = damages if changed else []
                return [*damages, *self._damages(), *self._aside_damages()]
            except (StoreError, TypeError, ValueError) as error:
                return [Damage("the tables", f"cannot be read: {error}")]

    def _aside_damages(self) -> Iterator[Damage]:
        query = "SELECT kind, name FROM aside WHERE encode(sha256(content), 'hex') <> name"
        for kind, name in self._rows(query):
            yield Damage(f"the {kind} {name[:16]}", "is not what was put aside (it is not used)")

    # --- Aside ------------------------------------------------------------------------------------

    def put_aside(self, kind: str, content: bytes, most: int) -> str:
        """Keep a row by its digest."""
        name = hashlib.sha256(content).hexdigest()
        old = "SELECT number FROM aside WHERE kind = %s ORDER BY number DESC OFFSET %s"
        row = (
            "INSERT INTO aside (kind, name, content) VALUES (%s, %s, %s) ON CONFLICT (kind, name) "
            "DO UPDATE SET number = DEFAULT, content = excluded.content"
        )
        drop = f"DELETE FROM aside WHERE number IN ({old})"
        with self._lock, self._errors():
            self._reader().write([CLEAR[0], (row, (kind, name, content)), (drop, (kind, most))])
        return name

    def find_aside(self, kind: str, name: str = "") -> bytes | None:
        """Return a row, if it is what its name says."""
        query = "SELECT name, content FROM aside WHERE kind = ? AND ? IN ('', name) "
        found = self._rows(query + "ORDER BY number DESC LIMIT 1", kind, name)
        if not found or hashlib.sha256(found[0][1]).hexdigest() != found[0][0]:
            return None
        return bytes(found[0][1])

    def clear_aside(self) -> None:
        """Remove all rows."""
        with self._lock, self._errors():
            self._reader().write(CLEAR)

    def close(self) -> None:
        """End the sessions; the next one need not wait until the server notices."""
        self._closed = True
        if self._writing is not None:
            self._writing.give_up()
        self._leave()
        if self._reading is not None:
            self._reading.close()
            self._reading = None
