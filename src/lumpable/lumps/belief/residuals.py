"""A check of the residuals: are groups the right model?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.lumps.belief.posterior import Posterior, beta_shape, score_posterior
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.state import KAPPA
from lumpable.lumps.model import directions
from lumpable.lumps.model.counts import group_sums, sample
from lumpable.lumps.model.fit import memberships

BOOTSTRAPS = 39
"""Draws of the statistic under the model, so that the least p-value is 1/40."""
EM_STEPS = 5
POWER_STEPS = 20
LARGE = 1.25
"""A direction in the residuals matters if it is this many times what is usual."""
CELLS = 300_000
"""From tables with more cells than this, contexts are drawn: the check takes 40 fits."""
LEAST_SPREAD = 0.01
"""Residuals are divided by at least this, or a few cells with rare rewards outweigh all others."""


@dataclass(frozen=True, slots=True)
class Residuals:
    """Whether the residuals have a direction in common, which the model should explain."""

    statistic: float
    usual: float
    """Its median under the model."""
    p_value: float
    words: str


def residuals(learner: Levels) -> Residuals:
    """Check whether the residuals have a direction in common.

    The statistic is the leading singular value of the standardised residuals of all cells, after
    groups (or factors) and what own deviations explain. Its law under the model comes from rewards
    drawn anew for the same cells, whose members are then found again. Rewards that are no coins are
    checked by their scores, which vary as they do within cells. Large tables are checked in a
    sample of their contexts, which `words` says.
    """
    seen = score_posterior(learner)
    everybody, (some, rows) = seen.counts.contexts, sample(seen.counts, CELLS)
    seen = seen._replace(counts=some, member=np.ascontiguousarray(seen.member[rows]))
    if seen.counts.contexts < 2 or learner.arms < 2:
        return Residuals(0.0, 0.0, 1.0, "too little was seen")
    model = _Model(learner, seen)
    statistic = model.leading(seen.counts.s)
    law = [model.leading(model.draw(np.random.default_rng([17, b]))) for b in range(BOOTSTRAPS)]
    usual = float(np.median(law))
    p = (1 + sum(other >= statistic for other in law)) / (1 + BOOTSTRAPS)
    words = "the residuals look like noise"
    if p <= 1.0 / (1 + BOOTSTRAPS):
        more = "more groups than were found" if seen.member.shape[1] > 1 else "groups"
        words = (
            f"the residuals have a leading direction: low rank, or {more}"
            if statistic >= LARGE * usual
            else "the residuals have a faint direction, which adaptive choices alone can leave"
        )
    if some.contexts < everybody:
        words += f" (in a sample of {some.contexts:,} of {everybody:,})"
    return Residuals(statistic, usual, p, words)


class _Model:
    """The model believed now, as one that rewards can be drawn from and fitted to again."""

    def __init__(self, learner: Levels, seen: Posterior) -> None:
        state = learner.state
        self.seen, self.counts, self.row = seen, seen.counts, seen.counts.row
        self.kappa, self.centre = float(state.value[KAPPA]), state.centre
        self.coins = learner.last_fit is None or not learner.last_fit.real
        member = seen.member.sum(axis=0)
        self.share = np.log((member + 1.0) / (member.sum() + len(member)))
        self.loading = state.loading[seen.counts.arm]
        self.precision = state.precision[seen.counts.context]
        self.factor = np.linalg.solve(
            self.precision, state.precision_mean[seen.counts.context][:, :, None]
        )

    def draw(self, rng: np.random.Generator) -> FloatVector:
        """Return totals of all cells, drawn anew."""
        counts, seen = self.counts, self.seen
        chosen = rng.random(counts.contexts)[:, None] > np.cumsum(seen.member, axis=1)
        group = np.minimum(chosen.sum(axis=1), seen.member.shape[1] - 1)
        mean = self._draw_means(rng)[counts.arm, group[self.row]]
        if self.loading.shape[1] > 0:
            noise = rng.standard_normal(self.factor.shape)
            root = np.linalg.cholesky(np.linalg.inv(self.precision))
            mean = mean + (self.loading * (self.factor + root @ noise)[self.row, :, 0]).sum(axis=1)
        mean = np.clip(mean, 1e-6, 1.0 - 1e-6)
        if math.isfinite(seen.m0):
            mean = rng.beta(seen.m0 * mean, seen.m0 * (1.0 - mean))
        if self.coins:
            return rng.binomial(counts.n.astype(np.int64), mean).astype(np.float64)
        drawn = rng.normal(counts.n * mean, np.sqrt(counts.n * mean * (1.0 - mean)))
        totals: FloatVector = np.clip(drawn, 0.0, counts.n)
        return totals

    def _draw_means(self, rng: np.random.Generator) -> FloatMatrix:
        """Return group means, drawn from what is believed of them."""
        return rng.beta(*beta_shape(self.seen.mean, self.seen.variance))

    def leading(self, s: FloatVector) -> float:
        """Return the leading singular value of the residuals of these totals."""
        counts, seen = self.counts, self.seen
        mean = self._refit(s)
        spread = np.maximum(mean * (1.0 - mean), LEAST_SPREAD)
        scale = np.sqrt(counts.weight(seen.m0) / (counts.n * spread))
        x = (s - counts.n * mean) * scale
        # An arm is dropped after bad luck, which leans all cells of its group to one side.
        cell = counts.arm * seen.member.shape[1] + np.argmax(seen.member, axis=1)[self.row]
        x -= (np.bincount(cell, x) / np.maximum(np.bincount(cell), 1))[cell]
        v = np.random.default_rng(19).standard_normal((counts.arms, min(4, counts.arms)))
        for _ in range(POWER_STEPS):
            v = np.linalg.qr(v)[0]
            y = directions.forth(counts.first, counts.arm, x, v)
            v = directions.back(counts.first, counts.arm, x, y, counts.arms)
        return float(np.linalg.norm(y, ord=2))

    def _refit(self, s: FloatVector) -> FloatVector:
        """Return the mean of each cell after a few steps of EM from the members believed now."""
        counts, seen = self.counts, self.seen
        if self.loading.shape[1] > 0:
            return self._with_factors(s)
        cells, member = replace(counts, s=s), seen.member
        for step in range(EM_STEPS + 1):
            pulls, totals = group_sums(cells, member, seen.m0)
            if step == EM_STEPS or member.shape[1] == 1:
                break
            member, _ = memberships(
                cells, seen.m0, self.kappa, self.centre, self.share, pulls, totals
            )
        means = (totals + self.kappa * self.centre[:, None]) / (pulls + self.kappa)
        mean: FloatVector = (member @ means.T)[self.row, counts.arm]
        return mean

    def _with_factors(self, s: FloatVector) -> FloatVector:
        """Return the mean of each cell with the factors that these totals speak for."""
        counts, seen = self.counts, self.seen
        mean = seen.mean[counts.arm, 0]
        pull = counts.weight(seen.m0) * (s - counts.n * mean) / seen.spread[counts.arm, 0]
        precision_mean = np.zeros((counts.contexts, self.loading.shape[1], 1))
        np.add.at(precision_mean, self.row, (pull[:, None] * self.loading)[:, :, None])
        factor = np.linalg.solve(self.precision, precision_mean)[:, :, 0]
        shifted: FloatVector = mean + (self.loading * factor[self.row]).sum(axis=1)
        return shifted
