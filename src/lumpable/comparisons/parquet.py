"""Parquet files, written and read in one place, with a checksum: a flipped bit is noticed.

Knows nothing of what the rows mean. Arrow arrays are made from Python values by hand: pyarrow would
import pandas if it is installed, which takes longer than many a comparison.

The checksum stands in the file's footer: the SHA-256 of all its bytes, with zeros in its own place.
Pages have checksums of their own, but the footer and what lies between have none. A file without
our checksum and mark was written by another program and is read without this check.
"""

from __future__ import annotations

import array
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from lumpable.base.errors import BadArgument
from lumpable.base.extras import need
from lumpable.base.files import replace

WHAT = "comparing learners"
CODES = {"int64": "q", "float64": "d"}
MARK, CHECKSUM = b"lumpable.rows", b"lumpable.checksum"
ZEROS = b"0" * 64
_PLACE = re.compile(re.escape(CHECKSUM) + rb".{1,4}?([0-9a-f]{64})", re.DOTALL)


def arrow() -> Any:
    """Import pyarrow, or say which extra brings it."""
    return need("pyarrow", "research", WHAT)


# --- Tables ---------------------------------------------------------------------------------


def schema(columns: Mapping[str, str]) -> Any:
    """Return columns and their types (string, int64, float64) in Arrow's words."""
    pa = arrow()
    types = {"string": pa.string(), "int64": pa.int64(), "float64": pa.float64()}
    return pa.schema([(name, types[kind]) for name, kind in columns.items()])


def table(values: Mapping[str, Sequence[Any]], columns: Mapping[str, str]) -> Any:
    """Return columns of Python values as an Arrow table."""
    arrays = [column_of(values[name], kind) for name, kind in columns.items()]
    return arrow().Table.from_arrays(arrays, schema=schema(columns))


def column_of(values: Sequence[Any], kind: str) -> Any:
    """Return an array of this type; None is null, and a value of another type is an error.

    >>> column_of([3, None], "int64").to_pylist(), column_of(["é", None, ""], "string").to_pylist()
    ([3, None], ['é', None, ''])
    """
    valid = np.packbits(np.array([value is not None for value in values], bool), bitorder="little")
    if kind == "string":
        texts = [(value or "").encode(errors="backslashreplace") for value in values]
        ends = array.array("i", accumulate(map(len, texts), initial=0))
        data = [ends, b"".join(texts)]
    else:
        data = [array.array(CODES[kind], (0 if value is None else value for value in values))]
    buffers = [arrow().py_buffer(held) for held in (valid, *data)]
    type_ = schema({"": kind}).field(0).type
    return arrow().Array.from_buffers(type_, len(values), buffers)


# --- Files ----------------------------------------------------------------------------------


def write(rows: Any, path: Path) -> None:
    """Write an Arrow table whole, or leave the old file."""
    replace(path, encode(rows))


def encode(rows: Any) -> bytes:
    """Return an Arrow table as the bytes of a Parquet file."""
    files = need("pyarrow.parquet", "research", WHAT)
    sink = arrow().BufferOutputStream()
    with files.ParquetWriter(sink, rows.schema) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata({MARK: b"1", CHECKSUM: ZEROS})
    content = bytearray(sink.getvalue())
    at = _places(content)[-1].start(1)
    content[at : at + 64] = hashlib.sha256(content).hexdigest().encode()
    return bytes(content)


def read(path: Path, columns: Mapping[str, str]) -> Any:
    """Read these columns as an Arrow table; errors name the file."""
    files = need("pyarrow.parquet", "research", WHAT)
    content = path.read_bytes()
    if not _whole(content):
        raise BadArgument(str(path), why="the file is damaged: its checksum does not fit")
    try:  # read_table would import pandas
        with files.ParquetFile(arrow().BufferReader(content)) as file:
            check_columns(str(path), "it", file.schema_arrow.names, columns)
            return file.read(list(columns)).select(list(columns)).cast(schema(columns))
    except (arrow().ArrowException, OSError) as error:
        words = (str(error).splitlines() or [""])[0]
        raise BadArgument(str(path), why=f"not a Parquet file: {words}") from None


def check_columns(
    argument: str, who: str, names: Iterable[str], columns: Mapping[str, str]
) -> None:
    """Refuse a table that lacks columns, or has one twice."""
    there = Counter(list(names))
    if lacking := [name for name in columns if name not in there]:
        words = f"expected the rows of a comparison, but {who} lacks {', '.join(lacking)}"
        raise BadArgument(argument, why=words)
    if twice := [name for name in columns if there[name] > 1]:
        words = f"expected each column once, but {who} has {', '.join(twice)} more than once"
        raise BadArgument(argument, why=words)


def _whole(content: bytes) -> bool:
    """Whether a file has the checksum that it says, or is not one of ours."""
    for place in _places(content)[-1:]:  # no other: a name in the rows may look like one
        zeroed = content[: place.start(1)] + ZEROS + content[place.end(1) :]
        return hashlib.sha256(zeroed).hexdigest().encode() == place[1]
    return MARK not in content and CHECKSUM not in content


def _places(content: bytes | bytearray) -> list[re.Match[bytes]]:
    """Return where a checksum may stand; the last is in the footer."""
    return list(_PLACE.finditer(content))
