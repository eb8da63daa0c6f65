"""Read a table of events: clean every row, add up those that are the same, say what was wrong.

One pass of DuckDB over each file; more, only where something was wrong, find out what and where.
Nothing is held but what was added up, and DuckDB may put that on the disk.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from lumpable.base.arrays import FloatVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.lumps.use.rewards import Accepted
from lumpable.tables import cleaning
from lumpable.tables.adding_up import add_up, number_values
from lumpable.tables.cleaning import CONTRADICTED, REPEATED, UNREADABLE, Columns
from lumpable.tables.column_values import BROKEN, FLOATS
from lumpable.tables.differing_ids import MOST, all_differ
from lumpable.tables.dirt import Dirt
from lumpable.tables.events import Events
from lumpable.tables.faults_found import Found, faults_of
from lumpable.tables.naming_notes import notes_on, notes_on_fault, notes_on_ids
from lumpable.tables.packed_reading import Field, PackedReading
from lumpable.tables.queries import Progress, database, run
from lumpable.tables.source_parts import Part
from lumpable.tables.sources import empty_files, mixed_files, parts_of, reading

ODD_ID = "id LIKE '%.0' AND regexp_full_match(id, '-?[0-9]+[.]0')"
"""An event id that looks like a float; most have another end, which is quick to see."""
NO_TIMES = "NULL::BIGINT AS first, NULL::BIGINT AS last"
LIKELY = 1 << 20
"""Propensities that differ, of which more are not numbered."""
NUMBERS = ("reward", "propensity")
"""What holds numbers."""
Names = tuple[Name, ...]
Told = tuple[
    Names, Names, list[Any], IntVector, list[tuple[int, int, int]], tuple[int, int] | None
]  # fmt: skip
"""Users, items, sorted rows, how often each came, what is wrong (part, fault, rows), and times."""


def read_events(
    source: Any,
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
    memory: str | None = None,
    progress: Progress | None = None,
) -> Events:
    """Read a log of events: who had what, and what came of it (extra `warehouse`).

    Rows that cannot count are left out and reported in `.dirt`. Rewards are rounded to millionths.

    Parameters
    ----------
    source
        A CSV or Parquet file, a folder of them, or a frame of pandas, polars (also a lazy one) or
        pyarrow. For a table of an engine, see `evidence_from`.
    user, item, reward
        The columns with the user, the item and the reward.
    time
        A column of times: if events with one id disagree, the earliest counts.
    id
        A column of event ids: a repeated event counts once.
    propensity
        A column with the probability with which the item was chosen, for off-policy values.
    rewarded
        A column of times at which rewards came, beside `time`, when decisions were made: a reward
        that came before its decision does not count. It may be missing.
    rewards
        The accepted rewards: "any", "binary" or a range (low, high).
    strict
        Raise an error with the table of what is wrong instead of leaving rows out.
    memory
        How much memory DuckDB may use, such as "4GB"; the rest goes to disk.
    progress
        Called now and then with the fraction done and a few words.
    """
    columns = Columns(user, item, reward, time, id, propensity, rewarded)
    events = read_all(source, columns, Accepted.of(rewards), strict, memory, progress)
    if len(events.times) == 0:
        raise BadArgument("source", why=none_counts(events.dirt, source))
    return events


def none_counts(dirt: Dirt, source: Any) -> str:
    """Say that no event of a source counts, and why."""
    named = repr(str(source)) if isinstance(source, str | Path) else "the frame"
    return f"no event counts. {dirt}" if dirt.rows else f"{named} has no rows"


def read_all(
    source: Any, columns: Columns, accepted: Accepted, strict: bool = False,
    memory: str | None = None, progress: Progress | None = None,
) -> Events:  # fmt: skip
    """Read a log of which perhaps nothing counts."""
    for role, column in columns.named.items():
        if not isinstance(column, str):
            raise BadArgument(role, "the name of a column", repr(column))
    with database(memory) as con:
        parts = parts_of(con, source, columns.named.values())
        with reading(con, parts):
            events = Reading(con, parts, columns, accepted, progress).events()
    if strict:
        events.dirt.refuse()
    return events


class Reading:
    """One reading of a source, in tables of a DuckDB."""

    def __init__(
        self, con: Any, parts: list[Part], columns: Columns, accepted: Accepted,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        self.con, self.parts, self.columns, self.progress = con, parts, columns, progress
        zones = columns.time is not None and self._mixed_zones()
        self.truths = [cleaning.are_truths(con, part, columns.reward) for part in parts]
        """Of which parts rewards are words."""
        self.queries = [
            cleaning.cleaning_query(part, columns, accepted, zones=zones, truths=truths)
            for part, truths in zip(parts, self.truths, strict=True)
        ]
        self.accepted = accepted
        self.named = {
            letter: [f"{letter}_{kind}" for kind in cleaning.name_kinds(parts, column)]
            for letter, column in (("u", columns.user), ("i", columns.item))
        }
        """The columns that hold names of users and of items."""
        extra = ["p"] if columns.propensity is not None else []
        self.grouped = True
        """Whether rows were grouped, and the table `told` is there."""
        self.most = MOST if columns.id is not None else math.inf
        """Rows that can be read without being grouped."""
        self.keys = ", ".join([*self.named["u"], *self.named["i"], "m", *extra])
        """What must be the same for rows to be added up."""

    def _mixed_zones(self) -> bool:
        rows = [self._one(cleaning.zones_of(part, self.columns)) for part in self.parts]
        return any(zoned for zoned, _ in rows) and any(naive for _, naive in rows)

    def _one(self, sql: str) -> tuple[Any, ...]:
        row: tuple[Any, ...] = self.con.execute(sql).fetchone()
        return row

    def events(self) -> Events:
        """Read everything."""
        self.con.execute("SET preserve_insertion_order = false")
        users, items, keys, times, wrong, span = self._read_packed() or self._read_grouped()
        return Events(
            users, items, keys[0], keys[1], keys[2], times,
            None if self.columns.propensity is None else keys[3], self.columns, self.accepted,
            self._dirt(users, items, int(times.sum()), wrong), span,
        )  # fmt: skip

    def _read_packed(self) -> Told | None:
        """Read rows as one whole number each, if that is possible: this is quicker."""
        kinds = all(len(names) == 1 for names in self.named.values())
        known = all(part.rows is not None for part in self.parts)
        if not (kinds and known and sum(part.rows or 0 for part in self.parts) <= self.most):
            return None
        if self.columns.id is not None:
            if self.progress is not None:
                self.progress(0.0, "looking for event ids that came twice")
            if not all_differ(self.con, self.queries):
                return None
        every = " UNION ALL ".join(f"FROM ({query}) WHERE fault = 0" for query in self.queries)
        named = {letter: self._names(letter, every) for letter in self.named}
        if any(join and not names for names, _, join in named.values()):
            return None  # nothing counts
        fields = [
            Field(sql, (0, len(names) - 1) if names else ()) for names, sql, _ in named.values()
        ]
        joins = " ".join(join for _, _, join in named.values())
        fields.append(Field("m"))
        likely = self._likely() if self.columns.propensity is not None else None
        if likely is not None:
            if not 0 < len(likely) <= LIKELY:
                return None
            fields.append(Field("likely.number", (0, len(likely) - 1)))
            joins += " JOIN likely ON c.p = likely.p"
        reading = PackedReading(self.con, self.parts, self.queries, self.progress)
        found = reading.rows(fields, joins)
        if found is None:
            return None
        users, items = self._number_names(named, found.keys)
        if likely is not None:
            found.keys[3] = likely[found.keys[3]]
        self.grouped = False
        return users, items, found.keys, found.times, found.wrong, found.span

    def _likely(self) -> FloatVector:
        """Number the propensities that there are, in a table; return them in order.

        Also those of rows that cannot count for another reason, as it is quicker not to look.
        """
        source = " UNION ALL ".join(f"SELECT p FROM ({query})" for query in self.queries)
        self.con.execute(
            "CREATE OR REPLACE TEMP TABLE likely AS SELECT p, row_number() OVER (ORDER BY p) - 1 "
            f"AS number FROM (SELECT DISTINCT p FROM ({source}) WHERE p > 0 AND p <= 1)"
        )
        found = self.con.execute("SELECT p FROM likely ORDER BY number").fetchnumpy()
        return np.asarray(np.ma.getdata(found["p"]), np.float64)

    def _read_grouped(self) -> Told:
        """Read and group rows."""
        self._gather()
        if self.columns.id is not None:
            self._once_each()
        named = {letter: self._names(letter, "FROM told WHERE fault = 0") for letter in self.named}
        joins = " ".join(join for _, _, join in named.values())
        wanted = [*(f"{sql} AS {letter}" for letter, (_, sql, _) in named.items()), "m"]
        wanted += ["p"] if self.columns.propensity is not None else []
        sql = f"SELECT {', '.join(wanted)}, n FROM told c {joins} WHERE fault = 0"
        *keys, times = map(np.ma.getdata, self.con.execute(sql).fetchnumpy().values())
        users, items = self._number_names(named, keys)
        keys, times = add_up(keys, times)
        wrong = self.con.execute(
            "SELECT part, fault, sum(n)::BIGINT FROM told WHERE fault > 0 GROUP BY ALL"
        ).fetchall()
        first, last = self._one("SELECT min(first), max(last) FROM told WHERE fault = 0")
        return users, items, keys, times, wrong, None if first is None else (first, last)

    def _gather(self) -> None:
        """Make `told`: equal rows of each part, added up."""
        keys = f"fault, {self.keys}" + (", id" if self.columns.id is not None else "")
        times = "min(t) AS first, max(t) AS last" if self.columns.time is not None else NO_TIMES
        for number, (part, query) in enumerate(zip(self.parts, self.queries, strict=True)):
            make = "CREATE TEMP TABLE told AS" if number == 0 else "INSERT INTO told"
            span = number / len(self.parts), (number + 1) / len(self.parts)
            sql = (
                f"{make} SELECT {number} AS part, {keys}, count(*) AS n, {times} "
                f"FROM ({query}) GROUP BY {keys}"
            )
            run(self.con, sql, self.progress, f"reading {part.name or 'the frame'}", span)

    def _once_each(self) -> None:
        """Let each event id count once in `told`; keep what came several times in `twice`.

        Of events with one id that differ the first counts, if it is known which that is.
        """
        for sql in (
            f"CREATE TEMP TABLE versions AS SELECT id, {self.keys}, sum(n)::BIGINT AS n, "
            f"min(first) AS first, max(last) AS last FROM told WHERE fault = 0 "
            f"GROUP BY id, {self.keys}",
            "CREATE TEMP TABLE twice AS SELECT id, count(*) AS versions, sum(n)::BIGINT AS n, "
            "min(first) AS first FROM versions GROUP BY id HAVING sum(n) > 1",
            "CREATE TEMP TABLE winners AS SELECT id, first FROM versions v JOIN twice "
            "USING (id, first) WHERE twice.versions > 1 GROUP BY id, first HAVING count(*) = 1",
            "CREATE TEMP TABLE better AS SELECT * FROM told WHERE fault > 0 UNION ALL BY NAME "
            f"SELECT 0 AS part, 0::UTINYINT AS fault, {self.keys}, id, 1::BIGINT AS n, "
            "v.first AS first, v.last AS last FROM versions v LEFT JOIN twice USING (id) "
            "LEFT JOIN winners w USING (id) "
            "WHERE coalesce(twice.versions, 1) = 1 OR v.first = w.first",
            "DROP TABLE told; ALTER TABLE better RENAME TO told",
        ):
            self.con.execute(sql)

    def _names(self, letter: str, source: str) -> tuple[Names, str, str]:
        """Return names of users or items in order, the SQL of a name's number, and of its table.

        Integers come first, then text. Where all are integers there is no table and no name here:
        they are numbered later, which is quicker.
        """
        if self.named[letter] == [f"{letter}_int"]:
            return (), f"{letter}_int", ""
        columns = ", ".join(self.named[letter])
        order = ", ".join(f"{column} NULLS LAST" for column in self.named[letter])
        self.con.execute(
            f"CREATE OR REPLACE TEMP TABLE {letter}_names AS SELECT {columns}, "
            f"row_number() OVER (ORDER BY {order}) - 1 AS number "
            f"FROM (SELECT DISTINCT {columns} FROM ({source}))"
        )
        rows = self.con.execute(f"SELECT {columns} FROM {letter}_names ORDER BY number").fetchall()
        equal = "=" if len(self.named[letter]) == 1 else "IS NOT DISTINCT FROM"
        same = " AND ".join(f"c.{name} {equal} {letter}.{name}" for name in self.named[letter])
        names = tuple(next(name for name in row if name is not None) for row in rows)
        return names, f"{letter}.number", f"JOIN {letter}_names {letter} ON {same}"

    def _number_names(
        self, named: dict[str, tuple[Names, str, str]], keys: list[Any]
    ) -> tuple[Names, Names]:
        """Return users and items; whole numbers become places in `keys`."""
        listed = list[Names]()
        for place, (names, _, join) in enumerate(named.values()):
            if not join:
                whole, keys[place] = number_values(keys[place])
                names = tuple(whole)
            listed.append(names)
        return listed[0], listed[1]

    # --- What is wrong --------------------------------------------------------------------------

    def _dirt(
        self, users: Names, items: Names, good: int, wrong: list[tuple[int, int, int]]
    ) -> Dirt:
        counted: list[tuple[int | None, int, int]] = [*wrong]
        found = Found(self.con, self.parts, self.queries)
        counted += [(part, UNREADABLE, lines) for part, lines in found.unreadable().items()]
        if self.columns.id is not None and self.grouped:
            again, against = self._one(
                "SELECT coalesce(sum(n - 1) FILTER (versions = 1), 0)::BIGINT, "
                "coalesce(sum(n) FILTER (versions > 1), 0)::BIGINT - "
                "(SELECT count(*) FROM winners) FROM twice"
            )
            counted += [(None, REPEATED, again), (None, CONTRADICTED, against)]
        faults = faults_of(found, [row for row in counted if row[2] > 0], self.columns)
        rows = good + sum(fault.rows for fault in faults)
        numbers = {self.columns.named[role] for role in NUMBERS if role in self.columns.named}
        hints = [note for fault in faults for note in notes_on_fault(fault, numbers)]
        return Dirt(rows, faults, (*self._notes(users, items), *hints))

    def _notes(self, users: Names, items: Names) -> list[str]:
        text = any(part.text for part in self.parts)
        notes = [*empty_files(self.parts), *mixed_files(self.parts)]
        for role, names in (("user", users), ("item", items)):
            column = self.columns.named[role]
            floats = any(BROKEN.fullmatch(part.types[column]) for part in self.parts)
            notes += notes_on(column, names, floats=floats, text=text)
        if self.columns.id is not None:
            types = {part.types[self.columns.id] for part in self.parts}
            odd = None
            if text and self.grouped:  # fields of a CSV file are always grouped
                odd = self._one(f"SELECT min(id) FROM told WHERE fault = 0 AND {ODD_ID}")[0]
            notes += notes_on_ids(self.columns.id, odd, not types.isdisjoint(FLOATS))
        if any(self.truths):
            notes.append(f"{self.columns.reward}: the words true and false are read as 1 and 0")
        return notes
