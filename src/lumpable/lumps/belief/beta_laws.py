"""Beta laws with given moments, and their quantiles: no scipy is needed where rewards are coins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lumpable.base.arrays import FloatVector
from lumpable.lumps.model import arithmetic

GRID: FloatVector = np.linspace(-12.0, 12.0, 961)
"""Standard deviations of the logit at which a Beta law is summed up, ..."""
BENDS: FloatVector = np.linspace(-25.0, 25.0, 501)
"""... and logits where the density of a very wide one bends."""


def beta_shape(mean: FloatVector, variance: FloatVector) -> tuple[FloatVector, FloatVector]:
    """Return the Beta law with these moments."""
    mean = np.clip(mean, 1e-9, 1.0 - 1e-9)
    e = np.maximum(mean * (1.0 - mean) / np.maximum(variance, 1e-300) - 1.0, 0.05)
    return mean * e, (1.0 - mean) * e


def beta_quantiles(a: FloatVector, b: FloatVector, levels: Sequence[float]) -> list[FloatVector]:
    """Return quantiles of Beta(a, b), summed up on the logit scale, where its density is smooth.

    >>> [round(float(x[0]), 4) for x in beta_quantiles(np.ones(1), np.ones(1), [0.05, 0.95])]
    [0.05, 0.95]
    """
    psi, width = np.vectorize(arithmetic.digamma), np.vectorize(arithmetic.trigamma)
    sd = np.sqrt(width(a) + width(b))[:, None]
    y = (psi(a) - psi(b))[:, None] + sd * GRID
    y = np.sort(np.column_stack([y, np.tile(BENDS, (len(a), 1))]), axis=1)
    density = a[:, None] * y - (a + b)[:, None] * np.logaddexp(0.0, y)
    density = np.exp(density - density.max(axis=1, keepdims=True))
    below = np.cumsum((density[:, 1:] + density[:, :-1]) * np.diff(y, axis=1), axis=1)
    below = np.column_stack([np.zeros(len(a)), below / below[:, -1:]])
    ends = [[np.interp(q, row, at) for row, at in zip(below, y, strict=True)] for q in levels]
    with np.errstate(over="ignore"):  # where exp is infinite, the quantile is 0
        return [1.0 / (1.0 + np.exp(-np.array(end))) for end in ends]
