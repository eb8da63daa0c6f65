"""Decisions as they go out, wait and are kept; rewards as they come, one by one and as tables.

Which arm a decision plays is a pure function of the seed, its id and the arm with the largest
index, so no generator is kept. Knows no learner.
"""

from __future__ import annotations

import hashlib
import operator
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import msgspec
import numpy as np

from lumpable.checks import BoolVector, FloatMatrix, FloatVector, IntVector
from lumpable.collector import GOLDEN, MASK, UNIT, mix, request_key
from lumpable.learners.base import LARGEST
from lumpable.lumps.growth import Name

MOST_COUNT = 10**12
"""Rewards that a row may stand for, so that sums of many rows are exact as floats."""
NUMBERS = (int, float, np.bool_, np.integer, np.floating)
SIZE = f"a number of at most {LARGEST:g} in size"


@dataclass(frozen=True, slots=True)
class Decision:
    """An arm that was chosen for a context, and how likely that was."""

    id: int
    context: Name
    arm: Name
    propensity: float


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Arms for many contexts: three columns of one length."""

    context: list[Name]
    arm: list[Name]
    propensity: FloatVector

    def __len__(self) -> int:
        return len(self.context)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each context, as pandas and polars take them."""
        columns = zip(self.context, self.arm, self.propensity.tolist(), strict=True)
        return [
            {"context": context, "arm": arm, "propensity": propensity}
            for context, arm, propensity in columns
        ]


# --- Chance -----------------------------------------------------------------------------------


def uniform(seed: int, stream: int, number: int) -> float:
    """Return draw `number` of a stream of this seed: uniform in [0, 1), 53 bits."""
    return (mix((request_key(seed, stream) + (number + 1) * GOLDEN) & MASK) >> 11) * UNIT


def play(best: int, allowed: BoolVector, floor: float, u: float) -> tuple[int, float]:
    """Return the arm that u draws and its propensity: `floor` for each allowed arm but the best."""
    most = 1.0 - (int(np.count_nonzero(allowed)) - 1) * floor
    if u < most:
        return best, most
    others = np.flatnonzero(allowed)
    others = others[others != best]
    return int(others[min(int((u - most) / floor), len(others) - 1)]), floor


def check_floor(floor: float, allowed: int) -> None:
    """Refuse a floor that so many allowed arms cannot all have."""
    if floor * allowed >= 1.0:
        raise ValueError(
            f"floor: expected less than 1 / {allowed} where {allowed} arms are allowed, got {floor}"
        )


def luck(name: Name, turn: int) -> int:
    """Return a number for a name and how often it came before: the same in every process."""
    kind = "s" if isinstance(name, str) else "i"
    digest = hashlib.sha256(f"{kind}{turn}\n{name}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


# --- Memory -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Awaited:
    """A decision whose reward has not come."""

    decision: Decision
    arm: int
    group: int
    """Where it counts as a pull without reward."""


class Outstanding:
    """The decisions whose rewards have not come, the oldest first, at most so many."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.made = 0
        """Decisions so far; the id of the next one."""
        self.forgotten = -1
        """The last id that was dropped because there were too many."""
        self.waiting: OrderedDict[int, Awaited] = OrderedDict()

    def add(self, awaited: Awaited) -> Awaited | None:
        """Remember a decision; return the one that is forgotten for it, if any."""
        self.waiting[awaited.decision.id] = awaited
        self.made += 1
        if len(self.waiting) <= self.most:
            return None
        self.forgotten, oldest = self.waiting.popitem(last=False)
        return oldest

    def count(self, pending: FloatMatrix) -> None:
        """Fill the table of pulls without reward, groups by arms."""
        pending[:] = 0.0
        for awaited in self.waiting.values():
            pending[awaited.group, awaited.arm] += 1.0

    def find(self, decision: Decision | int) -> Awaited:
        """Return the decision, also by its id alone; words for one that takes no reward."""
        id = decision.id if isinstance(decision, Decision) else plain_id(decision)
        if id in self.waiting:
            awaited = self.waiting[id]
            if isinstance(decision, Decision) and decision != awaited.decision:
                raise ValueError(f"id: expected {awaited.decision}, got {decision}")
            return awaited
        if not 0 <= id < self.made:
            raise ValueError(f"id: expected the id of a decision, got {id!r}, which is none")
        why = "which has had its reward"
        if id <= self.forgotten:
            why += f" or was forgotten as more than {self.most} were outstanding (use `tell`)"
        raise ValueError(f"id: expected a decision whose reward is outstanding, got {id}, {why}")


class Kept(msgspec.Struct, forbid_unknown_fields=True):
    """What a file keeps of a learner with names, beside its core."""

    contexts: list[Name]
    arms: list[Name]
    open: list[bool]
    listed: bool
    """Whether arms were listed, so that others are not chosen."""
    floor: float
    most: int
    made: int
    forgotten: int
    waiting: list[tuple[int, Name, int, float, int]]
    """Id, context, arm, propensity and group of each outstanding decision."""

    @classmethod
    def of(
        cls, contexts: list[Name], arms: list[Name], open: list[bool], listed: bool, floor: float,
        outstanding: Outstanding,
    ) -> Self:  # fmt: skip
        """Gather all that is to be kept."""
        waiting = [
            (id, awaited.decision.context, awaited.arm, awaited.decision.propensity, awaited.group)
            for id, awaited in outstanding.waiting.items()
        ]
        counters = outstanding.most, outstanding.made, outstanding.forgotten
        return cls(contexts, arms, open, listed, floor, *counters, waiting)

    def wrong(self, contexts: int, arms: int, groups: int) -> str:
        """Say what no learner with a core of this size could have kept; nothing if all is well."""
        S, K = len(self.contexts), len(self.arms)
        if contexts <= S or max(1, K) != arms or len(self.open) != arms:
            return f"expected names for {contexts} contexts and {arms} arms, got {S} and {K}"
        if len(set(self.contexts)) < S or len(set(self.arms)) < K or (K == 0 and any(self.open)):
            return "expected every name once"
        if not 0.0 <= self.floor < 1.0 or not len(self.waiting) <= self.most >= 1:
            return f"expected a floor below 1, got {self.floor}, and at most {self.most} decisions"
        last = -1
        for id, _, arm, propensity, group in self.waiting:
            if not last < id < self.made or not (0 <= arm < K and 0 <= group < groups):
                return f"expected decisions in order, of known arms and groups, got {id}"
            if not 0.0 < propensity <= 1.0:
                return f"expected propensities in (0, 1], got {propensity}"
            last = id
        return "" if -1 <= self.forgotten < self.made else "expected only known decisions"

    def outstanding(self) -> Outstanding:
        """Return the decisions that wait for their rewards."""
        kept = Outstanding(self.most)
        kept.made, kept.forgotten = self.made, self.forgotten
        for id, context, arm, propensity, group in self.waiting:
            kept.waiting[id] = Awaited(
                Decision(id, context, self.arms[arm], propensity), arm, group
            )
        return kept


def plain_id(id: object) -> int:
    """Return the id of a decision as a plain number; numpy's are fine, anything else is not."""
    if isinstance(id, bool) or not hasattr(id, "__index__"):
        raise ValueError(f"id: expected the id of a decision, got {id!r}, which is none")
    return operator.index(id)


# --- Rewards ----------------------------------------------------------------------------------


def reward_of(value: object) -> float:
    """Return a reward as a float; True is 1."""
    if type(value) is float and abs(value) <= LARGEST:
        return value
    number = _numbers("reward", [value])[0]
    if not abs(number) <= LARGEST:
        raise ValueError(f"reward: expected {SIZE}, got {value!r}")
    return float(number)


@dataclass(frozen=True, slots=True, eq=False)
class Rewards:
    """A table of rewards: `count` of the same value in each row."""

    context: Sequence[object]
    arm: Sequence[object]
    reward: FloatVector
    count: IntVector


def rewards_of(table: Any) -> Rewards:
    """Take the columns context, arm, reward and, if there is one, count of a table."""
    found = _columns(table, ("context", "arm", "reward"), ("count",))
    reward = _rewards(found["reward"])
    count = _numbers("count", found.get("count", [1] * len(reward)))
    whole = (count >= 1) & (count < MOST_COUNT) & (count == np.floor(count))
    _check_rows("count", "a whole number of at least 1", count, whole)
    return Rewards(found["context"], found["arm"], reward, count.astype(np.int64))


def rewards_by_id(table: Any) -> tuple[list[int], FloatVector]:
    """Take the columns id and reward of a table; an id stands in it once."""
    found = _columns(table, ("id", "reward"))
    ids = [plain_id(id) for id in found["id"]]
    if len(set(ids)) < len(ids):
        twice = next(id for id in ids if ids.count(id) > 1)
        raise ValueError(f"id: expected each decision once, got {twice} several times")
    return ids, _rewards(found["reward"])


def _rewards(column: list[Any]) -> FloatVector:
    reward = _numbers("reward", column)
    _check_rows("reward", SIZE, reward, np.abs(reward) <= LARGEST)
    return reward


def _columns(
    table: Any, needed: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, list[Any]]:
    """Return columns of a frame, of a mapping of columns or of a list of rows, as lists."""
    columns: Mapping[str, Any]
    if isinstance(table, Mapping):
        columns = table
    elif isinstance(table, list | tuple) and all(isinstance(row, Mapping) for row in table):
        columns = {name: [row.get(name) for row in table] for row in table for name in row}
        columns = columns or {name: [] for name in needed}
    else:
        columns = _frame(table)
    for name in needed:
        if name not in columns:
            raise ValueError(f"table: expected a column {name!r}, got {list(columns)}")
    wanted = [*needed, *(name for name in optional if name in columns)]
    found = {name: _listed(columns[name]) for name in wanted}
    lengths = {name: len(column) for name, column in found.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"table: expected columns of one length, got {lengths}")
    return found


def _frame(table: Any) -> dict[str, Any]:
    import narwhals as nw  # not needed before somebody has a frame

    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError as cause:
        kind = type(table).__name__
        raise ValueError(f"table: expected a frame or a mapping of columns, got {kind}") from cause
    return {name: frame[name] for name in frame.columns}


def _listed(column: Any) -> list[Any]:
    for way in ("to_list", "tolist"):
        if hasattr(column, way):
            return list(getattr(column, way)())
    return list(column)


def _numbers(name: str, column: list[Any]) -> FloatVector:
    """Return a column as floats; strings, None and whatever else is no number are errors."""
    odd = {kind for kind in set(map(type, column)) if not issubclass(kind, NUMBERS)}
    if odd:
        value = next(value for value in column if type(value) in odd)
        raise ValueError(f"{name}: expected a number, got {value!r}")
    try:
        return np.array(column, dtype=np.float64)
    except OverflowError:
        raise ValueError(f"{name}: expected a number, got one that no float can hold") from None


def _check_rows(name: str, expected: str, column: FloatVector, fine: BoolVector) -> None:
    if not fine.all():
        row = int(np.argmin(fine))
        raise ValueError(f"{name}: expected {expected}, got {column[row]:g} in row {row}")
