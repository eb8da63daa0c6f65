"""A world of a comparison may say where it is measured, beside the usual checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest

import lumpable as lb
from lumpable.runs.playing import checkpoints

WORLD = {"kind": "lumpable", "contexts": 8, "arms": 4, "groups": 2, "label": "small"}


def rounds(found: lb.Comparison) -> list[int]:
    return [row.round for row in found.rows()]


def test_rows_come_at_the_rounds_asked_for_too() -> None:
    plain = lb.compare(["ucb"], [WORLD], pulls=10, seeds=[1], jobs=1)
    asked = lb.compare(["ucb"], [{**WORLD, "at": [7, 3, 99]}], pulls=10, seeds=[1], jobs=1)
    assert rounds(plain) == checkpoints(80)
    assert rounds(asked) == sorted({*checkpoints(80), 24, 56})
    regret = {row.round: row.regret for row in asked.rows()}
    assert {row.round: row.regret for row in plain.rows()}.items() <= regret.items()


def test_cells_that_were_measured_elsewhere_are_run_again(tmp_path: Path) -> None:
    out = tmp_path / "rows.parquet"
    for world in (WORLD, {**WORLD, "at": [3]}):
        found = lb.compare(["ucb"], [world], pulls=10, seeds=[1], jobs=1, out=out)
        assert (24 in rounds(found)) == ("at" in world)


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (3, "at: expected a list of rounds per context, got 3"),
        ([], "at: expected a list of rounds per context, got"),
        ("10", "at: expected a list of rounds per context, got '10'"),
        ([0], "at: expected a whole number of at least 1, got 0"),
        ([1.5], "at: expected a whole number of at least 1, got 1.5"),
    ],
)
def test_rounds_that_are_none_are_refused(at: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        lb.compare(["ucb"], [{**WORLD, "at": at}], pulls=10, seeds=[1], jobs=1)
