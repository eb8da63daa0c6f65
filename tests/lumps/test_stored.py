"""The practical learner in a file: it goes on as if it had never stopped; other files are refused.

The law of identity is exact: after loading, every choice and every number of every later fit are
those of the learner that was never saved.
"""

from __future__ import annotations

import gc
import itertools
import sys
import zipfile
from dataclasses import fields, replace
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import numpy as np
import pytest
from counts_made import equal

import lumpable as lb
from lumpable.base import archive
from lumpable.lumps.core.layout import cells_of
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.core.state import AROUND, BETWEEN, KAPPA, LOW, OWN, REAL, RISE, State
from lumpable.lumps.model import search
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.model.fitted import coins_of, with_worth
from lumpable.lumps.model.scores import Score, scored
from lumpable.lumps.model.worth import Worth
from lumpable.lumps.use import shelf, stored

SCRATCH = {"weight", "mean", "spread", "scale", "cover", "factor", "score"}
LAYOUT = {"start", "room", "used", "logged", "due"}


def play(learner: ThreeLevels, world: lb.World, rounds: int, seed: int) -> list[int]:
    """Play rounds by ask and tell; return the choices."""
    rng = np.random.default_rng(seed)
    arms = []
    for _ in range(rounds):
        context = int(rng.choice(world.contexts, p=world.frequency))
        arms.append(learner.ask(context))
        learner.tell(context, arms[-1], world.reward(context, arms[-1], rng))
    return arms


WORLDS = {
    "groups": lb.worlds.lumpable(30, 6, 3, noise="bernoulli", seed=2),
    "real groups": lb.worlds.lumpable(30, 6, 3, noise="gaussian", sd=0.1, seed=2),
}


def same(one: ThreeLevels, two: ThreeLevels) -> bool:
    """Whether all that matters is equal, bit for bit; there may be more room."""
    a, b = cells_of(one.state), cells_of(two.state)
    cells = all(np.array_equal(a[name], b[name]) for name in shelf.CELLS)
    state = all(
        np.array_equal(getattr(one.state, name), getattr(two.state, name)) for name in shelf.BELIEFS
    )
    clock = one.tells == two.tells and one.next_fit == two.next_fit
    return cells and state and clock and equal(one.last_fit, two.last_fit)


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS.keys())
@pytest.mark.parametrize("before", [0, 700])
def test_it_goes_on_as_if_it_had_never_stopped(
    tmp_path: Path, world: lb.World, before: int
) -> None:
    learner = ThreeLevels(world.contexts, world.arms, seed=5)
    play(learner, world, before, seed=1)
    if before:
        learner.state.pending[:, 1] = 2.0
        learner.state.allowed[4] = False
    stored.save(learner, tmp_path / "learner", {"names": ["ann", 3]})
    loaded, extra = stored.load(tmp_path / "learner", ThreeLevels)
    assert extra == {"names": ["ann", 3]}
    assert same(learner, loaded)
    assert play(learner, world, 2000, seed=2) == play(loaded, world, 2000, seed=2)
    assert same(learner, loaded)
    assert before == 0 or 4 not in play(loaded, world, 100, seed=3)


def with_directions(world: lb.World, rounds: int) -> ThreeLevels:
    """Return a learner that has played, and then believes in two directions."""
    learner = ThreeLevels(world.contexts, world.arms, seed=5)
    play(learner, world, rounds, seed=1)
    loading = np.random.default_rng(6).normal(scale=0.2, size=(world.arms, 2))
    counts, last = learner.counts(), learner.last_fit
    one = replace(search.one_group(coins_of(counts, last)), loading=loading)
    if last is not None and last.scale is not None:
        score, phi, _ = last.scale
        one = with_worth(counts, one, score, scored(counts, score), phi)
    learner.adopt(one)
    learner.refit()  # lets compiled code see it; no fit is due
    return learner


@pytest.mark.parametrize("noise", ["bernoulli", "gaussian"])
def test_directions_are_kept(tmp_path: Path, noise: str) -> None:
    world = lb.worlds.low_rank(20, 6, 2, noise=noise, sd=0.1, seed=4)
    learner = with_directions(world, 400)
    stored.save(learner, tmp_path / "learner", {})
    loaded = stored.load(tmp_path / "learner", ThreeLevels)[0]
    assert loaded.state.precision.shape == (20, 2, 2)
    assert play(learner, world, 1000, seed=2) == play(loaded, world, 1000, seed=2)
    assert same(learner, loaded)


def test_the_worlds_reach_groups() -> None:
    """The first test means something only if there are groups to keep."""
    for world in WORLDS.values():
        learner = ThreeLevels(world.contexts, world.arms, seed=5)
        play(learner, world, 2700, seed=1)
        assert learner.last_fit is not None
        assert learner.last_fit.groups > 1


def test_every_array_is_kept_or_known_to_be_made_anew() -> None:
    """A field that someone adds to the state or to the fit must not be forgotten here."""
    assert set(State._fields) == {*shelf.CELLS, *shelf.BELIEFS} | SCRATCH | LAYOUT
    assert {field.name for field in fields(Fit)} == {*shelf.FITTED, "scale"}
    assert {*Score._fields, "phi"} == set(shelf.SCORED)
    assert {field.name for field in fields(Worth)} == set(shelf.WORTH)


def test_only_cells_in_use_are_kept(tmp_path: Path) -> None:
    """600 rewards of 200 contexts on 1,000 arms: well under 100 bytes for each, not 200,000."""
    learner = ThreeLevels(200, 1000, seed=1)
    rng = np.random.default_rng(3)
    for context, arm in rng.integers([200, 1000], size=(600, 2)).tolist():
        learner.tell(context, arm, 1.0)
    stored.save(learner, tmp_path / "learner", {})
    with archive.Reader(tmp_path / "learner") as reader:
        assert len(reader.array("arm", "i", 600)) == len(learner.counts().arm) <= 600
    tables = 10 * 8 * learner.arms  # of arms, of groups and of their fit
    assert (tmp_path / "learner").stat().st_size < tables + 100 * 600 + 20_000


def test_saving_changes_nothing_and_a_loaded_learner_saves_the_same(tmp_path: Path) -> None:
    world = WORLDS["groups"]
    learner, other = (ThreeLevels(world.contexts, world.arms, seed=5) for _ in range(2))
    for each in (learner, other):
        play(each, world, 500, seed=1)
    stored.save(learner, tmp_path / "one", {"a": 1})
    assert same(learner, other)
    loaded, extra = stored.load(tmp_path / "one", ThreeLevels)
    stored.save(loaded, tmp_path / "two", extra)
    assert members(tmp_path / "one") == members(tmp_path / "two")


def test_a_million_names_and_strange_ones_come_back(tmp_path: Path) -> None:
    names: list[object] = [f"context number {i}" for i in range(10**6)]
    names += ["", "é\n\u2028'\"", 2**70, -5, 0.1, None]
    stored.save(ThreeLevels(2, 2), tmp_path / "learner", {"names": names})
    assert stored.load(tmp_path / "learner", ThreeLevels)[1] == {"names": names}


def test_what_json_cannot_hold_is_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    stored.save(ThreeLevels(2, 2), tmp_path / "learner", {"kept": 1})
    for wrong in (object(), "\ud800"):
        with pytest.raises(ValueError, match="extra: expected what JSON can hold"):
            stored.save(ThreeLevels(3, 3), tmp_path / "learner", {"x": wrong})
    assert stored.load(tmp_path / "learner", ThreeLevels)[1] == {"kept": 1}


# --- Files that are refused -------------------------------------------------------------------


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def written(world: lb.World, path: Path) -> Path:
    """Return the file of a learner with groups, after 2,000 rewards."""
    learner = ThreeLevels(world.contexts, world.arms, seed=5)
    play(learner, world, 2000, seed=1)
    assert learner.last_fit is not None
    assert learner.last_fit.groups > 1
    stored.save(learner, path, {"a": 1})
    return path


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(WORLDS["groups"], tmp_path_factory.mktemp("saved") / "learner")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(WORLDS["real groups"], tmp_path_factory.mktemp("real") / "learner")


def altered(saved: Path, path: Path, header: dict[str, Any], **arrays: Any) -> Path:
    """Write the saved file again with other entries in its header, and other arrays."""
    with archive.Reader(saved) as reader:
        head = {**msgspec.json.decode(reader.header), **header}
        kinds = dict.fromkeys(("context", "length", "arm", "log_context", "log_arm"), "i")
        kinds |= {"allowed": "b", "extra": "u"}
        found = {}
        for name in members(saved):
            name = name.removesuffix(".npy")
            if name == archive.HEADER:
                continue
            kind = kinds.get(name.removeprefix("fit-"), "f")
            found[name] = reader.array(name, kind, 10**6).copy()
    for name, change in arrays.items():
        found[name] = change(found[name])
    archive.write(path, msgspec.json.encode(head), found)
    return path


def put(place: int, value: float) -> Any:
    """Return what sets one number of an array."""

    def change(array: Any) -> Any:
        array[place] = value
        return array

    return change


def test_an_unaltered_file_is_taken(saved: Path, real: Path, tmp_path: Path) -> None:
    for path in (saved, real):
        assert stored.load(altered(path, tmp_path / "file", {}), ThreeLevels)[1] == {"a": 1}


HEADERS: list[tuple[dict[str, Any], str]] = [
    ({"format": "lumpable session"}, "expected a saved 'lumpable lumps', got 'lumpable session'"),
    ({"schema": 3, "new": 1}, "expected schema 2, got 3, of a newer version"),
    ({"schema": 0}, "expected schema 2, got 0$"),
    ({"schema": 1}, "value: expected 5 numbers, got 13"),
    ({"new": 1}, "unknown field `new`"),
    ({"arms": 0}, "arms"),
    ({"contexts": "30"}, "contexts"),
    ({"contexts": 31}, "length: expected 31 numbers, got 30"),
    ({"contexts": 2**61}, "numbers in a file of"),
    ({"rank": 10**9}, "numbers in a file of"),
    ({"groups": 10**9}, "numbers in a file of"),
    ({"cells": 2**61}, "numbers in a file of"),
    ({"extra": 10**12}, "numbers in a file of"),
    ({"arms": 7}, "expected"),
    ({"groups": 1}, "takes|expected"),
    ({"cells": 3}, "takes|expected"),
    ({"next_fit": 5}, "expected the next fit to come later, got 5, after 2000"),
    ({"fitted": None}, "expected a fit for groups"),
    ({"fitted": [30, 9]}, "fit-pulls: expected"),
    ({"logged": 2}, "log_context: expected 2 numbers, got 0"),
    ({"real": True}, "worth_pulls: expected .* numbers, got 0"),
]


@pytest.mark.parametrize(("header", "words"), HEADERS)
def test_a_header_that_does_not_fit_is_refused(
    saved: Path, tmp_path: Path, header: dict[str, Any], words: str
) -> None:
    path = altered(saved, tmp_path / "file", header)
    with pytest.raises(ValueError, match=words):
        stored.load(path, ThreeLevels)


ARRAYS: list[tuple[str, Any, str]] = [
    ("pulls", put(0, np.nan), "pulls: expected numbers from 4.94066e-324 to .*, got nan"),
    ("pulls", put(0, 0.0), "pulls: expected"),
    ("pulls", put(0, np.inf), "pulls: expected"),
    ("total", put(0, np.nan), "total: expected"),
    ("total", put(0, 1e9), "expected totals of rewards 0 and 1, got others"),
    ("ones", put(0, 1e9), "expected no more rewards than pulls, got a cell with more"),
    ("ones", put(0, -1.0), "ones: expected"),
    ("arm", put(0, 6), "expected arms below 6, got 6"),
    ("arm", put(0, -1), "arm: expected numbers from 0"),
    ("arm", lambda array: array.astype(np.float64), "arm is not what was saved"),
    ("arm", lambda array: np.zeros_like(array), "has two cells of arm 0"),
    ("arm", lambda array: array[:-1], "arm: expected .* numbers, got"),
    ("length", put(0, 100), "cells, got rows of"),
    ("length", put(0, -1), "length: expected numbers from 0"),
    ("visits", put(3, -1.0), "visits: expected"),
    ("log_weight", lambda array: array - np.inf, "expected a likely group for each context"),
    ("value", put(KAPPA, 0.0), "expected strengths and variances above 0"),
    ("value", put(REAL, 1.0), "expected what the header says of real rewards, got the contrary"),
    ("hold", put(0, np.nan), "hold: expected"),
    ("extra", put(0, 0), "extra is damaged"),
    ("fit-context", put(0, 7), "expected the fit of contexts and arms of this learner"),
    ("fit-context", put(-1, 30), "expected the fit of contexts and arms of this learner"),
    ("fit-member", put(0, 0.4), "rows that sum to 1"),
    ("fit-m0", put(0, 0.0), "fit-m0: expected"),
]
REAL_ARRAYS: list[tuple[str, Any, str]] = [
    ("log_value", put(0, np.nan), "log_value: expected"),
    ("log_count", put(0, 0.0), "log_count: expected"),
    ("log_count", put(0, 1e9), "expected no more rewards than pulls, got a cell with more"),
    ("log_context", put(0, 30), "log: expected real rewards of cells, got others"),
    ("log_arm", put(0, -1), "log_arm: expected numbers from 0"),
    ("log_value", lambda array: array[:-1], "log_value: expected .* numbers, got"),
    ("value", put(BETWEEN, 0.0), "expected strengths and variances above 0"),
    ("value", put(BETWEEN, np.inf), "expected strengths and variances above 0"),
    ("value", put(OWN, 0.0), "expected strengths and variances above 0"),
    ("value", put(LOW, np.nan), "value: expected"),
    ("value", put(LOW, 1e9), "expected ends and a fence in order"),
    ("value", put(RISE, -1.0), "expected ends and a fence in order"),
    ("value", put(AROUND, 0.0), "expected ends and a fence in order"),
    ("knot", put(0, 1e9), "knot: expected numbers that grow, got others"),
    ("grade", put(0, 1.5), "grade: expected numbers from 0 to 1"),
    ("phi", put(0, 0.0), "phi: expected"),
    ("phi", put(0, 1.5), "phi: expected"),
    ("noise", put(0, 0.0), "noise: expected"),
    ("worth_pulls", put(0, -1.0), "worth_pulls: expected"),
    ("worth_total", put(0, np.nan), "worth_total: expected"),
    ("sure", put(0, 0.0), "sure: expected"),
    ("fit-score-low", put(0, np.nan), "fit-score-low: expected"),
    ("fit-score-phi", put(0, 2.0), "fit-score-phi: expected"),
    ("fit-worth-noise", put(0, 0.0), "fit-worth-noise: expected"),
    ("fit-worth-between", put(0, 0.0), "fit-worth-between: expected"),
]
REAL_HEADERS: list[tuple[dict[str, Any], str]] = [
    ({"real": False}, "expected"),
    ({"logged": 3}, "takes|expected"),
    ({"knots": 700}, "knot: expected 700 numbers, got"),
    ({"knots": 10**9}, "numbers in a file of"),
    ({"knots": 0}, "knots"),
]


@pytest.mark.parametrize(("name", "change", "words"), ARRAYS)
def test_an_array_that_no_learner_wrote_is_refused(
    saved: Path, tmp_path: Path, name: str, change: Any, words: str
) -> None:
    path = altered(saved, tmp_path / "file", {}, **{name: change})
    with pytest.raises(ValueError, match=words):
        stored.load(path, ThreeLevels)


@pytest.mark.parametrize(("name", "change", "words"), REAL_ARRAYS)
def test_real_rewards_that_no_learner_had_are_refused(
    real: Path, tmp_path: Path, name: str, change: Any, words: str
) -> None:
    path = altered(real, tmp_path / "file", {}, **{name: change})
    with pytest.raises(ValueError, match=words):
        stored.load(path, ThreeLevels)


@pytest.mark.parametrize(("header", "words"), REAL_HEADERS)
def test_a_header_that_does_not_fit_real_rewards_is_refused(
    real: Path, tmp_path: Path, header: dict[str, Any], words: str
) -> None:
    path = altered(real, tmp_path / "file", header)
    with pytest.raises(ValueError, match=words):
        stored.load(path, ThreeLevels)


def test_precisions_that_are_none_are_refused(tmp_path: Path) -> None:
    learner = with_directions(WORLDS["groups"], 100)
    learner.state.precision[3] *= -1.0
    stored.save(learner, tmp_path / "file", {})
    with pytest.raises(ValueError, match="grip: expected precisions"):
        stored.load(tmp_path / "file", ThreeLevels)


def test_no_file_stays_open(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by a load that ends, nor by one that is refused or interrupted while it opens."""
    unseen: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda about: unseen.append(about.exc_value))
    lumps = lb.Lumps(["a", "b"])
    lumps.save(tmp_path / "lumps")
    lb.Lumps.load(tmp_path / "lumps").save(tmp_path / "lumps")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(lb.BadArgument, match="damaged"):
        lb.Lumps.load(tmp_path / "text")
    place, interrupted = 0, True
    while interrupted:
        interrupted = opened_until(saved, place)
        place += 1
    assert place > 30
    gc.collect()
    assert [each for each in unseen if isinstance(each, ResourceWarning)] == []


def opened_until(path: Path, place: int) -> bool:
    """Load a file, interrupted at this step of opening it; say whether there was such a step."""
    steps = itertools.count()

    def step(frame: FrameType, *_: object) -> Any:
        opening = frame.f_code.co_name in ("__init__", "__enter__")
        files = frame.f_code.co_filename in (archive.__file__, zipfile.__file__)
        if opening and files and next(steps) == place:
            raise KeyboardInterrupt
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        stored.load(path, ThreeLevels)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_foreign_and_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file"):
        stored.load(tmp_path / "nothing", ThreeLevels)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ValueError, match="damaged, or not a saved file"):
        stored.load(tmp_path / "text", ThreeLevels)
    session = lb.Session(lb.pac.near_uniform(lb.Problem(3, 2, 1), epsilon=0.5, delta=0.1), seed=7)
    session.save(tmp_path / "session")
    with pytest.raises(ValueError, match="got 'lumpable session'"):
        stored.load(tmp_path / "session", ThreeLevels)


def test_truncated_and_damaged_files_are_refused(saved: Path, tmp_path: Path) -> None:
    """Wherever it is cut. A flipped byte is refused, or lies where nothing is read."""
    whole, path = saved.read_bytes(), tmp_path / "file"
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="path: "):
            stored.load(path, ThreeLevels)
    learner, refused = stored.load(saved, ThreeLevels)[0], 0
    for place in range(0, len(whole), 53):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        try:
            loaded = stored.load(path, ThreeLevels)[0]
        except ValueError as error:
            assert str(error).startswith("path: ")  # noqa: PT017
            refused += 1
        else:
            assert same(learner, loaded)
    assert refused > 0


def test_a_member_that_unpacks_to_far_more_than_the_file_is_refused(
    saved: Path, tmp_path: Path
) -> None:
    """100 MB of zeros take 100 kB when they are packed; they are not even unpacked."""
    with zipfile.ZipFile(tmp_path / "file", "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members(saved).items():
            if name == archive.HEADER:
                head = {**msgspec.json.decode(content), "extra": 10**8}
                file.writestr(name, msgspec.json.encode(head))
            else:
                file.writestr(name, bytes(10**8) if name == "extra.npy" else content)
    with pytest.raises(ValueError, match="100000000 numbers in a file of"):
        stored.load(tmp_path / "file", ThreeLevels)
