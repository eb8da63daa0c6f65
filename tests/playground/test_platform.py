"""The platform against services whose answers are known, and against a real one over HTTP."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import numpy as np
import pytest

from kits.served import served
from kits.service import Clock, opened
from lumpable.client import Client, Decided
from lumpable.playground import simulated_platform as simulated
from lumpable.playground.judging import Believed, beside_truth
from lumpable.playground.shop import NEW, Shop, build
from lumpable.playground.simulated_platform import BURST, Platform
from lumpable.playground.takings import Takings, compare_takings
from lumpable.playground.visits import visits_from
from lumpable.service.live_experiment import LiveExperiment

WINDOW = 1.0


class Time:
    """Passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, list[float]()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept.append(seconds)


class Scripted:
    """A service that shows what it is told to; it writes down what it is sent, and when."""

    def __init__(self, time: Time, show: Callable[[str], str], version: int = 9) -> None:
        self.time, self.show, self.version = time, show, version
        self.decided: dict[str, float] = {}
        self.rewarded: list[tuple[str, float]] = []
        self.added: list[tuple[int, str]] = []

    def decide_many(self, users: Iterable[str], *, events: Sequence[str]) -> list[Decided]:
        made = [
            Decided(event, user, self.show(user), 1.0, self.version)
            for event, user in zip(events, users, strict=True)
        ]
        assert not self.decided.keys() & set(events)
        self.decided |= {one.event: self.time() for one in made}
        return made

    def reward_many(self, rewards: Iterable[tuple[str, float]]) -> None:
        for event, value in rewards:
            assert value == 1.0
            self.rewarded.append((event, self.time()))

    def add_arm(self, arm: str) -> None:
        self.added.append((len(self.decided), arm))


def played(
    shop: Shop, show: Callable[[str], str], visits: int = 2_000, *, new_at: int = 1_000
) -> tuple[Scripted, Takings]:
    time = Time()
    service = Scripted(time, show)
    platform = Platform(service, shop, visits_from(shop, 4), window=WINDOW, new_at=new_at,
                        clock=time, sleep=time.sleep)  # fmt: skip
    *_, takings = platform.play(visits, pace=500.0)
    platform.finish()
    return service, takings


def first_favourite(shop: Shop) -> Callable[[str], str]:
    """Show to each what is best before the new offer comes."""
    best = [shop.offers[arm] for arm in shop.seasons[0].favourite.tolist()]
    return dict(zip(shop.visitors, best, strict=True)).__getitem__


@pytest.fixture(scope="module")
def shop() -> Shop:
    return build(40, 2, seed=1)


def test_who_shows_the_most_popular_earns_just_that(shop: Shop) -> None:
    _, takings = played(shop, lambda user: shop.control)
    assert takings.shown == takings.popular
    assert takings.gain == takings.gain_lately == takings.favourites == 0.0


def test_who_knows_the_favourites_earns_the_most(shop: Shop) -> None:
    _, takings = played(shop, first_favourite(shop), new_at=10**9)
    assert takings.favourites == 1.0
    assert takings.shown == takings.best
    visits = list(islice(visits_from(shop, 4), 2_000))
    who = np.array([visit.visitor for visit in visits])
    mean = shop.world.mean[:, :-1]
    assert takings.best == pytest.approx(mean[who].max(axis=1).sum())
    assert takings.popular == pytest.approx(mean[who, 0].sum())
    luck = np.array([visit.luck for visit in visits])
    assert takings.clicks == (luck < mean[who].max(axis=1)).sum()


def test_after_the_new_offer_the_old_favourite_is_none(shop: Shop) -> None:
    service, takings = played(shop, first_favourite(shop), new_at=1_010)
    assert service.added == [(1_025, NEW)]  # before the first burst that begins after it
    who = np.array([visit.visitor for visit in islice(visits_from(shop, 4), 2_000)])
    spoilt = (np.arange(2_000) >= 1_025) & (shop.world.group[who] == 1)
    assert takings.favourites == pytest.approx(1 - spoilt.mean())
    assert takings.shown < takings.best


def test_clicks_are_reported_late_never_or_twice_as_they_should(shop: Shop) -> None:
    service, takings = played(shop, lambda user: shop.control)
    visits = list(islice(visits_from(shop, 4), 2_000))
    times = Counter(event for event, _ in service.rewarded)
    last = {event: at - service.decided[event] for event, at in service.rewarded}
    assert (takings.visits, len(service.decided)) == (2_000, 2_000)
    assert min(takings.late, takings.lost, takings.twice) > 0
    assert len(service.rewarded) == takings.clicks - takings.lost + takings.twice
    assert len(times) == takings.clicks - takings.lost
    slip = BURST / 500.0 + 1e-9
    """How long a click may wait for the next burst."""
    for event, visit in zip(service.decided, visits, strict=True):
        clicked = visit.luck < shop.world.mean[visit.visitor, 0]
        due = clicked and not math.isinf(visit.delay)
        assert times[event] == due * (1 + visit.twice)
        if due:
            delay = visit.delay + simulated.AGAIN * visit.twice
            assert delay - 1e-9 <= last[event] <= delay + slip
    assert service.time.now >= max(service.decided.values()) + WINDOW


def test_visitors_come_slowly_until_there_were_fits(shop: Shop) -> None:
    time = Time()
    service = Scripted(time, lambda user: shop.control, version=0)
    platform = Platform(service, shop, visits_from(shop, 4), window=WINDOW, new_at=10**9,
                        clock=time, sleep=time.sleep)  # fmt: skip
    playing = platform.play(pace=1_000.0)
    for _ in islice(playing, 21):
        pass
    assert time.now == pytest.approx(20 * BURST / simulated.OPENING_PACE)
    service.version = simulated.OPENING_FITS
    time.slept.clear()
    for _ in islice(playing, 21):
        pass
    assert time.slept[1:] == pytest.approx([BURST / 1_000.0] * 20)
    service.version = platform._fits = 0
    while platform.opening:
        next(playing)
    assert platform.visits == simulated.LONGEST_OPENING


def test_what_is_held_back_is_measured() -> None:
    rewards = [*[(True, 1.0)] * 30, *[(True, 0.0)] * 70, *[(False, 1.0)] * 500]
    rewards += [(False, 0.0)] * 500
    found = compare_takings(rewards)
    assert found is not None
    assert (found.held, found.others) == (100, 1_000)
    assert (found.held_rate, found.rate, found.difference) == pytest.approx((0.3, 0.5, 0.2))
    width = 1.96 * math.sqrt(0.21 / 99 + 0.25 / 999)
    assert (found.low, found.high) == pytest.approx((0.2 - width, 0.2 + width))
    assert compare_takings([(True, 1.0), (False, 1.0), (False, 0.0)]) is None


def test_beliefs_are_judged_by_the_majority(shop: Shop) -> None:
    tastes = shop.world.group
    favourite = [shop.offers[arm] for arm in shop.seasons[1].favourite]
    truth = [
        Believed(name, int(tastes[i]) + 3, favourite[i]) for i, name in enumerate(shop.visitors)
    ]
    found = beside_truth(shop, truth)
    assert (found.groups, found.agreeing, found.right) == (2, 40, 40)
    assert [(row.visitors, row.in_groups, row.right) for row in found.tastes] == [
        (22, 22, 22),
        (18, 18, 18),
    ]
    assert found.tastes[1].favourites == ((NEW, 18),)
    one = beside_truth(shop, [row._replace(group=0, offer=shop.control) for row in truth])
    assert (one.groups, one.agreeing, one.right) == (1, 22, 0)
    assert one.tastes[0].in_groups == 40
    assert one.tastes[1].believed == ((shop.control, 18),)
    none = beside_truth(shop, [row._replace(group=None) for row in truth[:10]])
    assert (none.groups, none.agreeing, none.right) == (0, 0, 10)


class Timed:
    """A client in a time that the test tells."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self.client, self.clock = client, clock

    def decide_many(self, users: Iterable[str], *, events: Sequence[str]) -> list[Decided]:
        return self.client.decide_many(users, events=events)

    def reward_many(self, rewards: Iterable[tuple[str, float]]) -> list[str]:
        return self.client.reward_many(rewards, at=self.clock.now)

    def add_arm(self, arm: str) -> None:
        self.client.add_arm(arm)


def test_a_service_finds_the_tastes_over_http() -> None:
    shop, clock = build(40, 2, seed=1), Clock()

    def sleep(seconds: float) -> None:
        clock.now += seconds

    def opener() -> LiveExperiment:
        return opened(clock=clock, arms=shop.offers[:-1], rewards="binary", window=WINDOW,
                      default=0.0)  # fmt: skip

    with served(opener) as running, Client(running.url, timeout=300.0) as client:
        platform = Platform(Timed(client, clock), shop, visits_from(shop, 2), window=WINDOW,
                            new_at=1_500, clock=lambda: clock.now, sleep=sleep)  # fmt: skip
        *_, takings = platform.play(3_000, pace=500.0)
        platform.finish()
        groups, counts = client.groups()["groups"], client.status()["experiment"]
        policy = {row["user"]: row["best_arm"] for row in client.policy()}
    assert counts["decisions"] == counts["counted"] == 3_000  # also what was never clicked
    assert counts["waiting"] == 0
    assert {group["best_arm"] for group in groups} == {NEW, "chef's knife"}
    right = [
        policy[name] == shop.offers[arm]
        for name, arm in zip(shop.visitors, shop.seasons[1].favourite, strict=True)
    ]
    assert sum(right) > 22  # as many as one offer for all can be right for
    assert takings.shown > takings.popular
