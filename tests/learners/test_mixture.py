"""Mixture Thompson sampling against a literal version, and between Thompson and the oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lumpable as lb
from lumpable.learners.fitting.lloyd import lloyd
from lumpable.learners.mixture import MixtureThompson
from lumpable.learners.thompson_beta import BetaThompson
from twins.agree import LONG_MEMORY, agree
from twins.stream import Stream

Draw = tuple[list[float], list[list[float]]]


class LiteralMixture:
    """The model and its Gibbs sampler cell by cell, from a list of all that was told."""

    def __init__(
        self, S: int, K: int, r: int, gaussian: bool, sd: float, spread: float, seed: int
    ) -> None:
        self.S, self.K, self.r, self.sd, self.spread, self.seed = S, K, r, sd, spread, seed
        self.gaussian, self.stream = gaussian, Stream(seed)
        self.told: list[tuple[int, int, float]] = []
        self.z, self.prior = [0] * S, (0.0, sd**2)
        self.last: Draw | None = None
        self.due = S

    def rewards(self, users: set[int], arm: int) -> list[float]:
        return [y for i, j, y in self.told if i in users and j == arm]

    def members(self, z: list[int], g: int) -> set[int]:
        return {i for i in range(self.S) if z[i] == g}

    def log_likelihood(self, y: float, mean: float) -> float:
        if self.gaussian:
            return (y * mean - mean**2 / 2) / self.sd**2  # less what does not depend on the mean
        return y * math.log(mean) + (1 - y) * math.log(1 - mean)

    def log_chances(self, context: int, draw: Draw) -> list[float]:
        pi, B = draw
        own = [(j, y) for i, j, y in self.told if i == context]
        return [
            math.log(pi[g]) + sum(self.log_likelihood(y, B[g][j]) for j, y in own)
            for g in range(self.r)
        ]

    @staticmethod
    def pick(logs: list[float], u: float) -> int:
        chance = [math.exp(x - max(logs)) for x in logs]
        at = u * sum(chance)
        return next(g for g in range(len(logs)) if sum(chance[: g + 1]) > at)

    def normal(self, seen: list[float], prior: tuple[float, float]) -> tuple[float, float]:
        """Mean and variance of the posterior; the spread divides all evidence by its square."""
        precision = 1 / prior[1] + len(seen) / self.sd**2
        return (prior[0] / prior[1] + sum(seen) / self.sd**2) / precision, 1 / precision

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
        cells = [[self.rewards({i}, j) for j in range(self.K)] for i in range(self.S)]
        plays = [[len(x) for x in row] for row in cells]
        mean = [[sum(x) / len(x) if x else 0.0 for x in row] for row in cells]
        nearest = lloyd(plays, mean, self.r, rng)[0].tolist()
        chains = [self.chain(start, rng) for start in (self.z, nearest)]
        values = [self.value(z) for z, _ in chains]
        self.z, self.prior = chains[1] if values[1] > values[0] + 1e-6 else chains[0]
        self.last = self.draw(self.z, self.prior, rng)
        self.due = t + max(self.S, math.ceil(0.05 * t))

    def draw(self, z: list[int], prior: tuple[float, float], rng: np.random.Generator) -> Draw:
        gammas = [rng.standard_gamma(1 + len(self.members(z, g))) for g in range(self.r)]
        B = [[0.0] * self.K for _ in range(self.r)]
        for g in range(self.r):
            for j in range(self.K):
                seen = self.rewards(self.members(z, g), j)
                if self.gaussian:
                    mean, variance = self.normal(seen, prior)
                    B[g][j] = mean + math.sqrt(variance) * rng.standard_normal()
                else:
                    B[g][j] = rng.beta(1 + sum(seen), 1 + len(seen) - sum(seen))
        return [x / sum(gammas) for x in gammas], B

    def chain(
        self, z: list[int], rng: np.random.Generator
    ) -> tuple[list[int], tuple[float, float]]:
        m, tau2 = self.prior
        for _ in range(10):
            draw = self.draw(z, (m, tau2), rng)
            if self.gaussian:
                every = [b for row in draw[1] for b in row]
                m = sum(every) / len(every) + math.sqrt(tau2 / len(every)) * rng.standard_normal()
                rate = 0.1 * self.sd**2 + sum((b - m) ** 2 for b in every) / 2
                tau2 = rate / rng.standard_gamma(1 + len(every) / 2)
            z = [self.pick(self.log_chances(i, draw), rng.random()) for i in range(self.S)]
        return z, (m, tau2)

    def value(self, z: list[int]) -> float:
        """ln P(z, rewards), reward by reward: each given those before it, pi and B summed out."""
        total = 0.0
        for g in range(self.r):
            users = self.members(z, g)
            total += sum(math.log(k) for k in range(1, len(users) + 1))
            for j in range(self.K):
                seen = self.rewards(users, j)
                if self.gaussian:
                    for k, y in enumerate(seen):
                        mean, variance = self.normal(seen[:k], self.prior)
                        variance += self.sd**2
                        total -= 0.5 * (math.log(variance) + (y - mean) ** 2 / variance)
                else:
                    for k, y in enumerate(seen):
                        success = (1 + sum(seen[:k])) / (2 + k)
                        total += math.log(success if y == 1 else 1 - success)
        return total


@pytest.mark.parametrize(
    ("noise", "model", "spread"),
    [
        ("bernoulli", "auto", 1.0),
        ("bernoulli", "auto", 0.5),
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


def test_it_is_between_thompson_for_each_context_and_the_oracle() -> None:
    """A latent model is far better than no model, and worse than a known one.

    (S, K, r) = (100, 20, 4), 100 rounds a context, Bernoulli, 5 worlds. The oracle that knows the
    groups is Thompson sampling on r contexts. Differences by pairs of runs, in standard errors:
    at least 5 below Thompson for each context and at most 5 below the oracle; less than half of
    the former's regret.
    """
    S, K, r, T = 100, 20, 4, 10_000
    regret = []
    for seed in range(5):
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
    error = np.std(alone - mixture, ddof=1) / math.sqrt(5)
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
