"""Empirical Bayes with factors against a literal version, and what its model promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

import lumpable as lb
from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.learners.factor_bayes import FactorBayes
from lumpable.learners.fitting import factor_analysis
from lumpable.learners.fitting.factor_analysis import Data
from lumpable.learners.shrinkage import Shrinkage
from twins.agree import agree
from twins.stream import Stream


class LiteralFactorBayes:
    """The model and its EM algorithm pair by pair, from all rewards.

    `arms` holds a mean and a covariance of (l_j, m_j) each, `contexts` of (f_i, g_i).
    """

    def __init__(self, S: int, K: int, q: int, levels: bool, spread: float, rule: str, seed: int):
        self.S, self.K, self.q, self.levels = S, K, q, levels
        self.spread, self.rule, self.seed = spread, rule, seed
        self.stream, self.due = Stream(seed), 2
        self.pairs: dict[tuple[int, int], list[float]] = {}
        self.arms: list[tuple[FloatVector, FloatMatrix]] = []
        self.own: list[float] = []
        self.noise: list[float] = []

    def cell(self, i: int, j: int) -> tuple[int, float]:
        """Return number and mean of a pair's rewards."""
        seen = self.pairs.get((i, j), [])
        return len(seen), sum(seen) / len(seen) if seen else 0.0

    def loadings(self, a: FloatVector) -> FloatVector:
        return np.append(a[:-1], 1.0) if self.levels else a[:-1]

    def context(self, i: int, arms: list[FloatVector]) -> tuple[FloatVector, FloatMatrix]:
        """Posterior of (f_i, g_i): a regression on the loadings, e_ij being part of the noise."""
        P = np.diag([1.0] * self.q + [1 / self.level] * self.levels)
        shift = np.zeros(len(P))
        for j, a in enumerate(arms):
            n, x = self.cell(i, j)
            if n:
                variance = self.own[j] + self.noise[j] / n
                P = P + np.outer(self.loadings(a), self.loadings(a)) / variance
                shift = shift + (x - a[-1]) * self.loadings(a) / variance
        cover = np.linalg.inv(P)
        return cover @ shift, cover

    def arm(self, j: int) -> tuple[FloatVector, FloatMatrix]:
        """Posterior of (l_j, m_j): a regression on the contexts, which are uncertain."""
        P = np.diag([1 / (0.2 * self.V)] * self.q + [1 / self.differ])
        shift = np.append(np.zeros(self.q), self.centre / self.differ)
        for i, (u, cover) in enumerate(self.contexts):
            n, x = self.cell(i, j)
            if n:
                variance = self.own[j] + self.noise[j] / n
                y = np.append(u[: self.q], 1.0)
                P = P + np.outer(y, y) / variance
                P[: self.q, : self.q] += cover[: self.q, : self.q] / variance
                shift = shift + x * y / variance
                if self.levels:
                    shift = shift - u[-1] * y / variance
                    shift[: self.q] -= cover[-1, : self.q] / variance
        cover = np.linalg.inv(P)
        return cover @ shift, cover

    def left(self, i: int, j: int) -> float:
        """Return the expected square of x_ij - m_j - l_j . f_i - g_i."""
        (u, U), (a, A) = self.contexts[i], self.arms[j]
        b, y = self.loadings(a), np.append(u[: self.q], 1.0)
        doubt = b @ U @ b + y @ A @ y + np.trace(A[: self.q, : self.q] @ U[: self.q, : self.q])
        return float((self.cell(i, j)[1] - a[-1] - b @ u) ** 2 + doubt)

    def sweep(self) -> None:
        means = [a for a, _ in self.arms]
        self.contexts = [self.context(i, means) for i in range(self.S)]
        self.arms = [self.arm(j) for j in range(self.K)]
        m = [a[-1] for a, _ in self.arms]
        self.centre = sum(m) / self.K
        guess = 5 * 0.1 * self.V
        spread = sum((a[-1] - self.centre) ** 2 + A[-1, -1] for a, A in self.arms)
        self.differ = (guess + spread) / (5 + self.K)
        if self.levels:
            seen = {i for i, _ in self.pairs}
            squares = sum(self.contexts[i][0][-1] ** 2 + self.contexts[i][1][-1, -1] for i in seen)
            self.level = (guess + squares) / (5 + len(seen))
        self.cells(guess)

    def cells(self, guess: float) -> None:
        alike = (guess + sum(self.own)) / (5 + self.K)
        sums, counts = [5 * alike] * self.K, [5] * self.K
        rewards = [(i, j, y) for (i, j), seen in self.pairs.items() for y in seen]
        within = self.V + sum((y - self.cell(i, j)[1]) ** 2 for i, j, y in rewards)
        for i, j in self.pairs:
            n = self.cell(i, j)[0]
            part = self.own[j] / (self.own[j] + self.noise[j] / n)
            variance = 1 / (1 / self.own[j] + n / self.noise[j])
            sums[j] += part**2 * self.left(i, j) + variance
            counts[j] += 1
            within += n * ((1 - part) ** 2 * self.left(i, j) + variance)
        self.own = [total / count for total, count in zip(sums, counts, strict=True)]
        if all(y in (0.0, 1.0) for _, _, y in rewards):
            for j in range(self.K):
                seen = [y for _, arm, y in rewards if arm == j]
                p = (1 + sum(seen)) / (2 + len(seen))
                self.noise[j] = p * (1 - p)
        else:
            self.noise = [within / (1 + len(rewards))] * self.K

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        if not self.arms:
            return self.stream.largest([0.0] * self.K)
        if self.rule == "index":
            return self.stream.largest([self.index(context, j) for j in range(self.K)])
        drawn = []
        for a, cover in self.arms:
            z = np.array([self.stream.normal() for _ in a])
            drawn.append(a + self.spread * np.linalg.cholesky(cover) @ z)
        u, cover = self.context(context, drawn)
        z = np.array([self.stream.normal() for _ in u])[::-1]
        u = u + self.spread * np.linalg.solve(np.linalg.cholesky(np.linalg.inv(cover)).T, z)
        scores = []
        for j in range(self.K):
            mean, variance = self.mean(context, j, drawn[j], u)
            scores.append(mean + self.spread * math.sqrt(variance) * self.stream.normal())
        return self.stream.largest(scores)

    def mean(self, i: int, j: int, a: FloatVector, u: FloatVector) -> tuple[float, float]:
        """Mean and variance of mu_ij given (l_j, m_j) and (f_i, g_i): e_ij is left."""
        n, x = self.cell(i, j)
        prior = float(a[-1] + self.loadings(a) @ u)
        precision = 1 / self.own[j] + n / self.noise[j]
        return (prior / self.own[j] + n * x / self.noise[j]) / precision, 1 / precision

    def index(self, i: int, j: int) -> float:
        u, U = self.context(i, [a for a, _ in self.arms])
        a, A = self.arms[j]
        mean, variance = self.mean(i, j, a, u)
        y, b = np.append(u[: self.q], 1.0), self.loadings(a)
        variance += (variance / self.own[j]) ** 2 * float(b @ U @ b + y @ A @ y)
        return mean + self.spread * math.sqrt(variance)

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.pairs.setdefault((context, arm), []).append(reward)
        self.stream.told()
        t = self.stream.tells
        if t >= self.due:
            self.due = t + math.ceil(0.1 * t)
            self.refit()

    def refit(self) -> None:
        rewards = [y for seen in self.pairs.values() for y in seen]
        if min(rewards) == max(rewards):
            return
        self.V = float(np.var(rewards))
        if not self.arms:
            usual = 0.1 * self.V
            self.centre = sum(rewards) / len(rewards)
            self.differ = self.level = usual
            self.own, self.noise = [usual] * self.K, [self.V] * self.K
            first = np.append(np.zeros(self.q), self.centre)
            self.arms = [(first, usual * np.eye(self.q + 1))] * self.K
        rng = np.random.default_rng([self.seed, self.stream.tells])
        self.arms = [
            (a + np.linalg.cholesky(cover) @ rng.standard_normal(len(a)), cover)
            for a, cover in self.arms
        ]
        for _ in range(10):
            self.sweep()


@pytest.mark.parametrize(
    ("noise", "rank", "levels", "spread", "rule"),
    [
        ("bernoulli", 2, True, 1.0, "thompson"),
        pytest.param("gaussian", 1, False, 0.4, "thompson", marks=pytest.mark.nightly),
        pytest.param("gaussian", 3, True, 1.0, "thompson", marks=pytest.mark.nightly),
        pytest.param("bernoulli", 2, True, 0.5, "index", marks=pytest.mark.nightly),
        ("gaussian", 2, False, 1.0, "index"),
    ],
)
def test_decisions_are_the_literal_ones(
    noise: str, rank: int, levels: bool, spread: float, rule: str
) -> None:
    world = lb.worlds.low_rank(6, 4, 2, noise=noise, sd=0.5, seed=3)
    learner = FactorBayes(6, 4, rank=rank, levels=levels, spread=spread, rule=rule, seed=8)
    literal = LiteralFactorBayes(6, 4, rank, levels, spread, rule, 8)
    agree(learner, literal, world, rounds=300)
    assert learner.state.own == pytest.approx(literal.own, rel=1e-6)
    assert learner.state.noise == pytest.approx(literal.noise, rel=1e-6)


def factor_world(S: int, K: int, level: float, seed: int) -> tuple[FloatMatrix, FloatMatrix]:
    """Return means of contexts with one factor, a level and own deviations; and their law."""
    rng = np.random.default_rng(seed)
    loading, m = rng.normal(size=K), rng.normal(size=K)
    mean = m + np.outer(rng.normal(size=S), loading) + level * rng.normal(size=(S, 1))
    law = np.outer(loading, loading) + level**2 + 0.25 * np.eye(K)
    return mean + 0.5 * rng.normal(size=(S, K)), law


def told(mean: FloatMatrix, share: float, seed: int) -> Data:
    """Return two rewards with noise 1 of each pair that is not missing."""
    rng = np.random.default_rng(seed)
    y = mean + rng.normal(size=(2, *mean.shape))
    context, arm = np.nonzero(rng.random(mean.shape) < share)
    y, n = y[:, context, arm], np.full(len(arm), 2.0)
    squares = float(((y - y.mean(axis=0)) ** 2).sum())
    shape = mean.shape[0], mean.shape[1]
    return Data(shape, context, arm, n, y.mean(axis=0), squares, float(y.var()), coins=False)


@pytest.mark.parametrize("level", [pytest.param(0.0, marks=pytest.mark.nightly), 1.0])
def test_the_law_of_the_contexts_is_found_with_half_of_the_pairs_missing(level: float) -> None:
    """2,000 contexts, 8 arms: a variance of 2,000 normals is known to 3 %, here with half of the
    pairs and noise on them to some 6 %, so that 0.25 of the largest variance is beyond four of its
    errors; the noise comes from 8,000 degrees of freedom, 1.6 %, so that 0.1 is six."""
    mean, law = factor_world(2000, 8, level, seed=1)
    data = told(mean, 0.5, seed=2)
    fit = factor_analysis.start(data, rank=1, levels=True)
    rng = np.random.default_rng(3)
    fit.arms.mean[:, :1] += rng.normal(size=(8, 1))
    for _ in range(200):
        fit.sweep(data)
    loading = fit.arms.mean[:, 0]
    found = np.outer(loading, loading) + fit.level + np.diag(fit.own)
    assert np.abs(found - law).max() < 0.25 * law.max()
    assert abs(fit.noise[0] - 1.0) < 0.1
    assert np.abs(fit.arms.mean[:, 1] - mean.mean(axis=0)).max() < 0.2


def test_a_sweep_raises_the_likelihood() -> None:
    """EM's law, of all rewards given fixed arms' means: without penalties it could never fall.

    The penalties count as five contexts and arms beside 300, so that it may fall by a thousandth.
    """
    mean, _ = factor_world(300, 6, 1.0, seed=4)
    data = told(mean, 0.6, seed=5)
    fit = factor_analysis.start(data, rank=1, levels=True)
    fit.arms.mean[:, 0] = 0.1
    values = []
    for _ in range(30):
        fit.sweep(data)
        values.append(likelihood(fit, data))
    steps = np.diff(values)
    assert values[-1] > values[0] + 100
    assert steps.min() > -1e-3 * abs(values[-1])


def likelihood(fit: factor_analysis.Factors, data: Data) -> float:
    """Return ln p of all pairs' means, context by context, from the dense covariance."""
    q, total = fit.rank, 0.0
    L, m = fit.arms.mean[:, :q], fit.arms.mean[:, q]
    law = L @ L.T + fit.level + np.diag(fit.own)
    for i in range(data.shape[0]):
        own = data.context == i
        if own.any():
            arm, n, x = data.arm[own], data.plays[own], data.mean[own]
            cover = law[np.ix_(arm, arm)] + np.diag(fit.noise[arm] / n)
            away = x - m[arm]
            total -= float(away @ np.linalg.solve(cover, away) + np.linalg.slogdet(cover)[1]) / 2
            total -= len(arm) * math.log(2 * math.pi) / 2
    return total


def taught(levels: bool = True, contexts: int = 30) -> FactorBayes:
    """Return a learner after some rewards of all contexts but the last."""
    learner = FactorBayes(contexts, 4, rank=2, levels=levels, seed=1)
    mean, _ = factor_world(contexts, 4, 1.0 if levels else 0.0, seed=6)
    rng = np.random.default_rng(7)
    for t in range(600):
        i, j = t % (contexts - 1), int(rng.integers(4))
        learner.tell(i, j, float(mean[i, j] + rng.normal()))
    return learner


@pytest.mark.parametrize("levels", [True, False])
def test_means_are_those_of_the_joint_normal_law(levels: bool) -> None:
    """Woodbury against the dense law: mu | rewards ~ with covariance L L' + lambda^2 + D."""
    learner = taught(levels)
    state, fit = learner.state, learner.factors
    assert fit is not None
    L, m = state.arm[:, :2], state.arm[:, 2]
    law = L @ L.T + np.diag(state.own) + (fit.level if levels else 0.0)
    for n, x, found in zip(state.plays, state.mean, learner.means(), strict=True):
        seen = n > 0
        cover = law[np.ix_(seen, seen)] + np.diag(state.noise[seen] / n[seen])
        dense = m + law[:, seen] @ np.linalg.solve(cover, (x - m)[seen])
        assert found == pytest.approx(dense, abs=1e-9)


@pytest.mark.parametrize("draws", [4_000, pytest.param(20_000, marks=pytest.mark.nightly)])
def test_a_context_without_rewards_is_drawn_from_the_population(draws: int) -> None:
    """KS of each arm's drawn mean, p < 1e-9: N(m, L L' + lambda^2 + D), with uncertain l and m.

    Given l and m it is normal; the law's distribution function is averaged over 2,000 draws of
    them, with those of a generator of its own, which moves it by some 0.001. D is set as large as
    all the rest, so that no part of the law is small.
    """
    learner = taught()
    state, fit, drawn = learner.state, learner.factors, []
    assert fit is not None
    state.own[:] = fit.level + np.square(state.arm[:, :2]).sum(axis=1)
    for tells in range(draws):
        learner.clock[1] = tells
        learner.ask(29)
        drawn.append(state.score.copy())
    rng = np.random.default_rng(1)
    for j, sample in enumerate(np.array(drawn).T):
        arm = state.arm[j] + rng.normal(size=(2000, 3)) @ np.tril(state.cover[j]).T
        sd = np.sqrt((arm[:, :2] ** 2).sum(axis=1) + fit.level + state.own[j])
        sample = np.sort(sample)
        law = np.mean(
            [special.ndtr((sample - m) / s) for m, s in zip(arm[:, 2], sd, strict=True)], axis=0
        )
        distance = np.abs(law - (np.arange(draws) + 0.5) / draws).max()
        assert distance < 0.002 + math.sqrt(-math.log(0.5e-9) / 2 / draws)


def test_an_arm_with_few_rewards_is_less_sure() -> None:
    learner = FactorBayes(20, 3, rank=1, seed=1)
    rng = np.random.default_rng(2)
    for t in range(400):
        learner.tell(t % 20, 0 if t % 50 else 1, float(rng.normal()))
    sure = [float(np.square(cover[-1]).sum()) for cover in learner.state.cover]
    assert sure[0] < 0.5 * sure[1] < 0.5 * sure[2]


def test_rewards_of_tried_arms_say_what_to_play_next() -> None:
    """Two arms that rise together and one that falls: a reward of the first moves both others."""
    learner = FactorBayes(200, 3, rank=1, levels=False, seed=1)
    rng = np.random.default_rng(3)
    for t in range(6000):
        i, j = t % 199, int(rng.integers(3))
        kind = 1.0 if i % 2 else -1.0
        learner.tell(i, j, float(kind * (1.0, 1.0, -1.0)[j] + 0.5 * rng.normal()))
    before = learner.means()[199]
    for _ in range(5):
        learner.tell(199, 0, 1.0)
    after = learner.means()[199]
    assert after[1] > before[1] + 0.5
    assert after[2] < before[2] - 0.5


def test_levels_are_told_from_tastes() -> None:
    """A context whose rewards are all high has a high level: no arm is better for it.

    All arms are equal. With levels, what one arm says of another moves both the same way.
    """
    rng = np.random.default_rng(4)
    level = 2.0 * rng.normal(size=100)
    learner = FactorBayes(100, 4, seed=1)
    for t in range(3000):
        i, j = t % 100, int(rng.integers(4))
        learner.tell(i, j, float(level[i] + 0.5 * rng.normal()))
    fit = learner.factors
    assert fit is not None
    assert fit.level > 10 * fit.own.mean()
    assert np.corrcoef(fit.contexts.mean[:, -1], level)[0, 1] > 0.98


def test_the_unit_of_rewards_does_not_matter() -> None:
    """Rewards times 1024, a power of two so that nothing is rounded: the same decisions."""
    world = lb.worlds.low_rank(8, 5, 2, noise="gaussian", sd=0.5, seed=3)
    one, other = (FactorBayes(8, 5, rank=2, seed=8) for _ in range(2))
    rng = np.random.default_rng(7)
    for t in range(500):
        context = int(rng.integers(8))
        arm = one.ask(context)
        assert other.ask(context) == arm, f"round {t}"
        reward = world.reward(context, arm, rng)
        one.tell(context, arm, reward)
        other.tell(context, arm, 1024 * reward)
    assert one.policy().tolist() == other.policy().tolist()


@pytest.mark.parametrize(
    "noise", ["bernoulli", pytest.param("gaussian", marks=pytest.mark.nightly)]
)
def test_groups_are_learned_faster_than_with_one_group(noise: str) -> None:
    """What factors are for: four groups are three directions, and shrinking to one mean is slower.

    (S, K, r) = (100, 20, 4), 60 rounds a context, both as they come. Over 4 worlds the difference
    is at least 5 standard errors, and the regret below nine tenths.
    """
    regret = []
    for seed in range(4):
        world = lb.worlds.lumpable(100, 20, 4, noise=noise, sd=0.3, seed=seed)
        learners = FactorBayes(100, 20, seed=seed), Shrinkage(100, 20, seed=seed)
        runs = [lb.play(each, world, horizon=6000, seed=seed, at=[]) for each in learners]
        regret.append([run.regret for run in runs])
    factors, alone = np.array(regret).T
    error = np.std(alone - factors, ddof=1) / 2
    assert (alone - factors).mean() > 5 * error
    assert factors.mean() < 0.9 * alone.mean()


def test_equal_rewards_are_no_reason_to_fit() -> None:
    learner = FactorBayes(3, 2, seed=1)
    for t in range(50):
        learner.tell(t % 3, t % 2, 0.1)
    assert learner.factors is None
    assert learner.policy().tolist() == [0, 0, 0]


def test_coins_end_with_the_first_other_reward() -> None:
    learner = FactorBayes(3, 2, seed=1)
    for t in range(40):
        learner.tell(t % 3, t % 2, float(t % 4 == 0))
    assert learner.state.coins[0] == 1
    assert learner.state.noise[0] != learner.state.noise[1]
    learner.tell(0, 0, 0.5)
    learner.refit()
    assert learner.state.coins[0] == 0
    assert learner.state.noise[0] == learner.state.noise[1]


@pytest.mark.parametrize("name", ["rank", "spread", "sweeps", "rule"])
def test_parameters_are_checked(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        FactorBayes(4, 3, **{name: 0})  # type: ignore[arg-type]
