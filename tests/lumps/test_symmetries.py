"""Symmetries of the model and of the search: units, success and failure, names. And what m0 is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from counts_made import blocks, counted, listed, made, mapped, rewarded, same_order, together

import lumpable as lb
from lumpable.base.arrays import FloatMatrix, IntVector
from lumpable.lumps.core.batches import ask_many
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.model import fitted, search
from lumpable.lumps.model.counts import Counts, group_sums
from lumpable.lumps.model.scores import KNOTS
from lumpable.lumps.model.strengths import own_strength

UNITS = [(1e6, 0.0), (1e-6, 0.0), (1e6, 3e6), (0.2, 2e6)]
"""Factors and shifts; by the last one rewards are 1e7 times as large as they differ."""


def normal(mean: FloatMatrix, n: int, seed: int) -> Counts:
    return rewarded(mean, n, 0.2, seed)


def lognormal(mean: FloatMatrix, n: int, seed: int) -> Counts:
    return mapped(rewarded(3.0 * mean, n, 0.6, seed), np.exp)


@pytest.mark.parametrize(("scale", "shift"), UNITS)
@pytest.mark.parametrize("law", [normal, lognormal])
def test_real_rewards_in_other_units_give_the_same_fit(
    law: Callable[..., Counts], scale: float, shift: float
) -> None:
    """Scores have no unit, so groups and strengths are the same; noise and means have those of the
    rewards. Shifted ones are rounded to 1e-9 of what they differ by."""
    counts = law(blocks(3, 40), 8, seed=1)
    one, two = fitted.fit(counts), fitted.fit(mapped(counts, lambda y: scale * y + shift))
    assert two.groups == one.groups == 3
    assert together(two) == pytest.approx(together(one), abs=1e-6)
    assert (two.m0, two.kappa, two.k0) == (one.m0, one.kappa, one.k0)
    assert two.evidence == pytest.approx(one.evidence, rel=1e-6)
    assert one.scale is not None
    assert two.scale is not None
    assert two.scale.phi == pytest.approx(one.scale.phi, rel=1e-6)
    mine, its, order = one.scale.worth, two.scale.worth, same_order(one, two)
    assert its.noise == pytest.approx(scale**2 * mine.noise[:, order], rel=1e-6)
    assert its.means - shift == pytest.approx(scale * mine.means[:, order], rel=1e-4)
    assert its.variances == pytest.approx(scale**2 * mine.variances[:, order], rel=1e-6)


@pytest.mark.parametrize(("scale", "shift"), UNITS)
def test_choices_are_the_same_in_other_units(scale: float, shift: float) -> None:
    """Every one of them, through all fits; asked in batches too."""
    world = lb.worlds.lumpable(12, 5, 3, noise="gaussian", sd=0.2, seed=3)
    one, two = (ThreeLevels(12, 5, seed=8) for _ in range(2))
    rng = np.random.default_rng(7)
    for t in range(500):
        i = int(rng.integers(12))
        arm = one.ask(i)
        assert two.ask(i) == arm, t
        reward = world.reward(i, arm, rng)
        one.tell(i, arm, reward)
        two.tell(i, arm, scale * reward + shift)
    everyone = np.arange(12)
    assert np.array_equal(ask_many(one, everyone), ask_many(two, everyone))
    assert np.array_equal(one.policy(), two.policy())
    means = [learner.posterior_means(everyone) for learner in (one, two)]
    assert means[1] - shift == pytest.approx(scale * means[0], rel=1e-4, abs=1e-4 * scale)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("law", [normal, lognormal])
def test_rewards_and_losses_are_mirror_images(law: Callable[..., Counts], seed: int) -> None:
    """The score of -r is one less that of r, but that knots of ranks are picked from one side."""
    counts = law(blocks(3, 40), 8, seed)
    one, two = fitted.fit(counts), fitted.fit(mapped(counts, np.negative))
    assert one.scale is not None
    assert two.scale is not None
    rewards = np.unique(listed(counts)[2])
    close = 1e-9 if law is normal else 1.0 / KNOTS
    scores = one.scale.score.of(rewards), two.scale.score.of(-rewards)
    assert scores[1] == pytest.approx(1.0 - scores[0], abs=close)
    assert two.groups == one.groups == 3
    assert together(two) == pytest.approx(together(one), abs=1e-6)
    mirrored = -one.scale.worth.means[:, same_order(one, two)]
    assert two.scale.worth.means == pytest.approx(mirrored, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_success_and_failure_are_mirror_images(seed: int) -> None:
    counts = rewarded(blocks(3, 40), 8, None, seed)
    one, two = search.fit(counts), search.fit(replace(counts, s=counts.n - counts.s))
    assert two.groups == one.groups
    assert together(two) == pytest.approx(together(one), abs=1e-6)
    assert (two.m0, two.kappa, two.k0) == (one.m0, one.kappa, one.k0)
    assert two.p0 == pytest.approx(1 - one.p0, abs=1e-9)
    assert two.evidence == pytest.approx(one.evidence, rel=1e-9)
    assert two.means == pytest.approx(1 - one.means[:, same_order(one, two)], abs=1e-6)


def renamed(counts: Counts, contexts: IntVector, arms: IntVector) -> Counts:
    """Return the counts with context contexts[k] now called k, and arm arms[k] called k."""
    context, arm, reward = listed(counts)
    return counted(np.argsort(contexts)[context], np.argsort(arms)[arm], reward, counts.arms)


@pytest.mark.parametrize("sd", [None, 0.2])
def test_other_names_give_the_same_fit_under_other_names(sd: float | None) -> None:
    """From a given start exactly, up to rounding. Starts are drawn with fixed seeds by number, so
    the whole search is equivariant only where all starts lead to one optimum, as they do here."""
    counts = rewarded(blocks(3, 40), 8, sd, seed=5)
    rng = np.random.default_rng(6)
    contexts, arms = rng.permutation(counts.contexts), rng.permutation(counts.arms)
    other = renamed(counts, contexts, arms)
    start = rng.dirichlet(np.ones(3), size=counts.contexts)
    fits = fitted.fit(counts), fitted.fit(other)
    coins = [fitted.coins_of(counts, fits[0]), fitted.coins_of(other, fits[1])]
    one = search.one_group(coins[0])
    pairs = [
        (one, search.one_group(coins[1])),
        (search.settle(coins[0], start, one), search.settle(coins[1], start[contexts], one)),
        fits,
    ]
    for here, there in pairs:
        assert there.groups == here.groups
        moved = together(here)[np.ix_(contexts, contexts)]
        assert together(there) == pytest.approx(moved, abs=1e-5)
        assert there.evidence == pytest.approx(here.evidence, rel=1e-6)
        assert there.m0 == here.m0


# --- How closely contexts keep to their group -------------------------------------------------


def deviating(m0: float, n: int, seed: int) -> Counts:
    """Return n coins of each of 1,000 x 4 cells whose means lie around 1/2 with strength m0."""
    rng = np.random.default_rng(seed)
    size = (1000, 4)
    own = rng.beta(m0 / 2, m0 / 2, size=size) if math.isfinite(m0) else np.full(size, 0.5)
    return made(np.full(size, float(n)), rng.binomial(n, own).astype(np.float64))


@pytest.mark.parametrize("m0", [0.25, 2.0, 8.0, 16.0])
def test_own_strength_finds_the_strength_of_deviations(m0: float) -> None:
    """With n = 20, m0 = 16 and m0 = 64 differ by 35 % or more in the variance of a cell's average,
    smaller strengths by more, and 4,000 cells know it to sqrt(2 / 4000) = 2.2 %."""
    for seed in range(5):
        counts = deviating(m0, 20, seed)
        member = np.ones((1000, 1))
        pulls, totals = group_sums(counts, member, 8.0)
        found = own_strength(counts, member, pulls, totals, np.full(4, 0.5), 2.0, 8.0)
        assert m0 / 2 <= found <= 2 * m0


def test_contexts_that_are_alike_have_no_finite_strength_worth_the_name() -> None:
    """1 / m0 is known to 2.2 % of 1 / 20: six standard errors leave m0 above 64."""
    for seed in range(5):
        counts = deviating(math.inf, 20, seed)
        member = np.ones((1000, 1))
        pulls, totals = group_sums(counts, member, 8.0)
        assert own_strength(counts, member, pulls, totals, np.full(4, 0.5), 2.0, 8.0) > 64.0
