"""Law: no context is shown an arm more often than `at_most` says, whatever else happens."""

from __future__ import annotations

import copy
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lumpable import Lumps

ARMS = ["red", "green", "blue"]


def test_an_arm_that_is_used_up_is_left_out() -> None:
    lumps = Lumps(ARMS, at_most=2, seed=1)
    made = [lumps.decide("ann") for _ in range(6)]
    assert Counter(each.arm for each in made) == dict.fromkeys(ARMS, 2)
    words = "an arm that may be chosen, but 'ann' was shown each of them as often as `at_most`"
    for call in (lumps.ask, lumps.decide, lumps.best):
        with pytest.raises(ValueError, match=words):
            call("ann")
    for many in (lumps.ask_many, lumps.decide_many):
        with pytest.raises(ValueError, match=words):
            many(["bob", "ann"])
    assert lumps.outstanding == 6
    assert [row.context for row in lumps.policy()] == []
    lumps.reward(made[0], 1.0)  # a reward does not give it back
    with pytest.raises(ValueError, match=words):
        lumps.decide("ann")
    lumps.cancel(made[1])  # this does
    assert lumps.ask("ann") == lumps.best("ann").best_arm == made[1].arm
    assert lumps.decide("ann").arm == made[1].arm
    assert lumps.decide("bob").arm in ARMS


def test_told_rewards_count() -> None:
    lumps = Lumps(ARMS, at_most={"red": 3, "green": 1})
    assert lumps.at_most == {"red": 3, "green": 1}
    lumps.tell_many({"context": ["ann"], "arm": ["red"], "reward": [1.0], "count": [3]})
    lumps.tell("ann", "green", 1.0)
    assert lumps.ask("ann") == "blue"
    assert lumps.ask("ann", allowed=ARMS) == "blue"
    with pytest.raises(ValueError, match="as often as `at_most` allows"):
        lumps.ask("ann", allowed=["red", "green"])
    lumps.tell("ann", "green", 1.0)  # what was shown elsewhere was shown
    assert [row.arm for row in lumps.expected("ann")] == ["blue"]
    assert (lumps.policy()[0].best_arm, lumps.policy()[0].runner_up) == ("blue", None)
    assert lumps.policy()[0].probability_best == 1.0
    assert lumps.best("bob").best_arm in ("red", "green")
    for _ in range(20):
        assert lumps.decide("ann").arm == "blue"  # which has no limit


def test_any_life_keeps_the_limits(tmp_path: Path) -> None:
    """Against a plain counter: decisions, batches, cancellations, copies, files, people who go."""
    most: dict[str | int, int] = {"red": 2, "green": 3, "blue": 4, 7: 1}
    lumps: Lumps = Lumps([*most, "free"], at_most=most, floor=0.05, seed=3)
    rng, shown, waiting = np.random.default_rng(4), Counter[Any](), list[Any]()
    for t in range(1500):
        user, event = f"user {rng.integers(1 + t // 15)}", rng.random()
        if event < 0.35:
            made = [lumps.decide(user)]
        elif event < 0.5:
            made = lumps.decide_many([user, "user 0", user, user])
        else:
            made = []
        waiting += made
        shown.update((each.context, each.arm) for each in made)
        if waiting and 0.5 <= event < 0.9:
            each = waiting.pop(int(rng.integers(len(waiting))))
            if event < 0.6:
                lumps.cancel(each)
                shown[each.context, each.arm] -= 1
            else:
                lumps.reward(each.id, float(rng.random() < 0.5))
        elif 0.9 <= event < 0.91 and user in lumps.contexts:
            lumps.forget(user)
            waiting = [each for each in waiting if each.context != user]
            shown = Counter({pair: n for pair, n in shown.items() if pair[0] != user})
        elif 0.91 <= event < 0.93:
            lumps.save(tmp_path / f"{t}.lumps")
            lumps = Lumps.load(tmp_path / f"{t}.lumps")
        elif 0.93 <= event < 0.95:
            lumps = copy.deepcopy(lumps)
        for (_, arm), times in shown.items():
            assert times <= most.get(arm, t + 9)
    assert max(n for (_, arm), n in shown.items() if arm == "red") == 2  # limits were reached
    assert lumps.core.last_fit is not None


def test_limits_that_are_far_change_nothing() -> None:
    """Batches come from the same tables as without any limit."""
    plain, limited = Lumps(range(6), seed=2), Lumps(range(6), seed=2, at_most=1000)
    rng = np.random.default_rng(5)
    for _ in range(20):
        users = [f"user {i}" for i in rng.integers(40, size=50)]
        made = plain.decide_many(users), limited.decide_many(users)
        assert [each.arm for each in made[0]] == [each.arm for each in made[1]]
        for one, other in zip(*made, strict=True):
            reward = float(rng.random() < 0.5)
            plain.reward(one, reward)
            limited.reward(other, reward)
        assert plain.decide("ann").arm == limited.decide("ann").arm


def test_those_near_a_limit_still_spread_over_arms() -> None:
    """Each was shown arm 0; of the others one looks best to each alone, and not all try it."""
    lumps = Lumps(range(10), at_most=1, seed=3)
    users = [f"user {i}" for i in range(90)]
    for j in range(1, 10):
        lumps.tell("one", j, float(j == 4))
    for user in users:
        lumps.tell(user, 0, 0.0)
    assert {lumps.ask(user) for user in users} == {4}
    arms = Counter(lumps.ask_many(users).arm)
    assert set(arms) == set(range(1, 10))
    assert max(arms.values()) == arms[4]
    shuffled = np.random.default_rng(1).permutation(90)
    again = lumps.ask_many([users[i] for i in shuffled]).arm
    assert again == [lumps.ask_many(users).arm[i] for i in shuffled]  # in whatever order
    assert lumps.ask_many([users[3]]).arm == [lumps.ask(users[3])]
    assert lumps.outstanding == 0


def test_a_limit_holds_within_a_batch() -> None:
    lumps = Lumps(ARMS, at_most=2)
    batch = lumps.ask_many(["ann"] * 6 + ["bob"])
    assert Counter(batch.arm[:6]) == dict.fromkeys(ARMS, 2)
    with pytest.raises(ValueError, match="but 'ann' was shown each of them"):
        lumps.decide_many(["ann"] * 7)
    assert lumps.outstanding == 0
    lumps.decide_many(["ann"] * 6)
    assert lumps.outstanding == 6


def test_propensities_are_those_of_the_arms_that_are_left() -> None:
    """Alone and in batches; binomial tests, p < 1e-9."""
    floor, rounds = 0.2, 3000
    lumps = Lumps(ARMS, at_most={"red": 1}, floor=floor, seed=6)
    users = [f"user {i}" for i in range(rounds)]
    lumps.tell_many({"context": users, "arm": ["red"] * rounds, "reward": [1.0] * rounds})
    single = [lumps.decide(user).propensity for user in users[:1000]]
    batch = lumps.ask_many(users)
    for drawn in (np.array(single), batch.propensity):
        assert set(np.round(drawn, 9)) == {0.2, 0.8}
        assert stats.binomtest(int((drawn < 0.5).sum()), len(drawn), floor).pvalue > 1e-9
    assert "red" not in batch.arm
    narrow = Lumps(ARMS, at_most={"red": 1}, floor=0.4)
    narrow.tell("ann", "red", 1.0)
    assert narrow.decide("ann").propensity in (0.4, 0.6)  # two arms are left: 0.4 fits
    assert len(narrow.decide_many(["ann", "ann"])) == 2
    with pytest.raises(ValueError, match="less than 1 / 3 where 3 arms are allowed"):
        narrow.decide("bob")
    with pytest.raises(ValueError, match="less than 1 / 3 where 3 arms are allowed"):
        narrow.ask_many(["ann", "bob"])


@pytest.mark.parametrize("given", [0, -1, 1.5, "3", True, [1], {"red": 0}, {"red": None}])
def test_what_is_no_limit_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="at_most: expected a whole number of at least 1"):
        Lumps(ARMS, at_most=given)
    with pytest.raises(ValueError, match="arm: expected a string, or an integer"):
        Lumps(ARMS, at_most={True: 1})


def test_limits_are_kept_in_files(tmp_path: Path) -> None:
    some: dict[str | int, int] = {"red": 2, 7: 1}
    for number, given in enumerate((None, 3, some)):
        lumps = Lumps([*ARMS, 7], at_most=given)
        lumps.save(tmp_path / str(number))
        assert Lumps.load(tmp_path / str(number)).at_most == given
    assert Lumps.load(Path(__file__).parents[1] / "data" / "groups.lumps").at_most is None


def test_a_limit_of_an_arm_that_was_not_listed_is_refused() -> None:
    """It is a slip, and would limit nothing; where arms may come, it is for one to come."""
    with pytest.raises(ValueError, match=r"at_most: expected arms that are listed .*, got 'gren'"):
        Lumps(ARMS, at_most={"gren": 1, "red": 2})
    for lumps in (Lumps(at_most={"gren": 1}), Lumps(ARMS, at_most={"gren": 1}, new_arms=True)):
        lumps.decide("ann", allowed=["gren"])
        with pytest.raises(ValueError, match="as often as `at_most` allows"):
            lumps.decide("ann", allowed=["gren"])
