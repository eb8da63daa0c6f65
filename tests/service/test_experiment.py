"""Decisions, rewards, windows, arms and users of an experiment, one promise at a time."""

from __future__ import annotations

import itertools
from abc import ABC
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lumpable as lb
from kits import postgres
from kits.service import Clock, bits, opened, settings
from lumpable.base.errors import BadArgument
from lumpable.service import minds, snapshots
from lumpable.service.exporting import rows
from lumpable.service.settings import Settings, decode, encode
from lumpable.stores.in_memory import MemoryStore
from lumpable.stores.in_sqlite import SQLiteStore
from lumpable.stores.law import StoreError
from lumpable.stores.log_entries import Entry


def test_a_decision_and_its_reward() -> None:
    with opened() as e:
        made = e.decide("ann")
        assert (made.event, made.user, made.version) == ("e0", "ann", 0)
        assert made.arm in ("red", "green", "blue")
        assert e.reward(made.event, 1.0) == "rewarded"
        assert e.evidence() == [("ann", made.arm, 1_000_000, 1)]
        status = e.status()
        assert (status.decisions, status.rewards, status.counted, status.waiting) == (1, 1, 1, 0)


def test_no_part_of_an_experiment_does_otherwise_what_another_does() -> None:
    """It is one class in several files: what is read in one of them is what happens."""
    parts = lb.LiveExperiment.__mro__
    parts = parts[: parts.index(ABC)]
    assert len(parts) > 2
    for upper, lower in itertools.combinations(parts, 2):
        both = {name for name in vars(upper).keys() & vars(lower) if not name.startswith("__")}
        left_open = getattr(lower, "__abstractmethods__", frozenset[str]())
        assert both - left_open <= {"_abc_impl"}, (upper, lower)


def test_the_same_event_gets_the_same_decision() -> None:
    with opened() as e:
        first = e.decide("ann", event="mine")
        e.reward("mine", 0.0)
        for arm in ("red", "green", "blue"):
            e.remove_arm(arm)
        assert e.decide("ann", event="mine") == first
        assert e.decide_many(["ann", "ann"], events=["mine", "mine"]) == [first, first]
        e.resume_arm("red")
        twice = e.decide_many(["bob", "bob"], events=["new", "new"])
        assert twice[0] == twice[1]
        assert e.status().decisions == 2
        with pytest.raises(BadArgument, match="another user"):
            e.decide("bob", event="mine")


@pytest.mark.parametrize(
    ("repeated", "expected"), [("first", 1_000_000), ("last", 3_000_000), ("sum", 6_000_000)]
)
def test_which_of_several_rewards_counts(repeated: str, expected: int) -> None:
    clock = Clock()
    with opened(clock=clock, repeated=repeated, arms=("red",)) as e:
        event = e.decide("ann").event
        for value in (1.0, 2.0, 3.0):
            e.reward(event, value)
            clock.now += 1
        assert e.evidence() == [("ann", "red", expected, 1)]


@pytest.mark.parametrize("rewards", ["binary", (0, 1)])
def test_a_sum_may_leave_the_range_of_its_parts(rewards: Any, tmp_path: Path) -> None:
    """Decided before its rewards, after them, or between; and when it is opened again."""
    path = tmp_path / "clicks.db"
    with lb.open(path, ["red"], rewards=rewards, repeated="sum", fits="inline") as e:
        e.decide("ann", event="before")
        for event in ("before", "after", "between"):
            e.reward(event, 1.0, at=1e9)
        e.decide("ann", event="between")
        for event in ("before", "after", "between"):
            e.reward(event, 1.0, at=1e9 + 1)
        e.decide("ann", event="after")
        e.reward_many([("other", 1.0), ("before", 1.0)], at=1e9 + 2)
        with pytest.raises(BadArgument, match="reward"):
            e.reward("before", 2.0)  # a single one is held to the range
        expected = [("ann", "red", 2_000_000, 2), ("ann", "red", 3_000_000, 1)]
        assert e.evidence() == expected
    with lb.open(path, fits="inline") as e:
        assert e.evidence() == expected
        e.reward("after", 1.0, at=1e9 + 2)
        assert e.evidence() == [("ann", "red", 2_000_000, 1), ("ann", "red", 3_000_000, 2)]


def test_a_snapshot_whose_learner_takes_no_sums_is_of_no_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they were written before sums could leave the range."""
    path = tmp_path / "here"
    known: dict[str, Any] = {"rewards": "binary", "repeated": "sum"}
    store, clock = MemoryStore(), Clock()
    with monkeypatch.context() as patch:
        for module in (minds, snapshots):
            patch.setattr(module, "rewards_for_learner", lambda settings: settings.rewards)
        with opened(store, clock, snapshot=path, arms=("red",), **known) as e:
            e.reward(e.decide("ann", event="mine").event, 1.0)
    assert path.exists()
    with opened(store, clock, snapshot=path, arms=("red",), **known) as e:
        e.reward("mine", 1.0, key="again")
        assert e.evidence() == [("ann", "red", 2_000_000, 1)]


def test_large_sums_are_told() -> None:
    with opened(repeated="sum", arms=("red",)) as e:
        e.decide("ann", event="mine")
        for key in "ab":
            e.reward("mine", 9e9, key=key)
        assert e.evidence() == [("ann", "red", 18 * 10**15, 1)]


def test_an_earlier_reward_that_comes_later_takes_its_place() -> None:
    with opened(clock=Clock(100.0), arms=("red",)) as e:
        event = e.decide("ann").event
        e.reward(event, 0.25, at=105.0)
        assert e.evidence() == [("ann", "red", 250_000, 1)]
        e.reward(event, 0.75, at=103.0)
        assert e.evidence() == [("ann", "red", 750_000, 1)]


def test_windows_defaults_and_activation() -> None:
    clock = Clock(100.0)
    with opened(clock=clock, window=10, default=0.0, arms=("red",)) as e:
        shown, prefetched, late = (
            e.decide(user, activate=active).event
            for user, active in (("ann", True), ("bob", False), ("cid", False))
        )
        e.activate(late)
        clock.now = 110.0
        assert e.reward("nobody", 1.0) == "early"
        assert e.evidence() == []
        clock.now = 110.1
        assert e.reward(late, 1.0) == "late"
        assert e.evidence() == [("ann", "red", 0, 1), ("cid", "red", 0, 1)]
        assert e.status().waiting == 0
        assert e.reward(prefetched, 1.0, at=109.0) == "rewarded"  # it was shown, after all
        assert e.reward(shown, 1.0, at=109.0) == "rewarded"  # in time, and long under way
        assert e.evidence() == [
            ("ann", "red", 1_000_000, 1), ("bob", "red", 1_000_000, 1), ("cid", "red", 0, 1),
        ]  # fmt: skip
        with pytest.raises(BadArgument, match="decided"):
            e.activate("unknown")


def test_a_reward_may_come_before_its_decision() -> None:
    with opened(arms=("red",)) as e:
        assert e.reward("mine", 1.0) == "early"
        e.decide("ann", event="mine")
        assert e.evidence() == [("ann", "red", 1_000_000, 1)]


def test_arms_come_and_go() -> None:
    with opened() as e:
        e.remove_arm("red")
        e.pause_arm("green")
        assert {e.decide(f"u{k}").arm for k in range(5)} == {"blue"}
        with pytest.raises(BadArgument, match="none of the allowed ones may"):
            e.decide("ann", ["red", "green"])
        e.resume_arm("green")
        e.add_arm("gold")
        assert e.decide("ann", ["gold"]).arm == "gold"
        with pytest.raises(BadArgument, match="known arms"):
            e.decide("ann", ["pink"])
        with pytest.raises(BadArgument, match="a known arm"):
            e.pause_arm("pink")
        assert e.status().arms == ("green", "blue", "gold")
    with opened(new_arms=True, arms=()) as e:
        assert e.decide("ann", ["pink"]).arm == "pink"
        with pytest.raises(BadArgument, match="allowed"):
            opened(arms=()).decide("ann")


def test_an_arm_is_shown_at_most_so_often() -> None:
    with opened(at_most=2) as e:
        shown = Counter(e.decide("ann").arm for _ in range(6))
        assert shown == {"red": 2, "green": 2, "blue": 2}
        with pytest.raises(BadArgument, match="as often as `at_most` allows"):
            e.decide("ann")
        assert e.decide("bob").arm in shown
        with pytest.raises(BadArgument, match="as often"):
            e.decide_many(["bob"] * 6)  # all of them, or none
        assert len(e.decide_many(["bob"] * 5)) == 5


def test_rows_of_a_user_take_from_each_other_what_both_may_show() -> None:
    """Each with arms of its own: all that can be done whatever the others show, and no more."""
    for allowed in (
        [["red"], ["green"]], [["red"], ["red", "blue"], ["red", "green"]],
        [["pink"], ["gold"], ["red", "green"], ["red", "green"]],
    ):  # fmt: skip
        with opened(at_most=1, arms=("red", "green", "blue", "pink", "gold")) as e:
            frame = pd.DataFrame({"user": ["ann"] * len(allowed), "allowed": allowed})
            shown = list(e.decide_many(frame)["arm"])
            assert len(set(shown)) == len(shown)
            assert all(arm in arms for arm, arms in zip(shown, allowed, strict=True))
    for allowed in ([["red"], ["red"]], [["red", "green"], ["red"]]):
        with opened(at_most=1) as e:
            frame = pd.DataFrame({"user": ["ann", "ann"], "allowed": allowed})
            with pytest.raises(BadArgument, match="as often as `at_most` allows"):
                e.decide_many(frame)
            assert e.status().decisions == 0


def test_in_the_shadow_only_the_control_arm_is_used_up() -> None:
    with opened(at_most=2, mode="shadow", control="red") as e:
        with pytest.raises(BadArgument, match="'ann' was shown the control arm 'red' as often as"):
            e.decide_many(["ann"] * 3)
        assert e.status().decisions == 0
        e.decide_many(["ann"] * 2)
        with pytest.raises(BadArgument, match="'ann' was shown the control arm 'red' as often as"):
            e.decide("ann")
        with pytest.raises(BadArgument, match="the control arm 'red' among them"):
            e.decide("bob", ["green"])
        e.pause_arm("red")
        with pytest.raises(BadArgument, match=r"^control: .*'red', which is paused"):
            e.decide("bob")


def test_a_repeated_event_may_name_arms_that_nobody_knows() -> None:
    with opened() as e:
        made = e.decide("ann", event="same")
        assert e.decide("ann", ["pink"], event="same") == made
        assert "pink" not in e.status().arms
    with opened(new_arms=True) as e:
        made = e.decide("ann", event="same")
        assert e.decide("ann", ["pink"], event="same") == made
        assert "pink" not in e.status().arms  # it was not asked for a decision


def test_the_best_arm_too_is_shown_at_most_so_often() -> None:
    with opened(at_most=2, arms=("red", "green")) as e:
        for k in range(6):
            e.reward(e.observe(f"u{k}", "red").event, 1.0)
            e.reward(e.observe(f"u{k}", "green").event, 0.0)
        shown = []
        for _ in range(4):
            made = e.decide("ann")
            e.reward(made.event, float(made.arm == "red"))
            shown.append(made.arm)
        assert sorted(shown) == ["green", "green", "red", "red"]


def test_hold_back_and_floor_say_how_likely_an_arm_was() -> None:
    """Over many events each arm is drawn about as often as the propensities say (exact law)."""
    with opened(hold_back=0.3, floor=0.1) as e:
        e.reward(e.observe("ann", "red").event, 1.0)  # no ties: the learner wants red
        made = e.decide_many(["ann"] * 400)
        by_arm = Counter(d.arm for d in made)
        wanted = {d.arm: d.propensity or 0.0 for d in made}
        best = max(wanted, key=wanted.__getitem__)
        assert wanted == {
            arm: pytest.approx(0.3 / 3 + 0.7 * (0.8 if arm == best else 0.1)) for arm in wanted
        }
        for arm, p in wanted.items():  # eight standard errors: seeds are fixed
            assert abs(by_arm[arm] - 400 * p) < 8 * (400 * p * (1 - p)) ** 0.5
    with opened(hold_back=0.5, control="blue", arms=("red", "blue")) as e:
        e.reward(e.observe("ann", "red").event, 1.0)
        seen = {(d.arm, d.propensity) for d in e.decide_many(["ann"] * 40)}
        assert seen == {("blue", 0.5), ("red", 0.5)}


def test_modes() -> None:
    with opened(mode="shadow", control="green") as e:
        assert [(d.arm, d.propensity) for d in e.decide_many(["ann", "bob"])] == [
            ("green", 1.0)
        ] * 2
        with pytest.raises(BadArgument, match="control arm"):
            e.decide("ann", ["red"])
    with opened(mode="observe") as e:
        with pytest.raises(BadArgument, match="observe"):
            e.decide("ann")
        made = e.observe("ann", "red", propensity=0.5)
        assert e.observe("ann", "blue", event=made.event) == made
        e.reward(made.event, 1.0)
        assert e.evidence() == [("ann", "red", 1_000_000, 1)]


def test_in_the_shadow_it_is_known_what_the_learner_wanted() -> None:
    """The control arm is shown, the learner's is in the log, and how often they agree is said."""
    store, clock = MemoryStore(), Clock()
    store.append([Entry(kind="decided", at=5, event="old", user="bob", arm="green", propensity=1.0,
                        version=0, active=True, detail="shadow")])  # fmt: skip
    with opened(store, clock, mode="shadow", control="green", arms=("red", "green", 3)) as e:
        e.reward("old", 0.0)
        for k in range(10):
            e.reward(e.observe("ann", ("red", 3)[k % 2], event=f"{k}").event, float(k % 2))
        wanted = [e._ledger.learner.ask("ann")]
        assert e.decide("ann", event="one").arm == "green"
        e.pause_arm(3)
        e.pause_arm("red")
        assert e.decide("ann", event="two").arm == "green"
        table = {row["event"]: (row["decided_by"], row["wanted"]) for row in rows(store, clock())}
        assert wanted == [3]
        assert table["one"] == ("shadow", "3")
        assert table["two"] == ("shadow", '"green"')
        assert table["old"] == ("shadow", None)
        assert table["0"] == ("observed", None)
        going = e.activity()
        assert (going.shadow.decisions, going.shadow.agreed) == (2, 1)
        assert "would have shown it, too, in 1 of 2 decisions" in going.worth.words
        assert e._ledger.history.outcomes["shadow"].number == 1
        again = opened(store, clock, mode="shadow", control="green", arms=())
        assert bits(again) == bits(e)
        assert again.activity() == going


def test_in_the_shadow_a_learner_need_not_say_what_it_wants() -> None:
    """One that cannot leave arms out does not keep the control arm from being shown."""
    with opened(mode="shadow", control="green", learner="ucb", rewards="binary") as e:
        assert e.decide("ann", ["green", "red"], event="mine").arm == "green"
        assert e._ledger.event("mine").decision.detail == "shadow"  # type: ignore[union-attr]
        e.decide("ann")
        assert e.activity().shadow.decisions == 1


def test_a_user_is_forgotten() -> None:
    """Evidence and learner are those of a run without the user."""
    runs = []
    for users in (("ann", "bob"), ("ann",)):
        e = opened(arms=("red", "blue"))
        for k in range(30):
            for user in users:
                made = e.observe(user, ("red", "blue")[k % 2], event=f"{user}-{k}")
                e.reward(made.event, float(user == "ann") * (k % 2))
        e.forget("bob")
        runs.append(e)
    assert runs[0].digest() == runs[1].digest()
    assert "bob" not in runs[0]._learner().contexts
    assert runs[0].groups() == runs[1].groups()
    runs[0].decide("bob")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda e: e.decide(1.5),
        lambda e: e.decide("ann", event=""),
        lambda e: e.decide("ann", event="x" * 201),
        lambda e: e.decide("ann", event="\ud800"),
        lambda e: e.decide_many(["ann"], events=["a", "b"]),
        lambda e: e.decide_many(["ann", "bob"], ["pink"]),
        lambda e: e.reward("e", float("nan")),
        lambda e: e.reward("e", 2.0),
        lambda e: e.reward("e", "1"),
        lambda e: e.reward("e", 1.0, at=-1.0),
        lambda e: e.reward_many([("e", 1.0), ("f", 2.0)]),
        lambda e: e.observe("ann", "red", propensity=0.0),
        lambda e: e.observe("ann", None),
    ],
)
def test_what_is_wrong_is_refused_and_changes_nothing(wrong) -> None:  # type: ignore[no-untyped-def]
    with opened(rewards="binary") as e:
        e.decide("ann")
        before, log = e.status(), e._store.last
        with pytest.raises(BadArgument):
            wrong(e)
        assert (e.status(), e._store.last) == (before, log)


def test_a_reward_of_now_counts_beside_one_that_does_not() -> None:
    """One that was too early, or that says it comes later, does not keep others out."""
    clock = Clock(100.0)
    with opened(clock=clock, window=10, arms=("red",)) as e:
        e.reward("a", 0.25, at=50.0)
        e.reward("b", 0.25, at=109.0)
        for event in ("a", "b"):
            e.decide("ann", event=event)
            assert e.reward(event, 0.75) == "rewarded"
        assert e.evidence() == [("ann", "red", 750_000, 2)]


@pytest.mark.parametrize("key", [5, None, "\ud800", "x" * 201])
def test_a_key_is_a_text(key: object) -> None:
    with opened() as e, pytest.raises(BadArgument, match="key"):
        e.reward("e", 1.0, key=key)  # type: ignore[arg-type]


# --- Opening --------------------------------------------------------------------------------


def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "clicks.db"
    with lb.open(path, ["red", "blue"], rewards="binary", window=60, fits="inline") as e:
        made = [e.decide(f"u{k % 5}") for k in range(30)]
        e.reward_many([(d.event, float(d.arm == "red")) for d in made[:20]])
        before = e.status(), e.digest(), e.best("u1"), e.groups(), e.expected("u9")
    with lb.open(path, fits="inline") as e:
        assert (e.status(), e.digest(), e.best("u1"), e.groups(), e.expected("u9")) == before
        assert e.settings.window == 60_000_000
        assert e.reward(made[25].event, 1.0) == "rewarded"
    with pytest.raises(
        BadArgument, match=r"window: expected 60\.0, with which the experiment began"
    ):
        lb.open(path, window=30)
    with lb.open(path, hold_back=0.1, fits="inline") as e:
        assert e.settings.hold_back == 0.1
    with lb.open(path, fits="inline") as e, pytest.raises(BadArgument, match="no other process"):
        lb.open(path)
    e.close()
    with pytest.raises(StoreError, match="closed"):
        e.decide("ann")


@pytest.mark.parametrize(
    "wrong",
    [
        {"rewards": "some"}, {"window": 0}, {"default": 1.0}, {"repeated": "best"},
        {"mode": "run"}, {"hold_back": 1.0}, {"floor": -0.1}, {"at_most": 0}, {"seed": -1},
        {"mode": "shadow"}, {"fits": "later"}, {"rewards": "binary", "window": 1, "default": 0.5},
        {"control": 3.5}, {"control": True}, {"control": ["red"]}, {"control": "\ud800"},
        {"new_arms": 1}, {"new_arms": "yes"}, {"seed": 2**64}, {"seed": np.float64(3)},
        {"at_most": np.bool_(True)}, {"repeated": ["first"]}, {"mode": np.array(["serve"])},
        {"learner": {"kind": "ucb", "width": 2**70}},
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(BadArgument):
        lb.open(tmp_path / "clicks.db", ["red"], **wrong)  # type: ignore[arg-type]
    lb.open(tmp_path / "clicks.db", ["red"], fits="inline").close()


@pytest.mark.parametrize("arms", [["a", 3.5], ["a", None], "ab", ["\ud800"]])
def test_arms_that_are_none_begin_nothing(tmp_path: Path, arms: Any) -> None:
    path = tmp_path / "clicks.db"
    with pytest.raises(BadArgument, match="arm"):
        lb.open(path, arms, window=5)
    assert not path.exists()
    lb.open(path, {"a": "its page", "b": "another"}, window=10, fits="inline").close()


def test_what_was_begun_without_an_entry_may_be_begun_otherwise(tmp_path: Path) -> None:
    """As after a first opening that was cut off; what is not given is as it was told then."""
    path = tmp_path / "clicks.db"
    lb.open(path, window=5, hold_back=0.1, fits="inline").close()
    with lb.open(path, ["a", "b"], window=10, rewards="binary", fits="inline") as e:
        assert (e.settings.window, e.settings.hold_back) == (10_000_000, 0.1)
    with pytest.raises(BadArgument, match="with which the experiment began"):
        lb.open(path, window=5)


def test_others_who_share_a_store_count_on_what_it_was_begun_with() -> None:
    """Also while nothing is entered."""
    address = postgres.server().address()
    with (
        lb.open(address, window=5, fits="inline"),
        pytest.raises(BadArgument, match="with which the experiment began"),
    ):
        lb.open(address, window=10, fits="inline")


def test_a_control_arm_is_one_of_the_arms(tmp_path: Path) -> None:
    path = tmp_path / "clicks.db"
    with pytest.raises(BadArgument, match=r"control: expected one of the arms.*nearest is 'red'"):
        lb.open(path, ["red", "blue"], control="rad", hold_back=0.1)
    assert not path.exists()
    with lb.open(path, ["red", "blue"], hold_back=0.1, fits="inline") as e:
        e.pause_arm("blue")
    with pytest.raises(BadArgument, match="control"):
        lb.open(path, control="zzz", fits="inline")
    with lb.open(path, control="blue", fits="inline") as e:  # it is known, and may come back
        assert e.settings.control == "blue"
    lb.open(path, ["new"], control="new", fits="inline").close()
    lb.open(path, control="yet to come", new_arms=True, fits="inline").close()
    lb.open(path, new_arms=False, fits="inline").close()  # as it was: health says it
    lb.open(mode="shadow", control="added later", fits="inline").close()


@pytest.mark.parametrize(
    "given",
    [
        {"seed": np.int64(7)}, {"seed": 2**64 - 1}, {"at_most": np.uint8(3)},
        {"hold_back": np.float32(0.25)}, {"floor": np.float64(0.125)}, {"control": np.int32(5)},
        {"control": np.str_("red")}, {"rewards": (np.int64(0), np.float64(2.5))},
        {"rewards": [0, 1]}, {"rewards": np.str_("binary")}, {"new_arms": np.bool_(True)},
        {"window": np.int64(60), "default": np.float32(0.5)}, {"repeated": np.str_("last")},
        {"learner": np.str_("ucb"), "rewards": "binary"},
    ],
)  # fmt: skip
def test_what_settings_come_as_does_not_matter(given: dict[str, Any]) -> None:
    """Numbers of numpy are kept as plain ones; what is kept is read again as it is."""
    made = settings(**given)
    assert decode(encode(made)) == made
    for name, value in given.items():
        if name not in ("window", "default", "rewards"):
            assert getattr(made, name) == value


@pytest.mark.parametrize("wrong", [{"control": 3.5}, {"hold_back": np.nan}, {"rewards": [0, 1]}])
def test_settings_that_would_not_be_read_as_they_are_are_not_kept(wrong: dict[str, Any]) -> None:
    with pytest.raises(StoreError):
        encode(Settings(**wrong))


def test_explanations() -> None:
    with opened(arms=("red", "blue")) as e:
        for k in range(40):
            user, arm = f"u{k % 8}", ("red", "blue")[k // 8 % 2]
            e.reward(e.observe(user, arm).event, float((k % 2 == 0) == (arm == "red")))
        said = e.explain("u0")
        assert said.advice == e.best("u0")
        assert said.rewards == 5
        assert repr(said.advice.best_arm) in str(said)
        assert e.explain("stranger").rewards == 0
        assert e.explain("stranger").in_group is None
        assert "stranger" in str(e.explain("stranger"))


def test_an_explanation_says_what_the_group_is_like() -> None:
    """The group, how sure it is, and mean and interval of the arm and of the runner-up in it."""
    with opened(rewards="binary", arms=("red", "green", "blue")) as e:
        rng = np.random.default_rng(3)
        for k in range(1_200):
            user, arm = k % 30, ("red", "green", "blue")[k // 30 % 3]
            likes = 0.9 if arm == ("red", "green")[user % 2] else 0.1
            made = e.observe(f"u{user}", arm, event=f"{k}")
            e.reward(made.event, float(rng.random() < likes))
        said = e.explain("u4")
        rows = {(row.group, row.arm): row for row in e._learner().means()}  # type: ignore[attr-defined]
        assert len(e.groups()) == 2
        assert min(said.probability or 0.0, said.advice.probability_best) > 0.99
        assert said.in_group == rows[said.group, "red"]
        assert said.runner_up_in_group == rows[said.group, said.advice.runner_up]
        own, there, other = said.advice, said.in_group, said.runner_up_in_group
        assert there is not None
        assert other is not None
        assert there.low < there.mean < there.high
        assert abs(there.mean - 0.9) < 8 * (0.9 * 0.1 / 200) ** 0.5  # eight standard errors
        assert str(said) == (
            f"'u4' is in group {said.group} with a probability of over 99 %, by 40 rewards "
            f"of their own. In this group 'red' brings {there.mean:.3g} ({there.low:.3g} to "
            f"{there.high:.3g}), {other.arm!r} {other.mean:.3g} ({other.low:.3g} to "
            f"{other.high:.3g}). For them 'red' brings {own.mean:.3g} ({own.low:.3g} to "
            f"{own.high:.3g}) and is best with a probability of over 99 %; next comes "
            f"{own.runner_up!r} with {own.runner_up_mean:.3g}."
        )


def test_a_failed_commit_is_as_if_nothing_happened(tmp_path: Path) -> None:
    """The caller is told; memory goes back to what is durable; it works when the cause is gone."""
    store = SQLiteStore(tmp_path / "log.db")
    with opened(store) as e:
        first = e.decide("ann")
        before = e.digest(), e.status()
        (pages,) = store._db.execute("PRAGMA page_count").fetchone()
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="full"):
            e.decide_many([f"user {k}" for k in range(1000)])
        store._db.execute("PRAGMA max_page_count = 1000000")
        made = e.decide("ann")
        assert made.event != first.event
        assert e.decide("ann", event=first.event) == first
        assert e.status().entries == store.last
        assert e.status().decisions == before[1].decisions + 1
        assert not store.verify()


def test_a_floor_holds_for_what_is_not_held_back() -> None:
    with opened(floor=0.05, hold_back=0.5, control="red", seed=3) as e:
        seen = {d.propensity for d in e.decide_many(["ann"] * 400) if d.propensity is not None}
        assert min(seen) == 0.5 * 0.05
