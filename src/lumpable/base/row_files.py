"""Rows as a file, CSV or Parquet as its name ends, written whole or not at all.

In a CSV file all is text: 17 and "17" are one name there.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from lumpable.base.errors import BadArgument
from lumpable.base.extras import need
from lumpable.base.files import replacing

ENDINGS = (".csv", ".parquet")
ROWS = 50_000
"""Rows that are written at a time."""
Rows = Iterable[Sequence[Any]]


def check_ending(path: Path, argument: str) -> None:
    """Refuse a name with another ending."""
    if path.suffix not in ENDINGS:
        raise BadArgument(argument, "a name that ends in .csv or .parquet", repr(path.name))


def check(path: Path, argument: str) -> None:
    """Refuse what cannot be written: another ending, or a library that is not there."""
    check_ending(path, argument)
    if path.suffix == ".parquet":
        need_parquet()


def need_parquet() -> Any:
    """Return what writes Parquet files, or say which extra has it."""
    return need("pyarrow.parquet", "research", "writing Parquet files")


def write(path: Path, columns: Mapping[str, str], rows: Rows) -> int:
    """Write rows under these columns, each with the name of its type; return how many."""
    with replacing(path) as file:
        return writer_of(path)(file, columns, rows)


def writer_of(path: Path) -> Callable[[BinaryIO, Mapping[str, str], Rows], int]:
    """Return who writes files that end as this one."""
    return _csv if path.suffix == ".csv" else _parquet


def _parquet(file: BinaryIO, columns: Mapping[str, str], rows: Rows) -> int:
    pa = need("pyarrow", "research", "writing Parquet files")
    parquet = need_parquet()
    kinds = {"timestamp": pa.timestamp("us", tz="UTC"), "naive": pa.timestamp("us")}
    kinds |= {"bool": pa.bool_()}
    types = [kinds[kind] if kind in kinds else getattr(pa, kind)() for kind in columns.values()]
    schema, written, left = pa.schema(list(zip(columns, types, strict=True))), 0, iter(rows)
    with parquet.ParquetWriter(file, schema) as writer:
        while batch := list(islice(left, ROWS)):
            both = zip(zip(*batch, strict=True), types, strict=True)
            arrays = [pa.array(column, kind) for column, kind in both]
            writer.write_table(pa.table(arrays, schema=schema))
            written += len(batch)
    return written


def _csv(file: BinaryIO, columns: Mapping[str, str], rows: Rows) -> int:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer, written, kinds = csv.writer(text), 0, list(columns.values())
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_field(one, kind) for one, kind in zip(row, kinds, strict=True)])
        written += 1
    text.detach()  # the file goes on, and is closed by who opened it
    return written


def _field(value: Any, kind: str) -> Any:
    """Write a value as others read it: times in ISO 8601, with their zone unless they are naive."""
    if value is None or kind not in ("timestamp", "naive", "bool"):
        return value
    zone = "" if kind == "naive" else "Z"
    return str(value).lower() if kind == "bool" else f"{np.datetime64(value, 'us')}{zone}"
