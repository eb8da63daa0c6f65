"""The platform: asks a service what to show to those who come, and reports what they click.

Talks to the service only as any caller would, by its client. The service learns from names and
clicks; the truth stays here.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from lumpable.client import Decided
from lumpable.playground.shop import Shop
from lumpable.playground.takings import Takings
from lumpable.playground.visits import Visit

BURST = 25
"""Visits of one moment, which one call decides."""
OPENING_FITS, OPENING_PACE, LONGEST_OPENING = 3, 200.0, 2_000
"""Until the service has gone on from so many fits, visitors come slowly: so many a second, and at
most so many in all. A new machine compiles what fits need, and who came meanwhile would be shown
guesses."""
AGAIN = 0.1
"""How much later a click is reported a second time, in windows."""


class Decider(Protocol):
    """The part of a client that a platform needs."""

    def decide_many(self, users: Iterable[str], *, events: Sequence[str]) -> Sequence[Decided]:
        """Choose for many users, each with the id of an event."""

    def reward_many(self, rewards: Iterable[tuple[str, float]]) -> object:
        """Report many rewards."""

    def add_arm(self, arm: str) -> object:
        """Let an arm be chosen from now on."""


class Platform:
    """A shop whose visitors come, are shown something, and click or do not.

    Visits that are not clicked are never reported: the window has to tell. At visit `new_at` the
    new offer is added.
    """

    def __init__(
        self, service: Decider, shop: Shop, visits: Iterator[Visit], *, window: float, new_at: int,
        first: int = 0, clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        self._service, self._shop, self._visits = service, shop, visits
        self._window, self._new_at, self._first = window, new_at, first
        self._clock, self._sleep = clock, sleep
        self._offer = {name: number for number, name in enumerate(shop.offers)}
        self._due: list[tuple[float, str]] = []
        """Clicks to be reported, and when."""
        self._fits = 0
        """The version of the service, as far as decisions told."""
        self.renewed = False
        """Whether the new offer is there."""
        self.takings = Takings(shop)

    def play(self, visits: float = math.inf, pace: float = math.inf) -> Iterator[Takings]:
        """Let so many visitors come, at most `pace` a second; yield what happened so far."""
        done = 0
        while done < visits:
            began, size = self._clock(), int(min(BURST, visits - done))
            self._burst(size)
            self._report()
            done += size
            yield self.takings
            slow = min(pace, OPENING_PACE) if self.opening else pace
            self._sleep(max(0.0, began + size / slow - self._clock()))

    @property
    def opening(self) -> bool:
        """Whether the service has hardly learned anything yet."""
        return self._fits < OPENING_FITS and self.visits < LONGEST_OPENING

    @property
    def visits(self) -> int:
        """All visits, with those before this platform."""
        return self._first + self.takings.visits

    def finish(self) -> None:
        """Wait until every click was reported and every window is closed."""
        end = self._clock() + self._window
        while self._due:
            self._sleep(max(0.0, self._due[0][0] - self._clock()))
            self._report()
        self._sleep(max(0.0, end - self._clock()))
        self._service.reward_many([])  # after which the service looks at its windows

    def _burst(self, size: int) -> None:
        if not self.renewed and self.visits >= self._new_at:
            self._service.add_arm(self._shop.new)
            self.renewed = True
        names, visits = self._shop.visitors, list(islice(self._visits, size))
        users = [names[visit.visitor] for visit in visits]
        events = [f"visit-{self.visits + k}" for k in range(size)]
        chosen = self._service.decide_many(users, events=events)
        now = self._clock()
        for visit, one in zip(visits, chosen, strict=True):
            offer = self._offer[str(one.arm)]
            self._fits = max(self._fits, one.version)
            clicked = self.takings.note(visit, offer, renewed=self.renewed)
            if clicked and math.isfinite(visit.delay):
                for delay in (visit.delay, visit.delay + AGAIN)[: 1 + visit.twice]:
                    heapq.heappush(self._due, (now + delay * self._window, one.event))

    def _report(self) -> None:
        """Send the clicks that are due, in one call."""
        now, events = self._clock(), []
        while self._due and self._due[0][0] <= now:
            events.append(heapq.heappop(self._due)[1])
        if events:
            self._service.reward_many([(event, 1.0) for event in events])
