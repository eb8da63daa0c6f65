"""Beta Thompson sampling, written out literally."""

from __future__ import annotations

from twins.stream import Stream


class LiteralBeta:
    """Algorithm 2 of Agrawal and Goyal (2012), for each context or for all."""

    def __init__(self, arms: int, pooled: bool, spread: float, seed: int) -> None:
        self.arms, self.pooled, self.spread = arms, pooled, spread
        self.stream = Stream(seed)
        self.tosses: dict[tuple[int, int], list[bool]] = {}

    def key(self, context: int, arm: int) -> tuple[int, int]:
        return (0 if self.pooled else context, arm)

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        theta = []
        for arm in range(self.arms):
            seen = self.tosses.get(self.key(context, arm), [])
            a, b = 1 + seen.count(True), 1 + seen.count(False)
            theta.append(self.stream.beta(a / self.spread**2, b / self.spread**2))
        return self.stream.largest(theta)

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.stream.begin_update()
        success = self.stream.uniform() < reward
        self.tosses.setdefault(self.key(context, arm), []).append(success)
        self.stream.told()
