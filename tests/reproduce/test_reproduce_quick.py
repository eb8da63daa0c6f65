"""The quick run of `lumpable reproduce`: every claim of the paper comes out as it is said to.

Rows that take long are measured at night. By day they are judged, worded and drawn from what such a
run has kept (`tests/data/claims`). What the three longest rest on is measured in small, at night.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lumpable.plans.problem import Problem
from lumpable.reproduce import record, runner
from lumpable.reproduce.claim import Claim
from lumpable.reproduce.claims import open_question, rates, regret_growth, unknown_r
from lumpable.reproduce.conclude import conclude
from lumpable.reproduce.record import Row

CLAIMS = runner.load()
SHORT = (1, 2, 32)
"""Rows that take a second at most, and so are measured by day."""
LONG = tuple(number for number in CLAIMS if number not in SHORT)
KEPT = Path(__file__).parents[1] / "data" / "claims"


def by_length() -> Iterator[Any]:
    for number, claim in CLAIMS.items():
        marks = [pytest.mark.nightly] if number in LONG else []
        yield pytest.param(claim, marks=marks, id=f"claim-{number}")


def check(row: Row) -> None:
    """Printed where it stands, repaired where there is a repair, and the broken variant caught."""
    assert not row.error, row.error
    seen = [f"{line.form}: {line.what} = {line.measured:g} {line.bar:g}" for line in row.checks]
    assert row.as_expected, "\n".join([row.title, *seen])
    assert row.seeds > 0
    assert row.words
    assert row.setting
    assert row.picture.startswith("<svg")


def test_all_are_there() -> None:
    assert list(CLAIMS) == list(range(1, 37))


@pytest.mark.parametrize("claim", list(by_length()))
def test_quick(claim: Claim) -> None:
    order = runner.Order(claim, quick=True, source="")
    check(runner.measure(order).row(order))


# --- Long rows, by day ----------------------------------------------------------------------------


@pytest.mark.parametrize("number", LONG)
def test_a_long_row_from_what_was_kept(number: int) -> None:
    check(conclude(CLAIMS[number], record.decode(_kept(number).read_bytes())))


@pytest.mark.nightly
@pytest.mark.parametrize("number", LONG)
def test_what_was_kept_is_what_is_measured(number: int) -> None:
    """Up to the last bits of floats, which differ from machine to machine."""
    order = runner.Order(CLAIMS[number], quick=True, source="")
    measured = record.decode(runner.measure(order).content).measured
    kept = record.decode(_kept(number).read_bytes()).measured
    assert measured.setting == kept.setting
    assert _numbers(measured.rows) == pytest.approx(_numbers(kept.rows), rel=1e-6, nan_ok=True)


def _numbers(rows: list[dict[str, Any]]) -> list[float]:
    found = []
    for row in rows:
        for value in row.values():
            found += value if isinstance(value, list) else [value]
    return [value for value in found if isinstance(value, int | float)]


def _kept(number: int) -> Path:
    return KEPT / f"{number}-quick.json"


@pytest.mark.nightly
def test_regret_grows_like_its_charge_in_small() -> None:
    """Row 22: Algorithm 4 in S + K and in r, beside what is broken on purpose."""
    growth = regret_growth

    def exponent(shares: list[float]) -> float:
        return math.log(shares[1] / shares[0]) / math.log(4)

    def in_size(method: growth.Method) -> float:
        return exponent(growth.in_size(method, (1, 4), 20, 2 * method.step))

    def in_groups(method: growth.Method) -> float:
        return exponent(growth.in_groups(method, 24, (2, 8), 20, 2 * method.step))

    assert in_size(growth.FOUR) <= 0 < 0.25 <= in_size(growth.EACH)
    assert in_groups(growth.FOUR) <= 0 < 0.5 <= in_groups(growth.FINE)


@pytest.mark.nightly
def test_guesses_that_double_are_cheap_in_small() -> None:
    """Row 26: three and twelve groups, beside a guess that grows by one."""
    runs = unknown_r.Prices(16, 22, 2.0)

    def left(name: str, r: int) -> float:
        size = Problem(16, 16, r)
        grown = unknown_r.allowed(name, size, rates.rounds_through(size, 22))
        return runs.price(unknown_r.WAYS[name], r, 20) / grown

    doubling, one_more = unknown_r.DOUBLING, unknown_r.ONE_MORE
    assert left(doubling, 12) <= left(doubling, 3)
    assert left(one_more, 12) > 1.2 * left(one_more, 3)


@pytest.mark.nightly
def test_screening_makes_the_difference_in_small() -> None:
    """Row 31: candidates with short lists lose less than half of what lists of all arms lose."""
    growing, size = open_question.QUICK, Problem(192, 192, 2)
    short, everything = (open_question.at_run(growing, each, size, 30) for each in (True, False))
    assert short < everything / 2
