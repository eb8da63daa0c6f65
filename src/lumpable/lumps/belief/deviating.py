"""Do contexts differ at all, where there is one group? To be said only if it is clear.

The likeliest strength of their own deviations is often a finite one where contexts are alike: it is
one of many that are compared. So the evidence is averaged over all of them.
"""

from __future__ import annotations

import math

import numpy as np

from lumpable.base.arrays import FloatVector
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
LARGE = 1e100
"""Where rewards of a cell hardly differ, what they have in common may be as many times more."""
CELLS = 100_000
"""Larger tables are judged by a sample of their contexts: it takes some 20 steps of a fit."""


def clearly_deviate(learner: Levels) -> bool:
    """Whether it is clear that contexts of one group differ."""
    return togetherness(learner) >= APART and log_odds(learner) >= math.log(ODDS)


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
    takes noise for that of coins; here no noise is known.
    """
    counts, fit = counts_now(learner), learner.last_fit
    if counts.real and fit is not None and fit.scale is not None:
        cells = scored(counts, fit.scale.score)
        n, s, squares = cells.n, cells.u, cells.u_squares
    else:
        n, s = counts.n, counts.s
        squares = s * (n - s) / n
    pulls, total, within, free = (np.bincount(counts.arm, x) for x in (n, s, squares, n - 1.0))
    mean, noise = total / np.maximum(pulls, 1.0), within / np.maximum(free, 1.0)
    away: FloatVector = s / n - mean[counts.arm]
    pairs = n * (n - 1.0) * away**2 - squares
    pairs = pairs / np.maximum(noise, 1e-2 * noise.max() + 1e-300)[counts.arm]
    if (largest := float(np.abs(pairs).max(initial=0.0))) > LARGE:  # or squares would overflow
        pairs = pairs / largest
    return float(pairs.sum() / max(math.sqrt(float((pairs**2).sum())), 1e-300))
