"""LinUCB against a ridge regression with the whole matrix, and its published behaviour."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners import Unfit
from lumpable.learners.linucb import LinUCB
from twins.agree import agree
from twins.stream import Stream


class LiteralLinUCB:
    """LinUCB of Chu et al. (2011), with one A and b for all arms; A is inverted every time."""

    def __init__(self, S: int, K: int, features: str, alpha: float, seed: int) -> None:
        self.S, self.K, self.features, self.alpha = S, K, features, alpha
        d = S * K if features == "cells" else S + K
        self.A, self.b, self.stream = np.eye(d), np.zeros(d), Stream(seed)

    def x(self, context: int, arm: int) -> np.ndarray:
        x = np.zeros(len(self.b))
        if self.features == "cells":
            x[context * self.K + arm] = 1
        else:
            x[context] = x[self.S + arm] = 1
        return x

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        inverse = np.linalg.inv(self.A)
        theta = inverse @ self.b
        xs = [self.x(context, arm) for arm in range(self.K)]
        score = [x @ theta + self.alpha * math.sqrt(x @ inverse @ x) for x in xs]
        return self.stream.largest([round(float(s), 9) for s in score])

    def tell(self, context: int, arm: int, reward: float) -> None:
        x = self.x(context, arm)
        self.A += np.outer(x, x)
        self.b += reward * x
        self.stream.told()


@pytest.mark.parametrize("features", ["cells", "additive"])
@pytest.mark.parametrize("alpha", [None, 0.3])
def test_decisions_are_the_literal_ones(features: str, alpha: float | None) -> None:
    world = lb.worlds.lumpable(6, 5, 2, frequency="zipf", seed=3)
    learner = LinUCB(6, 5, features=features, delta=0.2, alpha=alpha, seed=8)
    used = 1 + math.sqrt(math.log(10) / 2) if alpha is None else alpha
    literal = LiteralLinUCB(6, 5, features, used, 8)
    agree(learner, literal, world)
    theta = np.linalg.solve(literal.A, literal.b)
    if features == "additive":
        assert np.allclose(learner.state.theta, theta[6:], atol=1e-10)
        assert np.allclose(learner.state.P, np.linalg.inv(literal.A)[6:, 6:], atol=1e-10)
        assert learner.policy().tolist() == [int(np.argmax(theta[6:]))] * 6
    else:
        assert learner.policy().tolist() == np.argmax(theta.reshape(6, 5), axis=1).tolist()


def test_late_rewards_are_just_observations() -> None:
    """The regression is the same in whatever order rewards come: additive, 400 rewards."""
    rng = np.random.default_rng(4)
    told = [(int(rng.integers(7)), int(rng.integers(4)), float(rng.normal())) for _ in range(400)]
    one, other = (LinUCB(7, 4, features="additive") for _ in range(2))
    for reward in told:
        one.tell(*reward)
    for reward in reversed(told):
        other.tell(*reward)
    assert np.allclose(one.state.P, other.state.P, atol=1e-12)
    assert np.allclose(one.state.theta, other.state.theta, atol=1e-12)


def test_errors_stay_within_widths_and_widths_add_up_to_a_root() -> None:
    """|x'theta - x'theta*| <= alpha width, with probability 1 - delta, and the sum of widths.

    Plays that do not depend on rewards, as Chu et al. (2011) want, d = 6 cells, delta = 0.1: 2,000
    runs, one cell each. Misses above 10 % would show with p < 1e-9 at 261; and, for every order of
    plays, widths add up to at most 5 sqrt(d T log T), as in their analysis (T > 1).
    """
    misses, n, alpha = 0, 12, 1 + math.sqrt(math.log(20) / 2)
    for seed in range(2000):
        rng = np.random.default_rng(seed)
        learner = LinUCB(1, 6, delta=0.1, seed=seed)
        mean = rng.random()
        for reward in (rng.random(n) < mean).tolist():
            learner.tell(0, 2, float(reward))
        estimate = learner.state.sums[0, 2] / (learner.state.plays[0, 2] + 1)
        misses += abs(estimate - mean) > learner.state.alpha / math.sqrt(n + 1)
    assert learner.state.alpha == pytest.approx(alpha)
    assert misses < 261
    T, widths = 3000, 0.0
    learner = LinUCB(2, 3, alpha=0.5, seed=1)
    rng = np.random.default_rng(5)
    for t in range(T):
        arm = learner.ask(t % 2)
        widths += 1 / math.sqrt(learner.state.plays[t % 2, arm] + 1)
        learner.tell(t % 2, arm, float(rng.random()))
    assert widths < 5 * math.sqrt(6 * T * math.log(T))


def test_additive_finds_one_arm_for_all_and_cells_find_each_their_own() -> None:
    """Groups with opposite tastes: additive cannot be right for both, cells can."""
    means = np.array([[0.9, 0.1, 0.6], [0.1, 0.9, 0.6]])
    world = lb.worlds.lumpable(10, 3, 2, noise="bernoulli", means=means, seed=1)
    found = {}
    for features in ("cells", "additive"):
        learner = LinUCB(10, 3, features=features, seed=1)
        found[features] = lb.play(learner, world, horizon=20_000, seed=2).rows()[-1]
    assert found["cells"].simple_regret == 0.0
    assert found["additive"].simple_regret >= 0.3 - 1e-12
    assert found["cells"].regret < 0.5 * found["additive"].regret


def test_sizes_and_words() -> None:
    with pytest.raises(Unfit, match="at most 2,000 arms, got 2,001"):
        LinUCB(3, 2001, features="additive")
    LinUCB(3, 2001)
    with pytest.raises(ValueError, match="features: expected one of cells, additive, got 'both'"):
        LinUCB(3, 4, features="both")
    with pytest.raises(ValueError, match="alpha: expected a positive number, got 0"):
        LinUCB(3, 4, alpha=0)
    with pytest.raises(ValueError, match=r"delta: expected a number in \(0, 1\), got 1"):
        LinUCB(3, 4, delta=1)
