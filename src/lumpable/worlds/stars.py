"""Stars from 1 to 5: a normal impression around a taste, rounded and cut off at the ends.

People give stars by their taste, so the law is drawn from it; the mean is a function of the taste,
and the other way round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntMatrix
from lumpable.worlds.laws import Law

LEVELS = np.arange(1.0, 6.0)
EDGES = (1.5, 2.5, 3.5, 4.5)
"""Between these impressions are the stars."""
FAR = 6.0
"""Tastes are at most this many standard deviations beyond the outer edges."""
STEPS = 1 << 16
"""Steps of the table from which tastes are read: means are met to within 1e-6."""


@final
@dataclass(frozen=True)
class Stars(Law):
    """Whole numbers from 1 to 5: a normal impression around a taste, rounded and cut off.

    >>> float(Stars().mean_of(np.array(3.0)))
    3.0
    """

    sd: float = 1.0
    """Standard deviation of an impression around the taste."""
    name = "stars"
    support = (1.0, 5.0)

    def __post_init__(self) -> None:
        checks.real("sd", self.sd, "a number in [0.25, 4]", math.nextafter(0.25, 0.0), 4.0)

    def mean_of(self, taste: FloatMatrix) -> FloatMatrix:
        """Return the mean stars of these tastes, exactly."""
        mean: FloatMatrix = 5.0 - self._below(taste).sum(axis=-1)
        return mean

    def tastes(self, mean: FloatMatrix) -> FloatMatrix:
        """Return the tastes that have these mean stars."""
        taste, means = _table(self)
        return np.interp(mean, means, taste)

    def draw(self, mean: FloatMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw a reward for each mean."""
        impression = self.tastes(mean) + self.sd * rng.standard_normal(mean.shape)
        return np.clip(np.rint(impression), 1.0, 5.0)

    def variance(self, mean: FloatMatrix) -> FloatMatrix:
        """Return the variance of rewards with these means."""
        return self._shares(mean) @ LEVELS**2 - mean**2

    def total(self, mean: FloatMatrix, number: IntMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw sums of rewards: multinomial counts of each number of stars."""
        stars: FloatMatrix = rng.multinomial(number, self._shares(mean)) @ LEVELS
        return stars

    def check(self, mean: FloatMatrix) -> None:
        """Refuse means of 1 or 5, too: no taste has them."""
        _, means = _table(self)
        if mean.min() < means[0] or mean.max() > means[-1]:
            raise self.refuse("(1, 5)", mean)

    def _shares(self, mean: FloatMatrix) -> FloatMatrix:
        """Return the probability of each number of stars, along a new last axis."""
        return np.diff(self._below(self.tastes(mean)), prepend=0.0, append=1.0)

    def _below(self, taste: FloatMatrix) -> FloatMatrix:
        """Return the probabilities of an impression below each edge, along a new last axis."""
        z = (np.array(EDGES) - np.asarray(taste)[..., np.newaxis]) / (self.sd * math.sqrt(2.0))
        return 0.5 * (1.0 + np.array(np.frompyfunc(math.erf, 1, 1)(z), dtype=np.float64))


@cache
def _table(law: Stars) -> tuple[FloatVector, FloatVector]:
    """Return tastes and their means, both increasing."""
    taste = np.linspace(EDGES[0] - FAR * law.sd, EDGES[-1] + FAR * law.sd, STEPS + 1)
    return taste, law.mean_of(taste)
