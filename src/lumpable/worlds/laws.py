"""Laws of rewards: how a reward with a given mean is drawn, and which means it can have.

A law is a small frozen value. The mean of a world stays the true mean reward under every law.
Knows no world.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, final

import numpy as np
import numpy.typing as npt

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, IntMatrix, IntVector
from lumpable.base.errors import BadArgument
from lumpable.base.words import short

MOST_DRAWN = 10**7
"""Rewards of one request that are drawn one by one, where there is no law of their sum."""
NOT_NEGATIVE = "a finite number of at least 0"
REAL = (-math.inf, math.inf)


@dataclass(frozen=True)
class Law(ABC):
    """How rewards are drawn.

    Law: `draw(mean, rng)` returns independent rewards, one for each mean, with these expectations;
    all luck is from `rng`.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called in a file of experiments."""

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The least and the largest reward that it can give."""

    @property
    def plain(self) -> bool:
        """Whether its name, and one sd for all rewards, say everything about it."""
        return False

    @abstractmethod
    def draw(self, mean: FloatMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw a reward for each mean."""

    @abstractmethod
    def variance(self, mean: FloatMatrix) -> FloatMatrix:
        """Return the variance of rewards with these means."""

    def total(self, mean: FloatMatrix, number: IntMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw the sum of so many rewards of each mean: here one by one, if they are not many."""
        self.refuse_many(number)
        cell = np.repeat(np.arange(number.size), number.ravel())
        drawn = self.draw(mean.ravel()[cell], rng)
        sums = np.bincount(cell, drawn, number.size).astype(np.float64)
        return sums.reshape(mean.shape)

    def refuse_many(self, number: IntMatrix) -> None:
        """Refuse more rewards than can be drawn one by one."""
        many = float(number.sum(dtype=np.float64))
        if many > MOST_DRAWN:
            why = (
                f"a sum of {self.name} rewards is drawn reward by reward, so a request may take at "
                f"most {short(MOST_DRAWN)} of them, got {short(many)}"
            )
            raise BadArgument("noise", why=why)

    def check(self, mean: FloatMatrix) -> None:
        """Refuse means that rewards of this law cannot have."""
        low, high = self.support
        if mean.min() < low or mean.max() > high:
            raise self.refuse(f"[{low:g}, {high:g}]", mean)

    def part(self, contexts: IntVector) -> Law:
        """Return the law of these contexts, row by row; they may come more than once."""
        return self

    def refuse(self, allowed: str, mean: FloatMatrix) -> BadArgument:
        """Return the error that says which means are allowed."""
        span = f"{mean.min():g} .. {mean.max():g}"
        why = f"{self.name.capitalize()} needs means in {allowed}, got {span}"
        return BadArgument("mean", why=why)

    def __str__(self) -> str:
        """Return its name and parameters in a few words."""
        shown = [self.name]
        for each in fields(self):
            value = getattr(self, each.name)
            many = isinstance(value, np.ndarray)
            shown.append(f"{each.name} {_per(value)}" if many else f"{each.name}={value:g}")
        return ", ".join(shown)


def least_zero(name: str, value: Any) -> float:
    """Return a finite number of at least 0."""
    zero = np.ndim(value) == 0 and value == 0
    return 0.0 if zero else checks.real(name, value, NOT_NEGATIVE, 0.0, math.inf)


def _per(array: FloatMatrix) -> str:
    """Say what each number of a parameter belongs to."""
    if array.ndim == 1:
        return "by arm"
    return "by context" if array.shape[1] == 1 else "by context and arm"


@final
@dataclass(frozen=True, eq=False)
class Gaussian(Law):
    """Normal noise; its sd may differ by arm or context, and may grow with the mean.

    Parameters
    ----------
    sd
        A number, one for each arm, one for each context as a (contexts, 1) array, or one for each
        pair as a (contexts, arms) array.
    slope
        What the size of the mean adds to the sd: `sd + slope * abs(mean)`.

    >>> print(Gaussian(sd=[0.1, 0.5], slope=1.0))
    gaussian, sd by arm, slope=1
    """

    sd: npt.ArrayLike = 1.0
    slope: float = 0.0
    name = "gaussian"
    support = REAL

    def __post_init__(self) -> None:
        least_zero("slope", self.slope)
        if np.ndim(self.sd) == 0:
            object.__setattr__(self, "sd", least_zero("sd", self.sd))
            return
        try:
            sd = np.array(self.sd, dtype=np.float64)
        except (TypeError, ValueError):
            raise BadArgument("sd", "numbers", repr(self.sd)) from None
        if sd.ndim > 2 or sd.size == 0 or not np.isfinite(sd).all() or sd.min() < 0:
            raise BadArgument("sd", "finite numbers of at least 0, by arm or by context", f"{sd}")
        object.__setattr__(self, "sd", checks.read_only(sd))

    @property
    def plain(self) -> bool:
        """Whether one number is the sd of all rewards."""
        return np.ndim(self.sd) == 0 and self.slope == 0

    def draw(self, mean: FloatMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw a reward for each mean."""
        return mean + self._sd(mean) * rng.standard_normal(mean.shape)

    def variance(self, mean: FloatMatrix) -> FloatMatrix:
        """Return the variance of rewards with these means."""
        return np.broadcast_to(self._sd(mean) ** 2, mean.shape)

    def total(self, mean: FloatMatrix, number: IntMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw sums of rewards: normal with the sum of the variances."""
        spread = self._sd(mean) * np.sqrt(number)
        return mean * number + spread * rng.standard_normal(mean.shape)

    def check(self, mean: FloatMatrix) -> None:
        """Refuse a world of another shape than that of the sd."""
        S, K = mean.shape
        allowed = [(), (K,), (S, 1), (S, K)]
        if np.shape(self.sd) not in allowed:
            expected = f"a number or an array of shape {', '.join(map(str, allowed[1:]))}"
            raise BadArgument("sd", expected, f"shape {np.shape(self.sd)}")

    def part(self, contexts: IntVector) -> Gaussian:
        """Return the law of these contexts, row by row."""
        sd = np.asarray(self.sd)
        return Gaussian(sd[contexts], self.slope) if sd.ndim == 2 else self

    def _sd(self, mean: FloatMatrix) -> FloatMatrix:
        sd: FloatMatrix = np.asarray(self.sd) + self.slope * np.abs(mean)
        return sd


@final
@dataclass(frozen=True)
class Bernoulli(Law):
    """A success or none: 1 with the probability that the mean says, else 0."""

    name = "bernoulli"
    plain = True
    support = (0.0, 1.0)

    def draw(self, mean: FloatMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw a reward for each mean."""
        return (rng.random(mean.shape) < mean).astype(np.float64)

    def variance(self, mean: FloatMatrix) -> FloatMatrix:
        """Return the variance of rewards with these means."""
        return mean * (1 - mean)

    def total(self, mean: FloatMatrix, number: IntMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw sums of rewards: binomial."""
        return rng.binomial(number, mean).astype(np.float64)
