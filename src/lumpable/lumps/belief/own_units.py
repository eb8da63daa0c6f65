"""Residuals of real rewards, each in units of its arm's and its context's noise.

Scores are bounded, so a noisy context's lie nearer to the middle than those of others with the same
means. Where contexts differ widely in noise, that is a direction of scores and none of means.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lumpable.base.arrays import FloatVector, IntVector
from lumpable.lumps.belief.leading import as_large, leading, with_new_signs
from lumpable.lumps.model.counts import Counts
from lumpable.lumps.model.dispersion import context_noise
from lumpable.lumps.model.scores import Cells
from lumpable.lumps.model.variances import LEAST_NOISE

ROUNDS = 4
"""How often means, arms' noise and contexts' noise are estimated from each other."""
LEAST = 1e-300
"""What is divided by is at least this."""


class OwnUnits(NamedTuple):
    """Residuals of cells, net of the means of their arm and group."""

    first: IntVector
    arm: IntVector
    cell: IntVector
    """The place of each cell's arm and group."""
    x: FloatVector
    sure: FloatVector
    """How much each residual moves with the mean."""

    def leading(self, rng: np.random.Generator | None = None) -> float:
        """Return the leading singular value: as seen, or with signs that are drawn anew."""
        x = self.x if rng is None else self._net(with_new_signs(self.x, rng))
        return leading(self.first, self.arm, int(self.arm.max()) + 1, as_large(x, self.x))

    def _net(self, x: FloatVector) -> FloatVector:
        net: FloatVector = x - self.sure * _ratio(self.cell, self.sure * x, self.sure**2)[self.cell]
        return net


def in_own_units(
    counts: Counts, cells: Cells, label: IntVector, rows: IntVector
) -> OwnUnits | None:
    """Return the residuals of these rows of contexts, whose groups are known.

    None where contexts do not differ widely in noise.
    """
    noise = context_noise(counts, cells)
    if (noise == 1.0).all():
        return None
    kept = np.isin(counts.row, rows)
    row = np.searchsorted(rows, counts.row[kept])
    arm, n, s = counts.arm[kept], cells.n[kept], cells.s[kept]
    groups = int(label.max()) + 1
    cell = arm * groups + label[counts.row[kept]]
    own, v, one = np.ones(len(rows)), np.ones(len(n)), np.ones(len(n))
    for step in range(ROUNDS + 1):
        # Means by the quiet ones, or the noise of others is what quiet ones differ by.
        away = s - n * _ratio(cell, s / own[row], n / own[row])[cell]
        if step == ROUNDS:
            break
        v = _ratio(arm, away**2 / (n * own[row]), one)
        v = np.maximum(v, LEAST_NOISE * v.mean())[arm]
        own = np.maximum(_ratio(row, away**2 / (n * v), one), LEAST_NOISE)
        own /= np.exp(np.log(own).mean())  # one of both is free
    spread = v * own[row]
    first = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(rows)))])
    return OwnUnits(first, arm, cell, away / np.sqrt(n * spread), np.sqrt(n / spread))


def _ratio(where: IntVector, x: FloatVector, y: FloatVector) -> FloatVector:
    """Return the sum of x over that of y, which is positive, of each place."""
    ratio: FloatVector = np.bincount(where, x) / np.maximum(np.bincount(where, y), LEAST)
    return ratio
