"""How strong the leading direction of residuals is, and what chance makes of residuals."""

from __future__ import annotations

import numpy as np

from lumpable.base.arrays import FloatVector, IntVector
from lumpable.lumps.model import directions

POWER_STEPS = 20
SIGNS: FloatVector = np.array([-1.0, 1.0])


def leading(first: IntVector, arm: IntVector, arms: int, x: FloatVector) -> float:
    """Return the leading singular value of these residuals of cells."""
    v = np.random.default_rng(19).standard_normal((arms, min(4, arms)))
    for _ in range(POWER_STEPS):
        v = np.linalg.qr(v)[0]
        y = directions.forth(first, arm, x, v)
        v = directions.back(first, arm, x, y, arms)
    return float(np.linalg.norm(y, ord=2))


def with_new_signs(x: FloatVector, rng: np.random.Generator) -> FloatVector:
    """Return residuals of the same sizes without any direction in common."""
    drawn: FloatVector = x * rng.choice(SIGNS, len(x))
    return drawn


def as_large(x: FloatVector, like: FloatVector) -> FloatVector:
    """Return residuals in the unit in which they are as large as others, all in all."""
    size = float(np.linalg.norm(x))
    return x * (float(np.linalg.norm(like)) / size) if size > 0.0 else x


def p_value(statistic: float, law: list[float]) -> float:
    """Return how often a statistic is at least this large, if it has the law of these draws."""
    return (1 + sum(other >= statistic for other in law)) / (1 + len(law))
