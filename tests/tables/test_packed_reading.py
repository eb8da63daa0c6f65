"""Rows as packed numbers give the evidence that grouping them gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from lumpable import BadArgument, read_events
from lumpable.tables import adding_up, ingest, packed_reading
from lumpable.tables.adding_up import add_up, merge, narrowest, number_values, unpack
from lumpable.tables.events import Events
from lumpable.tables.ingest import Reading
from lumpable.tables.sources import parts_of


def log(rows: int, seed: int, *, text: bool, spread: float) -> pl.DataFrame:
    """Return a log with missing values; the more `spread`, the more bits its numbers take."""
    rng = np.random.default_rng(seed)
    user = rng.integers(-5, 5, rows) * int(spread)
    names: list[Any] = [f"ü{k}" for k in user] if text else user.tolist()
    columns: dict[str, list[Any]] = {
        "user": [None if k % 11 == 0 else name for k, name in enumerate(names)],
        "item": (rng.integers(3, size=rows) * int(spread)).tolist(),
        "reward": (rng.integers(-3, 4, rows) * spread / 7.0).tolist(),
    }
    return pl.DataFrame(columns)


def same(one: Events, other: Events) -> None:
    assert one.digest() == other.digest()
    assert (one.dirt, one.span) == (other.dirt, other.span)


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("spread", [1.0, 1e8])
def test_packed_rows_are_those_that_are_grouped(
    text: bool, spread: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in (1, 2):
        log(900, part, text=text, spread=spread).write_parquet(tmp_path / f"{part}.parquet")
    monkeypatch.setattr(packed_reading, "CHUNK", 64)  # several chunks, put together several times
    calls: list[bool] = []
    packed = Reading._read_packed

    def watched(self: Reading) -> Any:
        found = packed(self)
        calls.append(found is not None)
        return found

    monkeypatch.setattr(Reading, "_read_packed", watched)
    quick = read_events(tmp_path)
    assert calls == [spread == 1.0]  # numbers that are too far apart do not fit
    monkeypatch.setattr(Reading, "_read_packed", lambda self: None)
    same(quick, read_events(tmp_path))
    assert quick.dirt.dropped == 164


@pytest.mark.parametrize("columns", [("id",), ("propensity",), ("id", "propensity", "time")])
@pytest.mark.parametrize("again", [False, True])
def test_ids_and_propensities_give_what_grouping_gives(
    columns: tuple[str, ...], again: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are packed if no id came twice, and no more propensities differ than are numbered."""
    monkeypatch.setattr(packed_reading, "CHUNK", 64)
    for part in (1, 2):
        rng, frame = np.random.default_rng(part), log(900, part, text=part == 1, spread=1.0)
        frame = frame.with_columns(pl.col("user").cast(str)).with_columns(
            id=pl.Series([f"e{k + 900 * part}" for k in range(900)]),
            propensity=pl.Series(rng.choice([0.1, 1 / 3, 0.5, 2.0], 900)),
            time=pl.Series(rng.integers(10**15, size=900)).cast(pl.Datetime("us")),
        )
        if again:
            frame = frame.with_columns(id=pl.col("id").replace("e1000", "e1001"))
        frame.write_parquet(tmp_path / f"{part}.parquet")
    calls: list[bool] = []
    packed = Reading._read_packed

    def watched(self: Reading) -> Any:
        found = packed(self)
        calls.append(found is not None)
        return found

    named = {one: one for one in columns}
    monkeypatch.setattr(Reading, "_read_packed", watched)
    quick = read_events(tmp_path, **named)  # type: ignore[arg-type]
    monkeypatch.setattr(ingest, "LIKELY", 2)
    few = read_events(tmp_path, **named)  # type: ignore[arg-type]
    once = not again or "id" not in columns
    assert calls == [once, once and "propensity" not in columns]
    monkeypatch.setattr(Reading, "_read_packed", lambda self: None)
    slow = read_events(tmp_path, **named)  # type: ignore[arg-type]
    for one in (quick, few):
        same(one, slow)
        if slow.propensity is not None:
            assert one.propensity is not None
            assert one.propensity.tolist() == slow.propensity.tolist()
        assert one.times.tolist() == slow.times.tolist()
    kinds = {fault.fault for fault in slow.dirt.faults}
    assert ("event id contradicts another" in kinds) == (again and "id" in columns)


@pytest.mark.parametrize("far", [1, 2**20, 2**62])
def test_rows_are_sorted_and_added_up_whether_they_fit_or_not(far: int) -> None:
    rng = np.random.default_rng(far)
    keys: list[Any] = [rng.integers(-2, 3, 500) * (far // 2) for _ in range(3)]
    times = rng.integers(0, 9, 500)
    expected = Counter[tuple[int, ...]]()
    for *key, n in zip(*(key.tolist() for key in keys), times.tolist(), strict=True):
        expected[tuple(key)] += n
    found, counts = add_up(keys, times)
    rows = list(zip(*(key.tolist() for key in found), strict=True))
    assert rows == sorted(expected)
    assert counts.tolist() == [expected[row] for row in rows]


@pytest.mark.parametrize("most", [1, 200, 2**40])
@pytest.mark.parametrize("length", [7, 1000])
def test_lists_are_merged_in_blocks(
    most: int, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that go on from block to block count once; some do not fit beside their counts."""
    monkeypatch.setattr(adding_up, "BLOCK", length)
    rng, lists, expected = np.random.default_rng(length), list[Any](), Counter[int]()
    for far in (1, 1, 40 if most < 2**40 else 2**24):
        rows = np.unique(rng.integers(0, 300, 400)) * far
        times = rng.integers(1, most + 1, len(rows))
        expected.update(dict(zip(rows.tolist(), times.tolist(), strict=True)))
        lists.append((rows, times.astype(np.min_scalar_type(most))))
    rows, times = merge(lists)
    assert rows.tolist() == sorted(expected)
    assert times.tolist() == [expected[row] for row in rows.tolist()]
    assert lists == []


@pytest.mark.parametrize("low", [0, -(2**31), -(2**31) - 1, 2**31 - 3, 2**31 - 2])
def test_columns_are_as_wide_as_their_numbers(low: int) -> None:
    rows = np.array([0b0110, 0b1001], np.int64)
    kind = narrowest(low, low + 2)
    assert kind == (np.int32 if -(2**31) <= low < 2**31 - 2 else np.int64)
    first, second = unpack(rows, [low, 5], [2, 2], [kind, np.int64])
    assert (first.tolist(), second.tolist()) == ([low + 1, low + 2], [7, 6])


@pytest.mark.parametrize("names", [[], [7], [5, -2, 5, 9], [2**62, -(2**61), 2**62]])
def test_names_are_numbered_in_their_order(names: list[int]) -> None:
    found, place = number_values(np.array(names, np.int64))
    assert found == sorted(set(names))
    assert [found[k] for k in place.tolist()] == names


@pytest.mark.parametrize("claimed", [0, 64])
def test_a_file_whose_rows_are_not_those_of_its_head_is_refused(
    claimed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.parquet"
    log(900, 3, text=False, spread=1.0).write_parquet(path)
    monkeypatch.setattr(packed_reading, "CHUNK", 16)
    monkeypatch.setattr(
        ingest,
        "parts_of",
        lambda *given: [replace(part, rows=claimed) for part in parts_of(*given)],
    )
    with pytest.raises(
        BadArgument, match=r"log\.parquet' is damaged, .*: 818 rows at first, then "
    ):
        read_events(path)
