"""Live sessions of every plan, and of plans side by side: the literal loop, resumed after any tell.

Arms are compared one by one with the literal loop, files byte for byte. Only the last test is about
a law (p < 1e-9); seeds are fixed.
"""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import json
import os
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_live import Members, Scene, members, npy, play, saved, write

import lumpable as lb
from lumpable import plans
from lumpable.live import packed
from lumpable.plans.plan import Branching
from twins.divided import divider, learner
from twins.laws import same_distribution, same_law
from twins.literal_split import Loop, counted

EARLY = dataclasses.replace(
    lb.PAPER, confidence=0.3, test=0.5, policy=0.5, arrivals=0.5, levels=0.1, split=0.5, finer=1.0,
    phase=0.1, online=0.4,
)  # fmt: skip


def world(contexts: int = 4, noise: str = "gaussian") -> lb.World:
    frequency = np.array([0.4, 0.3, 0.2, 0.1])[:contexts]
    mean = np.array([[1.0, 0.0, 0.4], [0.9, 0.1, 0.4], [0.0, 1.0, 0.4], [0.1, 0.9, 0.4]])[:contexts]
    return lb.World(mean, frequency / frequency.sum(), np.arange(contexts), noise, 0.3)


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of saves; what is synced, and when, is tested elsewhere."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


# --- Every plan -------------------------------------------------------------------------------


def algorithms() -> Iterator[tuple[str, Callable[..., lb.Plan]]]:
    """Find every function of the package that makes a plan."""
    for module in pkgutil.iter_modules(plans.__path__, "lumpable.plans."):
        if not module.name.endswith("__main__"):
            for _, value in inspect.getmembers(importlib.import_module(module.name)):
                about = getattr(value, "about", None)
                if isinstance(about, lb.About) and value.__module__ == module.name:
                    yield about.name, value


ARGUMENTS: dict[str, Any] = {
    "problem": lb.Problem(4, 3, 2),
    "epsilon": 0.5,
    "delta": 0.1,
    "constants": EARLY,
    "horizon": 400,
    "bound": 1.0,
    "switch": False,
    "mended": True,
    "arm": 1,
    "adaptive": True,
    "literal": False,
}
EVERY_PLAN = dict(algorithms())


def made(make: Callable[..., lb.Plan], **changes: Any) -> lb.Plan:
    """Make a plan with small constants; a parameter that nobody thought of is an error."""
    known = ARGUMENTS | changes
    return make(**{name: known[name] for name in inspect.signature(make).parameters})


def test_introspection_finds_the_plans() -> None:
    rooms = {"lumpable.pac", "lumpable.standard", "lumpable.regret", "lumpable.reductions"}
    assert {name.rpartition(".")[0] for name in EVERY_PLAN} >= rooms
    assert len(EVERY_PLAN) >= 17


SCENES = {
    **{name: Scene(lambda make=make: made(make), world()) for name, make in EVERY_PLAN.items()},  # type: ignore[misc]
    "any_contexts_online, doubling": Scene(
        lambda: made(lb.reductions.any_contexts_online, horizon=None), world(), seed=5
    ),
    "unknown_groups from 1": Scene(
        lambda: made(lb.reductions.unknown_groups, problem=lb.Problem(4, 3, 1)), world()
    ),
    "divided": Scene(lambda: divider([0, 1, 0, -1], 3, 10, 60, [8, 9]), world(), seed=3),
    "divided, bernoulli": Scene(
        lambda: divider([1, 1, 0, 0], 3, 10, 60, [30, 4]), world(noise="bernoulli"), seed=2**70
    ),
    "nested": Scene(lambda: divider([0, 0, 1, -1], 3, 10, 60, [0, 9]), world(), seed=0),
}
ROUNDS = 600
scenes = pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)


@scenes
def test_every_round_is_that_of_the_literal_loop(scene: Scene) -> None:
    session, oracle = scene.session(), Loop(scene.make(), counted(scene.seed))
    for context, noise in scene.many(ROUNDS):
        live, literal = (play(who, scene.world, context, noise) for who in (session, oracle))
        assert live == literal
        assert [session.ask(i) for i in range(4)] == [oracle.arm(i) for i in range(4)]
        assert (session.result is None) == (oracle.result is None)
        if session.result is not None:
            break
    assert session.rounds == oracle.rounds
    assert session.late == 0
    np.testing.assert_array_equal(session.policy, oracle.policy)
    assert [session.ask(i) for i in range(4)] == [oracle.arm(i) for i in range(4)]


@scenes
def test_resume_anywhere(scene: Scene, tmp_path: Path) -> None:
    """A dozen random places: the same file again, the same arms from there on."""
    rounds = scene.many(ROUNDS)
    whole = scene.session()
    played = [play(whole, scene.world, *now) for now in rounds]
    final = saved(whole, tmp_path)
    points = {0, 1, *np.random.default_rng(4).integers(ROUNDS, size=10).tolist()}
    path = tmp_path / "session.lump"
    session = scene.session()
    for step, now in enumerate(rounds):
        if step in points:
            session.save(path)
            session = opened(path, scene)
            assert saved(session, tmp_path) == members(path)
        assert play(session, scene.world, *now) == played[step]
    assert saved(session, tmp_path) == final
    np.testing.assert_array_equal(session.policy, whole.policy)


def opened(path: Path, scene: Scene) -> lb.Session:
    plan = scene.make()
    return lb.Session.load(path, None if plan.name.startswith("lumpable.") else plan)


# --- Plans side by side -----------------------------------------------------------------------


@lb.algorithm
def first_0_then_1(contexts: int, depth: int) -> Branching:
    """One round of arm 0 from everybody, then arm 1; so deep within splits."""
    everybody = np.zeros(contexts, dtype=np.int64)
    if depth:
        yield lb.Split(40, everybody, (first_0_then_1(contexts, depth - 1),))
        return lb.Result(everybody)
    for arm in (0, 1):
        yield lb.Collect(1 if arm == 0 else 9, 1, np.tile(np.arange(2) == arm, (contexts, 1)))
    return lb.Result(everybody + 1)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_when_a_plan_moves_on_all_its_contexts_do_however_deep(depth: int) -> None:
    """A reward of the old arm must not be counted for the new one."""
    session = lb.Session(first_0_then_1(3, depth), seed=1)
    assert [session.ask(i) for i in range(3)] == [0, 0, 0]
    session.tell(0, 0, 1.0)
    assert [session.ask(i) for i in range(3)] == [1, 1, 1]
    session.tell(1, 0, 1.0)
    assert (session.late, session.rounds) == (1, 1)


@pytest.mark.parametrize("name", ["divided", "nested"])
def test_resume_after_any_tell_of_plans_side_by_side(name: str, tmp_path: Path) -> None:
    """Before, at the first round of, within, at the last round of and after a split."""
    scene = SCENES[name]
    rounds = scene.many(90)
    whole = scene.session()
    told = [play(whole, scene.world, *now) for now in rounds]
    final = saved(whole, tmp_path)
    assert whole.result is not None
    session, path = scene.session(), tmp_path / "session.lump"
    within = 0
    for step, now in enumerate(rounds):
        session.save(path)
        again = opened(path, scene)
        assert saved(again, tmp_path) == members(path)
        assert again.rounds == session.rounds == step
        assert [again.ask(i) for i in range(4)] == [session.ask(i) for i in range(4)]
        np.testing.assert_array_equal(again.policy, session.policy)
        assert looks(again) == looks(session)
        assert [play(again, scene.world, *r) for r in rounds[step:]] == told[step:]
        assert saved(again, tmp_path) == final
        within += bool(session.sides)
        play(session, scene.world, *now)
    assert within == 60


@pytest.mark.parametrize("seed", [0, 1, 4, 5])
def test_resume_after_a_split_that_was_stopped_within_a_split(seed: int, tmp_path: Path) -> None:
    """Their policies were part of an answer, so they are part of what must be replayed."""
    scene = Scene(lambda: divider([0, 0, 1, -1], 3, 10, 40, [0, 9]), world(), seed)
    session, path = scene.session(), tmp_path / "session.lump"
    for now in scene.many(52):
        play(session, scene.world, *now)
    session.save(path)
    again = opened(path, scene)
    np.testing.assert_array_equal(again.policy, session.policy)
    assert saved(again, tmp_path) == members(path)


def looks(session: lb.Session) -> list[Any]:
    """Return what the plans side by side believe, as plain values."""
    return [
        (contexts.tolist(), belief and (belief.phase, belief.policy.tolist()))
        for contexts, belief in session.sides
    ]


def test_sides_belief_and_policy() -> None:
    scene = SCENES["divided"]
    session = scene.session()
    source = scene.rounds()
    told = [0] * 4
    while not session.sides:
        assert session.belief is None
        assert isinstance(session.request, lb.Collect)
        play(session, scene.world, *next(source))
    assert session.rounds == 10
    assert isinstance(session.request, lb.Split)
    assert session.belief is not None
    assert session.belief.phase == "divided"
    while session.sides:
        assert [contexts.tolist() for contexts, _ in session.sides] == [[0, 2], [1]]
        assert session.ask(3) == session.belief.policy[3] == session.policy[3]
        second = [belief.phase for _, belief in session.sides if belief is not None]
        assert set(second) <= {"second"}
        if told[0] + told[2] >= 8 and told[0] + told[2] < 16:
            belief = session.sides[0][1]
            assert belief is not None
            assert session.policy[[0, 2]].tolist() == belief.policy.tolist()
            assert session.ask(0) == belief.policy[0]  # asked nothing in its second request
        context, noise = next(source)
        told[context] += 1
        play(session, scene.world, context, noise)
    assert sum(told) == 60
    assert session.rounds == 70
    assert session.belief is not None
    assert session.belief.phase == "served"
    assert session.sides == []


def test_a_late_reward_within_a_split_changes_only_the_counter(tmp_path: Path) -> None:
    scene = SCENES["nested"]
    session = scene.session()
    for number, now in enumerate(scene.many(90)):
        before = saved(session, tmp_path)
        session.tell(now[0], (session.ask(now[0]) + 1) % 3, 0.5)
        assert session.late == number + 1
        after = saved(session, tmp_path)
        assert _without_late(after) == _without_late(before)
        play(session, scene.world, *now)
    assert session.rounds == 90


def _without_late(held: Members) -> dict[str, Any]:
    return {**held, "header.json": json.loads(held["header.json"]) | {"late": 0}}


def test_a_plan_that_ended_serves_its_policy_while_others_go_on() -> None:
    scene = Scene(lambda: divider([0, 1, 1, 1], 3, 4, 200, [3, 90]), world(), seed=8)
    session = scene.session()
    served = 0
    for context, noise in scene.many(200):
        if session.sides and session.sides[0][1] is None and session.rounds > 60:
            assert session.ask(0) == session.policy[0]
            served += context == 0
        play(session, scene.world, context, noise)
    assert session.result is None
    assert served > 20


@lb.algorithm
def splits_at_its_end() -> Branching:
    """Divide in turn, at the very round at which the plan outside is done."""
    everything = np.ones((2, 2), dtype=bool)
    yield lb.Collect(6, 1, everything)
    belief = lb.Belief("thinks of arm 1", np.ones(2, dtype=np.int64))
    results: tuple[lb.Result, ...] = yield lb.Split(10, np.zeros(2, int), (inner(),), belief)
    return results[0]


def inner() -> lb.Plan:
    return learner(2, 2, 4)


@lb.algorithm
def around() -> Branching:
    results: tuple[lb.Result, ...] = yield lb.Split(6, np.zeros(2, int), (splits_at_its_end(),))
    return lb.Result(results[0].policy)


def test_a_split_that_has_not_begun_answers_with_its_belief() -> None:
    """The bulk simulator, the literal loop and a live session agree on what was believed."""
    two = lb.worlds.from_matrix([[0.0, 1.0], [1.0, 0.0]])
    assert lb.simulate(around(), two, seed=1).policy.tolist() == [1, 1]
    for who in (Loop(around(), counted(1)), lb.Session(around(), seed=1)):
        for context in (0, 1, 0, 1, 0, 1):
            play(who, two, context, 0.0)
        assert who.result is not None
        assert who.policy.tolist() == [1, 1]


# --- Files ------------------------------------------------------------------------------------


def under_way(rounds: int = 30) -> lb.Session:
    """Return a session within a split: plan 0 has divided in turn, plan 1 is in a request."""
    scene = SCENES["nested"]
    session = scene.session()
    for now in scene.many(rounds):
        play(session, scene.world, *now)
    return session


def load_with(held: Members, place: dict[str, Any], folder: Path) -> lb.Session:
    path = folder / "lie.lump"
    write(path, {**held, "header.json": with_place(held, place)})
    return opened(path, SCENES["nested"])


def with_place(held: Members, place: Any) -> bytes:
    header = json.loads(held["header.json"]) | {"place": place}
    return json.dumps(header, separators=(",", ":")).encode()


def edited(place: dict[str, Any], *path: Any, to: Any) -> dict[str, Any]:
    """Return a copy in which one thing is another."""
    changed = copy.deepcopy(place)
    inside: Any = changed
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = to
    return changed


LIES: list[tuple[str, tuple[Any, ...], Any, str]] = [
    ("a side too few", ("sides",), [{"answers": []}], "1 plans side by side, expected 2"),
    ("a side too many", ("sides",), [{"answers": []}] * 3, "3 plans side by side, expected 2"),
    ("no sides", ("sides",), [], "0 plans side by side, expected 2"),
    ("no sides inside", ("sides", 0, "sides"), [], "0 plans side by side, expected 2"),
    ("sides of a sample", ("sides", 1, "sides"), [{"answers": []}], "1 plans side by side"),
    ("fewer rounds than the sides", ("rounds",), 1, "expected rounds from 18 to 60, got 1"),
    ("as many rounds as the request", ("rounds",), 60, "expected rounds below 60"),
    ("rounds past 64 bits", ("rounds",), 2**70, "expected rounds below 60"),
    ("negative rounds", ("rounds",), -1, "header says: .*rounds"),
    ("rounds of a side", ("sides", 0, "rounds"), 0, "expected"),
    ("more rounds in a side", ("sides", 1, "rounds"), 8, "from 22 to 60, got 20"),
    ("negative rounds of a side", ("sides", 1, "rounds"), -4, "header says: .*rounds"),
    ("rounds that are none", ("sides", 1, "rounds"), "4", "header says: .*rounds"),
    ("an answer that is not there", ("answers",), [None, None], "sample-1-touched.npy is missing"),
    ("a split for a sample", ("answers",), [[{"answers": []}]], "1 plans side by side, expected 0"),
    ("results for a sample", ("answers",), [[]], "request 0 asks for a sample, got results"),
    ("an answer of a side", ("sides", 1, "answers"), [None] * 3, "sample-1.1.0-.* is missing"),
    ("a surprise", ("sides", 0, "surprise"), 1, "surprise"),
]


@pytest.mark.parametrize(
    ("path", "to", "said"), [lie[1:] for lie in LIES], ids=[lie[0] for lie in LIES]
)
def test_a_place_that_cannot_be(path: tuple[Any, ...], to: Any, said: str, tmp_path: Path) -> None:
    held = saved(under_way(), tmp_path)
    place = json.loads(held["header.json"])["place"]
    assert saved(load_with(held, place, tmp_path), tmp_path) == held
    with pytest.raises(ValueError, match=said):
        load_with(held, edited(place, *path, to=to), tmp_path)


def test_where_nobody_is_given_up_the_rounds_must_be_exact(tmp_path: Path) -> None:
    """Rounds of contexts that were given up are nowhere else; where there are none, they add up."""
    scene = Scene(lambda: divider([0, 1, 0, 1], 3, 10, 60, [8, 9]), world(), seed=3)
    session = scene.session()
    for now in scene.many(30):
        play(session, scene.world, *now)
    held, path = saved(session, tmp_path), tmp_path / "lie.lump"
    place = json.loads(held["header.json"])["place"]
    assert place["rounds"] == 20
    for rounds in (19, 21, 59):
        lie = with_place(held, place | {"rounds": rounds})
        write(path, {**held, "header.json": lie})
        with pytest.raises(ValueError, match=r"^path: plans side by side: expected .*20"):
            opened(path, scene)


def test_a_sample_for_a_split(tmp_path: Path) -> None:
    """The file answers the split with a sample that is there and whole."""
    held = saved(under_way(), tmp_path)
    for part in ("touched", "plays", "mean"):
        held[f"sample-1-{part}.npy"] = held[f"sample-0-{part}.npy"]
    with pytest.raises(ValueError, match="request 1 splits into 2 plans, got a sample"):
        load_with(held, {"answers": [None, None]}, tmp_path)


@pytest.mark.parametrize("more", [None, [], [{"answers": []}]], ids=repr)
def test_answers_for_a_plan_that_has_ended(more: Any, tmp_path: Path) -> None:
    session = under_way(90)
    assert session.result is not None
    held = saved(session, tmp_path)
    for part in ("touched", "plays", "mean"):
        held[f"sample-3-{part}.npy"] = held[f"sample-2-{part}.npy"]
    place = json.loads(held["header.json"])["place"]
    assert len(place["answers"]) == 3
    with pytest.raises(ValueError, match=r"the plan ended after 3 requests|expected 0"):
        load_with(held, edited(place, "answers", to=[*place["answers"], more]), tmp_path)
    with pytest.raises(ValueError, match="1 plans side by side, expected 0"):
        load_with(held, edited(place, "sides", to=[{"answers": []}]), tmp_path)


@pytest.mark.parametrize("depth", [30, 900, 100_000])
@pytest.mark.parametrize("where", ["sides", "answers"])
def test_a_header_nested_too_deeply(depth: int, where: str, tmp_path: Path) -> None:
    held, path = saved(under_way(), tmp_path), tmp_path / "deep.lump"
    before, after = {
        "sides": ('{"answers":[],"sides":[', "]}"),
        "answers": ('{"answers":[[', "]]}"),
    }[where]
    deep = before * depth + '{"answers":[]}' + after * depth
    header = with_place(held, "HERE").replace(b'"HERE"', deep.encode())
    write(path, {**held, "header.json": header})
    with pytest.raises(ValueError, match=r"^path: "):
        opened(path, SCENES["nested"])


def test_answers_that_took_more_rounds_than_there_were(tmp_path: Path) -> None:
    """Plan 1 asks for 90 rounds first; the split had 60 in all, so it cannot have an answer."""
    scene = Scene(lambda: divider([0, 1, 1, 1], 3, 4, 60, [3, 90]), world(), seed=8)
    session, path = scene.session(), tmp_path / "lie.lump"
    for now in scene.many(70):
        play(session, scene.world, *now)
    held = saved(session, tmp_path)
    place = json.loads(held["header.json"])["place"]
    lie = lb.Sample(np.ones((3, 3), dtype=np.int64), np.zeros((3, 3)))
    arrays = packed.Packed.of(lie).arrays()
    held |= {f"sample-1.1.0-{name}.npy": npy(array) for name, array in arrays.items()}
    header = with_place(held, edited(place, "answers", 1, 1, "answers", to=[None]))
    write(path, {**held, "header.json": header})
    with pytest.raises(ValueError, match="rounds"):
        opened(path, scene)


@pytest.mark.parametrize(
    "changes",
    [{"horizon": 10**400}, {"constants": {"online": 1e308}}],
    ids=["horizon", "constants"],
)
def test_parameters_that_floats_cannot_carry(changes: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "session.lump"
    lb.Session(made(lb.reductions.any_contexts_online), seed=1).save(path)
    held = members(path)
    header = json.loads(held["header.json"])
    header["parameters"] |= changes
    write(path, {**held, "header.json": json.dumps(header).encode()})
    with pytest.raises(ValueError, match=r"horizon|constants|path"):
        lb.Session.load(path)


def test_every_member_is_needed(tmp_path: Path) -> None:
    held, path = saved(under_way(), tmp_path), tmp_path / "session.lump"
    inside = {name.split("-")[1] for name in held if name.endswith(".npy")}
    assert {"0", "1.1.0"} <= inside or {"0", "1.1.1"} <= inside
    assert any(name.startswith("open-1.0.") for name in held)
    for missing in held:
        write(path, {name: data for name, data in held.items() if name != missing})
        with pytest.raises(ValueError, match=rf"^path: {missing} is missing"):
            opened(path, SCENES["nested"])


def test_arrays_of_open_requests_that_cannot_be(tmp_path: Path) -> None:
    held, path = saved(under_way(), tmp_path), tmp_path / "session.lump"
    open_ones = [name for name in held if name.startswith("open-")]
    assert len({name.split("-")[1] for name in open_ones}) >= 2
    for name in open_ones:
        kind = np.float64 if name.split("-")[2] in ("sum.npy", "sums.npy") else np.int64
        bad = np.full(9, np.nan) if kind is np.float64 else np.full(9, -1)
        write(path, {**held, name: npy(bad.astype(kind))})
        with pytest.raises(ValueError, match=r"expected|damaged|bytes"):
            opened(path, SCENES["nested"])


def test_what_a_file_of_a_split_holds(tmp_path: Path) -> None:
    """Answers and rounds by path; of plans that ran in a finished request no array is open."""
    held = saved(under_way(90), tmp_path)
    place = json.loads(held["header.json"])["place"]
    assert not [name for name in held if name.startswith("open-1.")]
    assert place["answers"][0] is None
    assert place["answers"][2] is None
    inner_first, _ = place["answers"][1]
    assert inner_first["answers"][0] is None
    assert place["rounds"] == 90 - 79


# --- In law -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["divided", "nested"])
def test_live_and_bulk_are_the_same_in_law(name: str) -> None:
    """Whole runs, played live in the world against simulated in bulk."""
    scene, number = SCENES[name], 150
    bulk = [lb.simulate(scene.make(), scene.world, seed=seed) for seed in range(number)]
    live = [Scene(scene.make, scene.world, seed) for seed in range(number)]
    regret, policy = [], []
    for each in live:
        session, lost = each.session(), 0.0
        source = each.rounds()
        while session.result is None:
            context, noise = next(source)
            arm = play(session, each.world, context, noise)
            lost += each.world.best[context] - each.world.mean[context, arm]
        regret.append(lost)
        policy.append(session.policy)
        assert session.rounds == 79
    same_distribution(np.array(regret), np.array([run.regret for run in bulk]), "regret")
    same_law(np.array(policy), np.array([run.policy for run in bulk]), "policy")
    assert len({tuple(row) for row in np.array(policy).tolist()}) > 3
