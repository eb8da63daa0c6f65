"""UCB for clusters of contexts, with arms for features: what CLUB, SCLUB and DynUCB share.

The features are the arms' unit vectors, so all matrices are diagonal. With n_ij plays and the sum
s_ij of the rewards of context i and arm j:

    w_ij = s_ij / (1 + n_ij), and in a cluster c:  N_cj = 1 + sum_c n_ij,  W_cj = sum_c s_ij / N_cj.

A state holds `plays`, `total`, `w`, `N`, `sum`, `W` and `label`, the cluster of each context.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lumpable.base.arrays import FloatVector
from lumpable.learners.engine import TELLS, Clock, among, kernel, kernel_without_nan


@kernel_without_nan
def choose(state: Any, context: int, clock: Clock) -> int:
    """Play the largest W_cj + alpha sqrt(ln(1 + t) / N_cj) of the cluster, any of several."""
    c = state.label[context]
    N, W, score = state.N[c], state.W[c], state.score
    t = float(clock[TELLS]) + 1.0
    scale = state.alpha * math.sqrt(math.log(1.0 + t))
    top = -np.inf
    for j in range(len(score)):
        score[j] = W[j] + scale / math.sqrt(N[j])
        top = score[j] if score[j] > top else top
    return among(score, top, clock)


@kernel
def learn(state: Any, i: int, c: int, arm: int, reward: float) -> None:
    """Add a reward to its context and to the context's cluster."""
    state.plays[i, arm] += 1
    state.total[i, arm] += reward
    state.w[i, arm] = state.total[i, arm] / (1.0 + state.plays[i, arm])
    state.N[c, arm] += 1.0
    state.sum[c, arm] += reward
    state.W[c, arm] = state.sum[c, arm] / state.N[c, arm]


@kernel
def remove(state: Any, i: int, c: int) -> None:
    """Take what context i has seen out of cluster c; a cell that is left empty is exactly 0."""
    for j in range(len(state.score)):
        n = state.plays[i, j]
        if n > 0:
            state.N[c, j] -= n
            state.sum[c, j] = state.sum[c, j] - state.total[i, j] if state.N[c, j] > 1.0 else 0.0
            state.W[c, j] = state.sum[c, j] / state.N[c, j]


@kernel
def spread(n: int) -> float:
    """F(n) = sqrt((1 + ln(1 + n)) / (1 + n)): how far an estimate from n visits may be."""
    return math.sqrt((1.0 + math.log(1.0 + n)) / (1.0 + n))


@kernel
def distance(a: FloatVector, b: FloatVector, enough: float) -> float:
    """Return ||a - b||^2, or anything above `enough` if it is above."""
    total = 0.0
    for j in range(len(a)):
        total += (a[j] - b[j]) ** 2
        if total > enough:
            break
    return total
