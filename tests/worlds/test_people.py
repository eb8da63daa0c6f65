"""Made worlds of people: their means against the formulas, their laws, their groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lumpable as lb
from lumpable import worlds
from lumpable.worlds.people import REWARDS

FAR = 6.2
UNLIKELY = 1e-7
MAKERS: dict[str, Callable[..., lb.World]] = {
    "levels": lambda S, K, **more: worlds.with_levels(S, K, **more),
    "levels, groups": lambda S, K, **more: worlds.with_levels(S, K, groups=3, **more),
    "two-point": lambda S, K, **more: worlds.two_point(S, K, **more),
    "two-point, levels": lambda S, K, **more: worlds.two_point(S, K, levels=True, **more),
    "blocs": lambda S, K, **more: worlds.blocs(S, K, 3, **more),
    "tastes": lambda S, K, **more: worlds.tastes(S, K, 3, **more),
    "tastes, sd by arm": lambda S, K, **more: worlds.tastes(S, K, 3, rewards="sd by arm", **more),
}


def logit(p: Any) -> Any:
    return np.log(p / (1 - p))


@pytest.mark.parametrize("kind", MAKERS)
def test_the_same_seed_gives_the_same_world(kind: str) -> None:
    first, again, other = (MAKERS[kind](30, 6, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.mean, again.mean)
    assert np.array_equal(first.group, again.group)
    assert str(first.noise) == str(again.noise)
    assert not np.array_equal(first.mean, other.mean)
    assert (first.contexts, first.arms) == (30, 6)
    zipf = MAKERS[kind](30, 6, frequency="zipf", seed=1)
    assert zipf.frequency.max() / zipf.frequency.min() == pytest.approx(30)


def test_levels_are_normal_on_the_logistic_scale() -> None:
    """Log odds: 0.3 + pop_j + a level + a residual, whose variances are 0.36, 2.25 and 0.36."""
    S, K = 400, 300
    x = logit(worlds.with_levels(S, K, seed=1).mean) - 0.3
    assert abs(x.mean()) <= FAR * math.sqrt(2.25 / S + 0.36 / K)
    level = x.mean(axis=1) - x.mean()
    popular = x.mean(axis=0) - x.mean()
    rest = x - x.mean() - level[:, None] - popular
    assert abs(level.var() / (2.25 + 0.36 / K) - 1) <= FAR * math.sqrt(2 / S)
    assert abs(popular.var() / (0.36 + 0.36 / S) - 1) <= FAR * math.sqrt(2 / K)
    assert abs(rest.var() / 0.36 - 1) <= FAR * math.sqrt(2 / S / K) + 1 / S + 1 / K
    assert stats.kstest(rest.ravel()[::40] / rest.std(), stats.norm.cdf).pvalue > UNLIKELY


def test_members_of_a_group_rank_arms_alike_on_levels_of_their_own() -> None:
    world = worlds.with_levels(300, 200, groups=3, seed=1)
    x = logit(world.mean)
    assert np.bincount(world.group).tolist() == [100] * 3
    for g in range(3):
        own = x[world.group == g]
        assert np.allclose(own - own.mean(axis=1, keepdims=True), own[0] - own[0].mean(), atol=1e-9)
    level, taste = x.mean(axis=1), x - x.mean(axis=1, keepdims=True)
    within = np.array([taste[world.group == g][0] for g in range(3)])
    assert abs(within.var() / 1.44 - 1) <= FAR * math.sqrt(2 / 600)
    # a group's mean over 200 arms adds 1.44 / 200 to the variance of levels
    assert abs(level.var() / 2.25 - 1) <= FAR * math.sqrt(2 / 300) + 0.01


def test_two_points_have_the_variance_of_their_beta() -> None:
    """A Beta(w p, w (1 - p)) has the variance p (1 - p) / (w + 1): nearly all is near 0 or 1."""
    world = worlds.two_point(400, 300, seed=1)
    p, spread = world.mean.mean(axis=0), world.mean.var(axis=0)
    assert np.abs(spread / (p * (1 - p) / 1.2) - 1).max() <= FAR * math.sqrt(2 / 400)
    error = np.sqrt(spread / 400) / (p * (1 - p))  # of the log odds of one arm
    expected = 0.36 + float(np.mean(error**2))
    assert abs(logit(p).var() / expected - 1) <= FAR * math.sqrt(2 / 300)
    assert world.groups == 400


def test_two_points_may_have_levels() -> None:
    """E m (1 - m) = E p (1 - p) w / (w + 1), where p is logistic normal of variance 0.36 + 2.25."""
    world = worlds.two_point(400, 300, levels=True, seed=1)
    z = stats.norm(0.0, math.sqrt(0.36 + 2.25)).ppf((np.arange(10_000) + 0.5) / 10_000)
    p = 1 / (1 + np.exp(-z))
    expected = float(np.mean(p * (1 - p))) * 0.3 / 1.3
    by_context = (world.mean * (1 - world.mean)).mean(axis=1)
    by_arm = (world.mean * (1 - world.mean)).mean(axis=0)
    error = math.sqrt(by_context.var() / 400 + by_arm.var() / 300)
    assert abs(by_context.mean() - expected) <= FAR * error
    assert world.mean.mean(axis=1).std() > 2 * world.mean.mean(axis=0).std()  # 1.5 against 0.6


def test_blocs_have_ceilings_and_ties() -> None:
    world = worlds.blocs(900, 400, 3, seed=1)
    assert np.bincount(world.group).tolist() == [300] * 3
    centre = np.array([world.mean[world.group == g].mean(axis=0) for g in range(3)])
    error = np.sqrt(0.25 / 9 / 300)  # the variance of Beta(8 p, 8 (1 - p)) is p (1 - p) / 9
    assert centre.min() >= 0.02 - FAR * error
    assert centre.max() <= 0.98 + FAR * error
    # Beta(0.3, 0.15): a share of F(0.02) is cut off below, of 1 - F(0.98) above
    ceiling = 1 - stats.beta(0.3, 0.15).cdf(0.97)
    assert abs((centre > 0.97).mean() - ceiling) <= FAR * math.sqrt(ceiling * (1 - ceiling) / 1200)
    for g in range(3):
        spread = world.mean[world.group == g].var(axis=0)
        middle = (centre[g] > 0.2) & (centre[g] < 0.8)
        expected = centre[g] * (1 - centre[g]) / 9
        assert np.abs(spread[middle] / expected[middle] - 1).max() <= FAR * math.sqrt(2 / 300)


def theta_of(world: lb.World, rewards: str) -> Any:
    """Return the tastes behind the means of a world of tastes."""
    mean = world.mean
    return {
        "poisson": lambda: mean / 3,
        "exponential": lambda: mean - 0.1,
        "stars": lambda: (worlds.Stars().tastes(mean) - 1) / 4,
        "revenue": lambda: (mean / math.exp(0.5) - 0.1) / 0.4,
        "rare": lambda: mean / math.exp(3.125) / 0.02,
    }.get(rewards, lambda: mean)()


@pytest.mark.parametrize("rewards", REWARDS)
def test_tastes_are_the_same_under_every_law(rewards: str) -> None:
    world = worlds.tastes(30, 6, 3, rewards=rewards, seed=5)
    theta = worlds.tastes(30, 6, 3, seed=5).mean
    assert np.allclose(theta_of(world, rewards), theta, atol=1e-6)
    assert theta.min() >= 0.03
    assert theta.max() <= 0.97


LAWS = {
    "bernoulli": "bernoulli",
    "gaussian": "gaussian, sd=0.3",
    "sd by arm": "gaussian, sd by arm, slope=0",
    "sd by mean": "gaussian, sd=0.05, slope=1",
    "sd by context": "gaussian, sd by context, slope=0",
    "beta": "beta, concentration=5",
    "poisson": "poisson",
    "exponential": "exponential",
    "stars": "stars, sd=1",
    "revenue": "revenue, mu=0, sigma=1",
    "rare": "revenue, mu=3, sigma=0.5",
    "student": "student, df=3, scale=0.5",
}


@pytest.mark.parametrize("rewards", REWARDS)
def test_the_laws_of_tastes(rewards: str) -> None:
    world = worlds.tastes(6, 4, 2, rewards=rewards, seed=1)
    assert repr(world) == f"World(tastes, contexts=6, arms=4, groups=2, {LAWS[rewards]})"


def test_noise_by_arm_and_by_context_is_lognormal() -> None:
    arm: Any = worlds.tastes(3, 2000, rewards="sd by arm", seed=1).law
    context: Any = worlds.tastes(2000, 3, rewards="sd by context", seed=1).law
    assert (arm.sd.shape, context.sd.shape) == ((2000,), (2000, 1))
    for law, sd in ((arm, 0.8), (context, 1.0)):
        z = np.log(law.sd.ravel() / 0.3) / sd
        assert stats.kstest(z, stats.norm.cdf).pvalue > UNLIKELY


def test_one_taste_is_the_same_for_all() -> None:
    world = worlds.tastes(50, 2000, seed=1)
    assert (world.mean == world.mean[0]).all()
    assert world.groups == 1
    assert stats.kstest(world.mean[0], stats.uniform(0.1, 0.8).cdf).pvalue > UNLIKELY


def test_four_tastes_lie_around_one() -> None:
    world = worlds.tastes(4, 3000, 4, seed=1)
    inside = (world.mean > 0.03) & (world.mean < 0.97)
    apart = (world.mean[0] - world.mean[1])[inside.all(axis=0)]
    # cut off at the ends, differences are a little smaller than 0.2 times the root of 2
    assert 0.22 < apart.std() < 0.2 * math.sqrt(2)
    assert abs(apart.mean()) <= FAR * apart.std() / math.sqrt(len(apart))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: worlds.with_levels(5, 3, groups=6, seed=1),
            "groups: expected one of 1 .. 5, got 6",
        ),
        (lambda: worlds.with_levels(0, 3, seed=1), "contexts: expected"),
        (lambda: worlds.with_levels(5, 3, noise="stars", seed=1), r"Stars needs means in \(1, 5\)"),
        (lambda: worlds.two_point(5, 3, frequency="often", seed=1), "frequency: expected one of"),
        (lambda: worlds.blocs(5, 3, 0, seed=1), "groups: expected one of 1 .. 5, got 0"),
        (lambda: worlds.tastes(5, 3, rewards="cauchy", seed=1), "rewards: expected one of bern"),
        (lambda: worlds.tastes(5, 3, seed=-1), "seed: expected"),
    ],
)
def test_bad_worlds_are_named(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(lb.BadArgument, match=words):
        make()
