"""Variances that are known more or less well, drawn together as far as chance makes them differ.

How much a variance of so many degrees of freedom differs from the common one is chance and truth;
what is truth is seen from how much all of them differ. No learner, no rewards: arrays only.
"""

from __future__ import annotations

import numpy as np

from lumpable.base.arrays import BoolMatrix, FloatMatrix, FloatVector

LEAST_PART = 0.2
"""No variance is less than this part of the common one, ..."""
LEAST_NOISE = 0.01
"""... and no context's less than this part of that of all contexts."""
FEW = 4.0
"""What has fewer degrees of freedom takes the common one."""
UNLIKE = 0.25
"""Contexts have a noise of their own if their variances, over the usual one, vary by this."""
DOUBT = 2.0
"""Their noise is taken for so many standard errors larger than it seems."""


def draw_together(
    raw: FloatMatrix, free: FloatMatrix, each: FloatMatrix | float, towards: FloatMatrix
) -> FloatMatrix:
    """Draw variances towards common ones, as far as they differ by chance.

    One of so many degrees of freedom varies by each / free by chance, relatively; how much they
    differ in truth is what they differ by more than that.
    """
    known = free > FEW
    if known.sum() < 2:
        return towards
    chance = each / np.maximum(free, 1e-9)
    away = np.where(known, raw / towards - 1.0, 0.0)
    true = _true_variance(away, chance, known)
    part = np.where(known, true / (true + chance), 0.0)
    drawn: FloatMatrix = towards * np.maximum(1.0 + part * away, LEAST_PART)
    return drawn


def own_noise(
    squares: FloatVector, likely: FloatVector, free: FloatVector, each: float
) -> FloatVector:
    """Return the noise of contexts over the usual one: 1, unless they differ widely.

    What little is known of it is not trusted: it is rather too large than too small.
    """
    usual, known = squares.sum() / max(likely.sum(), 1e-300), free > FEW
    if known.sum() < 2 or usual <= 0.0:
        return np.ones(len(free))
    away = np.where(known, squares / np.maximum(usual * likely, 1e-300) - 1.0, 0.0)
    chance = each / np.maximum(free, 1e-9)
    true = _true_variance(away, chance, known)
    if true < UNLIKE:
        return np.ones(len(free))
    part = np.where(known, true / (true + chance), 0.0)
    noise: FloatVector = np.maximum(1.0 + part * away, LEAST_NOISE)
    return noise * (1.0 + DOUBT * np.sqrt(part * chance))


def _true_variance(away: FloatMatrix, chance: FloatMatrix, known: BoolMatrix) -> float:
    """Return by how much what is known differs more than by chance."""
    sure = np.where(known, 1.0 / chance, 0.0)
    return max(0.0, float((sure * (away**2 - chance)).sum(where=known) / sure.sum()))
