"""mUCB against a literal version, and its published behaviour."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners.mucb import ModelUCB
from twins.agree import agree, believed_means
from twins.stream import Stream


class LiteralModelUCB:
    """mUCB of Hong et al. (2020), for each context, from the list of its rounds."""

    def __init__(self, means: list[list[float]], sigma: float, n: int | None, seed: int) -> None:
        self.mu, self.sigma, self.n = means, sigma, n
        self.stream = Stream(seed)
        self.rounds: dict[int, list[tuple[int, int, float]]] = {}
        self.believed = -1

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        rounds = self.rounds.setdefault(context, [])
        log_n = math.log(len(rounds) + 1 if self.n is None else self.n)
        excess = []
        for s, mu in enumerate(self.mu):
            N = sum(b == s for b, _, _ in rounds)
            G = sum(mu[a] - y for b, a, y in rounds if b == s)
            excess.append(G - self.sigma * math.sqrt(6 * N * log_n))
        if min(excess) <= 0:
            value = [max(mu) if excess[s] <= 0 else -math.inf for s, mu in enumerate(self.mu)]
        else:
            value = [-e for e in excess]
        self.believed = self.stream.largest(value)
        return self.mu[self.believed].index(max(self.mu[self.believed]))

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.rounds[context].append((self.believed, arm, reward))
        self.stream.told()


@pytest.mark.parametrize("noise", ["gaussian", "bernoulli"])
@pytest.mark.parametrize(("width", "horizon"), [(1.0, 1000), (0.2, None)])
def test_decisions_are_the_literal_ones(noise: str, width: float, horizon: int | None) -> None:
    world = lb.worlds.lumpable(6, 8, 4, noise=noise, seed=3)
    means, sd = believed_means(world), 0.5 if noise == "bernoulli" else 1.0
    learner = ModelUCB(6, 8, group_means=means, sd=sd, width=width, horizon=horizon, seed=8)
    agree(learner, LiteralModelUCB(means, sd * width, horizon, 8), world)


def test_decisions_where_no_state_is_consistent() -> None:
    """Wrong means: all states are soon ruled out."""
    world = lb.worlds.lumpable(3, 5, 2, noise="bernoulli", seed=3)
    means = (np.random.default_rng(1).random((4, 5)) + 0.7).tolist()
    learner = ModelUCB(3, 5, group_means=means, width=0.2, seed=8)
    agree(learner, LiteralModelUCB(means, 0.1, None, 8), world)
    assert (learner.state.gap > 0).sum() == 12


def test_regret_stays_below_the_theorem_and_does_not_grow_with_arms() -> None:
    """As in Hong et al. (2020), a bound without K: 3 r + 2 sigma sqrt(6 r n log n).

    Five states, Bernoulli, n = 2,000, 60 runs (each a context). Forty more arms that are best in no
    state change no decision at all, and the mean regret is below the bound by far.
    """
    S, n = 60, 2000
    few = np.random.default_rng(2).random((5, 8)) * 0.5 + 0.4
    many = np.concatenate([few, np.random.default_rng(3).random((5, 40)) * 0.3], axis=1)
    regret = []
    for means in (few, many):
        world = lb.worlds.from_matrix(means[np.arange(S) % 5], noise="bernoulli")
        scene = lb.Scene(world, arrivals="round robin")
        learner = ModelUCB(S, means.shape[1], group_means=means, horizon=n, seed=1)
        regret.append(lb.play(learner, scene, horizon=S * n, seed=2).regret / S)
    assert regret[0] == regret[1]
    assert regret[0] < 3 * 5 + 2 * 0.5 * math.sqrt(6 * 5 * n * math.log(n))


def test_the_right_state_is_found() -> None:
    """States with crossing means: each context ends with its own, and plays its best arm."""
    means = [[0.9, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.7]]
    world = lb.worlds.from_matrix([means[i % 3] for i in range(30)], noise="bernoulli")
    learner = ModelUCB(30, 3, group_means=means, seed=1)
    lb.play(learner, world, horizon=9000, seed=2)
    assert learner.labels().tolist() == [i % 3 for i in range(30)]
    assert learner.policy().tolist() == world.mean.argmax(axis=1).tolist()


def test_a_late_reward_counts_for_the_state_that_would_play_its_arm() -> None:
    learner = ModelUCB(1, 3, group_means=[[0.9, 0.1, 0.5], [0.2, 0.8, 0.5]], seed=1)
    learner.tell(0, 1, 0.0)
    learner.tell(0, 2, 0.0)  # no state would play it
    assert learner.state.plays.tolist() == [[0.0, 1.0]]
    assert learner.state.gap.tolist() == [[0.0, 0.8]]


def test_parameters_are_named() -> None:
    with pytest.raises(
        ValueError, match=r"group_means: expected shape \(groups, 3\), got \(1, 2\)"
    ):
        ModelUCB(2, 3, group_means=[[0.1, 0.2]])
    with pytest.raises(ValueError, match="group_means: expected finite numbers"):
        ModelUCB(2, 2, group_means=[[0.1, math.nan]])
    with pytest.raises(ValueError, match="horizon"):
        ModelUCB(2, 2, group_means=[[0.1, 0.2]], horizon=0)
