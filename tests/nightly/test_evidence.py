"""Evidence over nights: each event once, in whatever split and order it comes."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from made_nights import HEAD, contents, rows, write

import lumpable as lb
from lumpable.nightly import night_rows
from lumpable.nightly.night_folder import MANIFEST


@pytest.mark.parametrize("seed", range(2))
def test_any_split_order_and_overlap_is_all_at_once(tmp_path: Path, seed: int) -> None:
    rng, some = random.Random(seed), rows(120, seed)
    whole = lb.read_events(write(tmp_path / "all.csv", some), id="id")
    nights = [rng.sample(some, rng.randint(1, 80)) for _ in range(4)] + [some[::-1]]
    rng.shuffle(nights)
    state = lb.Nightly(tmp_path / "state")
    for number, night in enumerate(nights):
        state.evidence(write(tmp_path / f"{number}.csv", night), id="id")
    events = state.events()
    assert events.digest() == whole.digest()
    assert events.users == whole.users
    assert sum(one.events for one in state.segments) == 120
    before = contents(tmp_path / "state")
    for number in range(5):
        assert state.evidence(tmp_path / f"{number}.csv")[0].events == 0
    assert contents(tmp_path / "state") == before


def test_files_without_ids_count_once_each(tmp_path: Path) -> None:
    some, head = rows(60), HEAD[:3]
    first, second = some[:25], some[25:]
    state = lb.Nightly(tmp_path / "state")
    folder = tmp_path / "days"
    folder.mkdir()
    write(folder / "1.csv", first, head)
    state.evidence(folder)
    write(folder / "2.csv", second, head)
    added = state.evidence(folder)  # a folder that grows
    assert [(one.source, one.events) for one in added] == [("1.csv", 0), ("2.csv", 35)]
    other = write(tmp_path / "sorted.csv", sorted(first), head)  # the same events, in another order
    frame = pl.DataFrame([row[:3] for row in second], schema=list(head), orient="row")
    assert [state.evidence(other)[0].known, state.evidence(frame)[0].known] == [True, True]
    assert (
        state.events().digest() == lb.read_events(write(tmp_path / "all.csv", some, head)).digest()
    )


def test_small_files_that_differ_in_times_or_propensities_only_are_two(tmp_path: Path) -> None:
    """Their evidence and its first and last time are the same."""
    frame = pl.DataFrame({
        "user": ["ann", "ann", "ann", "bob"], "item": ["tea"] * 4, "reward": [1, 1, 1, 0],
        "time": [f"2026-01-0{day}T00:00:00Z" for day in (1, 2, 9, 9)], "p": [0.5, 0.25, 0.5, 0.5],
    })  # fmt: skip
    others = {
        "time": frame.with_columns(time=frame["time"].str.replace("01-02", "01-03")),
        "p": frame.with_columns(p=frame["p"].replace(0.25, 0.2)),
        "both": frame.with_columns(time=pl.Series([frame["time"][k] for k in (1, 0, 2, 3)])),
    }
    for name, columns in (
        ("time", ["time"]),
        ("p", ["propensity"]),
        ("both", ["time", "propensity"]),
    ):
        state, other = lb.Nightly(tmp_path / name), others[name]
        given: dict[str, Any] = {one: "p" if one == "propensity" else one for one in columns}
        assert state.evidence(frame, **given)[0].events == 4
        assert state.evidence(frame[::-1])[0].known  # in another order
        frame.write_csv(tmp_path / "log.csv")
        assert state.evidence(tmp_path / "log.csv")[0].known  # and another form
        assert (state.evidence(other)[0].events, state.evidence(other[::-1])[0].known) == (4, True)
        assert len(state.events()) == 8


def test_what_came_first_stays(tmp_path: Path) -> None:
    state = lb.Nightly(tmp_path / "state")
    state.evidence(
        write(tmp_path / "1.csv", [("ann", "tea", 1, "a"), ("bob", "tea", 0, "b")]), id="id"
    )
    later = [("ann", "tea", 0, "a"), ("bob", "tea", 0, "b"), ("cy", "tea", 1, "c")]
    added = state.evidence(write(tmp_path / "2.csv", later))[0]
    assert (added.events, added.again, added.against) == (1, 2, 1)
    events = state.events()
    assert dict(zip(events.users, events.value, strict=True)) == {"ann": 1.0, "bob": 0.0, "cy": 1.0}


@pytest.mark.parametrize("time", [None, "time"])
@pytest.mark.parametrize("id", [None, "id"])
def test_a_night_is_what_read_events_says(tmp_path: Path, time: str | None, id: str | None) -> None:
    """Names of both kinds, rows that cannot count, ids that contradict, with times and without."""
    rng = np.random.default_rng(3)
    number = 300
    frame = pl.DataFrame({
        "who": pl.Series([["17", "NULL", "ann", None][k] for k in rng.integers(4, size=number)]),
        "what": rng.integers(3, size=number),
        "gain": [[0.5, 1e-7, float("nan"), -2.0][k] for k in rng.integers(4, size=number)],
        "p": rng.choice([0.25, 0.5, 2.0], size=number),
        "id": [f"e{k}" for k in rng.integers(200, size=number)],
        "time": [f"2026-11-18T0{k}:00:00Z" for k in rng.integers(9, size=number)],
    })  # fmt: skip
    columns: dict[str, Any] = {"user": "who", "item": "what", "reward": "gain", "propensity": "p"}
    columns |= {"time": time} if time else {}
    columns |= {"id": id} if id else {}
    whole = lb.read_events(frame, **columns)
    state = lb.Nightly(tmp_path / "state")
    added = state.evidence(frame, **columns)[0]
    events = state.events()
    assert events.digest() == whole.digest()
    assert events.propensity is not None
    assert whole.propensity is not None
    assert events.propensity.tolist() == whole.propensity.tolist()
    assert added.events == len(whole)
    assert str(added.dirt) == str(whole.dirt)


@pytest.mark.parametrize("name", ["m=5", "n=7", "st[1]", "st*"])
def test_a_state_is_what_it_is_whatever_its_folder_is_called(tmp_path: Path, name: str) -> None:
    some = rows(30)
    (tmp_path / name).mkdir()
    (tmp_path / "st1").mkdir()
    lb.Nightly(tmp_path / "st1" / "state").evidence(write(tmp_path / "0.csv", rows(7, 9)), id="id")
    state = lb.Nightly(tmp_path / name / "state")
    for half in (some[:20], some[10:]):
        state.evidence(write(tmp_path / "1.csv", half), id="id")
    whole = lb.read_events(write(tmp_path / "all.csv", some), id="id")
    assert state.events().digest() == whole.digest()
    assert state.plan().version == lb.Nightly(tmp_path / name / "state").plan().version


def test_a_night_of_a_folder_may_be_an_empty_file(tmp_path: Path) -> None:
    folder, state, some = tmp_path / "days", lb.Nightly(tmp_path / "state"), rows(30)
    folder.mkdir()
    write(folder / "1.csv", some[:20])
    for name in ("0.csv", "2.parquet"):
        (folder / name).write_bytes(b"")
    added = state.evidence(folder, id="id")
    assert [(one.source, one.events) for one in added] == [
        ("0.csv", 0), ("1.csv", 20), ("2.parquet", 0)
    ]  # fmt: skip
    said = [one.dirt.notes for one in added if one.dirt is not None]
    assert said == [(f"1 file is empty, without a head: '{name}'",) if name else ()
                    for name in ("0.csv", "", "2.parquet")]  # fmt: skip
    write(folder / "2.csv", some[20:])
    assert [one.events for one in state.evidence(folder)] == [0, 0, 10, 0]
    assert state.events().digest() == lb.read_events(write(tmp_path / "all.csv", some)).digest()
    before = contents(tmp_path / "state")
    (folder / "1.csv").unlink()
    (folder / "2.csv").unlink()
    with pytest.raises(lb.BadArgument, match="is empty: so is each of its files"):
        state.evidence(folder)
    assert contents(tmp_path / "state") == before


@pytest.mark.parametrize("likely", [False, True])
@pytest.mark.parametrize("items", [[2**40, -7, 5], ["tea", "", "7"], [5, "tea", 7]])
def test_names_that_are_numbers_are_those_of_a_log(
    items: list[Any], likely: bool, tmp_path: Path
) -> None:
    state, rng = lb.Nightly(tmp_path / "state"), np.random.default_rng(1)
    options: dict[str, Any] = {"propensity": "p"} if likely else {}
    nights = [
        pd.DataFrame({
            "user": rng.choice([40, -3, 10**12], 50), "reward": rng.integers(2, size=50),
            "item": pd.Series([items[k] for k in rng.integers(3, size=50)]),
            "p": rng.choice([0.25, 0.5], 50),
        })
        for _ in range(2)
    ]  # fmt: skip
    for night in nights:
        state.evidence(night, **options)
    events, whole = state.events(), lb.read_events(pd.concat(nights), **options)
    assert (events.users, events.items) == (whole.users, whole.items)
    assert events.users == (-3, 40, 10**12)
    assert events.digest() == whole.digest()
    if events.propensity is not None and whole.propensity is not None:
        assert np.array_equal(events.propensity, whole.propensity)
    assert (events.propensity is not None, whole.propensity is not None) == (likely, likely)


def test_17_and_its_text_stay_two_users(tmp_path: Path) -> None:
    state = lb.Nightly(tmp_path / "state")
    for users in ([17, 18], ["17", "x"]):
        state.evidence(pl.DataFrame({"user": users, "item": ["a", "b"], "reward": [1, 0]}))
    assert state.events().users == (17, 18, "17", "x")
    assert "two names" in state.events().dirt.notes[0]


def test_bad_input_leaves_the_state_as_it_was(tmp_path: Path) -> None:
    state, place = lb.Nightly(tmp_path / "state"), tmp_path / "state"
    with pytest.raises(lb.BadArgument, match="reward"):
        state.evidence(write(tmp_path / "short.csv", rows(3), HEAD[:2]))
    assert not place.exists()
    good = write(tmp_path / "1.csv", rows(20))
    state.evidence(good, id="id", rewards="binary")
    before = contents(place)
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "bare.csv").write_text("user,item,reward,id\n")
    odd = write(tmp_path / "odd.csv", [("ann", "tea", 7, "z1"), ("bob", "tea", 1, "z2")])
    refused: list[tuple[Any, dict[str, Any], str]] = [
        (tmp_path / "empty.csv", {}, "is empty"),
        (tmp_path / "bare.csv", {}, "no rows"),
        (tmp_path / "none.csv", {}, "no such file"),
        (odd, {"strict": True}, "out of range"),
        (odd, {"user": "who"}, "expected 'user', as in the first night, got 'who'"),
        (odd, {"time": "t"}, "none, as in the first night"),
        (odd, {"rewards": "any"}, "expected 'binary'"),
        (pl.DataFrame({"user": ["a"]}), {}, "a column 'item'"),
    ]
    for source, options, words in refused:
        with pytest.raises(lb.BadArgument, match=words):
            state.evidence(source, **options)
        assert contents(place) == before
    state.evidence(good, user="user", rewards="binary")  # the same words again are fine
    assert contents(place) == before


def test_times_with_and_without_a_zone_do_not_mix(tmp_path: Path) -> None:
    state = lb.Nightly(tmp_path / "state")
    row = {"user": ["a"], "item": ["x"], "reward": [1]}
    state.evidence(pl.DataFrame(row | {"t": ["2026-11-18T08:00:00Z"]}), time="t")
    with pytest.raises(lb.BadArgument, match="times with a zone, as they came before"):
        state.evidence(pl.DataFrame(row | {"t": ["2026-11-18T08:00:00"]}))


def test_damage_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "state"
    state = lb.Nightly(place)
    state.evidence(write(tmp_path / "1.csv", rows(20)), id="id")
    whole = contents(place)
    for name, content in whole.items():
        for at in (0, len(content) // 2, len(content) - 1):
            flipped = bytearray(content)
            flipped[at] ^= 1
            for damaged in (bytes(flipped), content[:at], None):
                if damaged is None:
                    (place / name).unlink()
                else:
                    (place / name).write_bytes(damaged)
                with pytest.raises(lb.BadArgument, match="is damaged"):
                    state.events()
                with pytest.raises(lb.BadArgument, match="is damaged"):
                    state.plan(users=["u1"], out=tmp_path / "plan.csv")
                assert not (tmp_path / "plan.csv").exists()
                (place / name).write_bytes(content)
    assert contents(place) == whole


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_text("mine")
    with pytest.raises(lb.BadArgument, match="photo"):
        lb.Nightly(tmp_path).plan(users=["a"], items=["x"])
    with pytest.raises(lb.BadArgument, match="which is a file"):
        lb.Nightly(tmp_path / "photo.jpg")
    assert [path.name for path in tmp_path.iterdir()] == ["photo.jpg"]


def test_a_state_that_begins_in_vain_leaves_nothing(tmp_path: Path) -> None:
    days, place = tmp_path / "days", tmp_path / "state"
    days.mkdir()
    place.mkdir()
    write(days / "1.csv", rows(5))
    write(days / "2.csv", [("ann", "tea", 1, "")])
    with pytest.raises(lb.BadArgument, match="id is missing"):
        lb.Nightly(place).evidence(days, id="id", strict=True)
    assert contents(place) == {}


def test_a_folder_is_added_whole_or_not_at_all(tmp_path: Path) -> None:
    """Nothing stays of the files before the one that is refused."""
    days, place = tmp_path / "days", tmp_path / "state"
    days.mkdir()
    state = lb.Nightly(place)
    state.evidence(write(tmp_path / "0.csv", rows(5)), id="id")
    before = contents(place)
    write(days / "1.csv", rows(9))
    write(days / "2.csv", [("ann", "tea", 1, "")])
    with pytest.raises(lb.BadArgument, match="id is missing"):
        state.evidence(days, strict=True)
    assert contents(place) == before


def test_a_day_without_events_stops_no_folder(tmp_path: Path) -> None:
    days, state = tmp_path / "days", lb.Nightly(tmp_path / "state")
    days.mkdir()
    write(days / "1.csv", rows(9))
    write(days / "2.csv", [])
    write(days / "3.csv", [("ann", "tea", 1, "")])
    write(days / "4.csv", rows(20)[9:])
    added = state.evidence(days, id="id")
    assert [(one.source, one.events) for one in added] == [
        ("1.csv", 9), ("2.csv", 0), ("3.csv", 0), ("4.csv", 11),
    ]  # fmt: skip
    assert added[2].dirt is not None
    assert "event id is missing" in str(added[2].dirt)
    before = contents(tmp_path / "state")
    assert [one.events for one in state.evidence(days)] == [0] * 4
    for name, words in (("2.csv", "2.csv' has no rows"), ("3.csv", "no event counts. 1 of 1 row")):
        with pytest.raises(lb.BadArgument, match=words):
            state.evidence(days / name)
        with pytest.raises(lb.BadArgument, match=words):
            lb.Nightly(tmp_path / "other").evidence(days / name, id="id")
        assert not (tmp_path / "other").exists()
    assert contents(tmp_path / "state") == before


def test_a_file_that_grew_is_noted_unless_events_have_ids(tmp_path: Path) -> None:
    path = tmp_path / "today.csv"
    for head, events, notes in ((HEAD[:3], [2, 3, 0], [0, 1, 0]), (HEAD, [2, 1, 0], [0, 0, 0])):
        state = lb.Nightly(tmp_path / f"state{len(head)}")
        added = []
        for number in (2, 3, 3):
            write(path, rows(number), head)
            added += state.evidence(path, id="id" if "id" in head else None)
        assert [one.events for one in added] == events
        assert ["count twice" in "".join(one.notes) for one in added] == notes


@pytest.mark.parametrize("begun", [False, True])
def test_an_error_that_nobody_asked_for_leaves_the_state_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    days, place = tmp_path / "days", tmp_path / "state"
    days.mkdir()
    for number in range(2):
        write(days / f"{number}.csv", rows(9, number))
    if begun:
        lb.Nightly(place).evidence(write(tmp_path / "0.csv", rows(5)))
    before = contents(place) if begun else {}
    monkeypatch.setattr(night_rows, "write", broken_at(night_rows.write, 2))
    with pytest.raises(RuntimeError, match="the disk"):
        lb.Nightly(place).evidence(days)
    assert place.exists() == begun
    assert not begun or contents(place) == before


def broken_at(real: Callable[..., Any], call: int) -> Callable[..., Any]:
    """Return a function that fails at a certain call."""
    left = iter(range(1, call))

    def broken(*given: Any) -> Any:
        if next(left, None) is None:
            raise RuntimeError("the disk is gone")
        return real(*given)

    return broken


def test_one_at_a_time(tmp_path: Path) -> None:
    state = lb.Nightly(tmp_path / "state")
    source = write(tmp_path / "1.csv", rows(5))
    with (
        state._folder.writing(),
        pytest.raises(lb.BadArgument, match="no other process has open"),
    ):
        state.evidence(source)
    state.evidence(source)
    assert (tmp_path / "state" / MANIFEST).exists()
