"""Frames in, frames of the same kind out; what lists do, frames do."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kits.service import Clock, bits, opened
from lumpable.base.errors import BadArgument

KINDS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table,
}  # fmt: skip
every_kind = pytest.mark.parametrize("kind", KINDS)


def rows(frame: Any) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = pa.table(frame).to_pylist()
    return listed


@every_kind
def test_a_frame_is_decided_and_rewarded_as_lists_are(kind: str) -> None:
    users, events = ["ann", "bob", "ann", "cid"], ["v1", "v2", "v3", "v4"]
    with opened() as listed, opened() as framed:
        made = listed.decide_many(users, events=events)
        frame = KINDS[kind]({"age": [1, 2, 3, 4], "user": users, "event": events})
        answer = framed.decide_many(frame)
        assert type(answer) is type(frame)
        assert [tuple(row) for row in rows(answer)] == [
            ("event", "user", "arm", "propensity", "version")
        ] * 4
        assert rows(answer) == [
            {"event": d.event, "user": d.user, "arm": d.arm, "propensity": 1.0, "version": 0}
            for d in made
        ]
        values = [1.0, 0.0, 0.5, 1.0]
        told = KINDS[kind]({"event": events, "reward": values, "more": users})
        standings = framed.reward_many(told)
        assert type(standings) is type(frame)
        assert rows(standings) == [{"event": e, "standing": "rewarded"} for e in events]
        listed.reward_many(zip(events, values, strict=True))
        assert bits(framed) == bits(listed)


@every_kind
def test_columns_may_have_other_names_and_rows_their_own_arms(kind: str) -> None:
    with opened() as e:
        frame = KINDS[kind]({"customer": [7, 8, 9], "may": [["red"], ["blue", "green"], ["blue"]]})
        answer = rows(e.decide_many(frame, columns={"user": "customer", "allowed": "may"}))
        assert [row["user"] for row in answer] == [7, 8, 9]
        assert [row["arm"] for row in answer][::2] == ["red", "blue"]
        assert answer[1]["arm"] != "red"
        assert rows(e.decide_many(frame, ["green"], columns={"user": "customer"}))[0]["arm"] == (
            "green"
        )


@every_kind
def test_an_empty_frame_gives_an_empty_frame(kind: str) -> None:
    with opened() as e:
        empty = KINDS[kind]({"user": ["x"], "event": ["y"], "reward": [1.0], "arm": ["red"]})
        empty = empty.slice(0, 0) if kind != "pandas" else empty[:0]
        before = e.status().entries
        for answer in (e.decide_many(empty), e.reward_many(empty), e.observe_many(empty)):
            assert type(answer) is type(empty)
            assert len(answer) == 0
            names = answer.column_names if isinstance(answer, pa.Table) else list(answer.columns)
            assert names[0] == "event"
        assert e.status().entries == before


@every_kind
def test_missing_values_are_refused_by_their_rows_and_nothing_changes(kind: str) -> None:
    make = KINDS[kind]
    with opened() as e:
        before = e.status().entries
        frame = make({"user": ["ann", None, "bob", None], "event": ["a", "b", "c", "d"]})
        with pytest.raises(BadArgument, match=r"user: .* every row, got none in rows 1, 3$"):
            e.decide_many(frame)
        with pytest.raises(BadArgument, match=r"reward: .* none in row 1$"):
            e.reward_many(make({"event": ["a", "b"], "reward": [1.0, None]}))
        with pytest.raises(BadArgument, match=r"reward: .* none in row 1$"):
            e.reward_many(make({"event": ["a", "b"], "reward": [1.0, float("nan")]}))
        with pytest.raises(BadArgument, match=r"event: expected a string .*, got 7 in row 0"):
            e.reward_many(make({"event": [7], "reward": [1.0]}))
        with pytest.raises(BadArgument, match=r"a column 'user', got \['usr'\]; the nearest"):
            e.decide_many(make({"usr": ["ann"]}))
        with pytest.raises(BadArgument, match=r"'reward', .*columns={'reward': 'value'}$"):
            e.reward_many(make({"event": ["a"], "value": [1.0]}))
        with pytest.raises(BadArgument, match=r"columns: .*'usr'"):
            e.decide_many(make({"user": ["ann"]}), columns={"usr": "user"})
        same = "one user for each event, got 'same' for 'ann' and 'bob'"
        with pytest.raises(BadArgument, match=same):
            e.decide_many(make({"user": ["ann", "bob"], "event": ["same", "same"]}))
        with pytest.raises(BadArgument, match="known arms"):
            e.decide_many(make({"user": ["ann", "bob"], "allowed": [["red"], ["pink"]]}))
        assert e.status().entries == before


def test_words_for_what_frames_and_modes_do_not_go_with() -> None:
    """An error says in a sentence what is wrong, and keeps what was expected and what came."""
    frame = pl.DataFrame({"user": ["ann"], "allowed": [["red"]]})
    rewards = pl.DataFrame({"event": ["a"], "reward": [1.0], "key": ["k"]})
    with opened() as e:
        for words, call in (
            ("columns: only for frames", lambda: e.decide_many(["ann"], columns={"user": "u"})),
            ("allowed: given twice, as an argument and as a column",
             lambda: e.decide_many(frame, allowed=["red"])),
            ("key: given twice, as an argument and as a column",
             lambda: e.reward_many(rewards, key="k")),
        ):  # fmt: skip
            with pytest.raises(BadArgument) as raised:
                call()
            assert str(raised.value) == words
            assert raised.value.expected
            assert raised.value.got
    words = "mode: this experiment only observes; report decisions with `observe`"
    with opened(mode="observe") as e, pytest.raises(BadArgument, match=words):
        e.decide("ann")


def test_types_of_columns_stay_what_they_were() -> None:
    with opened() as e:
        users = pl.Series("user", ["ann", "bob"], dtype=pl.Categorical)
        assert e.decide_many(pl.DataFrame([users]))["user"].dtype == pl.Categorical
        frame = pd.DataFrame({"user": pd.Categorical(["ann", "bob"])}, index=[5, 3])
        answer = e.decide_many(frame)
        assert list(answer.index) == [5, 3]
        assert isinstance(answer["user"].dtype, pd.CategoricalDtype)
        floats = pd.DataFrame({"user": [17.0, 18.0]})
        with pytest.warns(UserWarning, match="users came as floats"):
            answer = e.decide_many(floats)
        assert answer["user"].dtype == "int64"
        assert e.decide_many(pd.DataFrame({"user": [19, 20]}, dtype="int32"))["user"].dtype == (
            "int32"
        )


def test_arms_of_two_types_stand_in_no_column() -> None:
    with opened(arms=("red", 7)) as e, pytest.raises(BadArgument, match="all strings or all"):
        e.decide_many(pl.DataFrame({"user": ["ann"]}))
    with opened(arms=(6, 7)) as e:
        assert e.decide_many(pl.DataFrame({"user": ["ann"]}))["arm"].dtype == pl.Int64


def test_what_is_said_beside_a_frame_or_without_one_is_not_left_out_silently() -> None:
    frame = pl.DataFrame({"user": ["ann"], "event": ["v"], "reward": [1.0], "key": ["k"]})
    with opened() as e:
        with pytest.raises(BadArgument, match="events"):
            e.decide_many(frame, events=["v"])  # type: ignore[arg-type]
        with pytest.raises(BadArgument, match="columns"):
            e.decide_many(["ann"], columns={"user": "u"})
        with pytest.raises(BadArgument, match="columns"):
            e.reward_many([("v", 1.0)], columns={"reward": "u"})
        with pytest.raises(BadArgument, match="key"):
            e.reward_many(frame, key="k")
        with pytest.raises(BadArgument, match="frame: expected a frame"):
            e.decide_many(frame.lazy())


@every_kind
def test_rewards_have_times_and_keys_of_their_own(kind: str) -> None:
    moment = datetime.datetime(1970, 1, 1, 0, 16, 45)
    with opened(clock=Clock(1_000.0), repeated="sum", window=60, arms=("red",)) as e:
        e.decide_many(["ann", "bob"], events=["a", "b"])
        frame: dict[str, Any] = {
            "event": ["a", "a", "b"],
            "reward": [1.0, 1.0, 2.0],
            "key": ["x", "y", ""],
        }
        seconds = KINDS[kind](frame | {"at": [1_005, 1_005, 1_061]})
        assert [row["standing"] for row in rows(e.reward_many(seconds))] == [
            "rewarded", "rewarded", "late",
        ]  # fmt: skip
        times = KINDS[kind](frame | {"at": [moment] * 3})
        e.reward_many(times)
        assert e.evidence() == [("ann", "red", 2_000_000, 1), ("bob", "red", 2_000_000, 1)]
        with pytest.raises(BadArgument, match="reward: expected no times"):
            e.reward_many(KINDS[kind]({"event": ["a"], "reward": [moment]}))


@every_kind
def test_past_decisions_are_loaded_once(kind: str) -> None:
    past: dict[str, Any] = {
        "user": ["ann", "bob", "ann"], "arm": ["red", "red", "blue"], "reward": [1.0, None, 0.0],
        "event": ["a", "b", "c"], "propensity": [0.5, 0.25, 1.0], "at": [900, 901, 902],
    }  # fmt: skip
    with opened(mode="observe", repeated="sum", window=600) as e:
        for _ in range(2):
            answer = rows(e.observe_many(KINDS[kind](past)))
            assert [row["standing"] for row in answer] == ["rewarded", "waiting", "rewarded"]
        assert e.status().decisions == 3
        assert e.evidence() == [("ann", "blue", 0, 1), ("ann", "red", 1_000_000, 1)]
        bare = {name: past[name] for name in ("user", "arm", "reward", "event")}
        bare["event"] = ["d", "e", "f"]
        for _ in range(2):  # without a time, a reward is as old as its decision
            e.observe_many(KINDS[kind](bare))
        assert e.status().counted == 4
        with pytest.raises(BadArgument, match="known arms"):
            e.observe_many(KINDS[kind]({"user": ["ann"], "arm": ["pink"]}))
        with pytest.raises(BadArgument, match=r"propensity: .* in row 1"):
            e.observe_many(KINDS[kind](past | {"propensity": [0.5, 2.0, 1.0]}))


def test_many_past_decisions_go_in_by_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lumpable.service.live_experiment.AT_A_TIME", 10)
    frame = pl.DataFrame({"user": list(range(25)), "arm": ["red", "blue"] * 12 + ["red"]})
    with opened() as e:
        assert len(e.observe_many(frame)) == 25
        assert e.status().decisions == 25
        before = e.status().entries
        wrong = frame.with_columns(arm=pl.Series(["red"] * 24 + ["pink"]))
        with pytest.raises(BadArgument, match="known arms"):
            e.observe_many(wrong)
        twice = frame.with_columns(event=pl.Series([f"{k % 24}" for k in range(25)]))
        with pytest.raises(BadArgument, match="one user for each event, got '0' for 0 and 24"):
            e.observe_many(twice)
        assert e.status().entries == before
