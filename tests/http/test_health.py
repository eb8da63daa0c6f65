"""What looks wrong is said, with what to do; what looks right is not.

Health goes by the log. So what is tried here is a log, and the time since.
"""

from __future__ import annotations

import dataclasses
import os
import random
import sqlite3
import time
from pathlib import Path
from typing import Any, get_args

import pytest

import lumpable as lb
from kits import postgres
from kits.served import Breakable, served
from kits.service import Clock, opened, settings
from lumpable.http.health import ENOUGH, LONGER, NEVER, OFTEN, QUIET, SURPRISE, Seen, Watch
from lumpable.http.life import may_write
from lumpable.http.refusals import CAUSES
from lumpable.http.tokens import Tokens
from lumpable.service import fits_beside
from lumpable.service.activity import activity
from lumpable.service.fits_beside import BackgroundFitter
from lumpable.service.history import FADES, History
from lumpable.service.lately import lately
from lumpable.service.live_experiment import LiveExperiment
from lumpable.stores.in_sqlite import SQLiteStore
from lumpable.stores.law import StoreError, Trouble
from lumpable.stores.log_entries import Entry


def words(e: LiveExperiment) -> list[str]:
    """Return what looks wrong with an experiment."""
    return judged(Seen.of(e))


def judged(seen: Seen) -> list[str]:
    watch = Watch()
    watch.seen = seen
    found = watch.concerns()
    assert all(concern.do for concern in found)
    return [concern.what for concern in found]


class Visits:
    """A history without a learner: visits, clicks, and time."""

    def __init__(self) -> None:
        self.history, self.now, self._given = History(), 50_520.0, settings()
        self._arms = ("red", "green")
        self._going = activity(History(), settings(), 0, 0)

    def visit(self, clicks: int, seconds: float = 1.0) -> None:
        self.now += seconds
        at = round(self.now * 1_000_000)
        entry = Entry(kind="decided", at=at, event="e", user="u", arm="red", detail="learner")
        self.history.on_entry(entry)
        self.history.on_decision(entry, "u", self._arms[self.history.arms.total() % 2])
        for _ in range(clicks):
            entry = Entry(kind="rewarded", at=at, event="e", value=1)
            self.history.on_entry(entry)
            self.history.on_reward(entry)

    def words(self) -> list[str]:
        going = dataclasses.replace(self._going, now=self.now, lately=lately(self.history))
        return judged(Seen(self._given, self._arms, 1, going))


def test_rewards_that_have_stopped() -> None:
    shop = Visits()
    for _ in range(100):
        shop.visit(1)
    last = shop.now
    shop.visit(0, QUIET - 1)
    for _ in range(50):
        shop.visit(0, 0.0)
    assert shop.words() == []
    shop.now = last + 720.0
    expected = "rewards have stopped coming since 14:03 UTC: none for {}, while 51 decisions came"
    assert shop.words() == [expected.format("12 minutes")]
    shop.now = last + 86_400.0
    since = "14:03", "1970-01-01 14:03"
    assert shop.words() == [expected.format("1,440 minutes").replace(*since)]
    shop.visit(1)
    assert shop.words() == []
    shop.now += 7200.0
    assert shop.words() == []  # nobody came, so there was nothing to reward


def test_no_reward_so_far_is_another_matter() -> None:
    shop = Visits()
    for _ in range(NEVER - 1):
        shop.visit(0)
    assert shop.words() == []
    shop.visit(0)
    assert shop.words() == ["no reward has come yet, for 1,000 decisions"]
    shop.visit(1)
    assert shop.words() == []


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.9])
def test_seldom_rewards_are_no_alarm(rate: float) -> None:
    """Five visits a minute of which few bring a click: 50 without one are usual.

    A spell is twice as long as each of a thousand before it once in (1,000 spells)^2 / 2, about.
    """
    luck, shop, alarms = random.Random(7), Visits(), 0
    for _ in range(20_000):
        shop.visit(luck.random() < rate, 12.0)
        alarms += bool(shop.words()) if shop.history.silence.decisions * 12.0 > QUIET else 0
    assert alarms == 0
    for _ in range(round(40 / rate) + 60):  # now they stop: e^-40 by their rate
        shop.visit(0, 12.0)
    assert len(shop.words()) == 1


def test_rewards_that_come_in_heaps_are_no_alarm() -> None:
    """Somebody reports once an hour; at first nobody can know that."""
    shop = Visits()
    for hour in range(20):
        for _ in range(300):
            shop.visit(0, 12.0)
            assert hour < 3 or shop.words() == []
        for _ in range(60):
            shop.visit(1, 0.0)
    quiet = shop.history.silence
    assert quiet.longest == pytest.approx(300.0, rel=0.01)
    assert FADES**10_000 < 0.5  # an outage of long ago hides none of today


def test_few_spells_make_few_surprises() -> None:
    shop = Visits()
    shop.visit(1)
    for _ in range(int(1 / SURPRISE) - 2):
        shop.visit(0)
    assert shop.words() == []
    for _ in range(int(LONGER) + 1):
        shop.visit(0)
    assert len(shop.words()) == 1


def decided(e: LiveExperiment, number: int, *arms: str, begin: str = "e") -> list[str]:
    ids = [f"{begin}{k}" for k in range(number)]
    e.decide_many([f"u{k % 20}" for k in range(number)], arms or None, events=ids)
    return ids


def test_one_arm_for_almost_all() -> None:
    with opened(arms=("red", "green")) as e:
        decided(e, ENOUGH - 1, "red")
        assert words(e) == []
        decided(e, 900, "red", begin="r")
        decided(e, 30, "green", begin="g")
        assert words(e) == ["one arm gets 97% of decisions (of the last 1,000)"]
        decided(e, 30, "green", begin="h")
        assert words(e) == []
        decided(e, 1_000, "red", begin="s")
        assert len(words(e)) == 1
        e.pause_arm("green")
        assert words(e) == []
    with opened(arms=("red", "green"), mode="shadow", control="red") as e:
        decided(e, 300)
        assert words(e) == []
    with opened(mode="observe") as e:
        for k in range(300):
            e.observe(f"u{k}", "red")
        assert words(e) == []


def test_what_is_asked_again_is_no_decision() -> None:
    with served(lambda: opened(arms=("red", "green"))) as shop:
        arm = shop.post("/decide", {"user": "ann", "event": "same"}).json["arm"]
        for _ in range(ENOUGH + 1):
            shop.post("/decide", {"user": "ann", "event": "same"})
        assert shop.get("/health").json["fine"]
        line = f'lumpable_arm_decisions_total{{arm="{arm}",type="string"}} 1\n'
        assert line in shop.get("/metrics").body.decode()
        assert shop.get("/activity").json["arms"] == [{"arm": arm, "decisions": 1}]


def test_rewards_of_nobody_and_late_ones() -> None:
    clock = Clock()
    with opened(clock=clock, window=60) as e:
        ids = decided(e, 250)
        clock.now += 50
        e.reward_many([(id, 1.0) for id in ids[:150]])
        clock.now += 50
        e.reward_many([(id, 1.0) for id in ids[150:200]])
        e.reward_many([(f"nobody {k}", 1.0) for k in range(50)])
        assert words(e) == [
            "20% of rewards are for events that nobody decided",
            "20% of rewards come after the window of 60 seconds, and do not count",
        ]
        e.reward_many([(id, 1.0) for id in decided(e, 250, begin="f")])
        assert words(e) == []


@pytest.mark.parametrize("skew", [-3_600.0, 3_600.0])
def test_a_clock_that_is_wrong_is_named(skew: float) -> None:
    """Whoever sends `at` by a clock of their own: behind ours, or ahead of it."""
    clock = Clock(100_000.0)
    with opened(clock=clock, window=600, default=0.0) as e:
        stood = {e.reward(id, 1.0, at=clock.now + skew) for id in decided(e, ENOUGH)}
        assert stood == {"predated" if skew < 0 else "late"}
        what = (
            "are dated more than 600 seconds before their decision"
            if skew < 0
            else "come after the window of 600 seconds"
        )
        assert words(e) == [f"100% of rewards {what}, and do not count"]
        watch = Watch()
        watch.seen = Seen.of(e)
        assert "clock" in watch.concerns()[0].do
        assert ("sooner" in watch.concerns()[0].do) == (skew > 0)


def test_a_control_arm_that_cannot_be_shown() -> None:
    gone = "the control arm 'red' is paused, removed or unknown, so"
    for given, so in (
        ({"hold_back": 0.1}, "what is held back shows any arm"),
        ({"mode": "shadow"}, "no decision is made"),
    ):
        with opened(arms=("red", "blue"), control="red", **given) as e:
            assert words(e) == []
            e.pause_arm("red")
            assert words(e) == [f"{gone} {so}"]
    with opened(arms=("blue",), control="red") as e:
        assert words(e) == []


def test_a_control_arm_that_comes_with_a_request() -> None:
    """As Personalizer's callers name arms: nobody adds them."""
    given: dict[str, Any] = {
        "arms": ("red",),
        "new_arms": True,
        "hold_back": 0.1,
        "control": "green",
    }
    with served(lambda: opened(**given)) as shop:
        assert shop.get("/health").json["fine"]
        shop.post("/decide", {"user": "ann", "allowed": ["red", "green"]})
        assert shop.get("/health").json["fine"]
        shop.post("/arms/pause", {"arm": "green"})
        assert not shop.get("/health").json["fine"]


def test_arms_and_floors() -> None:
    with opened(arms=()) as e:
        assert words(e) == ["there is no arm to choose"]
    with opened(arms=(), new_arms=True) as e:
        assert words(e) == []
    with opened(arms=("a", "b", "c"), floor=0.6) as e:
        too_much = "a floor of 0.6 is too much for 3 arms: decisions among all of them are refused"
        assert words(e) == [too_much]
        e.pause_arm("a")
        assert len(words(e)) == 1
        e.pause_arm("b")
        assert words(e) == []
        e.decide("ann")


def test_processes_that_share_a_log_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """One decides, another one takes rewards; one pauses arms, and all know."""
    monkeypatch.setattr("lumpable.http.health.QUIET", 0.0)
    address = postgres.server().address()
    with (
        served(lambda: lb.open(address, ["a", "b"], fits="inline")) as one,
        served(lambda: lb.open(address, fits="inline")) as two,
    ):
        for turn in range(2):
            users = [f"u{k}" for k in range(100)]
            made = one.post("/decide/many", {"users": users}).json["decisions"]
            rewards = [{"event": row["event"], "value": 1} for row in made]
            for k in range(0, 100, 10):
                two.post("/reward/many", {"rewards": rewards[k : k + 10]})
            assert [one.get("/health").json["fine"] for _ in "ab"] == [True, True], turn
        for arm in "ab":
            one.post("/arms/pause", {"arm": arm})
        for each in (one, two):
            said = [row["what"] for row in each.get("/health").json["concerns"]]
            assert said == ["there is no arm to choose"]


# --- The store ----------------------------------------------------------------------------------


class Named(Breakable):
    """A store that names its file when it fails."""

    def append(self, entries: Any) -> int:
        try:
            return super().append(entries)
        except StoreError:
            place = "/srv/ann/clicks.db"
            raise StoreError("database or disk is full", "full", place=place) from None


def test_no_caller_without_a_role_is_told_where_the_file_is() -> None:
    store, tokens = Named(), "decide a-token-of-some-length\nread a-token-of-some-more"
    with served(lambda: opened(store), Tokens.parse(tokens, "here")) as shop:
        store.full = True
        caller = {"Authorization": "Bearer a-token-of-some-length"}
        refused = shop.post("/decide", {"user": "ann"}, **caller)
        health = shop.get("/health")
        assert (refused.status, refused.error["got"]) == (503, "disk full")
        said = health.json["concerns"][0]["what"]
        assert said == "the last call could not be written: disk full"
        assert b"/srv" not in refused.body + health.body
        full = shop.get("/status", Authorization="Bearer a-token-of-some-more").json["trouble"]
        assert full == "/srv/ann/clicks.db: database or disk is full"
        (line,) = [line for line in shop.log if line["what"] == "store"]
        assert (line["cause"], line["said"]) == ("disk full", full)
        store.full = False
        assert shop.post("/decide", {"user": "ann"}, **caller).status == 200
        assert shop.get("/health").json["fine"]
        assert not shop.get("/status", Authorization="Bearer a-token-of-some-more").json["trouble"]


class Faulty(Breakable):
    """A store that fails in a way that nobody foresaw, or finds that it is damaged."""

    def append(self, entries: Any) -> int:
        if self.full:
            raise self.error
        return super().append(entries)

    error: Exception = RuntimeError("ann is a secret")


def test_the_log_says_why_and_names_nobody() -> None:
    store = Faulty()
    with served(lambda: opened(store)) as shop:
        store.full = True
        refused = shop.post("/decide", {"user": "ann"})
        assert (refused.status, refused.error["got"]) == (503, CAUSES["other"])
        store.error = StoreError("entry 7 of 'ann' is damaged", "damaged", place="clicks.db")
        assert shop.post("/decide", {"user": "ann"}).error["got"] == CAUSES["damaged"]
        store.full = False
    unforeseen, damaged = (line for line in shop.log if line["what"] == "store")
    assert unforeseen["error"] == "RuntimeError"
    assert any("append" in where for where in unforeseen["where"])
    assert damaged["cause"] == CAUSES["damaged"]
    assert "ann" not in "\n".join(shop.lines)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("read-only", "read-only"), ("disk", "the disk reports an error"),
        ("files", "too many open files"), ("gone", "the file was removed or replaced"),
        ("closed", "the service is stopping"), ("away", "the database server is away"),
        ("damaged", "damaged (see lumpable verify)"),
        ("other", "not written; the log on stderr says why"),
    ],
)  # fmt: skip
def test_words_for_what_went_wrong(kind: Trouble, told: str) -> None:
    watch = Watch()
    watch.on_failure(StoreError("entry 7 of 'ann'", kind, place="/srv/ann/clicks.db"))
    (found,) = watch.concerns()
    assert found.what == f"the last call could not be written: {told}"
    assert "disk: is it full" in found.do
    watch.on_durable()
    assert watch.concerns() == []


def test_nobody_is_forgotten_while_somebody_reads_the_file(tmp_path: Path) -> None:
    """It is refused at once, with the reason, and others go on."""
    file = tmp_path / "clicks.db"
    with served(lambda: opened(SQLiteStore(file))) as shop:
        shop.post("/decide", {"user": "ann"})
        reader = sqlite3.connect(file, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM log").fetchone()
        refused = shop.post("/forget", {"user": "ann"})
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert refused.json["error"]["got"] == "somebody reads the file"
        (concern,) = shop.get("/health").json["concerns"]
        assert "back-up" in concern["do"]
        assert shop.post("/decide", {"user": "bob"}).status == 200
        reader.close()
        assert shop.post("/forget", {"user": "ann"}).status == 200
        assert shop.get("/health").json["fine"]


def test_whatever_goes_wrong_has_words_of_its_own() -> None:
    assert set(CAUSES) == set(get_args(Trouble))
    assert len(set(CAUSES.values())) == len(CAUSES)


def test_a_store_that_others_share_is_a_server() -> None:
    watch = Watch()
    with opened() as e:
        seen = Seen.of(e)
    watch.seen = Seen(seen.settings, seen.arms, 0, seen.activity, shared=True)
    watch.on_failure(StoreError("away"))
    assert "database server: does it run" in watch.concerns()[0].do


def test_a_file_that_may_only_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not ready, and says so before the first write fails."""
    file = tmp_path / "clicks.db"
    shut = set[Path]()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) not in shut)
    with served(lambda: lb.open(file, ["red"], fits="inline"),
                may_write=lambda: may_write(file)) as shop:  # fmt: skip
        assert shop.get("/ready").json == {"ready": True, "stage": "ready"}
        for each in (file, tmp_path, file.with_name("clicks.db-wal")):
            shut.add(each)
            answer = shop.get("/ready")
            assert (answer.status, answer.json) == (503, {"ready": False, "stage": "read-only"})
            said = shop.get("/health").json["concerns"][0]["what"]
            assert said == "nothing can be written: the file, or its folder, is read-only"
            shut.clear()
        assert shop.get("/health").json["fine"]


def test_health_waits_for_nobody() -> None:
    """Whoever looks whether it lives gets an answer while a call holds the experiment."""
    with served(opened) as shop:
        experiment = shop.server.life.experiment
        with experiment._lock:
            first, *_, last = [shop.get("/health") for _ in range(4)]
        assert (first.status, last.status) == (200, 200)
        assert not last.json["fine"]
        (concern,) = last.json["concerns"]
        assert concern["what"].startswith("callers wait: one call has held up all others for")


def test_fits_that_keep_failing() -> None:
    seen = Watch()
    assert seen.concerns(OFTEN - 1) == []
    (found,) = seen.concerns(OFTEN)
    assert found.what == f"fits fail: {OFTEN} times in a row, one could not be made or adopted"
    assert "stderr" in found.do


def test_a_child_that_dies_is_a_concern(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted where fits are made, and said where somebody asks."""
    monkeypatch.setattr(fits_beside, "__name__", "os import nothing #")
    fitter = BackgroundFitter()
    with served(lambda: opened(fitter=fitter)) as shop:
        assert shop.get("/health").json["fine"]
        rows = [(f"u{k % 4}", f"e{k}") for k in range(40)]
        shop.post("/decide/many", {"users": [u for u, _ in rows], "events": [e for _, e in rows]})
        rewards = [{"event": event, "value": k % 2} for k, (_, event) in enumerate(rows)]
        shop.post("/reward/many", {"rewards": rewards})
        end = time.monotonic() + 60
        while fitter.failed < OFTEN:
            assert time.monotonic() < end
            time.sleep(0.01)
        (concern,) = shop.get("/health").json["concerns"]
        assert concern["what"].startswith("fits fail")
