"""A world, the order in which contexts come, the delay of rewards, and changes over time.

Knows no learner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.worlds.custom import checked_rewards
from lumpable.worlds.world import World

ARRIVALS = ("iid", "bursts", "sorted", "round robin")
CHUNK = 1 << 16
"""Rounds of a tape that are drawn together."""
BLOCK = 1 << 10
"""Rounds whose rewards are drawn together where a law gives every arm a reward of its own."""
BURST = 20
"""Mean length of a burst: rounds in a row of one context."""


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """A world, the order in which contexts come, the delay of rewards, and later worlds."""

    world: World
    arrivals: str = "iid"
    """`iid` by frequency; `bursts`: a context that has come comes about 20 times in a row; `sorted`
    by group: one group after the other; `round robin`: all contexts in turn."""
    delay: int = 0
    """Rounds before the learner is told a reward."""
    later: tuple[tuple[int, World], ...] = ()
    """Worlds that take over, each with the round that it starts in."""
    name: str = ""

    def __post_init__(self) -> None:
        checks.choice("arrivals", self.arrivals, ARRIVALS)
        checks.whole("delay", self.delay, 0, 10**7)
        rounds = [0, *(checks.whole("later", start, 1) for start, _ in self.later)]
        if rounds != sorted(set(rounds)):
            raise BadArgument("later", "rounds in increasing order", f"{rounds[1:]}")
        for _, world in self.later:
            if _kind(world) != _kind(self.world):
                raise BadArgument("later", "worlds like the first", repr(world))

    def at(self, done: int) -> tuple[World, int | None]:
        """Return the world after `done` rounds, and the round in which it ends, if it does."""
        world, end = self.world, None
        for start, other in self.later:
            if start > done:
                end = start
                break
            world = other
        return world, end

    def changes(self, done: int) -> int:
        """Return how many later worlds have taken over after `done` rounds."""
        return sum(start <= done for start, _ in self.later)


@dataclass(frozen=True, slots=True)
class Tape:
    """What does not depend on the learner: the contexts, and the randomness in rewards.

    A chunk of rounds is a pure function of the seed and its number, so every learner gets the same
    contexts and the same noise: common random numbers.
    """

    scene: Scene
    horizon: int
    seed: int

    def chunk(self, number: int) -> tuple[IntVector, FloatVector]:
        """Return contexts and noise of rounds number * CHUNK and on: uniform or normal draws.

        Other laws need no such noise: see `rewards`.
        """
        rng = np.random.default_rng([self.seed, 2, number])
        first = number * CHUNK
        rounds = min(CHUNK, self.horizon - first)
        contexts = self._contexts(first, rounds, rng)
        if not self.scene.world.plain:
            return contexts, np.zeros(0)
        if self.scene.world.noise == "bernoulli":
            return contexts, rng.random(rounds)
        return contexts, rng.standard_normal(rounds)

    def rewards(self, contexts: IntVector, block: int, changes: int) -> FloatMatrix:
        """Return a reward of every arm in each round of a block, whose contexts these are.

        They are a pure function of the seed, the block and the world after so many changes.
        """
        world = (self.scene.world, *(later for _, later in self.scene.later))[changes]
        rng = np.random.default_rng([self.seed, 6, block, changes])  # 4 and 5: drift, learners
        mean, law = world.mean[contexts], world.law
        return checked_rewards(
            law.name, law.part(contexts).draw(mean, rng), mean.shape, law.support
        )

    def _contexts(self, first: int, rounds: int, rng: np.random.Generator) -> IntVector:
        world = self.scene.world
        S, nu = world.contexts, world.frequency
        if self.scene.arrivals == "round robin":
            order = np.random.default_rng([self.seed, 3]).permutation(S)
            turn: IntVector = order[(first + np.arange(rounds)) % S]
            return turn
        if self.scene.arrivals == "sorted":
            order = np.argsort(world.group, kind="stable")
            block = np.cumsum(nu[order])
            ends = np.cumsum(world.group_frequency)
            place = (first + np.arange(rounds) + 0.5) / self.horizon
            group = np.minimum(np.searchsorted(ends, place, side="right"), len(ends) - 1)
            at = (ends - world.group_frequency)[group]
            at = at + rng.random(rounds) * world.group_frequency[group]
            return order[_place(block, at)]
        if nu.min() == nu.max():
            drawn = rng.integers(S, size=rounds)
        else:
            drawn = _place(np.cumsum(nu), rng.random(rounds))
        if self.scene.arrivals == "bursts":
            fresh = rng.random(rounds) < 1 / BURST
            fresh[0] = True
            drawn = drawn[np.maximum.accumulate(np.where(fresh, np.arange(rounds), 0))]
        return drawn


def _kind(world: World) -> tuple[object, ...]:
    """Return what worlds must share for one tape to serve both."""
    return world.mean.shape, world.law.name, world.plain


def _place(cumulative: FloatVector, at: FloatVector) -> IntVector:
    """Return where each number falls among these cumulative frequencies."""
    found: IntVector = np.searchsorted(cumulative, at, side="right")
    return np.minimum(found, len(cumulative) - 1)
