"""Strengths and noise that are estimates: intervals of arms that were dropped early."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.lumps.belief import beliefs
from lumpable.lumps.belief.strengths_doubted import even_noise, second_moments
from lumpable.lumps.core.batches import tell_many
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.model.counts import Counts
from lumpable.lumps.model.scores import Cells, scored
from lumpable.lumps.model.worth import RATIOS, Worth

S, K = 20, 10
WORLDS, SURE = 100, 1e-6


def told(contexts: IntVector, arms: IntVector, rewards: FloatVector, K: int) -> ThreeLevels:
    """Return a learner that was told these rewards at once."""
    learner = ThreeLevels(S, K, seed=1)
    tell_many(learner, contexts, arms, rewards, np.ones(len(arms), dtype=np.int64))
    learner.adopt(learner.fit(learner.counts(), learner.last_fit))
    return learner


def dropped(mean: FloatVector, sd: FloatVector, rng: np.random.Generator) -> ThreeLevels:
    """Play each arm once, then 400 times the one with the largest average: others are dropped."""
    pulls, totals, arms, rewards = np.zeros(len(mean)), np.zeros(len(mean)), [], []
    for t in range(len(mean) + 400):
        arm = t if t < len(mean) else int(np.argmax(totals / pulls))
        reward = float(rng.normal(mean[arm], sd[arm]))
        pulls[arm] += 1.0
        totals[arm] += reward
        arms.append(arm)
        rewards.append(reward)
    return told(np.arange(len(arms)) % S, np.array(arms), np.array(rewards), len(mean))


def parts(learner: ThreeLevels) -> tuple[Counts, Cells, FloatMatrix, Worth]:
    """Return what the moments of a learner's means are computed from."""
    fit, counts = learner.last_fit, learner.counts()
    assert fit is not None
    assert fit.scale is not None
    return counts, scored(counts, fit.scale.score), fit.member, fit.scale.worth


def test_intervals_of_dropped_arms_hold_as_often_as_they_say() -> None:
    """An arm of each world that was played once, so that the number is binomial.

    With strengths that are taken for known, 72 of 100 hold.
    """
    held = 0
    for seed in range(WORLDS):
        rng = np.random.default_rng([seed, 41])
        mean = rng.normal(0.0, 1.0, K)
        learner = dropped(mean, np.ones(K), rng)
        pulls = np.bincount(learner.counts().arm, learner.counts().n, K)
        arm = int(np.argmin(pulls))
        assert pulls[arm] == 1.0
        row = beliefs.means(learner)[arm]
        held += row.low <= mean[arm] <= row.high
    assert stats.binomtest(held, WORLDS, 0.9).pvalue > SURE


def marginal(
    y: FloatVector, spread: FloatVector, t0: float
) -> tuple[float, FloatVector, FloatMatrix]:
    """Return the log density of averages around an unknown p0, and the law of theta, at length."""
    vague, n = 1e6, len(y)
    prior = t0 * np.eye(n) + vague
    likely = float(stats.multivariate_normal(np.zeros(n), prior + np.diag(spread)).logpdf(y))
    # by precisions: differences of covariances as large as this would lose all digits
    precision = (np.eye(n) - vague / (t0 + n * vague)) / t0 + np.diag(1.0 / spread)
    cover: FloatMatrix = np.linalg.inv(precision).astype(np.float64)
    return likely, cover @ (y / spread), cover


def test_moments_are_those_of_the_joint_law_of_all_means() -> None:
    """One group: each variance between arms by matrices, p0 with a vague prior."""
    rng = np.random.default_rng(5)
    counts, cells, member, worth = parts(dropped(rng.normal(0.0, 1.0, 6), np.ones(6), rng))
    assert worth.means.shape[1] == 1
    noise = even_noise(counts, cells, member, worth)[:, 0]
    y, spread = (worth.totals / worth.pulls)[:, 0], noise / worth.pulls[:, 0]
    usual = float((worth.pulls * worth.noise).sum() / worth.pulls.sum())
    laws = [marginal(y, spread, usual / ratio) for ratio in RATIOS]
    height = np.array([law[0] for law in laws])
    height += [stats.t(2).logpdf(r**-0.5) - 0.5 * np.log(r) for r in RATIOS]
    weight = np.exp(height - height.max())
    weight = np.where(weight >= 0.01, weight, 0.0) / weight[weight >= 0.01].sum()
    each = [np.diag(cover) + (mean - worth.means[:, 0]) ** 2 for _, mean, cover in laws]
    expected = weight @ np.array(each)
    found = second_moments(counts, cells, member, worth)[:, 0]
    assert found == pytest.approx(expected, rel=0.02)
    assert (found[worth.pulls[:, 0] < 2.0] > 1.05 * worth.variances[worth.pulls < 2.0]).all()


@pytest.mark.parametrize("groups", [1, 2])
def test_where_rewards_are_many_strengths_do_not_matter(groups: int) -> None:
    """100 rewards of each arm and context: strengths are worth a reward or so of 1,000."""
    rng = np.random.default_rng(3)
    mean = rng.normal(0.0, 1.0, (groups, 5))[np.arange(S) % groups]
    contexts, arms = (x.ravel() for x in np.indices((S, 5)).repeat(100, axis=2))
    learner = told(contexts, arms, rng.normal(mean[contexts, arms], 1.0), 5)
    counts, cells, member, worth = parts(learner)
    assert worth.means.shape[1] == groups
    assert second_moments(counts, cells, member, worth) == pytest.approx(worth.variances, rel=0.1)


def test_an_arm_with_few_rewards_has_the_noise_of_a_usual_arm() -> None:
    """One arm of nine has 3,000 rewards and little noise; others have 60, and the last has one.

    The noise of 60 rewards is known to sqrt(2 / 59), that of eight such arms to 6.5 %.
    """
    rng = np.random.default_rng(7)
    arms = np.concatenate([np.zeros(3000), np.repeat(np.arange(1, 9), 60), [9]]).astype(np.int64)
    sd = np.where(arms == 0, 0.2, 1.0)
    rewards = rng.normal(0.1 * arms, sd)
    learner = told(np.arange(len(arms)) % S, arms, rewards, 10)
    noise = even_noise(*parts(learner))
    assert noise[9, 0] == pytest.approx((0.04 + 8.0) / 9, rel=6 * 0.065)


def test_no_noise_at_all() -> None:
    """Rewards that never vary leave nothing to draw together."""
    arms = np.arange(60) % 3
    learner = told(np.arange(60) // 3, arms, arms.astype(np.float64) + 0.5, 3)
    counts, cells, member, worth = parts(learner)
    assert (even_noise(counts, cells, member, worth) == worth.noise).all()
    assert np.isfinite(second_moments(counts, cells, member, worth)).all()


def test_one_reward_each_of_two_arms() -> None:
    """Each stands for itself: nothing says what noise is."""
    learner = told(np.array([0, 1]), np.array([0, 1]), np.array([0.5, 0.7]), 2)
    assert np.isfinite([row.high for row in beliefs.means(learner)]).all()
