"""The check of the residuals under any law of rewards: noise is noise, and a direction is seen.

Contexts play arms at random. Where contexts differ, the learner believes in one group.
"""

from __future__ import annotations

import numpy as np
import pytest
from rewards_made import LAWS, seen, tastes
from scipy import stats

from lumpable import Lumps
from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.lumps.belief import residuals
from lumpable.lumps.belief.leading import as_large, with_new_signs
from lumpable.lumps.core.batches import tell_many
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.model import fitted

S, K = 100, 20
UNLIKELY = 1e-9
"""A test of a law fails by chance with less than this probability."""


def alarms(learners: list[ThreeLevels]) -> int:
    return sum(residuals.residuals(learner).p_value <= residuals.LEAST_P for learner in learners)


def look_like_noise(learners: list[ThreeLevels]) -> bool:
    """Whether alarms are as rare as one in 40, up to an exact bound."""
    return bool(stats.binom.sf(alarms(learners) - 1, len(learners), 1 / 40) > UNLIKELY)


def in_one_group(learner: ThreeLevels) -> ThreeLevels:
    learner.adopt(fitted.one_group(learner.counts()))
    return learner


@pytest.mark.parametrize("names", [("rare", "revenue"), ("poisson", "exponential")])
def test_few_rewards_of_any_law_look_like_noise(names: tuple[str, ...]) -> None:
    """One reward of each context and arm: mostly zeros, counts, or amounts, and no normal law."""
    every = [
        seen(LAWS[name], tastes(1, K, seed), S, K, seed).learner
        for name in names
        for seed in range(8)
    ]
    assert look_like_noise(every)


@pytest.mark.filterwarnings("ignore:a reward of")
@pytest.mark.parametrize("wild", [1000.0, -1.0])
def test_a_wild_value_leaves_coins_coins(wild: float) -> None:
    """Its score is that of heads or tails, so scores are drawn as coins, and p-values stay."""
    rng = np.random.default_rng(0)
    p, user = rng.uniform(0.1, 0.9, K), np.repeat(np.arange(S), 60)
    arm = rng.integers(K, size=len(user))
    reward = (rng.random(len(user)) < p[arm]).astype(np.float64)
    lumps = Lumps(arms=range(K))
    lumps.tell_many({"context": user, "arm": arm, "reward": reward})
    before = lumps.residuals()
    lumps.tell(0, 0, wild)
    after = lumps.residuals()
    assert after.words == before.words == "the residuals look like noise"
    assert after.p_value == pytest.approx(before.p_value, abs=4 / 40)
    assert after.usual == pytest.approx(before.usual, rel=0.01)


@pytest.mark.parametrize("name", ["poisson", "exponential", "stars", "sd by arm", "t3", "revenue"])
def test_hidden_groups_are_a_direction(name: str) -> None:
    """Two tastes that differ by 0.5 or more on every arm, and a model of one."""
    for seed in range(3):
        theta = tastes(2, K, seed)
        found = seen(LAWS[name], theta, S, 60 * (1 + (name == "revenue")), seed)
        checked = residuals.residuals(in_one_group(found.learner))
        assert checked.p_value == residuals.LEAST_P
        assert "the residuals have a leading direction" in checked.words


# --- Contexts that differ in noise ----------------------------------------------------------------


def unlike(mean: FloatMatrix, seed: int) -> ThreeLevels:
    """Return a learner after rewards of users every other of whom is ten times as noisy."""
    rng, sd = np.random.default_rng([seed, 5]), np.where(np.arange(S) % 2, 3.0, 0.3)
    user = np.repeat(np.arange(S), 100)
    arm = rng.integers(K, size=len(user))
    reward = rng.normal(mean[user, arm], sd[user])
    learner = ThreeLevels(S, K, seed=seed)
    learner.leave_fits()
    tell_many(learner, user, arm, reward, np.ones(len(user), dtype=np.int64))
    return in_one_group(learner)


def test_noise_of_contexts_is_a_direction_of_scores_and_none_of_rewards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    every = [unlike(np.tile(np.linspace(0.0, 3.0, K), (S, 1)), seed) for seed in range(6)]
    assert look_like_noise(every)
    monkeypatch.setattr(residuals, "in_own_units", lambda *_: None)
    assert alarms(every) == len(every)


def test_tastes_of_contexts_that_differ_in_noise_are_a_direction() -> None:
    """Every third context likes what others do not; all means are 0 or 1, on average the same."""
    other, up = np.arange(S)[:, None] % 3 == 0, np.arange(K) % 2 == 0
    mean = np.where(other == up, 1.0, 0.0)
    assert alarms([unlike(mean, seed) for seed in range(3)]) == 3


# --- Chance ---------------------------------------------------------------------------------------


def test_new_signs_keep_sizes() -> None:
    x: FloatVector = np.array([1.0, -2.0, 0.5, 0.0])
    drawn = [with_new_signs(x, np.random.default_rng(seed)) for seed in range(200)]
    assert all(np.array_equal(np.abs(each), np.abs(x)) for each in drawn)
    ups = np.sum([each[1] > 0 for each in drawn])
    assert stats.binomtest(int(ups), 200, 0.5).pvalue > UNLIKELY
    assert np.linalg.norm(as_large(3.0 * x, x)) == pytest.approx(np.linalg.norm(x))
    assert np.array_equal(as_large(0.0 * x, x), 0.0 * x)
