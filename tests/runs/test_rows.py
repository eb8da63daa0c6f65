"""Results are frozen rows with named fields, and turn into any frame."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lumpable as lb

WORLD = lb.worlds.lumpable(12, 8, 3, seed=1)


@functools.cache
def run() -> lb.Run:
    """Return a run in bulk; not made on import, where every worker would compile it."""
    plan = lb.regret.equal_groups(lb.Problem(12, 8, 3))
    return lb.simulate(plan, WORLD, seed=1, horizon=10**12)


@functools.cache
def played() -> lb.Played:
    """Return a learner's run, round by round."""
    return lb.play(lb.learners.UCB1(12, 8, seed=1), WORLD, horizon=500, seed=2)


@pytest.fixture(params=[run, played])
def rows(request: pytest.FixtureRequest) -> list[Any]:
    return list(request.param().rows())


def test_rows_turn_into_frames(rows: list[Any]) -> None:
    names = [field.name for field in dataclasses.fields(rows[0])]
    dicts = [dataclasses.asdict(row) for row in rows]
    assert list(dicts[0]) == names
    assert len(rows) > 3
    pandas, polars = pd.DataFrame(rows), pl.DataFrame(rows)
    assert list(pandas.columns) == polars.columns == names
    assert polars.to_dicts() == dicts
    assert pandas["regret"].tolist() == [row.regret for row in rows]


def test_rows_are_frozen(rows: list[Any]) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        rows[0].regret = 0.0


def test_a_list_of_rows_is_the_caller_s_own() -> None:
    run().rows().clear()
    played().rows().clear()
    assert run().rows()
    assert played().rows()


def test_the_last_row_is_the_end() -> None:
    assert (run().rows()[-1].rounds, run().rows()[-1].regret) == (run().rounds, run().regret)
    assert (played().rows()[-1].round, played().rows()[-1].regret) == (
        played().rounds,
        played().regret,
    )


# --- Whole floats are counts ---------------------------------------------------------------------


def test_a_whole_float_is_a_horizon() -> None:
    problem = lb.Problem(12, 8, 3)
    plan = lb.standard.online
    count = lb.simulate(plan(problem), WORLD, seed=1, horizon=10**5)
    for whole in (1e5, np.float64(1e5)):
        same = lb.simulate(plan(problem), WORLD, seed=1, horizon=whole)
        assert (same.rounds, type(same.rounds)) == (10**5, int)
        assert same.rows() == count.rows()
    exact = lb.exact(lb.standard.online(problem), WORLD, horizon=1e5)
    assert (exact.rounds, type(exact.rounds)) == (10**5, int)
    again = lb.play(lb.learners.UCB1(12, 8, seed=1), WORLD, horizon=5e2, seed=2)
    assert again.regret == played().regret
    plans = [lb.reductions.any_contexts_online(problem, horizon=T) for T in (1e6, 10**6)]
    asked = [next(plan) for plan in plans]
    assert asked[0].rounds == asked[1].rounds


def test_a_session_whose_horizon_is_a_float_opens_again(tmp_path: Path) -> None:
    for horizon in (1e6, 10**6):
        plan = lb.reductions.any_contexts_online(lb.Problem(6, 3, 2), horizon=horizon)
        session = lb.Session(plan, seed=1)
        session.tell(0, session.ask(0), 0.5)
        session.save(tmp_path / "session")
        again = lb.Session.load(tmp_path / "session")
        assert [again.ask(i) for i in range(6)] == [session.ask(i) for i in range(6)]


@pytest.mark.parametrize("horizon", [1.5, float("nan"), float("inf"), True, "100", 0.0, -1e3])
def test_what_is_no_count_is_refused(horizon: Any) -> None:
    plan = lb.standard.online(lb.Problem(12, 8, 3))
    with pytest.raises(lb.BadArgument, match="horizon: expected"):
        lb.simulate(plan, WORLD, seed=1, horizon=horizon)
