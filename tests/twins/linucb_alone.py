"""A peer of learners that share: the same rule without sharing, written out."""

from __future__ import annotations

import math

import numpy as np


class Alone:
    """LinUCB-IND with unit vectors: each context has its own estimates; ties at random."""

    def __init__(self, contexts: int, arms: int, alpha: float, seed: int) -> None:
        self.alpha, self.t = alpha, 1
        self.plays, self.total = np.ones((contexts, arms)), np.zeros((contexts, arms))
        self.tie = 1e-9 * np.random.default_rng(seed).random((contexts, arms))

    def ask(self, context: int) -> int:
        n = self.plays[context]
        bonus = self.alpha * np.sqrt(math.log(1 + self.t) / n)
        return int(np.argmax(self.total[context] / n + bonus + self.tie[context]))

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.plays[context, arm] += 1
        self.total[context, arm] += reward
        self.t += 1
