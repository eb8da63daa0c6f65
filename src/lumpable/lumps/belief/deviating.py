"""Do contexts differ at all, where there is one group? To be said only if it is clear.

The likeliest strength of their own deviations is often a finite one where contexts are alike: it is
one of many that are compared. So the evidence is averaged over all of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from lumpable.base.arrays import FloatVector, IntVector
from lumpable.lumps.belief.alternatives import held_at
from lumpable.lumps.belief.posterior import coins_now, counts_now, current_fit
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.model.counts import sample
from lumpable.lumps.model.scores import scored
from lumpable.lumps.model.strengths import own_strength_grid, own_strength_prior

ODDS = 20.0
"""Contexts are said to differ if that is so many times likelier than that they are alike, ..."""
APART = 3.0
"""... and rewards of the same context and arm go together by so many standard errors."""
ROUNDING = 1e-12
"""Scores, which are from 0 to 1, vary less than this only by rounding."""
CELLS = 100_000
"""Larger tables are judged by a sample of their contexts: it takes some 20 steps of a fit."""


def clearly_deviate(learner: Levels) -> bool:
    """Whether it is clear that contexts of one group differ.

    Of rewards that are 0 or 1 the evidence knows the law, so that it is enough.
    """
    if counts_now(learner).real and togetherness(learner) < APART:
        return False
    return log_odds(learner) >= math.log(ODDS)


def vary(learner: Levels) -> bool:
    """Whether rewards of an arm vary at all: else there is nothing in which contexts differ."""
    return bool(_Scores.of(learner).spread.max(initial=0.0) > ROUNDING)


def log_odds(learner: Levels) -> float:
    """Return the log posterior odds of contexts that deviate, by any strength, over alike ones."""
    counts, _ = sample(coins_now(learner), CELLS)
    fit, prior = current_fit(learner, counts), own_strength_prior(counts)[:-1]
    every = [held_at(counts, fit, m0).evidence for m0 in own_strength_grid(counts).tolist()]
    weighed = np.array(every[:-1]) - every[-1] + prior
    return float(np.logaddexp.reduce(weighed) - np.logaddexp.reduce(prior))


def togetherness(learner: Levels) -> float:
    """Return how far rewards of the same cell are alike, in standard errors: 0 up to chance if all
    contexts are, whatever the law of rewards.

    The sum of the products of all pairs of a cell's scores, net of their arm's mean. The evidence
    takes noise for that of coins; here no noise is known. It is below the root of the number of
    cells.
    """
    seen = _Scores.of(learner)
    if seen.spread.max(initial=0.0) <= ROUNDING:
        return 0.0
    pairs = seen.n * (seen.n - 1.0) * seen.away**2 - seen.squares
    free = np.bincount(seen.arm, seen.n - 1.0)
    noise = np.bincount(seen.arm, seen.squares) / np.maximum(free, 1.0)
    pairs = pairs / np.maximum(noise, 1e-2 * seen.spread.max())[seen.arm]
    whole = math.sqrt(float((pairs**2).sum()))
    return float(pairs.sum()) / whole if whole > 0.0 else 0.0


class _Scores(NamedTuple):
    """Scores of rewards, by cell of a context and an arm."""

    arm: IntVector
    n: FloatVector
    away: FloatVector
    """Its mean, net of that of its arm."""
    squares: FloatVector
    """The sum of squares around its mean."""
    spread: FloatVector
    """The variance of each arm's scores around their mean."""

    @classmethod
    def of(cls, learner: Levels) -> Self:
        """Return the scores of all that a learner was told."""
        counts, fit = counts_now(learner), learner.last_fit
        if counts.real and fit is not None and fit.scale is not None:
            cells = scored(counts, fit.scale.score)
            n, s, squares = cells.n, cells.u, cells.u_squares
        else:
            n, s = counts.n, counts.s
            squares = s * (n - s) / n
        pulls = np.maximum(np.bincount(counts.arm, n), 1.0)
        total = np.bincount(counts.arm, s)
        away: FloatVector = s / n - (total / pulls)[counts.arm]
        spread = np.bincount(counts.arm, squares + n * away**2) / pulls
        return cls(counts.arm, n, away, squares, spread)
