"""Tables of (context, arm, mean) from frames and files, turned into a matrix with names.

Knows files and frames, nothing of worlds.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lumpable.base.arrays import FloatMatrix
from lumpable.base.errors import BadArgument
from lumpable.base.extras import need

COLUMNS = ("context", "arm", "mean")


class Table(NamedTuple):
    """A matrix of means whose rows and columns have names, in order of first appearance."""

    mean: FloatMatrix
    contexts: tuple[Hashable, ...]
    arms: tuple[Hashable, ...]


def read(path: Path) -> Table:
    """Read a CSV or Parquet file with the columns context, arm and mean."""
    if not path.is_file():
        raise BadArgument("path", why=f"no such file: {str(path)!r}")
    if path.suffix == ".csv":
        return _read_csv(path)
    if path.suffix == ".parquet":
        return _read_parquet(path)
    raise BadArgument("path", "a name that ends in .csv or .parquet", repr(path.name))


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
    return _table(zip(*(table[column].to_list() for column in columns), strict=True))


def _read_csv(path: Path) -> Table:
    try:
        text = path.read_text(encoding="utf-8")
        rows = csv.DictReader(io.StringIO(text, newline=""))
        names = rows.fieldnames or ()
        if not set(COLUMNS) <= set(names):
            raise BadArgument("path", "columns context, arm, mean", f"{list(names)}")
        cells = [(row["context"], row["arm"], row["mean"]) for row in rows]
    except UnicodeDecodeError as cause:
        raise BadArgument("path", why=f"{str(path)!r} is not UTF-8 text: {cause}") from None
    except csv.Error as cause:
        raise BadArgument("path", why=f"{str(path)!r} is not a CSV file: {cause}") from None
    return _table(cells)


def _read_parquet(path: Path) -> Table:
    arrow = need("pyarrow", "research", "reading Parquet files")
    parquet = need("pyarrow.parquet", "research", "reading Parquet files")
    try:
        frame = parquet.read_table(path)
    except (arrow.ArrowException, OSError) as cause:
        first = (str(cause).splitlines() or [""])[0]
        raise BadArgument("path", why=f"{str(path)!r} is not a Parquet file: {first}") from None
    return from_frame(frame, COLUMNS)


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
