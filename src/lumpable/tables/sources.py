"""Where events come from: files, folders of them and frames, each as parts that DuckDB reads.

Everything goes through DuckDB, so that a table gives the same evidence in whatever form it comes.
Fields of CSV files are text, and an empty one is missing; other words, such as NULL or NA, are
names like any other. Knows nothing of what a column means.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lumpable.base.errors import BadArgument
from lumpable.base.words import counted, nearest

CSV, PARQUET = (".csv", ".tsv", ".csv.gz", ".tsv.gz"), (".parquet",)
DELIMITERS = ",;\t"
AS_IT_IS = "hive_partitioning=false"
"""A file has the columns that are in it: a folder named user=ann says nothing."""
ROW = "file_row_number"
"""What DuckDB calls the numbers of rows of a Parquet file."""
UNTYPED = '"NULL"'
"""DuckDB's type of a column of which every field is missing."""
SHOWN = 3
"""Empty files that are named."""
TAGGED = "TAGGED"
"""The type of a frame's column of Python objects: text whose first letter says what it was."""


@dataclass(frozen=True, slots=True)
class Part:
    """A table that DuckDB reads in one go."""

    name: str
    """Of the file; empty for a frame."""
    relation: str
    """What stands behind FROM."""
    row: str
    """The number of a row, from 0 on, as SQL; for CSV files, of a record."""
    types: Mapping[str, str]
    """DuckDB's type of each column."""
    path: Path | None = None
    delimiter: str = ""
    """Of CSV files."""
    rows: int | None = None
    """How many rows it has, if that is known without reading it."""
    empty: bool = False
    """Whether there is nothing in its file, not even a head: so some write a day without events."""

    @property
    def text(self) -> bool:
        """Whether it is a CSV file."""
        return self.delimiter != ""


def parts_of(con: Any, source: Any, columns: Iterable[str]) -> list[Part]:
    """Return the parts of a file, a folder or a frame; all must have these columns."""
    columns = list(columns)
    if not isinstance(source, str | Path):
        return [_frame(con, source, columns)]
    parts = [_file(con, path, columns) for path in _files(Path(source))]
    if all(part.empty for part in parts):
        why = f"{str(source)!r} is empty" + (": so is each of its files" if len(parts) > 1 else "")
        raise BadArgument("source", why=why)
    return parts


def empty_files(parts: Iterable[Part]) -> Iterator[str]:
    """Yield what one should know of files without anything in them."""
    names = [part.name for part in parts if part.empty]
    if names:
        more = ", .." if len(names) > SHOWN else ""
        verb = "is" if len(names) == 1 else "are"
        listed = ", ".join(map(repr, names[:SHOWN]))
        yield f"{counted(len(names), 'file')} {verb} empty, without a head: {listed}{more}"


@contextlib.contextmanager
def reading(con: Any, parts: Sequence[Part]) -> Iterator[None]:
    """Say in words that a file cannot be read, and which.

    Other errors of DuckDB pass: they are bugs of this package, and must not look like bad input.
    """
    import duckdb

    try:
        yield
    except (duckdb.Error, EOFError, zlib.error) as error:
        damaged = type(error) in (duckdb.Error, duckdb.InvalidInputException)  # of its contents
        named = [part for part in parts if part.path is not None and str(part.path) in str(error)]
        if isinstance(error, duckdb.Error) and not damaged:
            damaged = isinstance(error, duckdb.IOException) and bool(named)
            if not damaged:
                raise
        named = named or [part for part in parts if part.path is not None and _torn(con, part)]
        if not named:
            raise
        first = str(error).splitlines()[0]
        raise BadArgument("source", why=f"{str(named[0].path)!r} is damaged: {first}") from error


def _torn(con: Any, part: Part) -> bool:
    """Whether a file cannot be read to its end."""
    import duckdb

    try:
        con.execute(f"SELECT max(COLUMNS(*)::VARCHAR) FROM {part.relation}").fetchall()
    except duckdb.Error:
        return True
    return False


def quoted(name: str) -> str:
    """Return a column's name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as SQL.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def path_literal(path: Path) -> str:
    """Return the name of one file as SQL: DuckDB would take `*`, `?` and `[` for patterns.

    >>> path_literal(Path("ev[1].csv"))
    "'ev[[]1].csv'"
    """
    return literal("".join(f"[{one}]" if one in "[*?" else one for one in str(path)))


# --- Files ----------------------------------------------------------------------------------------


def _files(path: Path) -> list[Path]:
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


def _file(con: Any, path: Path, columns: list[str]) -> Part:
    if _nothing_in(path):
        nothing = ", ".join(f"NULL AS {quoted(column)}" for column in columns)
        types = dict.fromkeys(columns, UNTYPED)
        relation = f"(SELECT {nothing} WHERE false)"
        return Part(path.name, relation, "0", types, path, rows=0, empty=True)
    if _kind(path) == "parquet":
        return _parquet(con, path, columns)
    delimiter, header = _header(path)
    for column in _there(columns, header, str(path)):
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
        types = _types(con, relation)
        rows = con.execute(f"SELECT count(*) FROM {relation}").fetchone()[0]
    except duckdb.Error as cause:
        first = str(cause).splitlines()[0]
        raise BadArgument("source", why=f"{str(path)!r} is not a Parquet file: {first}") from None
    _there(columns, list(types), str(path))
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


def _there(columns: list[str], header: list[str], where: str) -> list[str]:
    for column in columns:
        if column not in header:
            near = nearest(column, header)
            listed = ", ".join(map(repr, header[:20])) + (", .." if len(header) > 20 else "")
            raise BadArgument("source", f"a column {column!r} in {where}", f"{listed}{near}")
    alike = {column.casefold(): column for column in columns}
    for column in columns:
        if alike[column.casefold()] != column:
            got = f"{column!r} and {alike[column.casefold()]!r}"
            raise BadArgument("source", f"columns in {where} that differ in more than case", got)
    return columns


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


def _types(con: Any, relation: str) -> dict[str, str]:
    rows = con.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    return {row[0]: row[1] for row in rows}


# --- Frames ---------------------------------------------------------------------------------------


def _frame(con: Any, source: Any, columns: list[str]) -> Part:
    import duckdb

    try:
        return _registered(con, source, columns)
    except (UnicodeEncodeError, duckdb.InvalidInputException) as cause:
        if "surrogates not allowed" not in str(cause):
            raise
        why = "a text of the frame has half of a character (a lone surrogate)"
        raise BadArgument("source", why=why) from cause


def _registered(con: Any, source: Any, columns: list[str]) -> Part:
    """Let DuckDB know the columns of a frame that are needed, as `frame`."""
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    lazy = nw.dependencies.is_polars_lazyframe(source)
    try:
        frame = nw.from_native(source.head(0).collect() if lazy else source, eager_only=True)
        names = list(dict.fromkeys(_there(columns, frame.columns, "the frame")))
    except TypeError as cause:
        got = type(source).__name__
        expected = "a CSV or Parquet file, a folder of them, or a data frame"
        raise BadArgument("source", expected, got) from cause
    except DuplicateError as cause:
        why = "the frame has several columns of one name"
        raise BadArgument("source", why=why) from cause
    if lazy:
        con.register("frame", source.select(names))  # only these columns are made
        return Part("", "frame", "row_number() OVER () - 1", _types(con, "frame"))
    frame = frame.select(names)
    tagged = [name for name in names if frame.schema[name] == nw.Object]
    for name in tagged:
        texts = [_tag(value) for value in frame[name].to_list()]
        column = nw.new_series(name, texts, nw.String, backend=frame.implementation)
        frame = frame.with_columns(column)
    untyped = [name for name in names if frame.schema[name] == nw.Unknown]
    if untyped and frame.select(nw.col(*untyped).is_null().all()).row(0) == (True,) * len(untyped):
        frame = frame.with_columns(nw.col(*untyped).cast(nw.String))  # DuckDB needs some type
    con.register("frame", frame)
    types = _types(con, "frame") | dict.fromkeys(tagged, TAGGED)
    return Part("", "frame", "row_number() OVER () - 1", types, rows=len(frame))


def _tag(value: object) -> str | None:
    """Return a Python object as text: n.. for whole numbers, f.. for floats, s.. for text.

    Others have an o, and truth values a b.

    >>> [_tag(value) for value in (17, "17", 17.0, None, float("nan"), True, ["a"])]
    ['n17', 's17', 'f17.0', None, None, 'b1', "o['a']"]
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, str):
        return f"s{value}"
    if isinstance(value, bool | np.bool_):
        return f"b{int(value)}"
    if isinstance(value, int | np.integer):
        return f"n{int(value)}"
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else f"f{float(value)!r}"
    return f"o{value.isoformat()}" if hasattr(value, "isoformat") else f"o{value}"
