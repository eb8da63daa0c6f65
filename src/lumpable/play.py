"""Play a learner in a world, round by round: for learners that decide every round.

The context of each round and its reward come from `default_rng([seed, 1])`, which no world is drawn
from. Knows no algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lumpable import checks
from lumpable.learners import Learner
from lumpable.world import World

CHUNK = 1 << 14
"""Contexts drawn at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """A learner that was played in a world."""

    world: World
    seed: int
    rounds: int
    regret: float
    steps: list[dict[str, Any]]

    def rows(self) -> list[dict[str, Any]]:
        """Return the rounds and the regret so far, at every power of two and at the end."""
        return [dict(step) for step in self.steps]


def play(learner: Learner, world: World, *, horizon: int, seed: int) -> Played:
    """Play so many rounds: a context comes, the learner picks an arm and sees the reward.

    >>> from lumpable import worlds
    >>> from lumpable.learners import ConstantExperts
    >>> world = worlds.from_matrix([[0.2, 0.8], [0.1, 0.4]], noise="bernoulli")
    >>> played = play(ConstantExperts(2, horizon=1000, seed=1), world, horizon=1000, seed=2)
    >>> played.regret < 0.1 * played.rounds
    True
    """
    T = checks.whole("horizon", horizon, 1)
    rng = np.random.default_rng([checks.whole("seed", seed, 0), 1])
    gap = world.best[:, np.newaxis] - world.mean
    regret, done, mark = 0.0, 0, 1
    steps: list[dict[str, Any]] = []
    while done < T:
        coming = rng.choice(world.contexts, size=min(CHUNK, T - done), p=world.frequency)
        for context in coming.tolist():
            arm = learner.ask(context)
            learner.tell(context, arm, world.reward(context, arm, rng))
            regret += gap[context, arm]
            done += 1
            if done in (mark, T):
                steps.append({"rounds": done, "regret": float(regret)})
                mark *= 2
    return Played(world, seed, T, float(regret), steps)
