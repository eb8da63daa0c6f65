"""A log replays to the same experiment, bit for bit; a set of events makes the same evidence."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lumpable as lb
from kits import postgres
from kits.service import Clock, Later, bits, opened
from kits.simulated_disk import Disk, Shared
from lumpable.service.live_experiment import LiveExperiment
from lumpable.service.snapshots import InFile
from lumpable.stores.in_memory import MemoryStore
from lumpable.stores.in_postgres import PostgresStore
from lumpable.stores.law import Store
from lumpable.stores.log_entries import Entry

ARMS = ("red", "green", "blue")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("decide"), st.integers(0, 5)),
        st.tuples(st.just("observe"), st.integers(0, 5), st.sampled_from(ARMS)),
        st.tuples(st.just("reward"), st.integers(0, 30), st.sampled_from([0.0, 1.0, 0.5, 2.0])),
        st.tuples(st.just("pass"), st.integers(1, 8)),
        st.tuples(st.just("fit")),
        st.tuples(st.just("pause"), st.sampled_from(ARMS[:2])),
        st.tuples(st.just("resume"), st.sampled_from(ARMS[:2])),
        st.tuples(st.just("forget"), st.integers(0, 5)),
    ),
    max_size=60,
)


def live(steps: list[Any], **given: Any) -> tuple[LiveExperiment, MemoryStore, Clock]:
    """Run an experiment through steps; fits come only when a step says so."""
    store, clock, later = MemoryStore(), Clock(), Later()
    e = opened(store, clock, later, **given)
    for k in range(12):  # enough for a first fit
        e.reward(e.observe(f"u{k % 6}", ARMS[k % 3], event=f"first {k}").event, float(k % 2))
    for what, *about in steps:
        if what == "decide":
            e.decide(f"u{about[0]}")
        elif what == "observe":
            e.observe(f"u{about[0]}", about[1])
        elif what == "reward":
            e.reward(f"e{about[0]}", about[1])
        elif what == "pass":
            clock.now += about[0]
        elif what == "fit":
            later.finish()
        elif what == "pause":
            e.pause_arm(about[0])
        elif what == "resume":
            e.resume_arm(about[0])
        elif what == "forget":
            e.forget(f"u{about[0]}")
    e._writer.hand_in([]).result()  # nobody waits until a version that was adopted is durable
    return e, store, clock


REPEATED = st.sampled_from(["first", "last", "sum"])
RULES = STEPS, REPEATED, st.sampled_from([None, 0.0])


@settings(max_examples=20, deadline=None)
@given(*RULES)
def test_a_replayed_log_is_the_same_bit_for_bit(
    steps: list[Any], repeated: str, default: float | None
) -> None:
    replay(steps, repeated, default)


@pytest.mark.nightly
@settings(max_examples=600, deadline=None)
@given(*RULES)
def test_many_replayed_logs_are_the_same(
    steps: list[Any], repeated: str, default: float | None
) -> None:
    replay(steps, repeated, default)


def replay(steps: list[Any], repeated: str, default: float | None) -> None:
    e, store, clock = live(steps, window=10, default=default, repeated=repeated)
    again = opened(store, clock, Later(), arms=(), window=10, default=default, repeated=repeated)
    assert bits(again) == bits(e)
    assert not store.verify()
    asked = [[one._ledger.learner.ask(user) for user in ("u1", "new")] for one in (e, again)]
    assert asked[0] == asked[1]


@settings(max_examples=12, deadline=None)
@given(steps=STEPS, cut=st.integers(0, 60))
def test_a_snapshot_saves_time_and_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any], cut: int
) -> None:
    """The first steps, a snapshot, the other steps: replayed from it, the same bits."""
    replay_from_a_snapshot(tmp_path_factory.mktemp("snapshot") / "here", steps, cut)


@pytest.mark.nightly
@settings(max_examples=300, deadline=None)
@given(steps=STEPS, cut=st.integers(0, 60))
def test_many_snapshots_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any], cut: int
) -> None:
    replay_from_a_snapshot(tmp_path_factory.mktemp("snapshot") / "here", steps, cut)


def replay_from_a_snapshot(path: Path, steps: list[Any], cut: int) -> None:
    e, store, clock = live(steps[:cut], window=10, default=0.0)
    e._snapshots._place = InFile(path)
    if e._snapshots.due(e._ledger, 1):
        e._snapshots.write(e._ledger, e._writer.hand_in([]))
        e._snapshots.finish()
    for k in range(5):
        e.reward(e.decide(f"u{k}", event=f"after {k}").event, 1.0)
        e.reward(f"first {k}", 2.5, at=999.0)  # an event that is only in the log
        clock.now += 4
    e._writer.hand_in([]).result()
    known: dict[str, Any] = {"window": 10, "default": 0.0, "arms": ()}
    quick = opened(store, clock, Later(), snapshot=path, **known)
    assert bits(quick) == bits(e) == bits(opened(store, clock, Later(), **known))


@pytest.mark.parametrize("harm", ["gone", "torn", "flipped", "of another log"])
def test_a_snapshot_that_is_of_no_use_is_left_alone(tmp_path: Path, harm: str) -> None:
    path, store = tmp_path / "here", MemoryStore()
    with opened(store, snapshot=path) as e:
        for k in range(30):
            e.reward(e.decide(f"u{k % 4}").event, float(k % 2))
        whole = bits(e)
    content = path.read_bytes()
    if harm == "gone":
        path.unlink()
    elif harm == "torn":
        path.write_bytes(content[: len(content) // 2])
    elif harm == "flipped":
        path.write_bytes(content[:-100] + bytes([content[-100] ^ 1]) + content[-99:])
    else:
        other = MemoryStore()
        other.append([entry for _, entry in store.entries()][:-1])
        store = other
        whole = bits(opened(store, arms=()))
    assert bits(opened(store, arms=(), snapshot=path)) == whole


def test_who_is_forgotten_is_in_no_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "clicks.db"
    with lb.open(path, ["red"], fits="inline") as e:
        for user in ("zanzibar-ann", "bob"):
            e.reward(e.decide(user).event, 1.0)
    with lb.open(path, fits="inline") as e:
        e.forget("zanzibar-ann")
        for file in tmp_path.iterdir():
            assert b"zanzibar" not in file.read_bytes(), file
    for file in tmp_path.iterdir():
        assert b"zanzibar" not in file.read_bytes(), file


SPLIT = st.data(), REPEATED, st.sampled_from(["any", "binary"])


@settings(max_examples=15, deadline=None)
@given(*SPLIT)
def test_evidence_is_a_function_of_the_set_of_events(
    data: st.DataObject, repeated: str, rewards: str
) -> None:
    split_events(data, repeated, rewards)


@pytest.mark.nightly
@settings(max_examples=500, deadline=None)
@given(*SPLIT)
def test_evidence_of_many_sets_of_events(data: st.DataObject, repeated: str, rewards: str) -> None:
    split_events(data, repeated, rewards)


@settings(max_examples=2, deadline=None)
@given(*SPLIT)
def test_evidence_in_postgres_is_that_in_memory(
    data: st.DataObject, repeated: str, rewards: str
) -> None:
    split_events(data, repeated, rewards, postgres.server().address)


def split_events(
    data: st.DataObject, repeated: str, accepted: str, address: Callable[[], str] | None = None
) -> None:
    """Shuffled, tripled, some late, some without a decision, by 1 to 8 processes: one digest."""
    rng = data.draw(st.randoms(use_true_random=False))
    values = [0.0, 1.0] if accepted == "binary" else [0.0, 1.0, 0.5, 3.0]
    events = [
        Entry(kind="decided", at=k * 10**6, event=f"x{k}", user=f"u{k % 4}", arm=ARMS[k % 3],
              active=True)
        for k in range(data.draw(st.integers(1, 12)))
    ]  # fmt: skip
    rewards = [
        (f"x{rng.randrange(15)}", rng.choice(values), float(rng.randrange(30)))
        for _ in range(data.draw(st.integers(0, 25)))
    ]
    calls: list[Any] = [*events, *rewards]
    shared, disk = data.draw(st.integers(1, 8)), Disk()
    stores: list[Store] = [Shared(disk) for _ in range(shared)]
    if address is not None:
        place = address()
        stores = [PostgresStore(place) for _ in range(shared)]
    rules = {"window": 8, "default": 0.0, "repeated": repeated, "rewards": accepted}
    digests = {
        run(calls, rules, None, [MemoryStore()]), run(calls, rules, rng, [MemoryStore()]),
        run(calls * 3, rules, rng, stores),
    }  # fmt: skip
    assert len(digests) == 1


def run(
    calls: list[Any], rules: dict[str, Any], shuffle: random.Random | None, stores: list[Store]
) -> str:
    """Return the evidence after all calls, by any process, long after the last window closed."""
    calls, clock = list(calls), Clock(0.0)
    if shuffle is not None:
        shuffle.shuffle(calls)
    with ExitStack() as rest:
        workers = [rest.enter_context(opened(store, clock, **rules)) for store in stores]
        for call in calls:
            e = workers[0] if shuffle is None else shuffle.choice(workers)
            if isinstance(call, Entry):
                e.observe(str(call.user), str(call.arm), event=call.event, at=call.at / 10**6)
            else:
                e.reward(call[0], call[1], at=call[2])
        clock.now = 1e6
        workers[0].decide("somebody")
        (digest,) = {e.digest() for e in workers}
        return digest


@pytest.mark.parametrize("value", [0.0, 1.0, 0.5, -3.25])
def test_what_is_taken_back_was_never_told(value: float) -> None:
    """Cells, fits and all that follows are those of a learner that was not told."""
    told, not_told = opened(repeated="last"), opened(repeated="last")
    for e in (told, not_told):
        for k in range(40):
            e.observe(f"u{k % 5}", ARMS[k % 3], event=f"{k}")
            if e is told and k % 7 == 0:
                e.reward(f"{k}", value, at=1.0)
            e.reward(f"{k}", float(k % 2) if k % 3 else 2.5, at=2.0)
    assert told.digest() == not_told.digest()
    for e in (told, not_told):
        e.forget("nobody")  # fits anew, from cells alone
    assert told.groups() == not_told.groups()
