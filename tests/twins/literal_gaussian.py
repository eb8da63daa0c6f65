"""Gaussian Thompson sampling by the letter, for learners that differ in who learns together."""

from __future__ import annotations

import math
from collections.abc import Callable

from twins.stream import Stream


class LiteralGaussian:
    """Flat means, p(sigma^2) = 1 / sigma^2; all sums from scratch in each round."""

    def __init__(self, arms: int, row: Callable[[int], int], spread: float, seed: int) -> None:
        self.arms, self.row, self.spread = arms, row, spread
        self.stream = Stream(seed)
        self.rewards: dict[tuple[int, int], list[float]] = {}

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        pairs = [self.rewards.get((self.row(context), arm), []) for arm in range(self.arms)]
        if not all(pairs):
            return self.stream.largest([0.0 if pair else 1.0 for pair in pairs])
        squares, freedom = 0.0, 0
        for pair in self.rewards.values():
            mean = sum(pair) / len(pair)
            squares += sum((y - mean) ** 2 for y in pair)
            freedom += len(pair) - 1
        if freedom == 0:
            return self.stream.below(self.arms)
        sigma = math.sqrt((squares / 2) / self.stream.gamma(freedom / 2))
        theta = []
        for pair in pairs:
            z = self.stream.normal()
            theta.append(sum(pair) / len(pair) + self.spread * sigma / math.sqrt(len(pair)) * z)
        return self.stream.largest(theta)

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.rewards.setdefault((self.row(context), arm), []).append(reward)
        self.stream.told()
