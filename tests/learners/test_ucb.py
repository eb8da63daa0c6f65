"""UCB1 against a literal version, and its published behaviour."""

from __future__ import annotations

import math

import pytest

import lumpable as lb
from twins.agree import agree
from twins.stream import Stream


class LiteralUCB1:
    """Figure 1 of Auer, Cesa-Bianchi and Fischer (2002), for each context or for all."""

    def __init__(self, arms: int, width: float, pooled: bool, seed: int) -> None:
        self.arms, self.width, self.pooled = arms, width, pooled
        self.stream = Stream(seed)
        self.rewards: dict[int, list[list[float]]] = {}

    def row(self, context: int) -> list[list[float]]:
        key = 0 if self.pooled else context
        return self.rewards.setdefault(key, [[] for _ in range(self.arms)])

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        row = self.row(context)
        n = sum(len(seen) for seen in row)
        index = [
            sum(x) / len(x) + self.width * math.sqrt(2 * math.log(n) / len(x)) if x else math.inf
            for x in row
        ]
        return self.stream.largest(index)

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.row(context)[arm].append(reward)
        self.stream.told()


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("width", [1.0, 0.2])
def test_decisions_are_the_literal_ones(width: float, pooled: bool) -> None:
    world = lb.worlds.lumpable(6, 5, 2, seed=3)
    learner = lb.learners.UCB1(6, 5, width=width, pooled=pooled, seed=8)
    agree(learner, LiteralUCB1(5, width, pooled, 8), world)
