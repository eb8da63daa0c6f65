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

from lumpable.base.checks import FloatMatrix
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
        raise ValueError(f"path: expected a CSV or Parquet file, got {str(path)!r}, which is none")
    if path.suffix == ".csv":
        return _read_csv(path)
    if path.suffix == ".parquet":
        parquet = need("pyarrow.parquet", "research", "reading Parquet files")
        return from_frame(parquet.read_table(path), COLUMNS)
    raise ValueError(f"path: expected a name that ends in .csv or .parquet, got {path.name!r}")


def from_frame(frame: Any, columns: tuple[str, str, str]) -> Table:
    """Take three columns of any frame that narwhals knows."""
    import narwhals as nw  # not needed before somebody has a frame

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as cause:
        raise ValueError(f"frame: expected a data frame, got {type(frame).__name__}") from cause
    for column in columns:
        if column not in table.columns:
            raise ValueError(f"frame: expected a column {column!r}, got {table.columns}")
    return _table(zip(*(table[column].to_list() for column in columns), strict=True))


def _read_csv(path: Path) -> Table:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as cause:
        raise ValueError(f"path: {str(path)!r} is not UTF-8 text: {cause}") from None
    rows = csv.DictReader(io.StringIO(text, newline=""))
    if not set(COLUMNS) <= set(rows.fieldnames or ()):
        raise ValueError(f"path: expected columns context, arm, mean, got {rows.fieldnames}")
    return _table([(row["context"], row["arm"], row["mean"]) for row in rows])


def _table(rows: Iterable[tuple[Hashable, Hashable, Any]]) -> Table:
    contexts: dict[Hashable, int] = {}
    arms: dict[Hashable, int] = {}
    cells: dict[tuple[int, int], float] = {}
    for context, arm, value in rows:
        cell = contexts.setdefault(context, len(contexts)), arms.setdefault(arm, len(arms))
        if cell in cells:
            raise ValueError(f"rows: expected each pair once, got {(context, arm)} twice")
        cells[cell] = _number(value, context, arm)
    if not cells:
        raise ValueError("rows: expected at least one (context, arm, mean), got none")
    mean = np.full((len(contexts), len(arms)), math.nan)
    for cell, number in cells.items():
        mean[cell] = number
    if np.isnan(mean).any():
        i, j = np.argwhere(np.isnan(mean))[0]
        pair = tuple(contexts)[i], tuple(arms)[j]
        raise ValueError(f"rows: expected a mean for every pair, got none for {pair}")
    return Table(mean, tuple(contexts), tuple(arms))


def _number(value: Any, context: Hashable, arm: Hashable) -> float:
    if value is None or value == "":
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        pair = f"context {context!r}, arm {arm!r}"
        raise ValueError(f"mean: expected a number, got {value!r} for {pair}") from None
