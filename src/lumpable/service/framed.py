"""Frames of pandas, polars, pyarrow and others that narwhals knows: columns in, columns out.

Rows are counted from 0 and keep their order. Knows no experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.base.words import nearest

if TYPE_CHECKING:
    import narwhals as nw

T = TypeVar("T")
SHOWN = 5
"""Rows that an error names."""
IN_JSON = {"reward": "value"}
"""What the service over HTTP calls a column: a frame of what was sent there has it."""


def is_frame(thing: object) -> bool:
    """Whether something has columns."""
    return hasattr(type(thing), "columns")  # that of a lazy frame is slow


class Columns:
    """Some columns of a frame, under the names that a call has for them."""

    def __init__(
        self, frame: Any, needed: Sequence[str], optional: Sequence[str],
        called: Mapping[str, str] | None,
    ) -> None:  # fmt: skip
        """Find the columns; `called` says what the frame calls those with another name there."""
        self._frame = _read(frame)
        known, called = (*needed, *optional), _check_names(called, (*needed, *optional))
        there = self._frame.columns
        for name in (*needed, *called):
            own = called.get(name, name)
            if own not in there:
                listed = f"{there}{_hint(name, own, [str(each) for each in there])}"
                raise BadArgument("frame", f"a column {own!r}", listed)
        self._own = {name: own for name in known if (own := called.get(name, name)) in there}

    def __len__(self) -> int:
        return len(self._frame)

    def __contains__(self, name: str) -> bool:
        return name in self._own

    def series(self, name: str) -> nw.Series[Any]:
        """Return a column as it is."""
        return self._frame[self._own[name]]

    def values(self, name: str, *, gaps: bool = False) -> list[Any]:
        """Return a column's values; missing ones are None with `gaps`, else refused by row."""
        series = self.series(name)
        missing = series.is_null().to_list()
        if series.dtype.is_float():  # where null and NaN are two things, both are missing
            missing = [a or b for a, b in zip(missing, series.is_nan().to_list(), strict=True)]
        rows = [row for row, gone in enumerate(missing) if gone]
        if rows and not gaps:
            listed = ", ".join(map(str, rows[:SHOWN])) + (", ..." if len(rows) > SHOWN else "")
            where = f"none in row{'s' * (len(rows) > 1)} {listed}"
            raise BadArgument(self._own[name], "a value in every row", where)
        if series.dtype.is_temporal():
            return self._seconds(name)
        values = series.to_list()
        return [None if gone else value for gone, value in zip(missing, values, strict=True)]

    def _seconds(self, name: str) -> list[float]:
        """Return times as seconds since 1970; those without a zone are UTC."""
        import narwhals as nw

        series = self.series(name)
        if name != "at" or series.dtype != nw.Datetime:
            expected = "times or seconds" if name == "at" else "no times"
            raise BadArgument(self._own[name], expected, f"a column of {series.dtype}")
        return [micros / 1e6 for micros in series.dt.timestamp("us").to_list()]

    def checked(
        self, name: str, check: Callable[[Any], T], otherwise: T, *, gaps: bool = False
    ) -> list[T]:
        """Check a column row by row, an error names both; without it, all are `otherwise`."""
        if name not in self:
            return [otherwise] * len(self)
        found = []
        for row, value in enumerate(self.values(name, gaps=gaps)):
            try:
                found.append(check(value))
            except BadArgument as error:
                got = f"{error.got} in row {row}"
                raise BadArgument(self._own[name], error.expected, got, why=error.why) from None
        return found

    def answer(self, **columns: tuple[str, Sequence[Any]]) -> Any:
        """Return a frame of the same kind and as long: for each column its type and values.

        A column that came in goes out as it is, so that frames can be joined by it; floats that
        were read as integers go out as what they were read as.
        """
        import narwhals as nw

        first = next(iter(self._own.values()))
        types = {"text": nw.String(), "whole": nw.Int64(), "real": nw.Float64()}
        made = [
            self.series(name).alias(name)
            if name in self and not self.series(name).dtype.is_float()
            else nw.new_series(name, values, types[kind], backend=self._frame.implementation)
            for name, (kind, values) in columns.items()
        ]
        return self._frame.select(first).with_columns(*made).select(*columns).to_native()


def kind_of(what: str, names: Iterable[Name]) -> str:
    """Return the type of a column of names; those of two types stand in none."""
    kinds = {isinstance(name, str) for name in names}
    if len(kinds) > 1:
        raise BadArgument(what, "all strings or all integers", "both")
    return "whole" if kinds == {False} else "text"


def _hint(name: str, own: str, there: Sequence[str]) -> str:
    """Return what to do about a column that is missing, as far as that can be guessed."""
    if (other := IN_JSON.get(name)) in there:
        return f"; rename {other!r}, or say columns={{{name!r}: {other!r}}}"
    return nearest(own, there)


def _read(frame: Any) -> nw.DataFrame[Any]:
    import narwhals as nw  # needed for frames only
    from narwhals.exceptions import NarwhalsError

    try:
        return nw.from_native(frame, eager_only=True)
    except (TypeError, NarwhalsError) as cause:
        kind = f"{type(frame).__name__}: {str(cause).splitlines()[0]}"
        raise BadArgument("frame", "a frame of pandas, polars or pyarrow", kind) from cause


def _check_names(called: object, known: tuple[str, ...]) -> dict[str, str]:
    """Return what a frame calls its columns, by our names."""
    if called is None:
        return {}
    if not isinstance(called, Mapping):
        raise BadArgument(
            "columns", "a mapping from our column names to the frame's", repr(called)[:80]
        )
    for name in called:
        if name not in known:
            expected = f"some of {', '.join(map(repr, known))}"
            raise BadArgument("columns", expected, f"{name!r}{nearest(str(name), known)}")
    return dict(called)
