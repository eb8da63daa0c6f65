"""How far group means of real rewards may be off if strengths and noise are estimates.

The model takes the likeliest variance between arms, that between groups, and the noise; where an
arm had many rewards they hardly matter. An arm that a learner dropped early is known by them alone.
So here the variances between arms and groups are averaged over, as likely as they make the averages
of all arms (with the population's mean integrated out), and the noise of an arm with few rewards is
that of a usual arm, not that of the arm which was played most. The believed means stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.lumps.model.counts import Counts, gathered
from lumpable.lumps.model.scores import Cells
from lumpable.lumps.model.worth import RATIOS, Worth

UNLIKELY = 1e-2
"""Variances between arms or groups that are less likely than the likeliest by this are left out."""
DIFFERENCES: FloatVector = 2.0 ** np.arange(-12.0, 3.0)
"""Variances of noise, relative to the usual one, that are compared."""


class _Averages(NamedTuple):
    """Averages of arms, and the variances that noise gives them; infinite without rewards."""

    y: FloatMatrix
    spread: FloatMatrix
    usual: float
    """The noise of a usual reward: grids are parts of it."""


def second_moments(counts: Counts, cells: Cells, member: FloatMatrix, worth: Worth) -> FloatMatrix:
    """Return E (theta_gj - its believed mean)^2 of each arm and group, as if members were known."""
    noise = worth.noise
    if worth.loading.shape[1] == 0:  # else squares are around what factors explain, too
        noise = even_noise(counts, cells, member, worth)
    known = worth.pulls > 0.0
    y = np.divide(worth.totals, worth.pulls, out=np.zeros_like(worth.totals), where=known)
    spread = np.divide(noise, worth.pulls, out=np.full_like(noise, np.inf), where=known)
    usual = float((worth.pulls * worth.noise).sum() / worth.pulls.sum())
    averages, believed = _Averages(y, spread, usual), worth.means
    moment, whole = np.zeros_like(y), 0.0
    for weight, mean, variance in _laws(averages):
        moment += weight * (variance + (mean - believed) ** 2)
        whole += weight
    table: FloatMatrix = moment / whole
    return table


# --- Variances between arms and groups ----------------------------------------------------------


def _laws(seen: _Averages) -> Iterator[tuple[float, FloatMatrix, FloatMatrix]]:
    """Yield laws of all means: how likely, their means and their variances."""
    if seen.y.shape[1] == 1:
        for weight, p0, sure, t0 in _tops(seen.y[:, 0], seen.spread[:, 0], seen.usual):
            yield weight, *_drawn(seen, t0, np.full(len(seen.y), p0), np.full(len(seen.y), sure))
        return
    for likely, between in _betweens(seen):
        precision = 1.0 / (between + seen.spread)
        weight, total = precision.sum(axis=1), (precision * seen.y).sum(axis=1)
        known = weight > 0.0
        y = np.divide(total, weight, out=np.zeros_like(total), where=known)
        spread = np.divide(1.0, weight, out=np.full_like(weight, np.inf), where=known)
        for top, p0, sure, t0 in _tops(y, spread, seen.usual):
            hold = 1.0 / t0 + weight
            centre, lift = (p0 / t0 + total) / hold, 1.0 / t0 / hold
            yield likely * top, *_drawn(seen, between, centre, 1.0 / hold + lift**2 * sure)


def _drawn(
    seen: _Averages, between: float, centre: FloatVector, around: FloatVector
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return means and variances of theta ~ N(p_j, between) after all rewards.

    p_j has a mean of `centre` and a variance of `around` after them.
    """
    part = 1.0 / (1.0 + between / seen.spread)
    mean = (1.0 - part) * seen.y + part * centre[:, None]
    return mean, part * between + part**2 * around[:, None]


def _tops(
    y: FloatVector, spread: FloatVector, usual: float
) -> list[tuple[float, float, float, float]]:
    """Return how likely each variance t0^2 between arms is, with p0 and its variance."""
    known = np.isfinite(spread)
    y, spread = y[known], spread[known]
    rows = []
    for ratio in RATIOS.tolist():
        precision = 1.0 / (usual / ratio + spread)
        whole = float(precision.sum())
        p0 = float((precision * y).sum()) / whole
        score = 0.5 * float((np.log(precision) - precision * (y - p0) ** 2).sum())
        score += _prior(ratio) - 0.5 * math.log(whole)
        rows.append((score, p0, 1.0 / whole, usual / ratio))
    best = max(row[0] for row in rows)
    likely = [(math.exp(score - best), *more) for score, *more in rows]
    return [row for row in likely if row[0] >= UNLIKELY]


def _prior(ratio: float) -> float:
    """Return the log density of a standard deviation between means, on a scale of logarithms.

    Half-t with two degrees of freedom, in standard deviations of a usual reward (Gelman 2006).
    """
    return -0.5 * math.log(ratio) - 1.5 * math.log1p(0.5 / ratio)


def _betweens(seen: _Averages) -> list[tuple[float, float]]:
    """Return how likely each variance tau^2 between groups is."""
    rows = []
    for ratio in RATIOS.tolist():
        between = seen.usual / ratio
        precision = 1.0 / (between + seen.spread)
        weight = np.maximum(precision.sum(axis=1), 1e-300)
        centre = (precision * seen.y).sum(axis=1) / weight
        away = precision * (seen.y - centre[:, None]) ** 2
        score = 0.5 * float((np.log(np.maximum(precision, 1e-300)) - away).sum(where=precision > 0))
        score -= 0.5 * float(np.log(weight).sum(where=weight > 1e-300))
        rows.append((score + _prior(ratio), between))
    best = max(row[0] for row in rows)
    likely = [(math.exp(score - best), between) for score, between in rows]
    return [row for row in likely if row[0] >= UNLIKELY]


# --- Noise --------------------------------------------------------------------------------------


def even_noise(counts: Counts, cells: Cells, member: FloatMatrix, worth: Worth) -> FloatMatrix:
    """Return v_gj, drawn to the noise of a usual group of the arm, and that to a usual arm's.

    Random effects: the more noise differs in truth, the less those with many rewards outweigh
    others.
    """
    squares, free = _squares(counts, cells, member, worth)
    known = free > 0.0
    raw = np.divide(squares, free, out=np.zeros_like(squares), where=known)
    chance = np.divide(2.0 / cells.telling, free, out=np.full_like(free, np.inf), where=known)
    if squares.sum() <= 0.0:
        return worth.noise
    each, sure, within = _usual(raw, chance)
    usual, _, between = _usual(each[None, :], sure[None, :])
    part = between / (between + sure)
    of_arm = (usual + part * (each - usual))[:, None]
    part = within / (within + chance)
    noise: FloatMatrix = np.maximum(of_arm + part * (raw - of_arm), worth.noise)
    return noise


def _usual(raw: FloatMatrix, chance: FloatMatrix) -> tuple[FloatVector, FloatVector, float]:
    """Return the usual noise of each row, how it varies by chance, and how much noise differs.

    All relative to the usual noise. By restricted likelihood, one difference for all rows.
    """
    best = -math.inf, np.zeros(0), np.zeros(0), 0.0
    for differ in DIFFERENCES.tolist():
        weight = 1.0 / (differ + chance)
        whole = weight.sum(axis=1)
        row = whole > 0.0
        usual = np.divide((weight * raw).sum(axis=1), whole, out=np.zeros(len(raw)), where=row)
        least = 1e-12 * float(raw.max()) or 1.0  # nothing varies: no noise in any unit
        unit = np.maximum(usual, least)[:, None]
        away = weight * (raw / unit - 1.0) ** 2
        seen = weight > 0.0
        score = 0.5 * float((np.log(np.where(seen, weight, 1.0)) - away).sum())
        score -= float((seen.sum(axis=1)[row] - 1.0) @ np.log(unit[row, 0]))
        score -= 0.5 * float(np.log(whole[row]).sum())
        if score > best[0]:
            sure = np.divide(1.0, whole, out=np.full(len(raw), np.inf), where=row)
            best = score, usual, sure, differ
    return best[1:]


def _squares(
    counts: Counts, cells: Cells, member: FloatMatrix, worth: Worth
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return squares of rewards around averages, and their degrees of freedom."""
    if math.isfinite(worth.own):  # contexts deviate: only what is within cells is noise
        return gathered(counts, cells.s_squares, cells.rewards - 1.0, member)
    pulls, totals = gathered(counts, cells.n, cells.s, member)
    gap = cells.s / cells.n - totals.sum() / pulls.sum()
    squares, first = gathered(counts, cells.s_squares + cells.n * gap**2, cells.n * gap, member)
    squares -= np.divide(first**2, pulls, out=np.zeros_like(first), where=pulls > 0.0)
    rewards, _ = gathered(counts, cells.rewards, cells.rewards, member)
    return np.maximum(squares, 0.0), np.maximum(rewards - 1.0, 0.0)
