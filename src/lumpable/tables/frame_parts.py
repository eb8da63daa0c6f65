"""Frames as parts that DuckDB reads: those of pandas, polars (lazy ones, too) and pyarrow.

A column of Python objects becomes text that says what each was: 17, "17" and 17.0 are three names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lumpable.base.errors import BadArgument
from lumpable.base.extras import need
from lumpable.tables.source_parts import TAGGED, Part, there, types_of

HALVES = ("float16", "Float16", "halffloat")
"""What packages call floats of two bytes, which DuckDB does not have."""
PERIODS = ("period[", "extension<pandas.period")


def frame_part(con: Any, source: Any, columns: list[str]) -> Part:
    """Return a frame as a part; it must have these columns."""
    import duckdb

    try:
        return _register(con, source, columns)
    except (UnicodeEncodeError, duckdb.InvalidInputException) as cause:
        if "surrogates not allowed" not in str(cause):
            raise
        why = "a string of the frame has half of a character (a lone surrogate)"
        raise BadArgument("source", why=why) from cause


def _register(con: Any, source: Any, columns: list[str]) -> Part:
    """Let DuckDB know the columns of a frame that are needed, as `frame`."""
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    source = nw.to_native(source, pass_through=True)  # a lazy frame may come in narwhals' own
    lazy = nw.dependencies.is_polars_lazyframe(source)
    try:
        frame = nw.from_native(source.head(0).collect() if lazy else source, eager_only=True)
        names = list(dict.fromkeys(there(columns, frame.columns, "the frame")))
    except TypeError as cause:
        got = type(source).__name__
        expected = "a CSV or Parquet file, a folder of them, or a data frame"
        raise BadArgument("source", expected, got) from cause
    except DuplicateError as cause:
        why = "the frame has several columns of one name"
        raise BadArgument("source", why=why) from cause
    if lazy or frame.implementation.is_pandas_like():
        need("pyarrow", "research", "reading frames of pandas, or lazy ones of polars,")
    kinds = {name: _kind(frame[name]) for name in names}
    wider = [nw.col(name).cast(nw.Float32) for name in names if kinds[name] in HALVES]
    if lazy:
        whole = nw.from_native(source).select(names).with_columns(wider)  # no more is made
        types = _register_typed(con, whole.to_native(), kinds)
        return Part("", "frame", "row_number() OVER () - 1", types)
    frame = frame.select(names).with_columns(wider)
    tagged = [name for name in names if frame.schema[name] == nw.Object]
    for name in tagged:
        texts = [_tag(value) for value in frame[name].to_list()]
        column = nw.new_series(name, texts, nw.String, backend=frame.implementation)
        frame = frame.with_columns(column)
    untyped = [name for name in names if frame.schema[name] == nw.Unknown]
    if untyped and frame.select(nw.col(*untyped).is_null().all()).row(0) == (True,) * len(untyped):
        frame = frame.with_columns(nw.col(*untyped).cast(nw.String))  # DuckDB needs some type
    types = _register_typed(con, frame, kinds) | dict.fromkeys(tagged, TAGGED)
    return Part("", "frame", "row_number() OVER () - 1", types, rows=len(frame))


def _kind(column: Any) -> str:
    """Return the type of a column as its own package calls it."""
    native = column.to_native()
    return str(native.dtype if hasattr(native, "dtype") else native.type)


def _register_typed(con: Any, frame: Any, kinds: dict[str, str]) -> dict[str, str]:
    """Let DuckDB know a frame, and return its types; or say which column it cannot read."""
    import duckdb

    periods = [name for name, kind in kinds.items() if kind.startswith(PERIODS)]
    if periods:  # read as numbers of months since 1970, and no name says so
        raise _unreadable(periods[0], kinds)
    try:
        con.register("frame", frame)
        return types_of(con, "frame")
    except duckdb.Error as cause:
        if "surrogates not allowed" in str(cause):
            raise
        for name in kinds:
            try:
                con.register("frame", frame.select([name]))
                types_of(con, "frame")
            except duckdb.Error:
                raise _unreadable(name, kinds) from cause
        raise


def _unreadable(name: str, kinds: dict[str, str]) -> BadArgument:
    expected = f"text, numbers or times in column {name!r} (cast it)"
    return BadArgument("source", expected, f"type {kinds[name]}")


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
