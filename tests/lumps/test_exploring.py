"""Finding a policy: losses drawn as quadrature and a literal version do, choices and stops."""

from __future__ import annotations

import pickle
from typing import TypeVar

import numpy as np
import pytest
from scipy import special, stats

import lumpable as lb
from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.learners.engine.clock import seeded
from lumpable.lumps.core.learning import FIRST_FIT, Levels
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.core.state import BETWEEN, KAPPA, M0, OWN, REAL, State
from lumpable.lumps.core.stopping import (
    CAUTION,
    good_enough,
    loss,
    own_strengths,
    wider_beliefs,
)
from lumpable.lumps.core.top_two import TRIES, TopTwo
from lumpable.lumps.model.strengths import OWN_STRENGTHS, USUAL_OWN_STRENGTH

CHANCE = 1e-9
"""No test fails more often than this by chance, over all seeds."""
CELLS = 160
EDGES = np.linspace(0, 1, CELLS + 1)
GRID = (EDGES[1:] + EDGES[:-1]) / 2
FEW = ((0, 1.0), (0, 0.0), (0, 1.0), (1, 0.0), (1, 1.0), (0, 1.0))
"""Arms and rewards, too few for a fit."""
AnyLevels = TypeVar("AnyLevels", bound=Levels)
WORTH = ("worth_pulls", "worth_total", "hold")
APART = [[0.9, 0.1, 0.5], [0.1, 0.9, 0.5]]
"""Means of two groups that are found soon."""


def told(learner: AnyLevels, world: lb.World, rounds: int, seed: int = 1) -> AnyLevels:
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        context = int(rng.integers(world.contexts))
        arm = learner.ask(context)
        learner.tell(context, arm, world.reward(context, arm, rng))
    return learner


def few_told(learner: AnyLevels) -> AnyLevels:
    for arm, reward in FEW:
        learner.tell(0, arm, reward)
    assert learner.last_fit is None
    return learner


# --- Draws of the loss ----------------------------------------------------------------------


def strength_chances(n: FloatVector, s: FloatVector) -> FloatVector:
    """P(m0 | rewards of a single context) before any fit: theta_j ~ Beta(1, 1)."""
    logs = []
    for m0 in OWN_STRENGTHS:
        a = 0.5 / (1 / m0 + 1 / 2)  # what is not known about theta adds to the spread
        cells = special.betaln(a + s, a + n - s) - special.betaln(a, a)
        prior = 0.0 if np.isinf(m0) else -((np.log(m0 / USUAL_OWN_STRENGTH) / 2) ** 2) / 2
        logs.append(cells[n >= 2].sum() + prior)
    chance: FloatVector = np.exp(np.array(logs) - max(logs))
    chance[chance < 1e-3 * chance.sum()] = 0
    chance /= chance.sum()
    return chance


def own_mean(n: float, s: float, m0: float, less: float) -> FloatVector:
    """P(mu) on the grid: theta by Beta(1, 1) and discounted rewards, mu around it."""
    weight = 1.0 if np.isinf(m0) else (1 + m0) / (n + m0)
    a, b = 1 + weight * s, 1 + weight * (n - s)
    theta: FloatVector = np.diff(stats.beta(less * a, less * b).cdf(EDGES))
    if np.isinf(m0):
        return theta
    mean, x = (m0 * GRID + s) / (m0 + n), less * (m0 + n)
    law = stats.beta(mean * x, (1 - mean) * x)
    mu: FloatVector = np.diff(law.cdf(EDGES[:, None]), axis=0) @ theta
    return mu


def test_strengths_are_as_likely_as_their_beta_binomials() -> None:
    learner = few_told(ThreeLevels(1, 2))
    counts = learner.counts()
    np.testing.assert_allclose(
        own_strengths(learner, counts, np.ones((1, 1))), strength_chances(counts.n, counts.s)
    )


@pytest.mark.parametrize("caution", [1.0, 2.0])
def test_losses_of_one_context_are_those_of_quadrature(caution: float) -> None:
    learner = few_told(ThreeLevels(1, 2))
    n, s = np.array([4.0, 2.0]), np.array([3.0, 1.0])
    joint: FloatMatrix = np.zeros((CELLS, CELLS))
    for m0, chance in zip(OWN_STRENGTHS, strength_chances(n, s), strict=True):
        if chance > 0:
            first, second = (own_mean(n[j], s[j], m0, caution**-2) for j in (0, 1))
            joint += chance * first[:, None] * second
    assert learner.policy().tolist() == [0]
    lost = np.maximum(GRID - GRID[:, None], 0.0)
    draws = loss(learner, 20_000, seed=1, caution=caution)
    for edge in (0.0, 0.05, 0.1, 0.2, 0.4):
        exact = joint[lost > edge + 1e-9].sum()
        # the grid moves an edge by at most two cells
        low, high = (joint[lost > edge + d / CELLS].sum() for d in (2, -2))
        got = np.mean(draws > edge)
        slack = 6.2 * np.sqrt(exact * (1 - exact) / len(draws))
        assert low - slack <= got <= high + slack, edge


def literal_losses(learner: Levels, draws: int, seed: int, caution: float) -> FloatVector:
    """Draw the loss from what is believed, one number at a time."""
    rng, policy, found = np.random.default_rng(seed), learner.policy(), []
    share = (learner.state.visits + 1) / (learner.state.visits + 1).sum()
    versions = list(wider_beliefs(learner, caution))
    chances = np.array([chance for chance, _ in versions])
    for _ in range(draws):
        state = versions[rng.choice(len(versions), p=chances)][1]
        theta = literal_means(state, rng)
        lost = 0.0
        for i in range(learner.contexts):
            weight = np.exp(state.log_weight[i] - state.log_weight[i].max())
            g = rng.choice(len(weight), p=weight / weight.sum())
            mean = theta[g].copy()
            m0 = state.value[OWN]
            for j in range(learner.arms if np.isfinite(m0) else 0):
                cells = range(state.start[i], state.start[i] + state.length[i])
                n = sum(state.pulls[c] for c in cells if state.arm[c] == j)
                s = sum(state.total[c] for c in cells if state.arm[c] == j)
                noise = state.noise[g, j] if state.value[REAL] else None
                mean[j] = literal_around((m0 * mean[j] + s) / (m0 + n), m0 + n, noise, rng)
            lost += share[i] * (mean.max() - mean[policy[i]])
        found.append(lost)
    return np.array(found)


def literal_around(mean: float, x: float, noise: float | None, rng: np.random.Generator) -> float:
    """Draw what x rewards tell about a mean: of real ones with this noise, or of coins."""
    if noise is not None:
        return float(rng.normal(mean, np.sqrt(noise / x)))
    mean = min(max(mean, 1e-4), 1 - 1e-4)
    return rng.beta(mean * x, (1 - mean) * x)


def literal_means(state: State, rng: np.random.Generator) -> FloatMatrix:
    """Draw p_j, then theta_gj around it."""
    M, K = state.group_pulls.shape
    theta = np.empty((M, K))
    for j in range(K):
        if state.value[REAL]:
            p = rng.normal(state.worth_centre[j], np.sqrt(1 / state.hold[j]))
            for g in range(M):
                noise = state.noise[g, j]
                kappa = noise / state.value[BETWEEN]
                x = state.worth_pulls[g, j] + kappa
                mean = (state.worth_total[g, j] + kappa * p) / x
                theta[g, j] = literal_around(mean, x, noise, rng)
            continue
        kappa, p = state.value[KAPPA], state.centre[j]
        if np.isfinite(state.prior_weight[j]):
            p = literal_around(p, state.prior_weight[j], None, rng)
        for g in range(M):
            x = state.group_pulls[g, j] + kappa
            theta[g, j] = literal_around((state.group_total[g, j] + kappa * p) / x, x, None, rng)
    return theta


@pytest.mark.parametrize("noise", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("deviation", [0.0, 0.2])
def test_losses_follow_the_literal_law(noise: str, deviation: float) -> None:
    world = lb.worlds.lumpable(
        8, 3, 2, means=APART, noise=noise, sd=0.3, deviation=deviation, seed=1
    )
    learner = told(TopTwo(8, 3, seed=1), world, 250)
    assert learner.last_fit is not None
    assert learner.last_fit.groups > 1
    literal = literal_losses(learner, 400, 2, CAUTION)
    assert stats.ks_2samp(loss(learner, 4000, seed=3), literal).pvalue > CHANCE


def test_caution_leaves_means_and_multiplies_variances() -> None:
    """Of real rewards exactly; everything believed counts 1 / caution^2 as much."""
    world = lb.worlds.lumpable(8, 3, 2, means=APART, sd=0.3, seed=1)
    learner = told(TopTwo(8, 3, seed=1), world, 250)
    assert np.isfinite(learner.state.prior_weight).all()
    for (_, plain), (_, wide) in zip(
        wider_beliefs(learner, 1.0), wider_beliefs(learner, 3.0), strict=True
    ):
        for name in ("group_pulls", "group_total", "prior_weight", "pulls", "total", *WORTH):
            np.testing.assert_allclose(9 * getattr(wide, name), getattr(plain, name))
        strengths = [KAPPA, M0, OWN]
        np.testing.assert_allclose(9 * wide.value[strengths], plain.value[strengths])
        assert wide.value[BETWEEN] == pytest.approx(9 * plain.value[BETWEEN])
        for name in ("noise", "worth_centre"):
            np.testing.assert_array_equal(getattr(wide, name), getattr(plain, name))


def test_drawing_a_loss_changes_nothing() -> None:
    world = lb.worlds.lumpable(6, 3, 2, noise="bernoulli", seed=2)
    learner = told(TopTwo(6, 3, seed=1), world, 100)
    before = pickle.dumps(learner)
    np.testing.assert_array_equal(loss(learner, seed=4), loss(learner, seed=4))
    for mine, kept in zip(learner.state, pickle.loads(before).state, strict=True):
        np.testing.assert_array_equal(mine, kept)


# --- The choice -----------------------------------------------------------------------------


def test_plays_the_best_arm_of_a_draw_or_another() -> None:
    """P(j) = p_j / 2 + sum over l != j of p_l / 2 x p_j / (1 - p_l), p_j = P(j is best)."""
    asked, many = np.zeros(3), 3000
    for seed in range(many):
        learner = few_told(TopTwo(1, 3, seed=seed))
        asked[learner.ask(0)] += 1
    state, n, s = learner.state, np.array([4.0, 2.0, 0.0]), np.array([3.0, 1.0, 0.0])
    kappa, m0 = state.value[KAPPA], state.value[M0]
    x, y = state.group_pulls[0] + kappa, m0 + n
    theta = (state.group_total[0] + kappa * state.centre) / x
    mean = (m0 * theta + s) / y
    variance = (m0 / y) ** 2 * theta * (1 - theta) / (x + 1) + mean * (1 - mean) / (y + 1)
    draws = np.random.default_rng(1).normal(mean, np.sqrt(variance), (10**6, 3))
    p = np.bincount(np.argmax(draws, axis=1), minlength=3) / 10**6
    second = p * ((p / (1 - p)).sum() - p / (1 - p))
    chance = (p + second) / 2
    assert stats.chisquare(asked, many * chance / chance.sum()).pvalue > CHANCE


@pytest.mark.parametrize("alike", [False, True])
def test_plays_the_best_arm_of_a_draw_of_real_rewards_or_another(alike: bool) -> None:
    """The same with normal laws: each arm has its own noise, contexts deviate or do not."""
    learner, arms = TopTwo(2, 3, seed=1), ((0.5, 0.1), (0.3, 0.1), (0.0, 2.0))
    for t in range(20):
        for j, (centre, away) in enumerate(arms):
            learner.tell(0, j, centre + (away if t % 2 else -away))
    state = learner.state
    m0 = state.value[OWN] = np.inf if alike else 5.0
    kappa = state.noise[0] / state.value[BETWEEN]
    x = state.worth_pulls[0] + kappa
    mean = (state.worth_total[0] + kappa * state.worth_centre) / x
    variance = state.noise[0] / x + (kappa / x) ** 2 / state.hold
    if not alike:
        counts, total = learner.counts(), np.zeros(3)
        total[state.arm[:3]] = state.total[:3]
        y = m0 + counts.n
        mean, part = (m0 * mean + total) / y, (m0 / y) ** 2
        variance = part * variance + state.noise[0] / y
    assert state.noise[0, 2] > 4.0 * state.noise[0, :2].max()
    asked, many = np.zeros(3), 1000
    for seed in range(many):
        learner.become(learner.state, clock=seeded(seed))
        asked[learner.ask(0)] += 1
    draws = np.random.default_rng(1).normal(mean, np.sqrt(variance), (10**6, 3))
    p = np.bincount(np.argmax(draws, axis=1), minlength=3) / 10**6
    found = p * (1 - p**TRIES) / (1 - p)  # the leader is played if no other arm turns up
    chance = (p + p * (found.sum() - found) + p ** (TRIES + 1)) / 2
    assert stats.chisquare(asked, many * chance / chance.sum()).pvalue > CHANCE


def test_plays_only_arms_that_are_allowed() -> None:
    world = lb.worlds.lumpable(5, 4, 2, noise="bernoulli", seed=3)
    learner = TopTwo(5, 4, seed=1)
    learner.state.allowed[:] = False, True, False, True
    rng = np.random.default_rng(1)
    for t in range(200):
        arm = learner.ask(t % 5)
        assert arm in (1, 3)
        learner.tell(t % 5, arm, world.reward(t % 5, arm, rng))
    learner.state.allowed[:] = False, True, False, False
    np.testing.assert_array_equal(loss(learner), 0.0)


# --- The stop -------------------------------------------------------------------------------


def rounds_to_stop(learner: TopTwo, world: lb.World, most: int, seed: int = 1) -> int | None:
    rng = np.random.default_rng(seed)
    while learner.tells < most:
        context = int(rng.integers(world.contexts))
        arm = learner.ask(context)
        learner.tell(context, arm, world.reward(context, arm, rng))
        if learner.finished:
            return learner.tells
    return None


def test_stops_at_the_first_fit_where_nothing_can_be_lost() -> None:
    learner = TopTwo(3, 1, epsilon=1e-9, seed=1)
    world = lb.worlds.from_matrix([[0.5], [0.2], [0.9]], noise="bernoulli")
    stop = rounds_to_stop(learner, world, 100)
    assert stop == FIRST_FIT
    np.testing.assert_array_equal(loss(learner), 0.0)


def test_stops_on_equal_arms_but_never_tells_them_apart() -> None:
    """Whatever it says on two equal arms is right; with an epsilon near 0 it cannot know that."""
    world = lb.worlds.from_matrix(np.full((3, 2), 0.5), noise="bernoulli")
    assert rounds_to_stop(TopTwo(3, 2, epsilon=0.1, seed=1), world, 3000) is not None
    assert rounds_to_stop(TopTwo(3, 2, epsilon=1e-6, seed=1), world, 1000) is None


def test_stops_with_a_good_policy_where_that_is_easy() -> None:
    world = lb.worlds.from_matrix(np.tile([0.05, 0.95, 0.05], (4, 1)), noise="bernoulli")
    learner = TopTwo(4, 3, epsilon=0.05, seed=1)
    assert rounds_to_stop(learner, world, 3000) is not None
    assert learner.policy().tolist() == [1, 1, 1, 1]


def test_does_not_stop_before_it_knows_anything() -> None:
    learner = TopTwo(4, 3, seed=1)
    assert not learner.finished
    assert not good_enough(learner, 0.05, 0.05)
    assert good_enough(learner, 1.0, 0.05)


def errors(runs: int, size: tuple[int, int, int], first: int) -> int:
    """Count stops with too large a loss, in worlds of four kinds."""
    wrong, (S, K, r) = 0, size
    for seed in range(first, first + runs):
        kind = seed % 4
        world = (
            lb.worlds.from_matrix(np.random.default_rng(seed).random((S, K)), noise="bernoulli")
            if kind == 0
            else lb.worlds.lumpable(
                S, K, (1, r, r)[kind - 1], deviation=0.1 * (kind == 3), noise="bernoulli", seed=seed
            )
        )
        learner = TopTwo(S, K, epsilon=0.1, delta=0.1, seed=seed)
        assert rounds_to_stop(learner, world, 20_000, seed) is not None
        wrong += world.loss(learner.policy()) > 0.1
    return wrong


def test_is_wrong_at_most_as_often_as_it_says() -> None:
    assert stats.binom.sf(errors(12, (8, 3, 2), 100) - 1, 12, 0.1) > CHANCE


@pytest.mark.nightly
def test_is_wrong_at_most_as_often_as_it_says_in_many_runs() -> None:
    assert stats.binom.sf(errors(400, (16, 5, 3), 1000) - 1, 400, 0.1) > CHANCE


def test_same_seed_same_stop_and_so_does_a_copy() -> None:
    world = lb.worlds.lumpable(6, 3, 2, noise="bernoulli", seed=4)
    first, second = (TopTwo(6, 3, epsilon=0.1, seed=5) for _ in range(2))
    told(first, world, 60)
    told(second, world, 60)
    copy = pickle.loads(pickle.dumps(second))
    stops = [rounds_to_stop(learner, world, 20_000) for learner in (first, copy)]
    assert stops[0] == stops[1] is not None


@pytest.mark.parametrize(
    ("name", "value"),
    [("epsilon", 0.0), ("epsilon", np.nan), ("delta", 0.0), ("delta", 1.0), ("delta", "5%")],
)
def test_refuses_what_is_no_accuracy(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{name}: expected .* got {value!r}"):
        TopTwo(2, 2, **{name: value})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"{name}: expected"):
        good_enough(ThreeLevels(2, 2), **{"epsilon": 0.1, "delta": 0.1, name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "value"), [("draws", 0), ("seed", -1), ("caution", 0.0)])
def test_refuses_what_is_no_number_of_draws(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name}: expected"):
        loss(ThreeLevels(2, 2), **{name: value})  # type: ignore[arg-type]
