"""What the plans for regret really lost: a small table that ships with the package.

Read here, made by `python benchmarks/budget_table.py`.
"""

from __future__ import annotations

import math
from importlib import resources

import msgspec

from lumpable.plans.problem import Problem

FILE = "regret-measured.json"
SIZES = ((30, 20, 3), (200, 200, 2), (1000, 100, 5))
HORIZONS = (10**10, 10**13, 10**16)
WORLDS = ("random means", "hidden, 40", "hidden, 640")
"""Uniform means on [0, 1], or hidden arms with a gap of 40 or 640 units (`worlds.hidden_arms`);
equal groups, uniform contexts, normal noise of sd 1."""


class Measured(msgspec.Struct, frozen=True):
    """What a plan lost at a size, up to a horizon, in worlds of a kind: one number a seed."""

    name: str
    contexts: int
    arms: int
    groups: int
    horizon: int
    world: str
    regret: tuple[float, ...]

    @property
    def size(self) -> tuple[int, int, int]:
        """S, K and r."""
        return self.contexts, self.arms, self.groups

    @property
    def mean(self) -> float:
        """The average over the seeds."""
        return sum(self.regret) / len(self.regret)


def read_table() -> tuple[Measured, ...]:
    """Read the table."""
    said = resources.files("lumpable.cli").joinpath(FILE).read_bytes()
    return msgspec.json.decode(said, type=tuple[Measured, ...])


def measured_at(problem: Problem, horizon: int) -> tuple[Measured, ...]:
    """Return what was measured at just this size and horizon: often nothing."""
    at = (*problem.letters, horizon)
    return tuple(row for row in read_table() if (*row.size, row.horizon) == at)


def measured_near(problem: Problem, horizon: int) -> tuple[Measured, ...]:
    """Return what was measured at the nearest size and horizon; each row says where that is.

    Nearest is where S, K, r and T differ by the smallest factors: sizes first, then the horizon.
    """

    def apart(those: tuple[int, ...], these: tuple[int, ...]) -> float:
        return sum(abs(math.log(a / b)) for a, b in zip(those, these, strict=True))

    size = min(SIZES, key=lambda each: apart(each, problem.letters))
    T = min(HORIZONS, key=lambda each: apart((each,), (horizon,)))
    return measured_at(Problem(*size), T)
