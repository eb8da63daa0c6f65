"""Any learner of the catalogue, and any plan, behind a log: the same laws as for Lumps."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lumpable as lb
from kits.service import Clock, bits, opened
from lumpable.base.errors import BadArgument
from lumpable.learners import catalogue
from lumpable.service.folds import Fold
from lumpable.service.learner_kinds import ALSO, PLANS
from lumpable.stores.in_memory import MemoryStore
from lumpable.stores.law import StoreError
from lumpable.stores.log_entries import Entry

ARMS = ("red", "green", "blue")
ORACLES = {"mucb", "mts", "maillard-mannor-known", "oracle-groups"}
"""What must know more than anybody can."""
NEEDS: dict[str, dict[str, Any]] = {
    "exp4": {"groups": 2, "horizon": 300}, "exp4-constant": {"horizon": 300},
    "suplinrel": {"horizon": 300}, "kmeans": {"groups": 2}, "bai-cl": {"groups": 2},
    "bai-cl-plus": {"groups": 2}, "lattice": {"groups": 2}, "mixture": {"groups": 2},
    "jain-pal": {"horizon": 300}, "jedra": {"horizon": 300},
}  # fmt: skip
"""What a user must say."""
SMALL = {"confidence": 0.01, "explore": 0.05, "test": 0.05, "policy": 0.05, "arrivals": 0.5}
PAC = {
    "kind": "pac.any_contexts", "users": 8, "groups": 2, "epsilon": 0.5, "delta": 0.1,
    "constants": SMALL,
}  # fmt: skip
REGRET = {"kind": "regret.candidates", "users": 8}
LEARNERS = [name for name in catalogue.names() if name != "lumps" and name not in ALSO]


def described(name: str) -> Any:
    return {"kind": name, **NEEDS[name]} if name in NEEDS else name


def check_laws(learner: Any) -> None:
    """Late rewards in any order, a restart, a correction, somebody forgotten: the same bits."""
    store, rng = MemoryStore(), random.Random(1)
    given = {"learner": learner, "rewards": "binary", "clock": Clock()}
    e, waiting, told = opened(store, **given), [], []
    for k in range(30):
        made = e.decide(f"u{rng.randrange(6)}", event=f"{k}")
        assert made.arm in ARMS
        assert made.propensity == 1.0
        waiting.append(made)
        if len(waiting) > 4:
            late = waiting.pop(rng.randrange(len(waiting)))
            e.reward(late.event, float(late.arm == "green"), at=1_000.0)
            told.append(late)
    e.reward(told[3].event, float(told[3].arm != "green"), at=999.0)
    assert bits(opened(store, **given)) == bits(e)
    e.forget("u1")
    again = opened(store, **given)
    assert bits(again) == bits(e)
    assert [again.decide(f"u{k}").arm for k in (0, 2, 3)] == [
        e._ledger.learner.ask(f"u{k}") for k in (0, 2, 3)
    ]
    assert "u1" not in again.recommended()
    assert set(again.recommended().values()) <= set(ARMS)


@pytest.mark.parametrize("name", ["ucb", "beta-thompson", "kl-ucb", "club", "lattice"])
def test_a_learner_behind_a_log(name: str) -> None:
    check_laws(described(name))


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in ORACLES])
def test_every_learner_behind_a_log(name: str) -> None:
    check_laws(described(name))


@pytest.mark.parametrize("plan", [PAC, REGRET], ids=["pac", "regret"])
def test_a_plan_behind_a_log(plan: dict[str, Any]) -> None:
    check_laws(plan)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted({*PLANS, *ALSO}))
def test_every_plan_behind_a_log(name: str) -> None:
    takes = PLANS[ALSO.get(name, name)].about.takes
    given = {"epsilon": 0.5, "delta": 0.1, "horizon": 1_000}
    check_laws({"kind": name, "users": 8, "groups": 2}
               | {key: value for key, value in given.items() if key in takes})  # fmt: skip


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_what_only_an_oracle_knows_is_no_option(name: str) -> None:
    with pytest.raises(BadArgument, match="which is not known here"):
        lb.open(arms=ARMS, learner=name)
    with pytest.raises(BadArgument, match="which is not known here"):
        lb.open(arms=ARMS, learner={"kind": name, "group": [0] * 64})


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("decide"), st.integers(0, 5)),
        st.tuples(st.just("reward"), st.integers(0, 30), st.sampled_from([0.0, 1.0, 0.5])),
        st.tuples(st.just("earlier"), st.integers(0, 30), st.sampled_from([0.0, 1.0, 0.5])),
        st.tuples(st.just("pass"), st.integers(1, 8)),
        st.tuples(st.just("pause"), st.sampled_from(ARMS[:2])),
        st.tuples(st.just("resume"), st.sampled_from(ARMS[:2])),
        st.tuples(st.just("add"), st.sampled_from(["gold", "pink"])),
        st.tuples(st.just("forget"), st.integers(0, 5)),
    ),
    max_size=60,
)


@pytest.mark.parametrize("learner", ["ucb", PAC], ids=["ucb", "plan"])
@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_a_replayed_log_is_the_same_bit_for_bit(learner: Any, steps: list[Any]) -> None:
    given = {"learner": learner, "window": 10, "default": 0.0, "clock": (clock := Clock())}
    store = MemoryStore()
    e = opened(store, **given)
    for what, *about in steps:
        if what == "decide":
            e.decide(f"u{about[0]}")
        elif what in ("reward", "earlier"):
            e.reward(f"e{about[0]}", about[1], at=None if what == "reward" else clock.now - 1)
        elif what == "pass":
            clock.now += about[0]
        elif what == "forget":
            e.forget(f"u{about[0]}")
        elif learner == "ucb" or not e.status().users:
            {"pause": e.pause_arm, "resume": e.resume_arm, "add": e.add_arm}[what](about[0])
    assert bits(opened(store, arms=(), **given)) == bits(e)
    assert not store.verify()


def test_evidence_is_what_it_is_with_lumps() -> None:
    digests = set()
    for learner in ("lumps", "ucb", PAC):
        with opened(learner=learner) as e:
            for k in range(20):
                e.observe(f"u{k % 6}", ARMS[k % 3], event=f"{k}", at=10.0)
                e.reward(f"{k}", [0.0, 1.0, 0.5, -2.25][k % 4], at=12.0)
                e.reward(f"{k // 2}", 7.0, at=11.0)
            e.forget("u3")
            digests.add(e.digest())
    assert len(digests) == 1


def test_a_learner_learns_the_same_as_by_itself() -> None:
    """Names, a log and late arms in between, the arms are those that it plays by hand."""
    by_hand, users = lb.learners.UCB1(64, 3, width=0.3, seed=5), ["ann", "bob", "cid"]
    with opened(learner={"kind": "ucb", "width": 0.3}, seed=5) as e:
        for k in range(60):
            made, place = e.decide(users[k % 3]), k % 3
            arm = by_hand.ask(place)
            assert made.arm == ARMS[arm]
            reward = float((k * 7 + arm) % 5) / 4
            by_hand.tell(place, arm, reward)
            e.reward(made.event, reward)


def test_a_plan_is_played_as_by_itself_to_its_end_and_then_shows_its_policy() -> None:
    plan = lb.pac.any_contexts(
        lb.Problem(8, 3, 2), epsilon=0.5, delta=0.1, constants=lb.Constants(**SMALL)
    )
    session, k = lb.Session(plan, seed=3), 0
    with opened(learner=PAC, seed=3) as e:
        while session.result is None:
            k += 1
            made = e.decide(k % 8)
            place = (k - 1) % 8  # users have places in the order in which they come
            assert made.arm == ARMS[session.ask(place)]
            reward = float(made.arm == ARMS[k % 2])
            session.tell(place, ARMS.index(str(made.arm)), reward)
            e.reward(made.event, reward)
        assert "has ended" in e.summary()
        assert f"after {k} rounds" in e.summary().replace(",", "")
        policy = [ARMS[arm] for arm in session.result.policy]
        assert [e.recommended()[user] for user in (1, 2, 3, 4, 5, 6, 7, 0)] == policy
        assert e.decide(1).arm == policy[0]


def test_a_correction_takes_the_place_of_what_it_corrects() -> None:
    with opened(learner="ucb") as e:
        for k in range(6):
            e.observe("ann", ARMS[k % 3], event=f"{k}")
            e.reward(f"{k}", 0.5, at=2_000.0)
        e.reward("1", 0.25, at=1_500.0)
        fold = e._ledger.learner
        assert isinstance(fold, Fold)
        assert list(fold._reward) == [0.5, 0.5, 0.5, 0.5, 0.25, 0.5]  # of equal ones, the last
        assert list(fold._what) == [0, 1, 2, 0, 1, 2]


def test_room_grows_with_users_and_the_learner_with_it() -> None:
    by_hand = lb.learners.UCB1(128, 3, seed=0)
    with opened(learner="ucb") as e:
        for k in range(140):
            made = e.decide(k % 70)
            e.reward(made.event, float(k % 3))
            by_hand.tell(k % 70, ARMS.index(str(made.arm)), float(k % 3))
        learner = e._ledger.learner
        assert [learner.ask(k) for k in range(71)] == [ARMS[by_hand.ask(k)] for k in range(71)]


def test_a_learner_with_so_many_places_takes_no_more_users() -> None:
    with opened(learner={"kind": "ucb", "users": 2}) as e:
        before = e.status().entries
        with pytest.raises(BadArgument, match=r"2 of 2 places are free\), got 3 new users"):
            e.decide_many(["ann", "bob", "cid"])
        assert e.status().entries == before
        e.decide_many(["ann", "bob", "ann"])
        with pytest.raises(BadArgument, match="0 of 2 places are free"):
            e.observe("cid", "red")
        e.forget("ann")
        assert e.decide("cid").arm in ARMS


def test_arms_that_may_not_be_left_out_are_said() -> None:
    with opened(learner="ucb") as e:
        assert e.decide("ann", ["blue", "red", "green"]).arm in ARMS
        before = e.status().entries
        with pytest.raises(BadArgument, match=r"cannot leave out 'green', 'blue'; Lumps can"):
            e.decide_many(["ann", "bob"], ["red"])
        with pytest.raises(BadArgument, match="cannot leave out"):  # both rows, or none
            e.decide_many(pl.DataFrame({"user": ["ann", "bob"], "allowed": [ARMS, ["red"]]}))
        assert e.status().entries == before
        e.pause_arm("red")
        assert {e.decide(k).arm for k in range(9)} <= {"green", "blue"}
        e.resume_arm("red")
        assert e.decide("ann").arm in ARMS
    with opened(learner="ucb", mode="shadow", control="red") as e:
        assert e.decide("ann", ["red"]).arm == "red"


def test_evidence_of_an_arm_stays_while_it_is_away() -> None:
    with opened(learner="ucb") as e:
        for arm, value in zip(ARMS, (1.0, 0.0, 0.5), strict=True):
            e.reward(e.observe("ann", arm).event, value)
        assert e.recommended() == {"ann": "red"}
        e.pause_arm("red")
        assert e.recommended() == {"ann": "blue"}
        e.add_arm("gold")
        assert e.decide("ann").arm == "gold"  # it was never tried
        e.remove_arm("gold")
        e.resume_arm("red")
        assert e.recommended() == {"ann": "red"}
        assert e.status().counted == 3


def test_the_arms_of_a_plan_are_fixed_from_its_first_decision_on() -> None:
    with opened(learner=REGRET) as e:
        e.remove_arm("blue")
        e.add_arm("gold")
        e.decide("ann")
        for change in (e.remove_arm, e.pause_arm):
            with pytest.raises(BadArgument, match="fixed from its first decision on"):
                change("gold")
        with pytest.raises(BadArgument, match="fixed"):
            e.add_arm("pink")
        e.add_arm("gold")  # as it is


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("groups", "'ucb' finds no groups; Lumps does"), ("members", "finds no groups"),
        ("policy", "does not say what it expects"), ("lift", "does not say"),
    ],
)  # fmt: skip
def test_what_a_learner_cannot_say_is_refused(call: str, words: str, tmp_path: Path) -> None:
    with opened(learner="ucb") as e:
        e.reward(e.decide("ann").event, 1.0)
        with pytest.raises(BadArgument, match=words):
            getattr(e, call)()
        for named in (e.best, e.expected, e.explain):
            with pytest.raises(BadArgument, match="does not say what it expects"):
                named("ann")
        with pytest.raises(BadArgument, match="has no page"):
            e.report(tmp_path / "page.html")
        assert e.summary() == "'ucb' was told 1 reward of 1 user. It says nothing of groups."


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"learner": "ucbb"}, "a learner or plan of this package, got 'ucbb'; the nearest"),
        ({"learner": "os:system"}, "a learner or plan"),
        ({"learner": 5}, "a name, or a mapping"),
        ({"learner": {"width": 1.0}}, "a name, or a mapping"),
        ({"learner": {"kind": "ucb", "width": object()}}, "that can be written"),
        ({"learner": {"kind": "ucb", "widht": 1.0}}, "no option 'widht'; the nearest is 'width'"),
        ({"learner": {"kind": "ucb", "width": -1.0}}, "a positive number, got -1"),
        ({"learner": {"kind": "ucb", "seed": 1}}, "'seed' comes from the experiment"),
        ({"learner": {"kind": "ucb", "users": 0}}, "users"),
        ({"learner": {"kind": "lumps", "groups": 3}}, "nothing to tune"),
        ({"learner": "jedra"}, "needs horizon: say {'kind': 'jedra', 'horizon': ...}"),
        ({"learner": "beta-thompson"}, "'binary' or a range in"),
        ({"learner": "ucb", "repeated": "last"}, "would have to relearn everything"),
        ({"learner": "ucb", "at_most": 2}, "cannot leave arms out"),
        ({"learner": "algorithm-4"}, "'users': ..."),
        ({"learner": {"kind": "pac.near_uniform", "users": 9}}, "needs the option groups"),
        ({"learner": {**PAC, "users": 10**6}}, "pairs of a user and an arm"),
        ({"learner": {**PAC, "constants": {"testt": 1}}}, "'testt'; the nearest is 'test'"),
        ({"learner": {**PAC, "epsilon": 2.0}}, "epsilon"),
        ({"learner": {**PAC, "groups": 9}}, "one of 1 .. 8, got 9"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_not_kept(
    given: dict[str, Any], words: str, tmp_path: Path
) -> None:
    arms = [f"a{k}" for k in range(20)]
    with pytest.raises(BadArgument, match=words.replace("..", r"\.\.")):
        lb.open(tmp_path / "x.db", arms, **given)
    with lb.open(tmp_path / "x.db", arms, learner="uniform") as e:  # nothing stands in its way
        assert e.settings.learner == "uniform"


def test_a_log_with_fits_is_not_of_this_learner() -> None:
    store = MemoryStore()
    opened(store, learner="ucb").close()
    store.append([Entry(kind="taken", at=1)])
    with pytest.raises(StoreError, match=r"cannot be: 'ucb' makes no fits"):
        opened(store, learner="ucb")


def test_a_file_keeps_its_learner_and_no_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with lb.open(path, ARMS, learner={"kind": "ucb", "width": 0.3}) as e:
        for k in range(20):
            e.reward(e.decide(f"u{k % 4}").event, float(k % 3))
        whole = bits(e)
    assert not (tmp_path / "x.db.snapshot").exists()
    with lb.open(path) as e:
        assert e.settings.learner == {"kind": "ucb", "width": 0.3}
        assert bits(e) == whole
    for other in ("lumps", "ucb", {"kind": "ucb", "width": 0.2}):
        with pytest.raises(BadArgument, match="with which the experiment began"):
            lb.open(path, learner=other)
    with lb.open(path, learner={"kind": "ucb", "width": 0.3}) as e:
        assert bits(e) == whole
