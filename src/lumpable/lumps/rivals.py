"""Models beside the believed one: one group less, one more, and how likely each of them is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from lumpable.checks import FloatMatrix, IntVector
from lumpable.lumps import search
from lumpable.lumps.factors import low_rank
from lumpable.lumps.levels import ThreeLevels
from lumpable.lumps.model import Counts, Fit

UNLIKELY = 1e-3
"""Models with less than this probability are left out."""


class Rival(NamedTuple):
    """Another model than the one believed."""

    probability: float
    fit: Fit

    def membership(self, contexts: IntVector) -> FloatMatrix:
        """Return its posterior over groups of these contexts, seen or not."""
        fit = self.fit
        share = np.exp(fit.share)
        member: FloatMatrix = np.tile(share / share.sum(), (len(contexts), 1))
        at = np.minimum(np.searchsorted(fit.context, contexts), len(fit.context) - 1)
        seen = fit.context[at] == contexts
        member[seen] = fit.member[at[seen]]
        return member


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
    if known is None or any(a is not b and a != b for a, b in zip(now, known, strict=False)):
        known = _known[learner] = _Known(*now, _found(learner))
    return known.rivals


def _found(learner: ThreeLevels) -> list[Rival]:
    """Weigh the believed model and its neighbours, any number of groups as likely as another.

    The evidence is that of one numbering of the groups; there are M! of them.
    """
    if learner.fit is None or learner.fit.rank > 0:
        return []
    counts = learner.counts()
    own = believed(learner, counts)
    fits = [own, *neighbours(counts, own)]
    height = np.array([fit.evidence + math.lgamma(fit.groups + 1.0) for fit in fits])
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
    for starts in (search.merges(counts, own), search.splits(counts, own)):
        for member in starts:
            fit = search.settled(counts, member, own)
            if fit.groups not in (1, own.groups):  # some die out
                yield fit
