"""All that was seen, as cells: how many rewards each context had of each arm, and their total.

The model that counts are read by:

    p_j ~ Beta(k0 p0, k0 (1 - p0)),  theta_gj ~ Beta(kappa p_j, kappa (1 - p_j)),
    mu_ij ~ Beta(m0 theta_gj, m0 (1 - theta_gj)) with g = z_i ~ pi,  rewards ~ Bernoulli(mu_ij),

or, for real rewards, the same with normal laws of variance sigma^2 / strength and noise sigma^2.
With one group there is no middle level: theta_j ~ Beta(k0 p0, k0 (1 - p0)). Everything in this
folder is a pure function of counts; it knows no round and no learner.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.lumps.model import arithmetic

PRIOR_FREEDOM = 5.0
"""The variance of all rewards counts as this many degrees of freedom in sigma^2."""


@dataclass(frozen=True, eq=False)
class Counts:
    """All that was seen: rows of cells, sorted by context and arm."""

    context: IntVector
    """The contexts that were seen, in order; what follows numbers them 0, 1, .."""
    first: IntVector
    """Cells of context i are at first[i] .. first[i + 1] - 1."""
    arm: IntVector
    n: FloatVector
    """Rewards of the cell."""
    s: FloatVector
    """Their total."""
    arms: int
    real: bool
    """Whether some reward was neither 0 nor 1."""
    squares: float
    """Sum of the squared distances of rewards from their cell's average."""

    @property
    def contexts(self) -> int:
        """S."""
        return len(self.first) - 1

    @property
    def rows(self) -> tuple[IntVector, IntVector, FloatVector, FloatVector]:
        """The cells, as compiled functions take them."""
        return self.first, self.arm, self.n, self.s

    @property
    def row(self) -> IntVector:
        """The place of each cell's context among those seen."""
        return np.repeat(np.arange(self.contexts), np.diff(self.first))

    def weight(self, m0: float) -> FloatVector:
        """Return how much a reward of each cell tells about its group's mean.

        Rewards of one context share its own deviation: n of them tell as much as n weight(m0).
        """
        if math.isinf(m0):
            return np.ones(len(self.n))
        weight: FloatVector = (m0 if self.real else 1.0 + m0) / (self.n + m0)
        return weight

    def noise(self) -> float:
        """Return sigma^2, from cells with several rewards and a little from all rewards."""
        if not self.real:
            return 1.0
        n, mean = self.n, self.s / self.n
        around = float(self.s.sum() / n.sum())
        if n.sum() < 2:
            return max(around * around, 1e-200)
        total = self.squares + float((n * (mean - around) ** 2).sum())
        spread = total / max(n.sum() - 1.0, 1.0)
        noise = (self.squares + PRIOR_FREEDOM * spread) / (n.sum() - len(n) + PRIOR_FREEDOM)
        return max(float(noise), 1e-12 * max(around * around, 1e-200))


def group_sums(counts: Counts, member: FloatMatrix, m0: float) -> tuple[FloatMatrix, FloatMatrix]:
    """Return pulls and totals of each arm and group."""
    weight = counts.weight(m0)
    pulls, totals = (np.zeros((counts.arms, member.shape[1])) for _ in range(2))
    n, s = counts.n * weight, counts.s * weight
    arithmetic.gather(counts.first, counts.arm, n, s, member, pulls, totals)
    return pulls, totals
