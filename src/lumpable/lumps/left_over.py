"""A check of what the model leaves over: are groups the right model at all?"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from lumpable.base.checks import FloatMatrix, FloatVector
from lumpable.lumps import arithmetic
from lumpable.lumps.beliefs import Row
from lumpable.lumps.laws import Now, beta_shape, context_of, now
from lumpable.lumps.levels import ThreeLevels
from lumpable.lumps.model import gathered, posterior
from lumpable.lumps.state import KAPPA

BOOTSTRAPS = 39
"""Draws of the law of what is left over, so that the least p-value is 1/40."""
EM_STEPS = 5
POWER_STEPS = 20
LARGE = 1.25
"""What is left over matters if it is so many times what is usual."""
LEAST_SPREAD = 0.01
"""Residuals are not divided by less, lest a few cells with rare rewards outweigh all others."""


def residuals(learner: ThreeLevels) -> Row:
    """Check whether rewards leave over a direction that the model should have none of.

    The statistic is the leading singular value of the standardised residuals of all cells, after
    groups (or factors) and what own deviations explain; its law under the model comes from rewards
    drawn anew for the same cells, whose members are then found again.
    """
    seen = now(learner)
    if seen.counts.contexts < 2 or learner.arms < 2:
        return {"statistic": 0.0, "usual": 0.0, "p_value": 1.0, "words": "too little was seen"}
    model = _Model(learner, seen)
    statistic = model.left_over(seen.counts.s)
    law = [model.left_over(model.drawn(np.random.default_rng([17, b]))) for b in range(BOOTSTRAPS)]
    usual = float(np.median(law))
    p = (1 + sum(other >= statistic for other in law)) / (1 + BOOTSTRAPS)
    words = "what is left over looks like noise"
    if p <= 1.0 / (1 + BOOTSTRAPS):
        more = "more groups than were found" if seen.member.shape[1] > 1 else "groups"
        words = (
            f"a leading direction is left over: low rank, or {more}"
            if statistic >= LARGE * usual
            else "a faint direction is left over, as choices that follow rewards leave it, too"
        )
    return {"statistic": statistic, "usual": usual, "p_value": p, "words": words}


class _Model:
    """The model believed now, as one that rewards can be drawn from and fitted to again."""

    def __init__(self, learner: ThreeLevels, seen: Now) -> None:
        state = learner.state
        self.seen, self.counts, self.row = seen, seen.counts, context_of(seen.counts)
        self.kappa, self.centre = float(state.value[KAPPA]), state.centre
        member = seen.member.sum(axis=0)
        self.share = np.log((member + 1.0) / (member.sum() + len(member)))
        self.loading = state.loading[seen.counts.arm]
        self.grip = state.grip[seen.counts.context]
        self.factor = np.linalg.solve(self.grip, state.force[seen.counts.context][:, :, None])

    def drawn(self, rng: np.random.Generator) -> FloatVector:
        """Return totals of all cells, drawn anew."""
        counts, seen = self.counts, self.seen
        chosen = rng.random(counts.contexts)[:, None] > np.cumsum(seen.member, axis=1)
        group = np.minimum(chosen.sum(axis=1), seen.member.shape[1] - 1)
        mean = self._theta(rng)[counts.arm, group[self.row]]
        if self.loading.shape[1] > 0:
            noise = rng.standard_normal(self.factor.shape)
            root = np.linalg.cholesky(np.linalg.inv(self.grip))
            mean = mean + (self.loading * (self.factor + root @ noise)[self.row, :, 0]).sum(axis=1)
        if counts.real:
            variance = seen.noise * (1.0 / counts.n + 1.0 / seen.m0)
            return counts.n * rng.normal(mean, np.sqrt(variance))
        mean = np.clip(mean, 1e-6, 1.0 - 1e-6)
        if math.isfinite(seen.m0):
            mean = rng.beta(seen.m0 * mean, seen.m0 * (1.0 - mean))
        return rng.binomial(counts.n.astype(np.int64), mean).astype(np.float64)

    def _theta(self, rng: np.random.Generator) -> FloatMatrix:
        """Return group means, drawn from what is believed of them."""
        mean, variance = self.seen.mean, self.seen.variance
        if self.counts.real:
            return rng.normal(mean, np.sqrt(variance))
        return rng.beta(*beta_shape(mean, variance))

    def left_over(self, s: FloatVector) -> float:
        """Return the leading singular value of the residuals of these totals."""
        counts, seen = self.counts, self.seen
        mean = self._refitted(s)
        spread = seen.noise if counts.real else np.maximum(mean * (1.0 - mean), LEAST_SPREAD)
        scale = np.sqrt(counts.weight(seen.m0) / (counts.n * spread))
        x = (s - counts.n * mean) * scale
        # An arm is dropped after bad luck, which leans all cells of its group to one side.
        cell = counts.arm * seen.member.shape[1] + np.argmax(seen.member, axis=1)[self.row]
        x -= (np.bincount(cell, x) / np.maximum(np.bincount(cell), 1))[cell]
        v = np.random.default_rng(19).standard_normal((counts.arms, min(4, counts.arms)))
        for _ in range(POWER_STEPS):
            v = np.linalg.qr(v)[0]
            y = arithmetic.forth(counts.first, counts.arm, x, v)
            v = arithmetic.back(counts.first, counts.arm, x, y, counts.arms)
        return float(np.linalg.norm(y, ord=2))

    def _refitted(self, s: FloatVector) -> FloatVector:
        """Return the mean of each cell after a few steps of EM from the members believed now."""
        counts, seen = self.counts, self.seen
        if self.loading.shape[1] > 0:
            return self._factored(s)
        cells, member = replace(counts, s=s), seen.member
        for step in range(EM_STEPS + 1):
            pulls, totals = gathered(cells, member, seen.m0)
            if step == EM_STEPS or member.shape[1] == 1:
                break
            member, _ = posterior(
                cells, seen.m0, seen.noise, self.kappa, self.centre, self.share, pulls, totals
            )
        means = (totals + self.kappa * self.centre[:, None]) / (pulls + self.kappa)
        found: FloatVector = (member @ means.T)[self.row, counts.arm]
        return found

    def _factored(self, s: FloatVector) -> FloatVector:
        """Return the mean of each cell with the factors that these totals speak for."""
        counts, seen = self.counts, self.seen
        mean = seen.mean[counts.arm, 0]
        pull = counts.weight(seen.m0) * (s - counts.n * mean) / seen.spread[counts.arm, 0]
        force = np.zeros((counts.contexts, self.loading.shape[1], 1))
        np.add.at(force, self.row, (pull[:, None] * self.loading)[:, :, None])
        factor = np.linalg.solve(self.grip, force)[:, :, 0]
        found: FloatVector = mean + (self.loading * factor[self.row]).sum(axis=1)
        return found
