"""The practitioner's learner: names, room, decisions under way, propensities, tables, files."""

from __future__ import annotations

import enum
import importlib
import math
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from lumpable.base.arrays import FloatMatrix
from lumpable.lumps.core.growth import grow
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.use import decisions, stored
from lumpable.lumps.use.decisions import Choice
from lumpable.lumps.use.named import Lumps

SCRATCH = ("weight", "mean", "spread", "scale", "cover", "factor", "score")
CELLS = ("arm", "pulls", "ones", "total")
BELIEFS = ("log_weight", "group_pulls", "group_total", "group_visits", "centre", "prior_weight")


def snapshot(lumps: Lumps) -> list[object]:
    """Return all that any later answer depends on."""
    state = lumps.core.state
    arrays = [value.tobytes() for name, value in state._asdict().items() if name not in SCRATCH]
    waiting = [repr(pair) for pair in lumps.core.under_way.items()]
    counters = (
        lumps._book.made,
        lumps._book.forgotten,
        lumps._book.lost,
        lumps._book.tags.since,
        lumps.core.tells,
        lumps.core.next_fit,
        lumps.core.last_fit,
    )
    return [
        *arrays,
        lumps.core.last_fit,
        *counters,
        *waiting,
        lumps.contexts,
        lumps.arms,
        lumps.retired,
    ]


def refused(lumps: Lumps, words: str, call: Callable[[], object]) -> None:
    before = snapshot(lumps)
    with pytest.raises(ValueError, match=words):
        call()
    assert snapshot(lumps) == before


def tastes(contexts: int, arms: int, groups: int = 3) -> FloatMatrix:
    """Return mean rewards: 0.9 for the arms of a context's group, 0.1 for others."""
    kind = np.arange(contexts)[:, None] % groups
    return np.where(np.arange(arms)[None, :] % groups == kind, 0.9, 0.1)


def cells(lumps: Lumps) -> dict[tuple[object, object], tuple[float, float]]:
    counts, arm_names = lumps.core.counts(), lumps._named.arms.listed
    rows = np.repeat(counts.context, np.diff(counts.first))
    return {
        (lumps.contexts[i], arm_names[j]): (float(n), float(s))
        for i, j, n, s in zip(rows, counts.arm, counts.n, counts.s, strict=True)
    }


# --- Room -------------------------------------------------------------------------------------


def test_a_blank_learner_that_grew_is_a_blank_learner_of_that_size() -> None:
    learner, fresh = ThreeLevels(2, 3, seed=5), ThreeLevels(9, 7, seed=5)
    grow(learner, 9, 7)
    assert (learner.contexts, learner.arms) == (9, 7)
    for name, value in fresh.state._asdict().items():
        if name not in CELLS:
            np.testing.assert_array_equal(getattr(learner.state, name), value, err_msg=name)
            assert getattr(learner.state, name).dtype == value.dtype


@pytest.mark.parametrize("real", [False, True])
def test_room_for_contexts_changes_nothing(real: bool) -> None:
    """Decision by decision, fits included, against one that had the room from the start."""
    S, K = 40, 6
    mean, rng = tastes(S, K), np.random.default_rng(1)
    learner, large = ThreeLevels(1, K, seed=3), ThreeLevels(S, K, seed=3)
    for t in range(1500):
        i = int(rng.integers(1 + t * S // 1500))
        if i >= learner.contexts:
            grow(learner, min(S, i + 1 + t % 3), K)
        arm = learner.ask(i)
        assert arm == large.ask(i)
        reward = (
            float(rng.normal(mean[i, arm], 0.3)) if real else float(rng.random() < mean[i, arm])
        )
        learner.tell(i, arm, reward)
        large.tell(i, arm, reward)
    grow(learner, S, K)
    everyone = np.arange(S)
    assert learner.last_fit is not None
    assert learner.last_fit.groups > 1
    np.testing.assert_array_equal(learner.membership(everyone), large.membership(everyone))
    np.testing.assert_array_equal(
        learner.posterior_means(everyone), large.posterior_means(everyone)
    )


@pytest.mark.parametrize(("groups", "pulls"), [(1, 30), (3, 30), (3, 1)])
def test_new_arms_are_believed_what_they_would_be_had_they_always_been_there(
    groups: int, pulls: int
) -> None:
    """The same fit is found, up to the order of groups and where its iteration stops."""
    S, K, more = 24, 6, 5
    mean, rng = tastes(S, K, groups), np.random.default_rng(2)
    learner, large = ThreeLevels(S, K, seed=3), ThreeLevels(S, K + more, seed=3)
    for t in range(S * pulls):
        i, j = t % S, int(rng.integers(K))
        reward = float(rng.random() < mean[i, j])
        learner.tell(i, j, reward)
        large.tell(i, j, reward)
    everyone, before = np.arange(S), learner.posterior_means(np.arange(S))
    grow(learner, S + 1, K + more)
    after = learner.posterior_means(everyone)
    np.testing.assert_array_equal(after[:, :K], before)
    np.testing.assert_allclose(after, large.posterior_means(everyone), atol=1e-3)
    mine, other = learner.membership(everyone), large.membership(everyone)
    np.testing.assert_allclose(mine @ mine.T, other @ other.T, atol=1e-3)
    np.testing.assert_allclose(learner.state.prior_weight, large.state.prior_weight, rtol=1e-2)
    assert learner.last_fit is not None
    assert learner.last_fit.groups == (groups if pulls > 1 else 1)
    assert learner.last_fit.means.shape == (K + more, learner.last_fit.groups)
    learner.tell(S, K + more - 1, 1.0)  # the new context, the newest arm
    assert learner.posterior_means(np.array([S]))[0, -1] > after[0, -1]


def test_room_for_factors() -> None:
    """Contexts that differ along a direction: new arms have no part in it, new contexts none."""
    rng, S, K = np.random.default_rng(4), 60, 10
    factor, loading = rng.normal(size=S), rng.normal(size=K)
    learner = ThreeLevels(S, K)
    for i in range(S):
        for j in rng.permutation(K)[:7]:
            learner.tell(i, int(j), float(rng.normal(factor[i] * loading[j], 0.1)))
    learner.next_fit = learner.tells
    learner.refit()
    assert learner.last_fit is not None
    assert learner.last_fit.rank >= 1
    before = learner.posterior_means(np.arange(S))
    grow(learner, S + 5, K + 3)
    after = learner.posterior_means(np.arange(S + 5))
    np.testing.assert_array_equal(after[:S, :K], before)
    assert learner.last_fit.scale is not None
    np.testing.assert_allclose(after[:, K:], learner.last_fit.scale.worth.p0)
    np.testing.assert_allclose(after[S:], np.tile(learner.last_fit.scale.worth.means[:, 0], (5, 1)))
    for t in range(1000):  # and it goes on through fits
        i = t % (S + 5)
        learner.tell(i, learner.ask(i), float(rng.normal()))
    assert np.isfinite(learner.posterior_means(np.arange(S + 5))).all()


def test_room_for_arms_is_room_for_their_cells() -> None:
    """The longest row may have to move to twice its length: else memory is overwritten."""
    learner = ThreeLevels(1, 2)
    grow(learner, 1, 300)
    for j in range(300):
        assert len(learner.state.arm) - learner.state.used[0] >= 2 * 300 + 4
        learner.tell(0, j, 1.0)
    assert learner.counts().arm.tolist() == list(range(300))


def test_a_learner_does_not_shrink() -> None:
    learner = ThreeLevels(3, 2)
    with pytest.raises(ValueError, match="expected at least 3, 2, got 3, 1"):
        grow(learner, 3, 1)
    assert learner.arms == 2


# --- Names ------------------------------------------------------------------------------------


def test_names_change_no_choice() -> None:
    """With all names known it is the learner of numbers, choice by choice."""
    S, K = 30, 6
    mean, rng = tastes(S, K), np.random.default_rng(4)
    lumps = Lumps([f"arm {j}" for j in range(K)], [f"user {i}" for i in range(S)], seed=9)
    numbers = ThreeLevels(S, K, seed=9)
    for _ in range(1200):
        i = int(rng.integers(S))
        arm = numbers.ask(i)
        assert lumps.ask(f"user {i}") == f"arm {arm}"
        reward = float(rng.random() < mean[i, arm])
        numbers.tell(i, arm, reward)
        lumps.tell(f"user {i}", f"arm {arm}", reward)


def test_names_are_strings_and_integers() -> None:
    class Colour(str, enum.Enum):  # noqa: UP042  (its str() is another)
        RED = "red"

    lumps = Lumps([8, "blue"], ["ann"], new_arms=True)
    rows: list[Any] = [(np.int64(7), np.int32(8), True), (np.str_("x"), Colour.RED, np.float32(1))]
    for row in rows:
        lumps.tell(*row)
    assert lumps.contexts == ("ann", 7, "x")
    assert lumps.arms == (8, "blue", "red")
    assert {type(name) for name in (*lumps.contexts, *lumps.arms)} == {str, int}
    odd: list[Any] = [
        True,
        np.True_,
        1.5,
        math.nan,
        1e300,
        np.timedelta64(3, "s"),
        None,
        (1, 2),
        b"x",
        2**63,
        "\ud800",
        np.array([1, 2]),
    ]
    for name in odd:
        refused(lumps, "arm: expected a string, or an integer", lambda: lumps.tell(7, name, 1.0))  # noqa: B023
        refused(lumps, "context: expected a string, or an int", lambda: lumps.ask(name))  # noqa: B023
    refused(lumps, "arms: expected several names, got one string", lambda: lumps.ask(7, "red"))
    for several in (None, 3, {"context": [7]}, pl.DataFrame({"context": [7]})):
        words = "contexts: expected several names, got "
        refused(lumps, words, lambda: lumps.ask_many(several))  # type: ignore[arg-type]  # noqa: B023


ODD_NUMBERS = (-math.inf, np.timedelta64(1, "s"), np.timedelta64(1), np.longdouble("1e400"))


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, 1e101, "1", None, 10**400, [1.0], *ODD_NUMBERS]
)
def test_rewards_that_are_no_numbers_are_refused(value: Any) -> None:
    lumps = Lumps(["red"])
    made = lumps.decide("ann")
    refused(lumps, "reward: expected a number", lambda: lumps.tell("bob", "red", value))
    refused(lumps, "reward: expected a number", lambda: lumps.reward(made.id, value))
    lumps.reward(made.id, True)
    assert cells(lumps) == {("ann", "red"): (1.0, 1.0)}


def test_asking_leaves_no_trace_and_the_unknown_are_served() -> None:
    lumps, mean, rng = Lumps(range(6), range(30), seed=2), tastes(30, 6), np.random.default_rng(3)
    expecting = Lumps(range(6), [*range(30), "new"], seed=2)
    for _ in range(300):
        i = int(rng.integers(30))
        arm = lumps.ask(i)
        assert lumps.ask("new") == expecting.ask("new")
        reward = float(rng.random() < mean[i, int(arm)])
        lumps.tell(i, arm, reward)
        expecting.tell(i, arm, reward)
    before = snapshot(lumps)
    answers = [lumps.ask(name) for name in ("new", "newer", 3, "new")]
    assert answers[0] == answers[1] == answers[3]
    assert lumps.ask_many(["new", 3, 3, 5]).arm == lumps.ask_many(["new", 3, 3, 5]).arm
    assert lumps.ask("new", allowed=[1, 2]) in (1, 2)
    assert snapshot(lumps) == before
    assert [lumps.ask(name) for name in ("new", "newer", 3, "new")] == answers


def test_no_arm_no_answer() -> None:
    lumps = Lumps(contexts=["ann"])
    for call in (lumps.ask, lumps.decide, lambda context: lumps.ask_many([context])):
        refused(lumps, "expected an arm that may be chosen, but there are none", lambda: call("x"))  # noqa: B023
    assert (lumps.groups(), lumps.means(), lumps.members()) == ([], [], [])
    assert lumps.decide("ann", allowed=["red"]).arm == "red"


# --- Arms -------------------------------------------------------------------------------------


def test_arms_that_were_not_listed_are_refused() -> None:
    lumps = Lumps(["news", "sport"])
    later = Lumps()
    later.add_arm("news")
    for closed in (lumps, later):
        words = "arm: expected a known arm .else use add_arm first, or new_arms=True., got 'nwes'"
        refused(closed, words, lambda: closed.tell("ann", "nwes", 1.0))  # noqa: B023
        table = {"context": ["ann", "bob"], "arm": ["news", "nwes"], "reward": [1.0, 1.0]}
        refused(closed, words, lambda: closed.tell_many(table))  # noqa: B023
    for call in (lumps.ask, lumps.decide):
        refused(lumps, "expected known arms", lambda: call("ann", ["news", "nows"]))  # noqa: B023
    lumps.retire_arm("sport")
    lumps.tell("ann", "sport", 1.0)  # known, and out of choices
    assert (lumps.arms, lumps.retired) == (("news",), ("sport",))


def test_new_arms_may_come_where_that_is_said(tmp_path: Path) -> None:
    free, open = Lumps(), Lumps(["news"], new_arms=True)
    for lumps in (free, open):
        lumps.tell("ann", "red", 1.0)
        assert lumps.decide("ann", ["red", "green"]).arm in ("red", "green")
        assert set(lumps.arms) >= {"red", "green"}
    open.save(tmp_path / "state.lumps")
    loaded = Lumps.load(tmp_path / "state.lumps")
    loaded.tell("ann", "blue", 1.0)
    assert "blue" in loaded.arms
    with pytest.raises(ValueError, match="new_arms: expected True or False, got 1"):
        Lumps(new_arms=1)  # type: ignore[arg-type]


def test_threads_share_a_learner() -> None:
    """What is allowed for one request is never seen by another."""
    lumps = Lumps(["a", "b", "c"])
    wrong: list[Any] = []
    for _ in range(20):
        lumps.tell("u", "a", 1.0)

    def asking(allowed: list[Any] | None, expected: set[Any]) -> None:
        wrong.extend(arm for _ in range(4000) if (arm := lumps.ask("u", allowed)) not in expected)

    plans: list[tuple[list[Any] | None, set[Any]]] = [
        (None, {"a"}), (["b"], {"b"}), (["c"], {"c"}),
    ]  # fmt: skip
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=asking, args=plan) for plan in plans]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch)
    assert wrong == []


def test_only_allowed_arms_are_chosen() -> None:
    lumps, rng = Lumps(range(8), seed=1), np.random.default_rng(5)
    for t in range(400):
        allowed = rng.choice(8, size=rng.integers(1, 8), replace=False).tolist()
        assert lumps.ask(t % 20, allowed) in allowed
        made = lumps.decide(t % 20, allowed)
        assert made.arm in allowed
        assert set(lumps.ask_many(range(5), allowed).arm) <= set(allowed)
        lumps.reward(made.id, float(made.arm == 7))
    assert lumps.ask(0) == 7
    assert lumps.core.state.allowed.all()
    refused(lumps, "known arms .see add_arm., got 'red'", lambda: lumps.ask(0, [1, "red"]))
    refused(lumps, "expected an arm that may be chosen", lambda: lumps.decide(0, []))


def test_arms_retire_with_rewards_outstanding_and_come_back() -> None:
    lumps = Lumps(["red", "green"])
    for t in range(40):
        lumps.tell(t % 4, "red", 1.0)
        lumps.tell(t % 4, "green", 0.0)
    under_way = lumps.decide("ann")
    assert under_way.arm == "red"
    lumps.retire_arm(arm="red")
    assert (lumps.arms, lumps.retired) == (("green",), ("red",))
    assert lumps.ask("ann") == lumps.decide("ann").arm == "green"
    assert lumps.ask("ann", allowed=["red", "green"]) == "green"
    refused(lumps, "expected an arm that may be chosen", lambda: lumps.decide("ann", ["red"]))
    lumps.reward(under_way.id, 1.0)
    lumps.tell("bob", "red", 1.0)
    assert cells(lumps)["ann", "red"] == cells(lumps)["bob", "red"] == (1.0, 1.0)
    assert lumps.retired == ("red",)
    lumps.add_arm(arm="red")
    assert lumps.ask("ann") == "red"
    refused(lumps, "expected a known arm, got 'blue'", _retire(lumps, "blue"))


def _retire(lumps: Lumps, name: str) -> Callable[[], None]:
    return lambda: lumps.retire_arm(name)


def test_a_new_arm_is_tried() -> None:
    lumps = Lumps(["red", "green"])
    for t in range(200):
        lumps.tell(t % 10, lumps.ask(t % 10), 0.0)
    lumps.add_arm("blue")
    assert lumps.ask(3) == "blue"
    lumps.add_arm("blue")
    assert lumps.arms == ("red", "green", "blue")


@pytest.mark.parametrize(("contexts", "arms"), [(1, 1), (1, 10_000), (50, 1), (3, 10_000)])
def test_extreme_sizes(contexts: int, arms: int) -> None:
    lumps = Lumps(range(arms), seed=1)
    for t in range(60):
        made = lumps.decide(t % contexts)
        lumps.reward(made.id, float(made.arm == 0))
        assert made.propensity == 1.0
    assert sum(n for n, _ in cells(lumps).values()) == 60
    if contexts == 1 and arms > 1:  # nothing was good so far: nothing is tried twice
        assert len(cells(lumps)) == 60


# --- Decisions --------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:more than 40 decisions")
def test_any_life_keeps_the_books() -> None:
    """Late, missing and told rewards, new names, retirements, against a plain dictionary."""
    lumps, rng = Lumps(["a", "b"], floor=0.01, seed=6, max_outstanding=40), np.random.default_rng(7)
    book: Counter[tuple[object, object]] = Counter()
    under_way: list[Any] = []
    decided: list[Any] = []
    for t in range(2500):
        context = f"user {rng.integers(1 + t // 10)}"
        event = rng.random()
        if event < 0.5:
            if event >= 0.4:
                lumps.add_arm(f"arm {t // 300}")
            made = lumps.decide(context, None if event < 0.4 else ["a", f"arm {t // 300}"])
            assert made.arm in lumps.arms
            under_way.append(made)
            decided = [*decided[-2000:], made]
        elif event < 0.9 and under_way:
            made = under_way.pop(int(rng.integers(len(under_way))))
            if made in lumps.waiting():
                lumps.reward(made.id, float(rng.random() < 0.5))
                book[made.context, made.arm] += 1
            refused(lumps, "whose reward is outstanding", lambda: lumps.reward(made.id, 1.0))  # noqa: B023
        elif event < 0.95:
            arm = lumps.arms[int(rng.integers(len(lumps.arms)))]
            lumps.tell(context, arm, 1.0)
            book[context, arm] += 1
        elif len(lumps.arms) > 1:
            lumps.retire_arm(lumps.arms[-1])
        pending = np.zeros_like(lumps.core.state.pending)
        for pull in lumps.core.under_way.values():
            pending[pull.group, pull.arm] += 1.0
        numbers = [int(str(made.id).rpartition("-")[2]) for made in decided]
        waiting = [
            made
            for made, number in zip(decided, numbers, strict=True)
            if number in lumps.core.under_way
        ]
        assert lumps.waiting() == waiting
        np.testing.assert_array_equal(lumps.core.state.pending, pending)
    assert {pair: n for pair, (n, _) in cells(lumps).items()} == book
    assert lumps.outstanding == 40
    assert lumps.core.tells == book.total()
    assert lumps.core.contexts > len(lumps.contexts) > 128


def test_each_decision_takes_one_reward() -> None:
    lumps = Lumps(["red"], max_outstanding=2)
    first, second = lumps.decide("ann"), lumps.decide("ann")
    lumps.reward(second.id, 1.0)
    refused(
        lumps,
        f"got '{second.id}', which has had its reward or was cancelled$",
        lambda: lumps.reward(second.id, 1.0),
    )
    lumps.decide("bob")
    with pytest.warns(UserWarning, match="more than 2 decisions are outstanding: the oldest are"):
        lumps.decide("bob")
    refused(lumps, "forgotten as more than 2 were out", lambda: lumps.reward(first.id, 1.0))
    lumps.decide("bob")  # it is said once
    assert (lumps.outstanding, lumps.forgotten) == (2, 2)
    lumps.tell(first.context, first.arm, 1.0)  # late, and not lost
    assert cells(lumps) == {("ann", "red"): (2.0, 2.0)}
    assert lumps.contexts == ("ann",)


def test_a_decision_that_was_never_played_is_taken_back() -> None:
    lumps = Lumps(["red", "green"])
    before = lumps.core.state.pending.copy(), lumps.core.state.group_visits.copy()
    made = [lumps.decide(name) for name in ("ann", "bob", "ann")]
    assert lumps.waiting() == made
    lumps.cancel(made[1])
    assert lumps.waiting() == [made[0], made[2]]
    words = "has had its reward or was cancelled"
    refused(lumps, words, lambda: lumps.reward(made[1].id, 1.0))
    refused(lumps, words, lambda: lumps.cancel(made[1].id))
    assert lumps.core.state.pending.sum() == 2.0
    lumps.cancel(made[0].id)
    lumps.cancel(made[2])
    assert (lumps.outstanding, lumps.core.tells) == (0, 0)
    after = lumps.core.state.pending, lumps.core.state.group_visits
    assert all(np.array_equal(*each) for each in zip(before, after, strict=True))


@pytest.mark.parametrize(
    ("taken", "fine", "wrong", "words"),
    [
        ("binary", [0, 1.0, True], [0.5, 2, -1.0], "0 or 1, as rewards are binary"),
        ((0, 5), [0, 5.0, 2.5], [5.1, -0.1, 1e6], "a number from 0 to 5"),
        ("any", [1e6, -3.5], [1e200], "a number of at most"),
    ],
)
def test_rewards_out_of_what_is_taken_change_nothing(
    taken: Any, fine: list[float], wrong: list[float], words: str, tmp_path: Path
) -> None:
    lumps = Lumps(["red", "green"], rewards=taken)
    for value in fine:
        lumps.tell("ann", "red", value)
    lumps.save(tmp_path / "state.lumps")
    made = lumps.decide("bob")
    for learner in (lumps, Lumps.load(tmp_path / "state.lumps")):
        for value in [*wrong, math.nan]:
            row = {"context": ["ann", "ann"], "arm": ["red", "red"], "reward": [fine[0], value]}
            refused(learner, words, lambda: learner.tell("ann", "red", value))  # noqa: B023
            refused(learner, words, lambda: learner.tell_many(row))  # noqa: B023
    refused(lumps, words, lambda: lumps.reward(made, wrong[0]))
    many = {"id": [made.id], "reward": [wrong[0]]}
    refused(lumps, words, lambda: lumps.reward_many(many))
    lumps.reward(made, fine[0])


@pytest.mark.parametrize(
    "given", ["some", (1, 0), (0, 0), (0,), (0, math.inf), ("a", "b"), 3, None]
)
def test_what_says_nothing_of_rewards_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="rewards: expected"):
        Lumps(rewards=given)


def test_many_decisions_wait_for_many_rewards() -> None:
    lumps, one = Lumps(range(50), seed=1), Lumps(range(50), seed=1)
    first = lumps.decide_many([f"u{i}" for i in range(10)])
    assert [str(made.id).rpartition("-")[2] for made in first] == [str(i) for i in range(10)]
    assert [made.arm for made in first] == one.ask_many([f"u{i}" for i in range(10)]).arm
    later = lumps.decide_many([f"v{i}" for i in range(10)])
    assert len({made.arm for made in first} | {made.arm for made in later}) == 20
    table = [{"id": np.str_(made.id), "reward": float(i % 2)} for i, made in enumerate(first)]
    lumps.reward_many(table)
    for i, made in enumerate(first):
        one.tell(made.context, made.arm, float(i % 2))
    assert cells(lumps) == cells(one)
    assert lumps.outstanding == 10 == lumps.core.state.pending.sum()
    lumps.reward_many(pl.DataFrame({"id": [made.id for made in later], "reward": [0.0] * 10}))
    assert lumps.outstanding == 0 == lumps.core.state.pending.sum()
    lumps.reward_many([])


def test_a_table_of_numbered_names_counts_as_one_of_names() -> None:
    one, other = (Lumps(["red", "blue"], new_arms=True) for _ in range(2))
    one.tell_counted(
        ["ann", "bob"], ["green", "red"], context=np.array([1, 0, 1]), arm=np.array([0, 1, 1]),
        reward=np.array([1.0, 0.0, 0.0]), count=np.array([3, 1, 2]),
    )  # fmt: skip
    table = {
        "context": ["bob", "ann", "bob"], "arm": ["green", "red", "red"],
        "reward": [1.0, 0.0, 0.0], "count": [3, 1, 2],
    }  # fmt: skip
    other.tell_many(table)
    assert cells(one) == cells(other) == {
        ("ann", "red"): (1.0, 0.0), ("bob", "red"): (2.0, 0.0), ("bob", "green"): (3.0, 3.0)
    }  # fmt: skip


def test_a_table_of_rewards_names_every_id_that_is_wrong() -> None:
    """Forgotten, rewarded, foreign and repeated ones, each with its row; nothing is counted."""
    lumps, other = Lumps(["red"], max_outstanding=3), Lumps(["red"])
    made = lumps.decide_many(["ann", "bob", "cem"])
    with pytest.warns(UserWarning, match="the oldest are forgotten"):
        made.append(lumps.decide("dan"))
    lumps.reward(made[1], 1.0)
    ids = [made[0].id, made[2].id, made[1].id, other.decide("ann").id, made[2].id, made[3].id]
    expected = [
        "id: expected decisions whose rewards are outstanding, each once",
        f"'{ids[0]}', which has had its reward .* forgotten as more than 3 .* .row 0.",
        f"'{ids[2]}', which has had its reward .*.row 2.",
        f"'{ids[3]}' of another one .row 3.",
        f"'{ids[4]}' again .row 4, as in row 1.$",
    ]
    table = {"id": ids, "reward": [1.0] * 6}
    refused(lumps, ".*".join(expected), lambda: lumps.reward_many(table))
    lumps.reward_many({"id": [ids[1], ids[5]], "reward": [1.0, 0.0]})
    assert lumps.outstanding == 0


def test_an_id_many_times_is_refused_in_the_time_of_its_rows() -> None:
    """100,000 rows; in time that grows with their square this would take hours."""
    lumps = Lumps(["red"])
    id = lumps.decide("ann").id
    table = {"id": [id] * 100_000, "reward": [1.0] * 100_000}
    refused(lumps, "row 99999, as in row 0", lambda: lumps.reward_many(table))


def test_a_decision_of_another_life_is_refused(tmp_path: Path) -> None:
    """After a crash the ids since the last save come again; a whole decision is not mistaken."""
    lumps = Lumps(["red", "green"])
    lumps.save(tmp_path / "state.lumps")
    lost = lumps.decide("ann")
    loaded = Lumps.load(tmp_path / "state.lumps")
    refused(loaded, "not made yet, or is not in the file", lambda: loaded.reward(lost, 1.0))
    made = loaded.decide("bob")
    assert made.id == lost.id
    refused(loaded, "id: expected Decision", lambda: loaded.reward(lost, 1.0))
    loaded.reward(made, 1.0)
    assert cells(loaded) == {("bob", made.arm): (1.0, 1.0)}
    again = loaded.decide("bob")
    loaded.reward(np.str_(again.id), 1.0)  # as frames hold ids
    assert loaded.outstanding == 0


def test_decisions_under_way_spread_over_arms() -> None:
    """Before any reward all arms look alike; each decision makes the next one try another."""
    lumps = Lumps(range(10))
    assert {lumps.decide("ann").arm for _ in range(10)} == set(range(10))


def test_decisions_under_way_follow_the_groups() -> None:
    """Made before groups were known, they count in the likeliest ones after each fit."""
    lumps, mean, rng = Lumps(range(6), seed=5), tastes(30, 6), np.random.default_rng(6)
    for i in range(30):
        lumps.decide(i)
    fit, groups = lumps.core.last_fit, set()
    for t in range(900):
        i, j = t % 30, int(rng.integers(6))
        lumps.tell(i, j, float(rng.random() < mean[i, j]))
        if lumps.core.last_fit is not fit:
            fit, likeliest = lumps.core.last_fit, lumps.core.labels()
            waiting = [pull.group for pull in lumps.core.under_way.values()]
            assert waiting == likeliest[:30].tolist()
            groups = set(waiting)
    assert len(groups) == 3
    assert lumps.core.state.pending.sum() == 30


def test_rewards_in_any_order_make_the_same_fit() -> None:
    """Between two fits, 0/1 rewards may come in any order: the next state is the same."""
    S, K = 20, 6
    mean, rng = tastes(S, K), np.random.default_rng(8)
    one, other = (Lumps(range(K), range(S), seed=1) for _ in range(2))
    pairs = [(int(rng.integers(S)), int(rng.integers(K))) for _ in range(2000)]
    told = [(i, j, float(rng.random() < mean[i, j])) for i, j in pairs]
    while len(told) >= (more := one.core.next_fit - one.core.tells):
        block, told = told[:more], told[more:]
        for row in block:
            one.tell(*row)
        for at in rng.permutation(len(block)):
            other.tell(*block[at])
        for name in (
            "log_weight",
            "group_pulls",
            "group_total",
            "group_visits",
            "centre",
            "prior_weight",
        ):
            np.testing.assert_array_equal(
                getattr(one.core.state, name), getattr(other.core.state, name), err_msg=name
            )
        assert cells(one) == cells(other)
    assert one.core.state.log_weight.shape[1] > 1


# --- Propensities -----------------------------------------------------------------------------


def test_arms_are_played_as_often_as_their_propensities_say() -> None:
    """Each arm but the index's has the floor; binomial tests, p < 1e-9."""
    K, floor, rounds = 5, 0.06, 8000
    lumps = Lumps(range(K), floor=floor, seed=3)
    for t in range(100):
        lumps.tell(t % 7, t % K, float(t % K == 2))
    played: Counter[object] = Counter()
    for t in range(rounds):
        best, made = lumps.ask(t % 7), lumps.decide(t % 7)
        expected = 1 - (K - 1) * floor if made.arm == best else floor
        assert made.propensity == pytest.approx(expected)
        played[(int(made.arm) - int(best)) % K] += 1
        lumps.reward(made.id, float(made.arm == 2))
    for step in range(K):
        law = 1 - (K - 1) * floor if step == 0 else floor
        assert stats.binomtest(played[step], rounds, law).pvalue > 1e-9
    batch = lumps.ask_many(["new"] * rounds)
    assert stats.binomtest(int((batch.propensity == floor).sum()), rounds, 0.24).pvalue > 1e-9
    assert set(np.round(batch.propensity, 9)) == {0.06, 0.76}


def test_logged_propensities_give_unbiased_values_of_other_policies() -> None:
    """Freedman's bound for the martingale of weighted rewards, p < 1e-9.

    Each step is at most b = 1/floor, with a variance of at most mean/floor.
    """
    floor, rounds = 0.2, 12_000
    mean, rng = tastes(6, 3), np.random.default_rng(9)
    lumps = Lumps(range(3), floor=floor, seed=4)
    total = {"worst": 0.0, "best": 0.0}
    shift = {"worst": 1, "best": 0}  # which arm it plays for a context, from the best one on
    for t in range(rounds):
        made = lumps.decide(t % 6)
        reward = float(rng.random() < mean[t % 6, int(made.arm)])
        for name, step in shift.items():
            total[name] += (made.arm == (t + step) % 3) * reward / made.propensity
        lumps.reward(made.id, reward)
    for name, value in (("worst", 0.1), ("best", 0.9)):
        b, V, L = 1 / floor, rounds * value / floor, math.log(2e9)
        bound = (b * L / 3 + math.sqrt((b * L / 3) ** 2 + 2 * V * L)) / rounds
        assert abs(total[name] / rounds - value) < bound < 0.7 * value


def test_batches_draw_for_each_context_anew() -> None:
    """Asked one by one before any reward, contexts have luck of their own."""
    lumps, floor = Lumps(["a", "b", "c"], floor=0.1, seed=3), 0.1
    for _ in range(30):
        lumps.tell("u", "a", 1.0)
    rounds = 4000
    arms = Counter(lumps.ask_many([f"w{k}"]).arm[0] for k in range(rounds))
    for arm in ("b", "c"):
        assert abs(arms[arm] / rounds - floor) < math.sqrt(math.log(2e9) / (2 * rounds))
    twice = lumps.ask_many(["w1"] * 200).arm
    assert len(set(twice)) == 3
    assert lumps.ask_many(["w1"] * 200).arm == twice


def test_a_floor_that_is_too_high_is_refused() -> None:
    for floor in (-0.1, 1.0, math.nan, "0.1"):
        with pytest.raises(ValueError, match=r"floor: expected a number in \[0, 1\)"):
            Lumps(floor=floor)  # type: ignore[arg-type]
    lumps = Lumps(["red", "green"], floor=0.4)
    assert lumps.decide("ann", ["red"]).propensity == 1.0
    three = ["red", "green", "blue"]
    words = "less than 1 / 3 where 3 arms are allowed, got 0.4"
    refused(lumps, "expected known arms", lambda: lumps.decide("ann", three))
    lumps.add_arm("blue")
    refused(lumps, words, lambda: lumps.decide("ann", three))
    refused(lumps, words, lambda: lumps.decide("ann"))
    refused(lumps, words, lambda: lumps.ask_many(["ann"]))
    assert lumps.ask("ann") in three  # no chance is needed to say which is best


# --- Tables -----------------------------------------------------------------------------------

TABLE: dict[str, Any] = {
    "context": ["ann", "bob", "ann", "cem"],
    "arm": ["red", "red", "green", "blue"],
    "reward": [1.0, 0.0, 1.0, 1.0],
    "count": [3, 2, 1, 4],
}


@pytest.mark.parametrize("kind", [dict, pl.DataFrame, "pandas", "pyarrow", np.array, "rows"])
def test_tables_of_any_kind_are_told(kind: Any) -> None:
    table: Any
    if kind == "pandas":
        table = importlib.import_module("pandas").DataFrame(TABLE)
    elif kind == "pyarrow":
        table = importlib.import_module("pyarrow").table(TABLE)
    elif kind == "rows":
        table = pl.DataFrame(TABLE).to_dicts()
    elif kind is np.array:
        table = {name: np.array(column) for name, column in TABLE.items()}
    else:
        table = kind(TABLE)
    lumps, each = Lumps(), Lumps()
    lumps.tell_many(table)
    for context, arm, reward, count in zip(*TABLE.values(), strict=True):
        for _ in range(count):
            each.tell(context, arm, reward)
    assert cells(lumps) == cells(each)
    assert (lumps.core.tells, lumps.arms) == (10, ("red", "green", "blue"))
    batch = lumps.ask_many(["bob", "new"])
    assert batch.rows() == [
        Choice("bob", batch.arm[0], 1.0),
        Choice("new", batch.arm[1], 1.0),
    ]
    assert pl.DataFrame(batch.rows()).shape == (len(batch), 3)
    assert lumps.ask_many(["bob"]).arm == [lumps.ask("bob")]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"reward": [1.0, 0.0, None, 1.0]}, "reward: expected a number, got None"),
        ({"reward": [1.0, 0.0, math.nan, 1.0]}, "reward: expected .*, got nan in row 2"),
        ({"reward": ["1", "0", "1", "1"]}, "reward: expected a number, got '1'"),
        ({"count": [1, 1, 0, 1]}, "count: expected a whole number .*, got 0 in row 2"),
        ({"count": [1, 1.5, 1, 1]}, "count: expected a whole number .*, got 1.5 in row 1"),
        ({"count": [1, 1]}, "columns of one length"),
        ({"context": ["ann", None, "x", "y"]}, "context: expected a string"),
        ({"context": ["ann", 1.5, "x", "y"]}, "context: expected a string.*, got 1.5 in row 1$"),
        ({"context": ["ann", "x", math.nan, 1]}, "context: expected a string.*, got nan in row 2$"),
        ({"arm": ["red", "red", "new", True]}, "arm: expected a string.*, got True in row 3$"),
        ({"reward": np.ones(4, "m8[ns]")}, "reward: expected numbers or names, got a column of"),
        ({"context": np.ones(4, "M8[ns]")}, "context: expected numbers or names, got a column of"),
        ({"reward": [1.0, 0.0, np.timedelta64(1, "s"), 1.0]}, "reward: expected a number, got"),
    ],
)
def test_wrong_tables_change_nothing(column: dict[str, Any], words: str) -> None:
    lumps = Lumps(["red"], new_arms=True)
    refused(lumps, words, lambda: lumps.tell_many({**TABLE, **column}))


def test_what_is_no_table_is_refused() -> None:
    lumps = Lumps(["red"])
    refused(lumps, "expected a frame or a mapping of columns, got int", lambda: lumps.tell_many(3))
    less: dict[str, Any] = {"context": [], "reward": []}
    refused(lumps, "expected a column 'arm', got", lambda: lumps.tell_many(less))
    lumps.tell_many({"context": [], "arm": [], "reward": []})
    assert lumps.core.tells == 0


# --- Files and beliefs ------------------------------------------------------------------------


def lived(seed: int = 3) -> Lumps:
    """Return a learner of three groups with 30 decisions under way and an arm retired."""
    lumps = Lumps(
        ["tea", 2, "two", "milk", "rum", "ale"], floor=0.02, seed=seed, max_outstanding=500
    )
    mean, rng = tastes(30, 6), np.random.default_rng(seed)
    for t in range(1030):
        made = lumps.decide(int(i) if (i := rng.integers(30)) % 2 else f"user {i}")
        arm = lumps._named.arms.number[made.arm]
        if t < 1000:
            lumps.reward(made.id, float(rng.random() < mean[i, arm]))
    lumps.retire_arm("ale")
    return lumps


def test_a_loaded_learner_goes_on_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    lumps = lived()
    lumps.save(tmp_path / "drinks.lumps")
    loaded = Lumps.load(tmp_path / "drinks.lumps")
    assert repr(loaded) == repr(lumps)
    np.testing.assert_array_equal(loaded.core.state.pending, lumps.core.state.pending)
    assert (loaded.contexts, loaded.arms, loaded.retired) == (
        lumps.contexts, lumps.arms, lumps.retired,
    )  # fmt: skip
    rng, ids = np.random.default_rng(1), [made.id for made in lumps.waiting()]
    first = str(ids[0]).replace(str(ids[0]).rpartition("-")[2], "0")
    for t in range(1500):
        context = int(rng.integers(60))
        made = lumps.decide(context)
        assert made == loaded.decide(context)
        ids.append(made.id)
        id, reward = ids.pop(int(rng.integers(len(ids)))), float(rng.random() < 0.5)
        for each in (lumps, loaded):
            each.reward(id, reward)
            if t == 700:
                each.add_arm("gin")
    np.testing.assert_array_equal(loaded.core.state.pending, lumps.core.state.pending)
    assert loaded.seed == lumps.seed == 3
    assert loaded.core.next_fit > 1500
    refused(loaded, "-0', which has had its reward", lambda: loaded.reward(first, 1.0))


def test_the_youngest_learner_is_kept_too(tmp_path: Path) -> None:
    Lumps(floor=0.25, seed=8).save(tmp_path / "new.lumps")
    loaded = Lumps.load(tmp_path / "new.lumps")
    assert (loaded.arms, loaded.contexts, loaded.floor, loaded.seed) == ((), (), 0.25, 8)
    loaded.tell("ann", "red", 1.0)
    assert loaded.core.state.allowed.tolist() == [True]
    assert loaded.decide("ann").arm == "red"


def test_files_that_no_learner_wrote_are_refused(tmp_path: Path) -> None:
    lumps, path = lived(), tmp_path / "odd.lumps"
    lumps.save(path)
    core, extra = stored.load(path, ThreeLevels)
    rows = extra["waiting"]
    assert isinstance(rows, list)
    odd: list[dict[str, object]] = [
        {"arms": ["tea"]},
        {"contexts": ["ann", "ann"]},
        {"contexts": [True]},
        {"floor": 1.5},
        {"most": 3},
        {"made": 3},
        {"waiting": [[*rows[0][:2], 99, *rows[0][3:]]]},
        {"waiting": [[*rows[0][:3], 0.0, 0]]},
        {"waiting": [[*rows[0][:4], 64]]},
        {"waiting": [rows[1], rows[0]]},
        {"open": [True]},
        {"extra": 1},
        {"lost": -1},
        {"tags": []},
        {"tags": [[1, "abc"]]},
        {"tags": [[0, "abc"], [0, "xyz"]]},
        {"tags": [[0, "abc"], [10_000, "xyz"]]},
        {"tags": [[0, "a-b"]]},
        {"at_most": 0},
        {"at_most": [["tea", 1.5]]},
    ]
    for change in odd:
        stored.save(core, path, {**extra, **change})
        with pytest.raises(ValueError, match="holds no learner with names"):
            Lumps.load(path)


def test_what_is_expected_of_each_arm() -> None:
    lumps = Lumps(["red", "green", "blue"], seed=3)
    rng = np.random.default_rng(5)
    means: dict[object, float] = {"red": 0.9, "green": 0.5, "blue": 0.1}
    for _ in range(200):
        name = f"user {rng.integers(10)}"
        arm = lumps.ask(name)
        lumps.tell(name, arm, float(rng.random() < means[arm]))
    lumps.retire_arm("green")
    before = snapshot(lumps)
    for name in ("user 3", "nobody"):
        rows = lumps.expected(name)
        assert [row.arm for row in rows] == ["red", "blue"]  # green is out of choices
        assert rows[0].arm == lumps.ask(name)
        assert rows[0].index > rows[1].index
        place = lumps._named.place(name)
        believed = lumps.core.posterior_means(np.array([place]))[0]
        number = lumps._named.arms.number
        assert [row.expected_reward for row in rows] == [believed[number[r.arm]] for r in rows]
    own = {row.arm: row.rewards for row in lumps.expected("user 3")}
    mine = next(row for row in lumps.members() if row.context == "user 3")
    assert 0 < own["red"] + own["blue"] <= mine.rewards
    assert all(row.rewards == 0 for row in lumps.expected("nobody"))
    assert snapshot(lumps) == before


def test_beliefs_have_names() -> None:
    lumps = lived()
    groups = lumps.groups()
    assert {row.best_arm for row in groups} <= set(lumps.arms) | {"ale"}
    assert sum(row.size for row in groups) == pytest.approx(30)
    assert {row.context for row in lumps.members()} == set(lumps.contexts)
    assert len(lumps.means(level=0.5)) == 6 * len(groups)
    assert lumps.together("user 0", "user 6") > 0.99 > 0.01 > lumps.together("user 0", 1)
    words = "expected a known context, got 'new'"
    refused(lumps, words, lambda: lumps.together("user 0", "new"))
    assert f"{len(groups)} groups" in lumps.summary()
    assert [row.groups for row in lumps.evidence() if row.believed] == [len(groups)]
    assert lumps.residuals()


def test_the_page_has_names(tmp_path: Path) -> None:
    path = lived().report(tmp_path / "page.html")
    text = path.read_text(encoding="utf-8")
    assert "milk" in text
    assert "user 28" in text


def test_arms_drawn_at_once_are_those_drawn_one_by_one() -> None:
    rng, floor = np.random.default_rng(5), 0.07
    for allowed in (np.array([False, True, True, False, True, True]), np.arange(6) == 3):
        best = rng.choice(np.flatnonzero(allowed), 400)
        u = np.append(rng.random(398), [0.0, np.nextafter(1.0, 0.0)])
        arms, propensity = decisions.draw_arms(best, allowed, floor, u)
        pairs = zip(best.tolist(), u.tolist(), strict=True)
        one_by_one = [decisions.draw_arm(arm, allowed, floor, luck) for arm, luck in pairs]
        assert [*zip(arms.tolist(), propensity.tolist(), strict=True)] == one_by_one
        assert set(arms.tolist()) == set(np.flatnonzero(allowed).tolist())
