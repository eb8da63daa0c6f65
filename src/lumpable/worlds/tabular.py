"""Tables of means from frames and files, turned into a matrix with names.

A long table has a row for each pair (context, arm, mean), a wide one a row for each context and a
column for each arm. Files are looked at before they are read: a small one may hold a table that
fills the memory. Knows files and frames, nothing of worlds.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.base.errors import BadArgument
from lumpable.base.extras import need
from lumpable.base.words import short
from lumpable.worlds import matrices
from lumpable.worlds.wide_heads import begins_with_names, check_heads

COLUMNS = ("context", "arm", "mean")
MOST_ROWS = 5_000_000
"""Rows of a table that are read; each takes some 200 bytes on the way."""
EXPECTED = "columns context, arm, mean, or names of contexts and then numbers, a column per arm"
SUFFIXES = (".csv", ".parquet", ".npz", ".npy")


class Table(NamedTuple):
    """A matrix of means whose rows and columns may have names."""

    mean: FloatMatrix
    contexts: tuple[Hashable, ...]
    arms: tuple[Hashable, ...]


def read(path: Path) -> Table:
    """Read a long or wide CSV or Parquet file, or a matrix as npz or npy."""
    if not path.is_file():
        raise BadArgument("path", why=f"no such file: {str(path)!r}")
    if path.suffix == ".csv":
        return _read_csv(path)
    if path.suffix == ".parquet":
        return _read_parquet(path)
    if path.suffix in (".npz", ".npy"):
        return Table(*matrices.read(path))
    words = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
    raise BadArgument("path", f"a name that ends in {words}", repr(path.name))


def from_frame(frame: Any, columns: tuple[str, str, str]) -> Table:
    """Take three columns of any frame that narwhals knows."""
    import narwhals as nw  # only frames need it

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as cause:
        raise BadArgument("frame", "a data frame", f"{type(frame).__name__}") from cause
    for column in columns:
        if column not in table.columns:
            raise BadArgument("frame", f"a column {column!r}", f"{table.columns}")
    _refuse_large("frame", len(table), "rows", MOST_ROWS)
    return _table(zip(*(table[column].to_list() for column in columns), strict=True))


def _read_csv(path: Path) -> Table:
    try:
        text = path.read_text(encoding="utf-8-sig")  # some programs begin files with a mark
        names, lines = next(_csv_rows(text), []), max(text.count("\n"), text.count("\r"))
        filled = (row for row in itertools.islice(_csv_rows(text), 1, None) if row)
        if _is_long(names):
            _refuse_large("path", lines, "rows", MOST_ROWS)
            context, arm, mean = (names.index(column) for column in COLUMNS)
            return _table((_at(row, context), _at(row, arm), _at(row, mean)) for row in filled)
        check_heads(names)
        _check_wide(names)
        _refuse_wide(lines, len(names))
        firsts = (row[0] for row in itertools.islice(_csv_rows(text), 1, None) if row)
        if begins_with_names(names, firsts):
            return _wide(names[1:], ((row[0], row[1:]) for row in filled))
        return _nameless(names, filled)
    except UnicodeDecodeError as cause:
        raise BadArgument("path", why=f"{str(path)!r} is not UTF-8 text: {cause}") from None
    except csv.Error as cause:
        raise BadArgument("path", why=f"{str(path)!r} is not a CSV file: {cause}") from None


def _csv_rows(text: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""))


def _at(row: Sequence[str], place: int) -> str | None:
    return row[place] if place < len(row) else None


def _read_parquet(path: Path) -> Table:
    arrow = need("pyarrow", "research", "reading Parquet files")
    parquet = need("pyarrow.parquet", "research", "reading Parquet files")
    try:
        about = parquet.read_metadata(path)
        schema = about.schema.to_arrow_schema()
        names = list(schema.names)
        if _is_long(names):
            _refuse_large("path", about.num_rows, "rows", MOST_ROWS)
            return from_frame(parquet.read_table(path, columns=list(COLUMNS)), COLUMNS)
        _check_wide(names)
        _refuse_wide(about.num_rows, len(names))
        index = _index_of(schema.metadata or {}, names)
        names.sort(key=lambda name: name != index)  # pandas stores its index last
        frame = parquet.read_table(path).select(names)
    except (arrow.ArrowException, OSError) as cause:
        first = (str(cause).splitlines() or [""])[0]
        raise BadArgument("path", why=f"{str(path)!r} is not a Parquet file: {first}") from None
    first = frame.column(0).to_pylist()
    rows = zip(
        *(column.to_numpy(zero_copy_only=False) for column in frame.columns[1:]), strict=True
    )
    if index is not None or begins_with_names(names, first):
        return _wide(names[1:], zip(first, rows, strict=True))
    return _nameless(names, ((own, *row) for own, row in zip(first, rows, strict=True)))


def _index_of(metadata: Mapping[bytes, bytes], names: Sequence[str]) -> str | None:
    """Return the column that pandas noted as its index; None if it noted none that is stored."""
    try:
        said = json.loads(metadata.get(b"pandas", b"null"))
    except (ValueError, RecursionError):
        return None
    columns = said.get("index_columns") if isinstance(said, dict) else None
    # An index that counts 0, 1, 2 is noted as a range, and not stored.
    stored = [name for name in columns if name in names] if isinstance(columns, list) else []
    if len(stored) > 1:
        raise BadArgument("path", "one column of names of contexts", f"an index of {stored}")
    return stored[0] if stored else None


def _is_long(names: Sequence[str]) -> bool:
    return set(COLUMNS) <= set(names)


def _check_wide(names: Sequence[str]) -> None:
    """Refuse a header that is neither that of a long table nor that of a wide one."""
    half_long = set(COLUMNS[1:]) & set(names)
    if len(names) < 2 or half_long or len(set(names)) < len(names):
        raise BadArgument("path", EXPECTED, f"{list(names)[:10]}")


def _refuse_wide(rows: int, columns: int) -> None:
    _refuse_large("path", rows * columns, "cells", matrices.MOST_CELLS)
    _refuse_large("path", rows, "rows", MOST_ROWS)


def _refuse_large(argument: str, many: int, what: str, most: int) -> None:
    if many > most:
        more = " (an npz file may have more)" if what == "rows" else ""
        expected = f"a table of at most {short(most)} {what}{more}"
        raise BadArgument(argument, expected, f"{short(many)}")


def _wide(arms: Sequence[Hashable], rows: Iterable[tuple[Hashable, Sequence[Any]]]) -> Table:
    means: dict[Hashable, FloatVector] = {}
    for context, values in rows:
        if not isinstance(context, Hashable):
            raise BadArgument("rows", "names that can be compared", repr(context))
        if context in means:
            raise BadArgument("rows", "each context once", f"{context!r} twice")
        if len(values) != len(arms):
            got = f"{len(values)} for context {context!r}"
            raise BadArgument("rows", f"a mean for each of {len(arms)} arms", got)
        try:
            pairs = zip(values, arms, strict=True)
            means[context] = np.array([_number(value, context, arm) for value, arm in pairs])
        except BadArgument as error:
            raise BadArgument("path", EXPECTED, error.got) from None
        missing = np.isnan(means[context])
        if missing.any():
            pair = (context, arms[int(np.argmax(missing))])
            raise BadArgument("rows", "a mean for every pair", f"none for {pair}")
    if not means:
        raise BadArgument("rows", "at least one context", "none")
    return Table(np.array(list(means.values())), tuple(means), tuple(arms))


def _nameless(arms: Sequence[Hashable], rows: Iterable[Sequence[Any]]) -> Table:
    """Return a wide table that begins with an arm; its contexts have numbers, not names."""
    return _wide(arms, enumerate(rows))._replace(contexts=())


def _table(rows: Iterable[tuple[Hashable, Hashable, Any]]) -> Table:
    contexts: dict[Hashable, int] = {}
    arms: dict[Hashable, int] = {}
    cells: dict[tuple[int, int], float] = {}
    for context, arm, value in rows:
        try:
            cell = contexts.setdefault(context, len(contexts)), arms.setdefault(arm, len(arms))
        except TypeError:
            pair = f"{context!r} and {arm!r}"
            raise BadArgument("rows", "names that can be compared", pair) from None
        if cell in cells:
            raise BadArgument("rows", "each pair once", f"{(context, arm)} twice")
        cells[cell] = _number(value, context, arm)
    if not cells:
        raise BadArgument("rows", "at least one (context, arm, mean)", "none")
    for context, i in contexts.items():  # before allocating a matrix, which may be far larger
        for arm, j in arms.items():
            if math.isnan(cells.get((i, j), math.nan)):
                raise BadArgument("rows", "a mean for every pair", f"none for {(context, arm)}")
    mean = np.empty((len(contexts), len(arms)))
    for cell, number in cells.items():
        mean[cell] = number
    return Table(mean, tuple(contexts), tuple(arms))


def _number(value: Any, context: Hashable, arm: Hashable) -> float:
    if value is None or (isinstance(value, str) and not value):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        pair = f"context {context!r}, arm {arm!r}"
        raise BadArgument("mean", "a number", f"{value!r} for {pair}") from None
