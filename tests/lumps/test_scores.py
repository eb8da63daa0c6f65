"""Scores of real rewards, and how much less than coins they vary: against brute force."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from counts_made import (
    alike,
    blocks,
    counted,
    drawn,
    equal,
    listed,
    mapped,
    rewarded,
    same_order,
    together,
)

from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.lumps.core.batches import tell_many
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.core.steps import score as compiled
from lumpable.lumps.model import fitted, search, variances
from lumpable.lumps.model.counts import Counts
from lumpable.lumps.model.dispersion import (
    LEAST_PHI,
    PRIOR_FREEDOM,
    arm_dispersion,
    context_dispersion,
    group_dispersion,
    tempered,
)
from lumpable.lumps.model.scores import FENCE, KNOTS, LIGHT, MIDDLE, OUTER, Score, scored, scoring
from lumpable.lumps.model.variances import DOUBT, FEW, LEAST_PART, draw_together

Draws = npt.NDArray[np.float64]
SIZE = (20, 6, 5)


def normal(rng: np.random.Generator) -> Draws:
    return rng.normal(3.0, 2.0, SIZE)


def exponential(rng: np.random.Generator) -> Draws:
    return np.round(rng.exponential(1.0, SIZE), 2)


def purchases(rng: np.random.Generator) -> Draws:
    """Mostly 0, and a few amounts."""
    return np.where(rng.random(SIZE) < 0.2, rng.lognormal(0.0, 1.0, SIZE), 0.0)


def stars(rng: np.random.Generator) -> Draws:
    return rng.integers(1, 6, SIZE).astype(np.float64)


LAWS = [normal, exponential, purchases, stars]


# --- The score ----------------------------------------------------------------------------------


def quantile(rewards: FloatVector, level: float) -> float:
    """Return the least reward that at least this part of all does not exceed."""
    for reward in np.unique(rewards):
        if (rewards <= reward).mean() >= level - 1e-12:
            return float(reward)
    raise AssertionError


def brute_scores(rewards: FloatVector) -> list[float]:
    """Return the score of each reward among all, which are not nearly all equal."""
    low, high = quantile(rewards, OUTER), quantile(rewards, 1.0 - OUTER)

    def rank(y: float) -> float:
        return float((rewards < y).mean() + 0.5 * (rewards == y).mean())

    middle = quantile(rewards, MIDDLE[1]) - quantile(rewards, MIDDLE[0])
    if middle >= LIGHT * (high - low):
        parts = [(y - low) / (high - low) for y in np.unique(rewards)]
    else:
        ends = rank(low), rank(high)
        parts = [(rank(y) - ends[0]) / (ends[1] - ends[0]) for y in np.unique(rewards)]
    return [min(max(float(part), 0.0), 1.0) for part in parts]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("seed", range(2))
def test_a_score_is_the_place_between_the_outer_parts_or_the_middle_rank(
    law: Any, seed: int
) -> None:
    counts = drawn(law(np.random.default_rng(seed)))
    rewards, score = listed(counts)[2], scoring(counts)
    each = np.unique(rewards)
    expected = brute_scores(rewards)
    assert score.of(each) == pytest.approx(expected, abs=1.0 / KNOTS)
    if len(each) <= KNOTS or len(score.knot) == 2:
        assert score.of(each) == pytest.approx(expected, abs=1e-12)
    assert law is normal or (len(score.knot) == 2) == (law is stars)
    low, high = quantile(rewards, OUTER), quantile(rewards, 1.0 - OUTER)
    assert score.low == pytest.approx(low - FENCE * (high - low))
    assert score.high == pytest.approx(high + FENCE * (high - low))


def test_many_ranks_are_kept_at_few_knots() -> None:
    """Between two knots a rank is off by at most the step from one to the next."""
    rewards = np.random.default_rng(3).exponential(1.0, (50, 10, 10))
    score, each = scoring(drawn(rewards)), np.sort(rewards.ravel())
    assert 2 < len(score.knot) <= KNOTS
    low, high = np.searchsorted(each, score.knot[[0, -1]])
    exact = np.clip((np.arange(len(each)) - low) / (high - low), 0.0, 1.0)
    assert np.abs(score.of(each) - exact).max() <= 1.0 / (KNOTS - 1)
    assert (np.diff(score.knot) > 0).all()
    assert (np.diff(score.grade) > 0).all()
    assert score.grade[[0, -1]].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("value", [0.5, -3.0, 1e9])
def test_equal_rewards_say_nothing(value: float) -> None:
    score = scoring(drawn(np.full(SIZE, value)))
    assert score.of(np.array([value, 0.0, 1e12])).tolist() == [0.5, 0.5, 0.5]
    assert (score.low, score.high) == (value, value)


def test_rare_rewards_have_the_range_that_they_need() -> None:
    """Two of a thousand are not 0: no outer half percent may make all rewards one."""
    rewards = np.zeros((10, 10, 10))
    rewards[3, 4, 5], rewards[7, 8, 9] = 20.0, 30.0
    score = scoring(drawn(rewards))
    graded = score.of(np.array([0.0, 20.0, 30.0]))
    assert graded[0] == 0.0
    assert 0.0 < graded[1] < graded[2] == 1.0
    assert score.high >= 30.0


@pytest.mark.parametrize("seed", range(3))
def test_compiled_scores_are_the_same(seed: int) -> None:
    """At knots, between and beyond them; with one knot, two and many."""
    rng = np.random.default_rng(seed)
    for knots in (1, 2, 3, 100):
        knot = np.sort(rng.normal(size=knots)) * 10.0 ** rng.integers(-6, 7)
        score = Score(knot, np.sort(rng.random(knots)), -math.inf, math.inf)
        between = knot[0] + (knot[-1] - knot[0]) * rng.random(200)
        rewards = np.concatenate([knot, between, knot - 1.0, 1e9 * knot, [0.0, 1.0]])
        got = [compiled(score.knot, score.grade, float(y)) for y in rewards]
        assert got == pytest.approx(score.of(rewards), abs=1e-12)


# --- Coins beside a few wild rewards --------------------------------------------------------------


@pytest.mark.parametrize("wild", [-1.0, 0.5, 1000.0, 1e9])
@pytest.mark.parametrize("times", [1, 13])
def test_coins_stay_coins_beside_wild_rewards(wild: float, times: int) -> None:
    """0 and 1 are their own scores, to the bit, and the groups are those of the coins alone."""
    rng, group = np.random.default_rng(4), np.arange(60) % 3
    coins = rewarded(blocks(3, 60), 8, None, seed=1)
    context, arm, reward = listed(coins)
    more = rng.integers([60, 9], size=(times, 2))
    counts = counted(
        np.append(context, more[:, 0]), np.append(arm, more[:, 1]),
        np.append(reward, np.full(times, wild)), 9,
    )  # fmt: skip
    score = scoring(counts)
    assert score.of(np.array([0.0, 1.0])).tolist() == [0.0, 1.0]
    assert score.of(np.array([wild]))[0] == min(max(wild, 0.0), 1.0)
    plain, fit = fitted.fit(coins), fitted.fit(counts)
    assert fit.groups == plain.groups == 3
    assert together(fit) == pytest.approx(alike(group), abs=1e-3)
    assert together(plain) == pytest.approx(alike(group), abs=1e-3)
    assert fit.scale is not None
    assert fit.scale.phi.min() > 0.9  # they vary as coins do
    means = plain.means[:, same_order(plain, fit)]
    assert np.abs(fit.scale.worth.means - means).max() < 0.1


def test_a_wild_reward_counts_as_the_fence() -> None:
    """In what was summed, in what is believed, and in what comes after the fit."""
    rng = np.random.default_rng(5)
    learner = ThreeLevels(30, 4, seed=1)
    at = rng.integers([30, 4], size=(3000, 2))
    tell_many(learner, at[:, 0], at[:, 1], rng.normal(0.0, 1.0, 3000), np.ones(3000, dtype=int))
    before = learner.posterior_means(np.arange(30))
    for reward in (1e9, -1e9, 1e9):
        learner.tell(3, 2, reward)
    assert learner.last_fit is not None
    assert learner.last_fit.scale is not None
    high = learner.last_fit.scale.score.high
    assert high < 30.0
    learner.next_fit = learner.tells
    learner.refit()
    after, score = learner.posterior_means(np.arange(30)), learner.last_fit.scale.score
    assert np.abs(after - before).max() < 1.0
    counts = learner.counts()
    cells = scored(counts, score)
    total = np.zeros(len(counts.n))
    key = 4 * counts.context[counts.row] + counts.arm
    for i, j, y in zip(*listed(counts), strict=True):
        total[key == 4 * i + j] += min(max(y, score.low), score.high)
    assert cells.s == pytest.approx(total)


@pytest.mark.parametrize("share", [0.003, 0.006, 0.01, 0.02, 0.05])
def test_rare_amounts_are_fenced_among_themselves(share: float) -> None:
    """The outer half percent of all rewards would begin within the usual purchases."""
    rng = np.random.default_rng(6)
    size = (200, 10, 25)
    rewards = np.where(rng.random(size) < share, rng.lognormal(3.0, 1.0, size), 0.0)
    score, amounts = scoring(drawn(rewards)), rewards[rewards > 0.0]
    assert (amounts > score.high).mean() <= OUTER
    assert score.high >= (1.0 + FENCE) * np.quantile(amounts, 0.95)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.5])
def test_beside_few_ones_others_are_wild_all_the_same(share: float) -> None:
    rng = np.random.default_rng(7)
    rewards = (rng.random((200, 10, 25)) < share).astype(np.float64)
    rewards[:13, 0, 0] = 1000.0
    assert scoring(drawn(rewards)).high == 1.0 + FENCE


# --- Cells ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
def test_cells_hold_sums_and_squares_of_scores_and_of_fenced_rewards(law: Any) -> None:
    rng = np.random.default_rng(6)
    rewards = law(rng)
    rewards[0, 0, 0] = 1e7
    rewards[1, 1, :3] = 0.0, 1.0, 1.0
    counts = drawn(rewards)
    score = scoring(counts)
    cells = scored(counts, score)
    graded = np.interp(rewards, score.knot, score.grade).reshape(-1, SIZE[2])
    fenced = np.clip(rewards, score.low, score.high).reshape(-1, SIZE[2])
    assert cells.n.tolist() == [float(SIZE[2])] * (SIZE[0] * SIZE[1])
    assert cells.u == pytest.approx(graded.sum(axis=1))
    assert cells.u_squares == pytest.approx(SIZE[2] * graded.var(axis=1), abs=1e-12)
    assert cells.s == pytest.approx(fenced.sum(axis=1))
    assert cells.s_squares == pytest.approx(SIZE[2] * fenced.var(axis=1), rel=1e-9, abs=1e-9)
    away = (fenced - fenced.mean()) ** 2
    kurtosis = (away**2).mean() / away.mean() ** 2
    assert cells.telling == pytest.approx(min(1.0, 2.0 / (kurtosis - 1.0)))


def test_rewards_of_two_values_are_coins_to_the_bit() -> None:
    """With phi = 1 tempered coins are the coins themselves, and so is their fit."""
    coins = rewarded(blocks(3, 40), 6, None, seed=2)
    prices = mapped(coins, lambda y: 2.0 + 3.0 * y)
    cells = scored(prices, scoring(prices))
    same = tempered(prices, cells, np.ones(prices.arms))
    assert equal(same, coins)
    assert equal(search.fit(same), search.fit(coins))
    half = tempered(prices, cells, np.full(prices.arms, 0.5))
    assert np.array_equal(half.n, 2.0 * coins.n)
    assert np.array_equal(half.s, 2.0 * coins.s)
    fit = fitted.fit(prices)
    assert fit.scale is not None
    assert together(fit) == pytest.approx(together(fitted.fit(coins)), abs=1e-3)


# --- Dispersion -----------------------------------------------------------------------------------


def literal_draw(
    raw: Sequence[float], free: Sequence[float], each: Sequence[float], towards: Sequence[float]
) -> list[float]:
    """Draw variances together, one at a time."""
    known = [k for k in range(len(raw)) if free[k] > FEW]
    if len(known) < 2:
        return list(towards)
    top = sum(
        ((raw[k] / towards[k] - 1) ** 2 - each[k] / free[k]) * free[k] / each[k] for k in known
    )
    true = max(0.0, top / sum(free[k] / each[k] for k in known))
    drawn_to = list(towards)
    for k in known:
        part = true / (true + each[k] / free[k])
        drawn_to[k] *= max(1 + part * (raw[k] / towards[k] - 1), LEAST_PART)
    return drawn_to


def literal_cells(counts: Counts) -> dict[tuple[int, int], FloatVector]:
    """Return the scores of each cell."""
    score, kept = scoring(counts), {}
    context, arm, reward = listed(counts)
    for i, j in {(int(i), int(j)) for i, j in zip(context, arm, strict=True)}:
        kept[i, j] = score.of(reward[(context == i) & (arm == j)])
    return kept


def literal_dispersion(counts: Counts) -> list[float]:
    """Return phi of each arm: the variance within cells over that of coins."""
    kept, K = literal_cells(counts), counts.arms
    arms = [[u for (_, j), u in kept.items() if j == k] for k in range(K)]
    pulls = [sum(len(u) for u in arm) for arm in arms]
    p = [(sum(u.sum() for u in arm) + 0.5) / (n + 1) for arm, n in zip(arms, pulls, strict=True)]
    squares = [sum(((u - u.mean()) ** 2).sum() for u in arm) for arm in arms]
    free = [float(sum(len(u) - 1 for u in arm)) for arm in arms]
    total = [
        sum(((u - q) ** 2).sum() for u in arm) / max(n - 1, 1)
        for arm, q, n in zip(arms, p, pulls, strict=True)
    ]
    N = sum(pulls)
    V = sum(n * v for n, v in zip(pulls, total, strict=True)) / N
    v = min(V, (sum(squares) + PRIOR_FREEDOM * V) / (sum(free) + PRIOR_FREEDOM))
    coin = sum(n * q * (1 - q) for n, q in zip(pulls, p, strict=True)) / N
    base = max(coin - (V - v), coin / 10)
    phi = min(max(v / base, LEAST_PHI), 1.0)
    raw = [
        s / max(f, 1) / (q * (1 - q) * base / coin)
        for s, f, q in zip(squares, free, p, strict=True)
    ]
    each = [max(2.0, 1 / (q * (1 - q)) - 4) for q in p]
    return [min(max(x, LEAST_PHI), 1.0) for x in literal_draw(raw, free, each, [phi] * K)]


def uneven(seed: int) -> Counts:
    """Return counts with cells of 1 to 6 rewards and an arm that is hardly known.

    Arms differ in noise, and so do contexts of odd and even numbers.
    """
    rng = np.random.default_rng(seed)
    context, arm = rng.integers([30, 6], size=(900, 2)).T
    arm = np.where((arm == 5) & (rng.random(900) < 0.98), 0, arm)
    sd = np.array([0.05, 0.3, 0.1, 0.6, 0.2, 0.2])
    sd = sd[arm] * np.where(context % 2 == 1, 1.5, 0.5)
    return counted(context, arm, rng.normal(0.1 * arm + 0.05 * (context % 2), sd), 6)


@pytest.mark.parametrize("seed", range(4))
def test_dispersion_of_arms_is_the_literal_one(seed: int) -> None:
    counts = uneven(seed) if seed < 3 else drawn(purchases(np.random.default_rng(seed)))
    phi = arm_dispersion(counts, scored(counts, scoring(counts)))
    assert phi == pytest.approx(literal_dispersion(counts), rel=1e-9)
    assert (phi >= LEAST_PHI).all()
    assert (phi <= 1.0).all()


@pytest.mark.parametrize("seed", range(3))
def test_dispersion_is_that_of_the_noisiest_group(seed: int) -> None:
    counts, rng = uneven(seed), np.random.default_rng(seed + 10)
    assert counts.contexts == 30
    odd = 0.8 * (counts.context % 2) + 0.2 * rng.random(counts.contexts)
    member = np.column_stack([odd, 1.0 - odd])
    cells = scored(counts, scoring(counts))
    phi = arm_dispersion(counts, cells)
    kept, raw, free, p = literal_cells(counts), [], [], []
    for j in range(counts.arms):
        for g in range(2):
            mine = [(member[i, g], u) for (i, k), u in kept.items() if k == j]
            n = sum(w * len(u) for w, u in mine)
            q = (sum(w * u.sum() for w, u in mine) + 0.5) / (n + 1)
            freedom = sum(w * (len(u) - 1) for w, u in mine)
            squares = sum(w * ((u - u.mean()) ** 2).sum() for w, u in mine)
            raw.append(squares / max(freedom, 1e-9) / (q * (1 - q)))
            free.append(float(freedom))
            p.append(q)
    each = [max(2.0, 1 / (q * (1 - q)) - 4) for q in p]
    found = np.clip(literal_draw(raw, free, each, phi.repeat(2).tolist()), LEAST_PHI, 1.0)
    exact = np.maximum(phi, found.reshape(-1, 2).max(axis=1))
    assert group_dispersion(counts, cells, member, phi) == pytest.approx(exact, rel=1e-9)
    assert (exact > phi).any()


@pytest.mark.parametrize("seed", range(3))
def test_dispersion_of_contexts_is_the_literal_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative to all contexts, drawn together, and by two standard errors larger than it seems."""
    monkeypatch.setattr(variances, "UNLIKE", 0.0)
    counts = uneven(seed)
    phi, kept = arm_dispersion(counts, scored(counts, scoring(counts))), literal_cells(counts)
    arms = [[u for (_, j), u in kept.items() if j == k] for k in range(counts.arms)]
    p = [(sum(u.sum() for u in arm) + 0.5) / (sum(map(len, arm)) + 1) for arm in arms]
    squares, likely, free = (np.zeros(counts.contexts) for _ in range(3))
    for (i, j), u in kept.items():
        q = (u.sum() + p[j]) / (len(u) + 1)
        squares[i] += ((u - u.mean()) ** 2).sum()
        likely[i] += (len(u) - 1) * phi[j] * q * (1 - q)
        free[i] += len(u) - 1
    raw = squares / likely / (squares.sum() / likely.sum())
    assert free.min() > FEW
    true = (free / 2 * ((raw - 1) ** 2 - 2 / free)).sum() / (free / 2).sum()
    part = true / (true + 2 / free)
    exact = (1 + part * (raw - 1)) * (1 + DOUBT * np.sqrt(part * 2 / free))
    psi = context_dispersion(counts, scored(counts, scoring(counts)), phi)
    assert psi == pytest.approx(exact, rel=1e-9)
    assert psi[1::2].mean() > 1.5 * psi[::2].mean()  # odd ones have nine times the variance
    coins = tempered(counts, scored(counts, scoring(counts)), phi)
    factor = np.clip(phi[counts.arm] * psi[counts.row], LEAST_PHI, 1.0)
    assert coins.n == pytest.approx(counts.n / factor)
    monkeypatch.setattr(variances, "UNLIKE", 1.01 * true)
    alike_enough = context_dispersion(counts, scored(counts, scoring(counts)), phi)
    assert np.array_equal(alike_enough, np.ones(counts.contexts))


@pytest.mark.parametrize("law", LAWS)
def test_contexts_that_differ_by_chance_have_no_dispersion_of_their_own(law: Any) -> None:
    counts = drawn(law(np.random.default_rng(8)))
    cells = scored(counts, scoring(counts))
    psi = context_dispersion(counts, cells, arm_dispersion(counts, cells))
    assert np.array_equal(psi, np.ones(counts.contexts))


def test_tails_are_judged_by_the_noise_of_each_context() -> None:
    """Normal rewards are scored by where they lie, others by rank, however noisy contexts are."""
    rng = np.random.default_rng(9)
    own = np.exp(rng.normal(0.0, 1.0, (60, 1, 1)))
    light, heavy = rng.normal(size=(60, 6, 20)), rng.standard_t(2.0, (60, 6, 20))
    assert len(scoring(drawn(own * light)).knot) == 2
    assert len(scoring(drawn(own * heavy)).knot) > 2


def test_coins_have_the_dispersion_of_coins_and_betas_that_of_betas() -> None:
    """Beta(5 p, 5 (1 - p)) varies by p (1 - p) / 6. 10,000 rewards of an arm know a variance to
    1.4 % at worst, coins of mean 0.2 theirs to 1.5 %; the score's range adds what it cuts off."""
    rng, p = np.random.default_rng(7), np.array([0.2, 0.35, 0.5, 0.65, 0.8])
    size = (50, 5, 200)
    prices = drawn(np.where(rng.random(size) < p[:, None], 5.0, 2.0))
    coins = arm_dispersion(prices, scored(prices, scoring(prices)))
    assert coins == pytest.approx(np.ones(5), abs=6 * 0.015)
    rewards = rng.beta(5 * p[:, None], 5 * (1 - p[:, None]), size)
    counts = drawn(rewards)
    score = scoring(counts)
    u = score.of(rewards)
    mean, variance = u.mean(axis=(0, 2)), u.var(axis=(0, 2))
    phi = arm_dispersion(counts, scored(counts, score))
    assert phi == pytest.approx(variance / (mean * (1 - mean)), rel=6 * 0.015)


# --- Variances drawn together ---------------------------------------------------------------------


def test_variances_are_drawn_together_as_far_as_they_differ_by_chance() -> None:
    raw, towards = np.array([0.5, 1.0, 2.0, 1.5]), np.ones(4)
    sure = draw_together(raw, np.full(4, 1e12), 2.0, towards)
    assert sure == pytest.approx(raw, rel=1e-9)
    few = draw_together(raw, np.full(4, FEW + 1e-9), 2.0, towards)  # chance explains all
    assert np.array_equal(few, towards)
    some = draw_together(raw, np.full(4, 40.0), 2.0, towards)
    assert (np.abs(some - 1.0) <= np.abs(raw - 1.0)).all()
    assert (np.sign(some - 1.0) == np.sign(raw - 1.0)).all()
    assert some == pytest.approx(literal_draw(raw.tolist(), [40.0] * 4, [2.0] * 4, [1.0] * 4))


def test_what_is_not_known_takes_the_common_variance() -> None:
    raw, towards = np.array([9.0, 1.0, 3.0]), np.array([2.0, 2.0, 2.0])
    free = np.array([FEW, 100.0, 100.0])
    found = draw_together(raw, free, 2.0, towards)
    assert found[0] == 2.0
    assert found[1] < 2.0 < found[2]
    alone = np.array([0.0, 100.0, FEW])
    assert np.array_equal(draw_together(raw, alone, 2.0, towards), towards)


def test_no_variance_falls_below_a_part_of_the_common_one() -> None:
    raw: FloatMatrix = np.array([[0.0, 1.0], [1.0, 2.0]])
    found = draw_together(raw, np.full((2, 2), 1e12), 2.0, np.ones((2, 2)))
    assert found[0, 0] == LEAST_PART
    assert found.ravel()[1:] == pytest.approx([1.0, 1.0, 2.0])


def test_rare_scores_are_coins_as_they_are() -> None:
    """One reward in a hundred, of many sizes: a part of a coin could be more than one event."""
    rng = np.random.default_rng(12)
    context, arm = rng.integers([40, 5], size=(6000, 2)).T
    reward = (rng.random(6000) < 0.01) * rng.lognormal(3.0, 0.5, 6000)
    counts = counted(context, arm, reward, 5)
    cells = scored(counts, scoring(counts))
    assert np.array_equal(arm_dispersion(counts, cells), np.ones(5))
    fit = fitted.fit(counts)
    assert (fit.groups, fit.rank, fit.m0) == (1, 0, math.inf)
