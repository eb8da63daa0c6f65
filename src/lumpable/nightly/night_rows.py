"""Rows of a segment, by DuckDB: from a source to a segment, and from segments to evidence.

What counts is what `read_events` says; here rows keep their ids and times, which evidence loses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from lumpable.base.arrays import IntVector
from lumpable.base.units import Name
from lumpable.lumps.use.rewards import Accepted
from lumpable.tables import cleaning
from lumpable.tables.adding_up import add_up, number_values
from lumpable.tables.cleaning import Columns
from lumpable.tables.dirt import Dirt
from lumpable.tables.events import Events
from lumpable.tables.naming_notes import notes_on
from lumpable.tables.source_parts import AS_IT_IS, Part, literal, path_literal

TYPES = {
    "u_int": "BIGINT", "u_text": "VARCHAR", "i_int": "BIGINT", "i_text": "VARCHAR", "m": "BIGINT",
    "p": "DOUBLE", "t": "BIGINT", "id": "VARCHAR", "n": "BIGINT",
}  # fmt: skip
"""Names as integers or text, millionths, propensity, microseconds, id, and how many such events."""
ORDER = ("t", "u_int", "u_text", "i_int", "i_text", "m", "p", "id")
"""In which rows are kept, and told to a plan."""
ONCE = "c = 1 OR (t = first AND count(*) OVER (PARTITION BY id, t) = 1)"
"""Of versions of an event that differ the first counts, if it is known which that is."""
KEYS = "u_int, u_text, i_int, i_text, m, p"
WHOLE_FLOAT = r"^(-?[0-9]+)\.0$"
PACKED = "(FORMAT parquet, COMPRESSION zstd)"


def gather(con: Any, part: Part, columns: Columns, accepted: Accepted, *, zones: bool) -> None:
    """Make the table `came`: the rows of a part that count, equal ones added up."""
    truths = cleaning.are_truths(con, part, columns.reward)
    query = cleaning.cleaning_query(part, columns, accepted, zones=zones, truths=truths)
    good = f"SELECT * FROM ({query}) WHERE fault = 0"
    if columns.id is not None:
        sql = (
            f"SELECT {KEYS}, t, id, 1::BIGINT AS n FROM (SELECT *, count(*) OVER each AS c, "
            f"min(t) OVER each AS first FROM (SELECT {KEYS}, id, min(t) AS t FROM ({good}) "
            f"GROUP BY {KEYS}, id) WINDOW each AS (PARTITION BY id)) QUALIFY {ONCE}"
        )
    else:
        sql = f"SELECT {KEYS}, t, id, count(*) AS n FROM ({good}) GROUP BY {KEYS}, t, id"
    con.execute(f"CREATE OR REPLACE TEMP TABLE came AS {sql}")


def drop_known(con: Any, segments: Sequence[Path], *, floats: bool) -> tuple[int, int]:
    """Leave events out of `came` whose id is known; return how many, and how many contradict.

    With `floats` the ids of `came` are whole numbers that came as floats: segments of earlier
    releases have those as text such as 17.0.
    """
    if not segments:
        return 0, 0
    id = f"regexp_replace(id, '{WHOLE_FLOAT}', '\\1')" if floats else "id"
    known = f"(SELECT {KEYS}, {id} AS id FROM {relation(segments)})"
    same = " AND ".join(f"a.{key.strip()} IS NOT DISTINCT FROM b.{key.strip()}"
                        for key in KEYS.split(","))  # fmt: skip
    again, against = con.execute(
        f"SELECT count(*), count(*) FILTER (NOT ({same})) FROM came a JOIN {known} b USING (id)"
    ).fetchone()
    con.execute(f"DELETE FROM came WHERE id IN (SELECT id FROM {known})")
    return int(again), int(against)


def write(con: Any, path: Path) -> int:
    """Write `came` as a segment; return how many events it has."""
    selected = ", ".join(f"{name}::{kind} AS {name}" for name, kind in TYPES.items())
    order = ", ".join(f"{name} NULLS FIRST" for name in ORDER)
    con.execute("SET preserve_insertion_order = true")
    con.execute(f"COPY (SELECT {selected} FROM came ORDER BY {order}) TO {literal(str(path))} "
                f"{PACKED}")  # fmt: skip
    return int(con.execute("SELECT coalesce(sum(n), 0) FROM came").fetchone()[0])


def relation(segments: Sequence[Path]) -> str:
    """Return what stands behind FROM for all rows of these segments."""
    if not segments:
        nothing = ", ".join(f"NULL::{kind} AS {name}" for name, kind in TYPES.items())
        return f"(SELECT {nothing} WHERE false)"
    return f"read_parquet([{', '.join(map(path_literal, segments))}], {AS_IT_IS})"


def rows_of(con: Any, segment: Path) -> list[tuple[Name, Name, int, int]]:
    """Return user, item, millionths and times of each row of a segment, in its order."""
    order = ", ".join(f"{name} NULLS FIRST" for name in ORDER)
    found = con.execute(
        f"SELECT u_int, u_text, i_int, i_text, m, n FROM {relation([segment])} ORDER BY {order}"
    ).fetchall()
    return [(a if a is not None else b, c if c is not None else d, m, n)
            for a, b, c, d, m, n in found]  # fmt: skip


def evidence(con: Any, rows: str, columns: Columns, accepted: Accepted) -> Events:
    """Return rows as events, with the digest that `read_events` gives to the same events."""
    user_sql, user_join, named_users = _names(con, rows, "u")
    item_sql, item_join, named_items = _names(con, rows, "i")
    likely = columns.propensity is not None
    sql = (
        f"SELECT {user_sql} AS a, {item_sql} AS b, m, {'p' if likely else '0.0::DOUBLE'} AS p, "
        f"sum(n)::BIGINT AS n FROM {rows} s {user_join} {item_join} GROUP BY ALL"
    )
    found = con.execute(sql + " ORDER BY a, b, m, p" if likely else sql).fetchnumpy()
    user, item, reward, propensity, times = (np.ma.getdata(found[name]) for name in "abmpn")
    del found
    if not likely:  # whole numbers: sorted here, which is quicker
        (user, item, reward), times = add_up([user, item, reward], times)
    users, user = _number_names(named_users, user)
    items, item = _number_names(named_items, item)
    span = con.execute(f"SELECT min(t), max(t) FROM {rows}").fetchone()
    notes = [note for column, names in ((columns.user, users), (columns.item, items))
             for note in notes_on(column, names, floats=False, text=True)]  # fmt: skip
    return Events(
        users, items, user, item, reward, times, propensity if likely else None, columns, accepted,
        Dirt(int(times.sum()), (), tuple(notes)), None if span[0] is None else span,
    )  # fmt: skip


def content_of(con: Any, events: Events) -> str:
    """Return the digest of a file of events without ids, in whatever order or format it came.

    `came` has its rows: where they have times or propensities, events say less than these do.
    """
    told: list[Any] = [events.digest(), events.span]
    if events.span is not None or events.propensity is not None:
        names = f"length({_key('', 'u')}), {_key('', 'u')}, {_key('', 'i')}"
        row = f"concat_ws('|', m, coalesce(p::VARCHAR, ''), coalesce(t::VARCHAR, ''), n, {names})"
        told += con.execute(
            f"SELECT sum((h >> 64)::UBIGINT)::VARCHAR, sum((h & {2**64 - 1}::UHUGEINT)::UBIGINT)"
            f"::VARCHAR FROM (SELECT md5_number({row}) AS h FROM came)"
        ).fetchone()
    return hashlib.sha256(msgspec.msgpack.encode(told)).hexdigest()


def _key(of: str, letter: str) -> str:
    """Return a name as one text: integers and text do not meet."""
    return f"coalesce('n' || {of}{letter}_int, 's' || {of}{letter}_text)"


def _names(con: Any, rows: str, letter: str) -> tuple[str, str, tuple[Name, ...] | None]:
    """Number names as `read_events` does: integers first, then text, each in order.

    Returns the SQL of a name's number, that of the table which has it, and the names. Where all
    are integers there is no table and there are no names yet: they are numbered later.
    """
    whole, text = f"{letter}_int", f"{letter}_text"
    if con.execute(f"SELECT count({text}) FROM {rows}").fetchone()[0] == 0:
        return f"s.{whole}", "", None
    con.execute(
        f"CREATE OR REPLACE TEMP TABLE {letter}_numbers AS SELECT *, {_key('', letter)} AS key, "
        f"row_number() OVER (ORDER BY {whole} NULLS LAST, {text} NULLS LAST) - 1 AS number "
        f"FROM (SELECT DISTINCT {whole}, {text} FROM {rows})"
    )
    found = con.execute(f"SELECT {whole}, {text} FROM {letter}_numbers ORDER BY number").fetchall()
    join = f"JOIN {letter}_numbers {letter} ON {_key('s.', letter)} = {letter}.key"
    return f"{letter}.number", join, tuple(a if a is not None else b for a, b in found)


def _number_names(
    names: tuple[Name, ...] | None, column: IntVector
) -> tuple[tuple[Name, ...], IntVector]:
    """Return names and the number of each row's, where it is not known yet."""
    if names is not None:
        return names, column
    found, place = number_values(column)
    return tuple(found), place
