"""Own means of two values, and averages over one group and several."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import lumpable as lb
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.model import search
from lumpable.lumps.model.ends import FEWEST_CELLS, RARELY, two_ends
from lumpable.lumps.model.fit import averaged
from lumpable.worlds.world import World


def cells(seed: int, number: int = 4000) -> tuple[np.ndarray, ...]:
    """Return averages of cells whose means are around 2 or 5, three in ten of them around 5."""
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 9, number).astype(float)
    mean = np.where(rng.random(number) < 0.3, 5.0, 2.0) + rng.normal(0.0, 0.2, number)
    noise = np.full(number, 0.1)
    return mean + rng.normal(size=number) * np.sqrt(noise / n), n, noise, np.full(number, 2.9)


def log_likelihood(ends: tuple[float, float, float], drawn: tuple[np.ndarray, ...]) -> float:
    """Return the sum over cells of the logarithm of the two densities, weighed."""
    low, high, around = ends
    total = 0.0
    for y, n, noise, expected in zip(*drawn, strict=True):
        q = min(max((expected - low) / (high - low), RARELY), 1 - RARELY)
        v = around + noise / n
        up, down = (math.exp(-((y - end) ** 2) / (2 * v)) for end in (high, low))
        total += math.log((q * up + (1 - q) * down) / math.sqrt(v))
    return total


def test_two_ends_are_found_where_they_are() -> None:
    """Within five standard errors, of which the averages of 1,200 and 2,800 cells have a few %."""
    drawn = cells(3)
    found = two_ends(*drawn)
    assert found is not None
    ends, likely = found
    sd = math.sqrt(0.2**2 + 0.1 / np.mean(drawn[1]))
    assert ends.low == pytest.approx(2.0, abs=5 * sd / math.sqrt(2800))
    assert ends.high == pytest.approx(5.0, abs=5 * sd / math.sqrt(1200))
    assert ends.around == pytest.approx(0.04, rel=0.25)
    assert likely == pytest.approx(log_likelihood(ends, drawn))


def test_no_ends_nearby_are_likelier() -> None:
    drawn = cells(4)
    found = two_ends(*drawn)
    assert found is not None
    ends, likely = found
    for change in ((0.1, 0, 0), (-0.1, 0, 0), (0, 0.1, 0), (0, -0.1, 0), (0, 0, 0.03)):
        other = tuple(x + y for x, y in zip(ends, change, strict=True))
        assert log_likelihood(other, drawn) < likely  # type: ignore[arg-type]


def test_too_few_cells_and_equal_ones_have_no_ends() -> None:
    y, n, noise, expected = (each[: FEWEST_CELLS - 1] for each in cells(5))
    assert two_ends(y, n, noise, expected) is None
    assert two_ends(np.ones(50), np.full(50, 3.0), np.full(50, 0.1), np.ones(50)) is None


# --- In the loop ----------------------------------------------------------------------------------


def played(mean: np.ndarray, seed: int, pulls: int = 40) -> tuple[ThreeLevels, float]:
    """Return a learner that played a world with these means and normal noise, and its regret."""
    S, K = mean.shape
    world = World(mean, np.full(S, 1 / S), np.arange(S), "gaussian", 0.3)
    learner = ThreeLevels(S, K, seed=seed)
    return learner, float(lb.play(learner, world, horizon=S * pulls, seed=seed).regret)


def two_valued_means(seed: int) -> np.ndarray:
    """Return means of which each is 0.1 or 0.9, whatever the context and the arm."""
    return np.where(np.random.default_rng(seed).random((40, 12)) < 0.4, 0.9, 0.1)


def test_what_works_or_does_not_is_no_group_and_is_found_by_one_try() -> None:
    """An arm works with probability 0.4: 1.5 are tried in vain, of 0.8 each, and little else.

    A context that stops at the first arm that works pays 1.2 on average; until the values are
    known, and where noise misleads, it may pay twice that again.
    """
    regrets = []
    for seed in range(3):
        learner, regret = played(two_valued_means(seed), seed)
        fit = learner.last_fit
        assert fit is not None
        assert fit.scale is not None
        assert fit.groups == 1
        low, high, _ = fit.scale.worth.ends
        assert low == pytest.approx(0.1, abs=0.1)
        assert high == pytest.approx(0.9, abs=0.1)
        regrets.append(regret / 40)
    assert np.mean(regrets) < 3 * 1.2


def test_normal_deviations_have_no_ends() -> None:
    rng = np.random.default_rng(8)
    mean = 0.5 + rng.normal(0.0, 0.08, (1, 12)) + rng.normal(0.0, 0.12, (40, 12))
    fit = played(mean, 8)[0].last_fit
    assert fit is not None
    assert fit.scale is not None
    assert math.isfinite(fit.scale.worth.own)
    assert fit.scale.worth.ends.rise == 0.0


# --- Averages over models -------------------------------------------------------------------------


def told(rounds: int) -> ThreeLevels:
    """Return a learner that was told of coins of two groups, arms played in turn."""
    world = lb.worlds.lumpable(20, 6, 2, noise="bernoulli", seed=4)
    learner, rng = ThreeLevels(20, 6, seed=1), np.random.default_rng(2)
    for t in range(rounds):
        learner.tell(t % 20, t // 20 % 6, world.reward(t % 20, t // 20 % 6, rng))
    return learner


def test_doubt_is_the_probability_of_one_group() -> None:
    """By the evidence of either, and none where one group is believed anyway."""
    counts = told(1200).counts()
    one, fit = search.one_group(counts), search.fit(counts)
    assert fit.groups > 1
    odds = math.exp(one.evidence - fit.evidence)
    assert fit.doubt == pytest.approx(odds / (1 + odds))
    few = search.fit(told(40).counts())
    assert (few.groups, few.doubt) == (1, 0.0)


def test_means_are_averaged_as_much_as_one_group_is_likely() -> None:
    rng = np.random.default_rng(6)
    pulls = rng.uniform(1.0, 9.0, (5, 3))
    totals = pulls * rng.random((5, 3))
    whole = (totals.sum(axis=1) / pulls.sum(axis=1))[:, None]
    np.testing.assert_allclose(
        averaged(pulls, totals, 0.3) / pulls, 0.7 * totals / pulls + 0.3 * whole
    )
    assert averaged(pulls, totals, 0.0) is totals
    pulls[2] = totals[2] = 0.0
    np.testing.assert_array_equal(averaged(pulls, totals, 0.3)[2], 0.0)


def test_a_doubtful_fit_makes_groups_alike_in_the_state() -> None:
    """With a doubt of 1 all groups have the same averages, and the fit itself is as it was."""
    learner = told(1200)
    fit = learner.last_fit
    assert fit is not None
    assert fit.groups > 1
    learner.adopt(replace(fit, doubt=1.0))
    tried = learner.state.group_pulls > 1e-9
    mean = learner.state.group_total / np.maximum(learner.state.group_pulls, 1e-9)
    for j in range(6):
        each = mean[tried[:, j], j]
        np.testing.assert_allclose(each, each[0])
