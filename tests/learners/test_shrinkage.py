"""Empirical-Bayes Thompson sampling against a literal version, and what shrinking promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import lumpable as lb
from lumpable.base.arrays import FloatMatrix
from lumpable.learners.shrinkage import Shrinkage
from twins.agree import agree
from twins.stream import Stream


class LiteralShrinkage:
    """The two-level model; everything from the list of all rewards, from scratch."""

    def __init__(self, contexts: int, arms: int, spread: float, growth: float, seed: int) -> None:
        self.contexts, self.arms, self.spread, self.growth = contexts, arms, spread, growth
        self.stream = Stream(seed)
        self.pairs: dict[tuple[int, int], list[float]] = {}
        self.m0, self.sigma, self.due = 5.0, 1.0, 2

    def arm(self, j: int) -> list[list[float]]:
        return [seen for (_, arm), seen in sorted(self.pairs.items()) if arm == j]

    def population(self, j: int, m0: float) -> tuple[float, float]:
        """Return the best a_j, and the sum of 1 / (sigma^2 / m0 + sigma^2 / n) in 1 / sigma^2."""
        weights = [1 / (1 / m0 + 1 / len(y)) for y in self.arm(j)]
        means = [sum(y) / len(y) for y in self.arm(j)]
        total = sum(weights)
        return sum(w * x for w, x in zip(weights, means, strict=True)) / total, total

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        unseen = [float(not self.arm(j)) for j in range(self.arms)]
        if any(unseen):
            return self.stream.largest(unseen)
        theta = []
        for j in range(self.arms):
            a, precision = self.population(j, self.m0)
            own = self.pairs.get((context, j), [])
            part = self.m0 / (self.m0 + len(own))
            mean = part * a + (1 - part) * (sum(own) / len(own) if own else 0.0)
            variance = self.sigma**2 * (1 / (self.m0 + len(own)) + part**2 / precision)
            theta.append(mean + self.spread * math.sqrt(variance) * self.stream.normal())
        return self.stream.largest(theta)

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.pairs.setdefault((context, arm), []).append(reward)
        self.stream.told()
        if self.stream.tells >= self.due:
            self.due = max(self.stream.tells + 1, math.ceil(self.growth * self.stream.tells))
            if any(len({y for seen in self.arm(j) for y in seen}) > 1 for j in range(self.arms)):
                self.fit()

    def fit(self) -> None:
        """REML: minimise -2 log likelihood of all rewards with a_j integrated out."""
        seen = [j for j in range(self.arms) if self.arm(j)]
        freedom = sum(len(y) for y in self.pairs.values()) - len(seen)
        best = math.inf
        for power in range(-20, 21):
            m0 = 5 * 2 ** (power / 2)
            squares, logs = 0.0, 0.0
            for j in seen:
                a, precision = self.population(j, m0)
                logs += math.log(precision)
                for y in self.arm(j):
                    x, n = sum(y) / len(y), len(y)
                    squares += sum((value - x) ** 2 for value in y)
                    squares += (x - a) ** 2 / (1 / m0 + 1 / n)
                    logs += math.log(n * (1 / m0 + 1 / n))
            loss = freedom * math.log(squares / freedom) + logs + math.log(m0 / 5) ** 2 / 4
            if loss < best:
                best, self.m0, self.sigma = loss, m0, math.sqrt(squares / freedom)


@pytest.mark.parametrize("noise", ["gaussian", "bernoulli"])
@pytest.mark.parametrize(("spread", "growth"), [(1.0, 2.0), (0.5, 1.5)])
def test_decisions_are_the_literal_ones(noise: str, spread: float, growth: float) -> None:
    world = lb.worlds.lumpable(5, 4, 2, noise=noise, seed=3)
    learner = Shrinkage(5, 4, spread=spread, growth=growth, seed=8)
    literal = LiteralShrinkage(5, 4, spread, growth, 8)
    agree(learner, literal, world)
    assert learner.state.fit.tolist() == pytest.approx([literal.m0, literal.sigma], rel=1e-9)


def two_levels(S: int, K: int, n: int, m0: float) -> tuple[Shrinkage, FloatMatrix]:
    """Return a learner that was told n rewards of each pair, and the true means."""
    rng = np.random.default_rng(9)
    mean = rng.normal(size=K) + rng.normal(size=(S, K)) / math.sqrt(m0)
    learner = Shrinkage(S, K, seed=1)
    for _ in range(n):
        for i in range(S):
            for j in range(K):
                learner.tell(i, j, float(mean[i, j] + rng.normal()))
    learner.refit()
    return learner, mean


def test_shrunk_means_are_as_good_as_the_theory_says() -> None:
    """Efron and Morris (1975): the risk falls from sigma^2 / n to sigma^2 / (n + m0).

    Here n = m0 = 5, so by a half; 2,000 pairs make the ratio's standard error 2.3 %, and a tenth is
    four of them on top of the fit's own. The fitted m0 is on a grid of factors of sqrt 2.
    """
    learner, mean = two_levels(S=500, K=4, n=5, m0=5.0)
    state = learner.state
    m0, sigma = state.fit
    assert m0 in (5.0, pytest.approx(5 * 2**0.5), pytest.approx(5 * 2**-0.5))
    assert abs(sigma - 1) < 0.05
    shrunk = (m0 * state.pull / state.weight + state.plays * state.mean) / (m0 + state.plays)
    raw_risk, risk = ((state.mean - mean) ** 2).mean(), ((shrunk - mean) ** 2).mean()
    assert abs(risk / raw_risk - 0.5) < 0.1


def test_contexts_that_are_all_alike_are_pooled() -> None:
    """Without differences m0 goes up: a context is told what all have seen.

    The variance between 600 means of n = 4 is known to 5.8 %, so that m0 = 10, which would add
    40 %, is seven standard errors away; so is 0.2 from 0.05.
    """
    learner, _ = two_levels(S=200, K=3, n=4, m0=1e12)
    assert learner.state.fit[0] > 10.0
    different, _ = two_levels(S=200, K=3, n=4, m0=0.05)
    assert different.state.fit[0] < 0.2


def test_draws_have_the_posterior_of_the_two_level_model() -> None:
    """The drawn mean of one pair against the normal law of the docstring; KS, p < 1e-9.

    The law is worked out another way: by the joint normal law of all means and rewards of the arm.
    """
    learner = Shrinkage(2, 1, seed=4)
    for context, reward in ((0, 1.0), (0, 2.0), (1, 4.0)):
        learner.tell(context, 0, reward)
    m0, sigma = learner.state.fit
    wide = 1e7
    prior = sigma**2 / m0 * np.eye(2) + wide  # of both means; the flat law of a_j is nearly so
    seen = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    gain = prior @ seen.T @ np.linalg.inv(seen @ prior @ seen.T + sigma**2 * np.eye(3))
    mean = gain @ np.array([1.0, 2.0, 4.0])
    variance = prior - gain @ seen @ prior
    for context in (0, 1):
        sample = []
        for tells in range(20_000):
            learner.clock[1] = tells
            learner.ask(context)
            sample.append(float(learner.state.score[0]))
        law = stats.norm(mean[context], math.sqrt(variance[context, context]))
        assert stats.kstest(sample, law.cdf).pvalue > 1e-9


def test_equal_rewards_are_no_reason_to_fit() -> None:
    learner = Shrinkage(3, 2, seed=1)
    for t in range(50):
        arm = learner.ask(t % 3)
        learner.tell(t % 3, arm, float(arm))
    assert learner.state.fit.tolist() == [5.0, 1.0]
    assert learner.policy().tolist() == [1, 1, 1]


def test_parameters_are_named() -> None:
    with pytest.raises(ValueError, match="growth: expected a number above 1, got 1"):
        Shrinkage(2, 2, growth=1)
    with pytest.raises(ValueError, match="spread"):
        Shrinkage(2, 2, spread=0)
