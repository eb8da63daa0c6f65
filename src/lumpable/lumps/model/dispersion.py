"""How much scores and rewards vary: by arm, by group, by context.

Scores vary less than coins of the same mean, by a factor phi_j of each arm; a cell of n scores with
sum u counts as n / phi_j coins, u / phi_j of them heads. Where contexts differ widely in noise,
they have a factor psi_i, too, and their rewards count for as many as they tell.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.lumps.model.counts import Counts, gathered
from lumpable.lumps.model.ends import two_ends
from lumpable.lumps.model.scores import Cells
from lumpable.lumps.model.variances import draw_together, own_noise

LEAST_PHI = 0.01
"""No arm varies less than this part of a coin."""
RARE = 0.09
"""Where a coin of the scores' mean varies less than this, nearly all of them are 0 or nearly all 1,
and what counts is how often the others come: they are coins as they are."""
PRIOR_FREEDOM = 5.0
"""The variance of all scores counts as this many degrees of freedom within cells."""
EDGE = 1e-3
"""Two values of scores stay this far from 0 and 1."""
ASTRAY = 2.5
"""Averages that go by noise are astray if they are so many standard errors from plain ones."""


def tempered(counts: Counts, cells: Cells, phi: FloatVector) -> Counts:
    """Return the cells as coins: n / (phi_j psi_i) of them, u / (phi_j psi_i) heads."""
    each = phi[counts.arm]
    coins = _coins(counts, cells, each)
    if coins.like_coins:
        return coins
    each = np.clip(each * context_dispersion(counts, cells, phi)[counts.row], LEAST_PHI, 1.0)
    return replace(_coins(counts, cells, each), ends=_two_values(counts, cells))


def _coins(counts: Counts, cells: Cells, each: FloatVector) -> Counts:
    n = cells.n / each
    unit = counts.rewards / float(n.sum())
    return replace(counts, n=n, s=cells.u / each, others=None, unit=unit)


def _two_values(counts: Counts, cells: Cells) -> tuple[float, float, float] | None:
    """Return two values of cells' scores, and how many coins each counts as beforehand."""
    K = counts.arms
    total, pulls = (np.bincount(counts.arm, x, minlength=K) for x in (cells.u, cells.n))
    expected = (total / np.maximum(pulls, 1.0))[counts.arm]
    noise = float(cells.u_squares.sum()) / max(float((cells.n - 1.0).sum()), 1.0)
    two = two_ends(cells.u / cells.n, cells.n, np.full(len(cells.n), max(noise, EDGE**2)), expected)
    if two is None:
        return None
    low, high = max(two[0].low, EDGE), min(two[0].high, 1.0 - EDGE)
    if low >= high:
        return None
    return low, high, max(min(low * (1.0 - low), high * (1.0 - high)) / two[0].around - 1.0, 1.0)


def arm_dispersion(counts: Counts, cells: Cells) -> FloatVector:
    """Return phi_j: the variance of scores within cells over that of coins of the same mean."""
    n, K = cells.n, counts.arms
    squares, free, pulls, total = (
        np.bincount(counts.arm, x, minlength=K).astype(np.float64)
        for x in (cells.u_squares, n - 1.0, n, cells.u)
    )  # fmt: skip
    p = (total + 0.5) / (pulls + 1.0)
    around = cells.u_squares + n * (cells.u / n - p[counts.arm]) ** 2
    all_around = np.bincount(counts.arm, around, minlength=K) / np.maximum(pulls - 1.0, 1.0)
    whole = float((pulls * all_around).sum() / pulls.sum())
    within = (squares.sum() + PRIOR_FREEDOM * whole) / (free.sum() + PRIOR_FREEDOM)
    within = min(float(within), whole)
    coin = float((pulls * p * (1.0 - p)).sum() / pulls.sum())
    if coin < RARE:
        return np.ones(K)
    base = max(coin - (whole - within), 0.1 * coin)  # what is left of a coin's variance in cells
    phi = min(max(within / base, LEAST_PHI), 1.0)
    raw = squares / np.maximum(free, 1.0) / (p * (1.0 - p) * base / coin)
    return _drawn_together(raw, free, p, np.full(K, phi))


def group_dispersion(
    counts: Counts, cells: Cells, member: FloatMatrix, phi: FloatVector
) -> FloatVector:
    """Return phi_j of the noisiest group, at least `phi`."""
    pulls, total = gathered(counts, cells.n, cells.u, member)
    squares, free = gathered(counts, cells.u_squares, cells.n - 1.0, member)
    p = (total + 0.5) / (pulls + 1.0)
    raw = squares / np.maximum(free, 1e-9) / (p * (1.0 - p))
    each = _drawn_together(raw, free, p, np.repeat(phi[:, None], member.shape[1], axis=1))
    noisiest: FloatVector = np.maximum(phi, each.max(axis=1))
    return noisiest


def context_dispersion(counts: Counts, cells: Cells, phi: FloatVector) -> FloatVector:
    """Return psi_i: how many times more the scores of each context vary than those of all do.

    A coin of the context's own mean is what they are compared with, as they are in the model.
    """
    pulls, total = (np.bincount(counts.arm, x, minlength=counts.arms) for x in (cells.n, cells.u))
    p = (total + 0.5) / (pulls + 1.0)
    own = (cells.u + p[counts.arm]) / (cells.n + 1.0)
    free = cells.n - 1.0
    likely = free * phi[counts.arm] * own * (1.0 - own)
    squares, likely, free = (
        np.bincount(counts.row, x, counts.contexts).astype(np.float64)
        for x in (cells.u_squares, likely, free)
    )
    return own_noise(squares, likely, free, 2.0)


def context_noise(counts: Counts, cells: Cells) -> FloatVector:
    """Return how many times more the rewards of each context vary than those of all do."""
    free = cells.n - 1.0
    squares, known = (np.bincount(counts.arm, x) for x in (cells.s_squares, free))
    usual = squares.sum() / max(float(known.sum()), 1.0)
    of_arm = (squares + PRIOR_FREEDOM * usual) / (known + PRIOR_FREEDOM)
    each = cells.s_squares, free * of_arm[counts.arm], free
    own, likely, free = (np.bincount(counts.row, x, counts.contexts).astype(float) for x in each)
    return own_noise(own, likely, free, 2.0 / cells.telling)


def evened(counts: Counts, cells: Cells) -> Cells:
    """Return the cells as if all contexts were equally noisy: rewards of noisy ones count less.

    Where those who are noisier get more, or less, such an average would be one of the quiet ones
    only: then all rewards count alike.
    """
    noise = context_noise(counts, cells)
    if (noise == 1.0).all() or _goes_with_mean(counts, cells, noise):
        return cells
    each = noise[counts.row]
    return cells._replace(n=cells.n / each, s=cells.s / each, s_squares=cells.s_squares / each)


def _goes_with_mean(counts: Counts, cells: Cells, noise: FloatVector) -> bool:
    """Whether averages that go by noise differ from plain ones by more than chance.

    Hausman, "Specification tests in econometrics", Econometrica 46(6), 1978.
    """
    pulls, totals, squares = (
        np.bincount(counts.arm, x) for x in (cells.n, cells.s, cells.s_squares)
    )
    free = np.bincount(counts.arm, cells.n - 1.0)
    mean, variance = totals / np.maximum(pulls, 1.0), squares / np.maximum(free, 1.0)
    away = cells.s - cells.n * mean[counts.arm]
    each = 1.0 / cells.n.sum() - 1.0 / noise / float((cells.n / noise[counts.row]).sum())
    each = each[counts.row]
    chance = float((each**2 * cells.n * variance[counts.arm] * noise[counts.row]).sum())
    return abs(float((each * away).sum())) > ASTRAY * math.sqrt(chance)


def _drawn_together(
    raw: FloatMatrix, free: FloatMatrix, p: FloatMatrix, towards: FloatMatrix
) -> FloatMatrix:
    """Draw dispersions of scores with means p towards a common one."""
    each = np.maximum(2.0, 1.0 / (p * (1.0 - p)) - 4.0)
    phi: FloatMatrix = np.clip(draw_together(raw, free, each, towards), LEAST_PHI, 1.0)
    return phi
