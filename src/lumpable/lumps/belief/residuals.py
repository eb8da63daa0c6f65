"""A check of the residuals: are groups the right model?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from lumpable.base.arrays import BoolVector, FloatVector, IntVector
from lumpable.lumps.belief.beta_laws import beta_shape
from lumpable.lumps.belief.leading import as_large, leading, p_value, with_new_signs
from lumpable.lumps.belief.own_units import in_own_units
from lumpable.lumps.belief.posterior import Posterior, counts_now, score_posterior
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.state import KAPPA
from lumpable.lumps.model.counts import group_sums, sample
from lumpable.lumps.model.fit import memberships
from lumpable.lumps.model.scores import scored

BOOTSTRAPS = 39
"""Draws of the statistic under the model, so that the least p-value is 1/40."""
LEAST_P = 1.0 / (1 + BOOTSTRAPS)
EM_STEPS = 5
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
    groups (or factors) and what own deviations explain. Its law under the model comes from totals
    drawn anew for the same cells, whose members are then found again. Coins are drawn as coins.
    Other rewards are checked by their scores, whose law is not known: the residual of each cell
    keeps its size and gets a new sign (Hong, Sheng and Dobriban 2020), so that noise of any kind
    stays where it is, and only directions go. Where contexts differ widely in noise, the rewards
    themselves must have a direction, too (see `own_units`). Large tables are checked in a sample
    of their contexts, which `words` says.
    """
    seen = score_posterior(learner)
    everybody, (some, rows) = seen.counts.contexts, sample(seen.counts, CELLS)
    seen = seen._replace(counts=some, member=np.ascontiguousarray(seen.member[rows]))
    if seen.counts.contexts < 2 or learner.arms < 2:
        return Residuals(0.0, 0.0, 1.0, "too little was seen")
    model = _Model(learner, seen)
    statistic, law = (
        model.leading(),
        [model.leading(np.random.default_rng([17, b])) for b in range(BOOTSTRAPS)],
    )
    usual, p = float(np.median(law)), p_value(statistic, law)
    if p <= LEAST_P and not model.coins:
        p = max(p, _of_rewards(learner, rows))
    words = "the residuals look like noise"
    if p <= LEAST_P:
        more = "more groups than were found" if seen.member.shape[1] > 1 else "groups"
        words = (
            f"the residuals have a leading direction: low rank, or {more}"
            if statistic >= LARGE * usual
            else "the residuals have a faint direction, which adaptive choices alone can leave"
        )
    if some.contexts < everybody:
        words += f" (in a sample of {some.contexts:,} of {everybody:,})"
    return Residuals(statistic, usual, p, words)


def _of_rewards(learner: Levels, rows: IntVector) -> float:
    """Return the p-value of the rewards themselves; 0 where their scores can be trusted."""
    counts, fit = counts_now(learner), learner.last_fit
    if fit is None or fit.scale is None:
        return 0.0
    label = np.argmax(learner.membership(counts.context), axis=1)
    units = in_own_units(counts, scored(counts, fit.scale.score), label, rows)
    if units is None:
        return 0.0
    law = [units.leading(np.random.default_rng([29, b])) for b in range(BOOTSTRAPS)]
    return p_value(units.leading(), law)


class _Model:
    """The model believed now, as one that totals can be drawn from and fitted to again."""

    def __init__(self, learner: Levels, seen: Posterior) -> None:
        state, counts = learner.state, seen.counts
        self.seen, self.counts, self.row = seen, counts, counts.row
        self.kappa, self.centre = float(state.value[KAPPA]), state.centre
        member = seen.member.sum(axis=0)
        self.share = np.log((member + 1.0) / (member.sum() + len(member)))
        self.loading = state.loading[counts.arm]
        self.precision = state.precision[counts.context]
        self.factor = np.linalg.solve(
            self.precision, state.precision_mean[counts.context][:, :, None]
        )
        # Also beside wild rewards, which are heads or tails as scores.
        self.coins = bool((_whole(counts.n) & _whole(counts.s)).all())
        self.mean = self._refit(counts.s)
        self.seen_x, self.scale = self._residuals(counts.s, self.mean)

    def leading(self, rng: np.random.Generator | None = None) -> float:
        """Return the leading singular value of the residuals: as seen, or as chance draws them."""
        counts, x = self.counts, self.seen_x
        if rng is not None and self.coins:
            s = self._coins(rng)
            x, _ = self._residuals(s, self._refit(s))
        elif rng is not None:
            # Fits take a part of the residuals away: what is left is compared at one size.
            s = counts.n * self.mean + with_new_signs(x, rng) / self.scale
            x = as_large(self._residuals(s, self._refit(s))[0], x)
        return leading(counts.first, counts.arm, counts.arms, x)

    def _coins(self, rng: np.random.Generator) -> FloatVector:
        """Return totals of all cells, drawn from what is believed of them."""
        counts, seen = self.counts, self.seen
        chosen = rng.random(counts.contexts)[:, None] > np.cumsum(seen.member, axis=1)
        group = np.minimum(chosen.sum(axis=1), seen.member.shape[1] - 1)
        theta = rng.beta(*beta_shape(seen.mean, seen.variance))
        mean = theta[counts.arm, group[self.row]]
        if self.loading.shape[1] > 0:
            noise = rng.standard_normal(self.factor.shape)
            root = np.linalg.cholesky(np.linalg.inv(self.precision))
            mean = mean + (self.loading * (self.factor + root @ noise)[self.row, :, 0]).sum(axis=1)
        mean = np.clip(mean, 1e-6, 1.0 - 1e-6)
        if math.isfinite(seen.m0):
            mean = rng.beta(seen.m0 * mean, seen.m0 * (1.0 - mean))
        return rng.binomial(counts.n.astype(np.int64), mean).astype(np.float64)

    def _residuals(self, s: FloatVector, mean: FloatVector) -> tuple[FloatVector, FloatVector]:
        """Return the standardised residuals of these totals, and what they are multiplied by."""
        counts, seen = self.counts, self.seen
        spread = np.maximum(mean * (1.0 - mean), LEAST_SPREAD)
        scale = np.sqrt(counts.weight(seen.m0) / (counts.n * spread))
        x = (s - counts.n * mean) * scale
        # An arm is dropped after bad luck, which leans all cells of its group to one side.
        cell = counts.arm * seen.member.shape[1] + np.argmax(seen.member, axis=1)[self.row]
        x -= (np.bincount(cell, x) / np.maximum(np.bincount(cell), 1))[cell]
        return x, scale

    def _refit(self, s: FloatVector) -> FloatVector:
        """Return the mean of each cell after a few steps of EM from the members believed now."""
        counts, seen = self.counts, self.seen
        if self.loading.shape[1] > 0:
            return self._with_factors(s)
        cells, member = replace(counts, s=s), seen.member
        for step in range(EM_STEPS + 1):
            pulls, totals = group_sums(cells, member, seen.m0)
            totals = np.clip(totals, 0.0, pulls)  # with new signs, rare heads may come to less
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


def _whole(x: FloatVector) -> BoolVector:
    whole: BoolVector = x == np.floor(x)
    return whole
