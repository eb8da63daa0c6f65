"""mTS against a literal version, its law, and its published behaviour."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import lumpable as lb
from lumpable.learners.mts import ModelThompson
from twins.agree import agree, believed_means
from twins.stream import Stream


class LiteralModelThompson:
    """mTS of Hong et al. (2020), for each context, from the list of its rewards."""

    def __init__(
        self, means: list[list[float]], prior: list[float], model: str, sd: float, seed: int
    ) -> None:
        self.mu, self.prior, self.model, self.sd = means, prior, model, sd
        self.stream = Stream(seed)
        self.rewards: dict[int, list[tuple[int, float]]] = {}

    def log_density(self, y: float, mu: float) -> float:
        if self.model == "bernoulli":
            return float(stats.bernoulli.logpmf(y, mu))
        return -math.log(self.sd * math.sqrt(2 * math.pi)) - (y - mu) ** 2 / (2 * self.sd**2)

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        return self.best(self.drawn(context))

    def drawn(self, context: int) -> int:
        log_weight = [
            math.log(p) + sum(self.table[y, mu[a]] for a, y in self.rewards.get(context, []))
            for p, mu in zip(self.prior, self.mu, strict=True)
        ]
        weight = [math.exp(w - max(log_weight)) for w in log_weight]
        u = self.stream.uniform() * sum(weight)
        for s, w in enumerate(weight):
            u -= w
            if u < 0:
                return s
        return len(weight) - 1

    def best(self, s: int) -> int:
        return self.mu[s].index(max(self.mu[s]))

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.rewards.setdefault(context, []).append((arm, reward))
        for mu in self.mu:
            self.table[reward, mu[arm]] = self.log_density(reward, mu[arm])
        self.stream.told()

    @property
    def table(self) -> dict[tuple[float, float], float]:
        """Log densities that were worked out before."""
        return self.__dict__.setdefault("_table", {})  # type: ignore[no-any-return]


@pytest.mark.parametrize("model", ["gaussian", "bernoulli"])
@pytest.mark.parametrize("prior", [None, [0.1, 0.2, 0.3, 0.4]])
def test_decisions_are_the_literal_ones(model: str, prior: list[float] | None) -> None:
    world = lb.worlds.lumpable(12, 8, 4, noise=model, seed=3)
    means = believed_means(world)
    learner = ModelThompson(12, 8, group_means=means, sd=0.8, model=model, prior=prior, seed=8)
    literal = LiteralModelThompson(means, prior or [0.25] * 4, model, 0.8, 8)
    agree(learner, literal, world)


def test_a_state_is_drawn_as_often_as_it_is_probable() -> None:
    """Posterior of two states after rewards 1, 0, 1 at means 0.8 and 0.4; p < 1e-9 in 40,000."""
    learner = ModelThompson(1, 2, group_means=[[0.8, 0.1], [0.4, 0.5]], model="bernoulli", seed=2)
    for reward in (1.0, 0.0, 1.0):
        learner.tell(0, 0, reward)
    one, other = 0.8 * 0.2 * 0.8, 0.4 * 0.6 * 0.4
    chance = one / (one + other)
    assert learner.posterior()[0, 0] == pytest.approx(chance, rel=1e-12)
    first = 0
    for tells in range(40_000):
        learner.clock[1] = tells
        first += learner.ask(0) == 0
    assert stats.binomtest(first, 40_000, chance).pvalue > 1e-9


def test_regret_is_bounded_and_does_not_grow_with_arms() -> None:
    """Hong et al. (2020): regret scales with latent states, not arms; here it even stops growing.

    Five states, Bernoulli, 60 runs (each a context) of 4,000 rounds. Forty more arms that are best
    in no state change no decision. The last three quarters add less than growth like log n would,
    which is log 4 / log 1000 or a fifth; they add 5 to 10 %.
    """
    S, n = 60, 4000
    few = np.random.default_rng(2).random((5, 8)) * 0.5 + 0.4
    many = np.concatenate([few, np.random.default_rng(3).random((5, 40)) * 0.3], axis=1)
    regret = []
    for means in (few, many):
        world = lb.worlds.from_matrix(means[np.arange(S) % 5], noise="bernoulli")
        scene = lb.Scene(world, arrivals="round robin")
        learner = ModelThompson(S, means.shape[1], group_means=means, seed=1)
        played = lb.play(learner, scene, horizon=S * n, seed=2, at=[S * n // 4])
        regret.append([row.regret / S for row in played.rows()])
        assert learner.labels().tolist() == [i % 5 for i in range(S)]
        assert learner.policy().tolist() == world.mean.argmax(axis=1).tolist()
    assert regret[0] == regret[1]
    early, late = regret[0]
    assert late - early < early * math.log(4) / math.log(1000)
    assert late < 2 * 0.5 * math.sqrt(6 * 5 * n * math.log(n))  # their kind of bound


def test_an_arm_that_is_good_in_all_likely_states_is_recommended() -> None:
    """Expected means 0.51, 0.39 and 0.6: the safe arm, which is best in no state."""
    means = [[0.9, 0.0, 0.6], [0.0, 0.9, 0.6]]
    learner = ModelThompson(2, 3, group_means=means, prior=[0.57, 0.43], seed=1)
    assert learner.policy().tolist() == [2, 2]
    assert learner.labels().tolist() == [0, 0]
    for _ in range(20):
        learner.tell(1, 1, 1.0)
    assert learner.policy().tolist() == [2, 1]
    assert learner.labels().tolist() == [0, 1]


def test_spread_tempers_the_likelihood() -> None:
    """A spread of 2 is a quarter of the evidence, and the same as twice the sd."""
    means = [[0.2, 0.9], [0.7, 0.3]]
    tempered = ModelThompson(1, 2, group_means=means, spread=2.0, seed=1)
    wide = ModelThompson(1, 2, group_means=means, sd=1.0, seed=1)
    for learner in (tempered, wide):
        learner.tell(0, 0, 0.9)
    assert tempered.posterior() == pytest.approx(wide.posterior(), rel=1e-12)
    assert wide.posterior()[0, 1] == pytest.approx(1 / (1 + math.exp((0.2**2 - 0.7**2) / 2)), 1e-9)


def test_impossible_rewards_rule_out_no_state_for_good() -> None:
    """Means of 0 and 1 in all states: rewards that neither can give leave a posterior."""
    learner = ModelThompson(1, 2, group_means=[[0.0, 1.0], [0.0, 0.5]], model="bernoulli")
    learner.tell(0, 0, 1.0)
    assert np.isfinite(learner.posterior()).all()
    assert learner.ask(0) == 1


def test_parameters_are_named() -> None:
    means = [[0.1, 0.9], [0.8, 1.2]]
    with pytest.raises(ValueError, match=r"group_means: expected numbers in \[0, 1\]"):
        ModelThompson(2, 2, group_means=means, model="bernoulli")
    with pytest.raises(ValueError, match="prior: expected 2 positive numbers"):
        ModelThompson(2, 2, group_means=means, prior=[1.0, 0.0])
    with pytest.raises(ValueError, match="model: expected one of gaussian, bernoulli"):
        ModelThompson(2, 2, group_means=means, model="beta")
    with pytest.raises(ValueError, match=r"reward: expected a number in \[0, 1\]"):
        ModelThompson(2, 2, group_means=[[0.1, 0.9]], model="bernoulli").tell(0, 0, 2.0)
