"""Uniform play against a literal version, and its law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import lumpable as lb
from lumpable.learners.uniform import Uniform
from twins.agree import agree
from twins.stream import Stream


class LiteralUniform:
    def __init__(self, contexts: int, arms: int, seed: int) -> None:
        self.arms, self.stream = arms, Stream(seed)
        self.rewards: list[list[list[float]]] = [[[] for _ in range(arms)] for _ in range(contexts)]

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        return self.stream.below(self.arms)

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.rewards[context][arm].append(reward)
        self.stream.told()

    def policy(self) -> list[int]:
        rows = [[sum(x) / len(x) if x else -np.inf for x in row] for row in self.rewards]
        return [row.index(max(row)) for row in rows]


@pytest.mark.parametrize(("S", "K"), [(6, 5), (40, 30)])
def test_decisions_are_the_literal_ones(S: int, K: int) -> None:
    learner, literal = Uniform(S, K, seed=8), LiteralUniform(S, K, 8)
    agree(learner, literal, lb.worlds.lumpable(S, K, 2, seed=3))
    assert learner.policy().tolist() == literal.policy()


def test_every_arm_is_played_alike() -> None:
    """Uniform play's regret per round is the mean gap; plays are even (chi-square, p < 1e-9)."""
    T, world = 200_000, lb.worlds.lumpable(10, 8, 3, noise="bernoulli", seed=4)
    learner = Uniform(10, 8, seed=1)
    played = lb.play(learner, world, horizon=T, seed=2)
    assert stats.chisquare(learner.state.plays.sum(axis=0)).pvalue > 1e-9
    gap = world.best[:, None] - world.mean
    assert abs(played.regret / T - gap.mean()) < 6.2 * gap.std() / np.sqrt(T)
