"""What is remembered of the past follows from the log, is bounded, and names nobody for long."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kits.service import Clock, Later, opened
from lumpable.base.units import MICRO
from lumpable.lumps.use.believer import Believer
from lumpable.service import history as histories
from lumpable.service.averages import Average, Sums, average, difference
from lumpable.service.history import DAY, History
from lumpable.service.live_experiment import LiveExperiment
from lumpable.service.snapshots import InFile
from lumpable.stores.in_memory import MemoryStore
from lumpable.stores.log_entries import Entry

ARMS = ("red", "green", "blue")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("decide"), st.integers(0, 5)),
        st.tuples(st.just("later"), st.integers(0, 5)),
        st.tuples(st.just("activate"), st.integers(0, 20)),
        st.tuples(st.just("observe"), st.integers(0, 5), st.floats(0, 2e6)),
        st.tuples(st.just("reward"), st.integers(0, 20), st.sampled_from([0.0, 1.0, 0.5, 2e9])),
        st.tuples(st.just("at"), st.integers(0, 20), st.floats(0, 2e12)),
        st.tuples(st.just("pass"), st.sampled_from([1, 30, 70, 90_000])),
        st.tuples(st.just("fit")),
    ),
    max_size=50,
)


def live(steps: list[Any], **given: Any) -> tuple[LiveExperiment, MemoryStore, Clock]:
    store, clock, later = MemoryStore(), Clock(), Later()
    e = opened(store, clock, later, **given)
    for k in range(12):  # enough for a first fit
        e.reward(e.observe(f"u{k % 6}", ARMS[k % 3], event=f"first {k}").event, float(k % 2))
    for what, *about in steps:
        if what in ("decide", "later"):
            e.decide(f"u{about[0]}", activate=what == "decide")
        elif what == "activate":
            if e._ledger.event(f"e{about[0]}").decision is not None:
                e.activate(f"e{about[0]}")
        elif what == "observe":
            e.observe(f"u{about[0]}", "red", at=about[1])
        elif what == "reward":
            e.reward(f"e{about[0]}", about[1])
        elif what == "at":
            e.reward(f"e{about[0]}", 1.0, at=about[1])
        elif what == "pass":
            clock.now += about[0]
        else:
            later.finish()
    e._writer.hand_in([]).result()
    return e, store, clock


def remembered(e: LiveExperiment) -> bytes:
    return msgspec.json.encode(e._ledger.history.to_keep())


KINDS: dict[str, Any] = {
    "repeated": st.sampled_from(["first", "last", "sum"]),
    "default": st.sampled_from([None, 0.0]),
    "hold_back": st.sampled_from([0.0, 0.4]),
}


@settings(max_examples=20)
@given(steps=STEPS, kinds=st.fixed_dictionaries(KINDS))
def test_a_log_has_one_history(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any], kinds: dict[str, Any]
) -> None:
    """Live, replayed from the start, and from a snapshot half-way: the same to the last byte."""
    compare_histories(tmp_path_factory.mktemp("history") / "here", steps, kinds)


@pytest.mark.nightly
@settings(max_examples=600)
@given(steps=STEPS, kinds=st.fixed_dictionaries(KINDS))
def test_many_logs_have_one_history(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any], kinds: dict[str, Any]
) -> None:
    compare_histories(tmp_path_factory.mktemp("history") / "here", steps, kinds)


def compare_histories(path: Path, steps: list[Any], kinds: dict[str, Any]) -> None:
    e, store, clock = live(steps, window=100, **kinds)
    e._snapshots._place = InFile(path)
    if e._snapshots.due(e._ledger, 1):
        e._snapshots.write(e._ledger, e._writer.hand_in([]))
        e._snapshots.finish()
    for k in range(5):
        e.reward(e.decide(f"u{k}", event=f"after {k}").event, 1.0)
        e.reward(f"first {k}", 2.5, at=999.0)  # an event that is only in the log
        clock.now += 40
    e._writer.hand_in([]).result()
    known: dict[str, Any] = {"window": 100, "arms": (), **kinds}
    again = opened(store, clock, Later(), **known)
    quick = opened(store, clock, Later(), snapshot=path, **known)
    assert remembered(again) == remembered(e) == remembered(quick)
    sums = e._ledger.history.outcomes.values()
    assert sum(one.number for one in sums) == e.status().counted
    assert sum(one.total for one in sums) == sum(v * times for _, _, v, times in e.evidence())
    assert all(n >= 0 for n in e._ledger.history.unusual.values())
    parked = [event for event in e._ledger.events.values() if event.decision is None]
    assert sum(e._ledger.history.parked.values()) == sum(len(event.rewards) for event in parked)
    assert all(n > 0 for n in e._ledger.history.parked.values())
    assert all(
        m.own.number >= 0 and m.held.number >= 0 for m in again._ledger.history.minutes.values()
    )


def test_sums_are_those_of_the_log() -> None:
    """Against a plain count over the entries: each outcome once, by who decided."""
    clock = Clock(0.0)
    e = opened(clock=clock, window=100, default=0.0, hold_back=0.3)
    rng, by, told = np.random.default_rng(1), {}, {}
    for k in range(300):
        event = e.decide(f"u{k % 7}", event=f"x{k}").event
        by[event] = e._ledger.event(event).decision.detail  # type: ignore[union-attr]
        if rng.random() < 0.8:
            told[event] = float(rng.choice([0.25, 1.0, 3.0]))
            e.reward(event, told[event])
            e.reward(event, told[event])  # sent again
        clock.now += 7
    clock.now += 1_000
    e.decide("last")
    found = e._ledger.history.outcomes
    for who in ("learner", "held back"):
        values = [told.get(event, 0.0) for event in by if by[event] == who]
        assert found[who].number == len(values)
        assert found[who].total == round(sum(values) * MICRO)
        assert found[who].squares == round(sum(v * v for v in values) * MICRO**2)
    going = e.activity()
    assert going.unusual == {
        "late": 0, "predated": 0, "early": 0, "orphan": 0, "repeated": 0, "missed": 0,
        "defaulted": 300 - len(told), "sent_again": len(told),
    }  # fmt: skip
    assert sum(span.decisions for span in going.spans) == 301
    assert sum(span.rewards for span in going.spans) == len(told)
    assert sum(part.learner.outcomes for part in going.compared) == found["learner"].number
    assert sum(part.held_back.outcomes for part in going.compared) == found["held back"].number
    assert going.now == clock.now
    assert going.spans[-1].at <= clock.now < going.spans[-1].at + 60 * going.span_minutes


def test_what_is_unusual_is_counted() -> None:
    clock = Clock(1_000.0)
    e = opened(clock=clock, window=100, repeated="sum")
    e.reward("early", 1.0)
    e.reward("never", 1.0)
    counts = e.activity().unusual
    assert (counts["early"], counts["orphan"]) == (2, 0)
    for event in ("early", "late", "twice", "missed"):
        e.decide("ann", event=event)
    e.reward("twice", 1.0, key="a")
    e.reward("twice", 1.0, key="b")
    clock.now += 101
    e.reward("late", 1.0)
    counts = e.activity().unusual
    assert counts == {"late": 1, "predated": 0, "early": 1, "orphan": 0, "repeated": 1, "missed": 2,
                      "defaulted": 0, "sent_again": 0}  # fmt: skip
    e.reward("late", 1.0, at=899.0)  # decided at 1,000
    e.reward("missed", 1.0, at=850.0)
    e.reward("missed", 0.0, at=1_101.0)
    counts = e.activity().unusual
    assert (counts["late"], counts["predated"], counts["missed"]) == (2, 2, 2)
    clock.now += 60  # the minute is over, too
    counts = e.activity().unusual
    assert (counts["early"], counts["orphan"]) == (0, 1)
    e.reward("missed", 1.0, at=1_050.0)  # it was in time, and is told late
    assert e.activity().unusual["missed"] == 1


@settings(max_examples=30)
@given(times=st.lists(st.integers(0, 20), max_size=40), window=st.sampled_from([None, 60, 300]))
def test_early_rewards_and_orphans_are_told_apart_by_the_minute(
    times: list[int], window: int | None
) -> None:
    """As the standings of their events say, and also after some were decided."""
    clock, minute = Clock(0.0), 60.0
    with opened(clock=clock, window=window) as e:
        for k, at in enumerate(times):
            e.reward(f"x{k}", 1.0, at=at * minute)
            e.reward(f"x{k}", 0.0, at=(at + 3) * minute)
            clock.now = max(clock.now, at * minute)
        for k in range(0, len(times), 3):
            e.observe("ann", "red", event=f"x{k}", at=0.0)
        clock.now += minute
        stood = Counter(e._standings(f"x{k}" for k in range(len(times)) if k % 3))
        counts = e.activity().unusual
        assert (counts["early"], counts["orphan"]) == (2 * stood["early"], 2 * stood["orphan"])


def test_parked_rewards_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "MINUTES", 5)
    made = History()
    for k in range(100):
        made.park(k * 60_000_000, 1)
    assert len(made.parked) == 5
    assert sum(made.parked.values()) == 100
    for k in range(100):
        made.park(k * 60_000_000, -1)
    assert made.parked == {}


def test_a_snapshot_that_counted_less_is_of_no_use(tmp_path: Path) -> None:
    """One that an earlier version wrote: what it did not count is counted from the log."""
    path, store = tmp_path / "here", MemoryStore()
    with opened(store, snapshot=path) as e:
        e.reward("never", 1.0)
    learner, said = Believer.from_bytes(path.read_bytes())
    older = msgspec.json.decode(said)
    for name in ("shadow", "parked"):
        del older["kept"]["history"][name]
    path.write_bytes(learner.to_bytes(msgspec.json.encode(older)))  # and without a digest
    with opened(store, snapshot=path) as e:
        assert e.activity().unusual["early"] == 1


@pytest.mark.parametrize(("dated", "sides"), [(899.0, True), (899.0, False), (1_101.0, False)])
def test_a_snapshot_that_did_not_tell_late_from_predated(
    tmp_path: Path, dated: float, sides: bool
) -> None:
    """Of an earlier version, too: whichever of both they were is looked up in the log."""
    path, store = tmp_path / "here", MemoryStore()
    with opened(store, snapshot=path, window=100) as e:
        e.reward(e.decide("ann").event, 1.0, at=dated)
        found = e.activity()
    learner, said = Believer.from_bytes(path.read_bytes())
    older = msgspec.json.decode(said)
    if not sides:
        older["kept"]["history"].pop("sides")
        older["kept"]["history"] |= {"unusual": {"late": 1}, "told": [histories.LATE]}
    path.write_bytes(learner.to_bytes(msgspec.json.encode(older)))
    with opened(store, snapshot=path, window=100, arms=()) as e:
        assert e.activity().unusual == found.unusual
        assert e.activity().lately == found.lately
        e.reward("e0", 1.0, at=1_000.0)
        assert e.activity().unusual == found.unusual


def test_it_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "MINUTES", 5)
    past = History()
    for k in (*range(20), 3, 7):
        own = Entry(kind="decided", at=k * 60_000_000, event=f"{k}", detail="learner")
        past.on_entry(own)
        past.on_decision(own, f"u{k}", "red")
    assert sorted(past.minutes) == [15, 16, 17, 18, 19]
    again = History.of(past.to_keep())
    again.on_decision(Entry(kind="decided", at=20 * 60_000_000, event="x"), "ann", "red")
    assert sorted(again.minutes) == [16, 17, 18, 19, 20]
    assert past.lately.maxlen == histories.LATELY
    assert past.versions.maxlen == histories.VERSIONS
    past.on_reward(Entry(kind="rewarded", at=2_000 * DAY, event="x", value=1))
    assert past.minutes[19].rewards == 1  # a time in milliseconds does not drive out the others


def test_who_is_forgotten_is_in_no_history() -> None:
    store, clock, later = MemoryStore(), Clock(), Later()
    e = opened(store, clock, later, window=1e6, default=0.0)
    for k in range(40):
        user = ("zanzibar-ann", "bob", "cem")[k % 3]
        e.reward(e.decide(user).event, float(k % 2))
    later.finish()
    assert e._ledger.history.versions
    assert "zanzibar-ann" in {row.context for row in e.beliefs().glance.doubtful} | {
        user for user, _ in e._ledger.history.lately
    }
    e.forget("zanzibar-ann")
    assert b"zanzibar" not in remembered(e)
    assert b"zanzibar" not in msgspec.json.encode(e.beliefs(), enc_hook=str)
    e._writer.hand_in([]).result()
    again = opened(store, clock, Later(), arms=(), window=1e6, default=0.0)._ledger.history
    assert again.lately == e._ledger.history.lately
    assert again.versions == e._ledger.history.versions


def test_versions_say_what_was_found() -> None:
    e = opened()
    rng = np.random.default_rng(3)
    for k in range(1_200):
        likes = ARMS[k % 2]
        made = e.decide(f"{likes} {k % 60}")
        e.reward(made.event, float(rng.random() < (0.9 if made.arm == likes else 0.1)))
    going, groups = e.activity(), e.groups()
    assert len(going.versions) == e.status().version
    last = going.versions[-1]
    assert last.version == e.status().version
    assert sum(last.sizes) == 60
    assert Counter(last.best_arms) == Counter(row.best_arm for row in groups)


# --- Intervals ------------------------------------------------------------------------------------


def sums_of(values: Any) -> Sums:
    sums = Sums()
    for value in values:
        sums.add(round(float(value) * MICRO))
    return sums


def test_averages_are_numpy_s() -> None:
    values = np.random.default_rng(5).normal(1e6, 1.0, 200).round(6)
    found = average(sums_of(values), MICRO)
    wide = 1.6448536269514722 * values.std(ddof=1) / math.sqrt(200)
    assert found.mean == pytest.approx(values.mean(), rel=1e-15)
    assert found.low == pytest.approx(values.mean() - wide, abs=1e-8)
    assert average(Sums(), MICRO) == Average(0, None)
    assert average(sums_of([1, 0, 1]), MICRO) == Average(3, 2 / 3)


def test_what_is_taken_away_leaves_no_trace() -> None:
    sums = sums_of([0.5, 2.0])
    sums.add(10**20)
    sums.add(10**20, -1)
    assert sums == sums_of([2.0, 0.5])
    assert sums != sums_of([2.0])


@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_the_interval_of_a_difference_holds_the_truth(rate: float) -> None:
    """Of 2,000 pairs at 90 %: fails at 7 standard errors below, or if it is hardly ever said."""
    rng, held, said = np.random.default_rng(11), 0, 0
    for _ in range(2_000):
        one, other = rng.binomial(900, rate + 0.1), rng.binomial(100, rate)
        found = difference(Sums(900, int(one), int(one)), Sums(100, int(other), int(other)), 1, 1.0)
        if found is not None:
            said += 1
            held += found.low <= 0.1 <= found.high
    assert said > 400
    assert held / said > 0.9 - 7 * math.sqrt(0.9 * 0.1 / said)


def test_too_little_is_said_to_be_too_little() -> None:
    many = sums_of([0, 1] * 500)
    assert difference(many, sums_of([0, 1] * 10), MICRO) is None
    assert difference(many, sums_of([1] * 100), MICRO) is None
    assert difference(many, sums_of([0] * 500 + [1] * 3), MICRO, 1.0) is None
    assert difference(many, sums_of([0] * 500 + [1] * 30), MICRO, 1.0) is not None
