"""The search for a fit: a pure function of the counts that finds what is there, and no more."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from counts_made import alike, blocks, counted, drawn, equal, listed, made, rewarded, together
from scipy import stats

from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.model import fitted, search
from lumpable.lumps.model.dispersion import LEAST_PHI
from lumpable.lumps.model.fit import Fit

NOISES = [None, 0.2]
"""Rewards of 0 and 1, and real ones with this standard deviation."""


def own_strength(fit: Fit) -> float:
    """Return how closely contexts keep to their group, in rewards."""
    return fit.m0 if fit.scale is None else fit.scale.worth.own


# --- A pure function --------------------------------------------------------------------------


def test_a_fit_is_a_function_of_the_counts_in_whatever_order_rewards_came() -> None:
    """0/1 rewards: sums are exact, so the fit is the same to the last bit, before or after."""
    rng = np.random.default_rng(1)
    mean = blocks(3, 20)
    tells = [
        (i, j, float(rng.random() < mean[i, j])) for i, j in rng.integers([20, 9], size=(500, 2))
    ]
    before = fitted.fit(rewarded(mean, 3, None, seed=2))
    fits = []
    for order in (np.arange(500), rng.permutation(500), np.arange(500)[::-1]):
        learner = ThreeLevels(20, 9, seed=1)
        for k in order:
            context, arm, reward = tells[k]
            learner.tell(int(context), int(arm), reward)
        counts = learner.counts()
        fits.append((fitted.fit(counts), fitted.fit(counts, before)))
    for afresh, warm in fits[1:]:
        assert equal(afresh, fits[0][0])
        assert equal(warm, fits[0][1])


@pytest.mark.parametrize("sd", NOISES)
def test_a_fit_changes_nothing_that_it_was_given(sd: float | None) -> None:
    counts = rewarded(blocks(3, 20), 6, sd, seed=3)
    before = fitted.fit(rewarded(blocks(3, 20), 2, sd, seed=4))
    kept = copy.deepcopy((counts, before))
    first = fitted.fit(counts, before)
    assert equal(first, fitted.fit(counts, before))
    assert equal(counts, kept[0])
    assert equal(before, kept[1])


@pytest.mark.parametrize("sd", NOISES)
def test_contexts_that_are_new_since_the_fit_before_are_taken_in(sd: float | None) -> None:
    mean, group = blocks(3, 30), np.arange(30) % 3
    whole = rewarded(mean, 12, sd, seed=5)
    context, arm, reward = listed(whole)
    early = context < 20
    part = counted(context[early], arm[early], reward[early], 9)
    warm = fitted.fit(whole, fitted.fit(part))
    assert together(warm) == pytest.approx(alike(group), abs=1e-3)
    assert warm.member.shape == (30, 3)


# --- What is there is found -------------------------------------------------------------------


@pytest.mark.parametrize("sd", NOISES)
@pytest.mark.parametrize("groups", [2, 3, 5])
def test_groups_are_recovered_exactly(sd: float | None, groups: int) -> None:
    """Any two groups differ on six arms, by 0.9 against 0.15, and each cell has 12 rewards.

    The likelihood takes a context for another group's with probability at most b^72, where b =
    sqrt(0.9 0.15) + sqrt(0.1 0.85) < 0.66 (Bhattacharyya): 1e-13 for each pair of 60 contexts and
    5 groups. With noise of 0.2 the distance is 32 standard deviations.
    """
    group = np.arange(60) % groups
    for seed in range(5):
        fit = fitted.fit(rewarded(blocks(groups, 60), 12, sd, seed))
        assert fit.groups == groups
        assert together(fit) == pytest.approx(alike(group), abs=1e-3)
        assert fit.m0 >= 64.0
        assert fit.rank == 0


@pytest.mark.parametrize("known", [False, True])
def test_many_groups_are_found_where_two_or_three_would_be_worse_than_one(known: bool) -> None:
    """Six groups: the true partition is 25 nats and more above one group, afresh or carried on."""
    mean, group = blocks(6, 36), np.arange(36) % 6
    before = fitted.fit(rewarded(mean, 30, None, seed=99)) if known else None
    for seed in range(3):
        counts = rewarded(mean, 3, None, seed)
        one = search.one_group(counts)
        truth = search.settle(counts, np.eye(6)[group], replace(one, m0=math.inf))
        assert truth.evidence > one.evidence + 25.0
        assert fitted.fit(counts, before).evidence > truth.evidence - 1.0


@pytest.mark.parametrize("sd", NOISES)
def test_one_group_is_one_group(sd: float | None) -> None:
    """In 9 of 10 cases at least: 30 seeds, the exact binomial bound at 1e-9."""
    rng = np.random.default_rng(6)
    single = 0
    for seed in range(30):
        mean = np.tile(rng.uniform(0.1, 0.9, 8), (50, 1))
        fit = fitted.fit(rewarded(mean, 10, sd, seed))
        single += fit.groups == 1 and fit.rank == 0 and fit.m0 > 8.0
    assert single >= stats.binom.ppf(1e-9, 30, 0.9)


@pytest.mark.parametrize("sd", NOISES)
def test_groups_with_deviations_keep_their_number_and_show_their_strength(
    sd: float | None,
) -> None:
    """m0 = 16 and n = 20: the variance of a cell's average, 1/20 + 1/16, is known to 4.3 % from
    1,080 cells; with m0 = 64 it would be 42 % less, with m0 = 4 more than twice as much."""
    mean = blocks(3, 120, low=0.25, high=0.8)
    for seed in range(3):
        rng = np.random.default_rng([seed, 8])
        if sd is None:
            own = rng.beta(16 * mean, 16 * (1 - mean))
        else:
            own = mean + sd / 4 * rng.normal(size=mean.shape)
        fit = fitted.fit(rewarded(own, 20, sd, seed))
        assert fit.groups == 3
        assert together(fit) == pytest.approx(alike(np.arange(120) % 3), abs=0.05)
        assert 8.0 <= own_strength(fit) <= 32.0


def test_contexts_without_structure_are_each_on_their_own() -> None:
    """Uniform means are Beta(2 x 1/2, 2 x 1/2): m0 = 2, up to the grid's next point. Of rewards
    with a noise of 1, twelve are worth as much as the variance of 1/12."""
    for seed in range(3):
        rng = np.random.default_rng([seed, 9])
        fit = fitted.fit(rewarded(rng.random((100, 8)), 20, None, seed))
        assert (fit.groups, fit.rank) == (1, 0)
        assert 1.0 <= fit.m0 <= 4.0
        normal = fitted.fit(rewarded(rng.random((100, 8)), 20, 1.0, seed))
        assert (normal.groups, normal.rank) == (1, 0)
        assert 6.0 <= own_strength(normal) <= 24.0


def test_contexts_without_structure_and_with_little_noise_are_one_group() -> None:
    """Means of sd 1 around the population's and noise of 0.03: a reward tells nearly all of its
    cell. Scores vary by a hundredth of a coin's variance at least, and their m0 is 2 to 8."""
    for seed in range(3):
        rng = np.random.default_rng([seed, 10])
        fit = fitted.fit(rewarded(rng.normal(size=(100, 8)), 20, 0.03, seed))
        assert (fit.groups, fit.rank) == (1, 0)
        assert own_strength(fit) <= 8 * LEAST_PHI


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_directions_are_counted(rank: int) -> None:
    """100 contexts on 8 arms, averages of 20 rewards with an error of 0.11, and means that spread
    by 0.33 to 0.58 along the directions: the smallest is above the noise, and no other one is. All
    means are bounded, so that scores are linear; ranks would bend directions."""
    for seed in range(3):
        rng = np.random.default_rng([seed, rank])
        factor, loading = rng.uniform(-1, 1, (100, rank)), rng.uniform(-1, 1, (rank, 8))
        mean = 0.3 * rng.normal(size=8) + factor @ loading
        fit = fitted.fit(rewarded(mean, 20, 0.5, seed))
        assert (fit.groups, fit.rank) == (1, rank)
        true = loading.T @ np.linalg.pinv(loading.T)  # projects on the true directions
        outside = fit.loading - true @ fit.loading
        assert np.linalg.norm(outside) < 0.1 * np.linalg.norm(fit.loading)


def test_contexts_like_no_other_do_not_break_the_search() -> None:
    """Each of a few contexts is surely alone in its group: the group has exactly one member."""
    for seed in range(5):
        rng = np.random.default_rng([seed, 12])
        mean = np.concatenate([np.tile([0.0, 1.0], (20, 3)), 5.0 * rng.normal(size=(4, 6))])
        fit = fitted.fit(rewarded(mean, 20, 0.05, seed))
        assert np.isfinite(fit.member).all()
        assert fit.member.sum(axis=1) == pytest.approx(np.ones(24))
        assert together(fit)[:20, :20] == pytest.approx(np.ones((20, 20)), abs=1e-6)


# --- Stress -----------------------------------------------------------------------------------


def sound(fit: Fit) -> bool:
    """Whether every number of a fit is one (W_j and m0 may be infinite)."""
    numbers = [fit.member, fit.pulls, fit.totals, fit.share, fit.centre, fit.loading, fit.means]
    scalars = [fit.kappa, fit.k0, fit.p0, fit.evidence]
    noise = np.ones(1)
    if fit.scale is not None:
        worth, noise = fit.scale.worth, fit.scale.worth.noise
        numbers += [fit.scale.phi, fit.scale.score.knot, worth.means, worth.variances, noise]
        scalars += [worth.between, worth.p0, worth.t0, *fit.scale.score[2:]]
    finite = all(np.isfinite(table).all() for table in numbers) and np.isfinite(scalars).all()
    whole = np.allclose(fit.member.sum(axis=1), 1.0)
    return bool(
        finite
        and whole
        and (noise > 0).all()
        and fit.m0 > 0
        and not np.isnan(fit.prior_weight).any()
    )


@pytest.mark.parametrize("value", [0.0, 1.0, 0.5, -3.0, 1e6, 1e-6, 1e100, 1e-100])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (9, 1), (12, 5)])
def test_constant_rewards_are_one_group(value: float, shape: tuple[int, int]) -> None:
    fit = fitted.fit(drawn(np.full((*shape, 6), value)))
    assert sound(fit)
    assert fit.real == (value not in (0.0, 1.0))
    assert (fit.groups, fit.rank) == (1, 0)


@pytest.mark.parametrize("sd", [None, 0.2, 1e6, 1e-6])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (9, 1), (2, 2)])
def test_few_contexts_and_few_arms(sd: float | None, shape: tuple[int, int]) -> None:
    mean = np.random.default_rng(13).random(shape) * (1.0 if sd is None else sd / 0.2)
    assert sound(fitted.fit(rewarded(mean, 9, sd, seed=1)))


@pytest.mark.parametrize("real", [False, True])
def test_ten_thousand_arms_and_few_cells(real: bool) -> None:
    rng = np.random.default_rng(14)
    few = rng.integers(0, [40, 10_000], (300, 2)).repeat(2, axis=0)
    many = np.indices((40, 3, 5))[:2].reshape(2, -1).T
    context, arm = np.concatenate([few, many]).T
    reward = rng.normal(size=len(arm))
    reward = reward if real else np.where(reward > 0.25, 1.0, 0.0)
    fit = fitted.fit(counted(context, arm, reward, 10_000))
    assert sound(fit)
    assert fit.means.shape[0] == 10_000


@pytest.mark.parametrize("scale", [1e6, 1e-6])
def test_planted_groups_are_found_in_any_units(scale: float) -> None:
    fit = fitted.fit(rewarded(scale * blocks(3, 30), 12, 0.2 * scale, seed=1))
    assert fit.groups == 3
    assert together(fit) == pytest.approx(alike(np.arange(30) % 3), abs=1e-3)


def test_before_there_is_much_to_see_there_is_one_group() -> None:
    n = np.zeros((50, 4))
    n[:, 0] = 1.0
    fit = fitted.fit(made(n, n))
    assert (fit.groups, fit.rank) == (1, 0)
    assert sound(fit)
    assert math.isfinite(fit.evidence)


@pytest.mark.parametrize("order", [[2, 0, 3, 1], [0, 1, 2, 3], [3, 2, 1, 0]])
def test_groups_keep_their_numbers(order: list[int]) -> None:
    """Whoever stores the number of a group finds the same people in it after the next fit."""
    first = fitted.fit(rewarded(blocks(4, 40), 6, None, seed=1))
    tables = ("member", "pulls", "totals")
    moved: dict[str, Any] = {
        name: np.ascontiguousarray(getattr(first, name)[:, order]) for name in tables
    }
    before = replace(first, **moved, share=first.share[order])
    after = fitted.fit(rewarded(blocks(4, 40), 12, None, seed=2), before)
    np.testing.assert_array_equal(after.member.argmax(axis=1), before.member.argmax(axis=1))


def test_new_groups_are_numbered_by_size() -> None:
    mean = blocks(3, 36)
    mean = np.concatenate([mean[0::3], mean[1::3][:6], mean[2::3][:9]])
    fit = fitted.fit(rewarded(mean, 12, None, seed=1))
    assert fit.member.sum(axis=0).round().tolist() == [12, 9, 6]
