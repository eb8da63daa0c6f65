"""The practical learner's round written out literally: dense, in plain numpy, from all counts.

Letters are those of `lumpable.lumps.model.counts`. It shares with the learner its constants, the
search for a fit and nothing else; digamma and trigamma (the zeta function at 2) are scipy's.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.lumps.core import index, learning, levels
from lumpable.lumps.model import search
from lumpable.lumps.model.counts import Counts
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.model.strengths import USUAL_OWN_STRENGTH


class LiteralLevels:
    """Three levels of belief and an index."""

    def __init__(self, contexts: int, arms: int) -> None:
        S, K = contexts, arms
        self.S, self.K, self.tells, self.squares, self.real = S, K, 0, 0.0, False
        self.n, self.s = np.zeros((S, K)), np.zeros((S, K))
        self.rewards: dict[tuple[int, int], list[float]] = {}
        self.log_weight, self.loading = np.zeros((S, 1)), np.zeros((K, 0))
        self.pulls, self.totals, self.pending = (np.zeros((K, 1)) for _ in range(3))
        self.visits, self.allowed = np.zeros(1), np.ones(K, dtype=bool)
        self.kappa, self.m0, self.noise = 2.0, USUAL_OWN_STRENGTH, 1.0
        self.centre, self.prior_weight = np.full(K, 0.5), np.full(K, np.inf)
        self.A, self.b = np.zeros((S, 0, 0)), np.zeros((S, 0))
        self.fit: Fit | None = None
        self.due = learning.FIRST_FIT

    # --- What is believed ---------------------------------------------------------------------

    def weights(self, i: int) -> FloatVector:
        weight: FloatVector = special.softmax(self.log_weight[i])
        return weight

    def group_means(self) -> FloatMatrix:
        """m_gj = (s_gj + kappa p_j) / (n_gj + kappa), (K, M)."""
        prior = self.kappa * self.centre[:, None]
        mean: FloatMatrix = (self.totals + prior) / (self.pulls + self.kappa)
        return mean

    def factors(self, i: int) -> tuple[FloatVector, FloatMatrix]:
        """Posterior mean and covariance of f_i: precision A = I + sum w L L', A f = b."""
        cover = np.linalg.inv(self.A[i]) if self.b.shape[1] else self.A[i]
        return cover @ self.b[i], cover

    # --- The index ----------------------------------------------------------------------------

    def index(self, i: int) -> FloatVector:
        """Return each arm's index for this context; arms that are not allowed get -infinity."""
        w = self.weights(i)
        w = np.where(w < index.UNLIKELY, 0.0, w)
        w = w / w.sum()
        N = float(w @ self.visits)
        m_gj, x = self.group_means(), self.pulls + self.pending + self.kappa
        mbar, p, W = m_gj @ w, self.centre[:, None], self.prior_weight[:, None]
        if self.real:
            v_gj = self.noise / x + (self.kappa / x) ** 2 * self.noise / W
            scale = np.full(self.K, self.noise)
        else:
            v_gj = m_gj * (1 - m_gj) / (x + 1) + (self.kappa / x) ** 2 * p * (1 - p) / (W + 1)
            scale = mbar * (1 - mbar)
        v = v_gj @ w + index.TELLING * ((m_gj - mbar[:, None]) ** 2 @ w)
        c2 = index.WIDTH + index.WIDTH_LOG * math.log(1 + N / self.allowed.sum())
        bonus = c2 * v * np.log(1 + N * v / scale)
        f, cover = self.factors(i)
        m = mbar + self.loading @ f
        around = np.einsum("jx,xy,jy->j", self.loading, cover, self.loading)
        u = np.zeros(self.K)
        if math.isfinite(self.m0):
            own = self.m0 + self.n[i]
            m = (self.m0 * m + self.s[i]) / own
            part = (self.m0 / own) ** 2
            v, bonus, around = part * v, part * bonus, part * around
            u = self.noise / own if self.real else np.maximum(m * (1 - m), index.EDGE) / (own + 1)
            bonus = bonus + index.OWN_WIDTH * u * np.log(1 + self.n[i].sum() / own)
        bonus = bonus + index.OWN_WIDTH * around
        found: FloatVector = np.where(self.allowed, self.upper(m, v + u + around, bonus), -np.inf)
        return found

    def upper(self, m: FloatVector, V: FloatVector, bonus: FloatVector) -> FloatVector:
        """Return the mean and so many standard deviations: of the logit, for 0 and 1."""
        if self.real:
            real: FloatVector = m + np.sqrt(2 * bonus)
            return real
        m = np.clip(m, index.EDGE, 1 - index.EDGE)
        e = np.maximum(m * (1 - m) / V - 1, 0.5)
        a, b = np.maximum(m * e, index.LEAST), np.maximum((1 - m) * e, index.LEAST)
        spread = special.zeta(2, a) + special.zeta(2, b)  # trigamma
        logit: FloatVector = special.digamma(a) - special.digamma(b)
        return logit + np.sqrt(2 * spread * bonus / V)

    # --- Learning -----------------------------------------------------------------------------

    def tell(self, i: int, j: int, reward: float) -> None:
        self.rewards.setdefault((i, j), []).append(reward)
        turned = not self.real and reward not in (0.0, 1.0)
        self.real = self.real or turned
        before = self.told(self.n[i, j])
        self.n[i, j] += 1
        self.s[i, j] += reward
        self.tells += 1
        self.learn(i, j, self.told(self.n[i, j]) - before, reward)
        if turned or self.tells >= self.due:
            self.adopt(search.fit(self.counts(), self.fit))

    def told(self, n: float) -> float:
        """How many independent rewards n of one cell are worth: n (1 + m0) / (n + m0)."""
        if math.isinf(self.m0):
            return n
        return n * (self.m0 if self.real else 1 + self.m0) / (n + self.m0)

    def learn(self, i: int, j: int, d: float, reward: float) -> None:
        """l_ig += d ln f(reward | m_gj); then w_g d into the groups' sums."""
        m = self.group_means()[j]
        if self.real:
            variance = self.noise * (1 + 1 / (self.pulls[j] + self.kappa))
            self.log_weight[i] -= d * (reward - m) ** 2 / (2 * variance)
            self.log_weight[i] -= d * np.log(variance / self.noise) / 2
        else:
            likely = np.clip(m, index.EDGE, 1 - index.EDGE)
            self.log_weight[i] += d * np.log(likely if reward == 1.0 else 1 - likely)
        w, L, left = self.weights(i), self.loading[j], reward
        if len(L):
            left -= float(L @ self.factors(i)[0])
            precision = d / self.reward_variance(m[0])
            self.A[i] += precision * np.outer(L, L)
            self.b[i] += precision * (reward - m[0]) * L
        self.pulls[j] += w * d
        self.totals[j] += w * d * left
        self.visits += w

    def reward_variance(self, p: float) -> float:
        return self.noise if self.real else max(p * (1 - p), 0.02 * 0.98)

    def counts(self) -> Counts:
        """Return all that was seen."""
        context = np.flatnonzero(self.n.sum(axis=1))
        seen = self.n[context] > 0
        first = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
        squares = sum(float(np.var(y)) * len(y) for y in self.rewards.values())
        arm = np.nonzero(seen)[1].copy()  # contiguous, as a learner's are
        return Counts(
            context, first, arm, self.n[context][seen], self.s[context][seen],
            self.K, self.real, squares,
        )  # fmt: skip

    def adopt(self, fit: Fit) -> None:
        """Go on from a fit: its strengths, and its beliefs about the contexts it knew."""
        early = self.tells < learning.EARLY * len(fit.context)
        growth = levels.EARLY_GROWTH if early else levels.GROWTH
        self.due = max(self.tells + 1, math.ceil(growth * self.tells))
        self.fit, self.kappa, self.m0, self.noise = fit, fit.kappa, fit.m0, fit.noise
        self.centre, self.prior_weight, self.loading = fit.centre, fit.prior_weight, fit.loading
        self.pulls, self.totals = fit.pulls.copy(), fit.totals.copy()
        self.pending = np.zeros_like(fit.pulls)
        self.visits = self.n[fit.context].sum(axis=1) @ fit.member
        self.log_weight = np.tile(fit.share, (self.S, 1))
        self.log_weight[fit.context] = np.log(np.maximum(fit.member, 1e-300))
        self.refactor(fit)

    def refactor(self, fit: Fit) -> None:
        """Let every cell say what it says about its context's factors."""
        q, p = fit.rank, fit.means[:, 0]
        self.A, self.b = np.tile(np.eye(q), (self.S, 1, 1)), np.zeros((self.S, q))
        for i, j in self.rewards if q else ():
            kept = p[j] if self.real else float(np.clip(p[j], 0.02, 0.98))
            variance = self.noise if self.real else kept * (1 - kept)
            told, L = self.told(self.n[i, j]), fit.loading[j]
            self.A[i] += told / variance * np.outer(L, L)
            self.b[i] += told / variance * (self.s[i, j] / self.n[i, j] - p[j]) * L
