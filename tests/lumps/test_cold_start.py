"""A process without compiled code: the same decisions, and few things to compile."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners.engine.early import Early
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.core.parts_compiled import of_fits, of_rounds
from lumpable.lumps.core.state import RISE

DATA = Path(__file__).parents[1] / "data"
COINS, REAL = ("young", "groups", "directions"), ("factors", "real")
FEW = """
import os, sys, lumpable as lb
with lb.open(arms=["red", "green", "blue"], seed=3) as experiment:
    for k in range(9):  # the first fit comes with the tenth reward
        made = experiment.decide(f"user {k % 4}", ["red", "blue"] if k % 3 else None)
        print(made.arm, end=" ", flush=True)
        experiment.reward(made.event, float(k % 2))
    os._exit(0)  # or it would compile to the end
"""
MANY = """
import gc
import lumpable as lb
from numba.core.dispatcher import Dispatcher
from lumpable.learners.engine.early import BESIDE
from lumpable.learners.engine.inner import Inner
from lumpable.lumps.belief.answers_compiled import of_answers
from lumpable.lumps.core.parts_compiled import of_fits, of_rounds

for real in (False, True):
    with lb.open(arms=["red", "green", "blue"], seed=3, fits="inline") as e:
        for k in range(400):
            made = e.decide(f"user {k * k % 31}", ["red", "blue"] if k % 9 == 0 else None)
            good = (made.arm == "red") == (k * k % 31 < 12)
            e.reward(made.event, float(good) + real * (k % 5) / 9.0)
        for read in (e.groups, e.members, e.policy, e.lift, e.summary):
            read()
        e.decide_many(["user 1", "new"]), e.expected("user 1"), e.explain("user 2")
        e.forget("user 3")
BESIDE.wait()
parts = {id(part.function): part for part in [*of_rounds(), *of_fits(), *of_answers()]}
for each in gc.get_objects():
    if isinstance(each, Dispatcher) and each.py_func.__module__.startswith("lumpable."):
        if isinstance(each, Inner):
            assert len(each.overloads) <= 1, (each, each.signatures)
            assert "alone" not in vars(each), each
        elif each.overloads:
            assert each.signatures == [parts[id(each)].signature], (each, each.signatures)
print(sum(bool(part.function.overloads) for part in parts.values()))
"""


def run(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | environment, text=True,
        capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def rounds(one: ThreeLevels, real: bool, number: int, seed: int = 1) -> None:
    """Play a learner and a copy whose rounds are interpreted, side by side."""
    other, rng = copy.deepcopy(one), np.random.default_rng(seed)
    other.answer_at_once()
    for t in range(number):
        context, mask = int(rng.integers(min(one.contexts, 40))), rng.random(one.arms) < 0.7
        allowed = mask if t % 3 == 0 and mask.any() else None
        arms = one.ask(context, allowed), other.ask(context, allowed)
        assert arms[0] == arms[1]
        assert one.state.score.tobytes() == other.state.score.tobytes()
        reward = float(rng.normal()) if real else float(rng.random() < 0.3 + 0.5 * (arms[0] % 2))
        for learner in (one, other):
            learner.tell(context, arms[0], reward)
    for name, array in one.state._asdict().items():
        assert array.tobytes() == other.state._asdict()[name].tobytes(), name
    assert one.clock.tolist() == other.clock.tolist()


@pytest.fixture
def never_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def call(self: Early, address: int, *arguments: object) -> object:
        return self._interpreted(*arguments)

    monkeypatch.setattr(Early, "__call__", call)


@pytest.mark.usefixtures("never_compiled")
@pytest.mark.parametrize("name", [*COINS, *REAL])
def test_interpreted_rounds_are_the_compiled_ones_bit_for_bit(name: str) -> None:
    rounds(lb.Lumps.load(DATA / f"{name}.lumps").core, name in REAL, 120)


@pytest.mark.usefixtures("never_compiled")
def test_so_are_those_of_own_means_with_two_values() -> None:
    rng = np.random.default_rng(1)
    mean = 2.0 * (rng.random((40, 6)) < 0.5)
    learner = ThreeLevels(40, 6, seed=1)
    for _ in range(1500):
        context = int(rng.integers(40))
        arm = learner.ask(context)
        learner.tell(context, arm, float(mean[context, arm] + 0.1 * rng.normal()))
        if learner.state.value[RISE] > 0.0:
            break
    assert learner.state.value[RISE] > 0.0
    rounds(learner, real=True, number=60)


def test_a_process_without_compiled_code_decides_the_same(tmp_path: Path) -> None:
    cold = run(FEW, NUMBA_CACHE_DIR=str(tmp_path))
    warm = run(FEW.replace("open(", "open(fits='inline', "))
    assert len(cold.split()) == 9
    assert cold == warm


def test_a_service_compiles_each_part_for_one_kind_of_arguments_and_nothing_else() -> None:
    assert int(run(MANY)) >= len([*of_rounds(), *of_fits()]) - 4
