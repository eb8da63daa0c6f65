"""Decision by decision: a learner against a literal version of it."""

from __future__ import annotations

from bisect import bisect
from typing import Protocol

import numpy as np

import lumpable as lb
from lumpable.learners import Learner

LONG_MEMORY = 500
"""Rounds for literal versions that go through all rewards in every round: a quarter of the time
that the usual thousand takes. The refits of rounds 500 to 1,000 are not compared."""


class Literal(Protocol):
    def ask(self, context: int) -> int: ...

    def tell(self, context: int, arm: int, reward: float) -> None: ...


def agree(learner: Learner, literal: Literal, world: lb.World, rounds: int = 1000) -> None:
    """Play both on one tape and compare every choice."""
    rng = np.random.default_rng(7)
    upto = world.frequency.cumsum()
    upto = (upto / upto[-1]).tolist()
    for t in range(rounds):
        context = bisect(upto, rng.random())  # what rng.choice does with p, without its checks
        arm, expected = learner.ask(context), literal.ask(context)
        assert arm == expected, f"round {t}, context {context}: {arm}, literally {expected}"
        reward = world.reward(context, arm, rng)
        learner.tell(context, arm, reward)
        literal.tell(context, arm, reward)


def believed_means(world: lb.World) -> list[list[float]]:
    """Return the means of each group, as somebody who knows them would hand them in."""
    first = [int((world.group == g).argmax()) for g in range(world.groups)]
    means: list[list[float]] = world.mean[first].tolist()
    return means
