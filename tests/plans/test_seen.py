"""Samples made of what was seen are those made of matrices; work on pairs is work on matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lumpable as lb
from lumpable.plans.pairs import as_sets, best_pair, most_in_a_row, raised
from lumpable.plans.seen import Sample, Seen
from lumpable.runs.answers import answer

seeds = st.integers(0, 10**6)


def matrices(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Plays and means of some size; often few pairs are seen, sometimes none."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 7, size=2))
    plays = rng.integers(0, 4, size=shape) * (rng.random(shape) < rng.choice([0.0, 0.2, 1.0]))
    return plays, np.where(plays > 0, rng.integers(-2, 3, size=shape) / 2, np.nan)


@given(seeds)
def test_both_makings_are_one_sample(seed: int) -> None:
    plays, mean = matrices(seed)
    whole = Sample(plays, mean)
    sparse = Sample.of(whole.shape, whole.seen)
    for sample in (whole, sparse):
        np.testing.assert_array_equal(sample.plays, plays)
        np.testing.assert_array_equal(sample.mean, mean)
        pairs, number, value = sample.seen
        assert pairs.tolist() == [i for i, n in enumerate(plays.ravel().tolist()) if n > 0]
        np.testing.assert_array_equal(number, plays.ravel()[pairs])
        np.testing.assert_array_equal(value, mean.ravel()[pairs])
    assert repr(sparse) == repr(whole)


def test_nothing_in_a_sample_can_be_changed() -> None:
    pairs, ones = np.array([1, 2]), np.array([0.5, 1.0])
    sample = Sample.of((2, 2), Seen(pairs, pairs, ones))
    for array in (*sample.seen, sample.plays, sample.mean):
        assert not array.flags.writeable
    with pytest.raises(AttributeError):
        sample.plays = sample.plays  # type: ignore[misc]
    assert pairs.flags.writeable  # the caller's own stays as it was


@given(seeds)
def test_values_are_raised_to_the_largest_lower_bound(seed: int) -> None:
    """Context by context in plain words; half of the bounds are equal."""
    plays, mean = matrices(seed)
    S, K = plays.shape
    rng = np.random.default_rng(seed)
    V = rng.choice([-math.inf, 0.0, 0.5], size=S)
    arm = np.array(rng.integers(0, K, size=S))
    pairs, _, lower = Sample(plays, mean).seen
    higher, now = raised(V, arm, pairs, lower, K)
    for i in range(S):
        bounds = {j: mean[i, j] for j in range(K) if plays[i, j] > 0}
        best = max(bounds.values(), default=-math.inf)
        if best > V[i]:
            first = min(j for j, bound in bounds.items() if bound == best)
            assert (higher[i], now[i]) == (best, first)
        else:
            assert (higher[i], now[i]) == (V[i], arm[i])


@given(seeds)
def test_sets_of_pairs(seed: int) -> None:
    plays, mean = matrices(seed)
    S, K = plays.shape
    among = plays > 0
    pairs = np.flatnonzero(among)
    np.testing.assert_array_equal(as_sets(pairs, S, K), among)
    assert most_in_a_row(pairs, K) == among.sum(axis=1).max()
    if among.any():
        i, j, value = best_pair(among, mean)
        assert value == mean[i, j] == mean[among].max()
        assert (i, j) == tuple(np.argwhere(among & (mean == value))[0])


@given(seeds)
def test_a_request_is_answered_where_it_asks(seed: int) -> None:
    """Whatever its exploration sets: plays add up to the finished ones of each context."""
    rng = np.random.default_rng(seed)
    S, K = rng.integers(1, 7, size=2)
    arms = rng.random((S, K)) < rng.choice([0.0, 0.3, 1.0])
    world = lb.worlds.lumpable(int(S), int(K), 1, noise="gaussian", sd=1.0, seed=seed)
    repeats = int(rng.integers(1, 4))
    found = answer(lb.Collect(int(rng.integers(1, 60)), repeats, arms), world, rng)
    plays = found.sample.plays
    assert not (plays[~arms]).any()
    np.testing.assert_array_equal(
        plays.sum(axis=1), np.where(arms.any(axis=1), found.visits // repeats, 0)
    )
    np.testing.assert_array_equal(np.isfinite(found.sample.mean), plays > 0)
