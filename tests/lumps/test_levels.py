"""The practical learner's rounds against a literal version: every index, every choice.

Indices agree up to the series of digamma and trigamma that the learner breaks off: from 3 on, three
terms of each, whose first omitted terms are 3^-8 / 240 < 7e-7 and 3^-9 / 30 < 2e-6.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import replace

import literal_levels
import numpy as np
import pytest
from literal_levels import LiteralLevels

import lumpable as lb
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.core.state import State
from lumpable.lumps.model.counts import group_sums
from lumpable.lumps.model.dispersion import tempered
from lumpable.lumps.model.ends import Ends
from lumpable.lumps.model.fit import Fit, Scale
from lumpable.lumps.model.scores import Score, scored
from lumpable.lumps.model.worth import Worth

SERIES = 2e-5
"""What indices may differ by, relative to 1 + their size, for the series' sake."""
NEVER = 10**9


def agree(
    learner: ThreeLevels, literal: LiteralLevels, world: lb.World, rounds: int, seed: int = 7,
    change: Callable[[float], float] = float,
) -> None:  # fmt: skip
    """Play both on one tape; compare every index and every choice."""
    rng = np.random.default_rng(seed)
    for t in range(rounds):
        context = int(rng.choice(world.contexts, p=world.frequency))
        arm, expected = learner.ask(context), literal.index(context)
        got, open_arms = learner.state.score, literal.allowed
        assert np.array_equal(np.isneginf(got), ~open_arms)
        close = SERIES * (1.0 + np.abs(expected[open_arms]).max())
        apart = np.abs(got[open_arms] - expected[open_arms]).max()
        assert apart < close, f"round {t}: {got}, literally {expected}"
        assert expected[arm] > expected[open_arms].max() - 2 * close, f"round {t}: {arm}"
        reward = change(world.reward(context, arm, rng))
        learner.tell(context, arm, reward)
        literal.tell(context, arm, reward)
    everyone = np.arange(world.contexts)
    weights = np.array([literal.weights(int(i)) for i in everyone])
    member = learner.membership(everyone)  # rounding may have put groups in another order
    assert member @ member.T == pytest.approx(weights @ weights.T, abs=1e-6)


def fed(world: lb.World, rounds: int) -> tuple[ThreeLevels, LiteralLevels]:
    """Return both after the same rewards of random arms, with no more fits to come."""
    learner = ThreeLevels(world.contexts, world.arms, seed=3)
    literal = LiteralLevels(world.contexts, world.arms)
    rng = np.random.default_rng(5)
    for context, arm in rng.integers([world.contexts, world.arms], size=(rounds, 2)).tolist():
        reward = world.reward(context, arm, rng)
        never_fit(learner, literal)  # the first real reward makes them fit
        learner.tell(context, arm, reward)
        literal.tell(context, arm, reward)
    never_fit(learner, literal)
    return learner, literal


def never_fit(learner: ThreeLevels, literal: LiteralLevels) -> None:
    learner.next_fit = literal.due = NEVER
    learner.refit()


@pytest.mark.parametrize("noise", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("groups", [1, 3])
def test_decisions_and_fits_are_the_literal_ones(noise: str, groups: int) -> None:
    """From the first round on, through all fits on the way."""
    world = lb.worlds.lumpable(12, 5, groups, noise=noise, sd=0.2, seed=3)
    learner, literal = ThreeLevels(12, 5, seed=8), LiteralLevels(12, 5)
    agree(learner, literal, world, rounds=1000)
    assert learner.last_fit is not None
    assert literal.fit is not None
    assert learner.last_fit.groups == literal.fit.groups
    assert learner.last_fit.evidence == pytest.approx(literal.fit.evidence, rel=1e-9)
    assert learner.next_fit == literal.due


def heavy(reward: float) -> float:
    """Return a reward with a heavy tail, and now and then a wild one."""
    return math.exp(4.0 * reward) if reward < 1.45 else 1e6


def test_ranks_and_a_fence_are_the_literal_ones() -> None:
    """Through all fits on the way, with tails so heavy that scores are ranks and some are wild."""
    world = lb.worlds.lumpable(12, 5, 3, noise="gaussian", sd=0.2, seed=3)
    learner, literal = ThreeLevels(12, 5, seed=8), LiteralLevels(12, 5)
    agree(learner, literal, world, rounds=700, change=heavy)
    assert literal.scale is not None
    assert len(literal.scale.score.knot) > 2
    assert max(map(max, literal.rewards.values())) == 1e6 > literal.scale.score.high
    assert learner.next_fit == literal.due


def planted(learner: ThreeLevels, groups: int, m0: float, rank: int) -> Fit:
    """Return a fit that nobody found, with these sizes and beliefs drawn at random."""
    rng = np.random.default_rng(11)
    counts = learner.counts()
    scale = planted_scale(rng, counts.arms, groups, m0, rank) if counts.real else None
    member = rng.dirichlet(np.full(groups, 0.4), size=counts.contexts)
    coins = counts if scale is None else tempered(counts, scored(counts, scale.score), scale.phi)
    pulls, totals = group_sums(coins, member, m0)
    K = counts.arms
    return Fit(
        counts.context, member, pulls, totals, np.log(member.mean(axis=0)), 4.0,
        rng.uniform(0.2, 0.8, K), rng.uniform(3.0, 9.0, K) if groups > 1 else np.full(K, np.inf),
        m0, 2.0, 0.5, rng.normal(scale=0.15, size=(K, rank)), counts.rewards, 0.0, scale,
        0.3 if groups > 1 else 0.0,
    )  # fmt: skip


def planted_scale(rng: np.random.Generator, K: int, groups: int, m0: float, rank: int) -> Scale:
    """Return a score with a bend and a fence that bites, dispersions, and what arms are worth."""
    score = Score(np.array([-0.2, 0.4, 1.1]), np.array([0.0, 0.7, 1.0]), -0.3, 1.2)
    pulls = rng.uniform(1.0, 40.0, (K, groups))
    hold = rng.uniform(5.0, 50.0, K) if groups > 1 else np.full(K, np.inf)
    worth = Worth(
        pulls, pulls * rng.uniform(0.0, 1.0, (K, groups)), rng.uniform(0.02, 0.3, (K, groups)),
        0.07, rng.uniform(0.2, 0.8, K), hold, 0.5, 0.1, 0.6 * m0,
        rng.normal(scale=0.2, size=(K, rank)), 0.7,
    )  # fmt: skip
    return Scale(score, rng.uniform(0.2, 1.0, K), worth)


CASES = [
    (1, 6.0, 0),
    (1, math.inf, 0),
    (3, math.inf, 0),
    (3, 6.0, 0),
    (1, 9.0, 2),
    (1, math.inf, 1),
]


@pytest.mark.parametrize("noise", ["bernoulli", "gaussian"])
@pytest.mark.parametrize(("groups", "m0", "rank"), CASES)
def test_decisions_are_the_literal_ones_whatever_is_believed(
    noise: str, groups: int, m0: float, rank: int
) -> None:
    """Under planted beliefs and no more fits: every level, with and without groups and factors."""
    world = lb.worlds.lumpable(10, 6, 2, noise=noise, sd=0.3, seed=3)
    learner, literal = fed(world, 150)
    fit = planted(learner, groups, m0, rank)
    for each in (learner, literal):
        each.adopt(fit)
    never_fit(learner, literal)
    agree(learner, literal, world, rounds=500)


@pytest.mark.parametrize("noise", ["bernoulli", "gaussian"])
def test_without_the_discount_where_members_deviate_indices_are_others(
    noise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A law of groups whose members deviate, and of no others; compiled code cannot be changed, so
    the literal one goes without."""
    monkeypatch.setattr(literal_levels, "SHARED", 0.0)
    world = lb.worlds.lumpable(10, 6, 2, noise=noise, sd=0.3, seed=3)
    for groups, m0, same in ((3, 6.0, False), (3, math.inf, True), (1, 6.0, True)):
        learner, literal = fed(world, 150)
        fit = planted(learner, groups, m0, rank=0)
        for each in (learner, literal):
            each.adopt(fit)
        never_fit(learner, literal)
        with contextlib.nullcontext() if same else pytest.raises(AssertionError, match="round 0"):
            agree(learner, literal, world, rounds=20)


@pytest.mark.parametrize(("groups", "rank"), [(1, 0), (3, 0), (1, 2)])
def test_decisions_are_the_literal_ones_where_own_means_have_two_values(
    groups: int, rank: int
) -> None:
    world = lb.worlds.lumpable(10, 6, 2, noise="gaussian", sd=0.3, seed=3)
    learner, literal = fed(world, 150)
    fit = planted(learner, groups, 6.0, rank)
    assert fit.scale is not None
    worth = replace(fit.scale.worth, ends=Ends(0.2, 0.9, 0.01))
    fit = replace(fit, scale=fit.scale._replace(worth=worth))
    for each in (learner, literal):
        each.adopt(fit)
    never_fit(learner, literal)
    agree(learner, literal, world, rounds=500)


@pytest.mark.parametrize("noise", ["bernoulli", "gaussian"])
def test_pending_rewards_and_arms_that_are_not_allowed(noise: str) -> None:
    world = lb.worlds.lumpable(10, 6, 2, noise=noise, sd=0.3, seed=3)
    learner, literal = fed(world, 150)
    fit = planted(learner, groups=3, m0=6.0, rank=0)
    for each in (learner, literal):
        each.adopt(fit)
    never_fit(learner, literal)
    literal.pending[2, 1] = literal.pending[4, 0] = 7.0
    learner.state.pending[:] = literal.pending.T
    literal.allowed[[0, 3]] = False
    learner.state.allowed[:] = literal.allowed
    agree(learner, literal, world, rounds=300)


def test_pulls_that_wait_for_their_reward_narrow_the_index_and_leave_the_mean() -> None:
    world = lb.worlds.lumpable(10, 6, 2, noise="bernoulli", seed=3)
    learner, _ = fed(world, 150)
    learner.ask(0)
    score, mean = learner.state.score.copy(), learner.posterior_means(np.arange(10))
    learner.state.pending[:, 2] = 50.0
    learner.ask(0)
    assert learner.state.score[2] < score[2]
    assert np.array_equal(np.delete(learner.state.score, 2), np.delete(score, 2))
    assert np.array_equal(learner.posterior_means(np.arange(10)), mean)


@pytest.mark.parametrize("noise", ["bernoulli", "gaussian"])
@pytest.mark.parametrize(("groups", "m0", "rank"), CASES)
def test_posterior_means_are_those_of_the_index(
    noise: str, groups: int, m0: float, rank: int
) -> None:
    """Without its bonus the literal index is the posterior mean, or its clipped logit's mean."""
    world = lb.worlds.lumpable(10, 6, 2, noise=noise, sd=0.3, seed=3)
    learner, literal = fed(world, 150)
    fit = planted(learner, groups, m0, rank)
    for each in (learner, literal):
        each.adopt(fit)
    for i in range(10):
        f, _ = literal.factors(i)
        m = literal.group_means() @ literal.weights(i) + literal.effects @ f
        if math.isfinite(m0):
            m = (literal.own * m + literal.s(i)) / (literal.own + literal.n(i))
        assert learner.posterior_means(np.array([i]))[0] == pytest.approx(m, rel=1e-9)


def test_asking_is_a_pure_read() -> None:
    learner, _ = fed(lb.worlds.lumpable(10, 6, 2, noise="bernoulli", seed=3), 150)
    kept = {name: getattr(learner.state, name).copy() for name in State._fields}
    first = [learner.ask(i) for i in range(10)]
    assert [learner.ask(i) for i in reversed(range(10))] == first[::-1]
    room = {"weight", "mean", "spread", "scale", "cover", "factor", "score"}
    for name in set(kept) - room:
        assert np.array_equal(getattr(learner.state, name), kept[name])
