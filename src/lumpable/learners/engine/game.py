"""The game that a loop plays: who comes, what arms pay, and rewards that are under way.

One kernel settles a round for all learners, so that it is compiled once and not in every loop.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine.blocks import Block, kinds
from lumpable.learners.engine.clock import Clock, kernel

NOTHING, NO_ARM = -1, -2
"""Instead of a context: there is no reward to tell yet; what was chosen is no arm."""


class Game(NamedTuple):
    """Rounds to be played, and what came of them."""

    contexts: IntVector
    """Of each round."""
    noise: FloatVector
    rewards: FloatMatrix
    """If it is not empty, the reward of every arm in each round: then `noise` is not needed."""
    mean: FloatMatrix
    best: FloatVector
    sd: float
    """Below 0: Bernoulli rewards."""
    late: FloatMatrix
    """Context, arm and reward of rewards under way; a context below 0: none yet."""
    slot: IntVector
    """Where the next one to come is."""
    totals: FloatVector
    """Regret, rewards, and what was chosen that is no arm, which is NaN before."""


KINDS = kinds(
    Game(
        np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0),
        0.0, np.zeros((0, 3)), np.zeros(1, dtype=np.int64), np.zeros(3),
    )
)  # fmt: skip


def game_block(clock: Clock, *parts: Any) -> Block:
    """Return a block of the game with these parts, all as loops were compiled for."""
    game = Game(*parts)
    if kinds(game) != KINDS:
        raise TypeError(f"expected a game of {KINDS}, got {kinds(game)}")
    return Block(game, clock)


@kernel
def settle(game: Game, t: int, arm: int) -> tuple[int, int, float]:
    """Play an arm in round t; return context, arm and reward of what is to be told now."""
    context, delay = game.contexts[t], len(game.late)
    if arm < 0 or arm >= game.mean.shape[1]:
        game.totals[2] = arm
        return NO_ARM, 0, 0.0
    value = game.mean[context, arm]
    if len(game.rewards) > 0:
        reward = game.rewards[t, arm]
    elif game.sd < 0:
        reward = 1.0 if game.noise[t] < value else 0.0
    else:
        reward = value + game.sd * game.noise[t]
    game.totals[0] += game.best[context] - value
    game.totals[1] += reward
    if delay == 0:
        return context, arm, reward
    late, at = game.late, game.slot[0]
    game.slot[0] = at + 1 if at + 1 < delay else 0
    before, arm_before, reward_before = late[at, 0], late[at, 1], late[at, 2]
    late[at, 0], late[at, 1], late[at, 2] = context, arm, reward
    if before < 0:
        return NOTHING, 0, 0.0
    return int(before), int(arm_before), reward_before
