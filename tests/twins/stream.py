"""The random stream of a learner, for literal versions: the same draws, one call each.

A literal learner keeps a `Stream` with the seed of the compiled one, calls `begin_choice` before it
chooses and `begin_update` before it learns, and counts its tells.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lumpable.learners.engine import draws
from lumpable.learners.engine.clock import seeded, start_choice, start_update


class Stream:
    def __init__(self, seed: int) -> None:
        self.clock = seeded(seed)

    def begin_choice(self, context: int) -> None:
        start_choice(self.clock, context)

    def begin_update(self) -> None:
        start_update(self.clock)

    def told(self) -> None:
        self.clock[1] += np.uint64(1)

    @property
    def tells(self) -> int:
        return int(self.clock[1])

    def uniform(self) -> float:
        return float(draws.uniform(self.clock))

    def normal(self) -> float:
        return float(draws.normal(self.clock))

    def gamma(self, shape: float) -> float:
        return float(draws.gamma(self.clock, shape))

    def beta(self, a: float, b: float) -> float:
        return float(draws.beta(self.clock, a, b))

    def below(self, number: int) -> int:
        return int(draws.below(self.clock, number))

    def largest(self, values: Sequence[float]) -> int:
        """Return where the largest is; one of several at random, counted from the first."""
        places = [j for j, value in enumerate(values) if value == max(values)]
        return places[0] if len(places) == 1 else places[self.below(len(places))]
