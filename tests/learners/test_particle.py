"""Particle Thompson sampling against a literal version, and its published behaviour."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

import lumpable as lb
from lumpable.learners import Unfit
from lumpable.learners.particle import ParticleThompson, draw, gather
from twins.agree import LONG_MEMORY, agree
from twins.stream import Stream

Vector = npt.NDArray[np.float64]
Scales = tuple[float, float, float]


class Particle:
    """U and V of one particle; a vector of U exists from a context's first reward on."""

    def __init__(self, V: Vector) -> None:
        self.U: dict[int, Vector] = {}
        self.V: dict[int, Vector] = dict(enumerate(V))

    def copy(self) -> Particle:
        other = Particle(np.zeros((0, 0)))
        other.U = {i: u.copy() for i, u in self.U.items()}
        other.V = {j: v.copy() for j, v in self.V.items()}
        return other


class LiteralParticles:
    """PTS (Kawale et al. 2015): every posterior from the whole history, every copy a deep one."""

    def __init__(self, arms: int, rank: int, particles: int, scales: Scales, seed: int) -> None:
        self.rank = rank
        self.sigma, self.sigma_u, self.sigma_v = scales
        start = np.random.default_rng(seed).standard_normal((arms, rank, particles))
        self.particles = [Particle(self.sigma_v * start[:, :, d]) for d in range(particles)]
        self.history: list[tuple[int, int, float]] = []
        self.stream = Stream(seed)

    def posterior(self, x: list[Vector], r: list[float], scale: float) -> tuple[Vector, Vector]:
        """Posterior mean mu and precision Lambda of a row."""
        X = np.array(x).reshape(-1, self.rank)
        precision = X.T @ X / self.sigma**2 + np.eye(self.rank) / scale**2
        return np.linalg.inv(precision) @ (X.T @ np.array(r)) / self.sigma**2, precision

    def of_context(self, i: int, p: Particle) -> tuple[Vector, Vector]:
        seen = [(p.V[j], r) for k, j, r in self.history if k == i]
        return self.posterior([x for x, _ in seen], [r for _, r in seen], self.sigma_u)

    def of_arm(self, j: int, p: Particle) -> tuple[Vector, Vector]:
        seen = [(p.U[i], r) for i, k, r in self.history if k == j]
        return self.posterior([x for x, _ in seen], [r for _, r in seen], self.sigma_v)

    def drawn(self, mean: Vector, precision: Vector) -> Vector:
        z = np.array([self.stream.normal() for _ in range(self.rank)])
        return mean + np.linalg.solve(np.linalg.cholesky(precision).T, z)

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        p = self.particles[self.stream.below(len(self.particles))]
        u = self.drawn(*self.of_context(context, p))
        return self.stream.largest([float(u @ p.V[j]) for j in p.V])

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.stream.begin_update()
        weights = []
        for p in self.particles:
            mean, precision = self.of_context(context, p)
            v = p.V[arm]
            variance = self.sigma**2 + v @ np.linalg.inv(precision) @ v
            gap = reward - v @ mean
            weights.append(math.exp(-0.5 * gap**2 / variance) / math.sqrt(variance))
        bounds = np.cumsum(weights) / sum(weights)
        ancestors = [int((bounds <= self.stream.uniform()).sum()) for _ in weights]
        self.particles = [self.particles[d].copy() for d in ancestors]
        self.history.append((context, arm, reward))
        for p in self.particles:
            p.U[context] = self.drawn(*self.of_context(context, p))
        for p in self.particles:
            p.V[arm] = self.drawn(*self.of_arm(arm, p))
        self.stream.told()


@pytest.mark.parametrize(
    ("rank", "particles", "scales", "noise"),
    [(2, 4, (0.5, 1.0, 1.0), "bernoulli"), (3, 3, (1.0, 0.7, 1.5), "gaussian")],
)
def test_decisions_are_the_literal_ones(
    rank: int, particles: int, scales: Scales, noise: str
) -> None:
    world = lb.worlds.lumpable(6, 5, 2, noise=noise, seed=3)
    sd, sigma_u, sigma_v = scales
    learner = ParticleThompson(
        6, 5, rank=rank, particles=particles, sd=sd, sigma_u=sigma_u, sigma_v=sigma_v, seed=8
    )
    agree(learner, LiteralParticles(5, rank, particles, scales, 8), world, rounds=LONG_MEMORY)


def test_given_v_a_context_is_bayesian_linear_regression() -> None:
    """Given V, U_i is N(mu, Lambda^-1) of a linear regression on the arms played.

    20,000 draws: mean and covariance within 6 standard errors in each of 9 entries, p < 1e-7.
    """
    learner = ParticleThompson(3, 4, rank=3, particles=1, sd=0.8, sigma_u=0.9, seed=2)
    rng = np.random.default_rng(5)
    rows = [(int(rng.integers(4)), float(rng.standard_normal())) for _ in range(12)]
    for arm, reward in rows:
        learner.tell(1, arm, reward)
    state = learner.state
    V = state.V[:, :, 0]
    X, y = V[[arm for arm, _ in rows]], np.array([reward for _, reward in rows])
    covariance = np.linalg.inv(X.T @ X / 0.8**2 + np.eye(3) / 0.9**2)
    mean = covariance @ X.T @ y / 0.8**2
    assert learner.means()[1] == pytest.approx(V @ mean)
    assert learner.means()[0] == pytest.approx(np.zeros(4))
    gather(state, state.plays[1], state.total[1], state.V, 0.9, 0, 1)
    drawn, stream = np.zeros((20_000, 3)), Stream(7)
    stream.begin_choice(0)
    for row in drawn:
        draw(state, 0, stream.clock)
        row[:] = state.drawn
    se = np.sqrt(np.diag(covariance) / len(drawn))
    assert (np.abs(drawn.mean(axis=0) - mean) < 6 * se).all()
    spread = np.sqrt((covariance**2 + np.outer(np.diag(covariance), np.diag(covariance))) / 20_000)
    assert (np.abs(np.cov(drawn.T) - covariance) < 6 * spread).all()


class PlainThompson:
    """Thompson sampling that ignores structure: a normal posterior of each cell on its own."""

    def __init__(self, contexts: int, arms: int, sd: float, seed: int) -> None:
        self.n, self.s = np.zeros((contexts, arms)), np.zeros((contexts, arms))
        self.sd, self.rng = sd, np.random.default_rng(seed)

    def ask(self, context: int) -> int:
        precision = 1 + self.n[context] / self.sd**2
        mean = self.s[context] / self.sd**2 / precision
        return int(np.argmax(mean + self.rng.standard_normal(len(mean)) / np.sqrt(precision)))

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.n[context, arm] += 1
        self.s[context, arm] += reward


def test_beats_thompson_that_ignores_structure() -> None:
    """On a low-rank matrix, less than half the regret of cells on their own.

    100 contexts, 40 arms, rank 2, noise 0.1, 8,000 rounds, two seeds; a fifth was seen.
    """
    for seed in range(2):
        rng = np.random.default_rng(seed)
        product = rng.standard_normal((100, 2)) @ rng.standard_normal((2, 40))
        product /= np.ptp(product, axis=1).max()
        world = lb.worlds.from_matrix(product, sd=0.1)
        ours = ParticleThompson(100, 40, sd=0.1, seed=seed)
        plain = PlainThompson(100, 40, 0.1, seed)
        regret = [lb.play(x, world, horizon=8000, seed=seed, at=[]).regret for x in (ours, plain)]
        assert regret[0] < 0.5 * regret[1]


def test_too_large_is_unfit() -> None:
    with pytest.raises(Unfit, match=r"particle: takes \(S \+ K\) D rank\^2 steps a round"):
        ParticleThompson(30_000, 100)


@pytest.mark.parametrize("name", ["rank", "particles", "sd", "sigma_u", "sigma_v"])
def test_parameters_are_named_in_errors(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: expected"):
        ParticleThompson(4, 5, **{name: 0})
