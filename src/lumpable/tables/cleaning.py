"""What counts as a name, a reward, a propensity, a time: SQL for each type of column.

Every row has at most one fault, the first that applies; rows without one are evidence. Names are
two columns, `.._int` and `.._text`, one of which is NULL, so that 17 and "17" are told apart where
the source can tell. Rewards are rounded to millionths, halves to the even one, as everywhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lumpable.base.errors import BadArgument
from lumpable.learners.learner import LARGEST
from lumpable.lumps.use.naming import EXACT
from lumpable.lumps.use.rewards import Accepted
from lumpable.stores.log_entries import MICRO, MOST
from lumpable.tables.source_parts import TAGGED, UNTYPED, Part, quoted

WHOLE = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")
BROKEN = re.compile(r"FLOAT|DOUBLE|DECIMAL.*")
TEXT = re.compile(r"VARCHAR|ENUM.*|UUID")
STAMP = re.compile(r"TIMESTAMP.*|DATE")
ZONE = r"(?i)(Z|[+-]\d\d(:?\d\d)?| [a-z_]+(/[a-z_]+)*)$"
"""How a text ends that says of which zone its time is; a date's last part has no such sign."""
DAY = r"^\d{4}-\d\d-\d\d$"

FAULTS = (
    "", "row cannot be read", "user is missing", "item is missing", "reward is missing",
    "user is no name", "item is no name", "reward is no number", "reward is NaN",
    "reward is infinite", "reward is out of range", "propensity is missing",
    "propensity is outside (0, 1]", "time is missing", "time cannot be read",
    "time has no zone, others have", "event id is missing", "event id repeats the same",
    "event id contradicts another",
)  # fmt: skip
"""What can be wrong with a row, in the order in which it is looked for; users and items are shown
under the names of their columns."""
UNREADABLE, REPEATED, CONTRADICTED = 1, 17, 18


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column holds what; None: there is none."""

    user: str
    item: str
    reward: str
    time: str | None = None
    id: str | None = None
    propensity: str | None = None

    @property
    def named(self) -> dict[str, str]:
        """The columns that there are, by what they hold."""
        roles = ("user", "item", "reward", "time", "id", "propensity")
        return {role: column for role in roles if (column := getattr(self, role)) is not None}

    @property
    def words(self) -> tuple[str, str]:
        """What to call a user, and what to call an item.

        >>> Columns("customer_id", "offer", "clicked").words
        ('customer', 'offer')
        """
        user, item = (name.removesuffix("_id") or name for name in (self.user, self.item))
        return user, item


def cleaned(part: Part, columns: Columns, accepted: Accepted, *, zones: bool) -> str:
    """Return a query of all rows: names, millionths, propensity, time, id, fault and example.

    With `zones`, times that do not say their zone are a fault.
    """
    of = {role: _Column(role, column, part) for role, column in columns.named.items()}
    exprs = _name(of["user"], "u") | _name(of["item"], "i") | _number(of["reward"], "x")
    exprs |= _number(of["propensity"], "p") if columns.propensity else _none("p", "DOUBLE")
    exprs |= _time(of["time"]) if columns.time else _none("t", "BIGINT")
    exprs["id"] = of["id"].text if columns.id else "NULL::VARCHAR"
    exprs |= {f"{role}_shown": column.shown for role, column in of.items()}
    raw = ", ".join(f"{sql} AS {name}" for name, sql in exprs.items())
    checks = _checks(columns, accepted, zones=zones)
    fault = " ".join(f"WHEN {sql} THEN {FAULTS.index(words)}" for words, sql in checks.items())
    example = " ".join(
        f"WHEN {FAULTS.index(words)} THEN {words.split()[0].replace('event', 'id')}_shown"
        for words in checks
    )
    return (
        "SELECT u_int, u_text, i_int, i_text, "
        f"TRY_CAST(round_even(x * {MICRO}, 0) AS BIGINT) AS m, p, t, id, "
        f"fault, CASE fault {example} END AS example, row FROM (SELECT *, "
        f"(CASE {fault} ELSE 0 END)::UTINYINT AS fault "
        f"FROM (SELECT {raw}, {part.row} AS row FROM {part.relation}))"
    )


def _checks(columns: Columns, accepted: Accepted, *, zones: bool) -> dict[str, str]:
    """Return the faults that can be, in order, and the condition of each."""
    inside = f"x BETWEEN {_sql(accepted.low)} AND {_sql(accepted.high)} AND x * {MICRO} BETWEEN "
    inside += f"{1 - MOST} AND {MOST - 1}" + (" AND x IN (0, 1)" if accepted.binary else "")
    checks = {
        "user is missing": "u_gone",
        "item is missing": "i_gone",
        "reward is missing": "x_gone",
        "user is no name": "u_int IS NULL AND u_text IS NULL",
        "item is no name": "i_int IS NULL AND i_text IS NULL",
        "reward is no number": "x IS NULL",
        "reward is NaN": "isnan(x)",
        "reward is infinite": "isinf(x)",
        "reward is out of range": f"NOT ({inside})",
    }
    if columns.propensity is not None:
        checks["propensity is missing"] = "p_gone"
        checks["propensity is outside (0, 1]"] = "p IS NULL OR NOT (p > 0 AND p <= 1)"
    if columns.time is not None:
        checks["time is missing"] = "t_gone"
        checks["time cannot be read"] = "t IS NULL"
        if zones:
            checks["time has no zone, others have"] = "NOT t_zoned"
    if columns.id is not None:
        checks["event id is missing"] = "id IS NULL"
    return checks


def zones_of(part: Part, column: str) -> str:
    """Return a query: whether some times say their zone, and whether some do not."""
    exprs = _time(_Column("time", column, part))
    zoned = f"{exprs['t']} IS NOT NULL AND {exprs['t_zoned']}"
    naive = f"{exprs['t']} IS NOT NULL AND NOT {exprs['t_zoned']}"
    some = ", ".join(f"coalesce(bool_or({sql}), false)" for sql in (zoned, naive))
    return f"SELECT {some} FROM {part.relation}"


def name_kinds(parts: Iterable[Part], column: str) -> tuple[str, ...]:
    """Return which of "int" and "text" names of a column can be: a key for each is enough."""
    types = {part.types[column] for part in parts}
    whole = any(WHOLE.fullmatch(type) or BROKEN.fullmatch(type) for type in types)
    text = any(TEXT.fullmatch(type) for type in types)
    both = TAGGED in types or not (whole or text)
    return ("int",) * (whole or both) + ("text",) * (text or both)


class _Column:
    """A column of a part, as SQL; empty text is missing."""

    def __init__(self, role: str, name: str, part: Part) -> None:
        self.role, self.name, self.type = role, name, part.types[name]
        self.sql = quoted(name)
        self.tagged = self.type == TAGGED
        self.shown = f"substr({self.sql}, 2)" if self.tagged else f"{self.sql}::VARCHAR"
        self.text = f"nullif({self.shown}, '')"
        self.gone = f"{self.text} IS NULL"

    def is_a(self, kind: re.Pattern[str]) -> bool:
        return kind.fullmatch(self.type) is not None

    def refuse(self, expected: str) -> BadArgument:
        return BadArgument(self.role, f"{expected} in column {self.name!r}", f"type {self.type}")


def _name(column: _Column, to: str) -> dict[str, str]:
    """Return a name as a whole number or a text; neither: it is no name."""
    sql, whole, text = column.sql, "NULL::BIGINT", "NULL::VARCHAR"
    gone = f"{sql} IS NULL"
    if column.is_a(WHOLE):
        whole = f"TRY_CAST({sql} AS BIGINT)"
    elif column.is_a(BROKEN):
        whole, gone = _unbroken(f"{sql}::DOUBLE"), f"({gone} OR isnan({sql}::DOUBLE))"
    elif column.is_a(TEXT):
        text, gone = column.text, column.gone
    elif column.tagged:
        number = _unbroken(f"TRY_CAST({column.shown} AS DOUBLE)")
        whole = (
            f"CASE left({sql}, 1) WHEN 'n' THEN TRY_CAST({column.shown} AS BIGINT) "
            f"WHEN 'f' THEN {number} END"
        )
        text, gone = f"CASE WHEN left({sql}, 1) = 's' THEN {column.text} END", column.gone
    elif column.type != UNTYPED:  # a column of which every field is missing has no type
        raise column.refuse("strings or whole numbers")
    return {f"{to}_int": whole, f"{to}_text": text, f"{to}_gone": gone}


def _unbroken(number: str) -> str:
    """Return a float that is a whole number as one."""
    return (
        f"CASE WHEN {number} = floor({number}) AND abs({number}) <= {EXACT} "
        f"THEN CAST({number} AS BIGINT) END"
    )


def _number(column: _Column, to: str) -> dict[str, str]:
    sql, gone = column.sql, column.gone
    if column.is_a(WHOLE) or column.type in ("FLOAT", "DOUBLE", "BOOLEAN"):
        number, gone = f"{sql}::DOUBLE", f"{sql} IS NULL"
    elif column.tagged or column.is_a(TEXT) or column.is_a(BROKEN):  # decimals exactly, as text
        number = f"TRY_CAST({column.text} AS DOUBLE)"
    elif column.type == UNTYPED:
        number = "NULL::DOUBLE"
    else:
        raise column.refuse("numbers")
    return {to: number, f"{to}_gone": gone}


def _time(column: _Column) -> dict[str, str]:
    """Return a time in microseconds since 1970, and whether it says of which zone it is.

    Those that do not are taken for UTC.
    """
    sql, zoned = column.sql, "true"
    if column.is_a(STAMP):
        stamp, gone = f"TRY_CAST({sql} AS TIMESTAMPTZ)", f"{sql} IS NULL"
        zoned = "true" if "TIME ZONE" in column.type else "false"
    elif column.tagged or column.is_a(TEXT):
        stamp, gone = f"TRY_CAST({column.text} AS TIMESTAMPTZ)", column.gone
        day = f"regexp_matches({column.text}, '{DAY}')"
        zoned = f"(regexp_matches({column.text}, '{ZONE}') AND NOT {day})"
    elif column.type == UNTYPED:
        stamp, gone = "NULL::TIMESTAMPTZ", "true"
    else:
        raise column.refuse("times, or text such as 2026-11-18T08:00:00Z,")
    return {"t": f"epoch_us({stamp})", "t_gone": gone, "t_zoned": zoned}


def _none(to: str, kind: str) -> dict[str, str]:
    return {to: f"NULL::{kind}"}


def _sql(number: float) -> str:
    return f"{number!r}::DOUBLE" if abs(number) < LARGEST else f"{number:e}::DOUBLE"


def shown(words: str, columns: Mapping[str, str]) -> str:
    """Return the words of a fault with the columns' own names.

    >>> shown("item is missing", {"item": "offer"})
    'offer is missing'
    """
    first, _, rest = words.partition(" ")
    return f"{columns.get(first, first)} {rest}"
