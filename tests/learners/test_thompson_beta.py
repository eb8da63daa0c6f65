"""Beta Thompson sampling against a literal version, its law, and its published behaviour."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import lumpable as lb
from lumpable.learners.thompson_beta import BetaThompson
from twins.agree import agree
from twins.literal_beta import LiteralBeta


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("spread", [1.0, 0.5])
def test_decisions_are_the_literal_ones(pooled: bool, spread: float) -> None:
    world = lb.worlds.lumpable(6, 5, 2, noise="bernoulli", seed=3)
    learner = BetaThompson(6, 5, pooled=pooled, spread=spread, seed=8)
    agree(learner, LiteralBeta(5, pooled, spread, 8), world)


def test_rewards_between_0_and_1_are_tossed() -> None:
    learner, literal = BetaThompson(2, 3, seed=4), LiteralBeta(3, False, 1.0, 4)
    rng = np.random.default_rng(5)
    for _ in range(1000):
        context = int(rng.integers(2))
        arm, reward = learner.ask(context), float(rng.random())
        assert arm == literal.ask(context)
        learner.tell(context, arm, reward)
        literal.tell(context, arm, reward)
    for _ in range(20_000):
        learner.tell(0, 0, 0.3)
    successes = int(learner.state.a[0, 0])
    assert abs(successes / learner.state.b[0, 0] - 3 / 7) < 0.05  # ten standard errors


def test_an_arm_is_played_as_often_as_it_is_probably_the_best() -> None:
    """The law of Thompson (1933): Beta(3, 2) against Beta(4, 9), 20,000 draws, p < 1e-9."""
    learner = BetaThompson(1, 2, seed=3)
    for arm, rewards in ((0, [1, 1, 0]), (1, [1] * 3 + [0] * 8)):
        for reward in rewards:
            learner.tell(0, arm, float(reward))
    x = np.linspace(0, 1, 100_001)
    chance = float(np.trapezoid(stats.beta(3, 2).pdf(x) * stats.beta(4, 9).cdf(x), x))
    first = 0
    for tells in range(20_000):
        learner.clock[1] = tells
        first += learner.ask(0) == 0
    assert stats.binomtest(first, 20_000, chance).pvalue > 1e-9


def test_regret_grows_like_the_lower_bound_and_less_than_ucb1s() -> None:
    """As in Chapelle and Li's simulations (2011), K = 10 and gap 0.1: best arm 0.5, nine of 0.4.

    Their curve of Thompson sampling is parallel to the bound of Lai and Robbins, which grows by
    sum of gap / kl = 44.7 per unit of ln T; UCB's is far above. 50 runs (each a context) from
    2,000 to 20,000 rounds: the slope is within a factor 2, regret is below half of UCB1's. The
    standard errors are below 6 %.
    """
    S, T = 50, 20_000
    world = lb.worlds.from_matrix([[0.5] + [0.4] * 9] * S, noise="bernoulli")
    scene = lb.Scene(world, arrivals="round robin")
    mine = lb.play(BetaThompson(S, 10, seed=1), scene, horizon=S * T, seed=2, at=[S * T // 10])
    early, late = (row.regret / S for row in mine.rows())
    ucb = lb.play(lb.learners.UCB1(S, 10, seed=1), scene, horizon=S * T, seed=2).regret / S
    kl = 0.4 * math.log(0.4 / 0.5) + 0.6 * math.log(0.6 / 0.5)
    line = 9 * 0.1 / kl
    assert line / 2 < (late - early) / math.log(10) < 2 * line
    assert late < ucb / 2


def test_spread_below_1_explores_less() -> None:
    """Chapelle and Li's reshaping: Beta(a, b) with the same mean and `spread` times the width."""
    for spread in (0.5, 2.0):
        learner = BetaThompson(1, 1, spread=spread, seed=1)
        for reward in [1.0] * 30 + [0.0] * 10:
            learner.tell(0, 0, reward)
        learner.ask(0)
        a, b = 31 / spread**2, 11 / spread**2
        values = []
        for tells in range(5000):
            learner.clock[1] = tells
            learner.ask(0)
            values.append(float(learner.state.score[0]))
        assert stats.kstest(values, stats.beta(a, b).cdf).pvalue > 1e-9


def test_parameters_are_named() -> None:
    with pytest.raises(ValueError, match="spread: expected a positive number, got 0"):
        BetaThompson(2, 2, spread=0)
    with pytest.raises(ValueError, match=r"reward: expected a number in \[0, 1\]"):
        BetaThompson(2, 2).tell(0, 0, -0.1)
