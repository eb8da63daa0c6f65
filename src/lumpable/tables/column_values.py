"""What the values of a column are: names, rewards, times and event ids, as SQL for its type.

Names are two columns, `.._int` and `.._text`, one of which is NULL, so that 17 and "17" are told
apart where the source can tell.
"""

from __future__ import annotations

import re

from lumpable.base.errors import BadArgument
from lumpable.lumps.use.naming import EXACT
from lumpable.tables.source_parts import TAGGED, UNTYPED, Part, quote

WHOLE = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")
BROKEN = re.compile(r"FLOAT|DOUBLE|DECIMAL.*")
FLOATS = ("FLOAT", "DOUBLE")
TEXT = re.compile(r"VARCHAR|ENUM.*|UUID")
STAMP = re.compile(r"TIMESTAMP.*|DATE")
ZONE = r"(?i)(Z|[+-]\d\d(:?\d\d)?| [a-z][a-z0-9_+-]*(/[a-z0-9_+-]+)*)$"
"""How a text ends that says of which zone its time is; a date's last part has no such sign."""
DAY = r"^\d{4}-\d\d-\d\d$"


class Column:
    """A column of a part, as SQL; empty text is missing."""

    def __init__(self, role: str, name: str, part: Part) -> None:
        self.role, self.name, self.type = role, name, part.types[name]
        self.sql = quote(name)
        self.tagged = self.type == TAGGED
        self.shown = f"substr({self.sql}, 2)" if self.tagged else f"{self.sql}::VARCHAR"
        self.text = f"nullif({self.shown}, '')"
        self.gone = f"{self.text} IS NULL"

    def is_a(self, kind: re.Pattern[str]) -> bool:
        """Whether its type is of a kind."""
        return kind.fullmatch(self.type) is not None

    def refuse(self, expected: str) -> BadArgument:
        """Return the error that its type is none of those that are expected."""
        return BadArgument(self.role, f"{expected} in column {self.name!r}", f"type {self.type}")


def as_name(column: Column, to: str) -> dict[str, str]:
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
        whole_float = _unbroken(f"TRY_CAST({column.shown} AS DOUBLE)")
        whole = (
            f"CASE left({sql}, 1) WHEN 'n' THEN TRY_CAST({column.shown} AS BIGINT) "
            f"WHEN 'f' THEN {whole_float} END"
        )
        text, gone = f"CASE WHEN left({sql}, 1) = 's' THEN {column.text} END", column.gone
    elif column.type != UNTYPED:  # a column of which every field is missing has no type
        raise column.refuse("strings or whole numbers")
    return {f"{to}_int": whole, f"{to}_text": text, f"{to}_gone": gone}


def _unbroken(number: str) -> str:
    """Return a float that is a whole number as one."""
    return (
        f"CASE WHEN {number} = floor({number}) AND abs({number}) <= {EXACT} "
        f"THEN TRY_CAST({number} AS BIGINT) END"
    )


def as_id(column: Column) -> str:
    """Return an event id as text; a float that is a whole number as that number.

    So pandas writes ids of which one is missing. Decimals are exact, and may have more digits.
    """
    if column.type in FLOATS:
        number = f"{column.sql}::DOUBLE"
        whole = f"coalesce({_unbroken(number)}::VARCHAR, {column.text})"
        return f"CASE WHEN NOT isnan({number}) THEN {whole} END"
    if column.is_a(BROKEN):
        return f"regexp_replace({column.text}, '[.]0+$', '')"
    if column.tagged:
        whole = _unbroken(f"TRY_CAST({column.shown} AS DOUBLE)")
        exact = f"regexp_replace({column.text}, '^(-?[0-9]+)[.]0+$', '\\1')"
        return (
            f"CASE left({column.sql}, 1) WHEN 'f' THEN coalesce(({whole})::VARCHAR, {column.text}) "
            f"WHEN 'o' THEN {exact} ELSE {column.text} END"  # Decimals of Python are other objects
        )
    return column.text


def as_truth(column: Column, to: str) -> dict[str, str]:
    """Return the words true and false as 1 and 0, and whether the field is empty."""
    number = f"CASE lower({column.text}) WHEN 'true' THEN 1 WHEN 'false' THEN 0 END::DOUBLE"
    return {to: number, f"{to}_gone": column.gone}


def as_number(column: Column, to: str) -> dict[str, str]:
    """Return a number, and whether the field is empty.

    Text such as 1_000 is none: DuckDB would take it for 1000, as programs do and tables do not.
    """
    sql, gone = column.sql, column.gone
    if column.is_a(WHOLE) or column.type in (*FLOATS, "BOOLEAN"):
        number, gone = f"{sql}::DOUBLE", f"{sql} IS NULL"
    elif column.tagged or column.is_a(TEXT) or column.is_a(BROKEN):  # decimals exactly, as text
        plain = f"NOT contains({column.text}, '_')"
        number = f"CASE WHEN {plain} THEN TRY_CAST({column.text} AS DOUBLE) END"
    elif column.type == UNTYPED:
        number = "NULL::DOUBLE"
    else:
        raise column.refuse("numbers")
    return {to: number, f"{to}_gone": gone}


def as_time(column: Column, to: str) -> dict[str, str]:
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
    return {to: f"epoch_us({stamp})", f"{to}_gone": gone, f"{to}_zoned": zoned}
