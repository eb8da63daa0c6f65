"""Rewards of any law: one taste is one group, two tastes are two, intervals hold, and each part of
the model is needed.

Contexts play arms at random, so that what is tested is the fit. A mutant is a model without one of
its parts; where a mutant must be wrong, the test says so.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from counts_made import counted, rewarded
from rewards_made import LAWS, Law, Seen, agreement, seen, tastes
from scipy import stats

from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.lumps.belief import beliefs, residuals, strengths_doubted, summary
from lumpable.lumps.belief.posterior import ESTIMATED
from lumpable.lumps.core.batches import tell_many
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.model import dispersion, fitted, scores, variances
from lumpable.lumps.model import worth as worths
from lumpable.lumps.model.counts import Counts
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.model.scores import Cells

S, K, EACH, SEEDS = 60, 8, 120, range(5)
UNLIKELY = 1e-9
"""A test of a law fails by chance with less than this probability."""
SEEN = [name for name in LAWS if name != "rare"]
"""Laws under which two tastes can be seen in so few rewards: of rare ones, 120 are 1 or 2."""


@cache
def played(name: str, number: int, seed: int) -> Seen:
    each = EACH * (2 if name == "revenue" else 1)  # most of its rewards are 0
    return seen(LAWS[name], tastes(number, K, seed), S, each, seed)


def fit_of(found: Seen) -> Fit:
    assert found.learner.last_fit is not None
    return found.learner.last_fit


def shape(found: Seen) -> tuple[int, int]:
    """Return how many groups and how many directions were found."""
    return fit_of(found).groups, fit_of(found).rank


# --- Laws -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAWS)
def test_one_taste_is_one_group(name: str) -> None:
    """Whatever the law of rewards is, and without a direction either: one of five may be wrong."""
    wrong = sum(shape(played(name, 1, seed)) != (1, 0) for seed in SEEDS)
    assert wrong <= 1


def test_groups_are_seldom_found_where_there_are_none() -> None:
    """In 2 of 100 worlds at most, over all laws, up to an exact bound; 2 of 320 were measured."""
    every = [shape(played(name, 1, seed)) != (1, 0) for name in LAWS for seed in SEEDS]
    assert stats.binom.sf(sum(every) - 1, len(every), 0.02) > UNLIKELY


@pytest.mark.parametrize("name", SEEN)
def test_two_tastes_are_two_groups(name: str) -> None:
    """They differ by 0.5 or more on every arm; a context has 15 rewards of each, or 30."""
    for seed in SEEDS:
        found = played(name, 2, seed)
        assert shape(found) == (2, 0)
        assert agreement(found.learner.labels(), found.group) > 0.9


@pytest.mark.parametrize("name", SEEN)
def test_everyone_gets_an_arm_of_their_taste(name: str) -> None:
    """Where groups are right, 450 rewards of an arm tell high from low, which differ by 0.5."""
    for seed in SEEDS:
        found = played(name, 2, seed)
        best = found.mean[np.arange(S), found.learner.policy()]
        assert (best > found.mean.mean(axis=1)).mean() > 0.9


def held(found: Seen) -> list[bool]:
    """Return which intervals hold the mean of their arm in the group of most members."""
    label, inside = found.learner.labels(), []
    for row in beliefs.means(found.learner):
        i = np.flatnonzero(label == row.group)
        taste = np.bincount(found.group[i]).argmax()
        truth = found.mean[found.group == taste][0, row.arm]
        inside.append(bool(row.low <= truth <= row.high))
    return inside


def test_intervals_hold_what_they_promise() -> None:
    """Nine of ten, with one taste and with two, up to an exact bound on either side.

    Without rare purchases, of which an arm has some ten.
    """
    every = [
        x for name in SEEN for number in (1, 2) for seed in SEEDS
        for x in held(played(name, number, seed))
    ]  # fmt: skip
    assert len(every) >= len(SEEN) * len(SEEDS) * 3 * K
    assert stats.binom.cdf(sum(every), len(every), 0.9) > UNLIKELY
    assert stats.binom.sf(sum(every) - 1, len(every), 0.9) > UNLIKELY


@pytest.mark.parametrize("name", ["poisson", "revenue", "t3"])
def test_the_residuals_of_any_law_look_like_noise(name: str) -> None:
    """P-values of 1/40 come with a probability of 1/40, up to an exact bound."""
    every = [played(name, number, seed) for number in (1, 2) for seed in SEEDS]
    low = sum(residuals.residuals(found.learner).p_value <= 1 / 40 for found in every)
    assert stats.binom.sf(low - 1, len(every), 1 / 40) > UNLIKELY
    assert summary.summary(played(name, 2, 0).learner).startswith("2 groups explain ")


# --- One variance for all arms --------------------------------------------------------------------

LOUD = np.array([1.0] + [0.1] * (K - 1))
"""One arm has ten times the noise of the others."""


def loud(seed: int) -> Seen:
    return seen(LAWS["sd by arm"], tastes(1, K, seed), S, EACH, seed, LOUD)


def test_without_a_dispersion_of_its_own_a_loud_arm_is_a_direction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert [shape(loud(seed)) for seed in SEEDS] == [(1, 0)] * len(SEEDS)
    own = dispersion.arm_dispersion

    def common(counts: Counts, cells: Cells) -> FloatVector:
        return np.full(counts.arms, own(counts, cells).mean())

    monkeypatch.setattr(fitted, "arm_dispersion", common)
    assert (1, 0) not in [shape(loud(seed)) for seed in SEEDS]


def test_without_a_dispersion_scores_are_coins_and_tell_too_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two tastes that differ by 0.1, in Beta rewards that vary by a sixth of a coin's variance."""
    up = np.arange(K) % 2
    theta = np.stack([0.45 + 0.1 * up, 0.55 - 0.1 * up])

    def groups() -> list[int]:
        return [shape(seen(LAWS["beta"], theta, S, EACH, seed))[0] for seed in SEEDS]

    assert groups() == [2] * len(SEEDS)
    monkeypatch.setattr(fitted, "arm_dispersion", lambda counts, _: np.ones(counts.arms))
    assert groups() == [1] * len(SEEDS)


def widths(found: Seen) -> FloatVector:
    """Return how wide the interval of each arm is, over what its own noise makes it."""
    rows = beliefs.means(found.learner)
    half = np.array([(row.high - row.low) / 2 for row in rows])
    error = LOUD / np.sqrt([row.pulls for row in rows])
    wide: FloatVector = half / (stats.norm.ppf(0.95) * math.sqrt(ESTIMATED) * error)
    return wide


def test_without_a_noise_of_its_own_an_arm_has_a_wrong_interval(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """900 rewards know a standard deviation to 2.4 %; quiet arms may be held at sqrt(1/5) of the
    usual noise, which is 1/8 here: they are too wide by at most 1.7."""
    found = loud(0)
    assert widths(found)[0] == pytest.approx(1.0, abs=6 * 0.024)
    assert widths(found)[1:].min() > 1.0 - 6 * 0.024
    assert widths(found)[1:].max() < 1.7 * (1.0 + 6 * 0.024)
    own = worths._noise

    def common(*arguments: Any) -> FloatMatrix:
        noise = own(*arguments)
        return np.full_like(noise, noise.mean())

    monkeypatch.setattr(worths, "_noise", common)
    monkeypatch.setattr(strengths_doubted, "even_noise", lambda *seen: seen[-1].noise)
    assert widths(found)[0] < 0.6


# --- Groups of unlike noise -----------------------------------------------------------------------


def test_without_the_noisiest_group_a_noisy_one_falls_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One taste has always the same reward, the other waits an exponential time.

    A noise of each context would do here, too: there is none.
    """
    monkeypatch.setattr(variances, "UNLIKE", math.inf)

    def draw(rng: np.random.Generator, p: FloatVector, _: FloatVector) -> FloatVector:
        return np.where(p < 0.5, p, rng.exponential(p))

    law, theta = Law(draw, lambda p: p), np.array([[0.2, 0.25] * 4, [0.8, 0.75] * 4])

    def groups() -> list[int]:
        return [shape(seen(law, theta, 120, 240, seed))[0] for seed in range(3)]

    assert groups() == [2] * 3
    monkeypatch.setattr(fitted, "group_dispersion", lambda counts, cells, member, phi: phi)
    assert min(groups()) > 2


# --- Contexts of unlike noise ---------------------------------------------------------------------

OWN = np.exp(np.linspace(-2.0, 2.0, S))[:, None]
"""The noise of the loudest context is some fifty times that of the quietest."""


def unlike(number: int, seed: int, each: int = 200) -> Fit:
    """Return the fit of contexts with so many tastes, whose noise is their own."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(S) % number
    context, arm = np.repeat(np.arange(S), each), rng.integers(K, size=S * each)
    mean = tastes(number, K, seed)[group][context, arm]
    reward = rng.normal(mean, 0.3 * OWN[rng.permutation(S)][context, 0])
    return fitted.fit(counted(context, arm, reward, K))


def test_without_a_noise_of_their_own_loud_contexts_are_a_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def right() -> int:
        fits = [unlike(1, seed) for seed in SEEDS]
        return sum((fit.groups, fit.rank) == (1, 0) for fit in fits)

    assert right() >= 4
    monkeypatch.setattr(variances, "UNLIKE", math.inf)
    assert right() <= 1


def test_tastes_are_found_under_a_noise_of_ones_own() -> None:
    assert [unlike(2, seed).groups for seed in SEEDS] == [2] * len(SEEDS)


# --- Heavy tails ----------------------------------------------------------------------------------


def test_without_ranks_few_large_rewards_hide_two_tastes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Amounts are lognormal with sd 2: linear scores are nearly all 0, whoever buys."""

    def draw(rng: np.random.Generator, p: FloatVector, _: FloatVector) -> FloatVector:
        return np.where(rng.random(len(p)) < 0.1 + 0.4 * p, rng.lognormal(0.0, 2.0, len(p)), 0.0)

    law = Law(draw, lambda p: (0.1 + 0.4 * p) * math.exp(2.0))

    def found() -> list[float]:
        every = [seen(law, tastes(2, K, seed), S, EACH, seed) for seed in SEEDS]
        return [agreement(one.learner.labels(), one.group) for one in every]

    assert min(found()) > 0.85
    monkeypatch.setattr(scores, "LIGHT", 0.0)
    assert max(found()) < 0.7


# --- Wild rewards ---------------------------------------------------------------------------------


def test_without_a_fence_one_wild_reward_chooses_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coins of ten contexts; one of their rewards was logged as a million, on the worst arm."""
    coins = rewarded(np.tile([0.9, 0.5, 0.1], (10, 1)), 40, None, seed=1)

    def policy() -> list[int]:
        learner = ThreeLevels(10, 3)
        learner.next_fit = learner.state.due[0] = 10**12
        row, arm = coins.row, coins.arm
        for reward, times in ((1.0, coins.s), (0.0, coins.n - coins.s)):
            rewards = np.full(len(arm), reward)
            tell_many(learner, row, arm, rewards, times.astype(np.int64))
        tell_many(learner, *(np.array([x]) for x in (4, 2, 1e6, 1)))
        learner.adopt(learner.fit(learner.counts()))
        return [int(arm) for arm in learner.policy()]

    assert policy() == [0] * 10
    monkeypatch.setattr(scores, "FENCE", 1e12)
    assert policy().count(2) > 0
