"""The practical learner's round written out literally: dense, in plain numpy, from all rewards.

Letters are those of `lumpable.lumps.model.counts`. It shares with the learner its constants but
for SHARED, the search for a fit and nothing else; digamma and trigamma (the zeta function at 2) are
scipy's.
"""

from __future__ import annotations

import math

import numpy as np
from counts_made import counted
from scipy import special

from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.lumps.core import adoption, index, learning, levels, widths
from lumpable.lumps.model import ends, fitted
from lumpable.lumps.model.counts import Counts
from lumpable.lumps.model.fit import Fit, Scale
from lumpable.lumps.model.strengths import USUAL_OWN_STRENGTH

SHARED = 8.0
"""Where members deviate, the group's width counts m0 / (m0 + SHARED) times."""


class LiteralLevels:
    """Three levels of belief and an index."""

    def __init__(self, contexts: int, arms: int) -> None:
        S, K = contexts, arms
        self.S, self.K, self.tells = S, K, 0
        self.rewards: dict[tuple[int, int], list[float]] = {}
        self.log_weight, self.loading = np.zeros((S, 1)), np.zeros((K, 0))
        self.pulls, self.totals, self.pending = (np.zeros((K, 1)) for _ in range(3))
        self.visits, self.allowed = np.zeros(1), np.ones(K, dtype=bool)
        self.kappa, self.m0, self.own = 2.0, USUAL_OWN_STRENGTH, USUAL_OWN_STRENGTH
        self.centre, self.prior_weight = np.full(K, 0.5), np.full(K, np.inf)
        self.A, self.b = np.zeros((S, 0, 0)), np.zeros((S, 0))
        self.scale: Scale | None = None
        self.worth_pulls, self.worth_totals = np.zeros((K, 1)), np.zeros((K, 1))
        self.fit: Fit | None = None
        self.due = learning.FIRST_FIT

    # --- What was seen ------------------------------------------------------------------------

    def n(self, i: int) -> FloatVector:
        """Return how many rewards a context had of each arm."""
        return np.array([float(len(self.rewards.get((i, j), []))) for j in range(self.K)])

    def s(self, i: int) -> FloatVector:
        """Return the totals of these rewards; wild ones count as the fence."""
        return np.array(
            [sum(map(self.fenced, self.rewards.get((i, j), []))) for j in range(self.K)]
        )

    def fenced(self, reward: float) -> float:
        if self.scale is None:
            return reward
        return min(max(reward, self.scale.score.low), self.scale.score.high)

    def grade(self, reward: float) -> float:
        """Return the score of a reward: linear between knots, constant beyond them."""
        if self.scale is None:
            return min(max(reward, 0.0), 1.0)
        return float(self.scale.score.of(np.array([reward]))[0])

    def phi(self, j: int) -> float:
        return 1.0 if self.scale is None else float(self.scale.phi[j])

    def counts(self) -> Counts:
        """Return all that was seen."""
        rows = [(i, j, y) for (i, j), kept in self.rewards.items() for y in kept]
        context, arm, reward = zip(*rows, strict=True)
        return counted(np.array(context), np.array(arm), np.array(reward), self.K)

    # --- What is believed ---------------------------------------------------------------------

    def weights(self, i: int) -> FloatVector:
        weight: FloatVector = special.softmax(self.log_weight[i])
        return weight

    def score_means(self) -> FloatMatrix:
        """m_gj = (s_gj + kappa p_j) / (n_gj + kappa), (K, M)."""
        prior = self.kappa * self.centre[:, None]
        mean: FloatMatrix = (self.totals + prior) / (self.pulls + self.kappa)
        return mean

    def group_means(self) -> FloatMatrix:
        """Return the same of rewards: those of real ones with kappa_gj = v_gj / tau^2."""
        if self.scale is None:
            return self.score_means()
        worth = self.scale.worth
        kappa = worth.noise / worth.between
        mean: FloatMatrix = (self.worth_totals + kappa * worth.centre[:, None]) / (
            self.worth_pulls + kappa
        )
        return mean

    def factors(self, i: int) -> tuple[FloatVector, FloatMatrix]:
        """Posterior mean and covariance of f_i: precision A = I + sum w L L', A f = b."""
        cover = np.linalg.inv(self.A[i]) if self.b.shape[1] else self.A[i]
        return cover @ self.b[i], cover

    @property
    def effects(self) -> FloatMatrix:
        """What factors add to each arm, in rewards."""
        return self.loading if self.scale is None else self.scale.worth.loading

    # --- The index ----------------------------------------------------------------------------

    def group_spreads(self, w: FloatVector) -> tuple[FloatMatrix, FloatVector]:
        """Return the variance of each arm's mean in each group, and that of a single reward."""
        if self.scale is not None:
            worth = self.scale.worth
            kappa, hold = worth.noise / worth.between, worth.hold[:, None]
            x = self.worth_pulls + self.pending + kappa
            return worth.noise / x + (kappa / x) ** 2 / hold, worth.noise @ w
        m_gj, p, W = self.score_means(), self.centre[:, None], self.prior_weight[:, None]
        x, mbar = self.pulls + self.pending + self.kappa, m_gj @ w
        v_gj = m_gj * (1 - m_gj) / (x + 1) + (self.kappa / x) ** 2 * p * (1 - p) / (W + 1)
        return v_gj, mbar * (1 - mbar)

    def index(self, i: int) -> FloatVector:
        """Return each arm's index for this context; arms that are not allowed get -infinity."""
        w = self.weights(i)
        w = np.where(w < index.UNLIKELY, 0.0, w)
        w = w / w.sum()
        N = float(w @ self.visits)
        m_gj, (v_gj, scale) = self.group_means(), self.group_spreads(w)
        mbar = m_gj @ w
        v = v_gj @ w + index.TELLING * ((m_gj - mbar[:, None]) ** 2 @ w)
        wide = widths.WIDTH
        if len(w) > 1 and math.isfinite(self.own):
            wide *= self.own / (self.own + SHARED)
        c2 = wide + widths.WIDTH_LOG * math.log(1 + N / self.allowed.sum())
        bonus = c2 * v * np.log(1 + N * v / scale)
        f, cover = self.factors(i)
        m = mbar + self.effects @ f
        around = np.einsum("jx,xy,jy->j", self.effects, cover, self.effects)
        if self.scale is not None and self.scale.worth.ends.rise > 0:
            found = self.two_valued(m, np.sqrt(2 * bonus), scale, i)
            return np.asarray(np.where(self.allowed, found, -np.inf))
        u = np.zeros(self.K)
        if math.isfinite(self.own):
            n, own = self.n(i), self.own + self.n(i)
            m = (self.own * m + self.s(i)) / own
            part = (self.own / own) ** 2
            v, bonus, around = part * v, part * bonus, part * around
            coin = np.maximum(m * (1 - m), index.EDGE) / (own + 1)
            u = coin if self.scale is None else scale / own
        bonus = bonus + index.OWN_WIDTH * around
        if self.scale is not None:
            found = self.bent(m, bonus, u, i)
        else:
            if math.isfinite(self.own):
                bonus = bonus + index.OWN_WIDTH * u * np.log(1 + n.sum() / own)
            found = self.upper(m, v + u + around, bonus)
        best: FloatVector = np.where(self.allowed, found, -np.inf)
        return best

    def bent(self, m: FloatVector, bonus: FloatVector, u: FloatVector, i: int) -> FloatVector:
        """Return m + g + R (1 - exp(-(B - g) / R)): the Gittins index, bent below the ceiling."""
        assert self.scale is not None
        g = np.sqrt(2 * bonus)
        if math.isinf(self.own):
            return np.asarray(m + g)
        n, worth = self.n(i), self.scale.worth
        x = widths.AHEAD * (n.sum() + 1) / (self.own + n)
        B = np.sqrt(g**2 + u * np.array([self.gittins(each) for each in x]))
        step = adoption.LEAST_STEP * math.sqrt(worth.noise.mean())
        R = np.maximum(worth.ceiling - m - g, step)
        return np.asarray(m + g + R * (1 - np.exp(-(B - g) / R)))

    def two_valued(self, m: FloatVector, g: FloatVector, scale: FloatVector, i: int) -> FloatVector:
        """Return the mean of two values, the higher one with its odds times the rounds to come."""
        assert self.scale is not None
        worth, n, s = self.scale.worth, self.n(i), self.s(i)
        low, high, around = worth.ends
        q = np.clip((m + g - low) / (high - low), ends.RARELY, 1 - ends.RARELY)
        spread = around + scale / np.maximum(n, 1)
        y = np.where(n > 0, s / np.maximum(n, 1), (low + high) / 2)
        odds = q / (1 - q) * np.exp(((y - low) ** 2 - (y - high) ** 2) / (2 * spread))
        trials = 1 + adoption.TELL_APART * worth.noise.mean() / (high - low) ** 2
        odds = odds * (1 + widths.AHEAD * (n.sum() + 1) / trials)
        below, above = (
            (end / around + s / scale) / (1 / around + n / scale) for end in (low, high)
        )
        return np.asarray((below + odds * above) / (1 + odds))

    def gittins(self, x: float) -> float:
        """Chick and Gans (2009), equation 18, squared."""
        if x <= 1 / 7:
            return x / 2
        if x <= 100:
            b = math.exp(-0.02645 * math.log(x) ** 2 + 0.89106 * math.log(x) - 0.4873)
            return b**2 / x
        return 2 * math.log(x) - math.log(math.log(x)) - math.log(16 * math.pi)

    def upper(self, m: FloatVector, V: FloatVector, bonus: FloatVector) -> FloatVector:
        """Return the mean of the logit and so many standard deviations, for 0 and 1."""
        m = np.clip(m, index.EDGE, 1 - index.EDGE)
        e = np.maximum(m * (1 - m) / V - 1, 0.5)
        a, b = np.maximum(m * e, index.LEAST), np.maximum((1 - m) * e, index.LEAST)
        spread = special.zeta(2, a) + special.zeta(2, b)  # trigamma
        logit: FloatVector = special.digamma(a) - special.digamma(b)
        return logit + np.sqrt(2 * spread * bonus / V)

    # --- Learning -----------------------------------------------------------------------------

    def tell(self, i: int, j: int, reward: float) -> None:
        before = float(self.n(i)[j])
        self.rewards.setdefault((i, j), []).append(reward)
        self.tells += 1
        self.learn(i, j, before, reward)
        turned = self.scale is None and reward not in (0.0, 1.0)
        if turned or self.tells >= self.due:
            self.adopt(fitted.fit(self.counts(), self.fit))

    def told(self, n: float) -> float:
        """How many independent coins n of one cell are worth: n (1 + m0) / (n + m0)."""
        return n if math.isinf(self.m0) else n * (1 + self.m0) / (n + self.m0)

    def told_worth(self, n: float) -> float:
        """How many independent rewards n of one cell are worth, where m0 is counted in rewards."""
        return n if math.isinf(self.own) else n * self.own / (n + self.own)

    def learn(self, i: int, j: int, n: float, reward: float) -> None:
        """l_ig += d ln f(score | m_gj), d in coins; then w_g d into the groups' sums.

        Those of real rewards grow beside them, by the reward itself.
        """
        d = self.told((n + 1) / self.phi(j)) - self.told(n / self.phi(j))
        m, u = self.score_means()[j], self.grade(reward)
        likely = np.clip(m, index.EDGE, 1 - index.EDGE)
        self.log_weight[i] += d * (u * np.log(likely) + (1 - u) * np.log(1 - likely))
        w, L, left, worth_left = self.weights(i), self.loading[j], u, self.fenced(reward)
        if len(L):
            f = self.factors(i)[0]
            left, worth_left = left - float(L @ f), worth_left - float(self.effects[j] @ f)
            precision = d / max(m[0] * (1 - m[0]), 0.02 * 0.98)
            self.A[i] += precision * np.outer(L, L)
            self.b[i] += precision * (u - m[0]) * L
        self.pulls[j] += w * d
        self.totals[j] += w * d * left
        more = self.told_worth(n + 1) - self.told_worth(n)
        self.worth_pulls[j] += w * more
        self.worth_totals[j] += w * more * worth_left
        self.visits += w

    def adopt(self, fit: Fit) -> None:
        """Go on from a fit: its strengths, and its beliefs about the contexts it knew."""
        early = self.tells < learning.EARLY * len(fit.context)
        growth = levels.EARLY_GROWTH if early else levels.GROWTH
        self.due = max(self.tells + 1, math.ceil(growth * self.tells))
        self.fit, self.scale, self.kappa, self.m0 = fit, fit.scale, fit.kappa, fit.m0
        self.centre, self.prior_weight, self.loading = fit.centre, fit.prior_weight, fit.loading
        self.pulls, self.totals = fit.pulls.copy(), self.averaged(fit.pulls, fit.totals, fit)
        self.pending = np.zeros_like(fit.pulls)
        self.own, self.worth_pulls, self.worth_totals = (
            fit.m0,
            self.pending.copy(),
            self.pending.copy(),
        )
        if fit.scale is not None:
            worth = fit.scale.worth
            self.own = worth.own
            self.worth_pulls = worth.pulls.copy()
            self.worth_totals = self.averaged(worth.pulls, worth.totals, fit)
        visits = np.array([self.n(int(i)).sum() for i in fit.context])
        self.visits = visits @ fit.member
        self.log_weight = np.tile(fit.share, (self.S, 1))
        self.log_weight[fit.context] = np.log(np.maximum(fit.member, 1e-300))
        self.refactor(fit)

    def averaged(self, pulls: FloatMatrix, totals: FloatMatrix, fit: Fit) -> FloatMatrix:
        """Each group's average, (1 - doubt) of it, and doubt of that of all groups."""
        mean = totals / np.maximum(pulls, 1e-9)
        whole = totals.sum(axis=1) / np.maximum(pulls.sum(axis=1), 1e-9)
        return np.asarray(pulls * ((1 - fit.doubt) * mean + fit.doubt * whole[:, None]))

    def refactor(self, fit: Fit) -> None:
        """Let every cell say what it says about its context's factors."""
        q, p = fit.rank, fit.means[:, 0]
        self.A, self.b = np.tile(np.eye(q), (self.S, 1, 1)), np.zeros((self.S, q))
        for (i, j), kept in self.rewards.items() if q else ():
            clear = float(np.clip(p[j], 0.02, 0.98))
            each = self.told(len(kept) / self.phi(j)) / (clear * (1 - clear))
            score = sum(map(self.grade, kept)) / len(kept)
            self.A[i] += each * np.outer(fit.loading[j], fit.loading[j])
            self.b[i] += each * (score - p[j]) * fit.loading[j]
