"""One step of variational EM, compiled: sums over cells and memberships. Knows no search.

Cells come as rows: those of context i are at first[i] .. first[i + 1] - 1, sorted by arm, each with
its arm, its number n of rewards and their total s. Functions here call only functions of this file,
so that their compiled code can be kept on disk.
"""

from __future__ import annotations

import math

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine.caching import cached_njit

SERIES = 6.0
"""From here on, the asymptotic series of digamma and trigamma are exact to 1e-9."""


@cached_njit(error_model="numpy")
def digamma(x: float) -> float:
    """Return the derivative of the logarithm of the gamma function, for x > 0."""
    below = 0.0
    while x < SERIES:
        below += 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y * (1.0 / 240.0))))
    return math.log(x) - 0.5 / x - series - below


@cached_njit(error_model="numpy")
def trigamma(x: float) -> float:
    """Return the derivative of digamma, for x > 0."""
    below = 0.0
    while x < SERIES:
        below += 1.0 / (x * x)
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0))))
    return below + (1.0 + 0.5 / x + series) / x


@cached_njit(error_model="numpy")
def natural(
    pulls: FloatMatrix, totals: FloatMatrix, kappa: float, centre: FloatVector
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return what a reward and what a pull add to the expected log likelihood, (K, M) each."""
    slope, level = np.empty_like(pulls), np.empty_like(pulls)
    for j in range(pulls.shape[0]):
        p = centre[j]
        for g in range(pulls.shape[1]):
            x = pulls[j, g] + kappa
            a = totals[j, g] + kappa * p
            failure = digamma(x - a)
            slope[j, g] = digamma(a) - failure
            level[j, g] = failure - digamma(x)
    return slope, level


@cached_njit(error_model="numpy")
def members(
    first: IntVector, arm: IntVector, n: FloatVector, s: FloatVector,
    slope: FloatMatrix, level: FloatMatrix, share: FloatVector, out: FloatMatrix,
) -> float:  # fmt: skip
    """Fill in each context's posterior over groups; return the sum of their log normalisers.

    The log likelihood of a cell under group g is s slope[j, g] + n level[j, g].
    """
    M = len(share)
    total = 0.0
    for i in range(len(first) - 1):
        row = out[i]
        for g in range(M):
            row[g] = share[g]
        for c in range(first[i], first[i + 1]):
            j, pulled, paid = arm[c], n[c], s[c]  # read once: stores might change them
            for g in range(M):
                row[g] += paid * slope[j, g] + pulled * level[j, g]
        top = row[0]
        for g in range(1, M):
            top = max(top, row[g])
        whole = 0.0
        for g in range(M):
            row[g] = math.exp(row[g] - top)
            whole += row[g]
        for g in range(M):
            row[g] /= whole
        total += top + math.log(whole)
    return total


@cached_njit(error_model="numpy")
def gather(
    first: IntVector, arm: IntVector, n: FloatVector, s: FloatVector, member: FloatMatrix,
    pulls: FloatMatrix, totals: FloatMatrix,
) -> None:  # fmt: skip
    """Add the cells of each group's members, weighted by membership, to (K, M) tables."""
    for i in range(len(first) - 1):
        for c in range(first[i], first[i + 1]):
            j, pulled, paid = arm[c], n[c], s[c]  # read once: stores might change them
            for g in range(member.shape[1]):
                weight = member[i, g]
                pulls[j, g] += weight * pulled
                totals[j, g] += weight * paid
