"""Matrix completion by weighted alternating least squares, from a spectral start.

Hu, Koren and Volinsky, "Collaborative filtering for implicit feedback datasets", ICDM 2008, for the
weights; Keshavan, Montanari and Oh, "Matrix completion from a few entries", IEEE Trans. Inf. Theory
56 (2010), for the start. Knows no learner.
"""

from __future__ import annotations

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector

JITTER = 1e-3
"""Size of the random part of the start, beside the largest factor: no direction begins at zero."""


def als(
    weights: FloatMatrix,
    mean: FloatMatrix,
    rank: int,
    ridge: float,
    sweeps: int,
    rng: np.random.Generator,
) -> tuple[FloatMatrix, FloatMatrix]:
    """Minimise sum_ij w_ij (m_ij - u_i . v_j)^2 + ridge (|U|^2 + |V|^2) over U and V in turn.

    Parameters
    ----------
    weights
        (S, K), none negative; where it is 0 the entry of `mean` is missing and may be anything.
    ridge
        Positive: it decides where the data do not, so that a row without data gets u_i = 0.
    sweeps
        Each solves for U given V, then for V given U.

    Returns
    -------
    U (S, rank) and V (K, rank); the completed matrix is U @ V.T.

    >>> truth = np.outer([1.0, 2.0, 3.0], [1.0, -1.0])
    >>> weights = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> U, V = als(weights, truth, 1, 1e-9, 50, np.random.default_rng(1))
    >>> bool(abs(U @ V.T - truth).max() < 1e-4)
    True
    """
    rank = checks.whole("rank", rank, 1)
    sweeps = checks.whole("sweeps", sweeps, 1)
    ridge = checks.real("ridge", ridge, "a positive number", 0.0, 1e300)
    filled: FloatMatrix = np.where(weights > 0, mean, 0.0)
    V = spectral(weights, filled, rank, rng)
    for _ in range(sweeps):
        U = fit_rows(weights, filled, V, ridge)
        V = fit_rows(weights.T, filled.T, U, ridge)
    return U, V


def fit_rows(weights: FloatMatrix, mean: FloatMatrix, V: FloatMatrix, ridge: float) -> FloatMatrix:
    """Return the best U given V: a weighted ridge regression of each row on V."""
    A, b = normal_equations(weights, weights * mean, V, np.full(V.shape[1], ridge))
    return np.asarray(np.linalg.solve(A, b[:, :, None])[:, :, 0], dtype=np.float64)


def normal_equations(
    weights: FloatMatrix, totals: FloatMatrix, X: FloatMatrix, prior: FloatVector
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return precision and shift of each row's coefficients on X, from these prior precisions."""
    K, D = X.shape
    squares = (X[:, :, None] * X[:, None, :]).reshape(K, D * D)
    return (weights @ squares).reshape(-1, D, D) + np.diag(prior), totals @ X


def spectral(
    weights: FloatMatrix, mean: FloatMatrix, rank: int, rng: np.random.Generator
) -> FloatMatrix:
    """Return V to start from: leading right singular vectors of the filled matrix, scaled.

    A cell is drawn towards its column's mean, the more the less weight it has: missing cells, of
    which `mean` must hold a number, are filled by it.
    """
    K = weights.shape[1]
    total = weights.sum(axis=0)
    column = np.divide((weights * mean).sum(axis=0), total, out=np.zeros(K), where=total > 0)
    typical = weights.sum() / max(np.count_nonzero(weights), 1)
    trust = weights / (weights + (typical or 1.0))
    X = column + trust * (mean - column)
    value, vector = np.linalg.eigh(X.T @ X)
    top = min(rank, K)
    V = np.zeros((K, rank))
    V[:, :top] = vector[:, : -top - 1 : -1] * np.maximum(value[: -top - 1 : -1], 0.0) ** 0.25
    scale = JITTER * (np.abs(V).max() or 1.0)
    return V + scale * rng.standard_normal((K, rank))
