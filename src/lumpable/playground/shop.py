"""The truth of a shop: visitors with hidden tastes, on levels of their own, and a late new offer.

Nobody who decides may see it. Knows no service.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatVector, IntVector
from lumpable.worlds.made import generator
from lumpable.worlds.world import World

TASTES = {
    "cooks": ("chef's knife", "spice box", "pasta maker", "cast-iron pan", "apron"),
    "gamers": ("headset", "game pad", "desk lamp", "mouse", "chess set"),
    "hikers": ("tent", "trail boots", "head torch", "rucksack", "water bottle"),
    "painters": ("easel", "oil paints", "sketch book", "brushes", "frame"),
}
"""Each taste, the largest first, and its shelf: the favourite, two that are liked, the rest."""
EVERYBODY = ("gift card", "umbrella", "notebook", "candle")
"""What stands at the till, the best-seller first."""
NEW = "camping stove"
"""Comes late, and is the new favourite of one taste."""
SHARE = (0.35, 0.28, 0.22, 0.15)
"""Of the visitors, by taste."""
SHELF = (0.62, 0.45, 0.40)
"""How often a visitor of middle level clicks their favourite and what they like."""
BEST_SELLER = (0.45, 0.40, 0.30, 0.15)
"""The same for the best-seller, by taste: nobody's favourite, and the best offer for all."""
BETTER = 0.80
"""The same for the new favourite."""
UNLOVED = (0.04, 0.20)
"""The same for everything else: drawn from here, one number an offer."""
LEVEL = (0.75, 1.25)
"""How much more or less than that a visitor clicks, whatever it is: drawn from here."""


@dataclass(frozen=True, slots=True)
class Season:
    """What is best while some offers are open."""

    popular: int
    """The offer that most people click, if all are shown the same one."""
    favourite: IntVector
    """Each visitor's best offer."""
    best: FloatVector
    """How often they click it."""


@dataclass(frozen=True)
class Shop:
    """Visitors and offers; the last offer is not open from the beginning."""

    world: World
    tastes: tuple[str, ...]
    """Names of the groups of the world."""

    @cached_property
    def visitors(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(map(str, self.world.context_names))

    @cached_property
    def offers(self) -> tuple[str, ...]:
        """Their names; the new one comes last."""
        return tuple(map(str, self.world.arm_names))

    @property
    def control(self) -> str:
        """The best-seller, which everybody would be shown without a learner."""
        return EVERYBODY[0]

    @property
    def new(self) -> str:
        """The offer that comes late."""
        return self.offers[-1]

    @cached_property
    def seasons(self) -> tuple[Season, Season]:
        """What is best before the new offer comes, and after."""
        return self._season(self.world.arms - 1), self._season(self.world.arms)

    def _season(self, offers: int) -> Season:
        mean = self.world.mean[:, :offers]
        popular = int(np.argmax(self.world.frequency @ mean))
        return Season(popular, np.argmax(mean, axis=1), mean.max(axis=1))


def build(visitors: int = 300, tastes: int = len(TASTES), *, seed: int = 0) -> Shop:
    """Hide tastes among visitors: a pure function of the sizes and the seed.

    >>> build(100, 2).world
    World(shop, contexts=100, arms=15, groups=2, bernoulli)
    """
    checks.whole("tastes", tastes, 2, len(TASTES))
    checks.whole("visitors", visitors, 10 * tastes, 10**6)
    rng = generator(seed)
    names = tuple(TASTES)[:tastes]
    offers = (*EVERYBODY, *(offer for name in names for offer in TASTES[name]), NEW)
    clicked = np.tile(rng.uniform(*UNLOVED, len(offers)), (tastes, 1))
    for taste, name in enumerate(names):
        clicked[taste, 0] = BEST_SELLER[taste]
        own = offers.index(TASTES[name][0])
        clicked[taste, own : own + len(SHELF)] = SHELF
    clicked[tastes // 2, -1] = BETTER
    share = np.array(SHARE[:tastes]) / sum(SHARE[:tastes])
    ends = np.round(visitors * np.cumsum(share)).astype(int)
    group = rng.permutation(np.searchsorted(ends, np.arange(visitors), side="right"))
    level = rng.uniform(*LEVEL, (visitors, 1))
    world = World(
        clicked[group] * level, np.full(visitors, 1 / visitors), group, "bernoulli", name="shop",
        context_names=tuple(f"visitor {i + 1}" for i in range(visitors)), arm_names=offers,
    )  # fmt: skip
    return Shop(world, names)
