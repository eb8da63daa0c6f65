"""Weighted k-means with missing cells: against all partitions, and its laws."""

from __future__ import annotations

import itertools
import time

import numpy as np
import numpy.typing as npt
import pytest

from lumpable.learners.fitting.lloyd import _Problem, lloyd
from lumpable.runs.measures import adjusted_rand

Matrix = npt.NDArray[np.float64]


def problem(
    S: int, K: int, r: int, noise: float, seed: int, missing: float = 0.3
) -> tuple[npt.NDArray[np.int64], Matrix, npt.NDArray[np.int64]]:
    """Return weights with gaps, means that are NaN there, and the true groups."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(S) % r)
    weights = rng.integers(1, 9, size=(S, K)) * (rng.random((S, K)) > missing)
    mean = rng.random((r, K))[group] + noise * rng.standard_normal((S, K))
    return weights, np.where(weights > 0, mean, np.nan), group


def loss(
    weights: npt.NDArray[np.int64], mean: Matrix, labels: npt.NDArray[np.int64], centres: Matrix
) -> float:
    """Return sum_ij w_ij (m_ij - B_{g(i) j})^2, which `lloyd` makes small."""
    w = np.asarray(weights, dtype=np.float64)
    away = np.where(w > 0, np.asarray(mean, dtype=np.float64) - centres[labels], 0.0)
    return float(np.sum(w * away**2))


def literal_loss(weights: npt.NDArray[np.int64], mean: Matrix, labels: list[int]) -> float:
    """The loss of a grouping with the best centres, cell by cell."""
    total = 0.0
    for b in set(labels):
        for j in range(mean.shape[1]):
            seen = [i for i, g in enumerate(labels) if g == b and weights[i, j] > 0]
            weight = sum(weights[i, j] for i in seen)
            centre = sum(weights[i, j] * mean[i, j] for i in seen) / max(weight, 1)
            total += sum(weights[i, j] * (mean[i, j] - centre) ** 2 for i in seen)
    return total


def best_of_all(weights: npt.NDArray[np.int64], mean: Matrix, groups: int) -> float:
    return min(
        literal_loss(weights, mean, [0, *rest])
        for rest in itertools.product(range(groups), repeat=len(mean) - 1)
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_over_all_partitions_is_reached_when_groups_are_apart(seed: int) -> None:
    weights, mean, _ = problem(8, 5, 3, 0.02, seed)
    labels, centres = lloyd(weights, mean, 3, np.random.default_rng(seed), starts=20)
    found = loss(weights, mean, labels, centres)
    assert found == pytest.approx(literal_loss(weights, mean, labels.tolist()))
    assert found == pytest.approx(best_of_all(weights, mean, 3))


@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_over_all_partitions_is_nearly_reached_in_noise(seed: int) -> None:
    weights, mean, _ = problem(7, 4, 2, 0.5, seed, missing=0.1)
    labels, centres = lloyd(weights, mean, 2, np.random.default_rng(seed), starts=50)
    found, best = loss(weights, mean, labels, centres), best_of_all(weights, mean, 2)
    assert best - 1e-9 <= found <= 1.05 * best + 1e-9


def test_true_groups_are_found() -> None:
    weights, mean, group = problem(300, 30, 6, 0.1, 1)
    labels, _ = lloyd(weights, mean, 6, np.random.default_rng(1), starts=10)
    assert adjusted_rand(labels, group) == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_no_iteration_adds_to_the_loss(seed: int) -> None:
    weights, mean, _ = problem(60, 8, 4, 0.5, seed)
    w = weights.astype(float)
    made = _Problem(w, np.where(w > 0, mean, 0.0))
    first = np.random.default_rng(seed).integers(6, size=60)
    first[first == 2] = 3  # an empty group, to be filled on the way
    losses = []
    for iterations in range(15):
        value, labels, centres = made.descend(first.copy(), 6, iterations)
        assert value == pytest.approx(loss(weights, mean, labels, centres))
        losses.append(value)
    assert np.all(np.diff(losses) <= 1e-9)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("seed", range(20))
def test_starts_are_in_all_groups_where_there_is_no_noise(seed: int) -> None:
    """k-means++: a context like one that was drawn before is not drawn."""
    weights, mean, group = problem(40, 5, 8, 0.0, seed, missing=0.0)
    made = _Problem(weights.astype(float), mean)
    labels = made.start(8, np.random.default_rng(seed))
    assert adjusted_rand(labels, group) == 1.0


def test_weights_count_as_copies() -> None:
    """A context of weight 2 w is two contexts of weight w with the same means."""
    weights, mean, _ = problem(12, 6, 3, 0.05, 4)
    for rng_seed in range(3):
        rng = np.random.default_rng(rng_seed)
        labels, centres = lloyd(2 * weights, mean, 3, rng, starts=30)
        doubled, copies = np.repeat(weights, 2, axis=0), np.repeat(mean, 2, axis=0)
        again, same = lloyd(doubled, copies, 3, np.random.default_rng(rng_seed), starts=30)
        assert adjusted_rand(np.repeat(labels, 2), again) == 1.0
        np.testing.assert_allclose(np.sort(centres[labels], axis=0), np.sort(same[again[::2]], 0))


def test_shift_and_scale_move_the_centres_along() -> None:
    weights, mean, _ = problem(40, 6, 3, 0.05, 5)
    labels, centres = lloyd(weights, mean, 3, np.random.default_rng(1))
    moved = 1000.0 + np.arange(6) + 8.0 * mean
    again, other = lloyd(weights, moved, 3, np.random.default_rng(1))
    assert adjusted_rand(labels, again) == 1.0  # starts may tie, so names may differ
    np.testing.assert_allclose(other[again], 1000.0 + np.arange(6) + 8.0 * centres[labels])


def test_the_order_of_contexts_does_not_matter_when_groups_are_apart() -> None:
    weights, mean, _ = problem(40, 6, 3, 0.02, 6)
    order = np.random.default_rng(2).permutation(40)
    labels, _ = lloyd(weights, mean, 3, np.random.default_rng(1), starts=20)
    again, _ = lloyd(weights[order], mean[order], 3, np.random.default_rng(1), starts=20)
    assert adjusted_rand(labels[order], again) == 1.0


def test_cells_that_no_member_saw_take_the_mean_of_the_arm_or_of_everything() -> None:
    weights = np.array([[4, 0, 0], [4, 0, 0], [4, 2, 0]])
    mean = np.array([[0.0, np.nan, 7.0], [0.0, 5.0, 7.0], [9.0, 6.0, np.inf]])
    labels, centres = lloyd(weights, mean, 2, np.random.default_rng(1))
    assert labels[0] == labels[1] != labels[2]
    everything = (4 * 9 + 2 * 6) / 14
    np.testing.assert_allclose(centres[labels[0]], [0.0, 6.0, everything])
    np.testing.assert_allclose(centres[labels[2]], [9.0, 6.0, everything])


def test_what_is_missing_is_not_looked_at() -> None:
    weights, mean, _ = problem(30, 6, 3, 0.2, 7)
    labels, centres = lloyd(weights, mean, 3, np.random.default_rng(1))
    other = np.where(weights > 0, mean, 1e6)
    again, same = lloyd(weights, other, 3, np.random.default_rng(1))
    np.testing.assert_array_equal(labels, again)
    np.testing.assert_array_equal(centres, same)


@pytest.mark.parametrize("groups", [1, 2, 5, 9, 12])
def test_every_group_has_members_if_there_are_enough(groups: int) -> None:
    same = np.full((9, 4), 0.5)  # all alike: every draw of a second centre falls on a copy
    labels, centres = lloyd(np.ones((9, 4)), same, groups, np.random.default_rng(1))
    assert len(np.unique(labels)) == min(groups, 9)
    assert centres.shape == (groups, 4)
    assert centres.dtype == np.float64
    assert labels.dtype == np.int64
    np.testing.assert_allclose(centres, 0.5)


def test_nothing_seen_is_no_error() -> None:
    labels, centres = lloyd(np.zeros((5, 3)), np.full((5, 3), np.nan), 2, np.random.default_rng(1))
    assert labels.shape == (5,)
    np.testing.assert_array_equal(centres, np.zeros((2, 3)))


def test_known_labels_are_never_made_worse() -> None:
    weights, mean, group = problem(60, 8, 5, 0.8, 9)
    labels, centres = lloyd(weights, mean, 5, np.random.default_rng(1), starts=0, known=group)
    assert loss(weights, mean, labels, centres) <= literal_loss(weights, mean, group.tolist())


def test_same_generator_same_groups_and_nothing_handed_in_changes() -> None:
    weights, mean, group = problem(50, 8, 4, 0.5, 10)
    kept = weights.copy(), mean.copy(), group.copy()
    first = lloyd(weights, mean, 4, np.random.default_rng(3), known=group)
    second = lloyd(weights, mean, 4, np.random.default_rng(3), known=group)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(kept, (weights, mean, group), strict=True):
        np.testing.assert_array_equal(a, b)


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="groups"):
        lloyd(np.ones((3, 2)), np.ones((3, 2)), 0, np.random.default_rng(1))
    with pytest.raises(ValueError, match="starts"):
        lloyd(np.ones((3, 2)), np.ones((3, 2)), 2, np.random.default_rng(1), starts=0)
    with pytest.raises(ValueError, match="iterations"):
        lloyd(np.ones((3, 2)), np.ones((3, 2)), 2, np.random.default_rng(1), iterations=0)


def test_a_thousand_contexts_take_no_time() -> None:
    weights, mean, _ = problem(1000, 100, 5, 0.3, 11, missing=0.8)
    lloyd(weights, mean, 5, np.random.default_rng(1), starts=1)
    started = time.process_time()
    lloyd(weights, mean, 5, np.random.default_rng(1))
    assert time.process_time() - started < 2.0  # 0.03 s of wall time on a laptop
