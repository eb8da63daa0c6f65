"""A second look: do groups that one half of the rewards finds differ in the other half's means?

Scores see that rewards of two contexts differ in law. That is not yet a difference in means: users
may only differ in noise. So rewards are cut into halves, groups are found in one, and the other
says how far apart their rewards are, in standard errors.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np

from lumpable.base.arrays import BoolVector, FloatMatrix, FloatVector
from lumpable.lumps.model import search
from lumpable.lumps.model.counts import Counts, Others
from lumpable.lumps.model.dispersion import tempered
from lumpable.lumps.model.fit import Fit, Scale
from lumpable.lumps.model.fitted import with_worth
from lumpable.lumps.model.scores import scored

SHOWN = 2.0
"""Means are shown to differ from so many standard errors on."""


def apart(counts: Counts, fit: Fit) -> float:
    """Return how far the groups that differ most are apart, in standard errors.

    The average of both ways to use the halves; counts and fit are of real rewards.
    """
    assert fit.scale is not None
    one, other = halves(counts)
    found = [_farthest(a, b, fit, fit.scale) for a, b in ((one, other), (other, one))]
    return sum(found) / 2.0


def halves(counts: Counts) -> tuple[Counts, Counts]:
    """Return the rewards in two halves, cut by coins with a fixed seed."""
    others = counts.others
    assert others is not None
    rng = np.random.default_rng(23)
    odd = np.bincount(others.cell, others.times, minlength=len(counts.n))
    cut = [
        rng.binomial(times.astype(np.int64), 0.5).astype(np.float64)
        for times in (counts.n - counts.s - odd, counts.s, others.times)
    ]
    rest = [counts.n - counts.s - odd - cut[0], counts.s - cut[1], others.times - cut[2]]
    return _part(counts, *cut), _part(counts, *rest)


def _part(counts: Counts, zeros: FloatVector, ones: FloatVector, times: FloatVector) -> Counts:
    """Return counts with these rewards only; contexts without any keep an empty row."""
    others = counts.others
    assert others is not None
    n = zeros + ones + np.bincount(others.cell, times, minlength=len(counts.n))
    kept = n > 0.0
    place = np.cumsum(kept) - 1
    first = np.concatenate(
        [[0], np.cumsum(np.bincount(counts.row[kept], minlength=counts.contexts))]
    )
    left = times > 0.0
    rows = Others(place[others.cell[left]], others.value[left], times[left])
    return replace(
        counts, first=first, arm=counts.arm[kept], n=n[kept], s=ones[kept],
        rewards=float(n.sum()), others=rows,
    )  # fmt: skip


def _farthest(found_in: Counts, seen_in: Counts, fit: Fit, scale: Scale) -> float:
    """Return how far groups of one half are apart in the other: the largest of all pairs."""
    cells = scored(found_in, scale.score)
    coins = tempered(found_in, cells, scale.phi)
    found = search.with_groups(coins, fit.groups, fit.m0)
    if found.groups < 2:
        return 0.0
    named = with_worth(found_in, found, scale.score, cells, scale.phi).scale
    assert named is not None
    label, worth = np.argmax(found.member, axis=1), named.worth
    n, s = _dense(seen_in, scored(seen_in, scale.score).s)
    pairs = itertools.combinations(range(found.groups), 2)
    return max(
        _welch(n, s, label == g, label == h, worth.means[:, g] - worth.means[:, h],
               (worth.noise[:, g] + worth.noise[:, h]) / 2.0)
        for g, h in pairs
    )  # fmt: skip


def _dense(counts: Counts, s: FloatVector) -> tuple[FloatMatrix, FloatMatrix]:
    n, totals = np.zeros((2, counts.contexts, counts.arms))
    n[counts.row, counts.arm], totals[counts.row, counts.arm] = counts.n, s
    return n, totals


def _welch(
    n: FloatMatrix, s: FloatMatrix, a: BoolVector, b: BoolVector, difference: FloatVector,
    noise: FloatVector,
) -> float:  # fmt: skip
    """Return Welch's t of two groups' contexts, each placed along this difference of means."""
    both = a | b
    pulls = n[both].sum(axis=0)
    centre = s[both].sum(axis=0) / np.maximum(pulls, 1.0)
    along = difference / noise
    spread = np.sqrt(n @ (along**2 * noise))
    x = np.divide((s - n * centre) @ along, spread, out=np.zeros(len(n)), where=spread > 0.0)
    first, second = x[a & (spread > 0.0)], x[b & (spread > 0.0)]
    if len(first) < 2 or len(second) < 2:
        return 0.0
    error = first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second)
    return float(first.mean() - second.mean()) / math.sqrt(max(float(error), 1e-12))
