"""Worlds: sizes, frequencies, tables and files; what is wrong is named."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import lumpable as lb
from lumpable import worlds
from lumpable.runs.answers import answer

MEAN = [[0.1, 0.9, 0.5], [0.8, 0.2, 0.3]]
ROWS = [
    {"context": context, "arm": arm, "mean": MEAN[i][j]}
    for i, context in enumerate(["ann", "bob"])
    for j, arm in enumerate(["x", "y", "z"])
]


@given(
    contexts=st.integers(1, 60),
    groups=st.integers(1, 60),
    sizes=st.sampled_from(["equal", "geometric", "giant"]),
    frequency=st.sampled_from(["uniform", "zipf"]),
    means=st.sampled_from(["uniform", "hard"]),
    seed=st.integers(0, 100),
)
def test_lumpable_worlds(
    contexts: int, groups: int, sizes: str, frequency: str, means: str, seed: int
) -> None:
    groups = min(groups, contexts)
    world = worlds.lumpable(
        contexts, 5, groups, sizes=sizes, frequency=frequency, means=means, seed=seed
    )
    count = np.bincount(world.group, minlength=groups)
    assert world.groups == groups
    assert count.min() >= 1
    assert count.sum() == contexts
    if sizes == "equal":
        assert count.max() - count.min() <= 1
    if sizes == "giant":
        assert sorted(count)[:-1] == [1] * (groups - 1)
    if sizes == "geometric":
        assert (np.diff(count) <= 0).all()
    for b in range(groups):
        rows = world.mean[world.group == b]
        assert (rows == rows[0]).all()
    assert world.frequency.sum() == pytest.approx(1)
    assert world.group_frequency.sum() == pytest.approx(1)
    assert world.loss(world.policy) == 0
    assert world.mean.min() >= 0
    assert world.mean.max() <= 1


def test_geometric_sizes_halve() -> None:
    world = worlds.lumpable(1000, 3, 5, sizes="geometric", seed=1)
    count = np.bincount(world.group)
    assert np.allclose(count[1:] / count[:-1], 0.5, atol=0.05)


def test_zipf_frequencies() -> None:
    world = worlds.lumpable(100, 3, 5, frequency="zipf", seed=1)
    expected = 1 / np.arange(1, 101)
    assert np.allclose(np.sort(world.frequency)[::-1], expected / expected.sum())


def test_the_groups_are_hidden() -> None:
    """The order of contexts says nothing: neighbours are together as often as chance has it."""
    world = worlds.lumpable(2000, 3, 4, seed=3)
    together = int((world.group[1:] == world.group[:-1]).sum())
    assert abs(together - 1999 / 4) < 6 * np.sqrt(1999 * 3 / 16)


def test_given_sizes_means_and_frequencies() -> None:
    frequency = [0.5, 0.25, 0.25, 0.0]
    world = worlds.lumpable(
        4, 2, 2, sizes=[3, 1], means=[[0, 1], [1, 0]], frequency=frequency, seed=1
    )
    assert np.bincount(world.group).tolist() == [3, 1]
    assert world.frequency.tolist() == frequency
    assert np.array_equal(world.policy, 1 - world.group)
    assert world.loss(world.group) == 1.0
    expected = [world.frequency[world.group == b].sum() for b in (0, 1)]
    assert world.group_frequency.tolist() == pytest.approx(expected)


def test_low_rank() -> None:
    world = worlds.low_rank(30, 20, 3, seed=2)
    assert np.linalg.matrix_rank(world.mean) == 3
    assert world.groups == 30


@pytest.mark.parametrize("case", [1, 2, 3])
def test_hard_instances(case: int) -> None:
    contexts, arms, groups = (400, 5, 8) if case == 1 else (400, 20, 4)
    world = worlds.hard(case, contexts, arms, groups, epsilon=0.05, seed=4)
    assert world.noise == "bernoulli"
    gap = world.best - np.sort(world.mean, axis=1)[:, -2]
    assert np.allclose(gap, 0.2)  # 4 epsilon: with the printed gap every policy would do
    comes = world.frequency > 0
    assert comes.sum() == (groups if case == 3 else contexts)
    assert np.allclose(world.frequency[comes], 1 / comes.sum())
    kinds = {1: arms, 2: groups, 3: groups}[case]
    if case != 3:
        count = np.bincount(world.policy, minlength=kinds)
        assert len(count) == kinds
        assert np.abs(count - contexts / kinds).max() < 6 * np.sqrt(contexts / kinds)
    assert world.groups == kinds


def test_hard_gap_can_be_given() -> None:
    world = worlds.hard(2, 10, 4, 2, epsilon=0.05, gap=0.05, seed=1)
    assert world.loss(1 - world.policy) <= 0.05 + 1e-12  # the printed gap: nothing to prove


def test_low_frequency_does_no_harm() -> None:
    """A context that never comes: a run goes through, and it is never visited."""
    world = worlds.hard(3, 9, 4, 3, epsilon=0.1, seed=2)
    problem = lb.Problem(9, 4, 3)
    seen = np.zeros(9, dtype=np.int64)

    def watch(step: lb.Step) -> None:
        nonlocal seen
        seen = seen + step.sample.plays.sum(axis=1)

    run = lb.simulate(
        lb.pac.any_contexts(problem, epsilon=0.1, delta=0.1), world, seed=1, watch=watch
    )
    assert (seen[3:] == 0).all()
    assert world.loss(run.policy) <= 1


def test_who_never_comes_is_never_visited() -> None:
    """numpy's multinomial hands its rounding remainder to the last cell, whatever its frequency."""
    frequency = np.append(np.full(10, 0.1), 0.0)
    world = worlds.from_matrix(np.zeros((11, 2)), frequency=frequency)
    request = lb.Collect(10**15, 1, np.ones((11, 2), dtype=bool))
    for seed in range(300):
        assert answer(request, world, np.random.default_rng(seed)).visits[10] == 0


# --- A matrix of one's own ------------------------------------------------------------------


def test_from_matrix() -> None:
    world = worlds.from_matrix([[0.2, 0.4], [0.4, 0.2], [0.2, 0.4]], frequency=[0.5, 0.5, 0])
    assert world.group.tolist() == [0, 1, 0]
    assert world.policy.tolist() == [1, 0, 1]
    assert world.group_frequency.tolist() == [0.5, 0.5]


def test_the_matrix_is_copied() -> None:
    matrix = np.array(MEAN)
    world = worlds.from_matrix(matrix)
    matrix[0, 0] = 0.7
    assert world.mean[0, 0] == 0.1
    with pytest.raises(ValueError, match="read-only"):
        world.mean[0, 0] = 0.7


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame(ROWS), pl.DataFrame(ROWS), pa.Table.from_pylist(ROWS)],
    ids=["pandas", "polars", "pyarrow"],
)
def test_from_frame(frame: Any) -> None:
    world = worlds.from_frame(frame)
    assert world.mean.tolist() == MEAN
    assert world.context_names == ("ann", "bob")
    assert world.arm_names == ("x", "y", "z")


def test_from_frame_with_other_names() -> None:
    frame = pl.DataFrame(ROWS).rename({"context": "user", "arm": "offer", "mean": "clicks"})
    world = worlds.from_frame(frame, context="user", arm="offer", mean="clicks")
    assert world.mean.tolist() == MEAN


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"means{suffix}"
    if suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["context", "arm", "mean"])
            writer.writeheader()
            writer.writerows(ROWS)
    else:
        parquet.write_table(pa.Table.from_pylist(ROWS), path)
    world = worlds.read(path, noise="bernoulli")
    assert world.mean.tolist() == MEAN
    assert world.arm_names == ("x", "y", "z")


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


BAD_FILES = {
    "nothing.csv": ("context,arm,mean\n", "expected at least one"),
    "columns.csv": ("user,arm,mean\n1,2,0.5\n", "expected columns context, arm, mean, or names"),
    "twice.csv": ("context,arm,mean\na,x,0.5\na,x,0.5\n", r"got \('a', 'x'\) twice"),
    "hole.csv": ("context,arm,mean\na,x,0.5\nb,y,0.5\n", r"got none for \('a', 'y'\)"),
    "blank.csv": ("context,arm,mean\na,x,\n", r"got none for \('a', 'x'\)"),
    "word.csv": ("context,arm,mean\na,x,much\n", "expected a number, got 'much' for context 'a'"),
    "nan.csv": ("context,arm,mean\na,x,nan\n", "got none for"),
    "wide.csv": ("context,arm,mean\na,x,0\na,y,5\n", "divide the means and the sd by 5"),
    "means.txt": ("", r"ends in \.csv, .* or \.npy, got 'means.txt'"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(tmp_path: Path, name: str) -> None:
    text, named = BAD_FILES[name]
    with pytest.raises(ValueError, match=named):
        worlds.read(write(tmp_path / name, text))


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "means.csv"
    path.write_bytes(b"context,arm,mean\n\xff\xfe,x,0.5\n")
    with pytest.raises(ValueError, match=r"means\.csv' is not UTF-8 text"):
        worlds.read(path)


def test_no_file() -> None:
    with pytest.raises(ValueError, match=r"path: no such file: 'nowhere\.csv'"):
        worlds.read("nowhere.csv")


Build = Callable[[], object]


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (
            lambda: worlds.from_matrix([[0.1, np.nan]]),
            "got nan at context 0, arm 1",
        ),
        (lambda: worlds.from_matrix([[0.1, np.inf]]), "finite numbers, got inf"),
        (lambda: worlds.from_matrix([0.1, 0.2]), r"expected a \(contexts, arms\) array"),
        (lambda: worlds.from_matrix([[]]), r"expected a \(contexts, arms\) array"),
        (lambda: worlds.from_matrix([["a"]]), r"expected a \(contexts, arms\) array"),
        (lambda: worlds.from_matrix([[0, 2]]), "span at most 1, got 2 at context 0"),
        (lambda: worlds.from_matrix([[2.0]], noise="bernoulli"), r"needs means in \[0, 1\]"),
        (lambda: worlds.from_matrix([[1.0]], noise="normal"), "noise: expected one of gaussian"),
        (lambda: worlds.from_matrix([[1.0]], sd=-1), "sd: expected"),
        (lambda: worlds.from_matrix([[1.0]], sd=np.nan), "sd: expected"),
        (lambda: worlds.from_matrix([[1.0]], frequency=[0.5]), "add up to 1, got 0.5"),
        (lambda: worlds.from_matrix([[1.0]], frequency=[0.5, 0.5]), "expected 1 numbers"),
        (lambda: worlds.from_matrix([[1], [1]], frequency=[2, -1]), "no negative"),
        (lambda: worlds.from_matrix([[1.0]], frequency="often"), "frequency: expected one of"),
        (lambda: worlds.from_frame([1, 2]), "expected a data frame, got list"),
        (lambda: worlds.from_frame(pl.DataFrame({"a": [1]})), "expected a column 'context'"),
        (lambda: worlds.lumpable(3, 2, 4, seed=1), "groups: expected one of 1 .. 3, got 4"),
        (lambda: worlds.lumpable(3, 2, 2, sizes=[1, 1], seed=1), "sizes: expected 2 numbers"),
        (lambda: worlds.lumpable(3, 2, 2, sizes="odd", seed=1), "sizes: expected one of"),
        (lambda: worlds.lumpable(3, 2, 2, means=[[1, 0]], seed=1), "means: expected shape"),
        (lambda: worlds.lumpable(3, 2, 2, means="odd", seed=1), "means: expected one of"),
        (lambda: worlds.lumpable(3, 2, 2, seed=-1), "seed: expected"),
        (lambda: worlds.low_rank(3, 2, 3, seed=1), "rank: expected one of 1 .. 2, got 3"),
        (lambda: worlds.hard(4, 3, 2, 2, epsilon=0.1, seed=1), "case: expected one of 1 .. 3"),
        (lambda: worlds.hard(1, 9, 5, 4, epsilon=0.1, seed=1), "groups: case 1 needs at least"),
        (lambda: worlds.hard(2, 9, 5, 6, epsilon=0.1, seed=1), "groups: case 2 needs at most"),
        (lambda: worlds.hard(2, 9, 5, 1, epsilon=0.1, seed=1), "groups: expected one of 2 .. 9"),
        (lambda: worlds.hard(2, 9, 5, 2, epsilon=0.2, seed=1), "epsilon: expected"),
    ],
)
def test_bad_worlds(build: Build, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        build()


@pytest.mark.parametrize(
    ("policy", "named"),
    [
        ([0], "expected 2 arms"),
        ([0, 3], "expected arms 0 .. 2, got 3"),
        ([0, -1], "expected arms 0 .. 2, got -1"),
        ([0.0, 1.0], "expected 2 arms"),
    ],
)
def test_bad_policies(policy: list[Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        worlds.from_matrix(MEAN).loss(policy)


def test_a_plan_of_another_size() -> None:
    plan = lb.standard.naive(lb.Problem(3, 3, 1), epsilon=0.5, delta=0.1)
    with pytest.raises(ValueError, match="asks about 3 contexts and 3 arms, the world has 2 and 3"):
        lb.simulate(plan, worlds.from_matrix(MEAN), seed=1)


def test_more_rounds_than_can_be_counted() -> None:
    plan = lb.standard.naive(lb.Problem(2, 3, 1), epsilon=1e-9, delta=0.1)
    with pytest.raises(ValueError, match="give the run a horizon, or a larger epsilon"):
        lb.simulate(plan, worlds.from_matrix(MEAN), seed=1)


def test_loud_noise_is_noted() -> None:
    plan = lb.standard.naive(lb.Problem(2, 3, 1), epsilon=0.5, delta=0.1)
    run = lb.simulate(plan, worlds.from_matrix(MEAN, sd=2.0), seed=1)
    assert run.notes == ("noise sd 2 is above 1: outside the theorems' assumptions",)


def test_rewards_round_by_round() -> None:
    """A Bernoulli reward is 0 or 1 with the right mean; a Gaussian one has mean and sd."""
    rng = np.random.default_rng(1)
    coin = worlds.from_matrix(MEAN, noise="bernoulli")
    flips = np.array([coin.reward(0, 1, rng) for _ in range(4000)])
    assert set(flips) == {0.0, 1.0}
    assert abs(flips.mean() - 0.9) < 6 * np.sqrt(0.09 / 4000)
    bell = worlds.from_matrix(MEAN, sd=0.5)
    draws = np.array([bell.reward(1, 2, rng) for _ in range(4000)])
    assert abs(draws.mean() - 0.3) < 6 * 0.5 / np.sqrt(4000)
    assert draws.std() == pytest.approx(0.5, rel=0.1)


def test_a_part_of_a_world() -> None:
    mean = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    whole = lb.World(
        mean,
        np.array([0.5, 0.3, 0.2]),
        np.array([0, 1, 0]),
        sd=0.7,
        name="three",
        context_names=("x", "y", "z"),
        arm_names=("a", "b"),
    )
    part = whole.part(np.array([0, 2]))
    np.testing.assert_array_equal(part.mean, whole.mean[[0, 2]])
    np.testing.assert_allclose(part.frequency, [5 / 7, 2 / 7])
    np.testing.assert_array_equal(part.group, whole.group[[0, 2]])
    assert (part.noise, part.sd, part.name) == (whole.noise, whole.sd, whole.name)
    assert part.context_names == ("x", "z")
    assert part.arm_names == whole.arm_names == ("a", "b")


def test_a_part_that_never_comes_is_taken_to_come_evenly() -> None:
    whole = lb.World(np.eye(4), np.array([0.5, 0.0, 0.0, 0.5]), np.arange(4))
    np.testing.assert_array_equal(whole.part(np.array([1, 2])).frequency, [0.5, 0.5])
    np.testing.assert_array_equal(whole.part(np.array([0, 1])).frequency, [1.0, 0.0])


def test_parts_cover_the_whole() -> None:
    """Bucket by bucket, what comes how often adds up again, and so does a policy's loss."""
    whole = lb.worlds.lumpable(9, 4, 3, frequency="zipf", seed=2)
    policy = np.arange(9) % 4
    buckets = [np.array([0, 4, 7]), np.array([1, 2]), np.array([3, 5, 6, 8])]
    mass = [whole.frequency[bucket].sum() for bucket in buckets]
    parts = [whole.part(bucket) for bucket in buckets]
    for part, bucket, weight in zip(parts, buckets, mass, strict=True):
        np.testing.assert_allclose(part.frequency * weight, whole.frequency[bucket])
    loss = sum(w * p.loss(policy[b]) for w, p, b in zip(mass, parts, buckets, strict=True))
    assert loss == pytest.approx(whole.loss(policy))
