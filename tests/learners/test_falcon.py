"""FALCON against a literal version, and its published behaviour."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners.falcon import FALCON
from lumpable.learners.fitting.regression import Oracle, fit
from twins.agree import LONG_MEMORY, agree
from twins.stream import Stream

S, K = 6, 5
SIZE = {
    "cells": 30.0, "additive": 11.0, "lumpable": 6 * math.log(3) + 15, "low rank": 22.0,
}  # fmt: skip


class LiteralFALCON:
    """FALCON of Simchi-Levi and Xu (2022): epoch m is the rounds tau_{m-1} + 1 .. tau_m."""

    def __init__(self, oracle: str, c: float, delta: float, forget: bool, seed: int) -> None:
        self.oracle, self.c, self.delta, self.forget = oracle, c, delta, forget
        self.seed, self.stream = seed, Stream(seed)
        self.told: list[tuple[int, int, float]] = []

    def epoch(self) -> tuple[float, np.ndarray]:
        """gamma_m and f_m, from scratch."""
        if len(self.told) < 2:
            return 1.0, np.zeros((S, K))
        tau = max(2**m for m in range(1, 30) if 2**m <= len(self.told))
        plays, sums = np.zeros((2, S, K))
        since = tau // 2 if self.forget and tau > 2 else 0
        for i, j, y in self.told[since:tau]:
            plays[i, j] += 1
            sums[i, j] += y
        rng = np.random.default_rng([self.seed, tau])
        log = SIZE[self.oracle] + math.log(tau / self.delta)
        gamma = self.c * math.sqrt(K * tau / log)
        return gamma, fit(Oracle(self.oracle, 3, 2), plays, sums, rng).prediction

    def probabilities(self, context: int) -> list[float]:
        gamma, f = self.epoch()
        y = list(f[context])
        self.stream.begin_choice(context)
        b = self.stream.largest(y)
        p = [0.0 if a == b else 1 / (K + gamma * (y[b] - y[a])) for a in range(K)]
        p[b] = 1 - sum(p)
        return p

    def ask(self, context: int) -> int:
        p = self.probabilities(context)
        return int(np.searchsorted(np.cumsum(p), self.stream.uniform(), side="right"))

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.told.append((context, arm, reward))
        self.stream.told()


@pytest.mark.parametrize("oracle", ["cells", "additive", "lumpable", "low rank"])
@pytest.mark.parametrize(
    ("c", "delta", "forget"),
    [pytest.param(1.0, 0.05, False, marks=pytest.mark.nightly), (20.0, 0.2, True)],
)
def test_decisions_are_the_literal_ones(oracle: str, c: float, delta: float, forget: bool) -> None:
    world = lb.worlds.lumpable(S, K, 2, frequency="zipf", sd=0.5, seed=3)
    learner = FALCON(
        S, K, oracle=oracle, c=c, delta=delta, clusters=3, rank=2, forget=forget, seed=8
    )
    literal = LiteralFALCON(oracle, c, delta, forget, 8)
    agree(learner, literal, world, rounds=LONG_MEMORY)
    for context in range(S):
        assert np.allclose(learner.probabilities(context), literal.probabilities(context))
    assert learner.policy().tolist() == np.argmax(literal.epoch()[1], axis=1).tolist()
    assert (learner.labels() is None) == (oracle != "lumpable")


@pytest.mark.parametrize("horizon", [1000, 1024, 100_000])
def test_the_oracle_is_called_log_t_times(horizon: int) -> None:
    """ "Only O(log T) calls to an offline least-squares regression oracle" (their abstract): for
    epochs of doubling length exactly floor(log_2 T).
    """
    world = lb.worlds.lumpable(10, 4, 2, noise="bernoulli", seed=1)
    learner = FALCON(10, 4)
    lb.play(learner, world, horizon=horizon, seed=1)
    assert learner.fits == math.floor(math.log2(horizon))


def test_regret_is_of_order_sqrt_k_t_log_f() -> None:
    """Their bound: C sqrt(K T log(|F| T / delta)); here c = 1 in place of 1/30, and our C = 7.

    Eight arms, three contexts, T = 2^17, additive class which holds the truth; uniform play has
    more than the bound. With gamma_m as set, an epoch's regret is at most K/gamma for exploration
    and about as much for the error of f_m, each sqrt(K tau log); over doubling epochs each adds up
    to sqrt(2) / (sqrt(2) - 1) = 3.4 times the last, so C = 7.
    """
    rng = np.random.default_rng(3)
    mean = 0.1 * rng.random((3, 1)) + np.append(np.full(7, 0.2), 0.8)
    world = lb.worlds.from_matrix(mean, noise="bernoulli")
    T = 1 << 17
    bound = 7 * math.sqrt(8 * T * (3 + 8 + math.log(T / 0.05)))
    assert T * float(np.mean(world.best[:, None] - world.mean)) > bound
    for seed in range(5):
        learner = FALCON(3, 8, oracle="additive", seed=seed)
        assert lb.play(learner, world, horizon=T, seed=seed).regret < bound


def test_theory_is_next_to_uniform_and_the_first_epoch_is() -> None:
    learner = FALCON(4, 5, c=1 / 30)
    assert np.allclose(learner.probabilities(2), 0.2)
    world = lb.worlds.lumpable(4, 5, 2, noise="bernoulli", seed=1)
    lb.play(learner, world, horizon=2000, seed=1)
    assert learner.probabilities(2).max() < 0.25


def test_words() -> None:
    with pytest.raises(ValueError, match="oracle: expected one of cells, additive, lumpable, low"):
        FALCON(3, 4, oracle="trees")
    with pytest.raises(ValueError, match="c: expected a positive number, got 0"):
        FALCON(3, 4, c=0)
    with pytest.raises(ValueError, match=r"delta: expected a number in \(0, 1\), got 1"):
        FALCON(3, 4, delta=1)
