"""Directions along which contexts differ, compiled: products with the sparse matrix of cells.

Cells come as in `arithmetic`. Functions here call only functions of this file, so that their
compiled code can be kept on disk.
"""

from __future__ import annotations

import math

import numpy as np

from lumpable.base.arrays import FloatCube, FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine import cached_njit, kernel


@kernel
def invert(A: FloatMatrix, out: FloatMatrix) -> float:
    """Put the inverse of a positive definite matrix into `out`; return ln det A."""
    q = A.shape[0]
    work = A.copy()
    for a in range(q):
        for b in range(q):
            out[a, b] = 1.0 if a == b else 0.0
    determinant = 0.0
    for a in range(q):
        pivot = work[a, a]
        determinant += math.log(pivot)
        for b in range(q):
            work[a, b] /= pivot
            out[a, b] /= pivot
        for c in range(q):
            if c != a:
                factor = work[c, a]
                for b in range(q):
                    work[c, b] -= factor * work[a, b]
                    out[c, b] -= factor * out[a, b]
    return determinant


@cached_njit(error_model="numpy")
def factor_step(
    first: IntVector, arm: IntVector, n: FloatVector, s: FloatVector, centre: FloatVector,
    variance: FloatVector, loading: FloatMatrix, f: FloatMatrix, cover: FloatCube,
    H: FloatCube, h: FloatMatrix, rest: FloatMatrix,
) -> None:  # fmt: skip
    """One step of factor analysis on what the population leaves: mu_ij = p_j + L_j f_i.

    Fills in the posterior means f (S, q) and covariances (S, q, q), and adds to the sums H (K, q,
    q) and h (K, q) of the regression of each arm on f, and to `rest` (K, 2): pulls and residuals.
    """
    q = loading.shape[1]
    A, b, C = np.empty((q, q)), np.empty(q), np.empty((q, q))
    for i in range(len(first) - 1):
        for x in range(q):
            b[x] = 0.0
            for y in range(q):
                A[x, y] = 1.0 if x == y else 0.0
        for c in range(first[i], first[i + 1]):
            j = arm[c]
            w, r = n[c] / variance[j], (s[c] - n[c] * centre[j]) / variance[j]
            for x in range(q):
                b[x] += r * loading[j, x]
                for y in range(q):
                    A[x, y] += w * loading[j, x] * loading[j, y]
        invert(A, C)
        for x in range(q):
            f[i, x] = 0.0
            for y in range(q):
                f[i, x] += C[x, y] * b[y]
                cover[i, x, y] = C[x, y]
        for c in range(first[i], first[i + 1]):
            j = arm[c]
            w, r = n[c] / variance[j], (s[c] - n[c] * centre[j]) / variance[j]
            left = s[c] - n[c] * centre[j]
            for x in range(q):
                h[j, x] += r * f[i, x]
                left -= n[c] * loading[j, x] * f[i, x]
                for y in range(q):
                    H[j, x, y] += w * (f[i, x] * f[i, y] + C[x, y])
            rest[j, 0] += n[c]
            rest[j, 1] += left


@cached_njit(error_model="numpy")
def forth(first: IntVector, arm: IntVector, x: FloatVector, v: FloatMatrix) -> FloatMatrix:
    """Return X v for the sparse matrix X of cells, (S, q)."""
    out = np.zeros((len(first) - 1, v.shape[1]))
    for i in range(len(first) - 1):
        for c in range(first[i], first[i + 1]):
            for k in range(v.shape[1]):
                out[i, k] += x[c] * v[arm[c], k]
    return out


@cached_njit(error_model="numpy")
def back(
    first: IntVector, arm: IntVector, x: FloatVector, y: FloatMatrix, arms: int
) -> FloatMatrix:
    """Return X' y, (K, q)."""
    out = np.zeros((arms, y.shape[1]))
    for i in range(len(first) - 1):
        for c in range(first[i], first[i + 1]):
            for k in range(y.shape[1]):
                out[arm[c], k] += x[c] * y[i, k]
    return out


@cached_njit(error_model="numpy")
def leading(
    first: IntVector, arm: IntVector, x: FloatVector, label: IntVector, groups: int, arms: int
) -> tuple[FloatVector, FloatVector]:
    """Return each context's place on its group's leading direction, and how much that explains.

    The latter is the leading eigenvalue of X'X within the group, over what noise would give.
    """
    S = len(first) - 1
    v = np.empty((groups, arms))
    state = np.uint64(88172645463325252)
    for g in range(groups):
        for j in range(arms):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            v[g, j] = (state >> np.uint64(11)) * 2.0**-53 - 0.5
    y, strength, cells = np.zeros(S), np.zeros(groups), np.zeros(groups)
    for i in range(S):
        cells[label[i]] += first[i + 1] - first[i]
    for _ in range(12):
        out = np.zeros((groups, arms))
        for i in range(S):
            g = label[i]
            y[i] = 0.0
            for c in range(first[i], first[i + 1]):
                y[i] += x[c] * v[g, arm[c]]
            for c in range(first[i], first[i + 1]):
                out[g, arm[c]] += x[c] * y[i]
        for g in range(groups):  # in loops: sums of whole arrays take seconds to compile
            square = 0.0
            for j in range(arms):
                square += out[g, j] * out[g, j]
            strength[g] = math.sqrt(square)
            if strength[g] > 0.0:
                for j in range(arms):
                    v[g, j] = out[g, j] / strength[g]
    for g in range(groups):
        if cells[g] > 0.0:
            strength[g] /= 1.0 + cells[g] / arms
    return y, strength
