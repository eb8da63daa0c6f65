"""SquareCB against a literal version, and its published behaviour."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners.fitting.regression import Oracle, fit
from lumpable.learners.squarecb import SquareCB
from twins.agree import LONG_MEMORY, agree
from twins.stream import Stream

S, K = 6, 5


class LiteralSquareCB:
    """Algorithm 1 of Foster and Rakhlin (2020), from all rewards so far each time."""

    def __init__(
        self, oracle: str, gamma: float, exponent: float, growth: float, seed: int
    ) -> None:
        self.oracle, self.gamma, self.exponent, self.growth = oracle, gamma, exponent, growth
        self.seed, self.stream = seed, Stream(seed)
        self.told: list[tuple[int, int, float]] = []
        self.last = 0  # rewards that the last fit saw

    def predictions(self, context: int) -> list[float]:
        if self.oracle == "cells":
            everything = [y for _, _, y in self.told]
            middle = sum(everything) / len(everything) if everything else 0.0
            own = [[y for i, j, y in self.told if (i, j) == (context, a)] for a in range(K)]
            return [(sum(ys) + middle) / (len(ys) + 1) for ys in own]
        plays, sums = np.zeros((2, S, K))
        for i, j, y in self.told[: self.last]:
            plays[i, j] += 1
            sums[i, j] += y
        rng = np.random.default_rng([self.seed, self.last])
        return list(fit(Oracle(self.oracle, 3, 2), plays, sums, rng).prediction[context])

    def probabilities(self, context: int) -> list[float]:
        y = self.predictions(context)
        gamma = self.gamma * len(self.told) ** self.exponent
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
        t = len(self.told)
        if t >= K and t >= self.growth * self.last:
            self.last = t


@pytest.mark.parametrize("oracle", ["cells", "additive", "lumpable", "low rank"])
@pytest.mark.parametrize(
    ("gamma", "exponent", "growth"),
    [(10.0, 0.5, 1.25), pytest.param(60.0, 0.3, 2.0, marks=pytest.mark.nightly)],
)
def test_decisions_are_the_literal_ones(
    oracle: str, gamma: float, exponent: float, growth: float
) -> None:
    world = lb.worlds.lumpable(S, K, 2, frequency="zipf", sd=0.5, seed=3)
    learner = SquareCB(
        S, K, oracle=oracle, gamma=gamma, exponent=exponent, clusters=3, rank=2, growth=growth,
        seed=8,
    )  # fmt: skip
    literal = LiteralSquareCB(oracle, gamma, exponent, growth, 8)
    agree(learner, literal, world, rounds=LONG_MEMORY)
    for context in range(S):
        assert np.allclose(learner.probabilities(context), literal.probabilities(context))
        best = int(np.argmax(literal.predictions(context)))
        assert learner.policy()[context] == best
    labels = learner.labels()
    assert (labels is None) == (oracle != "lumpable")


def test_regret_less_squared_error_is_at_most_2K_over_gamma() -> None:
    """Whatever the true means f: sum_a p_a (f* - f_a - gamma/4 (y_a - f_a)^2) <= 2K / gamma.

    The inequality on which Foster and Rakhlin's proof rests. The worst f has a closed form: for a
    candidate best arm c it is y_a - 2/gamma elsewhere and y_c + 2 (1 - p_c) / (gamma p_c). Every
    context of learners with random rewards, K = 2, 7, 30.
    """
    rng = np.random.default_rng(5)
    for arms in (2, 7, 30):
        learner = SquareCB(20, arms, gamma=3.0, seed=1)
        for _ in range(600):
            i, j = int(rng.integers(20)), int(rng.integers(arms))
            learner.tell(i, j, float(rng.random()))
        gamma = 3 * math.sqrt(600)
        middle = learner.state.sums.sum() / 600
        prediction = (learner.state.sums + middle) / (learner.state.plays + 1)
        closest = 0.0
        for context in range(20):
            p, y = learner.probabilities(context), prediction[context]
            assert p.sum() == pytest.approx(1, abs=1e-12)
            assert p.min() > 0
            assert np.argmax(p) == np.argmax(y)
            for c in range(arms):
                f = y - 2 / gamma
                f[c] = y[c] + 2 * (1 - p[c]) / (gamma * p[c])
                value = float(p @ (f[c] - f - gamma / 4 * (y - f) ** 2))
                assert value <= 2 * arms / gamma + 1e-12
                closest = max(closest, value * gamma / (2 * arms))
        assert closest > 0.25  # it is not an empty statement


def test_fits_come_at_geometric_times() -> None:
    world = lb.worlds.lumpable(20, 10, 2, seed=1)
    learner = SquareCB(20, 10, oracle="additive", growth=1.5)
    lb.play(learner, world, horizon=10_000, seed=1)
    assert learner.fits <= math.log(10_000 / 10) / math.log(1.5) + 2
    assert learner.fits >= math.log(10_000 / 10) / math.log(1.6)
    cells = SquareCB(20, 10)
    lb.play(cells, world, horizon=1000, seed=1)
    assert cells.fits == 0


def test_the_lumpable_oracle_shares_what_cells_do_not() -> None:
    """Many contexts, two groups, few visits: less regret, by five standard errors over 8 seeds."""
    means = np.full((2, 20), 0.2)
    means[0, 3] = means[1, 11] = 0.9
    less = []
    for seed in range(8):
        world = lb.worlds.lumpable(200, 20, 2, noise="bernoulli", means=means, seed=seed)
        rows = {}
        for oracle in ("cells", "lumpable"):
            learner = SquareCB(200, 20, oracle=oracle, gamma=30.0, clusters=4, seed=seed)
            rows[oracle] = lb.play(learner, world, horizon=10_000, seed=seed).rows()[-1]
        less.append(rows["cells"].regret - rows["lumpable"].regret)
        assert rows["lumpable"].clusters == 4
        assert rows["cells"].clusters is None
    assert np.mean(less) > 5 * np.std(less, ddof=1) / math.sqrt(8)


def test_words() -> None:
    with pytest.raises(ValueError, match="oracle: expected one of cells, additive, lumpable, low"):
        SquareCB(3, 4, oracle="trees")
    with pytest.raises(ValueError, match="gamma: expected a positive number, got 0"):
        SquareCB(3, 4, gamma=0)
    with pytest.raises(ValueError, match=r"exponent: expected a number in \(0, 1\], got 1.5"):
        SquareCB(3, 4, exponent=1.5)
    with pytest.raises(ValueError, match="growth: expected a number above 1, got 1"):
        SquareCB(3, 4, growth=1)
    with pytest.raises(ValueError, match=r"context: expected one of 0 \.\. 2, got 3"):
        SquareCB(3, 4).probabilities(3)
