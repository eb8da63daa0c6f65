"""Names that are easily mistaken: 17 beside "17", integers that came as floats, times."""

from __future__ import annotations

import copy
import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lumpable import Lumps, PolicyFinder

MIXED: dict[str, Callable[[Lumps], object]] = {
    "ask": lambda lumps: lumps.ask("17"),
    "decide": lambda lumps: lumps.decide("17"),
    "best": lambda lumps: lumps.best("17"),
    "tell": lambda lumps: lumps.tell("17", "red", 1.0),
    "ask_many": lambda lumps: lumps.ask_many([17, "17"]),
    "tell_many": lambda lumps: lumps.tell_many({"context": ["17"], "arm": ["red"], "reward": [1]}),
}


@pytest.mark.parametrize("way", MIXED)
def test_a_number_and_its_digits_are_two_names_which_is_said_once(way: str) -> None:
    lumps = Lumps(["red"])
    lumps.tell(17, "red", 1.0)
    words = r"^contexts: 17 \(an integer\) and '17' \(a string\) are two names: use one$"
    with pytest.warns(UserWarning, match=words) as said:
        MIXED[way](lumps)
    assert len(said) == 1
    assert said[0].filename == __file__  # where it came from
    MIXED[way](lumps)
    lumps.tell(18, "red", 1.0)
    lumps.ask("18")


def test_both_at_once_and_as_arms() -> None:
    with pytest.warns(UserWarning, match="contexts: -3 .an integer. and '-3'"):
        Lumps(["red"], ["-3", -3])
    with pytest.warns(UserWarning, match="arms: 1 .an integer. and '1'"):
        PolicyFinder([1, "1"])
    finder = PolicyFinder([1])
    with pytest.warns(UserWarning, match="arms: 1 .an integer. and '1'"):
        finder.add_arm("1")


@pytest.mark.parametrize("name", ["017", "+17", "17 ", "1_7", "", "-", "\u0661\u0667", "x17"])
def test_what_only_resembles_a_number_is_not_mentioned(name: str) -> None:
    lumps = Lumps(["red"])
    lumps.tell(17, "red", 1.0)
    lumps.tell(name, "red", 1.0)
    assert lumps.contexts == (17, name)


def test_where_warnings_are_errors_nothing_changes() -> None:
    lumps = Lumps(["red"], [17])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(UserWarning, match="are two names"):
                lumps.tell("17", "red", 1.0)
    assert (lumps.contexts, lumps.core.tells) == ((17,), 0)


def test_a_loaded_learner_and_a_copy_say_nothing_new(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="are two names"):
        lumps = Lumps(["red"], [17, "17"])
    lumps.save(tmp_path / "state.lumps")
    for each in (Lumps.load(tmp_path / "state.lumps"), copy.deepcopy(lumps)):
        each.tell("17", "red", 1.0)
        each.tell(17, "red", 1.0)
        assert each.contexts == (17, "17")


def test_integers_that_came_as_floats_are_read_as_integers() -> None:
    """As pandas makes them of a column with missing values."""
    pandas = importlib.import_module("pandas")
    lumps = Lumps(["red"], [1, 2])
    table = pandas.DataFrame({"context": [1, 2, None], "arm": "red", "reward": [1.0, 0.0, 1.0]})
    with pytest.raises(ValueError, match=r"context: expected a string.*, got nan in row 2"):  # noqa: SIM117
        with pytest.warns(UserWarning, match=r"^contexts came as floats \(1.0\): read as integers"):
            lumps.tell_many(table)
    assert lumps.core.tells == 0
    lumps.tell_many(table.dropna())
    lumps.tell(np.float32(2.0), "red", 1.0)  # type: ignore[arg-type]
    assert (lumps.contexts, lumps.core.tells) == ((1, 2), 3)
    arms = Lumps([1, 2])
    with pytest.warns(UserWarning, match="arms came as floats .2.0.") as said:
        arms.tell("ann", 2.0, 1.0)  # type: ignore[arg-type]
    assert said[0].filename == __file__


@pytest.mark.parametrize("name", [1.5, float("nan"), float("inf"), 2.0**60, np.float64(0.1)])
def test_other_floats_are_no_names(name: Any) -> None:
    lumps = Lumps(["red"])
    for call in (lambda: lumps.ask(name), lambda: lumps.tell(name, "red", 1.0)):
        with pytest.raises(ValueError, match="context: expected a string, or an integer"):
            call()
    with pytest.raises(ValueError, match=r"context: expected a string.* in row 1"):
        lumps.ask_many(["ann", name])


def test_long_names_are_kept(tmp_path: Path) -> None:
    """Of people, of arms and of files."""
    user, arm, file = "u" * 5000, "\u00e4" * 5000, tmp_path / ("f" * 240)
    lumps = Lumps([arm])
    lumps.tell(user, arm, 1.0)
    lumps.save(file)
    loaded = Lumps.load(file)
    assert (loaded.contexts, loaded.arms) == ((user,), (arm,))
