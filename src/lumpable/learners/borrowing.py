"""Borrowing: near to BASS, Cherkaoui, Barlier and Colin, "Adaptive sample sharing ...", ICML 2025.

"Adaptive sample sharing for multi agent linear bandits" lets an agent use the rewards of others for
as long as the bias that they bring is below the uncertainty that they remove, with no model of who
is alike. So does this; but they test the Mahalanobis distance of linear estimates, pair by pair,
and the rule below is ours, after Lepski's balance of bias and variance. With n_ij plays and the
mean m_ij of context i and arm j, noise sigma, and sums over arms that contexts i and l both played,

    w_j = 1 / (1 / n_ij + 1 / n_lj),    W_il = sum_j w_j,
    V_il = sum_j (w_j (m_ij - m_lj)^2 - sigma^2),

V_il / W_il is an unbiased estimate of the squared distance of the two contexts, but for the luck
by which arms were chosen. Few common plays say little, so it is drawn to that of all pairs,
tau^2 = max(0, sum V) / sum W, by a weight w_0 = sigma^2 / tau^2:

    d_il = max(0, V_il + sigma^2) / (W_il + w_0),    and 0 for all if tau = 0.

For arm j, context i borrows from the others in the order of d_il. A pool with N plays has a squared
bias of at most Q / N, Q = sum_l n_lj d_il, and a variance of sigma^2 / N. So it grows while
Q <= bias^2 sigma^2; of the context that goes beyond, only the part that is left is taken. Then the
mean of the arm is drawn from N(M_ij, spread^2 sigma^2 / N_ij), M_ij the mean of the pool.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine import Clock, Kernels, kernel, largest, normals
from lumpable.learners.learner import Cells, Compiled, Counts, PerArm, PerContext, Unfit, zeros

MOST_CONTEXTS = 3_000
"""What is known of all pairs of contexts takes 24 S^2 bytes: 200 MB."""


class State(NamedTuple):
    """One row per context: what it has seen, and what it has borrowed at the last refit."""

    plays: Cells
    """n_ij."""
    mean: Cells
    """m_ij; 0 for an arm that was not played yet."""
    tried: Counts
    """The arms that a context has played, in order; their number is `width`."""
    width: PerContext
    lent_plays: Cells
    """N_ij - n_ij: plays of others in the pool."""
    lent_total: Cells
    """Sums of their rewards."""
    due: IntVector
    score: PerArm
    sd: float
    """sigma."""
    spread: float


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play an arm without a play in its pool; else draw all means and play the largest."""
    i, score = context, state.score
    normals(clock, score)
    for j in range(len(score)):
        n = state.plays[i, j]
        N = n + state.lent_plays[i, j]
        M = (n * state.mean[i, j] + state.lent_total[i, j]) / N
        score[j] = M + state.spread * state.sd / math.sqrt(N) * score[j] if N > 0.0 else np.inf
    return largest(score, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to its pair; others see it at the next refit."""
    if state.plays[context, arm] == 0.0:
        state.tried[context, state.width[context]] = arm
        state.width[context] += 1
    state.plays[context, arm] += 1.0
    state.mean[context, arm] += (reward - state.mean[context, arm]) / state.plays[context, arm]


@kernel
def compare(state: State, V: FloatMatrix, W: FloatMatrix) -> None:
    """Fill in V_il and W_il of all pairs of contexts."""
    noise = state.sd**2
    for i in range(len(V)):
        n, m, tried = state.plays[i], state.mean[i], state.tried[i, : state.width[i]]
        for other in range(i):
            theirs, mean = state.plays[other], state.mean[other]
            square, weight = 0.0, 0.0
            for j in tried:
                if theirs[j] > 0.0:
                    w = n[j] * theirs[j] / (n[j] + theirs[j])
                    square += w * (m[j] - mean[j]) ** 2 - noise
                    weight += w
            V[i, other], V[other, i] = square, square
            W[i, other], W[other, i] = weight, weight


@kernel
def borrow(state: State, i: int, d: FloatVector, order: IntVector, most: float) -> None:
    """Borrow for every arm of context i from the others in this order, while Q <= `most`."""
    lent_plays, lent_total, Q = state.lent_plays[i], state.lent_total[i], state.score
    lent_plays[:], lent_total[:], Q[:] = 0.0, 0.0, 0.0
    growing = len(Q)
    for other in order:
        for j in state.tried[other, : state.width[other]]:
            if Q[j] == np.inf:
                continue
            n = state.plays[other, j]
            bias = n * d[other]
            if Q[j] + bias > most:
                n *= (most - Q[j]) / bias
                bias = np.inf
                growing -= 1
            Q[j] += bias
            lent_plays[j] += n
            lent_total[j] += n * state.mean[other, j]
        if growing == 0:
            return


class Borrowing(Compiled):
    """Thompson sampling on the rewards of a context and of those near to it, arm by arm.

    Each context has a pool of its own for each arm: there are no groups, and nobody has to be
    exactly like anybody else. With clear groups, a learner that finds them has more to pool, as two
    contexts are never compared as well as two groups. To renew the pools takes of the order of S^2
    times the arms that a context has played: at S = 1,000, K = 100 about 0.4 s, and 5 s in all for
    60,000 rounds. Above 3,000 contexts it is not run.

    Parameters
    ----------
    bias
        How large the estimated bias of a pool may be, in its standard errors; the larger, the more
        it borrows. Distances are known only of arms that both have played, so less than 1 is wise.
    spread
        Multiplies the standard deviation of the drawn means. Both defaults were tuned by us on
        11 lumpable worlds of three sizes; 1 is Thompson sampling as it comes.
    growth
        Distances and pools are renewed whenever the rewards are this many times as many; in
        between, a context adds its own rewards only.
    sd
        Standard deviation of the noise.

    >>> learner = Borrowing(contexts=3, arms=2, seed=1)
    >>> for _ in range(20):
    ...     for context, good in enumerate((0, 0, 1)):
    ...         for arm in (0, 1):
    ...             learner.tell(context, arm, float(arm == good))
    >>> learner.refit()  # the first two lend each other all, the third hardly anything
    >>> learner.state.lent_plays.round(1).tolist()
    [[20.1, 20.1], [20.1, 20.1], [0.1, 0.1]]
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        bias: float = 0.5,
        spread: float = 0.4,
        growth: float = 1.3,
        sd: float = 0.5,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        if S > MOST_CONTEXTS:
            raise Unfit(
                f"Borrowing: compares all pairs of contexts, at most {MOST_CONTEXTS:,} of them; "
                f"got {S:,}"
            )
        self.bias = checks.real("bias", bias, "a positive number", 0.0, 1e9)
        self.growth = checks.real("growth", growth, "a number above 1", 1.0, 1e9)
        state = zeros(State, S, K)._replace(
            due=np.array([K]),
            sd=checks.real("sd", sd, "a positive number", 0.0, 1e100),
            spread=checks.real("spread", spread, "a positive number", 0.0, 1e6),
        )
        super().__init__(S, K, seed, state)

    def distances(self) -> FloatMatrix:
        """Return the estimates d_il of all pairs' squared distances, (S, S)."""
        S, noise = self.contexts, self.state.sd**2
        V, W = np.zeros((S, S)), np.zeros((S, S))
        compare(self.state, V, W)
        usual = max(V.sum(), 0.0) / max(W.sum(), 1e-300)
        if usual == 0.0:
            return np.zeros((S, S))  # no difference was seen yet
        d: FloatMatrix = np.maximum(V + noise, 0.0) / (W + noise / usual)
        np.fill_diagonal(d, 0.0)
        return d

    def refit(self) -> None:
        """Estimate all distances, and renew what every context borrows."""
        state, S = self.state, self.contexts
        state.due[0] = max(self.tells + 1, math.ceil(self.growth * self.tells))
        d = self.distances()
        for i in range(S):
            others = np.roll(np.arange(S), -i)[1:]  # of equals, the next ones come first
            order = others[np.argsort(d[i, others], kind="stable")]
            borrow(state, i, d[i], order, (self.bias * state.sd) ** 2)

    def policy(self) -> IntVector:
        """Return each context's arm with the largest mean of its pool."""
        state = self.state
        N = state.plays + state.lent_plays
        total = state.plays * state.mean + state.lent_total
        return np.argmax(np.where(N > 0.0, total / np.where(N > 0.0, N, 1.0), -np.inf), axis=1)
