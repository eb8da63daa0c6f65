"""Models beside the believed one: one group less, one more, and how likely each of them is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from lumpable.lumps import search
from lumpable.lumps.evidence import numberings
from lumpable.lumps.factors import low_rank
from lumpable.lumps.levels import ThreeLevels
from lumpable.lumps.model import Counts, Fit

UNLIKELY = 1e-3
"""Models with less than this probability are left out."""
MOST_SPLITS = 8
"""So many groups are split, those whose members differ most."""
SAME = 0.01
"""Fits whose evidence differs by less than this are one: two starts led to it."""


class Rival(NamedTuple):
    """Another model than the one believed."""

    probability: float
    fit: Fit


class _Known(NamedTuple):
    tells: int
    fit: Fit | None
    arms: int
    rivals: list[Rival]


_known: WeakKeyDictionary[ThreeLevels, _Known] = WeakKeyDictionary()
"""The rivals of each learner, until it learns more: they take about as long as a fit."""


def rivals(learner: ThreeLevels) -> list[Rival]:
    """Return the likely ones among the models with one group less or more."""
    known = _known.get(learner)
    now = learner.tells, learner.fit, learner.arms
    if known is None or known[:3] != now:
        known = _known[learner] = _Known(*now, _found(learner))
    return known.rivals


def _found(learner: ThreeLevels) -> list[Rival]:
    """Weigh the believed model and its neighbours, any number of groups as likely as another.

    Neighbours are groups split or merged, not copies of one: all M! numberings of them count, even
    if it is doubtful who is a member.
    """
    if learner.fit is None or learner.fit.rank > 0:
        return []
    counts = learner.counts()
    own = believed(learner, counts)
    fits = [own, *neighbours(counts, own)]
    numbered = np.array([math.lgamma(1.0 + fit.groups) - numberings(fit.member) for fit in fits])
    height = np.array([fit.evidence for fit in fits]) + numbered
    weight = np.exp(height - height.max())
    weight /= weight.sum()
    made = (Rival(float(p), fit) for p, fit in zip(weight, fits, strict=True) if fit is not own)
    return [rival for rival in made if rival.probability >= UNLIKELY]


def believed(learner: ThreeLevels, counts: Counts) -> Fit:
    """Return the model believed now, fitted to all that was seen."""
    fit, one = learner.fit, search.one_group(counts)
    if fit is None:
        return one
    if fit.rank > 0:
        found = low_rank(counts, one, replace(one, evidence=-math.inf))
        return found if found.rank > 0 else one
    if fit.groups == 1:
        return one
    return search.settled(counts, learner.membership(counts.context), fit)


def neighbours(counts: Counts, own: Fit) -> Iterator[Fit]:
    """Yield the fits with fewer groups and with more that single moves from this one lead to."""
    found = {own.evidence}
    for starts in (search.merges(counts, own), search.splits(counts, own, MOST_SPLITS)):
        for member in starts:
            fit = search.settled(counts, member, own)
            same = any(abs(fit.evidence - known) < SAME for known in found)
            if fit.groups not in (1, own.groups) and not same:  # some die out
                found.add(fit.evidence)
                yield fit
