"""What arms are worth to groups: against a joint normal law, by dense linear algebra."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from counts_made import counted, drawn, listed
from scipy import integrate, stats

from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.lumps.model.counts import Counts
from lumpable.lumps.model.scores import Cells, scored, scoring
from lumpable.lumps.model.variances import draw_together
from lumpable.lumps.model.worth import (
    PRIOR_FREEDOM,
    RATIOS,
    RIDGE,
    USUAL_RATIO,
    Worth,
    own_strength,
    widen,
    worth,
)


def some(seed: int, S: int = 20, K: int = 5) -> tuple[Counts, Cells]:
    """Return cells of 0 to 6 rewards, with noise that differs by arm and by kind of context."""
    rng = np.random.default_rng(seed)
    context, arm = rng.integers([S, K], size=(15 * S, 2)).T
    sd = 0.3 + 0.2 * arm * (1 + context % 2)
    counts = counted(context, arm, rng.normal(arm - (context % 2), sd), K)
    return counts, scored(counts, scoring(counts))


def without_factors(counts: Counts) -> FloatMatrix:
    return np.zeros((counts.contexts, 0))


def hard(counts: Counts, M: int) -> tuple[IntVector, FloatMatrix]:
    """Return sure members: who is where, and the table."""
    label = counts.context % M
    return label, np.eye(M)[label]


# --- Means and how sure they are, given all variances ---------------------------------------------


def posterior(
    counts: Counts, cells: Cells, label: IntVector, found: Worth, j: int
) -> tuple[FloatVector, FloatMatrix]:
    """Return mean and covariance of (p_j, theta_1j, .., theta_Mj) given all cells of an arm.

    One group has no middle level: there p_j is p0, and theta_j lies around it by tau^2.
    """
    M = found.pulls.shape[1]
    at = np.flatnonzero(counts.arm == j)
    group, n = label[counts.row[at]], cells.n[at]
    top = 0.0 if M == 1 else found.t0
    prior = np.full((M + 1, M + 1), top) + found.between * np.diag([0.0] + [1.0] * M)
    see = np.eye(M + 1)[1 + group]  # which mean each cell's average is around
    noise = found.noise[j, group] * (1 / n + 1 / found.own)
    cover = see @ prior @ see.T + np.diag(noise)
    gain = prior @ see.T @ np.linalg.inv(cover)
    mean = found.p0 + gain @ (cells.s[at] / n - found.p0)
    return mean, prior - gain @ see @ prior


@pytest.mark.parametrize("own", [math.inf, 6.0])
@pytest.mark.parametrize("M", [1, 2, 3])
def test_means_and_variances_are_those_of_the_joint_normal_law(M: int, own: float) -> None:
    counts, cells = some(1)
    label, member = hard(counts, M)
    found = worth(counts, cells, member, own, without_factors(counts))
    for j in range(counts.arms):
        mean, cover = posterior(counts, cells, label, found, j)
        assert found.means[j] == pytest.approx(mean[1:], rel=1e-9)
        assert found.variances[j] == pytest.approx(np.diag(cover)[1:], rel=1e-9)
        assert found.centre[j] == pytest.approx(mean[0], rel=1e-9)
        assert 1.0 / found.hold[j] == pytest.approx(cover[0, 0], rel=1e-9, abs=1e-15)


def test_an_arm_without_rewards_has_the_law_of_the_others() -> None:
    counts, cells = some(2)
    wide = replace(counts, arms=counts.arms + 1)
    _, member = hard(counts, 2)
    found = worth(wide, cells, member, math.inf, without_factors(counts))
    assert found.means[-1] == pytest.approx([found.p0] * 2)
    assert found.variances[-1] == pytest.approx([found.between + found.t0] * 2)


@pytest.mark.parametrize("M", [1, 2])
def test_room_for_arms_leaves_the_others_as_they_are(M: int) -> None:
    counts, cells = some(3)
    found = worth(counts, cells, hard(counts, M)[1], 8.0, without_factors(counts))
    wider = widen(found, 2)
    assert np.array_equal(wider.means[:-2], found.means)
    assert np.array_equal(wider.variances[:-2], found.variances)
    assert wider.means[-2:] == pytest.approx(np.full((2, M), found.p0))
    top = 0.0 if M == 1 else found.t0
    assert wider.variances[-2:] == pytest.approx(np.full((2, M), found.between + top))
    assert (wider.noise[-2:] > 0.0).all()


# --- Variances ------------------------------------------------------------------------------------


def arm_averages(found: Worth) -> tuple[FloatMatrix, FloatMatrix, float]:
    """Return averages, their variances, and the usual noise."""
    usual = float((found.pulls * found.noise).sum() / found.pulls.sum())
    return found.totals / found.pulls, found.noise / found.pulls, usual


def integrated(y: FloatVector, variance: FloatVector) -> float:
    """Return ln of the likelihood of averages around a level that could be anything."""
    middle = float(np.average(y, weights=1.0 / variance))
    wide = 12.0 * float(np.sqrt(variance.max()))

    def height(p: float) -> float:
        return float(np.sum(stats.norm.logpdf(y, p, np.sqrt(variance))))

    def inside(p: float) -> float:
        return math.exp(height(p) - top)

    top = height(middle)
    return top + math.log(integrate.quad(inside, middle - wide, middle + wide, limit=200)[0])


def test_the_variance_between_arms_is_the_likeliest() -> None:
    """One group: all values of the grid by quadrature over p0, less what is unusual."""
    counts, cells = some(4)
    found = worth(counts, cells, np.ones((20, 1)), math.inf, without_factors(counts))
    y, spread, usual = arm_averages(found)
    height = [
        integrated(y[:, 0], usual / ratio + spread[:, 0]) - abs(math.log(ratio / USUAL_RATIO))
        for ratio in RATIOS
    ]
    assert found.between == pytest.approx(usual / RATIOS[int(np.argmax(height))])
    weight = 1.0 / (found.between + spread[:, 0])
    assert found.p0 == pytest.approx(np.average(y[:, 0], weights=weight))


def test_the_variance_between_groups_is_the_likeliest() -> None:
    counts, cells = some(5)
    _, member = hard(counts, 3)
    found = worth(counts, cells, member, math.inf, without_factors(counts))
    y, spread, usual = arm_averages(found)
    height = [
        sum(integrated(y[j], usual / ratio + spread[j]) for j in range(counts.arms))
        for ratio in RATIOS
    ]
    assert found.between == pytest.approx(usual / RATIOS[int(np.argmax(height))])


def literal_noise(counts: Counts, member: FloatMatrix, own: float) -> FloatMatrix:
    """Return v_gj from all rewards, drawn to that of the arm, and this to that of all."""
    context, arm, reward = listed(counts)
    cell = counts.arms * context + arm
    w, M = member[np.searchsorted(counts.context, context)], member.shape[1]
    cells = scored(counts, scoring(counts))
    around = sum(((y := reward[arm == j]) - y.mean()) @ (y - y.mean()) for j in range(counts.arms))
    usual = around / (len(reward) - 1)
    inside = reward - np.array([reward[cell == c].mean() for c in cell])
    size = np.array([(cell == c).sum() for c in cell])
    squares, free = np.zeros((2, counts.arms, M))
    for j, g in np.ndindex(counts.arms, M):
        at = arm == j
        if math.isinf(own):
            mean = np.average(reward[at], weights=w[at, g])
            squares[j, g] = w[at, g] @ (reward[at] - mean) ** 2
            free[j, g] = w[at, g].sum() - 1.0
        else:
            squares[j, g] = w[at, g] @ inside[at] ** 2
            free[j, g] = (w[at, g] * (1.0 - 1.0 / size[at])).sum()
    if math.isfinite(own):
        usual = (squares.sum() + PRIOR_FREEDOM * usual) / (free.sum() + PRIOR_FREEDOM)
    each, pooled = 2.0 / cells.telling, squares.sum(axis=1) / free.sum(axis=1)
    of_arm = draw_together(pooled, free.sum(axis=1), each, np.full(counts.arms, usual))
    return draw_together(squares / free, free, each, np.repeat(of_arm[:, None], M, axis=1))


@pytest.mark.parametrize("own", [math.inf, 4.0])
def test_noise_is_the_literal_one(own: float) -> None:
    counts, cells = some(11)
    member = np.random.default_rng(12).dirichlet([1.0, 1.0], size=counts.contexts)
    found = worth(counts, cells, member, own, without_factors(counts))
    assert found.noise == pytest.approx(literal_noise(counts, member, own), rel=1e-9)


@pytest.mark.parametrize("own", [math.inf, 4.0])
def test_noise_is_that_of_arms_and_groups(own: float) -> None:
    """200 contexts a group and 20 rewards a cell: 4,000 rewards, so that a variance is known to
    sqrt(2 / 3800) = 2.3 %. Where contexts deviate, by more than the noise, it is that in cells. No
    noise here is less than a fifth of its arm's, nor an arm's of all: these would be held there."""
    rng, sd = np.random.default_rng(6), np.array([[0.2, 0.3], [0.6, 0.4], [0.3, 0.3]])
    size = (400, 3, 20)
    group = np.arange(400) % 2
    level = rng.normal(0.0, 3.0, (400, 3, 1)) if math.isfinite(own) else 0.0
    rewards = level + sd.T[group][:, :, None] * rng.normal(size=size)
    counts = drawn(rewards)
    cells = scored(counts, scoring(counts))
    found = worth(counts, cells, np.eye(2)[group], own, without_factors(counts))
    assert found.noise == pytest.approx(sd**2, rel=6 * 0.023)


def test_noise_survives_a_large_level() -> None:
    """Squares of what rewards are away from their mean, not of rewards: 1e7 times the noise."""
    rng = np.random.default_rng(7)
    rewards = rng.normal(0.0, 1.0, (50, 4, 10))
    noise = []
    for level in (0.0, 1e7):
        counts = drawn(level + rewards)
        cells = scored(counts, scoring(counts))
        found = worth(counts, cells, np.ones((50, 1)), math.inf, without_factors(counts))
        noise.append(found.noise)
    assert noise[1] == pytest.approx(noise[0], rel=1e-6)


def test_no_noise_at_all_is_a_little() -> None:
    counts = drawn(np.broadcast_to(np.arange(2.0, 6.0)[:, None], (10, 4, 3)).copy())
    cells = scored(counts, scoring(counts))
    for own in (math.inf, 2.0):
        found = worth(counts, cells, np.ones((10, 1)), own, without_factors(counts))
        assert (found.noise > 0.0).all()
        assert np.isfinite(found.means).all()
        assert np.isfinite(found.variances).all()


# --- Factors, and strengths in rewards ------------------------------------------------------------


def test_loadings_are_a_regression_of_rewards_on_factors() -> None:
    """Arm by arm, by weighted least squares with a ridge; the intercept is free."""
    counts, cells = some(8)
    factor = np.random.default_rng(9).normal(size=(counts.contexts, 2))
    found = worth(counts, cells, np.ones((20, 1)), 5.0, factor)
    for j in range(counts.arms):
        at = np.flatnonzero(counts.arm == j)
        weight = np.sqrt(cells.n[at] * found.own / (found.own + cells.n[at]))
        x = np.column_stack([np.ones(len(at)), factor[counts.row[at]]])
        ridge = math.sqrt(RIDGE * factor.var()) * np.eye(3)[1:]
        A = np.concatenate([weight[:, None] * x, ridge])
        b = np.concatenate([weight * cells.s[at] / cells.n[at], np.zeros(2)])
        exact = np.linalg.lstsq(A, b, rcond=None)[0]
        assert found.loading[j] == pytest.approx(exact[1:], rel=1e-6)
        left = cells.s[at] - cells.n[at] * (factor[counts.row[at]] @ found.loading[j])
        total = (left * found.own / (found.own + cells.n[at])).sum()
        assert found.totals[j, 0] == pytest.approx(total)


def test_strengths_in_rewards_are_those_in_coins_of_which_each_has_several() -> None:
    counts, _ = some(10)
    phi = np.array([0.1, 0.5, 1.0, 0.2, 0.3])
    _, arm, _ = listed(counts)
    assert own_strength(8.0, counts, phi) == pytest.approx(8.0 * phi[arm].mean())
    assert math.isinf(own_strength(math.inf, counts, phi))
