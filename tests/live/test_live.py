"""The live session: draw for draw the literal loop, resumed after any tell, safe from bad files.

Nothing here is random in the sense that it could fail by chance: seeds are fixed, and arms are
compared one by one with Algorithm 2 played literally on the same arrivals and rewards.
"""

from __future__ import annotations

import dataclasses
import io
import json
import math
import os
import random
import re
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lumpable as lb
from lumpable.base import archive
from lumpable.live import packed
from lumpable.plans.plan import Branching, Conversation
from twins import literal
from twins.literal_split import Loop, counted

SMALL = dataclasses.replace(lb.PAPER, confidence=0.5, test=1.0, policy=1.0)
FOUR = lb.Problem(contexts=4, arms=3, groups=2)
SKEWED = [0.4, 0.3, 0.2, 0.1]
Members = dict[str, bytes]


@dataclass(frozen=True)
class Scene:
    """A plan, the world that it meets and the seed of the session."""

    make: Callable[[], lb.Plan]
    world: lb.World
    seed: int = 7

    def session(self) -> lb.Session:
        return lb.Session(self.make(), seed=self.seed)

    def rounds(self) -> Iterator[tuple[int, float]]:
        """Return endless arrivals and noise, the same every time."""
        rng = np.random.default_rng(self.seed)
        while True:
            contexts = rng.choice(self.world.contexts, size=256, p=self.world.frequency)
            noise = literal.noise(self.world, rng, 256)
            yield from zip(contexts.tolist(), noise, strict=True)

    def many(self, rounds: int) -> list[tuple[int, float]]:
        source = self.rounds()
        return [next(source) for _ in range(rounds)]


def skewed(noise: str = "gaussian") -> lb.World:
    return lb.worlds.lumpable(4, 3, 2, frequency=SKEWED, noise=noise, seed=3)


def two_opposites() -> lb.World:
    return lb.worlds.from_matrix([[0.0, 1.0], [1.0, 0.0]], sd=0.1)


def never_comes() -> lb.World:
    return lb.worlds.lumpable(4, 3, 2, frequency=[0.5, 0.5, 0.0, 0.0], seed=3)


def near_uniform() -> lb.Plan:
    return lb.pac.near_uniform(FOUR, epsilon=0.5, delta=0.1, constants=SMALL)


def any_contexts() -> lb.Plan:
    return lb.pac.any_contexts(FOUR, epsilon=0.5, delta=0.1, constants=SMALL)


def naive() -> lb.Plan:
    return lb.standard.naive(FOUR, epsilon=0.5, delta=0.1, constants=SMALL)


def tiny() -> lb.Plan:
    """Return a plan of about a hundred rounds."""
    constants = dataclasses.replace(SMALL, confidence=0.3, policy=0.3)
    return lb.pac.near_uniform(lb.Problem(3, 2, 1), epsilon=0.5, delta=0.1, constants=constants)


def tiny_world() -> lb.World:
    return lb.worlds.lumpable(3, 2, 1, seed=1)


SCENES = {
    "near_uniform": Scene(near_uniform, skewed()),
    "near_uniform, bernoulli": Scene(near_uniform, skewed("bernoulli"), seed=0),
    "near_uniform, contexts that never come": Scene(near_uniform, never_comes()),
    "any_contexts": Scene(any_contexts, skewed(), seed=2**80 + 1),
    "any_contexts, bernoulli": Scene(any_contexts, skewed("bernoulli")),
    "naive": Scene(naive, skewed()),
    "elimination, certified": Scene(
        lambda: lb.standard.elimination(lb.Problem(2, 2, 2), epsilon=0.5, delta=0.5),
        two_opposites(),
    ),
    "elimination, long": Scene(
        lambda: lb.standard.elimination(FOUR, epsilon=0.5, delta=0.1), skewed()
    ),
    "cheaper": Scene(
        lambda: lb.reductions.cheaper(FOUR, epsilon=0.5, delta=0.1, constants=SMALL), skewed()
    ),
    "tiny": Scene(tiny, tiny_world()),
}
scenes = pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of saves; what is synced, and when, has a test of its own."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def play(session: lb.Session | Loop, world: lb.World, context: int, noise: float) -> int:
    """Play one round, live or literally; return the arm."""
    arm = session.ask(context) if isinstance(session, lb.Session) else session.arm(context)
    reward = literal.rewards(world, iter([noise]))(context, arm)
    if isinstance(session, lb.Session):
        session.tell(context, arm, reward)
    else:
        session.tell(context, reward)
    return arm


def play_to_the_end(session: lb.Session, scene: Scene) -> list[int]:
    played: list[int] = []
    for context, noise in scene.rounds():
        if session.result is not None:
            return played
        played.append(play(session, scene.world, context, noise))
        assert len(played) <= 20_000
    raise AssertionError("arrivals do not end")


def members(path: Path) -> Members:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def saved(session: lb.Session, folder: Path) -> Members:
    """Return all that a file of this session would hold."""
    path = folder / "state.lump"
    session.save(path)
    return members(path)


def listening(plan: lb.Plan, heard: list[lb.Sample]) -> lb.Plan:
    """Return the same plan, which also notes the samples that it is sent."""

    def body() -> Branching:
        progress = lb.Progress(plan)
        while progress.request is not None:
            sample: lb.Sample = yield progress.request
            heard.append(sample)
            progress.answer(sample)
        assert progress.result is not None
        return progress.result

    return lb.Plan(plan.about, dict(plan.parameters), body())


# --- Draw for draw --------------------------------------------------------------------------


@scenes
def test_every_round_is_that_of_the_literal_loop(scene: Scene) -> None:
    heard: list[lb.Sample] = []
    session = lb.Session(listening(scene.make(), heard), seed=scene.seed)
    played = play_to_the_end(session, scene)

    oracle = Loop(scene.make(), counted(scene.seed))
    literally = [play(oracle, scene.world, *now) for now in scene.many(len(played))]
    assert played == literally
    assert session.rounds == oracle.rounds == len(played)
    assert len(heard) == len(oracle.heard)
    for sample, other in zip(heard, oracle.samples, strict=True):
        np.testing.assert_array_equal(sample.plays, other.plays)
        np.testing.assert_allclose(sample.mean, other.mean, rtol=1e-12, atol=1e-12)
    _same_result(session.result, oracle.result)
    np.testing.assert_array_equal(session.policy, oracle.policy)


def _same_result(a: lb.Result | None, b: lb.Result | None) -> None:
    if a is None or b is None:
        assert a is b
        return
    np.testing.assert_array_equal(a.policy, b.policy)
    assert (a.candidates, a.screenings, a.notes) == (b.candidates, b.screenings, b.notes)
    assert [bucket.rounds for bucket in a.buckets] == [bucket.rounds for bucket in b.buckets]
    for mine, theirs in zip(a.buckets, b.buckets, strict=True):
        _same_result(mine.result, theirs.result)


def test_scenes_differ_by_seed() -> None:
    """Another seed draws other arms: the comparison above is not about constants."""
    scene = SCENES["near_uniform"]
    first, other = scene.session(), lb.Session(scene.make(), seed=scene.seed + 1)
    arrivals = scene.many(200)
    assert [play(first, scene.world, *r) for r in arrivals] != [
        play(other, scene.world, *r) for r in arrivals
    ]


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_arms_do_not_depend_on_the_order_of_arrival(data: st.DataObject) -> None:
    """Two interleavings of the same visits: the same arms for each context, the same sample."""
    rounds = near_uniform().send(None).rounds
    visits = data.draw(st.lists(st.integers(0, 3), min_size=rounds, max_size=rounds))
    shuffled = visits.copy()
    random.Random(data.draw(st.integers(0, 2**32))).shuffle(shuffled)
    (arms, sample), (same_arms, same_sample) = (_first_request(v) for v in (visits, shuffled))
    assert arms == same_arms
    np.testing.assert_array_equal(sample.plays, same_sample.plays)
    np.testing.assert_array_equal(sample.mean, same_sample.mean)


def _first_request(visits: list[int]) -> tuple[list[list[int]], lb.Sample]:
    heard: list[lb.Sample] = []
    session = lb.Session(listening(near_uniform(), heard), seed=5)
    arms: list[list[int]] = [[] for _ in range(4)]
    for context in visits:
        arm = session.ask(context)
        session.tell(context, arm, math.sin(100 * context + len(arms[context])))
        arms[context].append(arm)
    (sample,) = heard
    return arms, sample


# --- Asking and telling ---------------------------------------------------------------------


@scenes
def test_asking_changes_nothing(scene: Scene, tmp_path: Path) -> None:
    session = scene.session()
    for step, (context, noise) in enumerate(scene.many(300)):
        if step % 60 == 0:
            before = saved(session, tmp_path)
            first = [session.ask(i) for i in range(scene.world.contexts)]
            for _ in range(3):
                assert [session.ask(i) for i in range(scene.world.contexts)] == first
            assert saved(session, tmp_path) == before
        play(session, scene.world, context, noise)


@pytest.mark.parametrize("ended", [False, True], ids=["under way", "after the end"])
def test_a_late_reward_changes_only_the_counter(ended: bool, tmp_path: Path) -> None:
    scene = SCENES["tiny"]
    session = scene.session()
    if ended:
        play_to_the_end(session, scene)
    for number in range(1, 20):
        before = saved(session, tmp_path)
        context = number % 3
        session.tell(context, 1 - session.ask(context), 0.5)
        assert session.late == number
        after = saved(session, tmp_path)
        assert _without_late(after) == _without_late(before)


def _without_late(held: Members) -> dict[str, Any]:
    header = json.loads(held["header.json"])
    del header["late"]
    return {**held, "header.json": header}


@scenes
def test_after_the_end_everybody_gets_the_policy_and_rounds_go_on(scene: Scene) -> None:
    session = scene.session()
    rounds = len(play_to_the_end(session, scene))
    assert session.request is None
    assert session.belief is None
    assert session.result is not None
    policy = session.result.policy.tolist()
    for context, noise in scene.many(50):
        assert play(session, scene.world, context, noise) == policy[context]
    assert session.rounds == rounds + 50
    assert [session.ask(i) for i in range(scene.world.contexts)] == policy


def test_contexts_that_are_asked_nothing_play_the_policy_and_their_rounds_count() -> None:
    scene = SCENES["any_contexts"]
    session = scene.session()
    idle_rounds = 0
    for context, noise in scene.rounds():
        request = session.request
        if request is None:
            break
        assert request.belief is not None
        np.testing.assert_array_equal(session.policy, request.belief.policy)
        assert isinstance(request, lb.Collect)
        if not request.arms[context].any():
            assert session.ask(context) == request.belief.policy[context]
            idle_rounds += 1
        rounds = session.rounds
        play(session, scene.world, context, noise)
        assert session.rounds == rounds + 1
    assert idle_rounds > 100


def test_numbers_of_other_types_are_the_same_numbers(tmp_path: Path) -> None:
    plain, other = (SCENES["tiny"].session() for _ in range(2))
    kinds: list[tuple[Any, Any]] = [(np.int32, np.float32), (np.uint8, np.float64), (int, Fraction)]
    for whole, real in kinds * 5:
        for context in range(3):
            plain.tell(context, plain.ask(context), 0.5)
            other.tell(whole(context), whole(other.ask(whole(context))), real(0.5))
    plain.tell(1, plain.ask(1), 1.0)
    other.tell(1, other.ask(1), 1)
    assert saved(plain, tmp_path) == saved(other, tmp_path)


BAD_CONTEXTS = [-1, 3, 10**30, True, np.True_, 0.0, 1.5, "1", None, math.nan, [0]]
BAD_ARMS = [-1, 2, 10**30, False, np.False_, 0.0, "0", None, math.inf, (0,)]
BAD_REWARDS = [math.nan, math.inf, -math.inf, np.nan, "0.5", "nan", b"0.5", None, True, 1j, 10**400]


@pytest.mark.parametrize("ended", [False, True], ids=["under way", "after the end"])
@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *(("context", value) for value in BAD_CONTEXTS),
        *(("arm", value) for value in BAD_ARMS),
        *(("reward", value) for value in BAD_REWARDS),
    ],
    ids=lambda value: repr(value)[:12],
)
def test_bad_input_is_named_and_changes_nothing(
    argument: str, value: Any, ended: bool, tmp_path: Path
) -> None:
    scene = SCENES["tiny"]
    session = scene.session()
    for context, noise in scene.many(17):
        play(session, scene.world, context, noise)
    if ended:
        play_to_the_end(session, scene)
    before = saved(session, tmp_path)
    good: dict[str, Any] = {"context": 0, "arm": session.ask(0), "reward": 0.5}
    said = re.compile(rf"^{argument}: expected .+, got {re.escape(repr(value)[:40])}", re.DOTALL)
    with pytest.raises(ValueError, match=said):
        session.tell(**{**good, argument: value})
    if argument == "context":
        with pytest.raises(ValueError, match=said):
            session.ask(value)
    assert saved(session, tmp_path) == before


def test_rewards_whose_sum_overflows_do_not_stop_the_plan(tmp_path: Path) -> None:
    """A reward is taken or refused by name; either way ordinary rounds still lead to the end."""
    scene = SCENES["tiny"]
    session = scene.session()
    for context, _ in scene.many(40):
        before, rounds = saved(session, tmp_path), session.rounds
        try:
            session.tell(context, session.ask(context), 1.7e308)
        except ValueError as refused:
            assert str(refused).startswith("reward: ")  # noqa: PT017
            assert saved(session, tmp_path) == before
        else:
            assert session.rounds == rounds + 1
    play_to_the_end(session, scene)
    assert session.result is not None


@lb.algorithm
def endless_plays() -> Conversation:
    sample = yield lb.Collect(5, 2**70, np.ones((2, 2), dtype=bool))
    return lb.Result(sample.plays.sum(axis=1))


def test_repeats_beyond_64_bits_are_simply_never_finished(tmp_path: Path) -> None:
    session, path = lb.Session(endless_plays(), seed=1), tmp_path / "session.lump"
    for _ in range(5):
        session.save(path)
        session = lb.Session.load(path, endless_plays())
        session.tell(0, session.ask(0), 1.0)
    assert session.result is not None
    assert not session.result.policy.any()


@pytest.mark.parametrize("seed", [-1, 0.5, "1", None, True], ids=repr)
def test_bad_seeds(seed: Any) -> None:
    with pytest.raises(ValueError, match=r"^seed: expected"):
        lb.Session(tiny(), seed=seed)


# --- Resuming -------------------------------------------------------------------------------


def _rounds_with_late_rewards(scene: Scene, number: int) -> list[tuple[int, float, bool]]:
    """Every seventh reward comes late."""
    return [(i, noise, k % 7 == 3) for k, (i, noise) in enumerate(scene.many(number))]


def _tell(session: lb.Session, world: lb.World, context: int, noise: float, late: bool) -> int:
    if not late:
        return play(session, world, context, noise)
    session.tell(context, (session.ask(context) + 1) % world.arms, noise)
    return -1


def _counters(session: lb.Session) -> tuple[int, int, bool]:
    return session.rounds, session.late, session.result is None


def test_resume_after_any_tell_of_a_short_run(tmp_path: Path) -> None:
    """Also between two requests, before the first tell and after the plan's end."""
    scene = SCENES["tiny"]
    length = len(play_to_the_end(scene.session(), scene)) * 7 // 6 + 25
    rounds = _rounds_with_late_rewards(scene, length)
    whole = scene.session()
    told = [_tell(whole, scene.world, *r) for r in rounds]
    final = saved(whole, tmp_path)
    assert whole.result is not None

    session, path = scene.session(), tmp_path / "session.lump"
    between_requests = after_the_end = 0
    for step, now in enumerate(rounds):
        session.save(path)
        opened = lb.Session.load(path)
        assert _counters(opened) == _counters(session)
        assert [opened.ask(i) for i in range(3)] == [session.ask(i) for i in range(3)]
        np.testing.assert_array_equal(opened.policy, session.policy)
        assert saved(opened, tmp_path) == members(path)
        assert [_tell(opened, scene.world, *r) for r in rounds[step:]] == told[step:]
        assert saved(opened, tmp_path) == final
        _same_result(opened.result, whole.result)
        place = json.loads(members(path)["header.json"])["place"]
        between_requests += place["rounds"] == 0 and len(place["answers"]) > 0
        after_the_end += session.result is not None
        _tell(session, scene.world, *now)
    assert between_requests > 3
    assert after_the_end > 10


@scenes
def test_resume_at_random_points_of_a_long_run(scene: Scene, tmp_path: Path) -> None:
    whole = scene.session()
    played = play_to_the_end(whole, scene)
    rounds = scene.many(len(played))
    points = np.random.default_rng(9).integers(len(played), size=6).tolist()
    path = tmp_path / "session.lump"
    session = scene.session()
    for step, now in enumerate(rounds):
        if step in points:
            session.save(path)
            session = lb.Session.load(path)
            assert saved(session, tmp_path) == members(path)
        assert play(session, scene.world, *now) == played[step]
    assert saved(session, tmp_path) == saved(whole, tmp_path)
    _same_result(session.result, whole.result)


@lb.algorithm
def own_plan(problem: lb.Problem, weight: float) -> Conversation:
    """Believe something in the second request only: that policy must last through the third."""
    S, K = problem.contexts, problem.arms
    everything = np.ones((S, K), dtype=bool)
    some = everything.copy()
    some[::2] = False
    sample = yield lb.Collect(8, 2, everything)
    yield lb.Collect(8, 2, some, lb.Belief("second", np.full(S, K - 1)))
    yield lb.Collect(8, 2, some)
    return lb.Result(np.full(S, int(sample.plays.sum() > weight)))


@pytest.mark.parametrize("step", range(30))
def test_resume_a_plan_of_ones_own(step: int, tmp_path: Path) -> None:
    world, problem = tiny_world(), lb.Problem(3, 2, 1)
    scene = Scene(lambda: own_plan(problem, weight=2.0), world)
    session, path = scene.session(), tmp_path / "own.lump"
    for now in scene.many(step):
        play(session, world, *now)
    session.save(path)
    opened = lb.Session.load(path, own_plan(problem, weight=2.0))
    assert [opened.ask(i) for i in range(3)] == [session.ask(i) for i in range(3)]
    np.testing.assert_array_equal(opened.policy, session.policy)
    for now in scene.many(40):
        assert play(opened, world, *now) == play(session, world, *now)
    assert saved(opened, tmp_path) == saved(session, tmp_path)


def test_a_plan_of_ones_own_must_be_handed_in(tmp_path: Path) -> None:
    problem, path = lb.Problem(3, 2, 1), tmp_path / "own.lump"
    lb.Session(own_plan(problem, weight=2.0), seed=1).save(path)
    with pytest.raises(ValueError, match=r"own_plan, not a plan of this package; pass"):
        lb.Session.load(path)
    with pytest.raises(ValueError, match=r"^plan: the session was saved by .*weight=2.0"):
        lb.Session.load(path, own_plan(problem, weight=3.0))


def test_another_plan_handed_in_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "session.lump"
    lb.Session(naive(), seed=1).save(path)
    other = lb.standard.naive(FOUR, epsilon=0.25, delta=0.1, constants=SMALL)
    for plan in (other, near_uniform()):
        with pytest.raises(ValueError, match=r"^plan: the session was saved by .*naive\(.*, got "):
            lb.Session.load(path, plan)
    assert lb.Session.load(path, naive()).plan.name == "lumpable.standard.naive"


# --- Files ----------------------------------------------------------------------------------


def session_under_way() -> lb.Session:
    """Return a session with a finished request and one that is under way."""
    scene = SCENES["tiny"]
    session = scene.session()
    source = scene.rounds()
    while session.request is None or session.rounds < session.request.rounds + 12:
        play(session, scene.world, *next(source))
    assert isinstance(session.request, lb.Collect)
    assert session.request.repeats > 1
    assert session.rounds > session.request.rounds
    return session


def write(path: Path, held: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name, data in held.items():
            file.writestr(name, data)


def npy(array: npt.NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def read_npy(data: bytes) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = np.lib.format.read_array(io.BytesIO(data))
    return array


def test_a_truncated_file(tmp_path: Path) -> None:
    path = tmp_path / "session.lump"
    session_under_way().save(path)
    raw = path.read_bytes()
    for length in range(0, len(raw), 11):
        path.write_bytes(raw[:length])
        with pytest.raises(ValueError, match=r"^path: "):
            lb.Session.load(path)


def test_a_flipped_bit_is_refused_or_does_no_harm(tmp_path: Path) -> None:
    """One bit of every third byte, and every bit of the last 80, where the zip is described."""
    path, damaged = tmp_path / "session.lump", tmp_path / "damaged.lump"
    session_under_way().save(path)
    whole, raw = members(path), path.read_bytes()
    rng = np.random.default_rng(3)
    flips = [(at, int(rng.integers(8))) for at in range(0, len(raw) - 80, 3)]
    flips += [(at, bit) for at in range(len(raw) - 80, len(raw)) for bit in range(8)]
    refused = 0
    wrong: dict[str, tuple[int, int]] = {}
    for at, bit in flips:
        flipped = bytearray(raw)
        flipped[at] ^= 1 << bit
        damaged.write_bytes(flipped)
        try:
            opened = lb.Session.load(damaged)
        except ValueError:
            refused += 1
        except Exception as error:  # collected, so that one report names every kind
            wrong.setdefault(f"{type(error).__name__}: {error}", (at, bit))
        else:
            assert saved(opened, tmp_path) == whole, f"byte {at}, bit {bit}"
    assert not wrong
    assert refused > len(flips) // 2


def test_what_is_no_saved_file(tmp_path: Path) -> None:
    text, empty_zip = tmp_path / "text", tmp_path / "zip"
    text.write_text("hello")
    write(empty_zip, {})
    for path in (tmp_path, text, empty_zip):
        with pytest.raises(ValueError, match=r"^path: "):
            lb.Session.load(path)
    with pytest.raises(FileNotFoundError, match="no such file: "):
        lb.Session.load(tmp_path / "missing")


def _with_header(held: Members, **changes: Any) -> Members:
    header = json.loads(held["header.json"]) | changes
    return {**held, "header.json": json.dumps(header).encode()}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema": 1}, "schema 2, got .* schema 1"),
        ({"schema": 3}, "schema 2, got .* schema 3"),
        ({"schema": "2"}, "header says: .*schema"),
        ({"format": "lumpable table"}, "expected a lumpable session .*got 'lumpable table'"),
        ({"surprise": 1}, "surprise"),
        ({"seed": -1}, "seed: expected"),
        ({"seed": None}, "header says: .*seed"),
        ({"late": -1}, "late"),
        ({"place": {"answers": [None, None]}}, "sample-1-.* is missing"),
        ({"place": {"answers": [], "rounds": 0}}, "open-0-.* is missing"),
        ({"place": {"answers": [[]]}}, "request 0 asks for a sample, got results"),
        ({"place": {"answers": [[{"answers": []}]]}}, "1 plans side by side, expected 0"),
        ({"place": {"answers": [None], "sides": [{"answers": []}]}}, "1 plans side by side"),
        ({"place": {"answers": -1}}, "header says: .*answers"),
        ({"place": {"answers": [None], "rounds": -1}}, "header says: .*rounds"),
        ({"place": {"answers": [None], "rounds": 10**9}}, "expected rounds below"),
        ({"place": {"answers": [None], "rounds": 10**30}}, "rounds"),
        ({"place": {"answers": [None], "rounds": 0}}, "add up to the"),
        ({"place": {"answers": [None], "surprise": 1}}, "surprise"),
        ({"place": None}, "header says: .*place"),
        ({"parameters": {}}, "not the parameters of lumpable.pac.near_uniform"),
        ({"parameters": []}, "header says: .*parameters"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_a_header_that_cannot_be(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = tmp_path / "session.lump"
    write(path, _with_header(saved(session_under_way(), tmp_path), **changes))
    with pytest.raises(ValueError, match=said):
        lb.Session.load(path)


PARAMETERS = {"epsilon": 0.5, "delta": 0.1}


@pytest.mark.parametrize(
    "parameters",
    [
        {"problem": {"contexts": 3, "arms": 2, "groups": 4}, **PARAMETERS},
        {"problem": {"contexts": 3, "arms": 2}, **PARAMETERS},
        {"problem": [3, 2, 1], **PARAMETERS},
        {"problem": {"contexts": 3, "arms": 2, "groups": 1}, "epsilon": 0.7, "delta": 0.1},
        {"problem": {"contexts": 3, "arms": 2, "groups": 1}, "epsilon": "x", "delta": 0.1},
        {"problem": {"contexts": 3, "arms": 2, "groups": 1}, **PARAMETERS, "shell": "ls"},
        {"problem": {"contexts": 5, "arms": 2, "groups": 1}, **PARAMETERS},
    ],
    ids=lambda parameters: json.dumps(parameters),
)
def test_parameters_that_do_not_fit(parameters: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "session.lump"
    write(path, _with_header(saved(session_under_way(), tmp_path), parameters=parameters))
    with pytest.raises(ValueError, match=r"path|epsilon|sample"):
        lb.Session.load(path)


def test_a_header_nested_too_deeply(tmp_path: Path) -> None:
    path, held = tmp_path / "session.lump", saved(session_under_way(), tmp_path)
    deep = b"[" * 100_000 + b"]" * 100_000
    held["header.json"] = held["header.json"].replace(b'"epsilon":0.5', b'"epsilon":' + deep)
    write(path, held)
    with pytest.raises(ValueError, match=r"^path: "):
        lb.Session.load(path)


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "builtins.eval",
        "lumpable.cli.main",
        "lumpable.__main__.main",
        "lumpable.pac.screen",
        "lumpable.pac.np",
        "lumpable.session.Session",
        "lumpable.worlds.lumpable",
        "lumpable.nowhere.near_uniform",
        "lumpable..pac.near_uniform",
        "lumpable.pac.near_uniform.__wrapped__",
        "lumpable.pac.",
        "pac.near_uniform",
        "near_uniform",
        "",
    ],
)
def test_a_file_cannot_name_what_is_no_plan_of_the_package(name: str, tmp_path: Path) -> None:
    path = tmp_path / "session.lump"
    write(path, _with_header(saved(session_under_way(), tmp_path), plan=name))
    with pytest.raises(ValueError, match=rf"{re.escape(name)}, not a plan of this package"):
        lb.Session.load(path)


def test_every_member_is_needed(tmp_path: Path) -> None:
    held = saved(session_under_way(), tmp_path)
    path = tmp_path / "session.lump"
    for missing in held:
        write(path, {name: data for name, data in held.items() if name != missing})
        with pytest.raises(ValueError, match=rf"^path: {missing} is missing"):
            lb.Session.load(path)


def test_objects_are_refused_in_every_member(tmp_path: Path) -> None:
    """Not unpickled: loading must not be able to run anything."""
    held = saved(session_under_way(), tmp_path)
    path = tmp_path / "session.lump"
    trap = np.array([_Trap()] * 3, dtype=object)
    for name in held:
        write(path, {**held, name: npy(trap)})
        with pytest.raises(ValueError, match=r"^path: "):
            lb.Session.load(path)
    assert _Trap.sprung == 0


class _Trap:
    sprung = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return _spring, ()


def _spring() -> None:
    _Trap.sprung += 1


def _claim(shape: tuple[int, ...]) -> bytes:
    """Return a small member that claims to be an array of this shape."""
    buffer = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + bytes(24)


def test_oversized_members(tmp_path: Path) -> None:
    held = saved(session_under_way(), tmp_path)
    path = tmp_path / "session.lump"
    large = np.zeros(archive.NPY_OVERHEAD)
    for name in held:
        if name == "header.json":
            write(path, {**held, name: held[name] + b" " * archive.HEADER_LIMIT})
        else:
            write(path, {**held, name: npy(large)})
        with pytest.raises(ValueError, match=rf"^path: {name} takes \d+ bytes, expected at most"):
            lb.Session.load(path)


@pytest.mark.parametrize("shape", [(1 << 50,), (1 << 62,), (1 << 20, 1 << 30)], ids=str)
def test_members_that_claim_more_than_they_hold(shape: tuple[int, ...], tmp_path: Path) -> None:
    held = saved(session_under_way(), tmp_path)
    path = tmp_path / "session.lump"
    for name in held:
        if name.endswith(".npy"):
            write(path, {**held, name: _claim(shape)})
            with pytest.raises(ValueError, match=r"^path: "):
                lb.Session.load(path)


DISTORTIONS: dict[str, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {
    "shorter": lambda array: array[:-1],
    "longer": lambda array: np.append(array, array[-1:]),
    "empty": lambda array: array[:0],
    "no axis": lambda array: array[0],
    "two axes": lambda array: array.reshape(-1, 1),
    "text": lambda array: array.astype("U"),
    "complex": lambda array: array + 1j,
    "fractions": lambda array: array + 0.5 if array.dtype.kind != "f" else array.astype("U"),
    "negative": lambda array: -1.0 - array if array.dtype.kind != "f" else array * np.nan,
    "infinite": lambda array: array + np.inf,
    "far too large": lambda array: (
        array + np.uint64(2**63) if array.dtype.kind != "f" else array * np.inf
    ),
}


@pytest.mark.parametrize("distortion", DISTORTIONS)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_arrays_that_cannot_be_are_refused(distortion: str, tmp_path: Path) -> None:
    """Wrong length, shape, type or impossible values: never a session that goes on with them."""
    held = saved(session_under_way(), tmp_path)
    path = tmp_path / "session.lump"
    wrong = {}
    for name, data in held.items():
        if not name.endswith(".npy"):
            continue
        write(path, {**held, name: npy(DISTORTIONS[distortion](read_npy(data)))})
        try:
            opened = lb.Session.load(path)
        except ValueError:
            continue
        except Exception as error:  # collected, so that one report names every member
            wrong[name] = f"{type(error).__name__}: {error}"
        else:
            wrong[name] = f"went on with it: {_difference(opened, held, tmp_path)}"
    assert not wrong


def _difference(session: lb.Session, held: Members, folder: Path) -> str:
    """Say what became of a session that should not have been opened."""
    try:
        again = saved(session, folder)
    except Exception as error:
        return f"cannot be saved: {error}"
    return "not the same" if again != held else "the same"


@pytest.mark.parametrize("touched", [0b0000_0000, 0b0100_0000, 0b1111_1111], ids=bin)
def test_a_sample_that_does_not_fit_its_request(touched: int, tmp_path: Path) -> None:
    """The naive plan's first request asks for arm 0 only; the file has plays of other arms."""
    plan = lb.standard.naive(lb.Problem(2, 3, 1), epsilon=0.5, delta=0.1, constants=SMALL)
    scene = Scene(lambda: plan, lb.worlds.lumpable(2, 3, 1, seed=1))
    session = scene.session()
    first = session.request
    source = scene.rounds()
    while session.request is first:
        play(session, scene.world, *next(source))
    held = saved(session, tmp_path)
    number = min(6, touched.bit_count())
    plays, mean = np.ones(number, dtype=np.uint8), np.full(number, 0.5)
    bits = np.array([touched], dtype=np.uint8)
    path = tmp_path / "session.lump"
    write(path, {**held, "sample-0-touched.npy": npy(bits)})
    with pytest.raises(ValueError, match=r"^path: a sample (has|needs)"):
        lb.Session.load(path)
    arrays = {"touched": bits, "plays": plays, "mean": mean}
    write(path, {**held, **{f"sample-0-{name}.npy": npy(a) for name, a in arrays.items()}})
    if number:
        with pytest.raises(ValueError, match=r"request 0 does not ask for the pair at context 0"):
            lb.Session.load(path)
    else:
        assert lb.Session.load(path).rounds == session.rounds


def test_a_sample_of_another_size(tmp_path: Path) -> None:
    held = saved(session_under_way(), tmp_path)
    path = tmp_path / "session.lump"
    other = lb.Sample(np.ones((5, 2), dtype=np.int64), np.zeros((5, 2)))
    arrays = packed.Packed.of(other).arrays()
    small = {name: array[:6] for name, array in arrays.items()}
    write(path, {**held, **{f"sample-0-{name}.npy": npy(a) for name, a in small.items()}})
    with pytest.raises(ValueError, match=r"^path: a sample has 2 bytes of cells for \(3, 2\)"):
        lb.Session.load(path)


@pytest.mark.parametrize("where", ["write", "replace"])
def test_an_interrupted_save_leaves_the_old_file_whole(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "session.lump"
    SCENES["tiny"].session().save(path)
    before = path.read_bytes()

    def power_cut(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if where == "replace":
            patch.setattr(os, "replace", power_cut)
        else:
            patch.setattr(np.lib.format, "write_array", power_cut)
        with pytest.raises(KeyboardInterrupt):
            session_under_way().save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["session.lump"]
    lb.Session.load(path)


def test_the_new_file_is_on_disk_before_the_old_one_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "session.lump"
    happened: list[str] = []
    replace = os.replace

    def synced(handle: int) -> None:
        folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        happened.append("folder" if folder else f"{os.fstat(handle).st_size} bytes")

    def replaced(source: str, target: Path) -> None:
        happened.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    session_under_way().save(path)
    assert happened == [f"{path.stat().st_size} bytes", "replace", "folder"][: len(happened)]
    assert len(happened) == (3 if os.name == "posix" else 2)


def test_saving_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "session.lump"
    SCENES["tiny"].session().save(str(path))
    session = session_under_way()
    session.save(path)
    assert lb.Session.load(str(path)).rounds == session.rounds
    assert [file.name for file in tmp_path.iterdir()] == ["session.lump"]
