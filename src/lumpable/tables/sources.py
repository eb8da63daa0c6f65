"""Where events come from: files, folders of them and frames, each as parts that DuckDB reads.

Everything goes through DuckDB, so that a table gives the same evidence in whatever form it comes.
Knows nothing of what a column means.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.base.words import counted
from lumpable.tables.file_parts import file_part, files_of
from lumpable.tables.frame_parts import frame_part
from lumpable.tables.source_parts import Part

SHOWN = 3
"""Empty files that are named."""


def parts_of(con: Any, source: Any, columns: Iterable[str]) -> list[Part]:
    """Return the parts of a file, a folder or a frame; all must have these columns."""
    columns = list(columns)
    if not isinstance(source, str | Path):
        return [frame_part(con, source, columns)]
    if source == "":  # the system takes it for the current folder, which nobody means
        raise BadArgument("source", "the name of a file or folder", "an empty string")
    parts = [file_part(con, path, columns) for path in files_of(Path(source))]
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


def mixed_files(parts: Iterable[Part]) -> Iterator[str]:
    """Yield what one should know of files whose lines end in several ways."""
    for part in parts:
        if part.copy is not None:
            yield f"lines of {part.name!r} end in several ways (CRLF, LF): read as if in one"


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
        named = [part for part in parts if part.read is not None and str(part.read) in str(error)]
        if isinstance(error, duckdb.Error) and not damaged:
            damaged = isinstance(error, duckdb.IOException) and bool(named)
            if not damaged:
                raise
        named = named or [part for part in parts if part.path is not None and _is_torn(con, part)]
        if not named:
            raise
        first = str(error).splitlines()[0]
        raise BadArgument("source", why=f"{str(named[0].path)!r} is damaged: {first}") from error


def _is_torn(con: Any, part: Part) -> bool:
    """Whether a file cannot be read to its end."""
    import duckdb

    try:
        con.execute(f"SELECT max(COLUMNS(*)::VARCHAR) FROM {part.relation}").fetchall()
    except duckdb.Error:
        return True
    return False
