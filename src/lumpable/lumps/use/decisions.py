"""Decisions, and the random draws behind them.

Which arm a decision plays is a pure function of the seed, its number and the arm with the largest
index, so no generator is kept. Knows no learner.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lumpable.base.arrays import BoolVector, FloatVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.base.splitmix import GOLDEN, MASK, UNIT, mix, request_key
from lumpable.base.units import Name
from lumpable.lumps.use.ids import Id

DECISIONS, BATCHES = 0, 1
"""Streams of chance: decisions by their number, batches by the number of rewards before them."""


@dataclass(frozen=True, slots=True)
class Decision:
    """An arm that was chosen for a context, and how likely that was."""

    id: Id
    """The tag of its learner and its number, as in "k3f9x2-17"."""
    context: Name
    arm: Name
    propensity: float


@dataclass(frozen=True, slots=True)
class Choice:
    """An arm for a context, and how likely that was."""

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

    def rows(self) -> list[Choice]:
        """Return a row for each context."""
        columns = zip(self.context, self.arm, self.propensity.tolist(), strict=True)
        return [Choice(*row) for row in columns]


def uniform(seed: int, stream: int, number: int) -> float:
    """Return draw `number` of a stream of this seed: uniform in [0, 1), 53 bits."""
    return (mix((request_key(seed, stream) + (number + 1) * GOLDEN) & MASK) >> 11) * UNIT


def draw_arm(best: int, allowed: BoolVector, floor: float, u: float) -> tuple[int, float]:
    """Return the arm that u draws and its propensity: `floor` for each allowed arm but the best."""
    if floor == 0.0:
        return best, 1.0
    most = 1.0 - (int(np.count_nonzero(allowed)) - 1) * floor
    if u < most:
        return best, most
    others = np.flatnonzero(allowed)
    others = others[others != best]
    return int(others[min(int((u - most) / floor), len(others) - 1)]), floor


def draw_arms(
    best: IntVector, allowed: BoolVector, floor: float, u: FloatVector
) -> tuple[IntVector, FloatVector]:
    """Return what `draw_arm` does for each of these; all may have the same arms."""
    open_arms = np.flatnonzero(allowed)
    most = 1.0 - (len(open_arms) - 1) * floor
    stays = u < most
    turn = np.minimum(np.where(stays, 0.0, (u - most) / floor).astype(np.int64), len(open_arms) - 2)
    turn += turn >= np.searchsorted(open_arms, best)  # all but the best one
    return np.where(stays, best, open_arms[turn]), np.where(stays, most, floor)


def check_floor(floor: float, allowed: BoolVector, more: int = 0) -> None:
    """Refuse a floor that the allowed arms, and more that come, cannot all have."""
    if floor == 0.0:
        return
    arms = int(np.count_nonzero(allowed)) + more
    if floor * arms >= 1.0:
        raise BadArgument(
            "floor", f"less than 1 / {arms} where {arms} arms are allowed", f"{floor}"
        )


def luck(name: Name, turn: int) -> int:
    """Return a number for a name and how often it came before: the same in every process."""
    kind = "s" if isinstance(name, str) else "i"
    digest = hashlib.sha256(f"{kind}{turn}\n{name}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def chances(seed: int, tells: int, names: Sequence[Name]) -> list[float]:
    """Return the luck of each row of a batch: a context has its own, and anew each time."""
    turns, key = dict[Name, int](), request_key(seed, BATCHES + tells)
    numbers = []
    for name in names:
        turn = turns[name] = turns.get(name, -1) + 1
        numbers.append(luck(name, turn))
    return [(mix((key + (number + 1) * GOLDEN) & MASK) >> 11) * UNIT for number in numbers]
