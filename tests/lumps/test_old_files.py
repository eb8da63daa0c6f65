"""Files that earlier versions wrote still open, and the same choices come next.

`tests/data/*.lumps` were written by the code before the rooms; beside each stands what that code
chose next, decision by decision. Whoever changes the format keeps these files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lumpable import Lumps

DATA = Path(__file__).parents[1] / "data"
NAMES = ("young", "groups", "factors")


def number(decision: Any) -> int:
    """Return what chance goes by; these files were written before ids had tags."""
    return int(str(decision.id).rpartition("-")[2])


def go_on(lumps: Lumps, rounds: int, seed: int) -> list[list[Any]]:
    """Decide, reward, tell and grow, all drawn by a seed; return what was decided.

    Outstanding decisions of an old file are rewarded by their integers.
    """
    rng, made = np.random.default_rng(seed), []
    waiting = [decision.id for decision in lumps.waiting()]
    for t in range(rounds):
        i = int(rng.integers(40))
        decision = lumps.decide(i if i % 2 else f"user {i}")
        waiting.append(decision.id)
        made.append([number(decision), decision.context, decision.arm, decision.propensity])
        for _ in range(int(rng.integers(3)) if waiting else 0):
            if waiting:
                id = waiting.pop(int(rng.integers(len(waiting))))
                lumps.reward(id, float(rng.random() < 0.5))
        if t == rounds // 2:
            lumps.add_arm("late")
    return made


@pytest.mark.parametrize("name", NAMES)
def test_an_old_file_goes_on_as_it_would_have(name: str) -> None:
    lumps = Lumps.load(DATA / f"{name}.lumps")
    expected = json.loads((DATA / f"{name}.json").read_text())
    assert [list(row) for row in map(_row, lumps.waiting())] == expected["waiting"]
    assert lumps.core.state.pending.tolist() == expected["pending"]
    assert go_on(lumps, 400, seed=9) == expected["next"]
    assert repr(lumps) == expected["end"]


def _row(decision: Any) -> tuple[Any, ...]:
    return decision.id, decision.context, decision.arm, decision.propensity


@pytest.mark.parametrize("name", NAMES)
def test_it_is_saved_as_it_was(name: str, tmp_path: Path) -> None:
    Lumps.load(DATA / f"{name}.lumps").save(tmp_path / "again.lumps")
    again = Lumps.load(tmp_path / "again.lumps")
    assert go_on(again, 400, seed=9) == json.loads((DATA / f"{name}.json").read_text())["next"]


def test_the_files_hold_what_can_go_wrong() -> None:
    groups, factors = (Lumps.load(DATA / f"{name}.lumps") for name in ("groups", "factors"))
    assert groups.core.last_fit is not None
    assert groups.core.last_fit.groups > 1
    assert len({pull.group for pull in groups.core.under_way.values()}) > 1
    known = {pull.context in groups.contexts for pull in groups.core.under_way.values()}
    assert known == {True, False}
    assert groups.retired
    assert factors.core.last_fit is not None
    assert factors.core.last_fit.rank > 0
