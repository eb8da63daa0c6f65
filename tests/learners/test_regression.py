"""The regression oracles: each against a least-squares problem written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lumpable as lb
from lumpable.base.arrays import FloatMatrix
from lumpable.learners.fitting import regression
from lumpable.learners.fitting.regression import Oracle, additive, fit, log_size


def told(world: lb.World, rounds: int, seed: int) -> tuple[FloatMatrix, FloatMatrix]:
    """Plays and sums of random rounds."""
    rng = np.random.default_rng(seed)
    plays, sums = np.zeros((2, *world.mean.shape))
    for _ in range(rounds):
        i, j = int(rng.integers(world.contexts)), int(rng.integers(world.arms))
        plays[i, j] += 1
        sums[i, j] += world.reward(i, j, rng)
    return plays, sums


@pytest.mark.parametrize(("S", "K", "rounds"), [(7, 4, 60), (3, 9, 15), (5, 5, 4)])
def test_additive_is_the_ridge_regression_written_out(S: int, K: int, rounds: int) -> None:
    """One row a play, one column a context and an arm: the same to 1e-10."""
    world = lb.worlds.lumpable(S, K, 2, seed=1)
    rng = np.random.default_rng(2)
    plays, sums = np.zeros((2, S, K))
    X, y = [], []
    for _ in range(rounds):
        i, j = int(rng.integers(S)), int(rng.integers(K))
        reward = world.reward(i, j, rng)
        plays[i, j] += 1
        sums[i, j] += reward
        X.append([float(k in (i, S + j)) for k in range(S + K)])
        y.append(reward)
    A = np.array(X)
    left = A.T @ A + np.eye(S + K)
    theta = np.linalg.solve(left, A.T @ np.array(y))
    assert np.allclose(additive(plays, sums), theta[:S, None] + theta[S:], atol=1e-10)
    middle = np.mean(y)
    about = np.linalg.solve(left, A.T @ (np.array(y) - middle))
    inside = np.clip(middle + about[:S, None] + about[S:], *_range(plays, sums))
    found = fit(Oracle("additive", 8, 3), plays, sums, np.random.default_rng(0)).prediction
    assert np.allclose(found, inside, atol=1e-10)


def _range(plays: FloatMatrix, sums: FloatMatrix) -> tuple[float, float]:
    """The least and the largest of the cells' means, and of the middle."""
    means = [*(sums[plays > 0] / plays[plays > 0]), sums.sum() / plays.sum()]
    return float(min(means)), float(max(means))


def test_what_is_extrapolated_is_clipped() -> None:
    """Good context and good arm, never seen together: no better than the best that was seen."""
    plays = np.array([[100.0, 100.0], [100.0, 0.0]])
    sums = np.array([[10.0, 90.0], [90.0, 0.0]])
    assert additive(plays, sums)[1, 1] > 1.2
    found = fit(Oracle("additive", 8, 3), plays, sums, np.random.default_rng(0)).prediction
    assert found[1, 1] == 0.9


def test_cells_are_means_with_one_more_play() -> None:
    world = lb.worlds.lumpable(4, 3, 2, seed=1)
    plays, sums = told(world, 25, 3)
    found = fit(Oracle("cells", 8, 3), plays, sums, np.random.default_rng(0))
    middle = sums.sum() / 25
    for i in range(4):
        for j in range(3):
            assert found.prediction[i, j] == pytest.approx(
                (sums[i, j] + middle) / (plays[i, j] + 1)
            )
    assert found.labels is None


@pytest.mark.parametrize("clusters", [3, 5])
def test_lumpable_pools_its_clusters(clusters: int) -> None:
    """Well apart: contexts of a cluster share a group, and a cluster predicts its pooled means."""
    world = lb.worlds.lumpable(30, 6, 3, sd=0.1, seed=4)
    plays, sums = told(world, 3000, 5)
    found = fit(Oracle("lumpable", clusters, 3), plays, sums, np.random.default_rng(0))
    assert found.labels is not None
    middle = sums.sum() / plays.sum()
    for label in range(found.labels.max() + 1):
        members = np.flatnonzero(found.labels == label)
        assert len(set(world.group[members])) == 1
        mean = (sums[members].sum(axis=0) + middle) / (plays[members].sum(axis=0) + 1)
        assert np.allclose(found.prediction[members], mean)
    assert len(set(found.labels)) == clusters


def test_low_rank_finds_a_matrix_of_low_rank() -> None:
    """Half of the cells unseen, 200 plays of the others: a tenth of the cells' own error."""
    rng = np.random.default_rng(6)
    truth = 0.5 + 0.3 * rng.normal(size=(40, 2)) @ rng.normal(size=(2, 30))
    plays = np.where(rng.random((40, 30)) < 0.5, 200.0, 0.0)
    sums = plays * truth + np.sqrt(plays) * 0.3 * rng.normal(size=(40, 30))
    errors = {}
    for kind in ("low rank", "cells"):
        found = fit(Oracle(kind, 8, 2), plays, sums, np.random.default_rng(0)).prediction
        errors[kind] = float(np.mean((found - truth) ** 2))
    assert errors["low rank"] < 0.1 * errors["cells"]


@pytest.mark.parametrize("kind", regression.ORACLES)
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_unit_of_rewards_does_not_matter(kind: str, factor: float) -> None:
    """The same policy, from predictions that are as many times as large."""
    plays, sums = told(lb.worlds.lumpable(30, 6, 3, sd=0.5, seed=4), 600, 5)
    one, other = (
        fit(Oracle(kind, 5, 2), plays, x, np.random.default_rng(0)).prediction
        for x in (sums, factor * sums)
    )
    assert np.allclose(other / factor, one, rtol=1e-9)
    assert one.std() > 0.1
    assert one.argmax(axis=1).tolist() == other.argmax(axis=1).tolist()


@pytest.mark.parametrize("kind", regression.ORACLES)
def test_predictions_stay_in_the_range_of_the_means(kind: str) -> None:
    """One play of a few cells, far from 0; and nothing at all."""
    for shape in ((6, 5), (1, 4), (4, 1), (1, 1)):
        plays: FloatMatrix = np.zeros(shape)
        assert not fit(Oracle(kind, 8, 3), plays, plays, np.random.default_rng(0)).prediction.any()
        plays[0, 0] = plays[-1, -1] = 1
        sums = 1000.0 * plays
        sums[0, 0] += 7
        found = fit(Oracle(kind, 8, 3), plays, sums, np.random.default_rng(0)).prediction
        assert found.shape == shape
        assert found.min() >= 1000
        assert found.max() <= 1007


def test_sizes_of_the_classes() -> None:
    assert log_size(Oracle("cells", 8, 3), 200, 50) == 10_000
    assert log_size(Oracle("additive", 8, 3), 200, 50) == 250
    assert log_size(Oracle("lumpable", 8, 3), 200, 50) == pytest.approx(200 * math.log(8) + 400)
    assert log_size(Oracle("lumpable", 8, 3), 1, 50) == 50
    assert log_size(Oracle("low rank", 8, 3), 200, 50) == 750


def test_words() -> None:
    with pytest.raises(ValueError, match="oracle: expected one of cells, additive, lumpable, low"):
        regression.make_oracle("trees", 8, 3)
    with pytest.raises(ValueError, match="clusters: expected a whole number of at least 1, got 0"):
        regression.make_oracle("cells", 0, 3)
    with pytest.raises(ValueError, match="rank: expected a whole number of at least 1, got 0"):
        regression.make_oracle("cells", 8, 0)
