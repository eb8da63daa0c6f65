"""Mixture Thompson sampling against a literal version, and between Thompson and the oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners.mixture import MixtureThompson
from lumpable.learners.thompson_beta import BetaThompson
from twins.agree import LONG_MEMORY, agree
from twins.gibbs import Draw, LiteralGibbs
from twins.stream import Stream


class LiteralMixture(LiteralGibbs):
    """The choices of a round; the spread divides all evidence by its square."""

    def __init__(
        self, S: int, K: int, r: int, gaussian: bool, sd: float, spread: float, seed: int
    ) -> None:
        super().__init__(S, K, r, gaussian, sd, weight=1.0)
        self.spread, self.seed, self.stream = spread, seed, Stream(seed)
        self.last: Draw | None = None
        self.due = S

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        logs = self.log_chances(context, self.last) if self.last else [0.0] * self.r
        g = self.pick(logs, self.stream.uniform())
        users = self.members(self.z, g) | {context}
        values = []
        for j in range(self.K):
            seen = self.rewards(users, j)
            n, s = len(seen) / self.spread**2, sum(seen) / self.spread**2
            if self.gaussian:
                precision = 1 / self.prior[1] + n / self.sd**2
                mean = (self.prior[0] / self.prior[1] + s / self.sd**2) / precision
                values.append(mean + self.stream.normal() / math.sqrt(precision))
            else:
                values.append(self.stream.beta(1 + s, 1 + n - s))
        return self.stream.largest(values)

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.told.append((context, arm, reward))
        self.stream.told()
        changed = not self.gaussian and not 0 <= reward <= 1
        self.gaussian = self.gaussian or changed
        if changed or len(self.told) >= self.due:
            self.refit()

    def refit(self) -> None:
        t = len(self.told)
        rng = np.random.default_rng([self.seed, t])
        self.search(self.r, rng)
        self.last = self.draw(self.z, self.prior, rng)
        self.due = t + max(self.S, math.ceil(0.05 * t))


@pytest.mark.parametrize(
    ("noise", "model", "spread"),
    [
        ("bernoulli", "auto", 1.0),
        pytest.param("bernoulli", "auto", 0.5, marks=pytest.mark.nightly),
        ("gaussian", "auto", 1.0),
        ("gaussian", "gaussian", 0.7),
    ],
)
def test_decisions_are_the_literal_ones(noise: str, model: str, spread: float) -> None:
    world = lb.worlds.lumpable(6, 3, 2, noise=noise, sd=0.3, seed=3)
    learner = MixtureThompson(6, 3, groups=2, model=model, sd=0.3, spread=spread, seed=8)
    literal = LiteralMixture(6, 3, 2, model == "gaussian", 0.3, spread, 8)
    agree(learner, literal, world, rounds=LONG_MEMORY)
    assert learner.state.group.tolist() == literal.z
    assert learner.state.gaussian[0] == (noise == "gaussian")


class PooledThompson:
    """Beta Thompson sampling for all contexts, after one uniform draw for the only group."""

    def __init__(self, arms: int, seed: int) -> None:
        self.stream, self.a, self.b = Stream(seed), [1.0] * arms, [1.0] * arms

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        self.stream.uniform()
        return self.stream.largest(
            [self.stream.beta(a, b) for a, b in zip(self.a, self.b, strict=True)]
        )

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.a[arm] += reward
        self.b[arm] += 1 - reward
        self.stream.told()


def test_with_one_group_it_is_pooled_thompson() -> None:
    """Decision by decision, so equal in law."""
    world = lb.worlds.lumpable(6, 5, 2, noise="bernoulli", seed=3)
    agree(MixtureThompson(6, 5, groups=1, seed=4), PooledThompson(5, 4), world)


@pytest.mark.parametrize("worlds", [3, pytest.param(5, marks=pytest.mark.nightly)])
def test_it_is_between_thompson_for_each_context_and_the_oracle(worlds: int) -> None:
    """A latent model is far better than no model, and worse than a known one.

    (S, K, r) = (100, 20, 4), 100 rounds a context, Bernoulli. The oracle that knows the
    groups is Thompson sampling on r contexts. Differences by pairs of runs, in standard errors:
    at least 5 below Thompson for each context and at most 5 below the oracle; less than half of
    the former's regret.
    """
    S, K, r, T = 100, 20, 4, 10_000
    regret = []
    for seed in range(worlds):
        world = lb.worlds.lumpable(S, K, r, noise="bernoulli", seed=seed)
        first = [int((world.group == g).argmax()) for g in range(r)]
        known = lb.worlds.from_matrix(
            world.mean[first], frequency=world.group_frequency, noise="bernoulli"
        )
        learner = MixtureThompson(S, K, groups=r, seed=seed)
        runs = (
            lb.play(BetaThompson(S, K, seed=seed), world, horizon=T, seed=seed, at=[]),
            lb.play(learner, world, horizon=T, seed=seed, at=[]),
            lb.play(BetaThompson(r, K, seed=seed), known, horizon=T, seed=seed, at=[]),
        )
        regret.append([run.regret for run in runs])
    alone, mixture, oracle = np.array(regret).T
    error = np.std(alone - mixture, ddof=1) / math.sqrt(worlds)
    assert (alone - mixture).mean() > 5 * error
    assert mixture.mean() < 0.5 * alone.mean()
    error = np.std(mixture - oracle, ddof=1) / math.sqrt(5)
    assert (mixture - oracle).mean() > -5 * error


def test_normal_rewards_at_any_level() -> None:
    """The prior's mean and variance are learned: rewards about 50 with noise 1 are no harder."""
    world = lb.worlds.lumpable(40, 8, 2, sd=0.2, seed=1)
    learner = MixtureThompson(40, 8, groups=2, sd=2.0, seed=1)
    rng = np.random.default_rng(2)
    for _ in range(4000):
        context = int(rng.integers(40))
        arm = learner.ask(context)
        learner.tell(context, arm, 50.0 + 10 * world.reward(context, arm, rng))
    assert world.loss(learner.policy()) < 0.02
    assert lb.play(learner, world, horizon=1, seed=1).rows()[-1].ari == 1.0
    m, tau2 = learner.state.prior
    assert abs(m - 55) < 5 * 10 * math.sqrt(1 / 12 / 16) + 1
    assert 1 < tau2 < 50


def test_a_reward_outside_the_unit_interval_changes_the_model_at_once() -> None:
    learner = MixtureThompson(5, 3, groups=2, seed=1)
    learner.tell(0, 0, 0.5)
    assert learner.state.gaussian[0] == 0
    learner.tell(0, 1, 1.5)
    assert learner.state.gaussian[0] == 1
    assert learner.state.due[0] == 2 + 5


def test_late_refits_grow_apart() -> None:
    learner = MixtureThompson(2, 2, groups=2, seed=1)
    refits = 0
    for t in range(2000):
        before = int(learner.state.due[0])
        learner.tell(t % 2, t % 3 % 2, 1.0)
        refits += before != learner.state.due[0]
    assert refits < 20 + math.log(2000 / 40) / math.log(1.05) + 5


@pytest.mark.parametrize("name", ["groups", "sd", "spread", "sweeps", "model"])
def test_parameters_are_checked(name: str) -> None:
    values: dict[str, int] = {"groups": 2} | {name: 0}
    with pytest.raises(ValueError, match=name):
        MixtureThompson(4, 3, **values)  # type: ignore[arg-type]
