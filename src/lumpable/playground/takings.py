"""What was shown, clicked and earned, beside what others would have earned from the same visits."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from lumpable.playground.shop import Shop
from lumpable.playground.visits import Visit

LATELY = 2_000
"""Visits that are looked back at."""
Z = 1.96
"""95 % of a normal law lie within so many standard deviations."""


@dataclass
class Takings:
    """Counts of what happened, and clicks that the truth expects of the same visits."""

    shop: Shop
    visits: int = 0
    clicks: int = 0
    late: int = 0
    """Of the clicks, ..."""
    lost: int = 0
    twice: int = 0
    shown: float = 0.0
    """Clicks that are expected of what was shown, ..."""
    popular: float = 0.0
    """... of the most popular offer for everybody, ..."""
    best: float = 0.0
    """... and of each visitor's own best offer, in the same visits."""
    lately: deque[tuple[bool, float, float]] = field(default_factory=lambda: deque(maxlen=LATELY))
    """The last visits: whether the best offer was shown, and what `shown` and `popular` added."""

    def note(self, visit: Visit, offer: int, *, renewed: bool) -> bool:
        """Count a visit and what was shown; return whether it was clicked."""
        mean, season = self.shop.world.mean[visit.visitor], self.shop.seasons[renewed]
        shown, popular = float(mean[offer]), float(mean[season.popular])
        self.visits += 1
        self.shown += shown
        self.popular += popular
        self.best += float(season.best[visit.visitor])
        self.lately.append((bool(offer == season.favourite[visit.visitor]), shown, popular))
        clicked = visit.luck < shown
        if clicked:
            lost = math.isinf(visit.delay)
            self.clicks += 1
            self.late += visit.late
            self.lost += lost
            self.twice += visit.twice and not lost
        return clicked

    @property
    def favourites(self) -> float:
        """The share of the last visits in which the visitor's best offer was shown."""
        return sum(right for right, _, _ in self.lately) / max(1, len(self.lately))

    @property
    def gain(self) -> float:
        """How much more was earned than by the most popular offer, as a part of that."""
        return self.shown / self.popular - 1

    @property
    def gain_lately(self) -> float:
        """The same in the last visits."""
        return sum(row[1] for row in self.lately) / sum(row[2] for row in self.lately) - 1


@dataclass(frozen=True, slots=True)
class Measured:
    """Rewards of decisions that were held back and of the learner's, as the service counted them.

    It needs no truth: anybody can measure this.
    """

    held: int
    """Decisions that were held back."""
    held_rate: float
    others: int
    rate: float
    difference: float
    """What the learner's bring over those held back, a visit, and the ends of a 95 % interval."""
    low: float
    high: float


def compare_takings(rewards: Iterable[tuple[bool, float]]) -> Measured | None:
    """Compare rewards, each with whether it was held back; None: too few of either kind."""
    values: dict[bool, list[float]] = {True: [], False: []}
    for held, reward in rewards:
        values[held].append(reward)
    if min(map(len, values.values())) < 2:
        return None
    (n, a, va), (m, b, vb) = (_moments(values[held]) for held in (True, False))
    width = Z * math.sqrt(va / n + vb / m)
    return Measured(n, a, m, b, b - a, b - a - width, b - a + width)


def _moments(values: list[float]) -> tuple[int, float, float]:
    """Return number, mean and variance."""
    n, mean = len(values), sum(values) / len(values)
    return n, mean, sum((value - mean) ** 2 for value in values) / (n - 1)
