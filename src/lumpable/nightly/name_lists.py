"""Users and items of a plan: a list, a frame or a file, as names in order, each once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.lumps.use.naming import EXACT
from lumpable.tables.column_values import BROKEN, TEXT, WHOLE
from lumpable.tables.faults_found import Found
from lumpable.tables.queries import database
from lumpable.tables.source_parts import TAGGED, Part, quote
from lumpable.tables.sources import parts_of, reading


def names_from(role: str, source: Any, column: str) -> tuple[Name, ...]:
    """Return the names in a column of a file or frame, or those of a list; sorted, each once.

    >>> names_from("items", ["tea", 17, "tea"], "item")
    (17, 'tea')
    """
    if isinstance(source, list | tuple | set | frozenset):
        found = list(source)
        for name in found:
            if type(name) not in (str, int) or name == "":
                raise BadArgument(role, "strings or whole numbers", repr(name))
            if isinstance(name, str) and any("\ud800" <= one <= "\udfff" for one in name):
                raise BadArgument(role, "strings of whole characters", repr(name))
    else:
        try:
            with database(None) as con:
                parts = parts_of(con, source, [column])
                with reading(con, parts):
                    found = [
                        name for part in parts if not part.empty
                        for name in _of_part(con, role, part, column)
                    ]  # fmt: skip
        except BadArgument as error:
            told = (error.expected, error.got)
            raise BadArgument(role, *told, why=error.why) from None
    if not found:
        where = f" in {str(source)!r}" if isinstance(source, str | Path) else ""
        raise BadArgument(role, "at least one name", f"none{where}")
    return in_order(found)


def in_order(names: Iterable[Name]) -> tuple[Name, ...]:
    """Sort names: integers first, then text; each once."""
    return tuple(sorted(set(names), key=lambda name: (isinstance(name, str), name)))


def _of_part(con: Any, role: str, part: Part, column: str) -> list[Name]:
    """Return the names of a column; rows without one are an error."""
    sql, kind = quote(column), part.types[column]
    if WHOLE.fullmatch(kind):
        name = f"TRY_CAST({sql} AS BIGINT)"
    elif TEXT.fullmatch(kind):
        name = f"nullif({sql}::VARCHAR, '')"
    elif BROKEN.fullmatch(kind):
        number = f"{sql}::DOUBLE"
        name = (f"CASE WHEN {number} = floor({number}) AND abs({number}) <= {EXACT} "
                f"THEN TRY_CAST({number} AS BIGINT) END")  # fmt: skip
    else:
        got = "several types in one column" if kind == TAGGED else f"type {kind}"
        raise BadArgument(role, f"strings or whole numbers in column {column!r}", got)
    rows = con.execute(f"SELECT {name} AS name, count(*) FROM {part.relation} GROUP BY name")
    found = dict(rows.fetchall())
    unreadable = Found(con, [part], [])
    for lines in unreadable.unreadable().values():
        expected = f"a file {part.name!r} of which every line can be read"
        first = min(unreadable.bad[0])
        raise BadArgument(role, expected, f"{lines:,} that cannot, from line {first:,} on")
    if None in found:
        where = f" of {part.name!r}" if part.name else ""
        expected = f"a name in every row of column {column!r}{where}"
        raise BadArgument(role, expected, f"{found[None]:,} rows without one")
    return list(found)
