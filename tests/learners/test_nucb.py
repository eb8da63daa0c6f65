"""NUCB against a literal version, and its published behaviour."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners.nucb import NUCB
from twins.agree import LONG_MEMORY, agree
from twins.stream import Stream


class LiteralNUCB:
    """The formulas at the head of the module: likeness from scratch, every share on a list."""

    def __init__(
        self, contexts: int, arms: int, alpha: float, beta: float, arm_beta: float, seed: int
    ) -> None:
        self.contexts, self.arms = contexts, arms
        self.alpha, self.beta, self.arm_beta = alpha, beta, arm_beta
        self.stream = Stream(seed)
        self.log: list[tuple[int, int, float]] = []
        self.shares: list[tuple[int, int, float, float]] = []

    def clicks(self) -> list[list[float]]:
        table = [[0.0] * self.arms for _ in range(self.contexts)]
        for context, arm, reward in self.log:
            table[context][arm] += reward
        return table

    def likeness(self, u: list[float], v: list[float]) -> float:
        dot = sum(a * b for a, b in zip(u, v, strict=True))
        if dot <= 0:
            return 0.0
        return dot / (math.sqrt(sum(a * a for a in u)) * math.sqrt(sum(b * b for b in v)))

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        clicks, plays = [0.0] * self.arms, [0.0] * self.arms
        for other, arm, weight, gain in self.shares:
            if other == context:
                plays[arm] += weight
                clicks[arm] += gain
        for arm in range(self.arms):
            plays[arm] += sum(1 for _, played, _ in self.log if played == arm)
            clicks[arm] += sum(reward for _, played, reward in self.log if played == arm)
        t = len(self.log)
        scores = [
            clicks[arm] / plays[arm]
            + self.alpha * math.sqrt(math.log(t + 1) / (plays[arm] * t / sum(plays)))
            if plays[arm] > 0
            else math.inf
            for arm in range(self.arms)
        ]
        return self.stream.largest(scores)

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.log.append((context, arm, reward))
        rows = self.clicks()
        columns = [list(column) for column in zip(*rows, strict=True)]
        for other in range(self.contexts):
            weight = self.beta * self.likeness(rows[context], rows[other])
            self.shares.append((other, arm, weight, reward * weight))
        for k in range(self.arms):
            weight = self.arm_beta * self.likeness(columns[arm], columns[k])
            self.shares.append((context, k, weight, reward * weight))
        self.stream.told()


@pytest.mark.parametrize("noise", ["bernoulli", "gaussian"])
@pytest.mark.parametrize(
    ("alpha", "beta", "arm_beta"), [(0.1, 100.0, 100.0), (0.3, 5.0, 0.0), (0.2, 0.0, 20.0)]
)
def test_decisions_are_the_literal_ones(
    noise: str, alpha: float, beta: float, arm_beta: float
) -> None:
    world = lb.worlds.lumpable(5, 4, 2, noise=noise, frequency="zipf", seed=3)
    learner = NUCB(5, 4, alpha=alpha, beta=beta, arm_beta=arm_beta, seed=8)
    agree(learner, LiteralNUCB(5, 4, alpha, beta, arm_beta, 8), world, rounds=LONG_MEMORY)


def test_beats_one_ucb_for_all_and_one_for_each() -> None:
    """What it is for, on grouped contexts at a moderate horizon.

    200 contexts in 5 groups, 50 arms, Bernoulli, 40,000 rounds, 4 worlds: NUCB at the upper end of
    its grid (alpha 0.2) must save at least 20 % of the regret of UCB1 for all and of UCB1 for each
    context in every world, the best of three widths being chosen for them afterwards.
    """
    for seed in range(4):
        world = lb.worlds.lumpable(200, 50, 5, noise="bernoulli", seed=seed)
        nucb = lb.play(NUCB(200, 50, alpha=0.2, seed=seed), world, horizon=40_000, seed=seed)
        for pooled in (False, True):
            best = min(
                lb.play(
                    lb.learners.UCB1(200, 50, width=width, pooled=pooled, seed=seed),
                    world,
                    horizon=40_000,
                    seed=seed,
                ).regret
                for width in (0.1, 0.2, 0.5)
            )
            assert nucb.regret < 0.8 * best


def test_a_context_that_never_clicked_has_no_neighbours() -> None:
    learner = NUCB(3, 2, arm_beta=0.0)
    learner.tell(0, 0, 0.0)
    assert not learner.state.shared_plays.any()
    learner.tell(0, 0, 1.0)
    assert learner.state.shared_plays[0].tolist() == [100.0, 0.0, 0.0]
    learner.tell(1, 0, 1.0)
    assert learner.state.shared_plays[0].tolist() == [200.0, 100.0, 0.0]


def test_rewards_that_cancel_leave_all_weights_finite() -> None:
    """0.1 + 0.2 - 0.3 is not quite 0, yet its square is rounded to 0: it is like nobody."""
    for same_arm in (True, False):
        learner = NUCB(3, 3)
        for at, reward in enumerate((0.1, 0.2, -0.3)):
            learner.tell(0, 0 if same_arm else at, reward)
        state = learner.state
        shared = state.shared_plays[0, 0]
        learner.tell(1, 0, 0.1)
        assert not same_arm or state.shared_plays[0, 0] == shared
        for weights in (state.shared_plays, state.shared_clicks):
            assert np.isfinite(weights).all()
        assert state.shared_plays.min() >= 0
        assert all(0 <= learner.ask(context) < 3 for context in range(3))


def test_without_neighbours_it_is_one_ucb_for_all() -> None:
    learner = NUCB(5, 3, beta=0.0, arm_beta=0.0, seed=1)
    rng = np.random.default_rng(2)
    for _ in range(100):
        learner.tell(int(rng.integers(5)), int(rng.integers(3)), float(rng.random()))
    assert len({learner.ask(context) for context in range(5)}) == 1


def test_says_when_it_is_too_large_and_what_is_wrong() -> None:
    with pytest.raises(lb.learners.Unfit, match="all pairs of contexts"):
        NUCB(5_001, 2)
    with pytest.raises(ValueError, match="alpha: "):
        NUCB(2, 2, alpha=0.0)
    with pytest.raises(ValueError, match="beta: "):
        NUCB(2, 2, beta=-1.0)
    with pytest.raises(ValueError, match="arm_beta: "):
        NUCB(2, 2, arm_beta=-1.0)
