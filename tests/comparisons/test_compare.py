"""Comparisons: the same rows wherever they are made, resumed by key, failures named."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import lumpable as lb
from lumpable.base import files, interrupts
from lumpable.base import fingerprint as source
from lumpable.cli import comparing as experiment_command
from lumpable.cli import main as cli
from lumpable.comparisons import cell as cells
from lumpable.comparisons import experiment as plan
from lumpable.comparisons import jobs, parquet, planned, rows, store
from lumpable.comparisons import running as runner
from lumpable.comparisons import toml as reading
from lumpable.comparisons.rows import COLUMNS, KEY, Row
from lumpable.runs.playing import checkpoints, play
from lumpable.worlds.scene import CHUNK, Scene, Tape
from twins import compared

WORLD = {"kind": "lumpable", "contexts": 8, "arms": 4, "groups": 2, "noise": "bernoulli"}
UCB = 'name = "ucb"\nlabel = "mine"\nwidth = 0.3'
ONE = 'name = "ucb-one"'
SLOW = 'name = "bad:Plain"\nlabel = "slow"\npause = 0.002'
QUICK = 'name = "bad:Plain"\nlabel = "slow"'
WORSE = """
import math
import sys

from bad import Plain


class Quits(Plain):
    def tell(self, context, arm, reward):
        sys.exit(3)


class NoWay(Plain):
    def policy(self):
        return [0.0] * 7 + [math.nan]


class NoGroup(Plain):
    def labels(self):
        return [0] * 7 + [math.nan]


class HalfGroups(Plain):
    def labels(self):
        return [0.0] * 8


class WordGroups(Plain):
    def labels(self):
        return ["a"] * 8


def mute(contexts, arms):
    return object()


class ByHand:
    def __init__(self, contexts, arms):
        self.ask, self.tell = (lambda context: 0), (lambda context, arm, reward: None)
"""


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget the modules and folders that an experiment brought along."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in ("bad", "worse"):
        sys.modules.pop(name, None)


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(cli.main, ["compare", *map(str, words)], prog_name="lumpable")


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "lumpable", "compare", *map(str, words)]


def compare(**changes: Any) -> lb.Comparison:
    said: dict[str, Any] = {"learners": ["ucb", "ucb-one"], "worlds": [WORLD], "horizon": 60}
    return lb.compare(**{**said, "seeds": 2, "jobs": 1, **changes})


def like(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without the parameters: those who take their time play as the others do."""
    return [{**row, "parameters": None} for row in rows]


def timeless(found: lb.Comparison) -> list[dict[str, Any]]:
    return [compared.timeless(row) for row in found.rows()]


# --- Rows -------------------------------------------------------------------------------------


def test_rows_have_the_columns_and_the_order_that_is_promised() -> None:
    found = compare(seeds=[3, 1], worlds=[WORLD, {**WORLD, "arms": 3}])
    rows = found.rows()
    assert list(asdict(rows[0])) == list(COLUMNS)
    cells = list(dict.fromkeys((row.learner, row.arms, row.seed) for row in rows))
    titles = ("UCB1 per context", "UCB1, one for all")
    assert cells == [(name, arms, seed) for name in titles for arms in (4, 3) for seed in (3, 1)]
    for cell in cells:
        of = [row for row in rows if (row.learner, row.arms, row.seed) == cell]
        assert [row.round for row in of] == checkpoints(60)
        assert {row.status for row in of} == {"done"}
    assert {row.parameters for row in rows} == {"{}", '{"pooled": true}'}
    assert {(row.contexts, row.groups, row.horizon) for row in rows} == {(8, 2, 60)}
    assert found.cells == {"done": 8}


def test_same_seed_same_rows_and_other_seeds_others() -> None:
    first, again = compare(), compare()
    assert timeless(first) == timeless(again)
    regrets = {row.seed: row.regret for row in first.rows() if row.round == 60}
    assert regrets[0] != regrets[1]


def test_a_cell_is_what_play_gives() -> None:
    """The rows can be had by hand: the world, the tape and the learner from the seed alone."""
    row = compare(seeds=[5]).rows()[len(checkpoints(60)) - 1]
    world = lb.worlds.lumpable(8, 4, 2, noise="bernoulli", seed=5)
    learner = lb.learners.UCB1(8, 4, seed=cells.own_seed(5))
    by_hand = asdict(play(learner, world, horizon=60, seed=5).rows()[-1])
    assert {k: getattr(row, k) for k in by_hand if k != "seconds"} == {
        k: v for k, v in by_hand.items() if k != "seconds"
    }


class Witness:
    """Plays one arm and remembers whom it met, and what came."""

    met: tuple[list[tuple[int, float]], ...] = ([], [])

    def __init__(self, contexts: int, arms: int, *, number: int = 0) -> None:
        self.mine = self.met[number]

    def ask(self, context: int) -> int:
        return 0

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.mine.append((context, reward))


def test_all_learners_meet_the_same_contexts_and_the_same_luck() -> None:
    learners = {"a": {"name": Witness}, "b": {"name": Witness, "number": 1}}
    compare(learners=learners, worlds=[{**WORLD, "noise": "gaussian"}])
    first, second = Witness.met
    assert len(first) == 120
    assert first == second
    assert len({reward for _, reward in first}) == 120


def test_a_learner_has_luck_of_its_own() -> None:
    """No seed of a learner is that of a world or a tape, nor that of another cell."""
    seeds = [cells.own_seed(seed) for seed in range(2000)]
    assert len(set(seeds)) == 2000
    assert not set(seeds) & set(range(2000))


def test_worlds_are_drawn_anew_for_each_seed_and_given_ones_are_not() -> None:
    seen: list[float] = []

    def nosy(contexts: int, arms: int, group_means: Any) -> Witness:
        seen.append(float(group_means[0, 0]))
        return Witness(contexts, arms)

    found = compare(learners=[nosy])
    assert {row.knows for row in found.rows()} == {"group_means"}
    assert len(set(seen)) == 2
    compare(learners=[nosy], worlds=[lb.worlds.lumpable(8, 4, 2, seed=7)])
    assert len(seen) == 4
    assert len(set(seen)) == 3


def test_parameters_that_differ_are_in_the_key_and_defaults_are_not() -> None:
    default = lb.learners.UCB1(2, 2).state.width
    learners = [
        {"name": "ucb", "width": default, "label": "UCB1 per context"},
        {"name": "ucb", "width": 0.5},
        {"name": "ucb", "label": "other"},
    ]
    specs = plan.parse({"learner": learners, "world": [WORLD], "horizon": 5}).learners
    assert [spec.parameters for spec in specs] == ["{}", '{"width": 0.5}', '{"name": "ucb"}']
    assert [spec.label for spec in specs][1:] == ["UCB1 per context, width=0.5", "other"]


def test_pulls_are_rounds_for_each_context_and_a_world_may_have_its_own() -> None:
    worlds = [WORLD, {**WORLD, "label": "b", "pulls": 3}, {**WORLD, "label": "c", "horizon": 7}]
    found = plan.parse({"learner": ["ucb"], "world": worlds, "pulls": 10})
    assert found.horizons == (80, 24, 7)
    assert found.seeds == tuple(range(20))


# --- Worlds and scenes ------------------------------------------------------------------------


def spec(**item: Any) -> cells.WorldSpec:
    return plan.parse({"learner": ["ucb"], "world": [item], "horizon": 9, "seeds": 1}).worlds[0]


def test_every_kind_of_world(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("context,arm,mean\na,x,0.1\na,y,0.9\n")
    size: dict[str, Any] = {"contexts": 8, "arms": 4}
    made = {
        "lumpable": lb.worlds.lumpable(**size, groups=2, seed=4),
        "low_rank": lb.worlds.low_rank(**size, rank=2, seed=4),
        "levels": lb.worlds.with_levels(**size, groups=2, seed=4),
        "two_point": lb.worlds.two_point(**size, levels=True, seed=4),
        "blocs": lb.worlds.blocs(**size, groups=2, seed=4),
        "tastes": lb.worlds.tastes(**size, groups=2, rewards="stars", seed=4),
        "hard": lb.worlds.hard(2, **size, groups=3, epsilon=0.1, seed=4),
        "lower_bound": lb.worlds.lower_bound(3, **size, groups=3, rounds=10**4, seed=4),
        "hidden_arms": lb.worlds.hidden_arms(**size, groups=2, rounds=10**5, units=9.0, seed=4),
        "matrix": lb.worlds.from_matrix([[0.1, 0.2]]),
        "table": lb.worlds.from_matrix([[0.1, 0.9]]),
    }
    given: dict[str, dict[str, Any]] = {
        "lumpable": {**size, "groups": 2},
        "low_rank": {**size, "rank": 2},
        "levels": {**size, "groups": 2},
        "two_point": {**size, "levels": True},
        "blocs": {**size, "groups": 2},
        "tastes": {**size, "groups": 2, "rewards": "stars"},
        "hard": {**size, "case": 2, "groups": 3, "epsilon": 0.1},
        "lower_bound": {**size, "case": 3, "groups": 3, "rounds": 10**4},
        "hidden_arms": {**size, "groups": 2, "rounds": 10**5, "units": 9.0},
        "matrix": {"mean": [[0.1, 0.2]]},
        "table": {"path": str(tmp_path / "mine.csv")},
    }
    for kind, world in made.items():
        scene = spec(kind=kind, **given[kind]).make(horizon=9, seed=4)
        assert scene.world.mean.tolist() == world.mean.tolist(), kind
    assert {*made, "survey"} == set(cells.KINDS)


def test_a_survey_is_a_world() -> None:
    found = spec(kind="survey", name="gss", contexts=20)
    assert found.make(horizon=9, seed=1).world.contexts == 20


def test_a_file_that_changed_is_another_world(tmp_path: Path) -> None:
    settings = []
    for mean in ("0.5", "0.6"):
        (tmp_path / "mine.csv").write_text(f"context,arm,mean\na,x,{mean}\n")
        settings.append(spec(kind="table", path=str(tmp_path / "mine.csv")).setting)
    assert settings[0] != settings[1]
    assert str(tmp_path) not in settings[0]


def test_scene_keys_make_the_scene() -> None:
    scene = spec(**WORLD, arrivals="bursts", delay=3, drift=0.25).make(horizon=100, seed=1)
    assert (scene.arrivals, scene.delay) == ("bursts", 3)
    ((start, later),) = scene.later
    assert start == 50
    changed = np.flatnonzero(scene.world.group != later.group)
    assert len(changed) == 2
    for context in range(8):
        same = np.array_equal(scene.world.mean[context], later.mean[context])
        assert same == (context not in changed)
        (first, *_) = np.flatnonzero(scene.world.group == later.group[context])
        assert np.array_equal(later.mean[context], scene.world.mean[first])


def test_given_worlds_are_told_apart_by_what_they_are() -> None:
    one, two = (lb.worlds.lumpable(8, 4, 2, seed=seed) for seed in (1, 2))
    scenes = [Scene(one, name="a"), Scene(two, name="b"), Scene(one, delay=2, name="c")]
    specs = plan.parse({"learner": ["ucb"], "world": scenes, "horizon": 3}).worlds
    assert len({spec.setting for spec in specs}) == 3
    assert [spec.label for spec in specs] == ["a", "b", "c"]
    assert plan.parse({"learner": ["ucb"], "world": [one], "horizon": 3}).worlds[0].label == (
        "lumpable 8 x 4, 2 groups"
    )


def test_the_tape_of_drift_and_learner_do_not_share_a_stream() -> None:
    world = lb.worlds.lumpable(50, 4, 3, seed=0)
    contexts, _ = Tape(Scene(world), CHUNK, 0).chunk(0)
    drift = np.random.default_rng([0, 4]).integers(50, size=CHUNK)
    assert (contexts == drift).mean() < 0.1


# --- Everywhere the same ----------------------------------------------------------------------


@pytest.mark.nightly
def test_worker_processes_give_the_same_rows(tmp_path: Path) -> None:
    """By day where one of them dies, with a seed."""
    (tmp_path / "worse.py").write_text(WORSE)
    learners = ('name = "bad:Raises"', 'name = "worse:Quits"', 'name = "bad:Plain"')
    file = compared.experiment(tmp_path, UCB, ONE, *learners)
    serial, many = tmp_path / "serial.parquet", tmp_path / "many.parquet"
    assert call(file, "--jobs", "1", "--out", serial).exit_code == 1
    done = subprocess.run(
        command(file, "--jobs", "2", "--out", many), capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert compared.rows(many) == compared.rows(serial)
    assert len(compared.rows(serial)) == 3 * (3 * len(checkpoints(60)) + 2)


SCRIPT = """
import lumpable as lb

class Mine:
    def __init__(self, contexts, arms):
        self.arms = arms
    def ask(self, context):
        return context % self.arms
    def tell(self, context, arm, reward):
        pass

world = {"kind": "lumpable", "contexts": 8, "arms": 4, "groups": 2}
print(lb.compare({"a": Mine, "b": lambda contexts, arms: Mine(contexts, arms)}, world, horizon=9,
                 seeds=2, jobs=2))
"""


def test_a_script_needs_no_guard_and_its_own_learners_go_with_it(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Comparison(4 rows; 4 cells done)\n"


DASK = """
import sys
from distributed import LocalCluster
from lumpable.cli.main import main

if __name__ == "__main__":
    size = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**size, processes=PROCESSES) as cluster:
        words = ["--backend", "dask", "--address", cluster.scheduler_address]
        main(["compare", *sys.argv[1:], *words], standalone_mode=False)
"""
RAY = """
import sys
import ray
from lumpable.cli.main import main

if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False)
    try:
        main(["compare", *sys.argv[1:], "--backend", "ray"], standalone_mode=False)
        assert ray.is_initialized()
    finally:
        ray.shutdown()
"""


CLUSTERS = {
    "dask here": DASK.replace("PROCESSES", "False"),
    "dask": DASK.replace("PROCESSES", "True"),
    "ray": RAY,
}


@pytest.mark.parametrize(
    "kind", ["dask here", *(pytest.param(x, marks=pytest.mark.nightly) for x in ("dask", "ray"))]
)
def test_a_cluster_gives_the_same_rows(tmp_path: Path, kind: str) -> None:
    """By day Dask with workers in one process; by night Dask and Ray with processes."""
    file = compared.experiment(tmp_path, UCB, 'name = "bad:Plain"', top="horizon = 60\nseeds = 2")
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    assert call(file, "--jobs", "1", "--out", here).exit_code == 0
    (tmp_path / "script.py").write_text(CLUSTERS[kind])
    words = [str(tmp_path / "script.py"), str(file), "--out", str(there)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "4 cells done" in done.stdout
    assert compared.rows(there) == compared.rows(here)


@pytest.mark.parametrize(("backend", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_extra_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    file = compared.experiment(tmp_path, UCB)
    result = call(file, "--out", tmp_path / "rows.parquet", "--backend", backend)
    assert result.exit_code == 2
    assert f"pip install 'lumpable[{backend}]'" in result.stderr


@pytest.mark.parametrize(
    ("module", "jobs"),
    [("pyarrow", "1"), ("threadpoolctl", "1"), ("pyarrow", "2"), ("cloudpickle", "2")],
)
def test_what_all_runs_need_is_asked_for_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, jobs: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    file, out = compared.experiment(tmp_path, UCB), tmp_path / "rows.parquet"
    result = call(file, "--out", out, "--jobs", jobs)
    assert result.exit_code == 2
    assert "comparing learners needs an extra that is not installed" in result.stderr
    assert "pip install 'lumpable[research]'" in result.stderr
    assert "cells to run" not in result.stderr
    assert not out.with_name("rows.parquet.parts").exists()


def test_rows_become_the_table_that_pyarrow_would_make() -> None:
    import pyarrow

    (row, *_) = compare(seeds=1).rows()
    odd = {"reward": None, "ari": float("nan"), "clusters": np.int64(3), "learner": "naïve Θ"}
    other = replace(row, learner="", regret=3, reason=None)  # type: ignore[arg-type]
    every = [row, replace(row, **odd), other, row]  # type: ignore[arg-type]
    for some in (every, every[:1], every * 5, []):
        made = rows.table(some)
        made.validate(full=True)
        plain = [asdict(each) for each in some]
        assert str(made) == str(pyarrow.Table.from_pylist(plain, schema=parquet.schema(COLUMNS)))
    for wrong in ({"round": 0.5}, {"regret": "much"}, {"world": 3}):
        with pytest.raises((TypeError, AttributeError)):
            rows.table([replace(row, **wrong)])


def test_rows_turn_into_frames_as_they_are() -> None:
    import pandas
    import polars

    found = compare(seeds=1)
    for frame in (pandas.DataFrame(found.rows()), polars.DataFrame(found.rows())):
        assert list(frame.columns) == list(COLUMNS)
        assert frame["regret"].to_list() == [row.regret for row in found.rows()]
    assert polars.DataFrame(found.rows()).to_dicts() == found.table.to_pylist()


# --- Going on ---------------------------------------------------------------------------------


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Note which cells are run in this process."""
    noted: list[tuple[str, int]] = []

    def run_cell(cell: cells.Cell) -> list[Row]:
        noted.append((cell.learner.label, cell.seed))
        return cells.run_cell(cell)

    monkeypatch.setattr(runner, "run_cell", run_cell)
    return noted


def test_more_seeds_and_learners_add_only_their_cells(
    tmp_path: Path, ran: list[tuple[str, int]]
) -> None:
    file, out = compared.experiment(tmp_path, UCB), tmp_path / "rows.parquet"
    assert call(file, "--jobs", "1", "--out", out, "--seeds", "2").exit_code == 0
    assert ran == [("mine", 0), ("mine", 1)]
    ran.clear()
    result = call(file, "--jobs", "1", "--out", out, "--seeds", "4")
    assert ran == [("mine", 2), ("mine", 3)]
    assert "2 cells to run, 2 were done before" in result.stderr
    assert "4 cells done" in result.stdout
    ran.clear()
    file = compared.experiment(tmp_path, ONE, UCB)
    assert call(file, "--jobs", "1", "--out", out, "--seeds", "4").exit_code == 0
    assert ran == [("UCB1, one for all", seed) for seed in range(4)]
    whole = tmp_path / "whole.parquet"
    call(file, "--jobs", "1", "--out", whole, "--seeds", "4")
    assert compared.rows(out) == compared.rows(whole)
    ran.clear()
    call(file, "--jobs", "1", "--out", out, "--seeds", "4")
    assert ran == []
    assert not store.Store(out).folder.exists()


@pytest.mark.parametrize(
    "change",
    ['name = "ucb"\nlabel = "mine"\nwidth = 0.4', 'name = "ucb-one"\nlabel = "mine"'],
)
def test_other_parameters_are_other_cells_whatever_their_label(
    tmp_path: Path, ran: list[tuple[str, int]], change: str
) -> None:
    out = tmp_path / "rows.parquet"
    call(compared.experiment(tmp_path, UCB), "--jobs", "1", "--out", out)
    before = compared.rows(out)
    call(compared.experiment(tmp_path, change), "--jobs", "1", "--out", out)
    assert len(ran) == 6
    assert compared.rows(out)[len(before) :] == before  # rows of other experiments stay
    ran.clear()
    call(compared.experiment(tmp_path, UCB), "--jobs", "1", "--out", out, "--horizon", "61")
    assert len(ran) == 3


@pytest.mark.parametrize(
    "edit",
    [
        ("(self.rounds + context) % self.arms", "(self.rounds + context + 1) % self.arms"),
        ("Plays arm by round", "Plays arm after arm by round"),
    ],
    ids=["code", "words"],
)
def test_edited_code_is_run_anew_and_takes_the_place_of_the_old(
    tmp_path: Path, ran: list[tuple[str, int]], edit: tuple[str, str]
) -> None:
    file, out = compared.experiment(tmp_path, UCB, QUICK), tmp_path / "rows.parquet"
    call(file, "--jobs", "1", "--out", out)
    before = compared.rows(out)
    ran.clear()
    sys.modules.pop("bad")
    (tmp_path / "bad.py").write_text(compared.BAD.replace(*edit))
    call(file, "--jobs", "1", "--out", out)
    after = compared.rows(out)
    if "arms" in edit[0]:
        assert ran == [("slow", 0), ("slow", 1), ("slow", 2)]
        assert len(after) == len(before)
        assert like(after) != like(before)
    else:
        assert ran == []
        assert after == before
    assert {row["learner"] for row in after} == {"mine", "slow"}


OWN = """
import numpy as np
from functools import partial
RATE, FEW = 0.1, {"a", "b", "c"}
def helper(x):
    return x + RATE
class Base:
    def tell(self, context, arm, reward): self.last = reward
class Mine(Base):
    width = 3
    def __init__(self, contexts, arms, *, seed=0): self.tells = [helper(i) for i in range(arms)]
    def ask(self, context): return 0 if context in {"a", "b", "c"} else 1
def outer(number):
    return lambda contexts, arms: Mine(contexts, number)
made = outer(4)
part = partial(Mine, seed=2)
"""


@pytest.mark.parametrize(
    ("old", "new", "others"),
    [
        ("RATE, FEW = 0.1", "RATE, FEW = 0.2", {"Mine", "made", "part"}),
        ("x + RATE", "x - RATE", {"Mine", "made", "part"}),
        ("self.last = reward", "self.last = arm", {"Mine", "made", "part"}),
        ("width = 3", "width = 4", {"Mine", "made", "part"}),
        ("seed=0", "seed=1", {"Mine", "made", "part"}),
        ("else 1", "else 2", {"Mine", "made", "part"}),
        ("else 1", "else 1  # why", set()),
        ("import numpy", "\n\nimport numpy", set()),
        ("outer(4)", "outer(5)", {"made"}),
        ("seed=2", "seed=3", {"part"}),
    ],
)
def test_the_digest_of_code_is_that_of_what_runs(old: str, new: str, others: set[str]) -> None:
    assert OWN.count(old) == 1

    def digests(text: str) -> dict[str, str]:
        held: dict[str, Any] = {"__name__": "own"}
        exec(compile(text, "own.py", "exec"), held)
        return {name: source.digest(held[name]) for name in ("Mine", "made", "part")}

    before, after = digests(OWN), digests(OWN.replace(old, new))
    assert {name for name in before if before[name] != after[name]} == others


def test_rows_of_another_version_are_run_again_and_it_is_said(
    tmp_path: Path, ran: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = compared.experiment(tmp_path, UCB, QUICK), tmp_path / "rows.parquet"
    with monkeypatch.context() as patch:
        patch.setattr(cells, "__version__", "0.0.9")
        call(file, "--jobs", "1", "--out", out, "--seeds", "2")
    ran.clear()
    result = call(file, "--jobs", "1", "--out", out)
    words = "2 of them again: they were run by another version of lumpable, 2 were done before"
    assert result.stderr == f"4 cells to run, {words}\n"
    assert sorted(ran) == [("mine", 0), ("mine", 1), ("mine", 2), ("slow", 2)]
    versions = {(row["learner"], row["seed"], row["version"]) for row in compared.rows(out)}
    assert len(versions) == 6
    assert {version for name, _, version in versions if name == "mine"} == {lb.__version__}


def test_what_failed_or_was_not_run_is_tried_again(
    tmp_path: Path, ran: list[tuple[str, int]]
) -> None:
    out = tmp_path / "rows.parquet"
    learners = (UCB, 'name = "bad:Raises"\nlabel = "x"', 'name = "bad:Choosy"\nlabel = "y"')
    file = compared.experiment(tmp_path, *learners)
    assert call(file, "--jobs", "1", "--out", out).exit_code == 1
    before = compared.rows(out)
    ran.clear()
    assert call(file, "--jobs", "1", "--out", out).exit_code == 1
    assert sorted(set(ran)) == [(label, seed) for label in "xy" for seed in range(3)]
    assert compared.rows(out) == before
    for name in ("Raises", "Choosy"):  # the causes are gone
        setattr(sys.modules["bad"], name, sys.modules["bad"].Plain)
    assert call(file, "--jobs", "1", "--out", out).exit_code == 0
    rows = compared.rows(out)
    assert {row["status"] for row in rows} == {"done"}
    assert len(rows) == 9 * len(checkpoints(60))


def test_all_learners_meet_a_seed_before_the_next(ran: list[tuple[str, int]]) -> None:
    """Whoever stops early has all learners with fewer seeds."""
    compare()
    one, two = "UCB1 per context", "UCB1, one for all"
    assert ran == [(one, 0), (two, 0), (one, 1), (two, 1)]


def test_parts_left_by_a_crash_are_taken_over(tmp_path: Path, ran: list[tuple[str, int]]) -> None:
    """A crash after any step of writing: parts alone, parts and file, a file half removed."""
    file, out, whole = (
        compared.experiment(tmp_path, UCB), tmp_path / "rows.parquet", tmp_path / "all.parquet"
    )  # fmt: skip
    call(file, "--jobs", "1", "--out", whole)
    experiment = reading.read(file)
    kept = store.Store(out)
    kept.begin()
    for cell in experiment.cells()[:2]:
        kept.keep(cells.run_cell(cell))
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (kept.folder / f".half.parquet.{files._machine()}-{dead.pid}-1").write_bytes(b"PAR1")
    ran.clear()
    call(file, "--jobs", "1", "--out", out)
    assert ran == [("mine", 2)]
    assert compared.rows(out) == compared.rows(whole)
    kept.begin()  # the file was written, and a part of it was not yet removed
    kept.keep(cells.run_cell(experiment.cells()[1]))
    ran.clear()
    call(file, "--jobs", "1", "--out", out)
    assert ran == []
    assert compared.rows(out) == compared.rows(whole)
    assert not kept.folder.exists()


@pytest.mark.parametrize("step", [17, pytest.param(1, marks=pytest.mark.nightly)])
def test_a_flipped_bit_is_noticed(tmp_path: Path, step: int) -> None:
    """By day every 17th of a file with a row, by night every single one."""
    out = tmp_path / "rows.parquet"
    compare(learners=["ucb"], seeds=1, horizon=1).save(out)
    content = out.read_bytes()
    assert parquet._whole(content)
    for bit in range(0, 8 * len(content), step):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        assert not parquet._whole(bytes(flipped)), bit
    out.write_bytes(bytes(flipped))
    for refused in (lambda: compare(out=out), lambda: store.read(out)):
        with pytest.raises(lb.BadArgument, match=r"rows\.parquet: the file is damaged"):
            refused()
    assert out.read_bytes() == bytes(flipped)


def test_a_file_of_somebody_else_has_no_checksum_and_is_read(tmp_path: Path) -> None:
    import pyarrow.parquet

    found = compare(seeds=1)
    pyarrow.parquet.write_table(found.table, tmp_path / "rows.parquet")
    assert store.read(tmp_path / "rows.parquet").equals(found.table)


def test_a_damaged_part_is_named_and_its_cell_is_run_again(
    tmp_path: Path, ran: list[tuple[str, int]]
) -> None:
    file, out = compared.experiment(tmp_path, UCB), tmp_path / "rows.parquet"
    kept = store.Store(out)
    kept.begin()
    for cell in reading.read(file).cells()[:2]:
        kept.keep(cells.run_cell(cell))
    part = sorted(kept.folder.iterdir())[0]
    part.write_bytes(part.read_bytes()[:-7])
    result = call(file, "--jobs", "1", "--out", out)
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "2 cells to run, 1 were done before",
        f"damaged, its cell is run again: {part}",
    ]
    assert len(ran) == 2
    assert {row["seed"] for row in compared.rows(out)} == {0, 1, 2}
    assert not kept.folder.exists()


def test_two_comparisons_of_one_file_do_each_other_no_harm(tmp_path: Path) -> None:
    """One ends, sweeps and takes the folder away while the other is at work."""
    out = tmp_path / "rows.parquet"
    one, two = store.Store(out), store.Store(out)
    every = {name: [cells.run_cell(each) for each in found.cells()] for name, found in {
        name: plan.parse({"learner": [name], "world": [WORLD], "horizon": 9, "seeds": 2})
        for name in ("ucb", "ucb-one")}.items()}  # fmt: skip
    one.begin()
    two.begin()
    with files.replacing(one.folder / "half.parquet") as half:  # one is writing
        two.keep(every["ucb-one"][0])
        two.combine({})
        two.close()
        store.Store(out).begin()
        half.write(b"whole")
    assert (one.folder / "half.parquet").read_bytes() == b"whole"
    (one.folder / "half.parquet").unlink()
    two.keep(every["ucb-one"][1])
    two.combine({})
    two.close()
    for rows_ in every["ucb"]:
        one.keep(rows_)  # though the folder is gone
    one.combine({})
    one.close()
    expected = [row for some in every.values() for rows_ in some for row in rows_]
    assert {row.key for row in rows.rows_of(store.read(out))} == {row.key for row in expected}
    assert len(rows.rows_of(store.read(out))) == len(expected)
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.nightly
def test_two_comparisons_at_the_same_time(tmp_path: Path) -> None:
    """Both end well, and the file has the rows of both; by day step by step, in one process."""
    ways = [tmp_path / name for name in ("a", "b")]
    for folder, learner in zip(ways, (UCB, ONE), strict=True):
        folder.mkdir()
        compared.experiment(folder, learner, top="horizon = 60\nseeds = 40")
    begun = [
        subprocess.Popen(
            command(folder / "mine.toml", "--jobs", "1", "--out", tmp_path / "rows.parquet"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for folder in ways
    ]  # fmt: skip
    for process in begun:
        _, stderr = process.communicate(timeout=100)
        assert process.returncode == 0, stderr
    found = lb.Comparison(store.read(tmp_path / "rows.parquet"))
    assert found.cells == {"done": 80}


def test_many_parts_become_a_file_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "MANY", 2)
    seen = []
    out = tmp_path / "rows.parquet"
    compare(out=out, seeds=3, watch=lambda step: seen.append(out.exists()))
    assert seen == [False, False, True, True, True, True, True]
    again = compare(seeds=3)
    assert compared.rows(out) == timeless(again)


def lives(process: str) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def started(words: list[str], until: Callable[[], bool]) -> subprocess.Popen[str]:
    """Start a command in a group of its own and wait until something is so."""
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    end = time.monotonic() + 60
    while not until():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("jobs", [pytest.param("1", marks=pytest.mark.nightly), "2"])
def test_a_killed_run_goes_on(tmp_path: Path, jobs: str) -> None:
    top = "horizon = 60\nseeds = 6"
    file = compared.experiment(tmp_path, UCB, SLOW, top=top)
    out, whole = tmp_path / "rows.parquet", tmp_path / "all.parquet"
    parts = store.Store(out).folder
    words = command(file, "--jobs", jobs, "--out", out)
    process = started(words, lambda: len(list(parts.glob("[!.]*.parquet"))) >= 3)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) >= int(jobs) - 1
    process.kill()
    process.communicate(timeout=60)  # workers that live on would hold the pipes
    end = time.monotonic() + 30
    while any(map(lives, children)):
        assert time.monotonic() < end, "workers outlive the command"
        time.sleep(0.1)
    assert not out.exists()
    done = len(list(parts.glob("[!.]*.parquet")))
    again = call(file, "--jobs", "1", "--out", out)
    assert f"{12 - done} cells to run, {done} were done before" in again.stderr
    call(compared.experiment(tmp_path, UCB, QUICK, top=top), "--jobs", "1", "--out", whole)
    assert like(compared.rows(out)) == like(compared.rows(whole))
    assert not parts.exists()


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.nightly)])
def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(tmp_path: Path, jobs: str) -> None:
    top = "horizon = 100\nseeds = 8"
    file = compared.experiment(tmp_path, SLOW, top=top)
    out, whole = tmp_path / "rows.parquet", tmp_path / "all.parquet"
    parts = store.Store(out).folder
    words = command(file, "--jobs", jobs, "--out", out)
    process = started(words, lambda: len(list(parts.glob("[!.]*.parquet"))) >= 2)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    last = stderr.splitlines()[-1]
    assert last.startswith("stopped after ")
    assert f"of 8 cells, which are in {out}; to resume: lumpable compare" in last
    assert not parts.exists()
    done = len({row["seed"] for row in compared.rows(out)})
    assert 2 <= done < 8
    again = call(file, "--jobs", "1", "--out", out)
    assert f"{done} were done before" in again.stderr
    call(compared.experiment(tmp_path, QUICK, top=top), "--jobs", "1", "--out", whole)
    assert like(compared.rows(out)) == like(compared.rows(whole))


def test_ctrl_c_is_put_off_while_workers_start() -> None:
    """Even if another thread is handed the signal, which then is raised in this one."""
    reached = []
    other = threading.Thread(target=time.sleep, args=(0.2,))
    other.start()

    def start() -> None:
        with interrupts.defer_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            for number in range(100_000):
                reached.append(number)

    with pytest.raises(KeyboardInterrupt):
        start()
    other.join()
    assert len(reached) == 100_000
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_others_make_of_ctrl_c_is_still_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def carry_out(*args: Any) -> Iterator[Any]:
        yield from ()
        try:
            raise KeyboardInterrupt
        finally:
            raise UnboundLocalError("parent_r")

    monkeypatch.setattr(jobs.Workers, "carry_out", carry_out)
    result = call(compared.experiment(tmp_path, UCB), "--out", tmp_path / "rows.parquet")
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1].startswith("stopped after 0 of 3 cells")


@pytest.mark.parametrize("later", [0.0, pytest.param(0.3, marks=pytest.mark.nightly)])
def test_ctrl_c_while_workers_start_shows_no_traceback(tmp_path: Path, later: float) -> None:
    file = compared.experiment(tmp_path, SLOW, top="horizon = 200\nseeds = 12")
    words = command(file, "--jobs", "2", "--out", tmp_path / "rows.parquet")
    process = started(words, lambda: True)
    born: list[str] = []
    while len(born) < 2:
        assert process.poll() is None, process.communicate()
        born = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    time.sleep(later)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr, stderr
    assert "stopped after 0 of 12 cells" in stderr
    end = time.monotonic() + 30
    while any(map(lives, born)):
        assert time.monotonic() < end, "workers outlive the command"
        time.sleep(0.1)


# --- Failures ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("Raises", "failed", "RuntimeError: too much for me"),
        ("Outside", "failed", "Misbehaved: Outside: ask("),
        ("NoNumber", "failed", "returned nan, not an arm, in round 1"),
        ("NoPolicy", "failed", "Misbehaved: NoPolicy: policy() returned 2 values, expected one"),
        ("NoArms", "failed", "Misbehaved: NoArms: policy() returned 4 for context 3, not"),
        ("HalfArms", "failed", "Misbehaved: HalfArms: policy() returned 0.5 for context 0, "),
        ("FewLabels", "failed", "Misbehaved: FewLabels: labels() returned 7 values, expected one"),
        ("Quits", "failed", "SystemExit: 3"),
        ("NoWay", "failed", "Misbehaved: NoWay: policy() returned nan for context 7, not an"),
        ("NoGroup", "failed", "NoGroup: labels() returned nan for context 7, not a whole"),
        ("HalfGroups", "failed", "HalfGroups: labels() returned numbers of type float64, expected"),
        (
            "WordGroups",
            "failed",
            "WordGroups: labels() returned a for context 0, not a whole",
        ),
        ("mute", "failed", "Misbehaved: object: has no method 'ask'"),
        ("Choosy", "not run", "only at full moon"),
    ],
)
def test_a_learner_that_fails_is_named_and_the_others_go_on(
    tmp_path: Path, name: str, status: str, words: str
) -> None:
    (tmp_path / "worse.py").write_text(WORSE)
    label = f"bad:{name}" if f"class {name}" in compared.BAD else f"worse:{name}"
    file = compared.experiment(tmp_path, f'name = "{label}"', UCB)
    out = tmp_path / "rows.parquet"
    result = call(file, "--jobs", "1", "--out", out)
    assert result.exit_code == (1 if status == "failed" else 0)
    assert f"3 cells done, 3 {status}" in result.stdout
    bad = [row for row in lb.Comparison(store.read(out)).rows() if row.status != "done"]
    assert [(row.seed, row.round, row.status) for row in bad] == [
        (seed, 0, status) for seed in range(3)
    ]
    for row in bad:
        assert words in row.reason
        if status == "failed":
            assert row.reason.startswith(f"{label} in small, seed {row.seed}: ")
            assert "Traceback (most recent call last)" in row.reason
    assert result.stdout.count(f"{status}: {label} in small, seeds 0-2: ") == 1
    assert label not in result.stderr
    pointer = f"tracebacks: lumpable report {out}"
    assert (pointer in result.stdout.replace("\n", "")) == (status == "failed")


def test_one_cell_is_one_cell_and_failures_differ_by_their_kind(tmp_path: Path) -> None:
    file = compared.experiment(tmp_path, UCB)
    result = call(file, "--jobs", "1", "--out", tmp_path / "rows.parquet", "--seeds", "1")
    assert result.stderr == "1 cell to run\n"
    assert result.stdout.startswith("1 cell done\n")
    row = {"learner": "a", "world": "w", "status": "failed"}
    who = ("a in w, seed 0: E: x", "a in w, seed 1: E: y\nmore", "a in w, seed 4: F: z")
    rows = [Row.of({**row, "seed": int(words[13]), "reason": words}) for words in who]
    assert experiment_command.group(rows) == ["a in w, seeds 0-1: E: x", "a in w, seed 4: F: z"]


def test_an_object_may_have_what_its_class_lacks(tmp_path: Path) -> None:
    (tmp_path / "worse.py").write_text(WORSE)
    file = compared.experiment(tmp_path, 'name = "worse:ByHand"')
    assert call(file, "--jobs", "1", "--out", tmp_path / "rows.parquet").exit_code == 0


def test_a_breakdown_says_what_is_left_and_a_new_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def carry_out(workers: jobs.Workers, tasks: list[jobs.Task]) -> Iterator[Any]:
        yield jobs.Event(jobs.Answer(tasks[0].key, cells.run_cell(tasks[0].argument)), {})
        raise BrokenProcessPool("a worker is gone")

    file, out = compared.experiment(tmp_path, UCB), tmp_path / "rows.parquet"
    with monkeypatch.context() as patch:
        patch.setattr(jobs.Workers, "carry_out", carry_out)
        result = call(file, "--out", out)
    assert result.exit_code == 1
    said = "interrupted: BrokenProcessPool: a worker is gone; 1 of 3 cells came, left are "
    assert said + "mine in small (2 seeds)\nto resume: lumpable" in result.stderr
    assert {row["seed"] for row in compared.rows(out)} == {0}
    result = call(file, "--jobs", "1", "--out", out)
    assert (result.exit_code, result.stderr) == (0, "2 cells to run, 1 were done before\n")


def test_a_worker_that_dies_is_a_row_and_the_others_go_on(tmp_path: Path) -> None:
    """And theirs are the rows of one process."""
    (tmp_path / "worse.py").write_text(WORSE)
    failing = ('name = "bad:Raises"', 'name = "worse:Quits"')
    learners, top = (UCB, ONE, 'name = "bad:Plain"', *failing), "horizon = 60\nseeds = 1"
    serial, out = tmp_path / "serial.parquet", tmp_path / "rows.parquet"
    file = compared.experiment(tmp_path, *learners, top=top)
    assert call(file, "--jobs", "1", "--out", serial).exit_code == 1
    file = compared.experiment(tmp_path, 'name = "bad:Deadly"', *learners, top=top)
    done = subprocess.run(
        command(file, "--jobs", "2", "--out", out), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    rows = compared.rows(out)
    (dead,) = (row for row in rows if row["learner"] == "bad:Deadly")
    assert dead["status"] == "failed"
    assert "ended abruptly" in dead["reason"]
    assert [row for row in rows if row != dead] == compared.rows(serial)  # of who ran beside it too
    assert len(rows) == 3 * len(checkpoints(60)) + 3
    assert "Traceback" not in done.stderr


def test_what_is_missing_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(contexts: int, arms: int) -> None:
        raise lb.MissingExtra("pip install it")

    (row,) = compare(learners=[missing], seeds=1).rows()
    assert (row.status, row.reason) == ("not run", "pip install it")


def test_a_learner_for_rewards_in_the_unit_interval_is_not_run_elsewhere() -> None:
    class Unit(Witness):
        unit_rewards = True

    worlds = [WORLD, {**WORLD, "noise": "gaussian"}]
    found = compare(learners=[Unit], worlds=worlds, seeds=1).rows()
    assert [row.status for row in found] == ["done"] * len(checkpoints(60)) + ["not run"]
    assert found[-1].reason == "Unit: needs rewards in [0, 1], got gaussian noise"


def test_linear_algebra_has_one_thread_wherever_it_runs() -> None:
    """The sum of 20,000 numbers by 300 in two threads differs in the last digits."""
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads() -> set[int]:
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    seen: list[set[int]] = []

    def counting(contexts: int, arms: int) -> Witness:
        seen.append(threads())
        return Witness(contexts, arms)

    with threadpool_limits(2, user_api="blas"):
        compare(learners=[counting], seeds=1)
        assert threads() == {2}
    assert seen == [{1}]


# --- What people see --------------------------------------------------------------------------


def test_a_terminal_shows_the_time_left(tmp_path: Path) -> None:
    """In one process, which imports no more than it needs: pandas takes longer than many runs."""
    file = compared.experiment(tmp_path, SLOW, UCB, top="horizon = 260\nseeds = 4")
    words = ["compare", str(file), "--jobs", "1", "--out", str(tmp_path / "rows.parquet")]
    code = f"import sys; from lumpable.cli.main import main; main({words}, standalone_mode=False); "
    main, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code + "print(*sys.modules)"],
        stdout=subprocess.PIPE, stderr=side, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(side)
    seen = b""
    while True:
        try:
            chunk = os.read(main, 4096)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
    out, _ = process.communicate()
    os.close(main)
    assert process.returncode == 0
    text = seen.decode()
    assert "8 cells to run" in text
    assert "of 8 cells, " in text
    assert "left" in text
    assert b"8 cells done" in out
    loaded = set(out.decode().split())
    assert "numba" in loaded
    assert not {"pandas", "distributed", "ray", "altair", "lumpable.reproduce"} & loaded


def test_the_time_left_is_told_late_and_without_what_compiling_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    said = {"learner": ["ucb", "ucb-one"], "world": [WORLD], "horizon": 9, "seeds": 30}
    pace = runner.Pace(plan.parse(said).cells())
    told = []
    for number, took in enumerate([60.0, 30.0, 0.5, 0.5]):
        now[0] += took
        label = ("UCB1 per context", "UCB1, one for all")[number % 2]
        world = "lumpable, contexts=8, arms=4, groups=2, noise=bernoulli"
        told.append(pace.left(Row.of({"learner": label, "world": world, "seconds": 0.25})))
    assert told[:2] == [None, None]
    assert told[2:] == pytest.approx([57 * 0.5, 56 * 0.5])


def test_the_suite_comes_with_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read and begun, but not run: that takes minutes. One cell in fifty is enough to begin."""
    suite = reading.suite(quick=True)
    number = len(suite.learners) * len(suite.worlds)
    every = plan.Experiment.cells

    def run_cell(cell: cells.Cell) -> list[Row]:
        assert cell.horizon == 30
        return [cells.failure(cell, RuntimeError("not now"))]

    def some(experiment: plan.Experiment) -> list[cells.Cell]:
        assert len(every(experiment)) == number
        return every(experiment)[::50]

    monkeypatch.setattr(runner, "run_cell", run_cell)
    monkeypatch.setattr(plan.Experiment, "cells", some)
    line = ("suite", "--quick", "--jobs", "1", "--seeds", "1", "--horizon", "30")
    result = call(*line, "--out", tmp_path / "rows.parquet")
    assert result.exit_code == 1, result.stderr
    assert f"{len(range(0, number, 50))} failed" in result.stdout
    assert "RuntimeError: not now" in result.stdout


def test_a_comparison_in_python(tmp_path: Path) -> None:
    found = compare(learners={"mine": Witness, "its": "ucb"}, worlds={"w": lb.worlds.lumpable(
        8, 4, 2, seed=1)})  # fmt: skip
    assert repr(found) == f"Comparison({4 * len(checkpoints(60))} rows; 4 cells done)"
    assert {row.world for row in found.rows()} == {"w"}
    found.save(tmp_path / "rows.parquet")
    assert compared.rows(tmp_path / "rows.parquet") == timeless(found)
    found.save(tmp_path / "new" / "rows.parquet")
    with pytest.raises(ValueError, match=r"expected a name that ends in \.parquet"):
        found.save(tmp_path / "rows.xls")


def test_a_single_learner_and_a_single_world_need_no_list() -> None:
    world = lb.worlds.lumpable(8, 4, 2, seed=1)
    for learner in ("ucb", Witness, {"name": "ucb", "width": 0.2}, {"own": "ucb"}):
        for place in (world, Scene(world), WORLD, {"own": WORLD}):
            found = compare(learners=learner, worlds=place, seeds=1, horizon=5)
            assert found.cells == {"done": 1}


def test_a_notebook_and_a_page(tmp_path: Path) -> None:
    found = compare()
    html = found._repr_html_()
    assert "UCB1 per context" in html
    page = found.report(tmp_path / "new" / "page.html")
    assert page == tmp_path / "new" / "page.html"
    assert "UCB1 per context" in page.read_text()


# --- Plans ------------------------------------------------------------------------------------

PLANS = {
    "lumpable.comparisons.planned:algorithm_4": "groups",
    "lumpable.comparisons.planned:algorithm_6": "groups",
    "lumpable.comparisons.planned:elimination_plan": "",
}


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("noise", ["bernoulli", "gaussian"])
def test_plans_keep_the_contract_of_learners(name: str, noise: str) -> None:
    from lumpable.comparisons import roster
    from lumpable.testing import check_learner

    def make(contexts: int, arms: int, seed: int) -> Any:
        world = lb.worlds.lumpable(contexts, arms, min(3, contexts), noise=noise, seed=1)
        return roster.make(name, Scene(world), horizon=300, seed=seed)

    check_learner(make, noise=noise)


@pytest.mark.parametrize(("name", "knows"), PLANS.items())
def test_a_plan_joins_as_its_session(name: str, knows: str) -> None:
    found = compare(learners=[name], seeds=[2], horizon=4000).rows()
    assert {row.knows for row in found} == {knows}
    problem = lb.Problem(8, 4, 2)
    plans: dict[str, Callable[[], lb.Plan]] = {
        "algorithm_4": lambda: lb.regret.equal_groups(problem),
        "algorithm_6": lambda: lb.regret.any_groups(problem),
        "elimination_plan": lambda: lb.standard.online(problem),
    }
    made = plans[name.partition(":")[2]]
    world = lb.worlds.lumpable(8, 4, 2, noise="bernoulli", seed=2)
    session = lb.Session(made(), seed=cells.own_seed(2))
    regret = 0.0
    tape = Tape(Scene(world), 4000, 2)
    contexts, luck = tape.chunk(0)
    for context, u in zip(contexts.tolist(), luck.tolist(), strict=True):
        arm = session.ask(context)
        session.tell(context, arm, float(u < world.mean[context, arm]))
        regret += world.best[context] - world.mean[context, arm]
    assert found[-1].regret == regret
    assert found[-1].simple_regret == world.loss(session.policy)
    assert (found[-1].clusters is None) == (knows == "")


def test_bulk_rows_are_those_of_the_run_and_no_others() -> None:
    """Every row stands at a round at which a request of the run ended, with the run's regret."""
    horizon = 10**12
    item = {"name": "lumpable.comparisons.planned:algorithm_6", "through": "bulk", "label": "six"}
    found = compare(learners=[item], seeds=[3], horizon=horizon).rows()
    world = lb.worlds.lumpable(8, 4, 2, noise="bernoulli", seed=3)
    plan = lb.regret.any_groups(lb.Problem(8, 4, 2))
    run = lb.simulate(plan, world, horizon=horizon, seed=cells.own_seed(3))
    ends = {step.rounds: step for step in run.rows()}
    assert found[-1].round == horizon
    assert found[-1].simple_regret == world.loss(run.policy)
    assert 5 < len(found) <= len(checkpoints(horizon))
    for row in found:
        assert row.regret == ends[row.round].regret
        assert row.reward is None
    marks = checkpoints(horizon)
    for row in found:  # the last end before a checkpoint
        assert any(
            row.round == max(end for end in ends if end <= mark)
            for mark in marks
            if mark >= row.round
        )
    assert [row.round for row in found] == sorted({row.round for row in found})
    turns = {turn.rounds: len(turn.belief.good) for turn in run.turns}  # type: ignore[arg-type]
    for row in found[:-1]:
        begun = max(start for start in turns if start <= row.round)
        assert row.clusters == turns[begun]


@pytest.mark.parametrize("met", [{"arrivals": "bursts"}, {"delay": 3}, {"drift": 0.5}])
def test_bulk_is_not_run_where_its_law_does_not_hold(met: dict[str, Any]) -> None:
    item = {"name": "lumpable.comparisons.planned:algorithm_4", "through": "bulk"}
    (row,) = compare(learners=[item], worlds=[{**WORLD, **met}], seeds=1).rows()
    assert row.status == "not run"
    assert row.reason.startswith("the bulk simulator needs i.i.d. arrivals, no delay, no drift")


def test_constants_of_plans_are_checked() -> None:
    made = planned.algorithm_4(4, 3, groups=2, constants={"phase": 0.5})
    assert isinstance(made, planned.Planned)
    assert "phase = 0.5" in str(made._session.plan.parameters["constants"])
    with pytest.raises(ValueError, match="got 'fase'; the nearest is 'phase'"):
        planned.algorithm_6(4, 3, groups=2, constants={"fase": 0.5})
    with pytest.raises(ValueError, match="through: expected one of session, bulk, got 'x'"):
        planned.elimination_plan(4, 3, through="x")


def test_key_columns_are_those_of_the_cell() -> None:
    (cell, *_) = plan.parse({"learner": ["ucb"], "world": [WORLD], "horizon": 9}).cells()
    row = cells.run_cell(cell)[0]
    assert cell.key == row.key == tuple(getattr(row, name) for name in KEY)
