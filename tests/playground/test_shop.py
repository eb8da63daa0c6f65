"""The simulated shop: its truth and its visitors follow from a seed, by the laws that it states."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
import pytest

from lumpable.base.errors import BadArgument
from lumpable.playground import shop as shops
from lumpable.playground import visits as laws
from lumpable.playground.visits import visits_from

N = 20_000
SIX = 6.0
"""Standard deviations: exceeded with probability 2e-9."""


def test_the_truth_is_a_function_of_the_seed() -> None:
    one, same, other = (shops.build(60, 3, seed=seed) for seed in (5, 5, 6))
    assert np.array_equal(one.world.mean, same.world.mean)
    assert np.array_equal(one.world.group, same.world.group)
    assert not np.array_equal(one.world.mean, other.world.mean)
    assert not np.array_equal(one.world.group, other.world.group)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("tastes", [2, 3, 4])
def test_each_taste_has_its_favourite_and_the_best_seller_is_nobodys(
    tastes: int, seed: int
) -> None:
    shop = shops.build(100, tastes, seed=seed)
    world, (before, after) = shop.world, shop.seasons
    share = np.array(shops.SHARE[:tastes]) / sum(shops.SHARE[:tastes])
    assert np.abs(np.bincount(world.group) - 100 * share).max() <= 1
    assert shop.offers[before.popular] == shop.control
    assert tastes == 2 or shop.offers[after.popular] == shop.control
    for season, late in ((before, None), (after, tastes // 2)):
        for taste, name in enumerate(shop.tastes):
            favourite = shop.new if taste == late else shops.TASTES[name][0]
            own = world.group == taste
            assert {shop.offers[arm] for arm in season.favourite[own]} == {favourite}
            number = shop.offers.index(favourite)
            assert np.array_equal(season.best[own], world.mean[own, number])


def test_members_of_a_taste_differ_in_level_only() -> None:
    world = shops.build(100, 2, seed=1).world
    low, high = shops.LEVEL
    for taste in range(2):
        own = world.mean[world.group == taste]
        ratio = own / own[0]
        assert np.allclose(ratio, ratio[:, :1])
        assert 1.2 < ratio.max() / ratio.min() < high / low


@pytest.mark.parametrize(("visitors", "tastes"), [(19, 2), (100, 1), (100, 5)])
def test_shops_that_cannot_be(visitors: int, tastes: int) -> None:
    with pytest.raises(BadArgument):
        shops.build(visitors, tastes)


def test_who_comes_is_a_function_of_the_seed_and_of_the_visit() -> None:
    shop = shops.build(60, 3, seed=5)
    all = list(islice(visits_from(shop, 7), 3_000))
    assert all == list(islice(visits_from(shop, 7), 3_000))
    assert all != list(islice(visits_from(shop, 8), 3_000))
    for first in (1, 999, 1_000, 1_001, 2_500):
        assert list(islice(visits_from(shop, 7, first), 400)) == all[first : first + 400]


def test_visits_follow_their_laws() -> None:
    shop = shops.build(20, 2, seed=1)
    visits = list(islice(visits_from(shop, 3), N))

    def agrees(count: int, share: float) -> bool:
        return abs(count - N * share) < SIX * math.sqrt(N * share * (1 - share))

    assert agrees(sum(visit.late for visit in visits), laws.LATE)
    assert agrees(sum(math.isinf(visit.delay) for visit in visits), laws.LOST)
    assert agrees(sum(visit.twice for visit in visits), laws.TWICE)
    assert agrees(sum(visit.luck < 0.3 for visit in visits), 0.3)
    assert all(agrees(times, 1 / 20) for times in np.bincount([v.visitor for v in visits]))
    soon = [visit.delay for visit in visits if visit.delay < 1]
    late = [visit.delay for visit in visits if visit.late]
    for delays, (low, high) in ((soon, laws.SOON), (late, laws.TOO_LATE)):
        assert low <= min(delays) < low + 0.02 * (high - low)
        assert high >= max(delays) > high - 0.02 * (high - low)
