"""What an arm costs and what it would tell, from weighted draws; and the two arms to draw from.

Russo and Van Roy, "Learning to optimize via information-directed sampling", NIPS 2014 and
Operations Research 66 (2018): with a* the best arm, the ratio Delta^2 / v of expected regret and
information, here v_j = Var(E[mu_j | a*]), is least for some mixture of two arms.
Draws come in blocks, B (blocks, K, M) with weights (blocks, M) that sum to 1; a block without
weight is skipped. Knows no learner.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lumpable.base.arrays import FloatMatrix, FloatVector, IntMatrix
from lumpable.learners.engine import Clock, kernel, uniform

Cube = npt.NDArray[np.float64]


@kernel
def find_best(
    B: Cube, weight: FloatMatrix, best: IntMatrix, top: FloatMatrix, mass: FloatVector
) -> None:
    """Fill in the best arm of each draw and its mean, and P(a* = a) of each arm."""
    mass[:] = 0.0
    for g in range(len(B)):
        if weight[g].max() == 0.0:
            continue
        top[g] = -np.inf
        for j in range(len(mass)):
            for m in range(B.shape[2]):
                if B[g, j, m] > top[g, m]:
                    top[g, m], best[g, m] = B[g, j, m], j
        for m in range(B.shape[2]):
            mass[best[g, m]] += weight[g, m]


@kernel
def inform(
    B: Cube, weight: FloatMatrix, best: IntMatrix, top: FloatMatrix, mass: FloatVector,
    part: FloatVector, regret: FloatVector, gain: FloatVector,
) -> None:  # fmt: skip
    """Fill in Delta and v of each arm; `part` is room for E[mu_j; a* = a] of one arm j."""
    for j in range(len(mass)):
        part[:] = 0.0
        lost, mean = 0.0, 0.0
        for g in range(len(B)):
            if weight[g].max() == 0.0:
                continue
            for m in range(B.shape[2]):
                w, value = weight[g, m], B[g, j, m]
                lost += w * (top[g, m] - value)
                mean += w * value
                part[best[g, m]] += w * value
        learnt = 0.0
        for a in range(len(mass)):
            if mass[a] > 0.0:
                learnt += mass[a] * (part[a] / mass[a] - mean) ** 2
        regret[j], gain[j] = lost, learnt


@kernel
def mixing(regret: FloatVector, gain: FloatVector, j: int, k: int) -> float:
    """Return the share q of arm j beside arm k with the least Delta^2 / v.

    A square over a linear function is convex: it is least where its derivative is 0, or at an end.
    If one arm costs no more and tells no less than the other, it is played alone.
    """
    d, e = regret[j] - regret[k], gain[j] - gain[k]
    if d * e <= 0.0:
        return 1.0 if d < 0.0 or (d == 0.0 and e > 0.0) else 0.0
    return min(max(regret[k] / d - 2.0 * gain[k] / e, 0.0), 1.0)


@kernel
def ratio(regret: FloatVector, gain: FloatVector, j: int, k: int, q: float) -> float:
    """Return Delta^2 / v where arm j is played with chance q, and arm k otherwise."""
    lost = q * regret[j] + (1.0 - q) * regret[k]
    learnt = q * gain[j] + (1.0 - q) * gain[k]
    return lost * lost / learnt if learnt > 0.0 else np.inf


@kernel
def two_arms(regret: FloatVector, gain: FloatVector, clock: Clock) -> int:
    """Draw from the pair of arms with the least ratio; without information, the least regret."""
    least, first = np.inf, int(np.argmin(regret))
    second, share = first, 1.0
    for j in range(len(regret)):
        for k in range(j + 1, len(regret)):
            q = mixing(regret, gain, j, k)
            value = ratio(regret, gain, j, k, q)
            if value < least:
                least, first, second, share = value, j, k, q
    return first if uniform(clock) < share else second
