"""What counts as a name, a reward, a propensity, a time: SQL for each type of column.

Every row has at most one fault, the first that applies; rows without one are evidence. Rewards are
rounded to millionths, halves to the even one, as everywhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.base.units import MICRO, MOST
from lumpable.learners.learner import LARGEST
from lumpable.lumps.use.rewards import Accepted
from lumpable.tables.column_values import (
    BROKEN,
    TEXT,
    WHOLE,
    Column,
    as_id,
    as_name,
    as_number,
    as_time,
    as_truth,
)
from lumpable.tables.source_parts import TAGGED, Part

FAULTS = (
    "", "row cannot be read", "user is missing", "item is missing", "reward is missing",
    "user is no name", "item is no name", "reward is no number", "reward is NaN",
    "reward is infinite", "reward is out of range", "propensity is missing",
    "propensity is outside (0, 1]", "time is missing", "time cannot be read",
    "time has no zone, others have", "rewarded cannot be read",
    "rewarded has no zone, others have", "reward before its decision", "event id is missing",
    "event id repeats the same", "event id contradicts another",
)  # fmt: skip
"""What can be wrong with a row, in the order in which it is looked for; users and items are shown
under the names of their columns."""
UNREADABLE, REPEATED, CONTRADICTED = 1, len(FAULTS) - 2, len(FAULTS) - 1
EXAMPLES = {"event id is missing": "id", "reward before its decision": "rewarded"}
"""What is shown of a row; of others what the first word of the fault says."""
SMALLEST = 2.0**-1022
"""The least propensity that is a number of full precision: one over less may be infinite."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column holds what; None: there is none."""

    user: str
    item: str
    reward: str
    time: str | None = None
    id: str | None = None
    propensity: str | None = None
    rewarded: str | None = None
    """When the reward came."""

    def __post_init__(self) -> None:
        if self.rewarded is not None and self.time is None:
            expected = "a column of times (time) as well: when the decision was made"
            raise BadArgument("rewarded", expected, "none")
        roles = list[str]()
        for role, column in self.named.items():
            for other in roles:
                if getattr(self, other) == column:
                    raise BadArgument(role, f"another column than {other}", repr(column))
            roles.append(role)

    @property
    def named(self) -> dict[str, str]:
        """The columns that there are, by what they hold."""
        roles = ("user", "item", "reward", "time", "id", "propensity", "rewarded")
        return {role: column for role in roles if (column := getattr(self, role)) is not None}

    @property
    def words(self) -> tuple[str, str]:
        """What to call a user, and what to call an item.

        >>> Columns("customer_id", "offer", "clicked").words
        ('customer', 'offer')
        """
        user, item = (name.removesuffix("_id") or name for name in (self.user, self.item))
        return user, item


def cleaning_query(
    part: Part, columns: Columns, accepted: Accepted, *, zones: bool, truths: bool = False
) -> str:
    """Return a query of all rows: names, millionths, propensity, time, id, fault and example.

    With `zones`, times that do not say their zone are a fault; with `truths`, rewards are words.
    """
    of = {role: Column(role, column, part) for role, column in columns.named.items()}
    exprs = as_name(of["user"], "u") | as_name(of["item"], "i")
    exprs |= as_truth(of["reward"], "x") if truths else as_number(of["reward"], "x")
    exprs |= as_number(of["propensity"], "p") if columns.propensity else _none("p", "DOUBLE")
    exprs |= as_time(of["time"], "t") if columns.time else _none("t", "BIGINT")
    exprs |= as_time(of["rewarded"], "w") if columns.rewarded else {}
    exprs["id"] = as_id(of["id"]) if columns.id else "NULL::VARCHAR"
    exprs |= {f"{role}_shown": column.shown for role, column in of.items()}
    raw = ", ".join(f"{sql} AS {name}" for name, sql in exprs.items())
    checks = _checks(columns, accepted, zones=zones)
    fault = " ".join(f"WHEN {sql} THEN {FAULTS.index(words)}" for words, sql in checks.items())
    example = " ".join(
        f"WHEN {FAULTS.index(words)} THEN {EXAMPLES.get(words, words.split()[0])}_shown"
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
        checks["propensity is outside (0, 1]"] = f"p IS NULL OR NOT (p >= {SMALLEST} AND p <= 1)"
    if columns.time is not None:
        checks["time is missing"] = "t_gone"
        checks["time cannot be read"] = "t IS NULL"
        if zones:
            checks["time has no zone, others have"] = "NOT t_zoned"
    if columns.rewarded is not None:  # where it is missing, nothing came that has a time
        checks["rewarded cannot be read"] = "w IS NULL AND NOT w_gone"
        if zones:
            checks["rewarded has no zone, others have"] = "w IS NOT NULL AND NOT w_zoned"
        checks["reward before its decision"] = "w < t"
    if columns.id is not None:
        checks["event id is missing"] = "id IS NULL"
    return checks


def zones_of(part: Part, columns: Columns) -> str:
    """Return a query: whether some times say their zone, and whether some do not."""
    named = {role: columns.named[role] for role in ("time", "rewarded") if role in columns.named}
    each = [as_time(Column(role, column, part), "t") for role, column in named.items()]
    ways = [
        " OR ".join(f"({one['t']} IS NOT NULL AND {sign} {one['t_zoned']})" for one in each)
        for sign in ("", "NOT")
    ]
    some = ", ".join(f"coalesce(bool_or({sql}), false)" for sql in ways)
    return f"SELECT {some} FROM {part.relation}"


def are_truths(con: Any, part: Part, column: str) -> bool:
    """Whether a column of a CSV file has the words true and false and no others.

    The whole column is looked at only if it begins with one of them.
    """
    if not part.text:
        return False
    field = Column("reward", column, part)
    word = f"lower({field.text}) IN ('true', 'false')"
    there = f"FROM {part.relation} WHERE {field.text} IS NOT NULL"
    for sql in (f"SELECT {word} {there} LIMIT 1", f"SELECT bool_and({word}) {there}"):
        row = con.execute(sql).fetchone()
        if row is None or not row[0]:
            return False
    return True


def name_kinds(parts: Iterable[Part], column: str) -> tuple[str, ...]:
    """Return which of "int" and "text" names of a column can be: a key for each is enough."""
    types = {part.types[column] for part in parts}
    whole = any(WHOLE.fullmatch(type) or BROKEN.fullmatch(type) for type in types)
    text = any(TEXT.fullmatch(type) for type in types)
    both = TAGGED in types or not (whole or text)
    return ("int",) * (whole or both) + ("text",) * (text or both)


def _none(to: str, kind: str) -> dict[str, str]:
    return {to: f"NULL::{kind}"}


def _sql(number: float) -> str:
    return f"{number!r}::DOUBLE" if abs(number) < LARGEST else f"{number:e}::DOUBLE"


def fault_words(words: str, columns: Mapping[str, str]) -> str:
    """Return the words of a fault with the columns' own names.

    >>> fault_words("item is missing", {"item": "offer"})
    'offer is missing'
    """
    first, _, rest = words.partition(" ")
    return f"{columns.get(first, first)} {rest}"
