"""Who comes to the shop, with what luck, and what becomes of their clicks on the way.

A pure function of the seed: whatever is shown, the same visitors come with the same luck.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lumpable.playground.shop import Shop

LATE, LOST, TWICE = 0.05, 0.05, 0.03
"""Shares of clicks: reported too late, never reported, reported twice."""
SOON = (0.02, 0.50)
"""When other clicks are reported, in windows after the visit."""
TOO_LATE = (1.2, 1.5)
BLOCK = 1_000
"""Visits that are drawn together."""


class Visit(NamedTuple):
    """One visit."""

    visitor: int
    luck: float
    """A click, if this is below the share of clicks that the offer has with the visitor."""
    delay: float
    """When the click is reported, in windows after the visit; infinite: never."""
    twice: bool
    """Whether it is reported twice."""

    @property
    def late(self) -> bool:
        """Whether the click comes too late to count."""
        return 1.0 < self.delay < math.inf


def visits_from(shop: Shop, seed: int, first: int = 0) -> Iterator[Visit]:
    """Yield visits for ever, from this one on."""
    for block in range(first // BLOCK, 10**12):
        visits = _block(shop, seed, block)
        yield from visits[max(0, first - block * BLOCK) :]


def _block(shop: Shop, seed: int, block: int) -> list[Visit]:
    rng = np.random.default_rng([seed, block])
    visitor = rng.choice(shop.world.contexts, BLOCK, p=shop.world.frequency)
    luck, fate, twice = rng.random((3, BLOCK))
    delay = rng.uniform(*SOON, BLOCK)
    delay = np.where(fate < LATE, rng.uniform(*TOO_LATE, BLOCK), delay)
    delay = np.where(fate >= 1 - LOST, np.inf, delay)
    columns = visitor.tolist(), luck.tolist(), delay.tolist(), (twice < TWICE).tolist()
    return [Visit(*row) for row in zip(*columns, strict=True)]
