"""Rewards as people report them, one by one and as tables, checked before anything changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

import numpy as np

from lumpable.base.arrays import BoolVector, FloatVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.learners.learner import LARGEST

MOST_COUNT = 10**12
"""A row stands for fewer rewards than this, so that sums of many rows are exact as floats."""
NUMBERS = (int, float, np.bool_, np.integer, np.floating)
SIZE = f"a number of at most {LARGEST:g} in size"


@dataclass(frozen=True, slots=True)
class Accepted:
    """Which rewards are accepted."""

    low: float = -LARGEST
    high: float = LARGEST
    binary: bool = False
    """Whether only 0 and 1 are."""

    @classmethod
    def of(cls, given: object) -> Accepted:
        """Return what "any", "binary" or a range (low, high) stands for."""
        if given == "any":
            return cls()
        if given == "binary":
            return cls(0.0, 1.0, True)
        if isinstance(given, tuple | list) and len(given) == 2:
            low, high = _numbers("rewards", list(given)).tolist()
            if -LARGEST <= low < high <= LARGEST:
                return cls(low, high)
        raise BadArgument("rewards", "'any', 'binary' or a range (low, high)", repr(given))

    @property
    def given(self) -> str | tuple[float, float]:
        """What `of` takes for this."""
        return "binary" if self.binary else "any" if self == Accepted() else (self.low, self.high)

    @property
    def words(self) -> str:
        """What is expected of a reward."""
        if self.binary:
            return "0 or 1, as rewards are binary"
        return SIZE if self.given == "any" else f"a number from {self.low:g} to {self.high:g}"

    def fine(self, reward: FloatVector) -> BoolVector:
        """Return which of these are accepted."""
        inside: BoolVector = (reward >= self.low) & (reward <= self.high)
        return inside & ((reward == 0.0) | (reward == 1.0)) if self.binary else inside

    def check(self, reward: FloatVector) -> None:
        """Refuse rewards one of which is not accepted, and say which."""
        _check_rows("reward", self.words, reward, self.fine(reward))

    def one(self, value: object) -> float:
        """Return a reward as a float; True is 1."""
        inside = type(value) is float and self.low <= value <= self.high
        if inside and (not self.binary or value in (0.0, 1.0)):
            return value  # type: ignore[return-value]
        number = _numbers("reward", [value])
        if not self.fine(number)[0]:
            raise BadArgument("reward", self.words, repr(value))
        return float(number[0])


@dataclass(frozen=True, slots=True, eq=False)
class Rewards:
    """A table of rewards: `count` of the same value in each row."""

    context: Sequence[object]
    arm: Sequence[object]
    reward: FloatVector
    count: IntVector


def rewards_of(table: Any, accepted: Accepted) -> Rewards:
    """Take the columns context, arm, reward and, if there is one, count of a table."""
    columns = _columns(table, ("context", "arm", "reward"), ("count",))
    reward = _rewards(columns["reward"], accepted)
    count = _numbers("count", columns.get("count", [1] * len(reward)))
    whole = (count >= 1) & (count < MOST_COUNT) & (count == np.floor(count))
    _check_rows("count", "a whole number of at least 1", count, whole)
    return Rewards(columns["context"], columns["arm"], reward, count.astype(np.int64))


def rewards_by_id(table: Any, accepted: Accepted) -> tuple[list[object], FloatVector]:
    """Take the columns id and reward of a table."""
    columns = _columns(table, ("id", "reward"))
    return columns["id"], _rewards(columns["reward"], accepted)


def _rewards(column: list[Any], accepted: Accepted) -> FloatVector:
    reward = _numbers("reward", column)
    accepted.check(reward)
    return reward


def _columns(
    table: Any, needed: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, list[Any]]:
    """Return columns of a frame, of a mapping of columns or of a list of rows, as lists."""
    columns: Mapping[str, Any]
    if isinstance(table, Mapping):
        columns = table
    elif isinstance(table, list | tuple) and all(map(_is_row, table)):
        rows = [row if isinstance(row, Mapping) else asdict(row) for row in table]
        names = dict.fromkeys(name for row in rows for name in row) if rows else needed
        columns = {name: [row.get(name) for row in rows] for name in names}
    else:
        columns = _frame(table)
    for name in needed:
        if name not in columns:
            raise BadArgument("table", f"a column {name!r}", f"{list(columns)}")
    wanted = [*needed, *(name for name in optional if name in columns)]
    lists = {name: _as_list(name, columns[name]) for name in wanted}
    lengths = {name: len(column) for name, column in lists.items()}
    if len(set(lengths.values())) > 1:
        raise BadArgument("table", "columns of one length", f"{lengths}")
    return lists


def _is_row(row: object) -> bool:
    return isinstance(row, Mapping) or (is_dataclass(row) and not isinstance(row, type))


def _frame(table: Any) -> dict[str, Any]:
    import narwhals as nw  # needed for frames only

    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError as cause:
        kind = type(table).__name__
        raise BadArgument("table", "a frame or a mapping of columns", f"{kind}") from cause
    return {name: frame[name] for name in frame.columns}


def _as_list(name: str, column: Any) -> list[Any]:
    """Return a column as a list; times, whose lists may be of bare integers, are an error."""
    kind = getattr(column, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind in "mM":
        raise BadArgument(name, "numbers or names", f"a column of {kind}")
    for way in ("to_list", "tolist"):
        if hasattr(column, way):
            return list(getattr(column, way)())
    return list(column)


def _numbers(name: str, column: list[Any]) -> FloatVector:
    """Return a column as floats; anything but numbers is an error."""
    odd = {kind for kind in set(map(type, column)) if not issubclass(kind, NUMBERS)}
    odd |= {np.timedelta64} & set(map(type, column))  # which numpy calls an integer
    if odd:
        value = next(value for value in column if type(value) in odd)
        raise BadArgument(name, "a number", repr(value))
    try:
        with np.errstate(over="ignore"):  # what becomes infinite is refused for that
            return np.array(column, dtype=np.float64)
    except OverflowError:
        raise BadArgument(name, "a number", "one that no float can hold") from None


def _check_rows(name: str, expected: str, column: FloatVector, fine: BoolVector) -> None:
    if not fine.all():
        row = int(np.argmin(fine))
        raise BadArgument(name, expected, f"{column[row]:g} in row {row}")
