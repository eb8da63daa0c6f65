"""From a log to a live experiment and back: the same events, the same evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lumpable as lb
from kits.service import bits
from lumpable.base.units import Name, to_micro
from lumpable.service import learned_entries
from lumpable.service.changing import now
from lumpable.service.ledger import Ledger
from lumpable.service.log_files import export_log
from lumpable.service.opening import store_at
from lumpable.stores.in_sqlite import SQLiteStore
from lumpable.stores.log_entries import Entry

COLUMNS: dict[str, Any] = {"id": "id", "time": "time"}


def log(number: int = 60, seed: int = 0) -> pl.DataFrame:
    """Make events of two kinds of users."""
    rng = np.random.default_rng(seed)
    user, item = rng.integers(8, size=number), rng.integers(3, size=number)
    likes = np.array([[0.8, 0.4, 0.1], [0.1, 0.4, 0.8]])[user % 2, item]
    return pl.DataFrame({
        "user": [f"u{k}" for k in user], "item": [("tea", "water", "coffee")[k] for k in item],
        "reward": (rng.random(number) < likes).astype(int), "p": [0.25, 0.5, 1.0] * (number // 3),
        "at": ["2026-11-17T08:00:00Z"] * number,
    })  # fmt: skip


@pytest.fixture(scope="module")
def events() -> lb.Events:
    return lb.read_events(log(), time="at", propensity="p", rewards="binary")


def entries(path: Path) -> list[Entry]:
    with store_at(path, read_only=True) as store:
        assert store.verify() == []
        return [entry for _, entry in store.entries()]


def read_back(path: Path, out: Path, **columns: Any) -> lb.Events:
    with store_at(path, read_only=True) as store:
        export_log(store, out, now())
    return lb.read_events(out, **COLUMNS, **columns)


def test_it_begins_with_all_of_it_and_replays_bit_by_bit(events: lb.Events, tmp_path: Path) -> None:
    path = tmp_path / "clicks.db"
    with lb.open(path, learned=lb.learn(events), fits="inline") as e:
        assert e.settings.rewards == "binary"
        assert e._ledger.learner.counted == len(events) == 60
        assert set(e._ledger.learner.contexts) == set(events.users)
        assert set(e._ledger.learner.arms) == set(events.items)
        e.decide("u1", event="first")
        e.reward("first", 1.0)
        live = bits(e)
    before = entries(path)
    for again in (events, None):
        with lb.open(path, learned=again, fits="inline") as e:
            assert bits(e) == live
    assert entries(path) == before
    assert sum(entry.kind == "decided" for entry in before) == 61


def test_what_was_begun_otherwise_is_refused(events: lb.Events, tmp_path: Path) -> None:
    path, other = tmp_path / "clicks.db", lb.read_events(log(30, seed=1))
    with lb.open(path, learned=events, fits="inline"):
        pass
    before = entries(path)
    with pytest.raises(lb.BadArgument, match=f"expected the evidence {events.digest()}"):
        lb.open(path, learned=other)
    assert entries(path) == before
    with lb.open(tmp_path / "bare.db", ["tea"], fits="inline"):
        pass
    with pytest.raises(lb.BadArgument, match="expected a new experiment"):
        lb.open(tmp_path / "bare.db", learned=events)
    for odd in ("state/", 17, pl.DataFrame()):
        with pytest.raises(lb.BadArgument, match="what `lb"):
            lb.open(tmp_path / "odd.db", learned=odd)
    with pytest.raises(lb.BadArgument, match="reward"):
        lb.open(tmp_path / "odd.db", learned=events, rewards=(5, 6))
    few = {"kind": "pac.near_uniform", "users": 2, "groups": 1, "epsilon": 0.5, "delta": 0.5}
    with pytest.raises(lb.BadArgument, match="at most 2 users"):
        lb.open(tmp_path / "odd.db", learned=events, learner=few)


def test_a_learner_in_memory_is_as_good_as_its_file(events: lb.Events, tmp_path: Path) -> None:
    lumps = lb.learn(events).lumps
    with lb.open(tmp_path / "clicks.db", learned=lumps, fits="inline") as e:
        assert e._ledger.learner.counted == len(events)
        assert e.settings.learned_digest == events.digest()
        assert e.settings.rewards == "binary"
    with pytest.raises(lb.BadArgument, match="has no events"):
        lb.open(tmp_path / "odd.db", learned=lb.Lumps(["tea"]))
    assert not (tmp_path / "odd.db").exists()


def test_cut_off_anywhere_it_goes_on(
    events: lb.Events, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned_entries, "AT_A_TIME", 25)
    whole = tmp_path / "whole.db"
    with lb.open(whole, learned=events, fits="inline"):
        pass
    wanted, real = entries(whole), SQLiteStore.append
    assert len(wanted) == 123
    for last in range(5):
        path, left = tmp_path / f"{last}.db", iter(range(last))

        def append(self: SQLiteStore, some: Sequence[Entry], left: Any = left) -> int:
            if next(left, None) is None:
                raise KeyboardInterrupt
            return real(self, some)

        with monkeypatch.context() as patch:
            patch.setattr(SQLiteStore, "append", append)
            with pytest.raises(KeyboardInterrupt):
                lb.open(path, learned=events)
        with pytest.raises(lb.BadArgument, match="not entered completely"):
            lb.open(path)
        with lb.open(path, learned=events, fits="inline"):
            pass
        assert entries(path) == wanted


def test_who_is_forgotten_is_gone_and_does_not_come_back(tmp_path: Path) -> None:
    secret = "zanzibar-ann"
    frame = log().with_columns(user=pl.col("user").replace("u3", secret))
    path, events = tmp_path / "clicks.db", lb.read_events(frame)
    with lb.open(path, learned=events, fits="inline") as e:
        e.forget(secret)
        left = e._ledger.learner.counted
    assert left == sum(frame["user"] != secret) < 60
    with lb.open(path, learned=events, fits="inline") as e:
        assert e._ledger.learner.counted == left
    assert not [p for p in tmp_path.iterdir() if secret.encode() in p.read_bytes()]
    others = lb.read_events(frame.filter(pl.col("user") != secret))
    assert read_back(path, tmp_path / "log.parquet").digest() == others.digest()


def test_there_and_back_is_the_same_evidence(events: lb.Events, tmp_path: Path) -> None:
    path = tmp_path / "clicks.db"
    with lb.open(path, learned=events, fits="inline"):
        pass
    back = read_back(path, tmp_path / "log.parquet", propensity="propensity", rewards="binary")
    assert back.digest() == events.digest()
    assert back.span == (events.span[1], events.span[1]) if events.span else False
    assert back.propensity is not None
    assert events.propensity is not None
    assert back.propensity.tolist() == events.propensity.tolist()
    assert back.times.tolist() == events.times.tolist()
    again = tmp_path / "again.db"
    with lb.open(again, learned=back, fits="inline"):
        pass
    assert read_back(again, tmp_path / "2.parquet").digest() == events.digest()


@pytest.mark.parametrize("repeated", ["first", "last", "sum"])
def test_a_log_says_what_the_learner_was_told(
    repeated: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rewards, defaults and repeats, held back or not; what waits or came too late is not there."""
    told, learn = Counter[tuple[Name, Name, int]](), Ledger._learn

    def note(self: Ledger, user: Name, arm: Name, before: int | None, after: int | None) -> None:
        told[user, arm, before or 0] -= before is not None
        told[user, arm, after or 0] += after is not None
        learn(self, user, arm, before, after)

    monkeypatch.setattr(Ledger, "_learn", note)
    path, rng = tmp_path / "clicks.db", np.random.default_rng(4)
    options: dict[str, Any] = {"window": 50.0, "default": 0.25, "repeated": repeated}
    with lb.open(
        path, ["red", "green", 17], hold_back=0.3, floor=0.1, fits="inline", **options
    ) as e:
        start = now() / 1e6
        for k in range(80):
            user: Name = k % 3 if k % 2 else f"u{k % 5}"
            made = e.decide(user, event=f"e{k}", activate=bool(k % 4))
            for _ in range(int(rng.integers(3))):
                e.reward(made.event, float(rng.integers(3)) / 2, at=start + float(rng.integers(80)))
        e.reward("nobody decided", 1.0)
        monkeypatch.setattr(e, "_clock", lambda: now() + 100_000_000)
        e.decide("late", event="last")  # windows close
    events = read_back(path, tmp_path / "log", propensity="propensity")
    rows = zip(*(column.tolist() for column in events.evidence()), strict=True)
    found = {(events.users[u], events.items[i], m): n for u, i, m, n in rows}
    assert found == +told
    assert to_micro(0.25) in events.reward
    assert len(events) < 80
    assert {type(user) for user in events.users} == {int, str}


def test_an_export_that_cannot_be_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "clicks.db"
    with lb.open(path, ["red", 17], fits="inline") as e:
        with (
            store_at(path, read_only=True) as store,
            pytest.raises(lb.BadArgument, match=r"^experiment: expected one with rewards"),
        ):
            export_log(store, tmp_path / "log.parquet", now())
        for arm in ("red", 17):
            e.reward(e.observe("ann", arm).event, 1.0)
    with store_at(path, read_only=True) as store:
        with pytest.raises(lb.BadArgument, match=r"^path: expected a folder"):
            export_log(store, tmp_path / "log.parquet", now())
        with pytest.raises(lb.BadArgument, match=r"^path: .* a new folder"):
            export_log(store, tmp_path, now())
        assert export_log(store, tmp_path / "log", now()) == 2
    assert lb.read_events(tmp_path / "log").items == (17, "red")
    assert not (tmp_path / "log.parquet").exists()
