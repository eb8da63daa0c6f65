"""Intervals for looks at a growing log hold all at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import lumpable as lb
from lumpable import BadArgument, value_in_time
from lumpable.base.arrays import FloatVector
from lumpable.base.units import Name
from lumpable.tables.betting import betting_interval

CHANCE = 1e-9
"""A test of a law fails by chance with less than this probability."""
POLICY: dict[Name, Name] = {"u0": "tea", "u1": "coffee", "u2": "tea"}
MEAN = {"tea": 0.7, "coffee": 0.4}


def log(events: int, seed: int) -> pl.DataFrame:
    """Return events in order of time: who logs learns, so that propensities change."""
    rng = np.random.default_rng(seed)
    tea = np.linspace(0.5, 0.8, events)
    chose = rng.random(events) < tea
    item = np.where(chose, "tea", "coffee")
    mean = np.where(chose, MEAN["tea"], MEAN["coffee"])
    return pl.DataFrame({
        "user": [f"u{k}" for k in rng.integers(3, size=events)], "item": item,
        "reward": (rng.random(events) < mean).astype(int), "time": np.arange(events),
        "propensity": np.where(chose, tea, 1.0 - tea), "id": [f"e{k}" for k in range(events)],
    }).with_columns(pl.col("time").cast(pl.Datetime("us", "UTC")))  # fmt: skip


def weighed(rng: np.random.Generator, events: int) -> FloatVector:
    """Return rewards of 0 and 1 divided by propensities of at least 0.2, in units of that."""
    chosen = rng.random(events) < (p := np.linspace(0.5, 0.2, events))
    x: FloatVector = chosen / p * (rng.random(events) < 0.5) * 0.2
    return x


def test_no_look_has_the_truth_outside_too_often() -> None:
    """Over 1,000 logs, each looked at after every event: intervals only shrink from look to look,
    so the last has the truth outside if any has."""
    rng, logs, outside = np.random.default_rng(1), 1000, 0
    for k in range(logs):
        x = weighed(rng, 400)
        low, high = betting_interval(x, 0.95)
        outside += not low <= 0.1 <= high
        if k < 10:
            every = [betting_interval(x[:n], 0.95) for n in range(1, 401, 7)]
            lows, highs = zip(*every, (low, high), strict=True)
            assert list(lows) == sorted(lows)
            assert list(highs) == sorted(highs, reverse=True)
    assert stats.binom.sf(outside - 1, logs, 0.05) > CHANCE
    assert outside > 0  # these are no intervals of 0 to 1


def test_looks_at_a_log_that_grows_are_looks_at_one_log(tmp_path: Path) -> None:
    whole, at = log(900, 2), [20, 100, 300, 600, 900]
    looks = value_in_time(whole, POLICY, least=0.2, looks=at)
    assert [one.events for one in looks] == at
    grown = [value_in_time(whole[:n], POLICY, least=0.2, looks=[n])[0] for n in at]
    assert grown == looks
    mean = (2 * MEAN["tea"] + MEAN["coffee"]) / 3
    assert all(one.low < mean < one.high for one in looks)
    assert looks[-1].high - looks[-1].low < 0.5 < looks[0].high - looks[0].low
    matched = whole["item"] == whole["user"].replace_strict(POLICY)
    ips = (matched * whole["reward"] / whole["propensity"]).mean()
    assert looks[-1].value == pytest.approx(ips)
    # Times put rows in order, and what came again counts once.
    mixed = pl.concat([whole, whole[:50]]).sample(fraction=1.0, shuffle=True, seed=3)
    assert value_in_time(mixed, POLICY, least=0.2, looks=at, time="time", id="id") == looks
    for name in ("log.csv", "log.parquet"):
        path = tmp_path / name
        (whole.write_csv if path.suffix == ".csv" else whole.write_parquet)(path)
        assert value_in_time(path, POLICY, least=0.2, looks=at) == looks
    assert value_in_time(whole, POLICY, least=0.2)[-1] == looks[-1]


def test_rewards_of_a_range_and_whole_numbers_as_names() -> None:
    frame = log(300, 4).with_columns(
        user=pl.col("user").str.slice(1).cast(int), reward=4.0 * pl.col("reward") - 1.0
    )
    policy: dict[Name, Name] = {int(str(user)[1:]): item for user, item in POLICY.items()}
    [one] = value_in_time(frame, policy, least=0.2, rewards=(-1, 3), looks=[300])
    [unit] = value_in_time(log(300, 4), POLICY, least=0.2, looks=[300])
    ends = [(end + 1) / 4 for end in (one.value, one.low, one.high)]
    assert ends == pytest.approx([unit.value, unit.low, unit.high])


@pytest.mark.parametrize(
    ("change", "words"),
    [({"least": 0.0}, "least: expected a probability"), ({"least": 0.6}, "a propensity of 0.2"),
     ({"rewards": "any"}, "rewards: expected 'binary' or a range"),
     ({"looks": [0]}, "looks"), ({"looks": [51]}, "looks"), ({"level": 1}, "level"),
     ({"propensity": "p"}, "a column 'p'"), ({"policy": {}}, "none for 3 of 3, such as 'u0'"),
     ({"policy": dict.fromkeys(POLICY, "juice")}, "items of the log, got 'juice'"),
     ({"source": log(50, 5)[:0]}, "events that count")],
)  # fmt: skip
def test_what_cannot_be_is_refused(change: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"source": log(50, 5), "policy": POLICY, "least": 0.2} | change
    with pytest.raises(BadArgument, match=words):
        lb.value_in_time(**given)
