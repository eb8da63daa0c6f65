"""Laws of shares, counts, times and revenue, and of noise with heavy tails."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, IntMatrix
from lumpable.base.errors import BadArgument
from lumpable.base.words import short
from lumpable.worlds.laws import REAL, Law, least_zero

MOST_COUNTED = 9e18
"""The largest expected count that can be drawn."""


@final
@dataclass(frozen=True)
class Beta(Law):
    """Shares between 0 and 1; the larger the concentration, the nearer to the mean."""

    concentration: float = 5.0
    name = "beta"
    support = (0.0, 1.0)

    def __post_init__(self) -> None:
        checks.real("concentration", self.concentration, "a positive number", 0.0, 1e100)

    def draw(self, mean: FloatMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw a reward for each mean."""
        return rng.beta(self.concentration * mean, self.concentration * (1 - mean))

    def variance(self, mean: FloatMatrix) -> FloatMatrix:
        """Return the variance of rewards with these means."""
        return mean * (1 - mean) / (self.concentration + 1)

    def check(self, mean: FloatMatrix) -> None:
        """Refuse means of 0 or 1, too: there is no such law."""
        if self.concentration * mean.min() <= 0 or self.concentration * (1 - mean).min() <= 0:
            raise self.refuse("(0, 1)", mean)


@final
@dataclass(frozen=True)
class Poisson(Law):
    """Counts: how often something happened."""

    name = "poisson"
    support = (0.0, math.inf)

    def draw(self, mean: FloatMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw a reward for each mean."""
        return rng.poisson(mean).astype(np.float64)

    def variance(self, mean: FloatMatrix) -> FloatMatrix:
        """Return the variance of rewards with these means."""
        return mean

    def total(self, mean: FloatMatrix, number: IntMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw sums of rewards: Poisson with the sum of the means."""
        expected = mean * number
        if expected.max() > MOST_COUNTED:
            got = short(float(expected.max()))
            raise BadArgument("noise", f"counts of at most {short(MOST_COUNTED)} in a sum", got)
        return rng.poisson(expected).astype(np.float64)

    def check(self, mean: FloatMatrix) -> None:
        """Refuse negative means, and counts that are too large to be drawn."""
        if mean.min() < 0 or mean.max() > 1e15:
            raise self.refuse("[0, 1e15]", mean)


@final
@dataclass(frozen=True)
class Exponential(Law):
    """Times until something happens, or amounts with a long tail."""

    name = "exponential"
    support = (0.0, math.inf)

    def draw(self, mean: FloatMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw a reward for each mean."""
        return mean * rng.standard_exponential(mean.shape)

    def variance(self, mean: FloatMatrix) -> FloatMatrix:
        """Return the variance of rewards with these means."""
        return mean**2

    def total(self, mean: FloatMatrix, number: IntMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw sums of rewards: Gamma."""
        return mean * rng.standard_gamma(number.astype(np.float64))


@final
@dataclass(frozen=True)
class Revenue(Law):
    """A click with some probability, then a lognormal amount; without a click, 0.

    The mean of an amount is exp(mu + sigma^2 / 2); a mean reward is the share of it that the
    probability of a click gives, so it is at most that.
    """

    mu: float = 0.0
    sigma: float = 1.0
    name = "revenue"
    support = (0.0, math.inf)

    def __post_init__(self) -> None:
        checks.real("mu", self.mu, "a number in [-50, 50]", math.nextafter(-50.0, -51.0), 50.0)
        checks.real("sigma", self.sigma, "a number in (0, 5]", 0.0, 5.0)

    @property
    def amount(self) -> float:
        """The mean of what a click brings."""
        return math.exp(self.mu + self.sigma**2 / 2)

    def draw(self, mean: FloatMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw a reward for each mean."""
        click = rng.random(mean.shape) < mean / self.amount
        return click * rng.lognormal(self.mu, self.sigma, mean.shape)

    def variance(self, mean: FloatMatrix) -> FloatMatrix:
        """Return the variance of rewards with these means."""
        return mean * self.amount * math.exp(self.sigma**2) - mean**2

    def check(self, mean: FloatMatrix) -> None:
        """Refuse means above what a click brings."""
        if mean.min() < 0 or mean.max() > self.amount:
            raise self.refuse(f"[0, {self.amount:g}]", mean)


@final
@dataclass(frozen=True)
class StudentT(Law):
    """The mean and `scale` times Student's t with `df` degrees of freedom: heavy tails."""

    df: float = 3.0
    scale: float = 1.0
    name = "student"
    support = REAL

    def __post_init__(self) -> None:
        checks.real("df", self.df, "a number above 2, for a finite variance", 2.0, 1e100)
        least_zero("scale", self.scale)

    def draw(self, mean: FloatMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw a reward for each mean."""
        return mean + self.scale * rng.standard_t(self.df, mean.shape)

    def variance(self, mean: FloatMatrix) -> FloatMatrix:
        """Return the variance of rewards with these means."""
        return np.full(mean.shape, self.scale**2 * self.df / (self.df - 2))
