"""Ctrl-C at many lines while rows are kept or put together: none is lost or comes twice."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from lumpable.comparisons import cell, experiment, store
from lumpable.comparisons.rows import Row, rows_of
from twins.cut_off import cut_off

WORLD = {"kind": "lumpable", "contexts": 4, "arms": 2, "groups": 2}
PLACES = ("comparisons/store.py", "comparisons/parquet.py", "base/files.py")


@pytest.fixture(scope="module")
def played() -> list[list[Row]]:
    said = {"learner": ["ucb", "ucb-one"], "world": [WORLD], "horizon": 9, "seeds": 2}
    return [cell.run_cell(each) for each in experiment.parse(said).cells()]


@pytest.fixture
def kept(played: list[list[Row]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file with the rows of two cells, and parts of two more beside it."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    out = tmp_path / "kept" / "rows.parquet"
    begun = store.Store(out)
    begun.begin()
    for rows in played[:2]:
        begun.keep(rows)
    begun.combine({})
    for rows in played[2:]:
        begun.keep(rows)
    return out


def cells(out: Path) -> Counter[tuple[object, ...]]:
    """Return how many rows there are of each cell and round, whatever file they are in."""
    tables = [store.read(out), *(rows for _, rows in store.read_parts(out))]
    return Counter((*row.key, row.round) for table in tables for row in rows_of(table))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # files left open
@pytest.mark.parametrize("step", [43, pytest.param(1, marks=pytest.mark.nightly)])
def test_rows_that_are_put_together(
    played: list[list[Row]], kept: Path, tmp_path: Path, step: int
) -> None:
    """By day at every 43rd line, by night at every one."""
    expected = {(*row.key, row.round): 1 for rows in played for row in rows}
    for at in range(0, 10_000, step):
        folder = tmp_path / "again"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(kept.parent, folder)
        out = folder / "rows.parquet"
        stopped = cut_off(lambda: store.Store(out).combine({}), at, *PLACES)  # noqa: B023
        assert set(cells(out)) == set(expected), f"line {at}"
        again = store.Store(out)
        assert again.done()[1] == []
        again.begin()
        again.combine({})
        again.close()
        assert cells(out) == expected
        assert [each.name for each in folder.iterdir()] == ["rows.parquet"]
        if not stopped:
            break
    assert at > 50


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # files left open
@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.nightly)])
def test_rows_that_are_kept(played: list[list[Row]], kept: Path, step: int) -> None:
    """The last cell is kept once more: its rows are there before and after, and always whole.

    By day at every 11th line, by night at every one.
    """
    for at in range(0, 10_000, step):
        stopped = cut_off(lambda: store.Store(kept).keep(played[3]), at, *PLACES)
        done, damaged = store.Store(kept).done()
        assert (len(done), damaged) == (4, []), f"line {at}"
        if not stopped:
            break
    assert at > 20
    store.Store(kept).close()
    assert len(list(store.parts_of(kept).iterdir())) == 2
