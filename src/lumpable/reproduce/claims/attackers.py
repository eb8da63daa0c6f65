"""Adaptive ways to find the one good arm of a bandit, played on thousands of bandits at once.

One of k arms pays with probability 1/2 + gap, the others with 1/2. Every attacker ends, whenever it
is stopped, with the arm that is most probable given what it saw, gap and prior known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from lumpable.base.arrays import BoolMatrix, FloatMatrix, IntVector


@dataclass(slots=True, eq=False)
class Bandits:
    """Many bandits with k arms each, all played equally often so far."""

    good: IntVector
    """The good arm of each."""
    arms: int
    gap: float
    rng: np.random.Generator
    visits: int = 0
    plays: FloatMatrix = field(init=False)
    heads: FloatMatrix = field(init=False)
    odds: FloatMatrix = field(init=False)
    """Log-likelihood of each arm being the good one, with ties broken at random."""

    def __post_init__(self) -> None:
        shape = (len(self.good), self.arms)
        self.plays, self.heads = np.zeros(shape), np.zeros(shape)
        self.odds = 1e-9 * self.rng.random(shape)

    @property
    def mean(self) -> FloatMatrix:
        """Mean rewards; 1/2 for an arm without any."""
        return np.where(self.plays > 0, self.heads / np.maximum(self.plays, 1), 0.5)

    def radius(self, confidence: float) -> FloatMatrix:
        """Return sqrt(confidence / (2 plays)), infinite for an arm that was not played."""
        with np.errstate(divide="ignore"):
            return np.sqrt(confidence / (2 * self.plays))

    def play(self, arm: IntVector) -> None:
        """Play one arm of each bandit."""
        each = np.arange(len(arm))
        chance = 0.5 + self.gap * (arm == self.good)
        won = self.rng.random(len(arm)) < chance
        self.plays[each, arm] += 1
        self.heads[each, arm] += won
        self.odds[each, arm] += np.where(won, math.log1p(2 * self.gap), math.log1p(-2 * self.gap))
        self.visits += 1


Attacker = Callable[[Bandits], FloatMatrix]
"""Scores all arms of all bandits; the largest score is played, any of several."""


def uniform(bandits: Bandits) -> FloatMatrix:
    """Play all arms equally often."""
    return -bandits.plays


def elimination(bandits: Bandits) -> FloatMatrix:
    """Play arms equally often as long as they are not clearly worse than another one."""
    width = bandits.radius(math.log(bandits.arms))
    floor = (bandits.mean - width).max(axis=1, keepdims=True)
    return np.where(bandits.mean + width >= floor, -bandits.plays, -np.inf)


def upper_confidence(bandits: Bandits) -> FloatMatrix:
    """Play the largest upper confidence bound (UCB1 with half of its width)."""
    return bandits.mean + bandits.radius(math.log(bandits.visits + 2))


def leader_and_challenger(bandits: Bandits) -> FloatMatrix:
    """LUCB: the best mean, or the largest upper bound of the others; whichever was played less."""
    each = np.arange(len(bandits.good))
    leader = np.argmax(bandits.mean + 1e-9 * bandits.odds, axis=1)
    upper = bandits.mean + bandits.radius(math.log(2 * bandits.arms))
    upper[each, leader] = -np.inf
    challenger = np.argmax(upper - 1e-6 * bandits.plays, axis=1)
    score = np.full_like(upper, -np.inf)
    for arm in (leader, challenger):
        score[each, arm] = -bandits.plays[each, arm]
    return score


def most_probable(bandits: Bandits) -> FloatMatrix:
    """Play the arm that is most probably the good one: greedy, gap and prior known."""
    return bandits.odds


def top_two(bandits: Bandits) -> FloatMatrix:
    """Play the most probable arm, or another one drawn from the posterior; gap and prior known."""
    each = np.arange(len(bandits.good))
    leader = np.argmax(bandits.odds, axis=1)
    drawn = bandits.odds + bandits.rng.gumbel(size=bandits.odds.shape)
    drawn[each, leader] = np.where(bandits.rng.random(len(leader)) < 0.5, np.inf, -np.inf)
    return drawn


ATTACKERS: dict[str, Attacker] = {
    "uniform play": uniform,
    "successive elimination": elimination,
    "UCB": upper_confidence,
    "LUCB": leader_and_challenger,
    "top two of the posterior": top_two,
    "most probable arm": most_probable,
}


def correct(
    attacker: Attacker, rows: int, arms: int, gap: float, visits: int, seed: int
) -> BoolMatrix:
    """Return whether the guess of each bandit is right after 0 .. `visits` plays of it."""
    rng = np.random.default_rng(seed)
    bandits = Bandits(rng.integers(arms, size=rows), arms, gap, rng)
    right = np.empty((visits + 1, rows), dtype=bool)
    right[0] = bandits.odds.argmax(axis=1) == bandits.good
    for visit in range(1, visits + 1):
        tie = 1e-9 * rng.random((rows, arms))
        bandits.play(np.argmax(attacker(bandits) + tie, axis=1))
        right[visit] = bandits.odds.argmax(axis=1) == bandits.good
    return right
