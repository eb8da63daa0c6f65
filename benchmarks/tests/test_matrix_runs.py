"""The benchmark of matrices: a fair choice of peers, draws of the user's own tables, no names."""

from __future__ import annotations

import doctest
import json
import math
import re
from pathlib import Path
from typing import Any

import matrices
import matrix_bars
import matrix_page
import matrix_runs
import numpy as np
import pytest
from click.testing import CliRunner
from matrix_bars import Judged
from matrix_runs import COINS, LAWS, OURS, REAL, Play, Problem
from protocol.ratios import Ratio

from lumpable.base.errors import BadArgument

MADE_UP = Problem("secret", "table.npy", COINS, (5, 3), (2, 4))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two families, of one and two matrices."""
    rng = np.random.default_rng(1)
    for family in ("apples", "pears"):
        (tmp_path / "data" / family).mkdir(parents=True)
    data = tmp_path / "data"
    np.save(data / "apples" / "a.npy", rng.random((20, 6)))
    np.savez(data / "pears" / "b.npz", mean=rng.random((6, 3)))
    (data / "pears" / "c.csv").write_text("who,x,y\nu,0.1,0.7\nv,0.5,0.2\nw,0.9,0.3\n")
    (data / "pears" / "notes.txt").write_text("no matrix")
    return data


def judged(family: str, value: float, *, noise: str = COINS, mark: int = 60, **of: Any) -> Judged:
    problem = Problem(family, of.get("name", "m.npy"), noise, (100, 30), (mark,))
    return Judged(problem, mark, Ratio(value, 0.0, "p"), Ratio(2 * value, 0.0, "best"), (9, 8))


def test_examples() -> None:
    assert doctest.testmod(matrix_bars) == (0, 1)


# --- The choice of a peer -----------------------------------------------------------------------


def test_a_peer_is_judged_on_the_seeds_that_did_not_choose_it() -> None:
    regrets = {OURS: [2.0] * 4, "even": [1.0, 9.0, 1.0, 9.0], "odd": [9.0, 1.0, 9.0, 1.0]}
    fair = matrix_bars.chosen_apart(regrets)
    assert fair.value == pytest.approx(2 / 9)
    assert fair.peer == "even / odd"
    regrets["third"] = [4.0] * 4
    hindsight = matrix_bars.best_in_hindsight(regrets)
    assert (hindsight.value, hindsight.peer) == (0.5, "third")


def test_choosing_apart_favours_nobody() -> None:
    """Law: learners that differ by luck alone have ratios of 1, to within six standard errors.

    A ratio of means of 40 has a bias of var / 40 = 0.00025 of its own.
    """
    rng = np.random.default_rng(3)
    fair, hindsight = [], []
    for _ in range(2000):
        drawn = {label: rng.gamma(100.0, 0.01, 40).tolist() for label in (OURS, *"abcdefgh")}
        fair.append(matrix_bars.chosen_apart(drawn).value)
        hindsight.append(matrix_bars.best_in_hindsight(drawn).value)
    error = np.std(fair) / math.sqrt(len(fair))
    assert abs(np.mean(fair) - 1) < 6 * error + 0.00025
    assert np.mean(hindsight) - 1 > 12 * error


def test_peers_that_failed_once_are_judged_nowhere() -> None:
    usual: dict[str, Any] = {"failed": {}, "size": [5, 3]}
    rows: list[dict[str, Any]] = [
        {**usual, "regret": {OURS: [1.0, 2.0], "a": [2.0, 2.0], "b": [0.1, 0.1]}},
        {**usual, "regret": {OURS: [1.0, 2.0], "a": [2.0, 2.0]}, "failed": {"b": "why"}},
    ]
    early, late = matrix_bars.judge(MADE_UP, rows)
    assert (early.mark, early.fair.value, early.hindsight.peer) == (2, 0.5, "a")
    assert (late.mark, late.fair.value, late.failed) == (4, 1.0, {"b": "why"})


# --- Bars ---------------------------------------------------------------------------------------


def test_means_are_over_matrices_then_over_families() -> None:
    found = [judged("x", 0.5), judged("x", 2.0), judged("y", 0.81)]
    bars = matrix_bars.folder_bars(
        [*found, *(judged("x", 1.2, noise=REAL), judged("y", 0.8, noise=REAL))],
        {"x": "family 1", "y": "family 2"},
    )
    coins, every, real, worst = bars
    assert (coins.high, every.high, real.high, worst.high) == (0.95, 1.1, 1.0, 1.1)
    assert coins.value == pytest.approx(0.9)  # sqrt(1 * 0.81)
    assert every.value == pytest.approx(1.0)
    assert every.met
    assert real.value == pytest.approx(math.sqrt(0.96))
    assert (worst.met, worst.note) == (False, "worst: family 1; 1 of 2")


@pytest.mark.parametrize(
    ("name", "noise", "most"),
    [("levels", COINS, 1.05), ("blocs", REAL, 1.1), ("two-point", COINS, 1.05),
     ("two-point", REAL, 1.2), ("two-point, levels", REAL, 1.1)],
)  # fmt: skip
def test_bars_of_made_worlds(name: str, noise: str, most: float) -> None:
    just, over = (judged("made", x, noise=noise, name=name) for x in (most, most + 0.01))
    assert name in matrix_runs.MADE
    assert [bar.met for bar in matrix_bars.made_bars([just, over])] == [True, False]


def test_the_page_names_no_family_and_no_file() -> None:
    found = [
        judged("secret", 0.7, noise=noise, mark=mark, name="hush.npy")
        for noise in LAWS
        for mark in (60, 300)
    ]
    made = [judged("made", 1.3, name="blocs")]
    bars = [
        *matrix_bars.folder_bars(found, matrix_page.called(found)),
        *matrix_bars.made_bars(made),
    ]
    about = matrix_page.About("python x", "`c0`", "2026-01-01", 2, 3.0, (100, 30), 10)
    text = matrix_page.page(bars, found, made, about)
    assert "secret" not in text
    assert "hush" not in text
    plain = " ".join(text.split())
    ratios = "0.70 (0.00) | 1.40 (0.00) | 0.70 (0.00) | 1.40 (0.00)"
    assert f"| family 1 | 1 | 0/1 | {ratios} | best |" in plain
    assert "| blocs | 0/1 | 1.30 (0.00) | 2.60 (0.00) | best |" in plain
    assert "**no, by 0.25**" in text
    assert all(f"`{name}`" in text for name in (*matrix_runs.SETTINGS, *matrix_runs.SHORT))


# --- Draws and plays ----------------------------------------------------------------------------


def test_a_seed_draws_contexts_and_arms_of_the_matrix(folder: Path) -> None:
    coins, real = matrix_runs.families(folder, (8, 4), (2,))[:2]
    mean = np.load(folder / "apples" / "a.npy")
    first, same, other = (coins.world(seed) for seed in (1, 1, 2))
    assert (first.contexts, first.arms, first.noise) == (8, 4, "bernoulli")
    assert np.array_equal(first.mean, same.mean)
    assert not np.array_equal(first.mean, other.mean)
    gauss = real.world(1)
    assert np.array_equal(gauss.mean, first.mean)
    assert (gauss.noise, gauss.sd) == ("gaussian", 0.3)
    rows = [np.flatnonzero(np.isin(mean, row).sum(axis=1) == 4).tolist() for row in first.mean]
    assert len({row[0] for row in rows if len(row) == 1}) == 8  # each from a row of its own
    whole = matrix_runs.families(folder, (100, 30), (2,))[0].world(1)
    assert np.array_equal(whole.mean, mean)


def test_folders_are_read_in_order_and_some_of_each_may_do(folder: Path) -> None:
    names = [each.name for each in matrix_runs.families(folder, (8, 4), (2,))]
    assert names == ["a.npy", "a.npy", "b.npz", "b.npz", "c.csv", "c.csv"]
    few = matrix_runs.families(folder, (8, 4), (2,), most=1)
    assert [each.name for each in few] == ["a.npy", "a.npy", "b.npz", "b.npz"]


@pytest.mark.parametrize(
    ("matrix", "why"),
    [([[0.5, 1.3]], "means in"), ([[0.2, 0.2], [0.4, 0.4]], "arms that differ")],
)
def test_matrices_that_cannot_be_played_are_named(
    matrix: list[list[float]], why: str, folder: Path
) -> None:
    np.save(folder / "pears" / "d.npy", np.array(matrix))
    with pytest.raises(BadArgument, match=rf"pears/d.npy.*{why}"):
        matrix_runs.families(folder, (8, 4), (2,))


@pytest.mark.parametrize("noise", LAWS)
def test_everybody_plays_and_loses_more_with_time(noise: str) -> None:
    (problem,) = (
        each for each in matrix_runs.made((8, 4), (2, 5))
        if (each.name, each.noise) == ("blocs", noise)
    )  # fmt: skip
    row = json.loads(json.dumps(matrix_runs.played(Play(problem, 3))))
    assert row["failed"] == {}
    assert list(row["regret"]) == [each["label"] for each in matrix_runs.learners(problem)]
    assert row["size"] == [8, 4]
    regret = np.array(list(row["regret"].values()))
    assert regret.shape == (15, 2)
    assert (regret[:, 0] >= 0).all()
    assert (regret[:, 0] <= regret[:, 1]).all()
    assert regret[:, 1].max() > 0


def test_peers_that_take_long_play_short_runs_only() -> None:
    labels = [
        {
            each["name"]
            for each in matrix_runs.learners(Problem("made", "blocs", REAL, (8, 4), marks))
        }
        for marks in ((60,), (60, 300))
    ]
    assert labels[0] - labels[1] == set(matrix_runs.SHORT)
    assert labels[1] < labels[0]


# --- The command --------------------------------------------------------------------------------


def test_the_command_writes_a_page_and_goes_on_where_it_was(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pears" / "b.npz").unlink()
    out, rows = tmp_path / "page.md", tmp_path / "rows"
    words = [str(folder), "--tiny", "--jobs", "1", "--rows", str(rows), "--out", str(out)]
    done = CliRunner().invoke(matrices.main, words, catch_exceptions=False)
    assert done.exit_code == 0
    assert "apples/a.npy, 0/1" in done.output
    first = without_minutes(out)
    assert "Made by `python benchmarks/matrices.py FOLDER --tiny`" in first
    assert "| family 2 | 1        | real " in first
    monkeypatch.setattr(matrix_runs, "played", lambda play: pytest.fail("played again"))
    CliRunner().invoke(matrices.main, words, catch_exceptions=False)
    assert without_minutes(out) == first


def without_minutes(page: Path) -> str:
    """Return a page but for how long it took, which is another time each time."""
    text, times = re.subn(r"in \d+ minutes", "", page.read_text())
    assert times == 1
    return text


def test_bad_arguments_are_one_line_and_exit_code_2(tmp_path: Path) -> None:
    out = tmp_path / "page.md"
    for words, why in (
        ([], "expected a FOLDER of matrices, or --made, got neither"),
        ([str(tmp_path), "--tiny"], "FOLDER: expected sub-folders of matrices"),
        ([str(tmp_path / "none")], "does not exist"),
    ):
        done = CliRunner().invoke(matrices.main, [*words, "--out", str(out)])
        assert done.exit_code == 2
        assert why in done.output
    assert not out.exists()
