"""The benchmark of laws: rewards as they come, an oracle that is one, bars that can be missed."""

from __future__ import annotations

import doctest
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import click
import law_bars
import law_page
import law_runs
import laws
import matrices
import numpy as np
import pytest
import resumed
from click.testing import CliRunner
from law_bars import Share
from law_runs import ITSELF, LOGGED, Case, Run
from protocol import frozen
from protocol.bars import Bar
from scipy import stats

import lumpable as lb
from lumpable.lumps.belief import advice
from lumpable.worlds.people import REWARDS

CASE = Case("poisson", 12, 4, 4, 30, LOGGED, 5)
RUN = Run(CASE, 4, 0, True, 0.8, 0.9, 1.1, 1.0, 1.0, 1.2, 1.3, 9, 10, True, 10, 6, 40, 36, 0.01)


def world_of(case: Case) -> lb.World:
    return lb.worlds.tastes(case.contexts, case.arms, case.groups, rewards=case.law, seed=case.seed)


@pytest.mark.parametrize("module", [law_runs, law_bars, resumed])
def test_examples(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


# --- Rewards ------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", REWARDS)
def test_a_log_has_the_means_of_its_law(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: the mean of n rewards lies within six standard errors of the true one."""
    monkeypatch.setattr(law_runs, "MOST_CELLS", 10_000)  # in several parts
    world = world_of(replace(CASE, law=law, contexts=4, arms=3))
    contexts, arms, rewards = law_runs.log(world, 4000, np.random.default_rng(1))
    assert np.bincount(contexts).tolist() == [4000] * 4
    variance = world.law.variance(world.mean)
    for i, j in np.ndindex(world.mean.shape):
        own = rewards[(contexts == i) & (arms == j)]
        assert abs(len(own) - 4000 / 3) < 6 * math.sqrt(4000 * 2 / 9)
        error = math.sqrt(variance[i, j] / len(own))
        assert abs(own.mean() - world.mean[i, j]) < 6 * error


def test_a_log_has_the_noise_of_each_context() -> None:
    """Law: a variance of n normal rewards has a relative standard error of sqrt(2 / n)."""
    world = world_of(replace(CASE, law="sd by context", contexts=5, arms=1))
    _, _, rewards = law_runs.log(world, 2000, np.random.default_rng(1))
    found = rewards.reshape(5, 2000).var(axis=1) / world.law.variance(world.mean)[:, 0]
    assert (np.abs(found - 1) < 6 * math.sqrt(2 / 2000)).all()


@pytest.mark.parametrize("law", ["bernoulli", "poisson", "student"])
def test_what_was_seen_is_what_came(law: str) -> None:
    case = replace(CASE, law=law)
    world = world_of(case)
    seen = law_runs.seen(law_runs.taught(world, case))
    contexts, arms, rewards = law_runs.log(world, case.pulls, np.random.default_rng([case.seed, 7]))
    for table, value in zip(seen, (rewards**0, rewards, rewards**2), strict=True):
        expected = np.zeros((case.contexts, case.arms))
        np.add.at(expected, (contexts, arms), value)
        np.testing.assert_allclose(table, expected, atol=1e-9)


@pytest.mark.parametrize("law", ["bernoulli", "sd by arm", "sd by context", "sd by mean"])
def test_the_oracle_has_the_largest_likelihood(law: str) -> None:
    """Reward by reward, by the densities of scipy."""
    case = replace(CASE, law=law)
    world = world_of(case)
    told = law_runs.oracle(world, law_runs.seen(law_runs.taught(world, case)))
    contexts, arms, rewards = law_runs.log(world, case.pulls, np.random.default_rng([case.seed, 7]))
    likelihood = np.zeros((case.contexts, case.groups))
    for group in range(case.groups):
        m = np.tile(world.mean[world.group == group][0], (case.contexts, 1))
        sd = np.sqrt(world.law.variance(m))[contexts, arms]
        mean = m[contexts, arms]
        each = (
            stats.bernoulli.logpmf(rewards, mean)
            if law == "bernoulli"
            else stats.norm.logpdf(rewards, mean, sd)
        )
        likelihood[:, group] = np.bincount(contexts, each)
    assert told.tolist() == likelihood.argmax(axis=1).tolist()
    assert len(set(told.tolist())) > 1


# --- Judging ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [LOGGED, ITSELF])
def test_a_run_comes_back_from_json_and_knows_the_truth(how: str) -> None:
    case = Case("gaussian", 40, 12, 4, 240, how, 3)
    row = law_runs.measured(case)
    run, world = Run.of(json.loads(json.dumps(row))), world_of(case)
    assert run.case == case
    assert run.best == pytest.approx(world.best.mean())
    assert max(run.value, run.raw, run.one, run.oracle) <= run.best + 1e-12
    assert run.one <= world.mean.mean(axis=0).max() + 1e-12
    assert run.middle_right <= run.middle
    assert run.sure_right <= run.sure
    assert run.middle + run.sure <= 40
    if how == LOGGED:  # 20 rewards a cell with sd 0.3 against tastes 0.2 apart
        assert (run.groups, run.ari, run.oracle_ari) == (4, 1.0, 1.0)
        assert run.intervals == 48
        assert run.oracle == pytest.approx(run.best)


@pytest.mark.parametrize(("low", "high", "covered"), [(0.0, 0.3, True), (0.26, 0.3, False)])
def test_a_lift_is_judged_by_contexts_as_often_as_they_came(
    low: float, high: float, covered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The context that gains 0.375 came three times, the other once: weights are 4/6 and 2/6."""
    world = lb.worlds.from_matrix([[0.1, 0.1 + 0.375], [0.5, 0.2]])
    learner: Any = SimpleNamespace(
        policy=lambda: np.array([1, 0]), state=SimpleNamespace(visits=np.array([3.0, 1.0]))
    )
    found = SimpleNamespace(one_arm=0, low=low, high=high)
    monkeypatch.setattr(advice, "lift", lambda *given, **named: found)
    assert law_runs.lifted(learner, world) == (0, covered)  # the truth is 0.25
    learner.policy = lambda: np.array([0, 0])
    assert law_runs.lifted(learner, world) == (0, None)


# --- Bars ---------------------------------------------------------------------------------------


def test_the_error_of_a_share_knows_that_runs_are_drawn() -> None:
    """Law: 2,000 repetitions know a standard deviation to 1.6 %, six of which are 10 %."""
    rng = np.random.default_rng(2)
    found = []
    for _ in range(2000):
        p = rng.choice([0.5, 1.0], 40)  # a run is good or bad as a whole
        found.append(Share(tuple(rng.binomial(20, p).astype(float)), (20.0,) * 40))
    spread = np.std([each.value for each in found])
    error = np.sqrt(np.mean([(each.error or 0.0) ** 2 for each in found]))
    assert abs(error / spread - 1) < 0.1
    assert Share((1.0,), (2.0,)).error is None
    assert math.isnan(Share((), ()).value)


def bar_of(runs: list[Run], words: str) -> Bar:
    (found,) = (bar for bar in law_bars.bars(runs, CASE.size, CASE.pulls) if words in bar.what)
    return found


def test_groups_where_there_are_none_are_counted() -> None:
    one = replace(RUN, case=replace(CASE, groups=1), groups=1, said=False)
    runs = [one] * 19 + [replace(one, said=True)]
    assert bar_of(runs, "one taste").met
    bar = bar_of([*runs, replace(one, groups=2)], "one taste")
    assert bar.met is False
    assert bar.value == pytest.approx(2 / 21)
    assert "directions in 1" in bar_of([*runs, replace(one, rank=1)], "one taste").note


def test_a_policy_that_is_worse_than_one_arm_is_counted_by_run_and_law() -> None:
    slightly, worse = replace(RUN, value=0.981), replace(RUN, value=0.9)
    bar = bar_of([slightly, RUN], "largest average: runs")
    assert (bar.met, bar.value) == (True, 0)
    bar = bar_of([worse, RUN], "largest average: runs")
    assert (bar.met, bar.value, bar.note) == (False, 1, "of 2: poisson 1")
    assert bar_of([worse, RUN], "largest average: laws").met
    assert not bar_of([worse, slightly], "largest average: laws").met
    assert not bar_of([replace(RUN, one=1.2)], "best by the posterior: runs").met


def test_four_tastes_are_judged_as_they_were_told() -> None:
    itself = replace(RUN, case=replace(CASE, how=ITSELF), groups=1, ari=0.1)
    bar = bar_of([RUN, itself], "told: 4 groups believed")
    assert (bar.met, bar.value, bar.note) == (True, 1.0, "1 runs; 0.00 if it plays itself")
    assert (bar := bar_of([RUN, itself], "poisson, told: ARI")).met is False
    assert bar.missed_by == pytest.approx(0.1)
    behind = bar_of([RUN, itself], "itself: ARI behind")
    assert behind.met is False
    assert behind.value == pytest.approx(0.8)
    other = replace(RUN, case=replace(CASE, pulls=7), ari=0.0)
    assert bar_of([RUN, other], "poisson, told: ARI").value == 0.8


def test_every_law_must_cover_and_the_worst_is_named() -> None:
    wide = replace(RUN, case=replace(CASE, law="stars"), covered=10)
    bar = bar_of([RUN, wide], "told: 90 % intervals of group means")
    assert (bar.met, bar.value) == (False, 1.0)
    assert bar.note == "worst: stars; 1 of 2 laws"
    none = replace(wide, covered=0, intervals=0)
    bar = bar_of([RUN, none], "told: 90 % intervals of group means")
    assert (bar.met, bar.value) == (True, 0.9)
    assert bar.note == "worst: poisson; 1 of 1 laws; nothing to judge under stars"
    assert bar_of([RUN], "itself: 90 % intervals of group means").met is None


def test_lifts_and_best_arms() -> None:
    runs = [RUN] * 9 + [replace(RUN, lift_covered=False), replace(RUN, lift_covered=None)]
    lift = bar_of(runs, "told: 90 % intervals of the lift")
    assert (lift.met, lift.value, lift.note) == (True, 0.9, "10 runs")
    best = bar_of([RUN], "told: said to be best")
    assert (best.met, best.value) == (True, 0.9)
    assert best.note.endswith("with 0.5 to 0.8: 0.60")
    assert not bar_of([replace(RUN, sure_right=31)], "told: said to be best").met


def test_the_page_shows_every_law_and_bar() -> None:
    one = replace(RUN, case=replace(CASE, groups=1), groups=2)
    runs = [RUN, replace(RUN, case=replace(CASE, pulls=90), ari=1.0), one]
    bars = law_bars.bars(runs, CASE.size, 30)
    text = law_page.page(bars, runs, law_page.About("python x", "`c0`", "2026-01-01", 2, 3.0))
    assert "## 12 contexts, 4 arms, 4 tastes: told a log" in text
    assert "## 12 contexts, 4 arms, one taste: told a log" in text
    assert "1 seeds; 30 / 90 rewards for each context." in text
    assert "| 0.80 / 1.00 " in text  # ARI
    assert "| +10.0% / +10.0% " in text  # over one arm
    assert "**no, by 0.95**" in text
    assert all(bar.what in text for bar in bars)


# --- The command --------------------------------------------------------------------------------


def test_the_command_writes_a_page_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(laws, "PULLS", (6,))
    out, rows = tmp_path / "laws.md", tmp_path / "rows"
    words = ["--tiny", "--seeds", "1", "--jobs", "1", "--rows", str(rows), "--out", str(out)]
    done = CliRunner().invoke(laws.main, words, catch_exceptions=False)
    assert done.exit_code == 0
    assert "one taste, bernoulli" in done.output
    first = out.read_text()
    assert "Made by `python benchmarks/laws.py --tiny --seeds 1`" in first
    (file,) = rows.rglob("*.jsonl")
    lines = file.read_text().splitlines(keepends=True)
    assert len(lines) == 8
    file.write_text("".join(lines[:-1]) + lines[-1][:30])  # stopped while it wrote
    again: list[Case] = []

    def counted(case: Case) -> dict[str, Any]:
        again.append(case)
        return measured(case)

    measured = law_runs.measured
    monkeypatch.setattr(law_runs, "measured", counted)
    CliRunner().invoke(laws.main, words, catch_exceptions=False)
    assert [case.key for case in again] == [json.loads(lines[-1])["key"]]
    assert len(resumed.kept(file)) == 8
    assert _without_times(out.read_text()) == _without_times(first)


def _without_times(page: str) -> list[str]:
    """Leave out times, and how wide their columns are."""
    lines = [re.sub("[ -]+", " ", line) for line in page.splitlines()]
    return [line.rpartition(" | ")[0] if " ms " in line else line for line in lines]


def test_changes_beside_the_commit_are_refused_unless_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frozen, "differs", lambda commit, paths: False)
    same = resumed.measure(laws.JUDGES, None, changed=False)
    assert (same.frozen, same.folder) == (True, same.commit[:12])
    monkeypatch.setattr(frozen, "differs", lambda commit, paths: "benchmarks/laws.py" in paths)
    with pytest.raises(click.ClickException, match="commit them, or add --changed"):
        resumed.measure(laws.JUDGES, None, changed=False)
    other = resumed.measure(laws.JUDGES, None, changed=True)
    assert other.folder.startswith(f"{same.folder}-")
    assert other.said == f"`{same.folder}`, **with changes that are not in it**"


def test_what_measures_is_in_the_commit() -> None:
    for judges in (laws.JUDGES, matrices.JUDGES):
        assert [path for path in judges if not (frozen.ROOT / path).exists()] == []


def test_one_that_fails_stops_no_other_and_is_named(tmp_path: Path) -> None:
    def inverse(x: float) -> float:
        return 1 / x

    with pytest.raises(RuntimeError, match=r"1 failed; none: ZeroDivisionError"):
        resumed.carry_out(inverse, {"none": 0, "half": 2}, tmp_path / "rows.jsonl", 1)
    assert resumed.kept(tmp_path / "rows.jsonl") == {"half": 0.5}


def test_cases_are_unlike_and_of_every_law() -> None:
    for quick in (False, True):
        every = laws.planned("abc", quick=quick, tiny=False, seeds=None, large=None)
        assert len({case.key for case in every}) == len(every)
        assert {case.law for case in every if case.size == laws.SMALL} == set(REWARDS)
        assert {case.groups for case in every} == {1, 4}
    assert not [
        case
        for case in laws.planned("abc", quick=True, tiny=False, seeds=2, large=0)
        if case.size == laws.LARGE
    ]
