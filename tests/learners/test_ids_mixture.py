"""Information-directed sampling on a mixture against a literal version, and its own laws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import lumpable as lb
from lumpable.learners.bmf import FactorThompson
from lumpable.learners.fitting import information
from lumpable.learners.ids_mixture import InformationMixture
from twins.agree import agree
from twins.gibbs import LiteralGibbs
from twins.stream import Stream

Weighted = list[tuple[float, list[float]]]
"""Draws of a context's means, with their weights."""


def literal_ratio(drawn: Weighted) -> tuple[list[float], list[float]]:
    """Return Delta and v by their definitions."""
    total, K = sum(w for w, _ in drawn), len(drawn[0][1])
    drawn = [(w / total, mu) for w, mu in drawn]
    best = [mu.index(max(mu)) for _, mu in drawn]
    mean = [sum(w * mu[j] for w, mu in drawn) for j in range(K)]
    regret = [sum(w * (max(mu) - mu[j]) for w, mu in drawn) for j in range(K)]
    gain = [0.0] * K
    for a in set(best):
        inside = [(w, mu) for (w, mu), arm in zip(drawn, best, strict=True) if arm == a]
        chance = sum(w for w, _ in inside)
        for j in range(K):
            given = sum(w * mu[j] for w, mu in inside) / chance
            gain[j] += chance * (given - mean[j]) ** 2
    return regret, gain


def ratio_at(q: float, regret: list[float], gain: list[float], j: int, k: int) -> float:
    lost, learnt = q * regret[j] + (1 - q) * regret[k], q * gain[j] + (1 - q) * gain[k]
    return lost**2 / learnt


class LiteralInformation(LiteralGibbs):
    """Draws of all groups' means, and the definitions, from a list of all that was told."""

    def __init__(self, S: int, K: int, most: int, sd: float, spread: float, M: int, seed: int):
        super().__init__(S, K, most, gaussian=False, sd=sd, weight=1 / most)
        self.spread, self.M, self.seed, self.stream = spread, M, seed, Stream(seed)
        self.due = S
        self.redraw(np.random.default_rng([seed, 0]))

    def shape(self, g: int, j: int) -> tuple[float, float]:
        """Parameters of the law of B_gj: of the normal, or of the beta law."""
        seen = self.rewards(self.members(self.z, g), j)
        n, s = len(seen) / self.spread**2, sum(seen) / self.spread**2
        if not self.gaussian:
            return 1 + s, 1 + n - s
        precision = 1 / self.prior[1] + n / self.sd**2
        mean = (self.prior[0] / self.prior[1] + s / self.sd**2) / precision
        return mean, 1 / math.sqrt(precision)

    def redraw(self, rng: np.random.Generator) -> None:
        self.B = [[[0.0] * self.M for _ in range(self.K)] for _ in range(self.r)]
        for g, j, m in itertools.product(range(self.r), range(self.K), range(self.M)):
            a, b = self.shape(g, j)
            self.B[g][j][m] = a + b * rng.standard_normal() if self.gaussian else rng.beta(a, b)

    def evidence(self, context: int, g: int) -> float:
        """ln P(own rewards | those of the others in g), one reward after the other."""
        total = 0.0
        for j in range(self.K):
            seen = self.rewards(self.members(self.z, g) - {context}, j)
            for y in self.rewards({context}, j):
                if self.gaussian:
                    mean, variance = self.normal(seen, self.prior)
                    total += stats.norm.logpdf(y, mean, math.sqrt(variance + self.sd**2))
                else:
                    success = (1 + sum(seen)) / (2 + len(seen))
                    total += math.log(success if y == 1 else 1 - success)
                seen = [*seen, y]
        return total

    def weighted(self, context: int) -> Weighted:
        """All draws of all groups with their weights."""
        logs = [
            math.log(1 / self.r + len(self.members(self.z, g) - {context}))
            + self.evidence(context, g)
            for g in range(self.r)
        ]
        own = [(j, y) for i, j, y in self.told if i == context]
        drawn: Weighted = []
        for g in range(self.r):
            chance = math.exp(logs[g] - max(logs))
            if chance <= 1e-6:
                continue
            fits = [0.0] * self.M
            if self.z[context] != g:
                fits = [
                    sum(self.log_likelihood(y, self.B[g][j][m]) for j, y in own)
                    for m in range(self.M)
                ]
            total = sum(math.exp(fit - max(fits)) for fit in fits)
            drawn += [
                (chance * math.exp(fits[m] - max(fits)) / total, [row[m] for row in self.B[g]])
                for m in range(self.M)
            ]
        return drawn

    def ask(self, context: int) -> int:
        self.stream.begin_choice(context)
        drawn = self.weighted(context)
        best = {mu.index(max(mu)) for w, mu in drawn if w > 0}
        if len(best) == 1:
            return best.pop()
        regret, gain = literal_ratio(drawn)
        found = []
        for j, k in itertools.combinations(range(self.K), 2):
            d, e = regret[j] - regret[k], gain[j] - gain[k]
            inner = regret[k] / d - 2 * gain[k] / e
            for q in (1.0, 0.0, inner):
                if 0 <= q <= 1:
                    found.append((ratio_at(q, regret, gain, j, k), j, k, q))
        _, j, k, q = min(found)
        return j if self.stream.uniform() < q else k

    def tell(self, context: int, arm: int, reward: float) -> None:
        self.told.append((context, arm, reward))
        self.stream.begin_update()
        changed = not self.gaussian and not 0 <= reward <= 1
        self.gaussian = self.gaussian or changed
        if not changed:
            g = self.z[context]
            a, b = self.shape(g, arm)
            for m in range(self.M):
                self.B[g][arm][m] = (
                    a + b * self.stream.normal() if self.gaussian else self.stream.beta(a, b)
                )
        self.stream.told()
        if changed or len(self.told) >= self.due:
            t = len(self.told)
            rng = np.random.default_rng([self.seed, t])
            self.search(int(rng.integers(1, self.r + 1)), rng)
            self.redraw(rng)
            self.due = t + max(self.S, math.ceil(0.05 * t))


@pytest.mark.parametrize(
    ("noise", "most", "spread"),
    [("bernoulli", 3, 1.0), ("bernoulli", 2, 0.5), ("gaussian", 3, 0.7)],
)
def test_decisions_are_the_literal_ones(noise: str, most: int, spread: float) -> None:
    world = lb.worlds.lumpable(6, 3, 2, noise=noise, sd=0.3, seed=3)
    learner = InformationMixture(6, 3, most=most, sd=0.3, spread=spread, draws=12, seed=8)
    literal = LiteralInformation(6, 3, most, 0.3, spread, 12, 8)
    agree(learner, literal, world, rounds=200)
    assert learner.state.group.tolist() == literal.z
    assert learner.state.gaussian[0] == (noise == "gaussian")
    assert np.allclose(learner.state.B, literal.B, rtol=1e-9)


def made_up(seed: int, blocks: int, K: int, M: int) -> tuple[list[float], list[float]]:
    """Return Delta and v of random weighted draws, compiled; compared with the definitions."""
    rng = np.random.default_rng(seed)
    B, weight = rng.random((blocks, K, M)), rng.random((blocks, M))
    weight[0] = 0.0
    weight /= weight.sum()
    best, top = np.zeros((blocks, M), dtype=np.int64), np.zeros((blocks, M))
    mass, part, regret, gain = np.zeros((4, K))
    information.find_best(B, weight, best, top, mass)
    information.inform(B, weight, best, top, mass, part, regret, gain)
    drawn = [(float(weight[g, m]), B[g, :, m].tolist()) for g in range(1, blocks) for m in range(M)]
    expected = literal_ratio(drawn)
    assert regret.tolist() == pytest.approx(expected[0])
    assert gain.tolist() == pytest.approx(expected[1])
    return regret.tolist(), gain.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_no_way_to_draw_an_arm_has_a_smaller_ratio(seed: int) -> None:
    """What the paper shows: two arms are enough. 20,000 random p over all arms, near corners
    and not, none below what the pair has; and the arms are drawn with the pair's shares. Each
    pair's share is the best of a grid of a thousand."""
    regret, gain = made_up(seed, 3, 5, 20)
    found, arms = math.inf, (0, 0)
    lost, learnt = np.array(regret), np.array(gain)
    for j, k in itertools.combinations(range(5), 2):
        q = information.mixing(lost, learnt, j, k)
        value = information.ratio(lost, learnt, j, k, q)
        others = [ratio_at(grid / 1000, regret, gain, j, k) for grid in range(1001)]
        assert value <= min(others) + 1e-12
        if value < found:
            found, arms, share = value, (j, k), q
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.3] * 5, 20_000)
    assert found <= ((p @ lost) ** 2 / (p @ learnt)).min() + 1e-12
    stream = Stream(seed)
    count = 0
    for _ in range(4000):
        stream.told()
        stream.begin_choice(0)
        arm = information.two_arms(lost, learnt, stream.clock)
        assert arm in arms
        count += arm == arms[0]
    assert stats.binomtest(count, 4000, min(max(share, 1e-9), 1.0)).pvalue > 1e-9


def test_equal_regrets_go_to_the_more_informative_arm_and_equal_gains_to_the_cheaper() -> None:
    same, more = np.array([0.1, 0.1]), np.array([0.2, 0.3])
    assert information.mixing(same, more, 0, 1) == 0.0
    assert information.mixing(same, more, 1, 0) == 1.0
    assert information.mixing(more, same, 0, 1) == 1.0
    assert information.mixing(more, same, 1, 0) == 0.0
    assert information.mixing(more, more[::-1].copy(), 0, 1) == 1.0
    assert information.mixing(more, more[::-1].copy(), 1, 0) == 0.0


def test_without_information_the_least_regret_is_played() -> None:
    stream = Stream(1)
    stream.begin_choice(0)
    assert information.two_arms(np.array([0.3, 0.1, 0.2]), np.zeros(3), stream.clock) == 1


def test_an_arm_that_tells_groups_apart_is_played_although_it_is_never_the_best() -> None:
    """What Thompson sampling cannot do.

    Two groups that differ in which of arms 0 and 1 is good, .55 or .45, and in arm 2, .5 or 0,
    which is never the best. For a new context Delta = .05, .05, .3 and v = .0025, .0025, .0625, so
    that arm 2 has the share .05 / .25 - 2 (.0025 / .06) = .117 of 2,000 plays; binomial, p < 1e-9.
    """
    learner = InformationMixture(41, 3, most=2, draws=200, seed=1)
    state = learner.state
    state.group[20:] = 1
    state.plays[:40], state.plays[40] = 2000, 0
    state.total[:20] = 2000 * np.array([0.55, 0.45, 0.5])
    state.total[20:40] = 2000 * np.array([0.45, 0.55, 0.0])
    learner.refit()
    count = 0
    for tells in range(2000):
        learner.clock[1] = tells
        count += learner.ask(40) == 2
    assert stats.binomtest(count, 2000, 0.05 / 0.25 - 2 * 0.0025 / 0.06).pvalue > 1e-9


def test_groups_nobody_needs_stay_empty() -> None:
    """Four groups, 60 rounds a context: eight are allowed, and nearly all contexts are in four."""
    world = lb.worlds.lumpable(100, 20, 4, noise="gaussian", sd=0.2, seed=1)
    learner = InformationMixture(100, 20, sd=0.2, seed=1)
    run = lb.play(learner, world, horizon=6000, seed=1)
    assert sorted(np.bincount(learner.labels(), minlength=8))[:4] == [0, 0, 0, 0]
    ari = run.rows()[-1].ari
    assert ari is not None
    assert ari > 0.9
    assert world.loss(learner.policy()) < 0.02


@pytest.mark.parametrize("worlds", [3, pytest.param(4, marks=pytest.mark.nightly)])
def test_it_needs_less_exploration_than_factors(worlds: int) -> None:
    """What groups and information are for. (S, K, r) = (100, 20, 4), 60 rounds a context, as they
    come; over the worlds at least 5 standard errors below, and below seven tenths of the regret."""
    regret = []
    for seed in range(worlds):
        world = lb.worlds.lumpable(100, 20, 4, noise="bernoulli", seed=seed)
        learners = InformationMixture(100, 20, seed=seed), FactorThompson(100, 20, seed=seed)
        runs = [lb.play(each, world, horizon=6000, seed=seed, at=[]) for each in learners]
        regret.append([run.regret for run in runs])
    ours, factors = np.array(regret).T
    error = np.std(factors - ours, ddof=1) / math.sqrt(worlds)
    assert (factors - ours).mean() > 5 * error
    assert ours.mean() < 0.7 * factors.mean()


def test_a_reward_outside_the_unit_interval_changes_the_model_at_once() -> None:
    learner = InformationMixture(5, 3, seed=1)
    learner.tell(0, 0, 0.5)
    assert learner.state.gaussian[0] == 0
    learner.tell(0, 1, 1.5)
    assert learner.state.gaussian[0] == 1
    assert learner.state.due[0] == 2 + 5


def test_many_groups_are_no_trouble() -> None:
    """Shares of a thousand groups are drawn as tiny numbers."""
    learner = InformationMixture(3, 2, most=1000, draws=2, seed=1)
    for t in range(30):
        learner.tell(t % 3, t % 2, float(t % 2))
    assert learner.policy().tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", ["most", "sd", "spread", "draws", "sweeps"])
def test_parameters_are_checked(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        InformationMixture(4, 3, **{name: 0})
