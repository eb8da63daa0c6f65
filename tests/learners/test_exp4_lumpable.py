"""EXP4 with lumpable experts against a list of all experts, and the bound of its theorem."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners import Unfit
from lumpable.learners.exp4_lumpable import LumpableExperts
from twins.agree import agree
from twins.stream import Stream


class LiteralEXP4:
    """EXP4 of Auer et al. (2002), Section 7, with the advice of every expert written out."""

    def __init__(self, contexts: int, arms: int, groups: int, horizon: int, seed: int) -> None:
        self.arms, self.stream = arms, Stream(seed)
        self.experts = [
            advice
            for chosen in combinations(range(arms), groups)
            for advice in product(chosen, repeat=contexts)
        ]
        N = len(self.experts)
        self.gamma = min(1, math.sqrt(arms * math.log(N) / ((math.e - 1) * horizon)))
        self.weight = [1.0] * N

    def probabilities(self, context: int) -> list[float]:
        W = sum(self.weight)
        p = [self.gamma / self.arms] * self.arms
        for weight, advice in zip(self.weight, self.experts, strict=True):
            p[advice[context]] += (1 - self.gamma) * weight / W
        return p

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        u = self.stream.uniform()
        return int(np.searchsorted(np.cumsum(self.probabilities(context)), u, side="right"))

    def tell(self, context: int, arm: int, reward: float) -> None:
        estimate = reward / self.probabilities(context)[arm]
        for e, advice in enumerate(self.experts):
            if advice[context] == arm:
                self.weight[e] *= math.exp(self.gamma * estimate / self.arms)
        self.stream.told()


@pytest.mark.parametrize(("S", "K", "r", "T"), [(4, 4, 2, 1000), (3, 3, 3, 5000), (5, 4, 1, 300)])
def test_decisions_are_the_literal_ones(S: int, K: int, r: int, T: int) -> None:
    world = lb.worlds.lumpable(S, K, min(r, S), noise="bernoulli", seed=3)
    learner = LumpableExperts(S, K, groups=r, horizon=T, seed=8)
    literal = LiteralEXP4(S, K, r, T, 8)
    agree(learner, literal, world)
    for context in range(S):
        assert np.allclose(
            learner.probabilities(context), literal.probabilities(context), rtol=1e-9
        )
    heaviest = literal.experts[int(np.argmax(literal.weight))]
    assert learner.policy().tolist() == list(heaviest)


def test_regret_is_within_the_theorem() -> None:
    """Theorem 7.1 with its gamma: at most 2.63 sqrt(T K log N) in the mean, S = 5, K = 4, r = 2.

    Twenty seeds, five standard errors; uniform play has over twice the bound, so that it says
    something.
    """
    S, K, r, T = 5, 4, 2, 20_000
    means = np.array([[0.9, 0.1, 0.1, 0.1], [0.1, 0.1, 0.9, 0.1]])
    world = lb.worlds.lumpable(S, K, r, noise="bernoulli", means=means, seed=1)
    bound = 2 * math.sqrt((math.e - 1) * T * K * (math.log(6) + S * math.log(2)))
    regrets = [
        lb.play(
            LumpableExperts(S, K, groups=r, horizon=T, seed=seed), world, horizon=T, seed=seed
        ).regret
        for seed in range(20)
    ]
    assert T * float(np.mean(world.best[:, None] - world.mean)) > 2 * bound
    assert np.mean(regrets) + 5 * np.std(regrets) / math.sqrt(20) < bound


def test_the_groups_are_found() -> None:
    means = np.array([[0.9, 0.1, 0.1, 0.1, 0.1], [0.1, 0.1, 0.9, 0.1, 0.1]])
    world = lb.worlds.lumpable(30, 5, 2, noise="bernoulli", means=means, seed=2)
    learner = LumpableExperts(30, 5, groups=2, horizon=60_000, seed=1)
    row = lb.play(learner, world, horizon=60_000, seed=1).rows()[-1]
    assert row.clusters == 2
    assert row.ari == 1.0
    assert row.simple_regret == 0.0


def test_sizes() -> None:
    with pytest.raises(Unfit, match=r"at most 20,000 sets of 5 arms, got 2,118,760"):
        LumpableExperts(200, 50, groups=5, horizon=1000)
    with pytest.raises(ValueError, match="groups: expected a whole number of at least 1, got 0"):
        LumpableExperts(2, 3, groups=0, horizon=9)
    assert LumpableExperts(2, 3, groups=7, horizon=9).state.sets.tolist() == [[0, 1, 2]]
    assert LumpableExperts(1, 1, groups=1, horizon=9).probabilities(0).tolist() == [1.0]
