"""Files as parts that DuckDB reads: CSV, packed or not, Parquet, and folders of them.

Fields of CSV files are text, and an empty one is missing; other words, such as NULL or NA, are
names like any other.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import re
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.tables.line_ends import even_out, is_packed, may_be_mixed, open_csv
from lumpable.tables.source_parts import (
    AS_IT_IS,
    UNTYPED,
    Part,
    literal,
    path_literal,
    quote,
    there,
    types_of,
)

CSV, PARQUET = (".csv", ".tsv", ".csv.gz", ".tsv.gz"), (".parquet",)
DELIMITERS = ",;\t"
QUOTED = re.compile(r'(?:^|(?<=[,;\t]))"(?:[^"]++|"")*+"')
"""A field in quotes."""
OPEN = re.compile(r'(?:^|(?<=[,;\t]))"')
LONGEST = 1 << 16
"""Characters of a head with quotes that do not end: then they are no quotes."""
ROW = "file_row_number"
"""What DuckDB calls the numbers of rows of a Parquet file."""


def files_of(path: Path) -> list[Path]:
    """Return a file, or the files of a folder, by name."""
    if path.is_dir():
        found = [one for one in sorted(path.rglob("*")) if _is_meant(one, path) and _kind(one)]
        if not found:
            raise BadArgument("source", why=f"no CSV or Parquet file is in {str(path)!r}")
        return found
    if not path.is_file():
        raise BadArgument("source", why=f"no such file or folder: {str(path)!r}")
    if not _kind(path):
        expected = "a file that ends in .csv, .tsv (or those with .gz) or .parquet, or a folder"
        raise BadArgument("source", expected, repr(path.name))
    return [path]


def _is_meant(path: Path, folder: Path) -> bool:
    """Whether a file of a folder is meant: not one that others hide or have not finished."""
    parts = path.relative_to(folder).parts
    return path.is_file() and not any(part.startswith((".", "_")) for part in parts)


def _kind(path: Path) -> str:
    name = path.name.lower()
    return "csv" if name.endswith(CSV) else "parquet" if name.endswith(PARQUET) else ""


def file_part(con: Any, path: Path, columns: list[str]) -> Part:
    """Return a file as a part; it must have these columns."""
    if _nothing_in(path):
        nothing = ", ".join(f"NULL AS {quote(column)}" for column in columns)
        types = dict.fromkeys(columns, UNTYPED)
        relation = f"(SELECT {nothing} WHERE false)"
        return Part(path.name, relation, "0", types, path, rows=0, empty=True)
    if _kind(path) == "parquet":
        return _parquet(con, path, columns)
    return _csv(con, path, columns)


def _csv(con: Any, path: Path, columns: list[str]) -> Part:
    delimiter, header, end = _header(path)
    copy = _copy(con, path, delimiter)
    read = path if copy is None else copy
    for column in there(columns, header, str(path)):
        if header.count(column) > 1:
            raise BadArgument("source", f"one column {column!r} in {str(path)!r}", "two or more")
    unique = _unique(header, columns)
    if copy is not None and end:
        end = "\n"
    ends = f"new_line={literal(end.encode('unicode_escape').decode())}, " if end else ""
    spec = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in unique)
    relation = (
        f"read_csv({path_literal(read)}, auto_detect=false, header=true, columns={{{spec}}}, "
        f"delim={literal(delimiter)}, {ends}quote='\"', escape='\"', nullstr='', "
        f"compression='{'gzip' if is_packed(read) else 'none'}', store_rejects=true, "
        f"rejects_limit=0, {AS_IT_IS})"
    )
    types = dict.fromkeys(unique, "VARCHAR")
    number = "row_number() OVER () - 1"
    return Part(path.name, relation, number, types, path, delimiter, copy=copy)


def _copy(con: Any, path: Path, delimiter: str) -> Path | None:
    """Return a copy whose lines end in one way, if those of a CSV file do not; it is not kept."""
    try:
        if not may_be_mixed(path):
            return None
        folder = con.execute("SELECT current_setting('temp_directory')").fetchone()[0]
        copy = Path(tempfile.mkdtemp(dir=folder)) / "evened.csv"
        return copy if even_out(path, delimiter, copy) else None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        return None  # reading it will say what is wrong


def _nothing_in(path: Path) -> bool:
    """Whether a file is empty, unpacked if it is packed."""
    if path.stat().st_size == 0 or not is_packed(path):
        return path.stat().st_size == 0
    with contextlib.suppress(gzip.BadGzipFile, EOFError, zlib.error), open_csv(path, "rb") as file:
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


def _header(path: Path) -> tuple[str, list[str], str]:
    """Return the delimiter of a CSV file, the one that its head has most of, and names.

    What stands in quotes belongs to names, delimiters and ends of lines, too. If there are ends of
    lines in names, the last text is that of the head: DuckDB would take the first for it.
    """
    try:
        with open_csv(
            path, "rt", encoding="utf-8-sig", newline="", errors="surrogateescape"
        ) as file:
            head = _head(file)
        head.encode("utf-8", "surrogateescape").decode("utf-8")
        plain = QUOTED.sub("", head)
        delimiter = max(DELIMITERS, key=plain.count)
        header = next(csv.reader(io.StringIO(head, newline=""), delimiter=delimiter), [])
        line = head.rstrip("\r\n")
        if "\n" not in line and "\r" not in line:
            return delimiter, header, ""
        _check_first(path, header)
        return delimiter, header, head[len(line) :]
    except UnicodeDecodeError as cause:
        raise BadArgument("source", why=f"{str(path)!r} is not UTF-8 text: {cause}") from None
    except (csv.Error, gzip.BadGzipFile, EOFError, zlib.error) as cause:
        raise BadArgument("source", why=f"{str(path)!r} is not a CSV file: {cause}") from None


def _check_first(path: Path, header: list[str]) -> None:
    """Refuse what DuckDB reads as two heads: quotes are none to it behind a byte order mark."""
    with open_csv(path, "rb") as file:
        marked = file.read(3) == codecs.BOM_UTF8
    if marked and len(header[0].splitlines()) > 1:
        why = f"the name of the first column of {str(path)!r} has a line break: write it without"
        raise BadArgument("source", why=why)


def _head(file: Iterable[str]) -> str:
    """Return the first record of a CSV file; only the first line if its quotes do not end."""
    first = head = ""
    for line in file:
        first, head = first or line, head + line
        if OPEN.search(QUOTED.sub("", head)) is None:
            return head
        if len(head) > LONGEST:
            break
    return first


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
