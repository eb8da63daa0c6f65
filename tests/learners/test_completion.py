"""Alternating least squares against plain ridge regressions, and what it recovers."""

from __future__ import annotations

import numpy as np
import pytest

from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.learners.fitting import completion
from lumpable.learners.fitting.completion import als, fit_rows, spectral


def problem(S: int, K: int, rank: int, seed: int) -> tuple[FloatMatrix, FloatMatrix, FloatMatrix]:
    """Weights with missing cells, a noisy matrix with NaN where they are missing, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(S, rank)) @ rng.normal(size=(rank, K))
    weights = rng.poisson(1.0, size=(S, K)).astype(float)
    weights[0] = 0.0
    noisy = truth + 0.3 * rng.normal(size=(S, K))
    return weights, np.where(weights > 0, noisy, np.nan), truth


def ridge_row(weights: FloatVector, mean: FloatVector, V: FloatMatrix, ridge: float) -> FloatVector:
    """Ridge regression of one row as an ordinary least-squares problem with extra rows."""
    rank = V.shape[1]
    seen = [j for j in range(len(V)) if weights[j] > 0]
    rows = [np.sqrt(weights[j]) * V[j] for j in seen] + list(np.sqrt(ridge) * np.eye(rank))
    targets = [np.sqrt(weights[j]) * mean[j] for j in seen] + [0.0] * rank
    solved = np.linalg.lstsq(np.array(rows), np.array(targets), rcond=None)[0]
    return np.asarray(solved, dtype=np.float64)


def objective(
    weights: FloatMatrix, mean: FloatMatrix, U: FloatMatrix, V: FloatMatrix, ridge: float
) -> float:
    total = ridge * (float((U**2).sum()) + float((V**2).sum()))
    for i, j in zip(*np.nonzero(weights), strict=True):
        total += float(weights[i, j] * (mean[i, j] - U[i] @ V[j]) ** 2)
    return total


@pytest.mark.parametrize("ridge", [0.01, 2.0])
def test_each_half_is_a_ridge_regression_of_each_row(ridge: float) -> None:
    weights, mean, _ = problem(12, 9, 2, seed=1)
    filled = np.where(weights > 0, mean, 0.0)
    V = np.random.default_rng(2).normal(size=(9, 3))
    U = fit_rows(weights, filled, V, ridge)
    assert np.allclose(U, [ridge_row(w, m, V, ridge) for w, m in zip(weights, mean, strict=True)])
    assert not U[0].any()
    V = fit_rows(weights.T, filled.T, U, ridge)
    columns = zip(weights.T, mean.T, strict=True)
    assert np.allclose(V, [ridge_row(w, m, U, ridge) for w, m in columns])


def test_the_whole_is_its_halves_in_turn() -> None:
    """Sweep by sweep with explicit regressions, from the same start."""
    weights, mean, _ = problem(10, 8, 2, seed=3)
    filled = np.where(weights > 0, mean, 0.0)
    V = spectral(weights, filled, 2, np.random.default_rng(4))
    for _ in range(3):
        U = np.array([ridge_row(weights[i], mean[i], V, 0.1) for i in range(10)])
        V = np.array([ridge_row(weights[:, j], mean[:, j], U, 0.1) for j in range(8)])
    made = als(weights, mean, 2, 0.1, 3, np.random.default_rng(4))
    assert np.allclose(made[0], U)
    assert np.allclose(made[1], V)


def test_the_objective_never_rises() -> None:
    weights, mean, _ = problem(30, 20, 3, seed=5)
    filled = np.where(weights > 0, mean, 0.0)
    V = spectral(weights, filled, 3, np.random.default_rng(6))
    U = fit_rows(weights, filled, V, 0.5)
    before = objective(weights, mean, U, V, 0.5)
    for _ in range(8):
        V = fit_rows(weights.T, filled.T, U, 0.5)
        middle = objective(weights, mean, U, V, 0.5)
        U = fit_rows(weights, filled, V, 0.5)
        after = objective(weights, mean, U, V, 0.5)
        assert after <= middle * (1 + 1e-12)
        assert middle <= before * (1 + 1e-12)
        before = after


@pytest.mark.parametrize("seed", range(3))
def test_half_of_a_low_rank_matrix_is_enough(seed: int) -> None:
    """Without noise the missing half is recovered, as in Keshavan et al. (2010)."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 60))
    weights = (rng.random((80, 60)) < 0.5).astype(float)
    U, V = als(weights, np.where(weights > 0, truth, np.nan), 3, 1e-9, 60, rng)
    assert np.abs(U @ V.T - truth).max() < 1e-6


def test_the_spectral_start_points_at_the_factors() -> None:
    """A full noiseless matrix: the start spans its row space, so one sweep gives the matrix."""
    rng = np.random.default_rng(8)
    truth = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 30)) * 5
    V = spectral(np.full((40, 30), 1e9), truth, 2, rng)
    rows = np.linalg.svd(truth - truth.mean(axis=0) / 2)[2]  # drawn half way to the column's mean
    overlap = np.linalg.svd(np.linalg.qr(V)[0].T @ rows[:2].T)[1]
    assert overlap.min() > 0.99


def test_rank_beyond_the_matrix_and_no_data() -> None:
    rng = np.random.default_rng(9)
    U, V = als(np.ones((3, 2)), np.eye(3)[:, :2], 4, 1e-6, 30, rng)
    assert np.abs(U @ V.T - np.eye(3)[:, :2]).max() < 1e-3
    U, V = als(np.zeros((3, 2)), np.full((3, 2), np.nan), 1, 1.0, 2, rng)
    assert not (U @ V.T).any()


def test_a_direction_that_the_start_lacks_is_found() -> None:
    """The start is never exactly orthogonal to a factor: then no sweep would leave the saddle."""
    assert completion.JITTER > 0
    truth = np.zeros((6, 4))
    V = spectral(np.ones((6, 4)), truth, 2, np.random.default_rng(1))
    assert np.abs(V).min() > 0


@pytest.mark.parametrize("name", ["rank", "ridge", "sweeps"])
def test_parameters_are_checked(name: str) -> None:
    values = {"rank": 1, "ridge": 1, "sweeps": 1} | {name: 0}
    with pytest.raises(ValueError, match=name):
        als(np.ones((2, 2)), np.ones((2, 2)), **values, rng=np.random.default_rng(1))
