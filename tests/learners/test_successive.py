"""Successive elimination against a literal version, its guarantee and its sample complexity."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import lumpable as lb
from lumpable.learners.successive import SuccessiveElimination
from twins.agree import agree
from twins.stream import Stream


class LiteralElimination:
    """Successive elimination with unknown biases (Even-Dar et al. 2006), for each context."""

    def __init__(self, contexts: int, arms: int, delta: float, width: float, seed: int) -> None:
        self.stream = Stream(seed)
        self.arms, self.width = arms, width
        self.rest = 4 * arms / (delta / contexts)
        self.rewards: list[list[list[float]]] = [[[] for _ in range(arms)] for _ in range(contexts)]
        self.active = [list(range(arms)) for _ in range(contexts)]
        self.t = [1] * contexts

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        row, t = self.rewards[context], self.t[context]
        left = [a for a in self.active[context] if len(row[a]) < t]
        return left[0] if len(left) == 1 else left[self.stream.below(len(left))]

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.stream.told()
        row, t = self.rewards[context], self.t[context]
        row[arm].append(reward)
        if any(len(row[a]) < t for a in self.active[context]):
            return
        p = {a: sum(row[a]) / len(row[a]) for a in self.active[context]}
        alpha = self.width * math.sqrt(math.log(self.rest * t**2) / t)
        top = max(p.values())
        self.active[context] = [a for a in p if top - p[a] < 2 * alpha]
        self.t[context] = t + 1


@pytest.mark.parametrize(("S", "K"), [(3, 4), (1, 12)])
@pytest.mark.parametrize("width", [1.0, 0.15])
def test_decisions_are_the_literal_ones(S: int, K: int, width: float) -> None:
    world = lb.worlds.lumpable(S, K, min(S, 2), noise="bernoulli", seed=3)
    learner = SuccessiveElimination(S, K, delta=0.2, width=width, seed=8)
    literal = LiteralElimination(S, K, 0.2, width, 8)
    agree(learner, literal, world)
    left = [np.flatnonzero(row).tolist() for row in learner.active()]
    assert left == literal.active
    assert width == 1.0 or min(len(row) for row in left) < K  # something was dropped


def test_noise_of_another_scale_is_the_same_problem() -> None:
    """`sd` multiplies the radius: twice the rewards with twice the sd change nothing."""
    plain = SuccessiveElimination(2, 3, width=0.2, seed=1)
    scaled = SuccessiveElimination(2, 3, width=0.2, sd=1.0, seed=1)
    rng = np.random.default_rng(4)
    for t in range(1000):
        arm = plain.ask(t % 2)
        assert arm == scaled.ask(t % 2)
        reward = float(rng.random() < 0.2 + 0.3 * arm)
        plain.tell(t % 2, arm, reward)
        scaled.tell(t % 2, arm, 2 * reward)


@pytest.mark.parametrize(("gap", "S"), [(0.9, 1), (0.5, 1), (0.3, 1), (0.5, 1000)])
def test_an_arm_goes_in_the_pass_of_the_theorem(gap: float, S: int) -> None:
    """Even-Dar et al.: an arm with gap Delta is sampled O(ln(K / (delta Delta)) / Delta^2) times.

    Without noise it goes exactly after the first pass with 2 alpha_t <= Delta; no random chance.
    """
    t = 1
    while 2 * math.sqrt(math.log(4 * 2 * S * t**2 / 0.1) / t) > gap:
        t += 1
    learner = SuccessiveElimination(S, 2, delta=0.1, seed=1)
    for _ in range(2 * t - 1):
        arm = learner.ask(0)
        learner.tell(0, arm, gap * arm)
    assert learner.active().all()
    learner.tell(0, learner.ask(0), gap * learner.ask(0))
    assert learner.active()[0].tolist() == [False, True]
    plays = learner.state.plays.copy()
    for _ in range(100):
        learner.tell(0, learner.ask(0), gap)
    assert (learner.state.plays - plays)[0].tolist() == [0, 100]
    assert t < 8 * math.log(4 * 2 * S * t**2 / 0.1) / gap**2 + 1


def test_the_best_arm_stays() -> None:
    """Even-Dar et al.: with probability 1 - delta the best arm is never dropped.

    400 contexts, each its own problem with confidence 0.2 (so the learner's delta / S is set to
    that), and width 1 / sqrt 2, where the guarantee still holds. Fails only when an exact binomial
    bound says that the share is above 0.2 (p < 1e-9). Arms that are far worse do go.
    """
    S = 400
    world = lb.worlds.from_matrix([[0.5, 0.4, 0.3, 0.1]] * S, noise="bernoulli")
    learner = SuccessiveElimination(S, 4, delta=0.999999, width=math.sqrt(0.5), seed=1)
    state = learner.state._replace(log_rest=math.log(4 * 4 / 0.2))
    vars(learner).update(learner._connections(state, learner.clock))
    lb.play(learner, world, horizon=S * 3000, seed=3)
    dropped = int((~learner.active()[:, 0]).sum())
    assert stats.binomtest(dropped, S, 0.2, alternative="greater").pvalue > 1e-9
    assert (~learner.active()[:, 3]).mean() > 0.95


def test_far_too_narrow_intervals_lose_the_best_arm() -> None:
    """The test above can fail: a width of 0.1 drops the best arm far more often than delta."""
    S = 400
    world = lb.worlds.from_matrix([[0.5, 0.4, 0.4, 0.3]] * S, noise="bernoulli")
    learner = SuccessiveElimination(S, 4, delta=0.2, width=0.1, seed=1)
    lb.play(learner, world, horizon=S * 1000, seed=3)
    dropped = int((~learner.active()[:, 0]).sum())
    assert stats.binomtest(dropped, S, 0.2, alternative="greater").pvalue < 1e-9


def test_late_and_foreign_rewards_are_taken() -> None:
    learner = SuccessiveElimination(1, 3, width=0.2, seed=1)
    for _ in range(200):
        learner.tell(0, 0, 1.0)
    assert learner.active().all()  # the pass is not complete
    assert learner.ask(0) in (1, 2)
    for _ in range(200):
        for arm in (1, 2):
            learner.tell(0, arm, 0.0)
    assert learner.active().tolist() == [[True, False, False]]
    learner.tell(0, 1, 1.0)
    assert learner.ask(0) == 0


def test_parameters_are_named() -> None:
    with pytest.raises(ValueError, match=r"delta: expected a number in \(0, 1\), got 1"):
        SuccessiveElimination(2, 2, delta=1)
    with pytest.raises(ValueError, match="sd"):
        SuccessiveElimination(2, 2, sd=0)
