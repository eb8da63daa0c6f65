"""A log in the tables of a database: what rows mean, whichever database holds them.

`users` and `arms` give names numbers, so that erasing somebody leaves rows and chain whole; `log`
has a row for each entry, with its digest; `chain` links the digests of each commit to all before;
`about` keeps settings, and where all of this ends (see `log_end`).
"""

from __future__ import annotations

import os
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from lumpable.base.units import Name
from lumpable.stores import log_end
from lumpable.stores.law import Damage, Store, StoreError
from lumpable.stores.log_entries import Entry, digest_of, digest_of_settings, next_link

ERASED = "erased"
COLUMNS = 'number, kind, at, event, "user", arm, value, propensity, version, active, detail, digest'
BLANK = ", ".join(f"{name} = NULL" for name in COLUMNS.split(", ")[2:-1])
"""What is left of an entry that is erased: its number and its digest."""
OWN = """SELECT number, digest FROM log WHERE event IN
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
    """The first schema that keeps the digest of settings, ..."""
    END_SINCE: int
    """... and the first that keeps where the log ends."""
    KEYS = frozenset({SETTINGS, DIGEST, log_end.KEY})
    """What may be in `about`."""

    def __init__(self, place: str, salt: Callable[[], bytes] | None) -> None:
        self.place = place
        """Where it is, for errors."""
        self._salt = salt or (lambda: os.urandom(16))
        self._lock, self._closed = threading.RLock(), False
        self._users, self._arms = Numbered(), Numbered()
        self._salts: dict[int | None, bytes] = {None: b""}
        self._users_ever, self._last, self._link = 0, 0, b""
        """The highest number of a user, which does not come again, and the end of the chain."""
        self._end = log_end.End()
        """What is kept of these, and of names and erasures."""

    # --- What a database does ---------------------------------------------------------------------

    @abstractmethod
    def _rows(self, query: str, *given: Any) -> list[Row]:
        """Return what a query finds, with `?` for what is given."""

    @abstractmethod
    def _write(
        self, users: list[Row], arms: list[Row], log: list[Row], link: Row, end: bytes
    ) -> None:
        """Add rows to all tables and keep the new end, in one transaction, durably."""

    @abstractmethod
    def _highest_user(self) -> int:
        """Return the highest number that a user ever had."""

    @abstractmethod
    def _schema(self) -> int:
        """Return the version of the tables."""

    def _check_open(self) -> None:
        """Refuse to go on when it was closed."""
        if self._closed:
            raise StoreError("the store is closed", "closed", place=self.place)

    def _damaged(self, why: str) -> StoreError:
        return StoreError(why, "damaged", place=self.place)

    # --- Names and the chain ----------------------------------------------------------------------

    def _read_names(self) -> None:
        """Read all names, and the end of the chain."""
        try:
            users = self._rows(log_end.USERS)
            self._users = Numbered((number, name) for number, name, _ in users)
            self._salts = {None: b"", **{number: salt for number, _, salt in users}}
            self._arms = Numbered(self._rows(log_end.ARMS))
            self._users_ever = self._highest_user()
        except (TypeError, ValueError) as error:
            raise self._damaged(f"names are damaged: {error}") from error
        self._last, self._link, held = self._read_end()
        self._end = log_end.read(held) or log_end.End()

    def _read_end(self) -> tuple[int, bytes, object]:
        """Return the end of the chain, and what is kept of it."""
        last, link, held = self._rows(log_end.FOUND)[0]
        if last is not None and not (isinstance(last, int) and isinstance(link, bytes)):
            raise self._damaged("the chain is damaged")
        return last or 0, link or b"", held

    def _check_end(self) -> None:
        """Refuse to write after another end than that which is kept: nobody would see it again."""
        last, link, held = self._read_end()
        end = log_end.read(held)
        if end is None or (end.last, end.link) != (last, link.hex()):
            raise self._damaged("its last entries are not what was written (see `lumpable verify`)")

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
            raise self._damaged("its settings are damaged")
        return found[0][0] if found else b""

    def append(self, entries: Sequence[Entry]) -> int:
        """Add entries in one transaction."""
        if not entries:
            return self._last
        with self._lock:
            users, arms = self._name_new(entries)
            rows = [self._row(number, e) for number, e in enumerate(entries, self._last + 1)]
            last, link = self._last + len(rows), next_link(self._link, [row[-1] for row in rows])
            end = self._end.after(last, link, users, arms)
            try:
                self._write(users, arms, rows, (last, link), end.to_bytes())
            except BaseException:
                for number, *_ in users:
                    self._users.drop(number)
                    del self._salts[number]
                for number, _ in arms:
                    self._arms.drop(number)
                raise
            self._last, self._link, self._users_ever = last, link, self._users_ever + len(users)
            self._end = end
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
            raise self._damaged(f"entry {number} is damaged: {error!r}") from error

    def digest(self, number: int) -> bytes:
        """Return the digest of an entry."""
        found = self._rows("SELECT digest FROM log WHERE number = ?", number)
        return found[0][0] if found and isinstance(found[0][0], bytes) else b""

    # --- Verifying --------------------------------------------------------------------------------

    def _damages(self) -> Iterator[Damage]:
        """Compare all that is in the tables with what was written."""
        self._read_names()  # what is there now, not what was when it was opened
        yield from self._chain_damages()
        yield from self._settings_damages()

    def _chain_damages(self) -> Iterator[Damage]:
        """Compare entries with their digests, these with the chain, and that with its end."""
        links: dict[int, bytes] = dict(self._rows("SELECT last, link FROM chain"))
        link, digests, expected, erased = b"", list[bytes](), 1, 0
        for row in self._log(0):
            if row[0] != expected:
                yield Damage(f"entry {expected}", "is missing")
                return
            if row[1] == ERASED:
                erased += log_end.total([(row[0], row[-1])])
            if any(value is not None for value in row[2:-1]) if row[1] == ERASED else (
                not self._matches(row)
            ):  # fmt: skip
                yield Damage(f"entry {expected}", "is not what was written")
            digests.append(row[-1])
            if expected in links:
                link, digests = next_link(link, digests), []
                if link != links[expected]:
                    yield Damage(f"entries up to {expected}", "the chain is broken")
                    return
            expected += 1
        if digests or max(links, default=0) != expected - 1:
            yield Damage(f"entry {expected}", "log and chain end at different places")
        elif self._rows("SELECT number FROM log WHERE number < 1 LIMIT 1"):
            yield Damage("the log", "has rows before its first entry")
        else:
            yield from self._end_damages(erased)

    def _end_damages(self, erased: int) -> Iterator[Damage]:
        """Compare with what is kept: the end, the names, and the `erased` entries, summed."""
        last, link, held = self._read_end()
        end = log_end.read(held)
        if end is None:
            if held is not None or self._schema() >= self.END_SINCE:
                yield Damage("what is kept of the end", "is not what was written")
            return
        if (end.last, end.link) != (last, link.hex()):
            yield Damage("the log", f"ends with entry {last}, and was written up to {end.last}")
        for what, kept, sum in (
            ("the names of users", end.users, log_end.total(self._rows(log_end.USERS))),
            ("the names of arms", end.arms, log_end.total(self._rows(log_end.ARMS))),
            ("the entries that are blank", end.erased, erased % log_end.MODULUS),
        ):
            if int(kept, 16) != sum:
                yield Damage(what, "are not those that were written")
        if end.ever != self._users_ever:
            yield Damage("the highest number of a user", "is not what was written")

    def _settings_damages(self) -> Iterator[Damage]:
        """Compare the settings with their digest, and the numbers of users with the highest."""
        held: dict[str, Any] = dict(self._rows("SELECT key, value FROM about"))
        settings, digest = held.get(SETTINGS, b""), held.get(DIGEST)
        expected = digest_of_settings(settings) if isinstance(settings, bytes) else b""
        older = digest is None and self._schema() < self.DIGEST_SINCE
        if digest != expected and not older:
            yield Damage("the settings", "are not what was written")
        if not held.keys() <= self.KEYS:
            yield Damage("the settings", "have others beside them")
        if self._users_ever < max(self._users.name, default=0):
            yield Damage("the names of users", "have higher numbers than were given")

    def _matches(self, row: Row) -> bool:
        try:
            return digest_of(self._entry(row), self._salts[row[4]]) == bytes(row[-1])
        except (StoreError, KeyError, TypeError, ValueError):
            return False
