"""A log in the tables of a database: what rows mean, whichever database holds them.

`users` and `arms` give names numbers, so that erasing somebody leaves rows and chain whole; `log`
has a row for each entry, with its digest; `chain` links the digests of each commit to all before.
"""

from __future__ import annotations

import os
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from lumpable.stores.law import Damage, Store, StoreError
from lumpable.stores.log_entries import Entry, Name, digest_of, digest_of_settings, linked

ERASED = "erased"
COLUMNS = 'number, kind, at, event, "user", arm, value, propensity, version, active, detail, digest'
BLANK = ", ".join(f"{name} = NULL" for name in COLUMNS.split(", ")[2:-1])
"""What is left of an entry that is erased: its number and its digest."""
OWN = """SELECT number FROM log WHERE event IN
         (SELECT event FROM log WHERE "user" = %s AND kind = 'decided')"""
"""The entries of a user: all of the events that were decided for them."""
SETTINGS, DIGEST = "settings", "settings digest"
"""What is kept about an experiment, by key."""
PAGE = 10_000
"""Entries that are read at a time."""
Row = tuple[Any, ...]


class Numbered:
    """Names and their numbers in a table, both ways."""

    def __init__(self, rows: Iterable[tuple[int, str]] = ()) -> None:
        self.name: dict[int, Name] = {}
        self.number: dict[Name, int] = {}
        for number, name in rows:
            self.add(msgspec.json.decode(name, type=Name), number)

    def add(self, name: Name, number: int) -> tuple[int, str]:
        """Give a name a number; return the row that says so."""
        self.number[name], self.name[number] = number, name
        return number, msgspec.json.encode(name).decode()

    def drop(self, number: int) -> None:
        """Forget a name."""
        del self.number[self.name.pop(number)]


class TableStore(Store):
    """Makes rows of entries and entries of rows; a final class speaks to its database."""

    DIGEST_SINCE: int
    """The first schema that keeps the digest of settings."""

    def __init__(self, place: str, salt: Callable[[], bytes] | None) -> None:
        self.place = place
        """Where it is, for errors."""
        self._salt = salt or (lambda: os.urandom(16))
        self._lock, self._closed = threading.RLock(), False
        self._users, self._arms = Numbered(), Numbered()
        self._salts: dict[int | None, bytes] = {None: b""}
        self._users_ever, self._last, self._link = 0, 0, b""
        """The highest number of a user, which does not come again, and the end of the chain."""

    # --- What a database does ---------------------------------------------------------------------

    @abstractmethod
    def _rows(self, query: str, *given: Any) -> list[Row]:
        """Return what a query finds, with `?` for what is given."""

    @abstractmethod
    def _write(self, users: list[Row], arms: list[Row], log: list[Row], link: Row) -> None:
        """Add rows to all tables in one transaction, durably."""

    @abstractmethod
    def _highest_user(self) -> int:
        """Return the highest number that a user ever had."""

    @abstractmethod
    def _schema(self) -> int:
        """Return the version of the tables."""

    # --- Names and the chain ----------------------------------------------------------------------

    def _read_names(self) -> None:
        """Read all names, and the end of the chain."""
        try:
            users = self._rows("SELECT number, name, salt FROM users")
            self._users = Numbered((number, name) for number, name, _ in users)
            self._salts = {None: b"", **{number: salt for number, _, salt in users}}
            self._arms = Numbered(self._rows("SELECT number, name FROM arms"))
            self._users_ever = self._highest_user()
        except (TypeError, ValueError) as error:
            raise StoreError(f"{self.place}: names are damaged: {error}") from error
        self._last, self._link = self._end_of_chain()

    def _end_of_chain(self) -> tuple[int, bytes]:
        rows = self._rows("SELECT last, link FROM chain ORDER BY last DESC LIMIT 1")
        if rows and not (isinstance(rows[0][0], int) and isinstance(rows[0][1], bytes)):
            raise StoreError(f"{self.place}: the chain is damaged")
        return (rows[0][0], rows[0][1]) if rows else (0, b"")

    # --- Writing ----------------------------------------------------------------------------------

    @property
    def last(self) -> int:
        """The number of the last entry."""
        return self._last

    @property
    def settings(self) -> bytes:
        """What `configure` wrote last."""
        found = self._rows("SELECT value FROM about WHERE key = ?", SETTINGS)
        if found and not isinstance(found[0][0], bytes):
            raise StoreError(f"{self.place}: its settings are damaged")
        return found[0][0] if found else b""

    def append(self, entries: Sequence[Entry]) -> int:
        """Add entries in one transaction."""
        if not entries:
            return self._last
        with self._lock:
            users, arms = self._name_new(entries)
            rows = [self._row(number, e) for number, e in enumerate(entries, self._last + 1)]
            last, link = self._last + len(rows), linked(self._link, [row[-1] for row in rows])
            try:
                self._write(users, arms, rows, (last, link))
            except BaseException:
                for number, *_ in users:
                    self._users.drop(number)
                    del self._salts[number]
                for number, _ in arms:
                    self._arms.drop(number)
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

    # --- Reading ----------------------------------------------------------------------------------

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

    @property
    def arms(self) -> set[Name]:
        """The arms that have a number."""
        return set(self._arms.number)

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
            raise StoreError(f"{self.place}: entry {number} is damaged: {error!r}") from error

    def digest(self, number: int) -> bytes:
        """Return the digest of an entry."""
        found = self._rows("SELECT digest FROM log WHERE number = ?", number)
        return found[0][0] if found and isinstance(found[0][0], bytes) else b""

    # --- Verifying --------------------------------------------------------------------------------

    def _broken(self) -> Iterator[Damage]:
        """Compare every entry with its digest, and all digests with the chain."""
        links: dict[int, bytes] = dict(self._rows("SELECT last, link FROM chain"))
        link, digests, expected = b"", list[bytes](), 1
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

    def _changed_settings(self) -> Iterator[Damage]:
        """Compare the settings with their digest, and the numbers of users with the highest."""
        held: dict[str, Any] = dict(self._rows("SELECT key, value FROM about"))
        settings, digest = held.get(SETTINGS, b""), held.get(DIGEST)
        expected = digest_of_settings(settings) if isinstance(settings, bytes) else b""
        older = digest is None and self._schema() < self.DIGEST_SINCE
        if digest != expected and not older:
            yield Damage("the settings", "are not what was written")
        if self._users_ever < max(self._users.name, default=0):
            yield Damage("the names of users", "have higher numbers than were given")

    def _matches(self, row: Row) -> bool:
        try:
            return digest_of(self._entry(row), self._salts[row[4]]) == bytes(row[-1])
        except (StoreError, KeyError, TypeError, ValueError):
            return False
