"""What callers say: numbers of numpy are numbers, and errors name what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kits.service import opened
from lumpable.base.errors import BadArgument
from lumpable.service.asked import time_of


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
