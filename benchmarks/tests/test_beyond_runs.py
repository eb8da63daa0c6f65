"""The benchmark of candidates: fair ratios, honest words about crossings, runs that go on."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import beyond
import beyond_page
import beyond_runs
import numpy as np
import pytest
from beyond_page import Cell
from beyond_runs import CLUSTERS, FORMS, METHODS, OURS, RANDOM, STANDARD, TOLD_T, Play, Size
from click.testing import CliRunner
from protocol.ratios import Ratio

from lumpable import Problem

HIDDEN = "hidden arms, 1000"
SMALL = Size(8, 6, 2)


def cell(n: int, regret: dict[str, float], *, world: str = RANDOM) -> Cell:
    return Cell(
        Size(n, n, 2), world, {name: [x, x] for name, x in regret.items()}, [1e9, 1e9], 60.0
    )


def test_examples() -> None:
    assert doctest.testmod(beyond_page) == (0, 3)
    assert doctest.testmod(beyond) == (0, 1)


# --- Plays --------------------------------------------------------------------------------------


def test_all_methods_meet_the_same_world() -> None:
    first, *others = (Play(SMALL, HIDDEN, method, 10**9, 5).made() for method in METHODS)
    assert all(np.array_equal(first.mean, other.mean) for other in others)
    assert (first.noise, first.sd) == ("gaussian", 1.0)
    assert np.ptp(first.mean) == pytest.approx(2 * 1000 * np.sqrt(2 * 14 / 1e9))


def test_only_one_form_is_told_the_horizon() -> None:
    problem = Problem(8, 6, 2)
    told = {name: make(problem, 10**9).parameters.get("horizon") for name, make in METHODS.items()}
    assert told.pop(TOLD_T) == 10**9
    assert set(told.values()) == {None}


def test_random_arms_lose_their_mean_gap() -> None:
    play = Play(SMALL, RANDOM, STANDARD, 10**6, 3)
    world = play.made()
    lost = np.mean([world.loss(np.full(8, arm)) for arm in range(6)])
    row = beyond_runs.played(play)
    assert row["at random"] == pytest.approx(1e6 * lost)
    assert 0 < row["regret"] < row["at random"]


def test_the_largest_sizes_leave_out_what_is_slow() -> None:
    assert Size(300, 300, 8).methods == tuple(METHODS)
    assert Size(600, 600, 8).methods == (*FORMS, STANDARD)


# --- Judging ------------------------------------------------------------------------------------


def test_a_bar_asks_how_many_times_below_algorithm_6() -> None:
    lost = {OURS: 10.0, TOLD_T: 4.0, CLUSTERS: 500.0, STANDARD: 1.0}
    cells = [cell(8, lost), cell(9, lost)]
    asked = {Size(8, 8, 2): 100.0}
    plain, told = beyond_page.bars(cells[0], asked)
    assert (plain.value, plain.met, plain.missed_by) == (50.0, False, 50.0)
    assert (told.value, told.met) == (125.0, True)
    shown = " ".join(beyond_page.bar_table(cells, asked).split())
    figures = "at least 100 | **missed:** 50.00 (0.00) | 125 (0) | standard: 500 (0) |"
    assert f"| (8, 8, 2) | random means | {figures}" in shown
    assert "(9, 9, 2)" not in shown
    said = beyond_page.verdict(cells, asked)
    assert said == "**1 of 2 bars met.** Missed: 1 with random means."


def test_a_crossing_lasts_and_is_no_luck() -> None:
    below, above, perhaps = Ratio(0.8, 0.05), Ratio(1.2, 0.05), Ratio(0.95, 0.05)
    assert beyond_page.crossing({1: below, 2: above, 3: below}) == "between 2 and 3"
    assert beyond_page.crossing({1: below, 2: above}) == "not by 2"
    assert beyond_page.crossing({1: below, 2: perhaps}) == "not by 2"


def test_one_size_has_no_crossing() -> None:
    lost = {OURS: 10.0, TOLD_T: 4.0, STANDARD: 20.0}
    about = beyond_page.About("Title", "command", "commit", "today", 10**9, 2)
    assert "crossing" not in beyond_page.page([cell(8, lost)], {}, about)
    both = beyond_page.page([cell(8, lost), cell(9, lost)], {}, about)
    assert "The crossing is where that begins" in both
    assert "| crossing" in both


def test_losses_are_counted_by_world_and_form() -> None:
    cells = [
        cell(n, {OURS: ours, TOLD_T: 1.0, STANDARD: 2.0}, world=world)
        for world in beyond_runs.WORLDS
        for n, ours in ((8, 1.0), (9, 3.0))
    ]
    plain = " ".join(beyond_page.loss_table(cells).split())
    worst, best = "1.50 (0.00) at (9, 9, 2)", "0.50 (0.00) at (8, 8, 2)"
    assert f"| candidates | random means | 1 of 2 | {worst} | {best} |" in plain
    assert "| candidates, told T | random means | 0 of 2 |" in plain


def test_a_page_without_bars_does_not_speak_of_them() -> None:
    lost = {OURS: 10.0, TOLD_T: 4.0, CLUSTERS: 500.0, STANDARD: 1.0}
    about = beyond_page.About("Title", "command", "commit", "today", 10**9, 2)
    assert "Against Algorithm 6" in beyond_page.page([cell(8, lost)], {Size(8, 8, 2): 9.0}, about)
    without = beyond_page.page([cell(9, lost)], {Size(8, 8, 2): 9.0}, about)
    assert without.startswith("# Title\n")
    assert "Against Algorithm 6" not in without
    assert "Against the standard algorithm" in without


# --- The command --------------------------------------------------------------------------------


def test_a_tiny_run_writes_a_page_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, rows = tmp_path / "page.md", tmp_path / "rows"
    words = ["--tiny", "--rows", str(rows), "--out", str(out)]
    done = CliRunner().invoke(beyond.main, words, catch_exceptions=False)
    assert done.exit_code == 0
    first = out.read_text()
    repeat = f"Made by `python benchmarks/beyond.py --tiny --out {out}`"
    assert repeat in first
    assert "8 of 8 bars met" in done.output
    (kept,) = rows.rglob("beyond.jsonl")
    every = kept.read_text().splitlines(keepends=True)
    assert len(every) == len(beyond.TINY) * len(beyond_runs.WORLDS) * len(METHODS) * 2

    kept.write_text("".join(every[:-1]) + every[-1][:9])  # it was stopped while it wrote
    again: list[str] = []
    played = beyond_runs.played

    def counted(play: Play) -> dict[str, float]:
        again.append(play.key)
        return played(play)

    monkeypatch.setattr(beyond_runs, "played", counted)
    CliRunner().invoke(beyond.main, words, catch_exceptions=False)
    assert len(again) == 1
    assert out.read_text() == first

    other = "(6, 6, 2) random means "
    left = [line for line in every if f'"{other}candidates ' not in line]  # neither of its seeds
    once = next(line for line in every if '"(6, 6, 2) hidden arms, 40 standard ' in line)
    left.remove(once)
    kept.write_text("".join(left) + every[-1][:9])
    done = CliRunner().invoke(beyond.main, [*words, "--kept"], catch_exceptions=False)
    assert len(again) == 1  # nothing was run
    assert "8 of 8 bars met" in done.output
    part = out.read_text()
    assert repeat in part  # with --kept it would run nothing
    assert "Not run yet:\n\n- (6, 6, 2): random means\n" in part
    single = part.partition("One seed, so that no error can be given")[2]
    assert re.search(r"\| \(6, 6, 2\) +\| hidden arms, 40 \| \d\.\d\d +\| \d\.\d\d", single)
    assert "(6, 6, 2) | random means" not in " ".join(part.split())
    assert kept.read_text().endswith(every[-1][:9])  # a reader changes nothing


def test_sizes_are_those_asked_for() -> None:
    assert beyond.chosen([(9, 8, 2), (9, 8, 2)], quick=True, large=True) == [Size(9, 8, 2)]
    assert beyond.chosen([], quick=False, large=False) == list(beyond.SIZES)
    assert Size(5000, 5000, 8) in beyond.chosen([], quick=False, large=True)
    assert set(beyond.TIMES) <= set(beyond.chosen([], quick=True, large=False))
