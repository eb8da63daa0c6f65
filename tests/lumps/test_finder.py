"""A policy finder with names: the finder of numbers, choice by choice; new names; files."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

import lumpable as lb
from lumpable import Lumps, PolicyFinder
from lumpable.lumps.core.top_two import TopTwo

WORLD = lb.worlds.lumpable(12, 4, 2, noise="bernoulli", seed=4)
USERS = [f"user {i}" for i in range(12)]
OFFERS: list[str | int] = ["red", 1, "one", "blue"]


def play(finder: PolicyFinder, rounds: int, seed: int = 1) -> list[str | int]:
    rng, arms = np.random.default_rng(seed), []
    for _ in range(rounds):
        i = int(rng.integers(12))
        arm = finder.ask(USERS[i])
        finder.tell(USERS[i], arm, WORLD.reward(i, OFFERS.index(arm), rng))
        arms.append(arm)
    return arms


def test_names_change_no_choice_and_no_stop() -> None:
    """Room for contexts to come has no part in the judgement."""
    finder, numbers = (
        PolicyFinder(OFFERS, USERS, epsilon=0.1, seed=5),
        TopTwo(12, 4, epsilon=0.1, seed=5),
    )
    rng = np.random.default_rng(1)
    for _ in range(20_000):
        i = int(rng.integers(12))
        arm = numbers.ask(i)
        assert finder.ask(USERS[i]) == OFFERS[arm]
        reward = WORLD.reward(i, arm, rng)
        numbers.tell(i, arm, reward)
        finder.tell(USERS[i], OFFERS[arm], reward)
        assert finder.finished == numbers.finished
        if finder.finished:
            break
    assert finder.finished
    assert finder.recommended() == {
        user: OFFERS[j] for user, j in zip(USERS, numbers.policy(), strict=True)
    }
    assert repr(finder).endswith("rewards, finished")


def test_who_and_what_comes_later_is_part_of_the_policy() -> None:
    finder = PolicyFinder(["red", "blue"], epsilon=0.3, seed=2)
    for t in range(200):
        finder.tell(f"user {t % 5}", ("red", "blue")[t % 2], float(t % 2))
    assert repr(finder).endswith("finished")
    assert set(finder.recommended().values()) == {"blue"}
    finder.add_arm("green")
    assert not finder.finished
    assert finder.ask("user 0", ["green"]) == "green"
    for t in range(400):
        name = f"user {t % 70}"  # more than there is room for at first
        arm = finder.ask(name)
        finder.tell(name, arm, float(arm == "green"))
    assert len(finder.recommended()) == 70
    assert {finder.recommended()[f"user {i}"] for i in range(5)} == {"green"}
    finder.retire_arm("green")
    assert not finder.finished
    assert "green" not in finder.recommended().values()
    assert finder.retired == ("green",)


def test_tables_are_told_at_once() -> None:
    one, many = (PolicyFinder(seed=3) for _ in range(2))
    rows = [{"context": t % 7, "arm": t % 3, "reward": float(t % 3 == 1)} for t in range(90)]
    many.tell_many(rows)
    for row in rows:
        one.tell(row["context"], row["arm"], row["reward"])  # type: ignore[arg-type]
    assert one.recommended() == many.recommended() == dict.fromkeys(range(7), 1)


def test_it_goes_on_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    finder = PolicyFinder(OFFERS, USERS, epsilon=0.1, rewards="binary", seed=5)
    play(finder, 60)
    finder.save(tmp_path / "found")
    loaded = PolicyFinder.load(tmp_path / "found")
    assert (loaded.epsilon, loaded.delta, loaded.seed) == (0.1, 0.05, 5)
    assert repr(loaded) == repr(finder)
    twin = copy.deepcopy(finder)
    assert play(finder, 600, seed=2) == play(loaded, 600, seed=2) == play(twin, 600, seed=2)
    assert finder.finished == loaded.finished
    assert finder.recommended() == loaded.recommended()
    with pytest.raises(ValueError, match="0 or 1, as rewards are binary"):
        loaded.tell("user 0", "red", 0.5)


def test_one_kind_of_file_is_not_taken_for_another(tmp_path: Path) -> None:
    PolicyFinder(OFFERS).save(tmp_path / "finder")
    Lumps(OFFERS).save(tmp_path / "lumps")
    with pytest.raises(ValueError, match="a saved 'lumpable lumps', got 'lumpable policy finder'"):
        Lumps.load(tmp_path / "finder")
    with pytest.raises(ValueError, match="a saved 'lumpable policy finder', got 'lumpable lumps'"):
        PolicyFinder.load(tmp_path / "lumps")


def test_what_is_refused() -> None:
    finder = PolicyFinder(["red"])
    with pytest.raises(ValueError, match="expected an arm that may be chosen"):
        PolicyFinder().ask("ann")
    with pytest.raises(ValueError, match="expected an arm that may be chosen"):
        PolicyFinder(contexts=["ann"]).recommended()
    with pytest.raises(ValueError, match="expected known arms"):
        finder.ask("ann", ["blue"])
    with pytest.raises(ValueError, match="reward: expected a number"):
        finder.tell("ann", "red", float("nan"))
    with pytest.raises(ValueError, match="epsilon: expected a positive number"):
        PolicyFinder(epsilon=0.0)
    assert finder.contexts == ()
