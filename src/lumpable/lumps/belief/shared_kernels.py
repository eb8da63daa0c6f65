"""Which arms may be best for whom, and how often each draw says so, compiled: context by context.

Sums run in one order, so that a context alone has the same numbers as in a table. Functions here
call only functions of this file, so that their compiled code can be kept on disk.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from lumpable.base.arrays import (
    BoolMatrix,
    BoolVector,
    FloatCube,
    FloatMatrix,
    FloatVector,
    IntMatrix,
    IntVector,
)
from lumpable.learners.engine.caching import cached_njit
from lumpable.learners.engine.clock import kernel

Ranking = npt.NDArray[np.int32]
"""Of each draw of each group, all arms, the largest first."""
BISECTIONS = 60


@cached_njit(error_model="numpy")
def survey(
    member: FloatMatrix, allowed: BoolMatrix, first: IntVector, cell_arm: IntVector,
    n: FloatVector, s: FloatVector, believed: FloatMatrix, centre: FloatMatrix,
    variance: FloatMatrix, spread: FloatMatrix, m0: float, extra: float, edge: float, far: float,
    best: IntMatrix, mean_of: FloatMatrix, near: BoolMatrix, near_cell: BoolVector,
) -> None:  # fmt: skip
    """Fill in each context's best two arms, their means, and the arms that may be best.

    Arms with rewards of the context's own are marked in `near_cell`, all others in `near`. Tables
    are (arms, groups), and `believed` (groups, arms). With an `extra` of 1 rewards are coins, whose
    spread follows from their mean.
    """
    arms, groups = centre.shape
    mean, wide, pulls = np.empty(arms), np.empty(arms), np.zeros(arms)
    at, own = np.empty(arms), np.empty(arms)
    centres, variances, spreads = centre.T.copy(), variance.T.copy(), spread.T.copy()
    alike, real = math.isinf(m0), extra == 0.0
    for i in range(len(member)):
        for c in range(first[i], first[i + 1]):
            pulls[cell_arm[c]] = n[c]
        for j in range(arms):
            mean[j], at[j], wide[j], own[j] = 0.0, 0.0, 0.0, 0.0
        for g in range(groups):  # arm after arm of a group, which is taken several at a time
            w = member[i, g]
            for j in range(arms):
                mean[j] += w * believed[g, j]
                at[j] += w * centres[g, j]
            for j in range(arms if real and not alike else 0):
                own[j] += w * spreads[g, j]
        for g in range(groups):
            w = member[i, g]
            for j in range(arms):
                apart = centres[g, j] - at[j]
                wide[j] += w * (variances[g, j] + apart * apart)
        for j in range(0 if alike else arms):
            share = m0 / (m0 + pulls[j])
            wide[j] *= share * share
            if real:
                wide[j] += own[j] / (m0 + pulls[j])
        for c in range(first[i], first[i + 1]):
            if not math.isinf(m0):
                mean[cell_arm[c]] = (m0 * mean[cell_arm[c]] + s[c]) / (m0 + n[c])
        one, two = -1, -1
        for j in range(arms):
            if not allowed[i, j]:
                continue
            if one < 0 or mean[j] > mean[one]:
                one, two = j, one
            elif two < 0 or mean[j] > mean[two]:
                two = j
        best[i, 0], best[i, 1], mean_of[i, 0] = one, two, mean[one]
        mean_of[i, 1] = mean[two] if two >= 0 else math.nan
        if extra > 0.0 and not math.isinf(m0):
            for j in range(arms):
                inside = min(max(mean[j], edge), 1.0 - edge)
                wide[j] += inside * (1.0 - inside) / (m0 + pulls[j] + extra)
        for j in range(arms):
            reach = far * math.sqrt(wide[j] + wide[one])
            near[i, j] = allowed[i, j] and mean[j] + reach >= mean[one]
        for c in range(first[i], first[i + 1]):
            pulls[cell_arm[c]] = 0.0
            if not math.isinf(m0):
                near_cell[c] = near[i, cell_arm[c]]
                near[i, cell_arm[c]] = False


@cached_njit(error_model="numpy")
def judge(
    weight: FloatMatrix, best: IntVector, near: BoolMatrix, first: IntVector, cell_arm: IntVector,
    cell_place: IntVector, shift: FloatVector, place: IntVector, order: Ranking,
    drawn: FloatCube, out: FloatMatrix, own_place: IntVector, own_shift: FloatVector,
) -> None:  # fmt: skip
    """Fill in how often each context's best arm is the largest of a draw, and what it lacks.

    The draws of an arm without own rewards are at `place`, those of near cells at `cell_place` and
    are shifted; `order` has the arms of each draw of each group, the largest first.
    """
    draws = drawn.shape[2]
    for i in range(len(weight)):
        open_arms = 0
        for j in range(near.shape[1]):
            open_arms += near[i, j]
        own_place[i], own_shift[i] = place[best[i]], 0.0
        for c in range(first[i], first[i + 1]):
            if cell_arm[c] == best[i]:
                own_place[i], own_shift[i] = cell_place[c], shift[c]
        often, lacks = 0.0, 0.0
        for g in range(weight.shape[1]):
            if weight[i, g] == 0.0:
                continue
            hits, less = 0, 0.0
            for d in range(draws):
                own = drawn[own_place[i], g, d] + own_shift[i]
                top = own
                if open_arms > 0:
                    k = 0
                    while not near[i, order[g, d, k]]:
                        k += 1
                    top = max(top, drawn[place[order[g, d, k]], g, d])
                for c in range(first[i], first[i + 1]):
                    top = max(top, drawn[cell_place[c], g, d] + shift[c])
                hits += own >= top
                less += top - own
            often += weight[i, g] * hits
            lacks += weight[i, g] * less
        out[i, 0], out[i, 1] = min(often / draws, 1.0), lacks / draws


@kernel
def below(ordered: FloatMatrix, weight: FloatVector, x: float) -> float:
    """Return the part of a mixture that lies below x; rows of draws are in order."""
    part, last = 0.0, ordered.shape[1] - 1
    for g in range(len(weight)):
        if weight[g] == 0.0 or x < ordered[g, 0]:
            continue
        if x >= ordered[g, last]:
            part += weight[g]
            continue
        low, high = 0, last
        while high - low > 1:
            middle = (low + high) // 2
            if ordered[g, middle] <= x:
                low = middle
            else:
                high = middle
        step = ordered[g, high] - ordered[g, low]
        part += weight[g] * (low + (x - ordered[g, low]) / step) / last
    return part


@cached_njit(error_model="numpy")
def quantiles(
    weight: FloatMatrix, place: IntVector, shift: FloatVector,
    ordered: FloatCube, levels: FloatVector, out: FloatMatrix,
) -> None:  # fmt: skip
    """Fill in quantiles of mixtures of draws, between which the law is taken to be even."""
    last = ordered.shape[2] - 1
    for i in range(len(weight)):
        rows = ordered[place[i]]
        lowest, highest = math.inf, -math.inf
        for g in range(weight.shape[1]):
            if weight[i, g] > 0.0:
                lowest, highest = min(lowest, rows[g, 0]), max(highest, rows[g, last])
        for q in range(len(levels)):
            low, high = lowest, highest
            for _ in range(BISECTIONS):
                middle = 0.5 * (low + high)
                if below(rows, weight[i], middle) < levels[q]:
                    low = middle
                else:
                    high = middle
            out[i, q] = 0.5 * (low + high) + shift[i]
