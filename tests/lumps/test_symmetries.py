"""Symmetries of the model and of the search: units, success and failure, names. And what m0 is."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from counts_made import blocks, dense, made, rewarded, together

from lumpable.base.arrays import IntVector
from lumpable.lumps.model import search
from lumpable.lumps.model.counts import Counts, group_sums
from lumpable.lumps.model.strengths import own_strength


@pytest.mark.parametrize(("scale", "shift"), [(1e6, 0.0), (1e-6, 0.0), (1e6, 3e6), (1e-6, 3e-6)])
def test_real_rewards_in_other_units_give_the_same_fit(scale: float, shift: float) -> None:
    """Strengths are pseudo-counts and the noise is fitted, so that units do not matter."""
    counts = rewarded(blocks(3, 40), 8, 0.2, seed=1)
    other = replace(
        counts, s=scale * counts.s + shift * counts.n, squares=scale**2 * counts.squares
    )
    one, two = search.fit(counts), search.fit(other)
    assert two.groups == one.groups == 3
    assert together(two) == pytest.approx(together(one), abs=1e-6)
    assert (two.m0, two.kappa, two.k0) == (one.m0, one.kappa, one.k0)
    assert two.means == pytest.approx(scale * one.means + shift, rel=1e-6, abs=1e-6 * scale)
    assert two.noise == pytest.approx(scale**2 * one.noise, rel=1e-9)
    change = len(counts.n) * math.log(scale)  # of the density of each cell's average
    assert two.evidence == pytest.approx(one.evidence - change, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_success_and_failure_are_mirror_images(seed: int) -> None:
    counts = rewarded(blocks(3, 40), 8, None, seed)
    one, two = search.fit(counts), search.fit(replace(counts, s=counts.n - counts.s))
    assert two.groups == one.groups
    assert together(two) == pytest.approx(together(one), abs=1e-6)
    assert (two.m0, two.kappa, two.k0) == (one.m0, one.kappa, one.k0)
    assert two.p0 == pytest.approx(1 - one.p0, abs=1e-9)
    assert two.evidence == pytest.approx(one.evidence, rel=1e-9)
    order = np.argmax(two.member.T @ one.member, axis=1)  # groups may come in another order
    assert two.means == pytest.approx(1 - one.means[:, order], abs=1e-6)


def renamed(counts: Counts, contexts: IntVector, arms: IntVector) -> Counts:
    """Return the counts with context contexts[k] now called k, and arm arms[k] called k."""
    n, s = dense(counts)
    chosen = np.ix_(contexts, arms)
    return made(n[chosen], s[chosen], counts.real, counts.squares)


@pytest.mark.parametrize("sd", [None, 0.2])
def test_other_names_give_the_same_fit_under_other_names(sd: float | None) -> None:
    """From a given start exactly, up to rounding. Starts are drawn with fixed seeds by number, so
    the whole search is equivariant only where all starts lead to one optimum, as they do here."""
    counts = rewarded(blocks(3, 40), 8, sd, seed=5)
    rng = np.random.default_rng(6)
    contexts, arms = rng.permutation(counts.contexts), rng.permutation(counts.arms)
    other = renamed(counts, contexts, arms)
    start = rng.dirichlet(np.ones(3), size=counts.contexts)
    one = search.one_group(counts)
    pairs = [
        (one, search.one_group(other)),
        (search.settle(counts, start, one), search.settle(other, start[contexts], one)),
        (search.fit(counts), search.fit(other)),
    ]
    for here, there in pairs:
        assert there.groups == here.groups
        moved = together(here)[np.ix_(contexts, contexts)]
        assert together(there) == pytest.approx(moved, abs=1e-5)
        assert there.evidence == pytest.approx(here.evidence, rel=1e-6)
        assert there.m0 == here.m0


# --- How closely contexts keep to their group -------------------------------------------------


def deviating(m0: float, real: bool, n: int, seed: int) -> Counts:
    """Return n rewards of each of 1,000 x 4 cells whose means lie around 1/2 with strength m0."""
    rng = np.random.default_rng(seed)
    size = (1000, 4)
    if real:
        own = 0.5 + (rng.normal(size=size) / math.sqrt(m0) if math.isfinite(m0) else 0.0)
        s = n * own + math.sqrt(n) * rng.normal(size=size)
        return made(np.full(size, float(n)), s, True, 4000.0 * (n - 1))
    own = rng.beta(m0 / 2, m0 / 2, size=size) if math.isfinite(m0) else np.full(size, 0.5)
    return made(np.full(size, float(n)), rng.binomial(n, own).astype(np.float64))


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("m0", [2.0, 8.0, 16.0])
def test_own_strength_finds_the_strength_of_deviations(real: bool, m0: float) -> None:
    """With n = 20, m0 = 16 and m0 = 64 differ by 35 % or more in the variance of a cell's average,
    smaller strengths by more, and 4,000 cells know it to sqrt(2 / 4000) = 2.2 %."""
    for seed in range(5):
        counts = deviating(m0, real, 20, seed)
        member, noise = np.ones((1000, 1)), counts.noise()
        pulls, totals = group_sums(counts, member, 8.0)
        found = own_strength(counts, member, pulls, totals, np.full(4, 0.5), 2.0, noise, 8.0)
        assert m0 / 2 <= found <= 2 * m0


@pytest.mark.parametrize("real", [False, True])
def test_contexts_that_are_alike_have_no_finite_strength_worth_the_name(real: bool) -> None:
    """1 / m0 is known to 2.2 % of 1 / 20: six standard errors leave m0 above 64."""
    for seed in range(5):
        counts = deviating(math.inf, real, 20, seed)
        member, noise = np.ones((1000, 1)), counts.noise()
        pulls, totals = group_sums(counts, member, 8.0)
        centre = np.full(4, 0.5)
        assert own_strength(counts, member, pulls, totals, centre, 2.0, noise, 8.0) > 64.0
