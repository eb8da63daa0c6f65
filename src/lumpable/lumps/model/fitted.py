"""Fit whatever rewards were seen: coins as they are, others by their scores.

Counts of coins are searched for groups as they are. Others are turned into coins first (see
`scores`), as noisy as the noisiest group; what the groups' arms are worth is then read off the
rewards themselves (see `worth`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.lumps.model import search
from lumpable.lumps.model.counts import Counts
from lumpable.lumps.model.dispersion import arm_dispersion, evened, group_dispersion, tempered
from lumpable.lumps.model.factors import factor_beliefs
from lumpable.lumps.model.fit import Fit, Scale
from lumpable.lumps.model.scores import Cells, Score, scored, scoring
from lumpable.lumps.model.worth import own_strength, worth

SEARCHES = 4
"""Groups are sought at most so often, while some of them turn out to be noisier."""
NOISIER = 1.1
"""An arm is noisier in a group if its scores vary by this factor more than was thought."""


def fit(counts: Counts, before: Fit | None = None) -> Fit:
    """Return the best fit that is found for these counts."""
    if not counts.real:
        return search.fit(counts, before)
    score = scoring(counts)
    cells = scored(counts, score)
    phi = arm_dispersion(counts, cells)
    if before is not None and before.groups > 1:
        phi = group_dispersion(counts, cells, before.membership(counts.context), phi)
    found = search.fit(tempered(counts, cells, phi), before)
    for _ in range(SEARCHES - 1):
        noisier = group_dispersion(counts, cells, found.member, phi)
        if found.groups == 1 or (noisier <= NOISIER * phi).all():
            break
        phi = noisier
        found = search.fit(tempered(counts, cells, phi), before)
    return with_worth(counts, found, score, cells, phi)


def one_group(counts: Counts) -> Fit:
    """Return the fit with one group: quick, as nothing is sought."""
    if not counts.real:
        return search.one_group(counts)
    score = scoring(counts)
    cells = scored(counts, score)
    phi = arm_dispersion(counts, cells)
    found = search.one_group(tempered(counts, cells, phi))
    return with_worth(counts, found, score, cells, phi)


def catch_up(counts: Counts, fit: Fit) -> Fit:
    """Return a fit of an earlier snapshot with all that was seen since: one more step of EM."""
    if fit.scale is None:
        return search.catch_up(counts, fit)
    score, phi, _ = fit.scale
    cells = scored(counts, score)
    moved = search.catch_up(tempered(counts, cells, phi), fit)
    return with_worth(counts, moved, score, cells, phi)


def coins_of(counts: Counts, fit: Fit | None) -> Counts:
    """Return counts as the coins that a fit takes them for."""
    if not counts.real or fit is None or fit.scale is None:
        return counts
    return tempered(counts, scored(counts, fit.scale.score), fit.scale.phi)


def with_worth(counts: Counts, fit: Fit, score: Score, cells: Cells, phi: FloatVector) -> Fit:
    """Return a fit of coins with what its groups' arms are worth."""
    own = own_strength(fit.m0, counts, phi)
    factor = factors_of(tempered(counts, cells, phi), fit)
    found = worth(counts, evened(counts, cells), fit.member, own, factor)
    return replace(fit, scale=Scale(score, phi, found))


def factors_of(coins: Counts, fit: Fit) -> FloatMatrix:
    """Return the factors of each context that was seen, (S, q)."""
    if fit.rank == 0:
        return np.zeros((coins.contexts, 0))
    precision_mean, precision = factor_beliefs(coins, fit)
    factor = np.linalg.solve(precision, precision_mean[:, :, None])[:, :, 0]
    return factor.astype(np.float64)
