"""Factor Thompson sampling against a literal version, and in worlds of low rank."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import lumpable as lb
from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.learners.bmf import FactorThompson
from lumpable.learners.thompson_beta import BetaThompson
from twins.agree import agree
from twins.stream import Stream


def regression(
    cells: list[tuple[FloatVector, int, float]], prior: list[float], sd: float
) -> tuple[FloatMatrix, FloatVector]:
    """Precision and shift of Bayesian linear regression on n rewards with this total at each x."""
    P, b = np.diag(np.array(prior, dtype=float)), np.zeros(len(prior))
    for x, n, total in cells:
        if n:
            P = P + n * np.outer(x, x) / sd**2
            b = b + total * x / sd**2
    return P, b


class LiteralFactorThompson:
    """The model and its Gibbs sampler, from a list of all that was told.

    A draw from N(P^-1 b, P^-1) is P^-1 b + L'^-1 z, where L L' = P.
    """

    def __init__(self, S: int, K: int, rank: int, spread: float, sd: float, seed: int) -> None:
        self.S, self.K, self.rank, self.spread, self.sd, self.seed = S, K, rank, spread, sd, seed
        self.stream = Stream(seed)
        self.rewards: dict[tuple[int, int], list[float]] = {}
        self.u: list[FloatVector] | None = None
        self.precisions = [1 / sd**2] * (rank + 1)
        self.c, self.due = 0.0, S

    def cell(self, i: int, j: int, less: float) -> tuple[int, float]:
        """Number and total of the rewards in a cell, each less something."""
        seen = self.rewards.get((i, j), [])
        return len(seen), sum(seen) - len(seen) * less

    def arm(self, j: int) -> tuple[FloatMatrix, FloatVector]:
        assert self.u is not None
        cells = [(np.append(self.u[i], 1.0), *self.cell(i, j, self.c)) for i in range(self.S)]
        return regression(cells, self.precisions, self.sd)

    def user(self, context: int, w: list[FloatVector]) -> tuple[FloatMatrix, FloatVector]:
        cells = [(v[:-1], *self.cell(context, j, self.c + v[-1])) for j, v in enumerate(w)]
        return regression(cells, [1.0] * self.rank, self.sd)

    @staticmethod
    def draw(P: FloatMatrix, b: FloatVector, z: FloatVector) -> FloatVector:
        return np.asarray(np.linalg.solve(P, b) + np.linalg.solve(np.linalg.cholesky(P).T, z))

    def noise(self, number: int) -> FloatVector:
        """Normals of the stream, the last entry's first, times the spread."""
        return self.spread * np.array([self.stream.normal() for _ in range(number)])[::-1]

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        if self.u is None:
            return self.stream.largest([0.0] * self.K)
        w = [self.draw(*self.arm(j), self.noise(self.rank + 1)) for j in range(self.K)]
        u = self.draw(*self.user(context, w), self.noise(self.rank))
        return self.stream.largest([float(v[:-1] @ u + v[-1]) for v in w])

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.rewards.setdefault((context, arm), []).append(reward)
        self.stream.told()
        if self.stream.tells >= self.due:
            self.refit()

    def refit(self) -> None:
        t = self.stream.tells
        rng = np.random.default_rng([self.seed, t])
        if self.u is None:
            self.u = [rng.standard_normal(self.rank) for _ in range(self.S)]
        self.c = sum(y for seen in self.rewards.values() for y in seen) / t
        for _ in range(5):
            normals = [rng.standard_normal(self.rank + 1) for _ in range(self.K)]
            w = [self.draw(*self.arm(j), normals[j]) for j in range(self.K)]
            self.precisions = [
                rng.standard_gamma(1 + self.K / 2)
                / (0.1 * self.sd**2 + sum(float(v[d]) ** 2 for v in w) / 2)
                for d in range(self.rank + 1)
            ]
            self.u = [
                self.draw(*self.user(i, w), rng.standard_normal(self.rank)) for i in range(self.S)
            ]
        self.due = t + max(self.S, math.ceil(0.05 * t))


@pytest.mark.parametrize(
    ("noise", "rank", "spread"),
    [
        ("bernoulli", 2, 1.0),
        ("gaussian", 1, 0.4),
        pytest.param("gaussian", 3, 1.0, marks=pytest.mark.nightly),
    ],
)
def test_decisions_are_the_literal_ones(noise: str, rank: int, spread: float) -> None:
    world = lb.worlds.low_rank(8, 5, 2, noise=noise, sd=0.5, seed=3)
    learner = FactorThompson(8, 5, rank=rank, spread=spread, sd=0.5, seed=8)
    agree(learner, LiteralFactorThompson(8, 5, rank, spread, 0.5, 8), world, rounds=1000)


def test_the_unit_of_rewards_does_not_matter() -> None:
    """Rewards and sd times 1024, a power of two so that nothing is rounded: the same decisions."""
    world = lb.worlds.low_rank(8, 5, 2, noise="gaussian", sd=0.5, seed=3)
    one = FactorThompson(8, 5, rank=2, sd=0.5, seed=8)
    other = FactorThompson(8, 5, rank=2, sd=512.0, seed=8)
    rng = np.random.default_rng(7)
    for t in range(500):
        context = int(rng.integers(8))
        arm = one.ask(context)
        assert other.ask(context) == arm, f"round {t}"
        reward = world.reward(context, arm, rng)
        one.tell(context, arm, reward)
        other.tell(context, arm, 1024 * reward)
    assert one.policy().tolist() == other.policy().tolist()
    assert (one.precisions == 2**20 * other.precisions).all()


@pytest.mark.parametrize("kind", ["rank 1", "mixtures"])
def test_low_rank_worlds_are_learned_faster_than_by_thompson_for_each_context(kind: str) -> None:
    """What factors are for: they beat contexts on their own where means are of low rank.

    150 contexts, 40 arms, 80 rounds a context, Bernoulli, rank 1 or mixtures of three types; the
    learner has rank 2. Over 4 worlds the difference to Beta Thompson sampling for each context is
    at least 5 standard errors, and the regret less than six tenths of its.
    """
    regret = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        world = (
            lb.worlds.from_matrix(np.outer(rng.random(150), rng.random(40)), noise="bernoulli")
            if kind == "rank 1"
            else lb.worlds.low_rank(150, 40, 3, noise="bernoulli", seed=seed)
        )
        regret.append(
            [
                lb.play(learner, world, horizon=12_000, seed=seed, at=[]).regret
                for learner in (
                    FactorThompson(150, 40, rank=2, seed=seed),
                    BetaThompson(150, 40, seed=seed),
                )
            ]
        )
    factors, alone = np.array(regret).T
    error = np.std(alone - factors, ddof=1) / 2
    assert (alone - factors).mean() > 5 * error
    assert factors.mean() < 0.6 * alone.mean()


def test_every_context_is_recommended_its_own_best_arm() -> None:
    """Two kinds of contexts, a gap of 0.8 and 100 rounds a context: no single arm is good."""
    world = lb.worlds.from_matrix([[0.9, 0.1], [0.1, 0.9]] * 10, noise="bernoulli")
    learner = FactorThompson(20, 2, rank=1, seed=1)
    lb.play(learner, world, horizon=2000, seed=1, at=[])
    assert learner.policy().tolist() == [0, 1] * 10


def test_less_spread_explores_less() -> None:
    world = lb.worlds.low_rank(100, 30, 2, noise="bernoulli", seed=1)
    cold, warm = (
        lb.play(FactorThompson(100, 30, spread=x, seed=1), world, horizon=5000, seed=1).regret
        for x in (0.4, 2.0)
    )
    assert cold < 0.7 * warm


def test_arms_are_a_regression_on_the_contexts_that_follows_every_tell() -> None:
    learner = FactorThompson(6, 4, rank=2, sd=0.3, seed=1)
    rng = np.random.default_rng(2)
    told = [(int(rng.integers(6)), int(rng.integers(4)), rng.normal()) for _ in range(50)]
    for context, arm, reward in told:
        learner.tell(context, arm, reward)
    state = learner.state
    for j in range(4):
        cells = [(state.x[i], 1, y - state.centre[0]) for i, arm, y in told if arm == j]
        P, b = regression(cells, learner.precisions.tolist(), 0.3)
        assert np.allclose(state.precision[j], P)
        assert np.allclose(np.tril(state.root[j]) @ np.tril(state.root[j]).T, P)
        assert np.allclose(np.tril(state.root[j]) @ state.half[j], b)


def test_uniform_until_the_first_refit() -> None:
    learner = FactorThompson(500, 3, seed=1)
    for t in range(499):
        learner.tell(t % 500, 0, 1.0)
    arms = [learner.ask(i) for i in range(500)]
    assert stats.chisquare(np.bincount(arms, minlength=3)).pvalue > 1e-9
    assert learner.policy().tolist() == [0] * 500
    learner.tell(499, 0, 1.0)
    assert learner.state.x[:, -1].all()


@pytest.mark.parametrize("name", ["rank", "sd", "spread", "sweeps"])
def test_parameters_are_checked(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        FactorThompson(4, 3, **{name: 0})
