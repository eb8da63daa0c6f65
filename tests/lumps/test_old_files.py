"""Files that earlier versions wrote still open, and the same choices come next.

`tests/data/*.lumps` were written by the code before the rooms, or before values of real rewards
were kept; beside each stands what comes next, decision by decision: what that code chose, or for
groups whose contexts deviate, which explore less since, what is chosen now. Of real rewards it kept
sums only, so those files go on with the same sums, and groups are found anew. Whoever changes
the format keeps these files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counts_made import alike

from lumpable import Lumps
from lumpable.base import archive
from lumpable.lumps.core.layout import cells_of

DATA = Path(__file__).parents[1] / "data"
NAMES = ("young", "groups", "directions")
"""Rewards of 0 and 1, ..."""
REAL = ("factors", "real")
"""... and others, along a direction and in three groups."""


def number(decision: Any) -> int:
    """Return what chance goes by; these files were written before ids had tags."""
    return int(str(decision.id).rpartition("-")[2])


def go_on(lumps: Lumps, rounds: int, seed: int, scale: float = 1.0) -> list[list[Any]]:
    """Decide, reward and grow, all drawn by a seed; return what was decided.

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
                lumps.reward(id, scale * float(rng.random() < 0.5))
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


@pytest.mark.parametrize("name", REAL)
def test_an_old_file_of_real_rewards_keeps_its_sums_and_learns_on(
    name: str, tmp_path: Path
) -> None:
    path = DATA / f"{name}.lumps"
    lumps, expected = Lumps.load(path), json.loads((DATA / f"{name}.json").read_text())
    assert [list(row) for row in map(_row, lumps.waiting())] == expected["waiting"]
    assert lumps.core.state.pending.sum() == len(expected["waiting"])
    cells = cells_of(lumps.core.state)
    with archive.Reader(path) as reader:
        for field, kind in (("length", "i"), ("arm", "i"), ("pulls", "f")):
            assert np.array_equal(cells[field], reader.array(field, kind, 10**6))
        assert cells["total"] == pytest.approx(reader.array("total", "f", 10**6), rel=1e-9)
    assert lumps.core.tells == cells["pulls"].sum()
    lumps.save(tmp_path / "again.lumps")
    again = Lumps.load(tmp_path / "again.lumps")
    assert go_on(lumps, 400, seed=9, scale=2.5) == go_on(again, 400, seed=9, scale=2.5)
    assert repr(again) == repr(lumps)


def test_old_sums_of_real_rewards_are_those_that_were_told_and_show_the_groups() -> None:
    """Three groups, whose best arms are worth 3 and the others 1, with a noise of 1/2."""
    lumps, told = Lumps.load(DATA / "real.lumps"), json.loads((DATA / "real.json").read_text())
    counts, state = lumps.core.counts(), lumps.core.state
    n, totals = np.zeros((40, 6)), np.zeros((40, 6))
    n[counts.context[counts.row], counts.arm] = counts.n
    for i in range(40):
        at = slice(state.start[i], state.start[i] + state.length[i])
        totals[i, state.arm[at]] = state.total[at]
    assert np.array_equal(n, told["n"])
    assert totals == pytest.approx(np.array(told["totals"]), rel=1e-9, abs=1e-9)
    group = lumps.core.membership(np.arange(40))
    assert group @ group.T == pytest.approx(alike(np.arange(40) % 3), abs=1e-3)
    mean = lumps.core.posterior_means(np.arange(40))
    truth = np.where(np.arange(6) % 3 == np.arange(40)[:, None] % 3, 3.0, 1.0)
    error = 0.5 / np.sqrt(480 / 18)  # of an arm in a group
    assert np.abs(mean - truth).max() < 6 * error


def test_the_files_hold_what_can_go_wrong() -> None:
    groups, factors, directions = (
        Lumps.load(DATA / f"{name}.lumps") for name in ("groups", "factors", "directions")
    )
    assert groups.core.last_fit is not None
    assert groups.core.last_fit.groups > 1
    assert len({pull.group for pull in groups.core.under_way.values()}) > 1
    known = {pull.context in groups.contexts for pull in groups.core.under_way.values()}
    assert known == {True, False}
    assert groups.retired
    for lumps, real in ((factors, True), (directions, False)):
        assert lumps.core.last_fit is not None
        assert lumps.core.last_fit.rank > 0
        assert lumps.core.last_fit.real == real
