"""Files as parts that DuckDB reads: CSV, packed or not, Parquet, and folders of them.

Fields of CSV files are text, and an empty one is missing; other words, such as NULL or NA, are
names like any other.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import zlib
from pathlib import Path
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.tables.source_parts import (
    AS_IT_IS,
    UNTYPED,
    Part,
    literal,
    path_literal,
    quoted,
    there,
    types_of,
)

CSV, PARQUET = (".csv", ".tsv", ".csv.gz", ".tsv.gz"), (".parquet",)
DELIMITERS = ",;\t"
ROW = "file_row_number"
"""What DuckDB calls the numbers of rows of a Parquet file."""


def files_of(path: Path) -> list[Path]:
    """Return a file, or the files of a folder, by name."""
    if path.is_dir():
        found = [one for one in sorted(path.rglob("*")) if _shown(one, path) and _kind(one)]
        if not found:
            raise BadArgument("source", why=f"no CSV or Parquet file is in {str(path)!r}")
        return found
    if not path.is_file():
        raise BadArgument("source", why=f"no such file or folder: {str(path)!r}")
    if not _kind(path):
        expected = "a file that ends in .csv, .tsv (or those with .gz) or .parquet, or a folder"
        raise BadArgument("source", expected, repr(path.name))
    return [path]


def _shown(path: Path, folder: Path) -> bool:
    """Whether a file of a folder is meant: not one that others hide or have not finished."""
    parts = path.relative_to(folder).parts
    return path.is_file() and not any(part.startswith((".", "_")) for part in parts)


def _kind(path: Path) -> str:
    name = path.name.lower()
    return "csv" if name.endswith(CSV) else "parquet" if name.endswith(PARQUET) else ""


def file_part(con: Any, path: Path, columns: list[str]) -> Part:
    """Return a file as a part; it must have these columns."""
    if _nothing_in(path):
        nothing = ", ".join(f"NULL AS {quoted(column)}" for column in columns)
        types = dict.fromkeys(columns, UNTYPED)
        relation = f"(SELECT {nothing} WHERE false)"
        return Part(path.name, relation, "0", types, path, rows=0, empty=True)
    if _kind(path) == "parquet":
        return _parquet(con, path, columns)
    delimiter, header = _header(path)
    for column in there(columns, header, str(path)):
        if header.count(column) > 1:
            raise BadArgument("source", f"one column {column!r} in {str(path)!r}", "two or more")
    unique = _unique(header, columns)
    spec = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in unique)
    relation = (
        f"read_csv({path_literal(path)}, auto_detect=false, header=true, columns={{{spec}}}, "
        f"delim={literal(delimiter)}, quote='\"', escape='\"', nullstr='', "
        f"compression='{'gzip' if _packed(path) else 'none'}', store_rejects=true, "
        f"rejects_limit=0, {AS_IT_IS})"
    )
    types = dict.fromkeys(unique, "VARCHAR")
    return Part(path.name, relation, "row_number() OVER () - 1", types, path, delimiter)


def _nothing_in(path: Path) -> bool:
    """Whether a file is empty, unpacked if it is packed."""
    if path.stat().st_size == 0 or not _packed(path):
        return path.stat().st_size == 0
    with contextlib.suppress(gzip.BadGzipFile, EOFError, zlib.error), opened(path, "rb") as file:
        return not file.read(1)
    return False


def _parquet(con: Any, path: Path, columns: list[str]) -> Part:
    import duckdb

    relation = f"read_parquet({path_literal(path)}, {AS_IT_IS})"
    try:
        types = types_of(con, relation)
        rows = con.execute(f"SELECT count(*) FROM {relation}").fetchone()[0]
    except duckdb.Error as cause:
        first = str(cause).splitlines()[0]
        raise BadArgument("source", why=f"{str(path)!r} is not a Parquet file: {first}") from None
    there(columns, list(types), str(path))
    if ROW in map(str.casefold, types):  # then DuckDB cannot number rows by itself
        return Part(path.name, relation, "row_number() OVER () - 1", types, path)
    numbered = f"read_parquet({path_literal(path)}, {ROW}=true, {AS_IT_IS})"
    return Part(path.name, numbered, ROW, types, path, rows=rows)


def _header(path: Path) -> tuple[str, list[str]]:
    """Return the delimiter of a CSV file, the one that its first line has most of, and names."""
    with opened(path, "rb") as file:
        try:
            line = file.readline().decode("utf-8-sig")
            delimiter = max(DELIMITERS, key=line.count)
            return delimiter, next(csv.reader([line], delimiter=delimiter), [])
        except UnicodeDecodeError as cause:
            raise BadArgument("source", why=f"{str(path)!r} is not UTF-8 text: {cause}") from None
        except (csv.Error, gzip.BadGzipFile, EOFError, zlib.error) as cause:
            raise BadArgument("source", why=f"{str(path)!r} is not a CSV file: {cause}") from None


def opened(path: Path, mode: str, **options: Any) -> Any:
    """Open a CSV file, packed or not."""
    return gzip.open(path, mode, **options) if _packed(path) else path.open(mode, **options)


def _packed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


def _unique(header: list[str], columns: list[str]) -> list[str]:
    """Return names that DuckDB can tell apart, which takes no heed of case; `columns` stay.

    >>> _unique(["User", "user", "", "x", "X"], ["user"])
    ['column 0', 'user', 'column 2', 'x', 'column 4']
    """
    known, unique = {column.casefold() for column in columns}, list[str]()
    for number, name in enumerate(header):
        if name not in columns:
            while not name or name.casefold() in known:
                name = f"column {number}" if name != f"column {number}" else f"{name}:"
            known.add(name.casefold())
        unique.append(name)
    return unique
