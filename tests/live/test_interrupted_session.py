"""Ctrl-C at every line of a tell or a save: it has happened or not, and the session goes on.

Between requests a plan is interrupted, too. A generator that was interrupted cannot go on, so that
the session must make the plan again.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lumpable as lb
from lumpable.live import saved
from twins.cut_off import cut_off

SMALL = dataclasses.replace(lb.PAPER, confidence=0.1, test=0.1, policy=0.05, arrivals=0.3)
FOUR = lb.Problem(contexts=4, arms=3, groups=2)
GOAL: dict[str, Any] = {"epsilon": 0.5, "delta": 0.1, "constants": SMALL}
PLANS: dict[str, Callable[[], lb.Plan]] = {
    "one after the other": lambda: lb.pac.near_uniform(lb.Problem(3, 2, 1), **GOAL),
    "side by side": lambda: lb.pac.any_contexts(FOUR, **GOAL),
    "online": lambda: lb.reductions.any_contexts_online(
        FOUR, horizon=2000, constants=dataclasses.replace(SMALL, online=0.05)
    ),
}
AFTER = 25
"""Rounds that are played after an interruption."""


def rounds(session: lb.Session, number: int) -> list[tuple[int, float]]:
    rng = np.random.default_rng(5)
    weight = 0.5 ** np.arange(session.shape[0])
    contexts = rng.choice(session.shape[0], number, p=weight / weight.sum())
    return list(zip(contexts.tolist(), rng.random(number).tolist(), strict=True))


def play(session: lb.Session, context: int, reward: float) -> None:
    session.tell(context, session.ask(context), reward)


def members(session: lb.Session) -> dict[str, bytes]:
    """Return what a file of this session would hold."""
    assert session.rounds >= 0  # which mends it
    arrays = saved.arrays(session._live)
    header = saved.header(session._live, session.late)
    return {"": header} | {name: array.tobytes() for name, array in arrays.items()}


@functools.cache
def moments(name: str) -> list[tuple[int, bytes]]:
    """Return rounds at which something happens, with the session as it was saved before each."""
    session, again = (lb.Session(PLANS[name](), seed=3) for _ in range(2))
    played, found = rounds(session, 2000), list[int]()
    for t, (context, reward) in enumerate(played):
        before = requests(session)
        play(session, context, reward)
        if t in (0, 1, 9) or requests(session) != before:
            found.append(t)
        if session.result is not None or len(found) == 8:
            break
    contents = []
    with tempfile.TemporaryDirectory() as folder:
        for t, (context, reward) in enumerate(played[: found[-1] + 1]):
            if t in found:
                again.save(Path(folder, "before"))
                contents.append(Path(folder, "before").read_bytes())
            play(again, context, reward)
    return list(zip(found, contents, strict=True))


def requests(session: lb.Session) -> list[int]:
    """Return what is asked for just now, here and side by side."""
    return [id(session.request), *(id(belief) for _, belief in session.sides)]


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("name", PLANS)
def test_a_reward_is_told_or_not(
    name: str, error: type[BaseException], step: int, tmp_path: Path
) -> None:
    """By day at every seventh line, by night at every one."""
    path = tmp_path / "before"
    made = moments(name)
    assert len(made) > 4
    told = set()
    for t, content in made:
        path.write_bytes(content)
        first = lb.Session.load(path)
        (context, reward), *later = rounds(first, t + 1 + AFTER)[t:]
        before = members(first)
        play(first, context, reward)
        after = members(first)
        ends = {False: goes_on(lb.Session.load(path), later),
                True: goes_on(first, later)}  # fmt: skip
        for at in range(t % step, 10_000, step):
            session = lb.Session.load(path)
            arm = session.ask(context)
            tell = lambda: session.tell(context, arm, reward)  # noqa: B023, E731
            if not cut_off(tell, at, "live", "plans", error=error):
                break
            now = members(session)
            assert now in (before, after), f"round {t}, line {at}"
            told.add(now == after)
            if at // step % 3 == 0:
                assert goes_on(session, later) == ends[now == after]
        assert members(session) == after
    assert told == {False, True}


def goes_on(
    session: lb.Session, later: list[tuple[int, float]]
) -> tuple[dict[str, bytes], list[int]]:
    """Play on; return how the session ends up, and every arm."""
    arms = []
    for context, reward in later:
        arms.append(session.ask(context))
        play(session, context, reward)
    return members(session), arms


def test_a_second_interruption_while_the_first_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "before"
    t, content = moments("side by side")[-1]
    path.write_bytes(content)
    first = lb.Session.load(path)
    context, reward = rounds(first, t + 1)[t]
    play(first, context, reward)
    after, mended = members(first), 0
    for at in range(0, 3000, 3):
        session = lb.Session.load(path)
        arm = session.ask(context)
        if not cut_off(lambda: session.tell(context, arm, reward), 40, "live", "plans"):  # noqa: B023
            break
        if not cut_off(lambda: session.rounds, at, "live", "plans"):  # noqa: B023
            break
        mended += 1
        assert members(session) == after
    assert mended > 10


def held(path: Path) -> dict[str, bytes]:
    """Return what a file holds, but for when it was written."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # files left open
def test_a_save_is_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "session"
    old, new = (lb.Session(PLANS["one after the other"](), seed=seed) for seed in (1, 2))
    for context, reward in rounds(new, 30):
        play(new, context, reward)
    contents = []
    for session in (old, new):
        session.save(path)
        contents.append(held(path))
    old.save(path)
    whole = path.read_bytes()
    for at in range(10_000):
        path.write_bytes(whole)
        if not cut_off(lambda: new.save(path), at, "live", "base"):
            break
        assert held(path) in contents
        assert [each for each in tmp_path.iterdir() if each != path] == [], f"line {at}"
    assert held(path) == contents[1]
    assert at > 20
