"""A fit in three steps, due, fit and adopt, wherever each is taken.

Laws. Without a reward in between it is, bit for bit, what the learner does by itself. With rewards
in between, every cell is kept, the groups' sums are those of all cells, and members follow from
all of them. Whatever a fit needs and is can be sent to another process.
"""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from counts_made import equal, listed

import lumpable as lb
from lumpable.lumps.core.growth import grow
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.core.top_two import TopTwo
from lumpable.lumps.model import search
from lumpable.lumps.model.counts import group_sums
from lumpable.lumps.model.factors import residual_sums
from lumpable.lumps.model.fit import Fit, averaged
from lumpable.lumps.model.fitted import coins_of
from lumpable.lumps.model.scores import scored
from lumpable.lumps.model.worth import worth

MEANS = np.where(np.arange(6) % 3 == np.arange(3)[:, None], 0.8, 0.2)
WORLDS = {
    "bernoulli": lb.worlds.lumpable(30, 6, 3, means=MEANS, noise="bernoulli", seed=2),
    "gaussian": lb.worlds.lumpable(30, 6, 3, means=MEANS, sd=0.3, seed=2),
}
NEVER = 10**12


def play(learner: Levels, world: lb.World, rounds: int, seed: int) -> None:
    """Play arms at random: groups show soon."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        i, j = int(rng.integers(world.contexts)), int(rng.integers(world.arms))
        learner.tell(i, j, world.reward(i, j, rng))


def step(learner: Levels) -> None:
    """Take the three steps, with all that goes between them sent through bytes."""
    if learner.due():
        counts, before = pickle.loads(pickle.dumps((learner.counts(), learner.last_fit)))
        fit: Fit = pickle.loads(pickle.dumps(learner.fit(counts, before)))
        learner.adopt(fit)


@pytest.mark.parametrize("kind", [ThreeLevels, TopTwo])
@pytest.mark.parametrize("name", WORLDS)
def test_three_steps_are_what_it_does_by_itself(name: str, kind: Any) -> None:
    world, rng = WORLDS[name], np.random.default_rng(3)
    plain, other = (kind(world.contexts, world.arms, seed=4) for _ in range(2))
    grow(plain, 31, 6)  # room for all cells from the start: only fits fall due
    grow(other, 31, 6)
    for _ in range(900):
        i = int(rng.integers(world.contexts))
        assert plain.ask(i) == other.ask(i)
        arm = int(rng.integers(world.arms))
        reward = world.reward(i, arm, rng)
        plain.tell(i, arm, reward)
        refit, other.refit = other.refit, lambda: None
        other.tell(i, arm, reward)
        other.refit = refit
        step(other)
        if other.state.due[0] <= other.tells:
            other.refit()  # room
    assert plain.last_fit is not None
    assert plain.last_fit.groups > 1
    for name, mine, its in zip(plain.state._fields, plain.state, other.state, strict=True):
        assert np.array_equal(mine, its), name


def snapshot(name: str, rounds: int = 400) -> tuple[ThreeLevels, Fit]:
    """Return a learner that was told more while a fit was made, and that fit."""
    world = WORLDS[name]
    learner = ThreeLevels(world.contexts, world.arms, seed=4)
    play(learner, world, rounds, seed=1)
    fit = learner.fit(learner.counts(), learner.last_fit)
    learner.next_fit = learner.state.due[0] = NEVER
    play(learner, world, 150, seed=2)
    return learner, fit


@pytest.mark.parametrize("name", WORLDS)
def test_rewards_in_between_count(name: str) -> None:
    learner, fit = snapshot(name)
    cells = learner.counts()
    learner.adopt(fit)
    after, adopted = learner.counts(), learner.last_fit
    assert adopted is not None
    assert adopted.groups == fit.groups > 1
    assert (adopted.m0, adopted.kappa) == (fit.m0, fit.kappa)
    assert adopted.rewards == learner.tells == after.n.sum()
    assert equal(cells, after)
    member = learner.membership(after.context)
    pulls, totals = group_sums(coins_of(after, fit), member, fit.m0)
    np.testing.assert_allclose(learner.state.group_pulls, pulls.T)
    np.testing.assert_allclose(learner.state.group_total, averaged(pulls, totals, fit.doubt).T)
    np.testing.assert_allclose(learner.state.group_visits.sum(), learner.tells)
    assert learner.next_fit > learner.tells
    assert learner.state.due[0] == learner.next_fit


def test_real_rewards_in_between_count_by_the_score_of_the_fit() -> None:
    """Score and dispersions stay; what arms are worth is that of all rewards."""
    learner, fit = snapshot("gaussian")
    play(learner, WORLDS["gaussian"], 40, seed=3)
    learner.tell(3, 2, 1e6)  # the fence of the fit holds
    learner.adopt(fit)
    assert fit.scale is not None
    assert learner.last_fit is not None
    assert learner.last_fit.scale is not None
    (score, phi, before), (same, also, after) = fit.scale, learner.last_fit.scale
    assert equal(score, same)
    assert np.array_equal(phi, also)
    counts = learner.counts()
    cells = scored(counts, score)
    exact = worth(counts, cells, learner.last_fit.member, before.own, np.zeros((30, 0)))
    assert after.pulls == pytest.approx(exact.pulls)
    assert after.pulls.sum() > before.pulls.sum()
    np.testing.assert_allclose(learner.state.worth_pulls, exact.pulls.T)
    np.testing.assert_allclose(learner.state.worth_total, exact.totals.T)
    np.testing.assert_allclose(learner.state.noise, exact.noise.T)
    totals = np.zeros((30, 6))
    for i, j, y in zip(*listed(counts), strict=True):
        totals[i, j] += min(max(y, score.low), score.high)
    everyone = learner.posterior_means(np.arange(30))
    assert everyone.max() < score.high
    for i in range(30):
        at = slice(learner.state.start[i], learner.state.start[i] + learner.state.length[i])
        assert learner.state.total[at] == pytest.approx(totals[i, learner.state.arm[at]])


def test_a_step_further_is_a_step_of_em() -> None:
    """What came since moves members as the next iteration of the fit would."""
    learner, fit = snapshot("bernoulli")
    counts = learner.counts()
    ahead = search.catch_up(counts, fit)
    whole = search.settle(counts, ahead.member, ahead)
    stale = fit.membership(counts.context)
    behind = np.abs(whole.member - stale).max()
    assert np.abs(whole.member - ahead.member).max() < 0.3 * behind
    assert behind > 1e-3  # or there is nothing to see


def test_directions_too() -> None:
    rng, S, K = np.random.default_rng(4), 60, 10
    factor, loading = rng.normal(size=S), rng.normal(size=K)
    learner = ThreeLevels(S, K)
    for i in range(S):
        for j in rng.permutation(K)[:7]:
            learner.tell(i, int(j), float(rng.normal(factor[i] * loading[j], 0.1)))
    fit = learner.fit(learner.counts(), None)
    assert fit.rank > 0
    pulls, totals = residual_sums(coins_of(learner.counts(), fit), fit)
    np.testing.assert_allclose(pulls, fit.pulls)
    np.testing.assert_allclose(totals, fit.totals, rtol=0.05, atol=0.5)
    learner.next_fit = learner.state.due[0] = NEVER
    for t in range(100):
        learner.tell(t % S, t % K, float(factor[t % S] * loading[t % K]))
    learner.adopt(fit)
    learner.tell(0, 0, 0.1)
    expected = residual_sums(coins_of(learner.counts(), fit), fit)[0].sum()
    assert learner.state.group_pulls.sum() == pytest.approx(expected)
    assert np.isfinite(learner.posterior_means(np.arange(S))).all()


def test_a_fit_runs_in_a_thread_while_rewards_go_on() -> None:
    world = WORLDS["bernoulli"]
    learner = ThreeLevels(world.contexts, world.arms, seed=4)
    play(learner, world, 500, seed=1)
    learner.next_fit = learner.state.due[0] = NEVER
    counts, started, told = learner.counts(), threading.Event(), learner.tells

    def fit() -> Fit:
        started.set()
        return learner.fit(counts, learner.last_fit)

    with ThreadPoolExecutor(1) as pool:
        later = pool.submit(fit)
        started.wait()
        rounds = 0
        while not later.done() or rounds < 50:
            play(learner, world, 1, seed=rounds)
            rounds += 1
        found = later.result()
    assert found.rewards == told
    learner.adopt(found)
    assert learner.last_fit is not None
    assert learner.last_fit.rewards == learner.tells == told + rounds == learner.counts().n.sum()


def test_contexts_and_arms_that_came_since() -> None:
    learner, fit = snapshot("bernoulli")
    grow(learner, 40, 8)
    learner.tell(35, 7, 1.0)
    learner.adopt(fit)
    assert learner.last_fit is not None
    assert learner.last_fit.means.shape == (8, fit.groups)
    assert 35 in learner.last_fit.context
    assert learner.posterior_means(np.array([35])).shape == (1, 8)
    play(learner, WORLDS["bernoulli"], 300, seed=3)


def test_rewards_that_turn_real_make_the_next_reward_fit_again() -> None:
    learner, fit = snapshot("bernoulli")
    learner.refit = lambda: None  # type: ignore[method-assign]
    learner.tell(0, 0, 0.5)
    del learner.refit
    learner.adopt(fit)
    assert learner.due()
    assert learner.state.due[0] == 0
    learner.tell(1, 1, 0.25)
    assert learner.last_fit is not None
    assert learner.last_fit.real
    assert not learner.due()


def test_a_fit_of_something_else_is_refused() -> None:
    learner, fit = snapshot("bernoulli")
    state = learner.state
    small = ThreeLevels(30, 6)
    for each in (small, ThreeLevels(2, 2)):
        with pytest.raises(ValueError, match="fit: expected a fit of this learner's rewards"):
            each.adopt(fit)
    assert learner.state is state
    assert small.last_fit is None


def test_pulls_under_way_are_counted_anew() -> None:
    learner, fit = snapshot("bernoulli")
    learner.numbers = {id: id for id in range(20)}
    for id in range(20):
        learner.expect(id, id, id % 6)
    learner.expect(20, "unknown", 3)
    learner.adopt(fit)
    label = learner.labels()
    anybody = int(np.argmax(fit.share))
    for id, pull in learner.under_way.items():
        assert pull.group == (anybody if pull.context == "unknown" else label[id])
    assert learner.state.pending.sum() == 21
    assert learner.state.group_visits.sum() == pytest.approx(learner.tells + 21)
    before = learner.state.group_visits.copy()
    for id in range(21):
        learner.expect_no_more(id)
    assert not learner.state.pending.any()
    assert learner.state.group_visits.sum() == pytest.approx(before.sum() - 21)


# --- The mask is an argument ------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ThreeLevels, TopTwo])
def test_a_mask_is_for_one_choice(kind: Any) -> None:
    """The arm is that of a learner that may never choose others; nothing else changes."""
    world, rng = WORLDS["bernoulli"], np.random.default_rng(5)
    learner = kind(world.contexts, world.arms, seed=4)
    play(learner, world, 300, seed=1)
    kept = pickle.dumps(learner.state.allowed)
    for t in range(60):
        mask = rng.random(world.arms) < 0.5
        mask[t % world.arms] = True
        arm = learner.ask(t % 30, mask)
        assert mask[arm]
        assert pickle.dumps(learner.state.allowed) == kept
        learner.state.allowed[:] = mask
        assert learner.ask(t % 30) == arm
        learner.state.allowed[:] = True
    wrong: list[Any] = [np.zeros(6, dtype=bool), np.ones(5, dtype=bool), np.ones(6)]
    for mask in wrong:
        with pytest.raises(ValueError, match="allowed: expected for each of 6 arms"):
            learner.ask(0, mask)
