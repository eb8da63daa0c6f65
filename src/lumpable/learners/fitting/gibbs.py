"""A mixture of bandits: Gibbs sampling of who is in which group, given counts and totals.

Contexts fall into groups, z_i ~ pi, pi ~ Dirichlet(weight, .., weight). Rewards of context i and
arm j are f(y) ~ exp(y eta - A) around B_{z_i j}: Bernoulli, eta = ln(B / (1 - B)), A = -ln(1 - B),
B ~ Beta(1, 1); or normal with a known sd, eta = B / sd^2, A = B^2 / (2 sd^2), B ~ N(m, tau^2).
Knows no learner.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector

VAGUE = 0.1
"""tau^2 has an inverse gamma prior with shape 1 and this rate, in units of sd^2."""
SAME = 1e-6
"""Groups whose ln P differ by less are the same up to names and rounding."""
EDGE = 1e-12
"""Draws of a probability stay this far from 0 and 1."""
LEAST = 1e-300
"""Draws of a group's share are at least this before they are divided by their sum."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """What was seen, and the law that it is believed to come from."""

    plays: FloatMatrix
    """Number of rewards of each context and arm."""
    total: FloatMatrix
    """Their sum."""
    groups: int
    gaussian: bool
    sd: float
    weight: float = 1.0

    def counts(self, z: IntVector) -> tuple[FloatMatrix, FloatMatrix]:
        """Return plays and total rewards of the groups."""
        member = (z == np.arange(self.groups)[:, None]).astype(np.float64)
        return member @ self.plays, member @ self.total

    def search(
        self, starts: list[IntVector], prior: FloatVector, sweeps: int, rng: np.random.Generator
    ) -> tuple[IntVector, FloatVector]:
        """Run a chain from each start; return the groups that are most likely, and their prior.

        Of groups that are the same up to names and rounding, the first.
        """
        z, best = self.chain(starts[0], prior, sweeps, rng)
        others = [self.chain(start, prior, sweeps, rng) for start in starts[1:]]
        for other, its_prior in others:
            if self.value(other, prior) > self.value(z, prior) + SAME:
                z, best = other, its_prior
        return z, best

    def chain(
        self, z: IntVector, prior: FloatVector, sweeps: int, rng: np.random.Generator
    ) -> tuple[IntVector, FloatVector]:
        """Sweep over pi and B given z, the prior given B, and z given pi and B.

        Random draws of a sweep, in this order: those of `draw`; in the normal model one normal and
        one gamma for its prior (m, tau^2); a uniform for each z_i.
        """
        prior, cells = prior.copy(), self.groups * self.plays.shape[1]
        for _ in range(sweeps):
            likely, B = self.draw(z, prior, rng)
            if self.gaussian:
                prior[0] = B.mean() + math.sqrt(prior[1] / cells) * rng.standard_normal()
                rate = VAGUE * self.sd**2 + 0.5 * np.sum((B - prior[0]) ** 2)
                prior[1] = rate / rng.standard_gamma(1.0 + 0.5 * cells)
            chance = np.cumsum(np.exp(likely - likely.max(axis=1, keepdims=True)), axis=1)
            at = rng.random(len(z)) * chance[:, -1]
            z = np.sum(chance <= at[:, None], axis=1)
        return z, prior

    def draw(
        self, z: IntVector, prior: FloatVector, rng: np.random.Generator
    ) -> tuple[FloatMatrix, FloatMatrix]:
        """Draw pi and B given z; return ln pi_g + ln f(rewards of i | B_g), and B.

        A gamma for each group, then B, row by row.
        """
        n, s = self.counts(z)
        pi = rng.standard_gamma(self.weight + np.bincount(z, minlength=self.groups))
        B = self.means(n, s, prior, rng)
        eta, cost = self.natural(B)
        pi = np.maximum(pi, LEAST)
        return np.log(pi / pi.sum()) + self.total @ eta.T - self.plays @ cost.T, B

    def means(
        self, n: FloatMatrix, s: FloatMatrix, prior: FloatVector, rng: np.random.Generator
    ) -> FloatMatrix:
        """Draw means given numbers and sums of rewards."""
        if self.gaussian:
            precision = 1.0 / prior[1] + n / self.sd**2
            B = (prior[0] / prior[1] + s / self.sd**2) / precision
            return B + rng.standard_normal(B.shape) / np.sqrt(precision)
        return rng.beta(1.0 + s, 1.0 + np.maximum(n - s, 0.0))

    def expected(self, n: FloatMatrix, s: FloatMatrix, prior: FloatVector) -> FloatMatrix:
        """Return the posterior expectations of means, given numbers and sums of rewards."""
        if self.gaussian:
            m, tau2 = prior
            strength = self.sd**2 / tau2
            return (strength * m + s) / (strength + n)
        return (1.0 + s) / (2.0 + n)

    def natural(self, B: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
        """Return eta and A at these means."""
        if self.gaussian:
            return B / self.sd**2, B**2 / (2.0 * self.sd**2)
        B = np.clip(B, EDGE, 1.0 - EDGE)
        return np.log(B / (1.0 - B)), -np.log(1.0 - B)

    def value(self, z: IntVector, prior: FloatVector) -> float:
        """Return ln P(z and all rewards), up to a constant, with pi and B summed out."""
        n, s = self.counts(z)
        sizes = np.bincount(z, minlength=self.groups)
        value = sum(math.lgamma(self.weight + size) for size in sizes)
        if self.gaussian:
            m, tau2 = prior
            precision = 1.0 / tau2 + n / self.sd**2
            b = m / tau2 + s / self.sd**2
            return value + 0.5 * float(np.sum(b**2 / precision - np.log(precision)))
        f = np.maximum(n - s, 0.0)
        return value + float(np.sum(_lgamma(1.0 + s) + _lgamma(1.0 + f) - _lgamma(2.0 + s + f)))


def _lgamma(x: FloatMatrix) -> FloatMatrix:
    """Return ln Gamma of each entry."""
    return np.array([math.lgamma(value) for value in x.ravel()])
