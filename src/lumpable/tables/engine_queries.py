"""The queries of evidence as SQL, for the engine that holds the events.

The texts are package files, made by `tools/engine_sql.py`. Here names are put into them: every
name is quoted as its engine wants it, so that none can be anything but a name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lumpable.base.errors import BadArgument
from lumpable.base.words import nearest
from lumpable.lumps.use.rewards import Accepted
from lumpable.tables.cleaning import Columns

FOLDER = Path(__file__).parent / "sql"
DIALECTS = (
    "bigquery", "databricks", "duckdb", "postgres", "redshift", "snowflake", "spark", "trino",
)  # fmt: skip
BACKTICKS = ("bigquery", "databricks", "spark")
PLACE = re.compile(r"__[a-z]+__")
PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')
"""A part of a table's name: in quotes, or up to the next dot."""
ALL = 16**4
"""Shards are ranges of so many numbers."""
NOTHING = {"propensity": "1", "time": "0", "id": "0"}
"""What stands for columns that there are not: nothing is wrong with it."""


@dataclass(frozen=True, slots=True)
class EngineTable:
    """A table of an engine, and what is to be read of it."""

    dialect: str
    table: str
    columns: Columns
    accepted: Accepted
    boolean: bool = False
    """Whether rewards are true and false."""
    shard: tuple[int, int] | None = None
    """Only the users of shard k of n, by (k, n)."""

    def __post_init__(self) -> None:
        if self.dialect not in DIALECTS:
            near = nearest(str(self.dialect), DIALECTS)
            got = f"{self.dialect!r}{near}"
            raise BadArgument("dialect", f"one of {', '.join(DIALECTS)}", got)
        if self.shard is not None:
            _check_shard(*self.shard)

    def evidence(self) -> str:
        """Return the query of evidence: user, item, reward in millionths, times, propensity."""
        given = [role for role in ("id", "propensity") if role in self.columns.named]
        return self._fill(" ".join(["evidence", *given]))

    def faults(self) -> str:
        """Return the query of what is left out: fault, rows, first and last time.

        The fault of rows that count is "none".
        """
        return self._fill("faults id" if self.columns.id is not None else "faults")

    def reward_query(self) -> str:
        """Return a query of one reward, whose type tells what they are."""
        return self._query_of_one("reward")

    def id_query(self) -> str:
        """Return a query of one event id, whose type tells what they are."""
        return self._query_of_one("id")

    def times_query(self) -> str:
        """Return a query of one time of a decision and that of its reward, for their types."""
        return self._query_of_one("time", "rewarded")

    def _query_of_one(self, *roles: str) -> str:
        named = [quote_for(self.dialect, self.columns.named[role], role) for role in roles]
        there = " AND ".join(f"{name} IS NOT NULL" for name in named)
        table = table_for(self.dialect, self.table)
        return f"SELECT {', '.join(named)} FROM {table} WHERE {there} LIMIT 1"

    def _fill(self, name: str) -> str:
        """Put names into a text, all at once: a name may look like a place for another."""
        named = self.columns.named
        places = NOTHING | {r: quote_for(self.dialect, name, r) for r, name in named.items()}
        places.setdefault("rewarded", places["time"])  # no reward came before its decision
        if self.boolean:
            column = places["reward"]
            places["reward"] = f"CASE WHEN {column} THEN 1 WHEN NOT {column} THEN 0 END"
        places["table"] = table_for(self.dialect, self.table)
        places["accepted"] = _accepted_condition(self.accepted, quote_for(self.dialect, "x", "x"))
        places["shard"] = self._shard(places["user"])
        text = _texts(self.dialect)[name]
        return PLACE.sub(lambda place: places[place[0].strip("_")], text)

    def _shard(self, user: str) -> str:
        if self.shard is None:
            return "1 = 1"
        number, shards = self.shard
        low, high = number * ALL // shards, (number + 1) * ALL // shards - 1
        digits = _texts(self.dialect)["shard"].removeprefix("SELECT\n").strip()
        digits = PLACE.sub(lambda _: user, digits)
        return f"{digits} BETWEEN '{low:04x}' AND '{high:04x}'"


def quote_for(dialect: str, name: str, role: str) -> str:
    """Return a name as an engine quotes it.

    >>> quote_for("postgres", 'a"b', "user"), quote_for("spark", "a`b", "user")
    ('"a""b"', '`a``b`')
    """
    if not isinstance(name, str) or not name or "\0" in name:
        raise BadArgument(role, "the name of a column", repr(name))
    if dialect == "bigquery":
        return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
    mark = "`" if dialect in BACKTICKS else '"'
    return mark + name.replace(mark, mark + mark) + mark


def table_for(dialect: str, table: str) -> str:
    """Return the name of a table as an engine quotes it, part by part.

    Parts are between dots; a part that has a dot itself stands in double quotes.

    >>> table_for("trino", "sales.events"), table_for("spark", 'sales."my.events"')
    ('"sales"."events"', '`sales`.`my.events`')
    """
    parts, at = list[str](), 0
    while isinstance(table, str) and (part := PART.match(table, at)):
        parts.append(part[1].replace('""', '"') if part[1] else part[2])
        at = part.end() + 1
        if table[part.end() : at] != ".":
            break
    if not parts or at != len(table) + 1:
        expected = 'the name of a table, such as events, sales.events or sales."my.events"'
        raise BadArgument("table", expected, repr(table))
    return ".".join(quote_for(dialect, part, "table") for part in parts)


def _accepted_condition(accepted: Accepted, x: str) -> str:
    """Return the condition that a reward is accepted; exponents make numbers floats."""
    if accepted.binary:
        return f"({x} = 0 OR {x} = 1)"
    if accepted == Accepted():
        return "(1 = 1)"
    return f"({x} >= {_float(accepted.low)} AND {x} <= {_float(accepted.high)})"


def _float(number: float) -> str:
    text = repr(number)
    return text if "e" in text else f"{text}e0"


def _check_shard(number: int, shards: int) -> None:
    whole = all(isinstance(one, int) for one in (number, shards))
    if not (whole and 1 <= shards <= ALL and 0 <= number < shards):
        expected = f"(k, n) with 0 <= k < n <= {ALL}"
        raise BadArgument("shard", expected, f"({number}, {shards})")


@cache
def _texts(dialect: str) -> dict[str, str]:
    """Return the texts of an engine, by name."""
    whole = (FOLDER / f"{dialect}.sql").read_text(encoding="utf-8")
    sections = (part.partition("\n") for part in whole.split("-- name: ")[1:])
    return {name: text.strip() + "\n" for name, _, text in sections}
