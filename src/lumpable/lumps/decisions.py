"""Decisions as they go out, wait and are kept.

Which arm a decision plays is a pure function of the seed, its id and the arm with the largest
index, so no generator is kept. Knows no learner.
"""

from __future__ import annotations

import hashlib
import operator
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Self

import msgspec
import numpy as np

from lumpable.base.checks import BoolVector, FloatMatrix, FloatVector
from lumpable.base.errors import BadArgument
from lumpable.base.splitmix import GOLDEN, MASK, UNIT, mix, request_key
from lumpable.lumps.growth import Name


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
        raise BadArgument(
            "floor", f"less than 1 / {allowed} where {allowed} arms are allowed", f"{floor}"
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
                raise BadArgument("id", f"{awaited.decision}", f"{decision}")
            return awaited
        if not 0 <= id < self.made:
            raise BadArgument("id", "the id of a decision", f"{id!r}, which is none")
        why = "which has had its reward or was cancelled"
        if id <= self.forgotten:
            why += f", or was forgotten as more than {self.most} were outstanding (use `tell`)"
        raise BadArgument("id", "a decision whose reward is outstanding", f"{id}, {why}")


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
    rewards: str | tuple[float, float] = "any"
    """Which rewards are taken."""

    @classmethod
    def of(
        cls, contexts: list[Name], arms: list[Name], open: list[bool], listed: bool, floor: float,
        outstanding: Outstanding, rewards: str | tuple[float, float],
    ) -> Self:  # fmt: skip
        """Gather all that is to be kept."""
        waiting = [
            (id, awaited.decision.context, awaited.arm, awaited.decision.propensity, awaited.group)
            for id, awaited in outstanding.waiting.items()
        ]
        counters = outstanding.most, outstanding.made, outstanding.forgotten
        return cls(contexts, arms, open, listed, floor, *counters, waiting, rewards)

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
        raise BadArgument("id", "the id of a decision", f"{id!r}, which is none")
    return operator.index(id)
