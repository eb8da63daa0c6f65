"""The engine: generated entry points, their cache on disk, refits, and learners of other people."""

from __future__ import annotations

import copy
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import lumpable as lb
from lumpable.comparisons import roster
from lumpable.learners.engine.entries import entries
from lumpable.runs.measures import Misbehaved
from lumpable.runs.playing import play

WORLD = lb.worlds.lumpable(5, 4, 2, noise="bernoulli", seed=1)

HELPER = """
from lumpable.learners.engine.clock import kernel

@kernel
def step():
    return {step}
"""
MINE = """
from typing import NamedTuple

import numpy as np
from lumpable.learners.engine.clock import kernel
from lumpable.learners.engine.entries import Kernels
from lumpable.learners import Compiled
from helper import step

class State(NamedTuple):
    last: np.ndarray
    cube: np.ndarray
    small: np.ndarray
    due: np.ndarray
    factor: float
    number: int
    flag: bool

@kernel
def choose(state, context, clock):
    if state.flag and state.factor == 2.5 and state.number == 7 and state.cube[1, 2, 3] == 9.0:
        return int(state.last[context]) % {arms}
    return -5

@kernel
def update(state, context, arm, reward, clock):
    state.last[context] += step()
    state.small[0] = not state.small[0]

class Mine(Compiled):
    kernels = Kernels(choose, update)

    def __init__(self, contexts, arms, *, seed=0):
        cube = np.zeros((2, 3, 4))
        cube[1, 2, 3] = 9.0
        state = State(np.zeros(contexts, np.int32), cube, np.zeros(1, bool),
                      np.array([10]), 2.5, 7, True)
        super().__init__(contexts, arms, seed, state)
        self.refits = []

    def policy(self):
        return np.zeros(self.contexts, dtype=np.int64)

    def refit(self):
        self.refits.append(self.tells)
        self.state.due[0] += 15
"""
RUN = """
import lumpable as lb
from lumpable.runs.playing import play
from mine import Mine

world = lb.worlds.lumpable(5, 4, 2, noise="bernoulli", seed=1)
learner = Mine(5, 4)
play(learner, world, horizon=100, seed=1)
one = Mine(5, 4)
one.tell(0, one.ask(0), 1.0)
hits = [sum(e.stats.cache_hits.values()) for e in (learner.loop, one._ask, one._tell)]
print(learner.state.last.sum(), learner.refits, hits, one.state.last[0])
"""


def written(folder: Path, *, step: int = 1, arms: int = 4) -> None:
    (folder / "helper.py").write_text(HELPER.format(step=step))
    (folder / "mine.py").write_text(MINE.replace("{arms}", str(arms)))


def run(folder: Path) -> str:
    done = started(folder, "-c", RUN, PYTHONDONTWRITEBYTECODE="1")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def started(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Start Python with a folder on its path, and this package where it was imported from."""
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **variables}
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, env=environment
    )


def test_compiled_code_is_cached_until_a_source_changes(tmp_path: Path) -> None:
    """Also one that is called from another file, which the compiler's own cache overlooks."""
    written(tmp_path)
    assert run(tmp_path) == "100 [10, 25, 40, 55, 70, 85, 100] [0, 0, 0] 1"
    assert run(tmp_path) == "100 [10, 25, 40, 55, 70, 85, 100] [1, 1, 1] 1"
    written(tmp_path, step=3)
    assert run(tmp_path) == "300 [10, 25, 40, 55, 70, 85, 100] [0, 0, 0] 3"


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a learner class whose fifth arm does not exist; it is compiled once."""
    folder = tmp_path_factory.mktemp("mine")
    written(folder, arms=5)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        for name in ("mine", "helper"):
            patch.delitem(sys.modules, name, raising=False)
        import mine  # type: ignore[import-not-found]

        yield mine.Mine


def test_a_compiled_learner_that_returns_no_arm_is_named(mine: Any) -> None:
    with pytest.raises(
        Misbehaved, match=r"Mine: ask\(\d\) returned 4, not an arm, in round 1[1-9]"
    ):
        play(mine(5, 4), WORLD, horizon=100, seed=1)


def test_refits_come_at_the_same_tells_in_the_loop_and_by_hand(mine: Any) -> None:
    world = lb.worlds.lumpable(5, 5, 2, noise="bernoulli", seed=1)
    fast, slow = mine(5, 5), mine(5, 5)
    play(fast, world, horizon=77, seed=1)
    rng = np.random.default_rng(1)
    for _ in range(77):
        context = int(rng.integers(5))
        slow.tell(context, slow.ask(context), 0.0)
    assert fast.refits == slow.refits == [10, 25, 40, 55, 70]


def test_refits_come_on_time_when_rewards_are_late(mine: Any) -> None:
    world = lb.worlds.lumpable(5, 5, 2, noise="bernoulli", seed=1)
    learner = mine(5, 5)
    play(learner, lb.Scene(world, delay=30), horizon=100, seed=1)
    assert learner.tells == 70
    assert learner.refits == [10, 25, 40, 55, 70]


def test_whole_numbers_of_numpy_are_taken() -> None:
    learner = lb.learners.UCB1(5, 4, seed=1)
    arm = learner.ask(np.int64(3))  # type: ignore[arg-type]
    learner.tell(np.int32(3), np.int64(arm), 1)  # type: ignore[arg-type]
    assert learner.tells == 1
    assert learner.state.plays[3, arm] == 1


def told(learner: Any, rounds: int = 200) -> Any:
    rng = np.random.default_rng(3)
    for _ in range(rounds):
        context = int(rng.integers(5))
        learner.tell(context, learner.ask(context), float(rng.random() < 0.5))
    return learner


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_has_a_life_of_its_own_and_goes_on_alike(copied: Any) -> None:
    for name in ("thompson", "kmeans", "oracle-groups"):
        first = told(roster.make(name, lb.Scene(WORLD), horizon=1000, seed=4))
        second = copied(first)
        before = first.tells
        arms = [second.ask(context) for context in range(5)]
        told(second)
        assert first.tells == before
        assert arms == [first.ask(context) for context in range(5)]
        told(first)
        assert [first.ask(i) for i in range(5)] == [second.ask(i) for i in range(5)]


def test_contexts_that_are_asked_in_one_go_draw_on_their_own() -> None:
    """Fifty contexts without a tell between them: all on one of 20 arms has odds of 20^-49."""
    learner = lb.learners.Uniform(50, 20, seed=1)
    assert len({learner.ask(context) for context in range(50)}) > 1


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.zeros((3, 2)).T, "state.mean: expected a C-contiguous array"),
        (np.zeros(3, dtype=np.float32), "got float32"),
        (np.float64(2.0), "state.mean: expected an array, bool, int or float"),
        ("2", "state.mean: expected an array, bool, int or float"),
    ],
)
def test_what_a_state_cannot_hold_is_named(value: Any, words: str) -> None:
    class State(NamedTuple):
        mean: Any

    with pytest.raises(TypeError, match=re.escape(words)):
        entries(lb.learners.UCB1.kernels, State(value))


@pytest.mark.parametrize(
    "typed_in", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["file", "typed in"]
)
def test_states_of_the_same_kinds_share_no_code(tmp_path: Path, typed_in: bool) -> None:
    """Two states that differ only in the order of two fields; also without a file, as typed in."""
    code = """
from typing import NamedTuple
import numpy as np
from lumpable.learners.engine.clock import kernel, seeded
from lumpable.learners.engine.blocks import Block
from lumpable.learners.engine.entries import Kernels, entries

@kernel
def choose(state, context, clock):
    return state.a[0]

@kernel
def update(state, context, arm, reward, clock):
    pass

class One(NamedTuple):
    a: np.ndarray
    b: np.ndarray

class Two(NamedTuple):
    b: np.ndarray
    a: np.ndarray

found = []
for kind in (One, Two):
    state, clock = kind(np.array([10]), np.array([4])), seeded(1)
    block = Block(state, clock)
    found.append(entries(Kernels(choose, update), state).ask(block.address, 0))
print(found)
"""
    (tmp_path / "both.py").write_text(code)
    for words in [code] if typed_in else ["import both"] * 2:  # compiled, then from the cache
        done = started(tmp_path, "-c", words)
        assert done.stdout.strip() == "[10, 4]", done.stderr


def test_no_arm_and_a_refit_at_once_do_not_go_on_for_ever(mine: Any) -> None:
    learner = mine(5, 4)
    learner.state.due[0] = 0
    learner.state.last[:] = 4
    with pytest.raises(Misbehaved):
        play(learner, WORLD, horizon=100, seed=1)


def test_every_learner_runs_where_there_is_no_noise_and_labels_have_gaps() -> None:
    world = lb.World(WORLD.mean, WORLD.frequency, np.array([0, 9, 0, 9, 3]), sd=0.0)
    by_chance = world.frequency @ (world.mean.max(axis=1) - world.mean.mean(axis=1))
    for name in ("mts", "mucb", "kmeans", "mixture", "oracle-groups", "elimination"):
        scene = lb.Scene(world)
        played = play(roster.make(name, scene, horizon=300, seed=1), scene, horizon=300, seed=1)
        assert 0.0 < played.regret < 300 * by_chance, name
