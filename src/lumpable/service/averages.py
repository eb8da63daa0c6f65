"""What decisions brought, and what some brought more than others. Exact sums; no learner.

Sums are whole numbers, so that what was added can be taken away again without a trace.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

LEVEL = 0.9
"""Intervals hold the truth with this probability, about."""
FEWEST = 30
"""Outcomes on each side, before normal intervals of their means are drawn, ..."""
RARE = 5.0
"""... and the least sum of squares around the mean, by the range squared: some clicks, some not."""


class Sums:
    """Of whole numbers: how many, their total, and that of their squares."""

    __slots__ = ("number", "squares", "total")

    def __init__(self, number: int = 0, total: int = 0, squares: int = 0) -> None:
        self.number, self.total, self.squares = number, total, squares

    def add(self, value: int, times: int = 1) -> None:
        """Count a value so many times; -1: no more."""
        self.number += times
        self.total += times * value
        self.squares += times * value * value

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.number + other.number, self.total + other.total, self.squares + other.squares
        )

    def __eq__(self, other: object) -> bool:
        mine = self.number, self.total, self.squares
        return isinstance(other, Sums) and mine == (other.number, other.total, other.squares)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Sums({self.number}, {self.total}, {self.squares})"

    @property
    def spread(self) -> int:
        """The sum of squares around the mean, times the number of values."""
        return self.number * self.squares - self.total * self.total


@dataclass(frozen=True, slots=True)
class Average:
    """A mean reward with an interval, which is None while it would rest on too little."""

    outcomes: int
    mean: float | None
    low: float | None = None
    high: float | None = None


class Difference(NamedTuple):
    """How much one mean is above another, with an interval."""

    difference: float
    low: float
    high: float


def average(sums: Sums, unit: int, width: float | None = None, level: float = LEVEL) -> Average:
    """Return the mean of values in so many parts of a `unit`, with a normal interval.

    `width` is the range of a value, if there is one.

    >>> average(Sums(100, 50_000, 50_000_000), 1_000)
    Average(outcomes=100, mean=0.5, low=0.41734..., high=0.58265...)
    """
    if sums.number == 0:
        return Average(0, None)
    mean = sums.total / (sums.number * unit)
    if not enough(sums, unit, width):
        return Average(sums.number, mean)
    wide = NormalDist().inv_cdf((1.0 + level) / 2.0) * math.sqrt(_error(sums, unit))
    return Average(sums.number, mean, mean - wide, mean + wide)


def difference(
    one: Sums, other: Sums, unit: int, width: float | None = None, level: float = LEVEL
) -> Difference | None:
    """Return the mean of one less that of the other; None: there is not enough of both."""
    if not (enough(one, unit, width) and enough(other, unit, width)):
        return None
    more = one.total / (one.number * unit) - other.total / (other.number * unit)
    error = math.sqrt(_error(one, unit) + _error(other, unit))
    wide = NormalDist().inv_cdf((1.0 + level) / 2.0) * error
    return Difference(more, more - wide, more + wide)


def enough(sums: Sums, unit: int, width: float | None) -> bool:
    """Whether a normal interval of a mean can be trusted: many values, and not all but a few alike.

    >>> enough(Sums(100, 2, 2), 1, 1.0), enough(Sums(100, 10, 10), 1, 1.0)
    (False, True)
    """
    if sums.number < FEWEST or sums.spread == 0:
        return False
    return width is None or sums.spread / sums.number / unit**2 >= RARE * width**2


def _error(sums: Sums, unit: int) -> float:
    """Return the variance of a mean."""
    return sums.spread / (sums.number**2 * (sums.number - 1)) / unit**2
