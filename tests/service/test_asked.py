"""What callers say: numbers of numpy are numbers, and errors name what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kits.service import opened
from lumpable.base.errors import BadArgument
from lumpable.service.asked import time_of
from lumpable.service.exporting import rows


@pytest.mark.parametrize(
    "at", [np.int64(5), np.int32(5), np.float32(5), np.float64(5), np.uint8(5), 5, 5.0]
)
def test_times_may_be_numbers_of_numpy(at: Any) -> None:
    assert time_of(at) == 5_000_000
    assert type(time_of(at)) is int
    e = opened()
    assert e.reward(e.decide("ann").event, 1.0, at=at) == "rewarded"


@pytest.mark.parametrize("at", [True, np.bool_(True), "5", -1, np.int64(-1), np.nan, 1e300, 1j])
def test_what_is_no_time_is_refused(at: Any) -> None:
    with pytest.raises(BadArgument, match="at: expected seconds"):
        time_of(at)


@pytest.mark.parametrize(
    "rewards", [[("a",)], ["a"], "ab", 5, None, {"ab": 1}, [("a", 1.0, 2.0)], [5], b"ab", ["ab"]]
)
def test_what_are_no_rewards_is_refused(rewards: Any) -> None:
    e = opened()
    with pytest.raises(BadArgument, match="rewards: expected pairs of an event and a value"):
        e.reward_many(rewards)
    assert e.reward_many([]) == []


def test_errors_name_their_argument() -> None:
    e = opened()
    with pytest.raises(BadArgument, match=r"^arm: expected known arms"):
        e.observe("ann", "unheard of")
    for allowed in ("red", [None], 5):
        with pytest.raises(BadArgument, match=r"^allowed: "):
            e.decide("ann", allowed)  # type: ignore[arg-type]


def test_a_text_is_not_several_events_and_no_word_is_true_or_false() -> None:
    e = opened()
    for events in ("abc", b"abc", {"a": 1, "b": 2, "c": 3}, 5):
        with pytest.raises(BadArgument, match=r"^events: expected several ids"):
            e.decide_many(["x", "y", "z"], events=events)  # type: ignore[arg-type]
    for activate in ("no", 0, None):
        with pytest.raises(BadArgument, match=r"^activate: expected True or False"):
            e.decide("x", activate=activate)  # type: ignore[arg-type]
    assert e.status().decisions == 0
    assert e.decide("x", event="one", activate=np.bool_(False)).event == "one"  # type: ignore[arg-type]
    assert e._ledger.event("one").shown is False


def test_errors_speak_of_users_and_of_what_was_given() -> None:
    e, without = opened(), opened(arms=())
    for ask in (e.explain, e.best, e.expected):
        with pytest.raises(BadArgument, match=r"^user: expected a string"):
            ask(None)  # type: ignore[arg-type]
    for look in (without.policy, without.lift, without.recommended, lambda: without.explain("x")):
        with pytest.raises(BadArgument, match=r"^arms: expected an arm that may be chosen"):
            look()
    with pytest.raises(BadArgument, match=r"^allowed: expected known arms"):
        e.best("x", ["unheard of"])


def test_who_says_no_propensity_gets_none() -> None:
    e = opened()
    made = e.observe("ann", "red", event="theirs")
    assert made.propensity is None
    assert e.decide("ann", event="theirs") == e.observe("ann", "green", event="theirs") == made
    assert next(rows(e._store, 0))["propensity"] is None
