"""Models beside the believed one: one group less, one more, and how likely each of them is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lumpable.base.arrays import FloatMatrix
from lumpable.lumps.model import search
from lumpable.lumps.model.counts import Counts
from lumpable.lumps.model.evidence import numberings
from lumpable.lumps.model.factors import low_rank
from lumpable.lumps.model.fit import Fit

UNLIKELY = 1e-3
"""Models with less than this probability are left out."""
MOST_SPLITS = 8
"""At most this many groups are split, those whose members differ most."""
SAME = 0.01
"""Fits whose evidence differs by less than this are one: two starts led to it."""


class Rival(NamedTuple):
    """Another model than the one believed."""

    probability: float
    fit: Fit


def rivals(counts: Counts, fit: Fit | None, member: FloatMatrix) -> list[Rival]:
    """Return the likely ones among the models with one group less or more.

    Any number of groups is as likely as another before rewards are seen. Neighbours are groups
    split or merged, not copies of one: all M! numberings of them count, even if it is doubtful who
    is a member.
    """
    if fit is None or fit.rank > 0:
        return []
    own = refit(counts, fit, member)
    fits = [own, *neighbours(counts, own)]
    numbered = np.array([math.lgamma(1.0 + fit.groups) - numberings(fit.member) for fit in fits])
    height = np.array([fit.evidence for fit in fits]) + numbered
    weight = np.exp(height - height.max())
    weight /= weight.sum()
    made = (Rival(float(p), fit) for p, fit in zip(weight, fits, strict=True) if fit is not own)
    return [rival for rival in made if rival.probability >= UNLIKELY]


def refit(counts: Counts, fit: Fit | None, member: FloatMatrix) -> Fit:
    """Return the model of a fit, fitted to all that was seen since, from these memberships."""
    one = search.one_group(counts)
    if fit is None:
        return one
    if fit.rank > 0:
        factored = low_rank(counts, one, replace(one, evidence=-math.inf))
        return factored if factored.rank > 0 else one
    if fit.groups == 1:
        return one
    return search.settle(counts, member, fit)


def neighbours(counts: Counts, own: Fit) -> Iterator[Fit]:
    """Yield the fits with fewer groups and with more that single moves from this one lead to."""
    heights = {own.evidence}
    for starts in (search.merges(own), search.splits(counts, own, MOST_SPLITS)):
        for member in starts:
            fit = search.settle(counts, member, own)
            same = any(abs(fit.evidence - known) < SAME for known in heights)
            if fit.groups not in (1, own.groups) and not same:  # some die out
                heights.add(fit.evidence)
                yield fit
