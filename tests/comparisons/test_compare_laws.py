"""Laws of rewards in comparisons: in files, in processes, in keys, and who is not run in them."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import lumpable as lb
from lumpable import worlds
from lumpable.cli.main import main
from lumpable.comparisons import toml
from lumpable.comparisons.world_specs import draw
from lumpable.worlds import people

SIZE = {"kind": "lumpable", "contexts": 8, "arms": 4, "groups": 2}


def tens(mean: Any, rng: np.random.Generator) -> Any:
    """A law of one's own: 0 or 10."""
    return 10.0 * (rng.random(mean.shape) < mean / 10)


def untimed(found: lb.Comparison) -> list[Any]:
    return [replace(row, seconds=None) for row in found.rows()]


class Tenfold(lb.World):
    """A world of its own kind: rewards are 0 or 10."""

    def reward(self, context: int, arm: int, rng: np.random.Generator) -> float:
        return 10.0 * float(rng.random() < self.mean[context, arm] / 10)


def test_a_law_of_ones_own_in_two_processes() -> None:
    """A function of a module, one that is made on the spot, and a method of a world."""
    factor = 10.0
    mean = worlds.lumpable(8, 4, 2, seed=1).mean
    here = {
        "module": worlds.from_matrix(mean, noise=tens),
        "spot": worlds.from_matrix(
            mean, noise=lambda m, rng: factor * (rng.random(m.shape) < m / factor)
        ),
        "method": Tenfold(mean, np.full(8, 1 / 8), np.arange(8)),
        "described": {**SIZE, "noise": tens},
        "table": {**SIZE, "noise": {"law": "beta", "concentration": 3.0}},
    }
    one, two = (lb.compare("ucb", here, horizon=300, seeds=2, jobs=jobs) for jobs in (1, 2))
    assert one.cells == {"done": 10}
    assert untimed(one) == untimed(two)
    last = {(row.seed, row.world): row.reward for row in one.rows() if row.round == 300}
    for (seed, world), reward in last.items():
        assert reward is not None
        if world == "spot":  # the same law, however it is written
            assert reward == last[seed, "module"]
        if world != "table":
            assert reward % 10 == 0


def test_all_learners_meet_the_same_luck() -> None:
    """Learners that always play the same arms earn the same, to the last digit."""
    world = worlds.tastes(8, 4, 2, rewards="revenue", seed=1)
    three = {"a": Second, "b": Second, "c": SecondByHand}
    found = lb.compare(three, world, horizon=2500, seeds=2, jobs=1)
    rewards = {(row.learner, row.seed): row.reward for row in found.rows() if row.round == 2500}
    assert len(set(rewards.values())) == 2  # one for each seed


class Second:
    """Always plays the second arm."""

    def __init__(self, contexts: int, arms: int, seed: int) -> None:
        self.contexts, self.arms = contexts, arms

    def ask(self, context: int) -> int:
        return 1

    def tell(self, context: int, arm: int, reward: float) -> None:
        pass


class SecondByHand(Second):
    """The same, with a policy of its own."""

    def policy(self) -> Any:
        return np.ones(self.contexts, dtype=np.int64)


def test_what_cannot_be_sent_to_another_process_is_refused_by_name() -> None:
    lock = threading.Lock()

    def locked(mean: Any, rng: np.random.Generator) -> Any:
        with lock:
            return tens(mean, rng)

    world = {"mine": worlds.from_matrix([[0.2, 0.5]], noise=locked)}
    words = "mine: its law of rewards cannot be sent to another process .* jobs=1"
    with pytest.raises(lb.BadArgument, match=words):
        lb.compare("ucb", world, horizon=20, seeds=1, jobs=2)
    assert lb.compare("ucb", world, horizon=20, seeds=1, jobs=1).cells == {"done": 1}


# --- Files ----------------------------------------------------------------------------------

TOP = """\
horizon = 40
seeds = 1

[[learner]]
name = "ucb"

[[world]]
kind = "lumpable"
contexts = 8
arms = 4
groups = 2
"""


def run(folder: Path, line: str, *more: str) -> Result:
    path = folder / "mine.toml"
    path.write_text(TOP + line + "\n")
    out = ("--out", str(folder / "rows.parquet"), "--jobs", "1", *more)
    return CliRunner().invoke(main, ["compare", str(path), *out])


@pytest.mark.parametrize(
    "line",
    [
        'noise = "poisson"',
        'noise = {law = "beta", concentration = 8.0}',
        'noise = {law = "gaussian", sd = [0.1, 0.2, 0.4, 0.8]}',
        'noise = {law = "gaussian", sd = 0.05, slope = 1}',
        'noise = {law = "student", df = 3, scale = 0.5}',
        'noise = "mylaws:draw"',
        'noise = {law = "mylaws:draw", low = 0, high = 1}',
    ],
)
def test_a_file_may_name_a_law(tmp_path: Path, line: str) -> None:
    (tmp_path / "mylaws.py").write_text(
        "def draw(mean, rng):\n    return rng.random(mean.shape) < mean\n"
    )
    result = run(tmp_path, line)
    assert result.exit_code == 0, result.stderr
    assert "1 cell done" in result.stdout


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('noise = "cauchy"', "noise: expected one of gaussian, bernoulli, beta"),
        ("noise = 3", "noise: expected one of gaussian"),
        ("noise = {}", "noise: expected a key 'law', got none"),
        ('noise = {law = "beta", sd = 1}', "noise: expected parameters of beta (concentration)"),
        (
            'noise = {law = "beta", concentration = "x"}',
            "concentration: expected a positive number",
        ),
        ('noise = {law = "gaussian", sd = [1, 2]}', "sd: expected a number or an array of shape"),
        ('noise = "nowhere:draw"', "noise: cannot import 'nowhere:draw': ModuleNotFoundError"),
        ('noise = "broken:draw"', "noise: cannot import 'broken:draw': SystemExit"),
        ('noise = "os:getcwd"', "noise: getcwd(mean, rng) raised TypeError"),
        ('noise = {law = "os:getcwd", low = "a"}', "low: expected a number below `high`"),
        ('noise = "stars"', "mean: Stars needs means in (1, 5), got"),
        ('noise = "poisson"\nsd = 2.0', "sd: goes with noise 'gaussian' only; poisson has"),
    ],
)
def test_what_is_wrong_with_a_law_is_one_line(tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / "broken.py").write_text("raise SystemExit(3)\n")
    result = run(tmp_path, line)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {tmp_path / 'mine.toml'}:")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert not (tmp_path / "rows.parquet").exists()


def test_a_seed_that_no_row_can_hold_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text((TOP).replace("seeds = 1", f"seeds = [{2**63}]"))
    line = ["compare", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "rows.parquet")]
    result = CliRunner().invoke(main, line)
    assert result.exit_code == 2
    assert "seeds: expected a whole number from 0 to 9.22e18" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.toml"]
    largest = lb.compare("ucb", SIZE, horizon=20, seeds=[2**63 - 1], jobs=1)
    assert {row.seed for row in largest.rows()} == {2**63 - 1}
    assert lb.play(Second(8, 4, 0), worlds.lumpable(8, 4, 2, seed=2**64), horizon=9, seed=2**70)


# --- Keys -----------------------------------------------------------------------------------


def setting(world: Any) -> str:
    ((spec, _, _),) = draw({"world": [world], "horizon": 9}, None, 0, None)
    return spec.setting


def test_worlds_of_different_laws_have_different_keys() -> None:
    mean = np.full((2, 3), 0.4)
    laws: list[Any] = [
        "gaussian", "poisson", "exponential", worlds.Beta(3.0), worlds.Beta(4.0), tens,
        lambda m, rng: 10.0 * (rng.random(m.shape) < m / 10),
        lambda m, rng: 20.0 * (rng.random(m.shape) < m / 20),
        worlds.Gaussian([1.0, 2.0, 3.0]), worlds.Gaussian([1.0, 2.0, 4.0]),
        worlds.Custom(tens, low=0.0), worlds.Gaussian([[1.0], [2.0]]),
    ]  # fmt: skip
    given = [setting(worlds.from_matrix(mean, noise=law)) for law in laws]
    said = [setting({**SIZE, "arms": 3, "contexts": 2, "noise": law}) for law in laws]
    method = Tenfold(mean, np.full(2, 0.5), np.zeros(2, dtype=int))
    assert len({*given, *said, setting(method)}) == 2 * len(laws) + 1
    assert given == [setting(worlds.from_matrix(mean, noise=law)) for law in laws]


def test_worlds_keep_the_keys_that_they_had_before_there_were_laws() -> None:
    """Cells that were done then are not run again."""
    plain = worlds.lumpable(6, 4, 2, seed=1)
    coins = worlds.lumpable(6, 4, 2, noise="bernoulli", seed=1)
    assert setting(plain) == '{"kind": "given", "sha256": "5f7edd24029169e8"}'
    assert setting(coins) == '{"kind": "given", "sha256": "53ff188a3d62276f"}'


# --- Who is not run -------------------------------------------------------------------------


def reasons(learner: Any, world: Any) -> list[str]:
    found = lb.compare(learner, world, horizon=400, seeds=1, jobs=1)
    return [row.reason for row in found.rows() if row.status == "not run"]


def test_learners_that_need_rewards_in_a_range_are_not_run() -> None:
    world = worlds.tastes(8, 4, 2, rewards="poisson", seed=1)
    (reason,) = reasons("kl-ucb", world)
    assert reason == "kl-ucb: needs rewards in [0, 1], got poisson noise"


def test_plans_of_the_paper_are_not_run_where_means_span_more_than_one() -> None:
    wide = worlds.from_matrix(3 * np.eye(4), noise="poisson")
    for through in ("session", "bulk"):
        (reason,) = reasons({"name": "elimination-plan", "through": through}, wide)
        assert reason.endswith(
            ": needs means of one context that span at most 1 (reading 3), got 3"
        )
    narrow = worlds.from_matrix(np.eye(4), noise="poisson")
    for through in ("session", "bulk"):
        assert reasons({"name": "elimination-plan", "through": through}, narrow) == []


def test_a_plan_in_bulk_is_not_run_where_sums_have_no_law() -> None:
    world = worlds.from_matrix(np.eye(4), noise="student")
    learner = {"name": "elimination-plan", "through": "bulk"}
    found = lb.compare(learner, world, horizon=10**9, seeds=1, jobs=1)
    (row,) = found.rows()
    assert row.status == "not run"
    assert row.reason.startswith("the bulk simulator: noise: a sum of student rewards is drawn")


# --- Drift and the suite --------------------------------------------------------------------


def test_contexts_that_move_keep_their_law() -> None:
    world = {"kind": "tastes", "contexts": 8, "arms": 4, "groups": 2, "rewards": "sd by context",
             "drift": 0.5}  # fmt: skip
    ((spec, _, _),) = draw({"world": [world], "horizon": 99}, None, 0, None)
    scene = spec.make(horizon=99, seed=3)
    ((_, after),) = scene.later
    assert after.law is not None
    assert (scene.world.group != after.group).sum() == 4
    assert str(after.noise) == str(scene.world.noise)
    assert np.array_equal(after.law.variance(after.mean), scene.world.law.variance(after.mean))


def test_the_suite_has_people_and_laws() -> None:
    whole = {spec.label: spec for spec in toml.suite().worlds}
    quick = {spec.label for spec in toml.suite(quick=True).worlds}
    for label, law in (
        ("levels", "bernoulli"), ("levels, groups", "bernoulli"), ("two-point", "bernoulli"),
        ("blocs", "bernoulli"), ("sd by arm", "gaussian"), ("heavy tails", "student"),
        ("one taste, poisson", "poisson"), ("one taste, revenue", "revenue"),
        ("two-point, gaussian", "gaussian"), ("blocs, gaussian", "gaussian"),
        ("one taste, sd by mean", "gaussian"),
    ):  # fmt: skip
        assert whole[label].make(horizon=99, seed=0).world.law.name == law
        assert label in quick


def test_the_suite_has_every_law_with_one_taste_and_people_under_normal_noise() -> None:
    whole = {spec.label: spec for spec in toml.suite().worlds}
    made = {label: spec.make(horizon=99, seed=0).world for label, spec in whole.items()}
    one = {
        spec.given["rewards"] for label, spec in whole.items()
        if spec.kind == "tastes" and made[label].group.max() == 0
    }  # fmt: skip
    assert one == set(people.REWARDS) - {"bernoulli"}  # which is the world of one group
    for label in ("levels", "levels, groups", "two-point", "two-point, levels", "blocs"):
        coins, normal = made[label], made[f"{label}, gaussian"]
        assert (coins.noise, normal.noise, normal.sd) == ("bernoulli", "gaussian", 0.3)
        assert np.array_equal(coins.mean, normal.mean)
