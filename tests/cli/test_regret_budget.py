"""`lumpable budget --horizon` prints what the library computes and what was measured."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

import lumpable as lb
from lumpable.base.words import short
from lumpable.cli import main, regret_budgets, regret_measured
from lumpable.plans import methods
from lumpable.plans.regret_costs import RegretMethod

SIZE = ("--contexts", "30", "--arms", "20", "--groups", "3")


def call(*words: str) -> Result:
    line = ["budget", *words]
    return CliRunner(env={"COLUMNS": "80"}).invoke(main.main, line, prog_name="lumpable")


def printed(*words: str) -> str:
    result = call(*words)
    assert result.exit_code == 0, result.stderr
    assert all(len(line) <= 80 and "…" not in line for line in result.stdout.splitlines())
    return " ".join(result.stdout.split())


def test_as_json_it_is_the_budget_of_the_library() -> None:
    said = json.loads(call(*SIZE, "--horizon", "1e13", "--json").stdout)
    rows = said.pop("measured")
    found = lb.regret_budget(lb.Problem(30, 20, 3), 10**13)
    assert said == json.loads(json.dumps(msgspec.to_builtins(found)))
    assert {row["name"] for row in rows} <= {make.about.name for make in methods.REGRET}
    assert {row["horizon"] for row in rows} == {10**13}


def test_it_shows_rates_bounds_and_crossings() -> None:
    text = printed(*SIZE, "--horizon", "1e13")
    found = lb.regret_budget(lb.Problem(30, 20, 3), 10**13)
    for row in found.methods:
        assert f"{row.formula} {short(row.rate)} " in text
        assert row.title in text
        if row.bound is not None:
            shown = regret_budgets.bound(row)
            assert f"{row.title} {shown} {regret_budgets.speaks(row)}" in text
    assert "sqrt(r^3 (S+K) T) 1.16e8 from 68 x 45 on" in text
    assert "(S+K)^p T^(1-p), p = 1/(3r+2) 9.39e11 up to T = 1,046" in text
    assert f"Every method loses at least {short(found.lower_bound)} in some world" in text
    assert "The smallest rate of a plan here: " in text
    assert "No constant is known for Algorithm 4, Algorithm 6," in text


def test_at_a_large_size_it_says_down_to_where() -> None:
    text = printed("--horizon", "1000000")
    assert "sqrt(r^3 (S+K) T) 5e5 down to 250 x 250" in text
    assert "EXP3 per context 5.26e6 (vacuous) 2.78e7 rounds" in text


def test_it_shows_what_was_measured_and_nothing_else() -> None:
    text = printed(*SIZE, "--horizon", "1e13")
    rows = regret_measured.measured_at(lb.Problem(30, 20, 3), 10**13)
    titles = {make.about.name: make.about.title for make in methods.REGRET}
    assert rows
    for name, title in titles.items():
        lost = [
            next((short(r.mean) for r in rows if (r.name, r.world) == (name, kind)), "not measured")
            for kind in regret_measured.WORLDS
        ]
        assert f"{title} {' '.join(lost)} " in text
    assert "Measured at (30, 20, 3), 1e13 rounds: mean regret in 3 worlds of each kind" in text
    assert "Not measured" not in text


def test_elsewhere_it_shows_the_nearest_that_was_measured_and_says_so() -> None:
    text = printed("--horizon", "1e12")  # (1000, 1000, 5)
    assert (
        "Not measured at your size and horizon. The nearest that were: (S, K, r) = (1000, 100"
        in text
    )
    assert "Measured at (1000, 100, 5), 1e13 rounds" in text
    for row in regret_measured.measured_at(lb.Problem(1000, 100, 5), 10**13):
        assert short(row.mean) in text


@pytest.mark.parametrize(
    ("size", "T", "nearest"),
    [
        ((30, 20, 3), 10**10, (30, 20, 3, 10**10)),
        ((1, 1, 1), 1, (30, 20, 3, 10**10)),
        ((300, 300, 3), 10**12, (200, 200, 2, 10**13)),
        ((5000, 5000, 8), 10**15, (1000, 100, 5, 10**16)),
    ],
)
def test_the_nearest_is_the_one_with_the_smallest_factors(
    size: tuple[int, int, int], T: int, nearest: tuple[int, int, int, int]
) -> None:
    rows = regret_measured.measured_near(lb.Problem(*size), T)
    assert {(*row.size, row.horizon) for row in rows} == {nearest}


def test_who_chose_the_standard_algorithm_is_named() -> None:
    """The switch does at (30, 20, 3), and Algorithm 6 itself never is the standard one."""
    assert (
        "Chose the standard algorithm here, and lost just what it lost: "
        "Algorithm 6 or the standard one, Algorithm 6 on a cover."
    ) in printed(*SIZE, "--horizon", "1e13")
    rows = regret_measured.measured_at(lb.Problem(30, 20, 3), 10**13)
    titles = {"lumpable.regret.any_groups": "Algorithm 6"}
    assert regret_budgets.same_as_standard(titles, rows) == ""


def test_a_plan_that_was_not_measured_is_said_to_be_so() -> None:
    """The table is older than the plan: no number is made up."""
    rows = tuple(
        row
        for row in regret_measured.measured_at(lb.Problem(30, 20, 3), 10**13)
        if row.name != "lumpable.regret.any_groups"
    )
    found = lb.regret_budget(lb.Problem(30, 20, 3), 10**13)
    with CliRunner().isolation() as (out, *_):
        regret_budgets.print_regret(found, rows)
    said = " ".join(out.getvalue().decode().split())
    assert "Algorithm 6 not measured not measured " in said


def test_the_table_has_every_size_horizon_and_world_once() -> None:
    rows = regret_measured.read_table()
    keys = [(r.name, r.contexts, r.arms, r.groups, r.horizon, r.world) for r in rows]
    assert len(set(keys)) == len(keys)
    places = {(size, T, world) for size in regret_measured.SIZES for T in regret_measured.HORIZONS
              for world in regret_measured.WORLDS}  # fmt: skip
    assert {((r.contexts, r.arms, r.groups), r.horizon, r.world) for r in rows} == places
    assert all(0 <= lost <= r.horizon for r in rows for lost in r.regret)
    assert len({len(r.regret) for r in rows}) == 1


def test_a_title_with_a_comma_is_set_off() -> None:
    said = regret_budgets.crossings(lb.regret_budget(lb.Problem(30, 20, 3), 10**13))
    assert any(line.startswith("The bound of fresh phases, r guessed, is ") for line in said)


def row_of(**changes: Any) -> RegretMethod:
    """Return a row of a plan with a bound of its own."""
    first = lb.regret_budget(lb.Problem(30, 20, 3), 10**13).methods[0]
    return dataclasses.replace(first, bound=7e9, speaks_from=1e6, bound_wins=False, **changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "is not below that of EXP3 per context at any size that was looked at."),
        (
            {"bound_turns_at": (900, 600)},
            "is below that of EXP3 per context from S x K = 900 x 600 on.",
        ),
    ],
)
def test_crossings_of_bounds_are_said(changes: dict[str, Any], words: str) -> None:
    found = lb.regret_budget(lb.Problem(30, 20, 3), 10**13)
    one = dataclasses.replace(found, methods=(row_of(**changes),))
    assert regret_budgets.crossings(one) == [f"The bound of Algorithm 4 {words}"]
    wins = dataclasses.replace(one.methods[0], bound_wins=True)
    (said,) = regret_budgets.crossings(dataclasses.replace(one, methods=(wins,)))
    assert said.startswith("The bound of Algorithm 4 is below that of EXP3 per context")
    assert regret_budgets.unnamed(one) == "Every plan of the package has a bound."


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--epsilon", "0.1"), "--epsilon has no effect with --horizon"),
        (("--delta", "0.1"), "--delta has no effect with --horizon"),
        (("--horizon", "0"), "expected a whole number from 1 to 9.22e18, got '0'"),
        (("--horizon", "soon"), "expected a whole number from 1 to 9.22e18, got 'soon'"),
        (("--contexts", "1" + 20 * "0"), "contexts: expected at most 1e18"),
        (("--groups", "2000"), "groups: expected one of 1 .. 1000"),
    ],
)
def test_what_is_refused(words: tuple[str, str], error: str) -> None:
    result = call("--horizon", "10", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert error in result.stderr
    assert "Traceback" not in result.stderr
