"""Real rewards are kept: in whatever order and way they come, after forgetting, growing and saving.

What was seen is then the same to the last bit, and so is the fit, a pure function of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counts_made import counted, equal, listed

from lumpable import Lumps
from lumpable.base.arrays import FloatVector, IntVector
from lumpable.lumps.core.batches import ask_many, tell_many
from lumpable.lumps.core.forgetting import without
from lumpable.lumps.core.growth import grow
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.core.retraction import retract
from lumpable.lumps.core.state import FIRST_LOG
from lumpable.lumps.model import fitted
from lumpable.lumps.use import stored

S, K = 30, 6
NEVER = 10**12
Rows = tuple[IntVector, IntVector, FloatVector]
FIRST: Rows = (np.array([0]), np.array([0]), np.array([0.5]))


def rows(number: int = 900, seed: int = 1) -> Rows:
    """Return rewards of three groups: coins, amounts, some of them often, and two wild ones."""
    rng = np.random.default_rng(seed)
    context, arm = rng.integers([S, K], size=(number, 2)).T
    mean = np.where(arm % 3 == context % 3, 3.0, 1.0)
    reward = np.round(rng.gamma(2.0, mean), 1)
    reward = np.where(rng.random(number) < 0.2, np.where(mean > 2.0, 1.0, 0.0), reward)
    reward[[5, 50]] = 1e9, -1e9
    return context, arm, reward


def one_by_one(learner: ThreeLevels, table: Rows) -> ThreeLevels:
    for i, j, y in zip(*(column.tolist() for column in table), strict=True):
        learner.tell(i, j, y)
    return learner


def at_once(learner: ThreeLevels, table: Rows) -> ThreeLevels:
    tell_many(learner, *table, np.ones(len(table[0]), dtype=np.int64))
    return learner


def part(table: Rows, which: Any) -> Rows:
    context, arm, reward = (column[which] for column in table)
    return context, arm, reward


def joined(one: Rows, two: Rows) -> Rows:
    context, arm, reward = (np.concatenate(pair) for pair in zip(one, two, strict=True))
    return context, arm, reward


def shuffled(table: Rows, seed: int) -> Rows:
    return part(table, np.random.default_rng(seed).permutation(len(table[0])))


def test_rewards_are_kept_in_whatever_order_and_way_they_come() -> None:
    table = rows()
    truth = counted(*table, K)
    fit = fitted.fit(truth)
    learners = [one_by_one(ThreeLevels(S, K), shuffled(table, seed)) for seed in range(2)]
    learners += [at_once(ThreeLevels(S, K), shuffled(table, seed)) for seed in range(2)]
    halves = at_once(ThreeLevels(S, K), part(table, slice(0, 400)))
    learners.append(one_by_one(halves, part(table, slice(400, None))))
    for learner in learners:
        assert equal(learner.counts(), truth)
        assert equal(learner.fit(learner.counts()), fit)
    assert fit.groups == 3
    back = listed(truth)
    order = np.lexsort(table[::-1])
    assert all(np.array_equal(a, b[order]) for a, b in zip(back, table, strict=True))


def test_equal_rewards_are_kept_once_and_counted() -> None:
    """A fit brings together what came since: the log is as long as there are different rewards."""
    learner = ThreeLevels(S, K)
    for _ in range(40):
        for reward in (2.0, 3.5, 0.0, 1.0):
            learner.tell(4, 2, reward)
    learner.next_fit = learner.tells
    learner.refit()
    assert learner.state.logged[0] == 2
    others = learner.counts().others
    assert others is not None
    assert others.value.tolist() == [2.0, 3.5]
    assert others.times.tolist() == [40.0, 40.0]
    tell_many(learner, *(np.array([x]) for x in (4, 2, 2.0, 60)))
    value, times = np.unique(listed(learner.counts())[2], return_counts=True)
    assert value.tolist() == [0.0, 1.0, 2.0, 3.5]
    assert times.tolist() == [40, 40, 100, 40]


def test_there_is_room_for_any_number_of_rewards_between_fits() -> None:
    learner, rng = ThreeLevels(S, K), np.random.default_rng(2)
    learner.tell(0, 0, 0.5)
    table: Rows = rng.integers(S, size=5000), rng.integers(K, size=5000), rng.normal(size=5000)
    for i, j, y in zip(*(column.tolist() for column in table), strict=True):
        learner.next_fit = NEVER
        learner.tell(i, j, y)
    assert learner.state.logged[0] == 5001 > FIRST_LOG
    assert equal(learner.counts(), counted(*joined(table, FIRST), K))


def test_forgetting_leaves_the_rewards_of_others() -> None:
    context, arm, reward = rows()
    learner = at_once(ThreeLevels(S, K), (context, arm, reward))
    gone = without(learner, 7)
    kept = context != 7
    moved = context[kept] - (context[kept] > 7)
    truth = counted(moved, arm[kept], reward[kept], K)
    assert equal(gone.counts(), truth)
    assert equal(gone.last_fit, fitted.fit(truth))
    assert gone.tells == kept.sum()


def test_saved_rewards_come_back_and_so_does_the_next_fit(tmp_path: Path) -> None:
    table = rows()
    learner = at_once(ThreeLevels(S, K, seed=3), part(table, slice(0, 700)))
    stored.save(learner, tmp_path / "learner", {})
    loaded = stored.load(tmp_path / "learner", ThreeLevels)[0]
    for each in (learner, loaded):
        one_by_one(each, part(table, slice(700, None)))
        assert equal(each.counts(), counted(*table, K))
    assert equal(learner.last_fit, loaded.last_fit)
    everyone = np.arange(S)
    assert np.array_equal(ask_many(learner, everyone), ask_many(loaded, everyone))
    assert [learner.ask(i) for i in range(S)] == [loaded.ask(i) for i in range(S)]


# --- Room for more contexts and arms --------------------------------------------------------------


def test_room_changes_nothing_for_what_was_there() -> None:
    """New arms have the law of all arms, new contexts that of the groups."""
    learner = at_once(ThreeLevels(S, K, seed=3), rows())
    before = learner.posterior_means(np.arange(S))
    grow(learner, S + 5, K + 2)
    assert learner.last_fit is not None
    assert learner.last_fit.scale is not None
    worth, phi = learner.last_fit.scale.worth, learner.last_fit.scale.phi
    after = learner.posterior_means(np.arange(S + 5))
    np.testing.assert_array_equal(after[:S, :K], before)
    np.testing.assert_allclose(after[:, K:], worth.p0)
    share = np.exp(learner.share) / np.exp(learner.share).sum()
    np.testing.assert_allclose(after[S:], np.tile(share @ worth.means.T, (5, 1)))
    np.testing.assert_allclose(learner.state.noise, worth.noise.T)
    np.testing.assert_allclose(learner.state.phi, phi)
    assert len(phi) == K + 2
    assert (learner.state.noise > 0.0).all()


def test_what_comes_after_growing_counts_as_if_there_had_always_been_room() -> None:
    """Told one by one and at once: cells, the next fit, and from there every belief."""
    table, rng = rows(), np.random.default_rng(4)
    grown = at_once(ThreeLevels(S, K, seed=3), table)
    grow(grown, S + 5, K + 2)
    wide = ThreeLevels(S + 5, K + 2, seed=3)
    wide.state.due[0] = wide.next_fit = NEVER
    at_once(wide, table)
    more = rng.integers(S + 5, size=300), rng.integers(K + 2, size=300), rng.gamma(2.0, 2.0, 300)
    one_by_one(grown, more)
    at_once(wide, more)
    truth = counted(*joined(table, more), K + 2)
    for learner in (grown, wide):
        assert equal(learner.counts(), truth)
        learner.adopt(learner.fit(truth))
    assert equal(grown.last_fit, wide.last_fit)
    everyone = np.arange(S + 5)
    assert np.array_equal(grown.posterior_means(everyone), wide.posterior_means(everyone))
    assert [grown.ask(i) for i in range(S + 5)] == [wide.ask(i) for i in range(S + 5)]


def test_names_that_come_late_have_rewards_of_any_size() -> None:
    """By name: new people and new arms between real rewards; every reward is kept."""
    rng, lumps = np.random.default_rng(5), Lumps(["red", "green"], seed=1)
    reward = np.round(rng.lognormal(0.0, 1.5, 600), 2)
    context, arm = np.zeros((2, 600), dtype=np.int64)
    for t in range(600):
        if t == 300:
            lumps.add_arm("blue")
        name, arm[t] = f"user {rng.integers(1 + t // 20)}", t % len(lumps.arms)
        lumps.tell(name, lumps.arms[arm[t]], float(reward[t]))
        context[t] = lumps.contexts.index(name)
    assert lumps.core.arms == 3
    assert equal(lumps.core.counts(), counted(context, arm, reward, 3))


# --- Calls that are refused -----------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e200])
def test_a_reward_that_is_no_number_changes_nothing(wrong: Any) -> None:
    learner = at_once(ThreeLevels(S, K), rows())
    before, logged = learner.counts(), learner.state.logged[0]
    with pytest.raises(ValueError, match="reward"):
        learner.tell(0, 0, wrong)
    table = np.array([0, 1]), np.array([0, 1]), np.array([0.5, wrong])
    with pytest.raises(ValueError, match="rewards: expected"):
        at_once(learner, table)
    assert equal(learner.counts(), before)
    assert learner.state.logged[0] == logged


@pytest.mark.parametrize("tiny", [5e-324, 1e-309, 1e-200, 4e-101])
def test_the_tiniest_rewards_count_as_0(tiny: float) -> None:
    """Products of their squares vanish: fits of them never ended, or ended in an error."""
    context, arm, _ = rows()
    small = tiny * (1.0 + (context + arm) % 2)
    reward: FloatVector = np.where(context == arm, 1.0, small).astype(np.float64)
    plain = at_once(ThreeLevels(S, K, seed=1), (context, arm, np.where(context == arm, 1.0, 0.0)))
    for told in (one_by_one, at_once):
        learner = told(ThreeLevels(S, K, seed=1), (context, arm, reward))
        assert equal(learner.counts(), plain.counts())
    before = learner.counts()
    learner.tell(3, 2, -tiny)
    retract(learner, 3, 2, -tiny)
    assert equal(learner.counts(), before)
