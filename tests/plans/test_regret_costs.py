"""The budget for regret: its rows against the formulas, and crossings that are crossings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lumpable as lb
from lumpable import bounds, compared_rates, regret_bounds
from lumpable.plans import methods, regret_costs
from lumpable.plans.bounds import Rate
from lumpable.plans.making import Algorithm, algorithm
from lumpable.plans.plan import Conversation

problems = st.tuples(st.integers(1, 300), st.integers(1, 300), st.integers(1, 9)).map(
    lambda size: lb.Problem(size[0], size[1], min(size[2], size[0]))
)


def plan_with(rate: Rate, title: str = "new") -> Algorithm[...]:
    """Return a plan that does nothing but has this rate."""

    @algorithm(lb.About(title, "does nothing", endless=True, rate=rate))
    def new(problem: lb.Problem) -> Conversation:
        yield lb.Collect(1, 1, np.ones((1, 1), dtype=bool))
        return lb.Result(np.zeros(1, dtype=np.int64))

    return new


def test_every_plan_for_regret_is_a_row() -> None:
    found = lb.regret_budget(lb.Problem(40, 30, 3), 10**9)
    assert [row.name for row in found.methods if row.name] == [
        make.about.name for make in methods.REGRET
    ]
    forms = [title for title, _, _ in regret_bounds.FORMS]
    others = [each.title for each in compared_rates.COMPARED]
    assert [row.title for row in found.methods if not row.name] == forms + others
    assert [row.title for row in found.methods if row.oracle] == ["EXP3 in known groups"]
    assert [row.title for row in found.methods if row.conjectured] == ["Algorithm 6 without r"]


def test_every_proved_rate_is_a_row_but_for_what_nothing_runs() -> None:
    found = lb.regret_budget(lb.Problem(40, 30, 3), 10**9)
    sources = {row.source for row in found.methods}
    proved = {rate for rate in vars(regret_bounds).values() if isinstance(rate, Rate)}
    assert {rate for rate in proved if rate.source not in sources} == {regret_bounds.FRESH_ADAPTIVE}


def test_what_is_printed_or_assumed_is_remarked() -> None:
    found = lb.regret_budget(lb.Problem(40, 30, 3), 10**9)
    remarks = {row.title: row.remark for row in found.methods}
    assert set(regret_costs.REMARKS) <= {row.name for row in found.methods}
    for title in ("Algorithm 6", "Algorithm 6 in buckets", "Algorithm 6 or the standard one"):
        assert remarks[title] == "as printed; see errata"
    assert remarks["Algorithm 6 on a cover"] == "not proved; see errata"
    bounded = {title for title, remark in remarks.items() if remark == "rewards in [0, 1]"}
    assert bounded == {"EXP3 per context", "EXP4, r^S K^r experts", "EXP3 in known groups"}


def test_a_new_plan_is_listed_with_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    makers = (plan_with(regret_bounds.FRESH_CARRIED), plan_with(regret_bounds.FRESH_UNKNOWN))
    monkeypatch.setattr(methods, "REGRET", makers)
    problem, T = lb.Problem(30, 20, 3), 10**16
    sure, guessed, *_ = lb.regret_budget(problem, T).methods
    assert sure.bound == regret_bounds.fresh_carried_bound(problem, T)
    assert not sure.vacuous
    assert sure.speaks_from is not None
    for factor, speaks in ((0.98, False), (1.02, True)):
        at = sure.speaks_from * factor
        assert (regret_bounds.fresh_carried_bound(problem, at) < at) == speaks
    assert sure.bound_wins is False
    assert sure.bound_turns_at is not None
    S, K = sure.bound_turns_at
    for size, wins in (
        (lb.Problem(S, K, 3), True),
        (lb.Problem(S - S // 50, K - K // 50, 3), False),
    ):
        alone = compared_rates.per_context_bound(size, T)
        assert (regret_bounds.fresh_carried_bound(size, T) < alone) == wins
    assert guessed.bound == regret_bounds.fresh_unknown_bound(problem, T) > sure.bound
    assert guessed.vacuous
    assert guessed.speaks_from is not None
    early = lb.regret_budget(problem, 10**6).methods[0]
    assert early.vacuous
    assert early.bound is not None
    assert early.bound >= 10**6


@settings(max_examples=40, deadline=None)
@given(problem=problems, times=st.floats(0, 60))
def test_the_crossings_are_crossings(problem: lb.Problem, times: float) -> None:
    T = min(int(2.0**times), 2**63 - 1)
    found = lb.regret_budget(problem, T)
    rates = {make.about.name: make.about.rate for make in methods.REGRET}
    for row in found.methods:
        rate = rates.get(row.name)
        if rate is None:
            continue
        assert row.rate == rate.of(problem, T)
        assert row.rate_wins == (row.rate < bounds.standard_rate(problem, T))
        if row.rate_turns_at is not None:
            S, K = row.rate_turns_at
            there = lb.Problem(S, K, problem.groups)
            assert (rate.of(there, T) < bounds.standard_rate(there, T)) != row.rate_wins
        if row.rate_wins_until is not None:
            for at, wins in (
                (row.rate_wins_until * 1.01, False),
                (row.rate_wins_until / 1.02, True),
            ):
                assert at < 1 or (rate.of(problem, at) < bounds.standard_rate(problem, at)) == wins


def test_the_crossing_at_hand() -> None:
    """r^3 (S + K) = S K at S = K = 2 r^3; below sqrt(SKT) from there on."""
    row = lb.regret_budget(lb.Problem(20, 20, 3), 10**6).methods[0]
    assert row.formula == bounds.LUMPABLE.formula
    assert row.rate_turns_at == (55, 55)
    assert not row.rate_wins
    back = lb.regret_budget(lb.Problem(200, 200, 3), 10**6).methods[0]
    assert back.rate_wins
    assert back.rate_turns_at == (54, 54)


def test_a_bound_speaks_from_the_square_of_its_factor_on() -> None:
    """2 sqrt(SKT ln K) < T from T = 4 SK ln K on."""
    found = regret_costs.speaks_from(lb.Problem(30, 20, 3), compared_rates.per_context_bound)
    assert found == pytest.approx(4 * 600 * math.log(20), rel=0.011)


@pytest.mark.parametrize("horizon", [0, 2**63, 1.5, True, "many"])
def test_a_horizon_that_is_none_is_refused(horizon: float) -> None:
    with pytest.raises(lb.BadArgument, match="horizon: expected"):
        lb.regret_budget(lb.Problem(4, 4, 2), horizon)


def test_sizes_beyond_floats_are_refused() -> None:
    with pytest.raises(lb.BadArgument, match="contexts: expected at most 1e18"):
        lb.regret_budget(lb.Problem(10**19, 4, 2), 10)
    largest = lb.Problem(10**18, 10**18, 10**18)
    assert all(math.isfinite(row.rate) for row in lb.regret_budget(largest, 2**63 - 1).methods)
