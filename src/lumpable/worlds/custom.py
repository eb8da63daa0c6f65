"""Rewards by a function of the user's own, or by a method of a world of the user's own."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from lumpable.base.arrays import FloatMatrix, IntMatrix, IntVector
from lumpable.base.errors import BadArgument
from lumpable.worlds.laws import Law

LARGEST = 1e100
"""Learners take rewards of at most this size."""
TRIES = 256
"""Rewards of each mean from which the variance of an unknown law is estimated."""
Draw = Callable[[FloatMatrix, np.random.Generator], npt.ArrayLike]
"""An array of means and a generator in, a reward for each mean out."""


@final
@dataclass(frozen=True)
class Custom(Law):
    """A law of your own: `function(mean, rng)` takes an array of means and returns their rewards.

    It must work for arrays of any shape and take all luck from `rng`, so that every learner meets
    the same rewards. That their mean is `mean` is your promise: regret is counted by it.

    Parameters
    ----------
    name
        What it is called on pages; the name of the function unless given.
    low, high
        Rewards lie between these. Learners that need rewards in [0, 1] go by them.

    >>> def scratch_cards(mean, rng):
    ...     return 10 * (rng.random(mean.shape) < mean / 10)
    >>> print(Custom(scratch_cards, low=0, high=10))
    scratch_cards
    """

    function: Draw
    name: str = ""
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise BadArgument("function", "a function of means and a generator", f"{self.function}")
        named = self.name or getattr(self.function, "__name__", type(self.function).__name__)
        object.__setattr__(self, "name", named)
        if not isinstance(self.name, str):
            raise BadArgument("name", "a string", repr(self.name))
        real = all(isinstance(end, int | float) for end in self.support)
        if not real or not self.low < self.high:
            raise BadArgument("low", "a number below `high`", f"{self.low!r} and {self.high!r}")

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest reward that it can give."""
        return self.low, self.high

    def draw(self, mean: FloatMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw a reward for each mean; refuse what are no rewards."""
        try:
            given = self.function(mean, rng)
        except Exception as error:
            why = f"{self.name}(mean, rng) raised {type(error).__name__}: {error}"
            raise BadArgument("noise", why=why) from error
        return checked_rewards(f"{self.name}(mean, rng)", given, mean.shape, self.support)

    def variance(self, mean: FloatMatrix) -> FloatMatrix:
        """Return about the variance of rewards with these means, from a fixed number of draws."""
        return estimated_variance(self, mean)

    def check(self, mean: FloatMatrix) -> None:
        """Refuse means out of range, and a function that does not do what it must."""
        super().check(mean)
        first, second = (self.draw(mean[:2].copy(), np.random.default_rng(0)) for _ in range(2))
        if not np.array_equal(first, second):
            why = "must take all luck from rng, but gave two answers to one seed"
            raise BadArgument("noise", why=f"{self.name}(mean, rng) {why}")

    def __str__(self) -> str:
        """Return its name."""
        return self.name


@final
@dataclass(frozen=True, eq=False)
class ByMethod(Law):
    """The law of a world whose class has a method `reward` of its own: it is asked every time."""

    world: Any
    contexts: IntVector
    """The context of each row."""
    name = "reward method"
    support = (-math.inf, math.inf)

    def draw(self, mean: FloatMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw a reward for each context and arm: row by row, arm by arm."""
        K = self.world.arms
        drawn = [self.world.reward(i, j, rng) for i in self.contexts.tolist() for j in range(K)]
        who = f"{type(self.world).__name__}.reward"
        return checked_rewards(who, drawn, (len(drawn),), self.support).reshape(mean.shape)

    def variance(self, mean: FloatMatrix) -> FloatMatrix:
        """Return about the variance of rewards with these means, from a fixed number of draws."""
        return estimated_variance(self, mean)

    def total(self, mean: FloatMatrix, number: IntMatrix, rng: np.random.Generator) -> FloatMatrix:
        """Draw sums of rewards, one by one."""
        self.refuse_many(number)
        plays = zip(np.ndindex(*number.shape), number.ravel().tolist(), strict=True)
        sums = [
            math.fsum(self.world.reward(int(self.contexts[i]), j, rng) for _ in range(many))
            for (i, j), many in plays
        ]
        return np.array(sums).reshape(mean.shape)

    def part(self, contexts: IntVector) -> ByMethod:
        """Return the law of these contexts, row by row."""
        return ByMethod(self.world, self.contexts[contexts])

    def __str__(self) -> str:
        """Name the class whose method it is."""
        return f"rewards by {type(self.world).__name__}.reward"


def checked_rewards(
    who: str, given: npt.ArrayLike, shape: tuple[int, ...], support: tuple[float, float]
) -> FloatMatrix:
    """Return rewards that have this shape and lie in this range; else say who gave what."""
    try:
        rewards = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise BadArgument("noise", f"numbers from {who}", f"{given!r}") from None
    if rewards.shape != shape:
        raise BadArgument("noise", f"{shape} rewards from {who}", f"{rewards.shape}")
    low, high = max(support[0], -LARGEST), min(support[1], LARGEST)
    wrong = ~((rewards >= low) & (rewards <= high))  # NaN is wrong, too
    if wrong.any():
        got = f"{rewards[wrong][0]}"
        raise BadArgument("noise", f"rewards from {low:g} to {high:g} from {who}", got)
    return rewards


def estimated_variance(law: Law, mean: FloatMatrix) -> FloatMatrix:
    """Return the mean square of rewards around their means, over a fixed number of draws."""
    rng = np.random.default_rng(0)
    squares: FloatMatrix = np.zeros(mean.shape)
    for _ in range(TRIES):
        squares += (law.draw(mean.copy(), rng) - mean) ** 2
    return squares / TRIES


def import_law(place: str) -> Custom:
    """Return the law of a function that is named `module:function`."""
    module, _, function = place.partition(":")
    try:
        return Custom(getattr(importlib.import_module(module), function), name=function)
    except (Exception, SystemExit) as error:  # of the user's module
        words = f"cannot import {place!r}: {type(error).__name__}: {error}"
        raise BadArgument("noise", why=words.partition("\n")[0]) from error
