"""Read evidence from the engine that holds the events: it cleans and adds up, only that comes back.

The result is the same, to the last bit of its digest, as if the rows had come here to be read.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from lumpable.base.arrays import FloatVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.lumps.use.naming import EXACT
from lumpable.lumps.use.rewards import Accepted
from lumpable.tables.adding_up import add_up
from lumpable.tables.cleaning import FAULTS, Columns, fault_words
from lumpable.tables.dirt import Dirt, RowFault
from lumpable.tables.engine_connections import Table, Values, dialect_of, have_zones, pages
from lumpable.tables.engine_queries import EngineTable
from lumpable.tables.events import Events
from lumpable.tables.naming_notes import notes_on

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INFINITE = 2**63 - 1
"""Microseconds that DuckDB gives for an infinite time."""
GOOD = "none"
"""The fault of rows that count."""


def evidence_from(
    connection: Any,
    table: str,
    user: str = "user",
    item: str = "item",
    reward: str = "reward",
    *,
    time: str | None = None,
    id: str | None = None,
    propensity: str | None = None,
    rewarded: str | None = None,
    rewards: str | tuple[float, float] = "any",
    strict: bool = False,
    dialect: str | None = None,
    shard: tuple[int, int] | None = None,
) -> Events:
    """Read evidence from a table of an engine, through a connection of your own.

    The engine leaves out what cannot count and aggregates the rest; only the sums are fetched.
    `lumpable.learn` takes what this returns.

    Parameters
    ----------
    connection
        A connection of DuckDB, a Spark session, an `SQLContext` of polars, or a connection of
        Python's DB-API.
    table
        The name of a table or view; parts are between dots, and "in quotes" if they have dots.
    user, item, reward
        The columns that say who (text or whole numbers), what, and what came of it (numbers, or
        true and false).
    time
        A column of dates or times: if events with one id disagree, the earliest counts.
    id
        A column of event ids, text or whole numbers: a repeated event counts once.
    propensity
        A column with the probability with which the item was chosen, for off-policy values.
    rewarded
        A column of times at which rewards came, beside `time`, when decisions were made: a reward
        that came before its decision does not count. It may be missing.
    rewards
        The accepted rewards: "any", "binary" or a range (low, high).
    strict
        Raise an error with the table of what is wrong instead of leaving rows out.
    dialect
        The engine's SQL: bigquery, databricks, duckdb, postgres, redshift, snowflake, spark or
        trino. Without it, that of the connection's package.
    shard
        Only the users of shard k of n, by (k, n); the same users on every engine.
    """
    columns = Columns(user, item, reward, time, id, propensity, rewarded)
    accepted = Accepted.of(rewards)
    spoken = dialect_of(connection, dialect)
    given = EngineTable(spoken, table, columns, accepted, shard=shard)
    boolean = _is_boolean(connection, given)
    _check_ids(connection, given)
    _check_zones(connection, given)
    asked = EngineTable(spoken, table, columns, accepted, boolean, shard)
    gathered = Gathered(columns)
    for page in pages(connection, asked.evidence()):
        gathered.add(page)
    left_out = list(_report_left_out(pages(connection, asked.faults())))
    events = gathered.events(accepted, left_out)
    if strict:
        events.dirt.refuse()
    if len(events.times) == 0:
        why = f"no event counts. {events.dirt}" if events.dirt.rows else "it has no rows"
        raise BadArgument("table", why=why)
    return events


def _is_boolean(connection: Any, asked: EngineTable) -> bool:
    """Whether rewards are true and false; text is refused, since engines read it in many ways."""
    for page in pages(connection, asked.reward_query()):
        for value in page[0]:
            if isinstance(value, bool | np.bool_):
                return True
            if not isinstance(value, int | float | Decimal | np.integer | np.floating):
                expected = f"numbers, or true and false, in column {asked.columns.reward!r}"
                raise BadArgument("reward", expected, f"{value!r:.60} ({type(value).__name__})")
    return False


def _check_ids(connection: Any, asked: EngineTable) -> None:
    """Refuse floats as event ids: NaN is an id on some engines, and equal to nothing on others."""
    if asked.columns.id is None:
        return
    for page in pages(connection, asked.id_query()):
        for value in page[0]:
            if isinstance(value, float | np.floating):
                expected = (
                    f"text or whole numbers in column {asked.columns.id!r}: cast it in a view"
                )
                raise BadArgument("id", expected, f"{float(value)!r} (a float)")


def _check_zones(connection: Any, asked: EngineTable) -> None:
    """Refuse times only one of which says its zone: engines would take the session's for both."""
    if asked.columns.rewarded is None:
        return
    if len(set(have_zones(connection, asked.times_query()))) > 1:
        named = f"{asked.columns.time!r} and {asked.columns.rewarded!r}"
        expected = f"columns {named} that both say their zone, or both do not"
        raise BadArgument("rewarded", expected, "one that does and one that does not")


def _report_left_out(found: Iterable[Table]) -> Iterable[tuple[str, int, Any, Any]]:
    for fault, rows, first, last in (row for page in found for row in zip(*page, strict=True)):
        if rows:
            yield str(fault), int(rows), first, last


class NameCodes:
    """Names as they come, each with a number from 0 on."""

    def __init__(self, role: str, column: str) -> None:
        self.role, self.column = role, column
        self.number: dict[Name, int] = {}
        self.floats = False
        """Whether whole numbers came as floats."""

    def of(self, values: Values) -> IntVector:
        """Return the numbers of names; what is looked at is each value once."""
        if isinstance(values, np.ndarray) and values.dtype != object:
            distinct, place = np.unique(values, return_inverse=True)
            codes = np.array([self._code(value) for value in distinct.tolist()], np.int64)
            return codes[place]
        known = {value: self._code(value) for value in dict.fromkeys(values)}
        return np.fromiter(map(known.__getitem__, values), np.int64, len(values))

    def _code(self, value: object) -> int:
        return self.number.setdefault(self._plain(value), len(self.number))

    def _plain(self, value: object) -> Name:
        if isinstance(value, str | uuid.UUID):
            return str(value)
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return int(value)
        broken = isinstance(value, float | Decimal | np.floating)
        if broken and value == value and value % 1 == 0 and abs(value) <= EXACT:  # type: ignore
            self.floats |= not isinstance(value, Decimal)
            return int(value)  # type: ignore[call-overload, no-any-return]
        expected = f"strings or whole numbers in column {self.column!r}"
        raise BadArgument(self.role, expected, f"{value!r:.60} ({type(value).__name__})")

    def in_order(self) -> tuple[tuple[Name, ...], IntVector]:
        """Return the names, integers first, each kind in order, and the new number of each."""
        order = sorted(self.number, key=lambda name: (isinstance(name, str), name))
        new = np.empty(len(order), np.int64)
        new[[self.number[name] for name in order]] = np.arange(len(order))
        return tuple(order), new


class Gathered:
    """Pages of evidence, put together."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.users = NameCodes("user", columns.user)
        self.items = NameCodes("item", columns.item)
        self.pages: list[list[Any]] = []

    def add(self, page: Table) -> None:
        """Add a page: user, item, reward, times and, where given, propensity."""
        user, item, reward, times, *propensity = page
        whole = [np.asarray(column).astype(np.int64) for column in (reward, times)]
        chance = [np.asarray(column).astype(np.float64) for column in propensity]
        self.pages.append([self.users.of(user), self.items.of(item), *whole, *chance])

    def events(self, accepted: Accepted, left_out: list[tuple[str, int, Any, Any]]) -> Events:
        """Return the events; equal rows are added up, as engines may tell names apart further."""
        users, user_number = self.users.in_order()
        items, item_number = self.items.in_order()
        if not self.pages:
            self.add([[]] * (4 if self.columns.propensity is None else 5))
        user, item, reward, times, *chance = map(np.concatenate, zip(*self.pages, strict=True))
        keys = [user_number[user], item_number[item], reward, *chance]
        keys, times = add_up(keys, times)
        propensity: FloatVector | None = keys[3] if chance else None
        return Events(
            users, items, keys[0], keys[1], keys[2], times, propensity, self.columns, accepted,
            self._dirt(users, items, int(times.sum()), left_out), self._span(left_out),
        )  # fmt: skip

    def _dirt(
        self, users: Sequence[Name], items: Sequence[Name], good: int,
        left_out: list[tuple[str, int, Any, Any]],
    ) -> Dirt:  # fmt: skip
        rows = {fault: number for fault, number, _, _ in left_out if fault != GOOD}
        faults = tuple(
            RowFault(fault_words(words, self.columns.named), rows[words], "", ())
            for words in FAULTS
            if words in rows
        )
        notes = [
            note
            for codes, names in ((self.users, users), (self.items, items))
            for note in notes_on(codes.column, names, floats=codes.floats, text=False)
        ]
        return Dirt(good + sum(rows.values()), faults, tuple(notes))

    def _span(self, left_out: list[tuple[str, int, Any, Any]]) -> tuple[int, int] | None:
        if self.columns.time is None:
            return None
        for fault, _, first, last in left_out:
            if fault == GOOD:
                return _micros(first, self.columns.time), _micros(last, self.columns.time)
        return None


def _micros(value: Any, column: str) -> int:
    """Return a time in microseconds since 1970; those without a zone are taken for UTC."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").astype(np.int64)
        if abs(int(value)) < INFINITE:
            return int(value)
    if isinstance(value, int | np.integer) and abs(int(value)) >= INFINITE:
        raise BadArgument("time", f"finite times in column {column!r}", "an infinite one")
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        expected = f"dates or times in column {column!r}"
        raise BadArgument("time", expected, f"{value!r:.60} ({type(value).__name__})")
    zoned = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return (zoned - EPOCH) // timedelta(microseconds=1)
