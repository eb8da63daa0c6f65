"""NUCB: N. Daniels, "Neighborhood-based collaborative filtering bandits", noah-daniels/nucb.

The default form of the author's code, which is our source; it shares a reward when it comes, by the
likeness at that moment. Notation: c_ij are the clicks (the sum of rewards) of context i on arm j,
n_ij its plays, c_j and n_j those of all contexts, t the number of rounds so far. A reward y of
context i on arm j is first added to c_ij and n_ij, then

    N_lj += beta max(0, cos(c_i, c_l)),    C_lj += y beta max(0, cos(c_i, c_l))    for all l,
    N_ik += beta' max(0, cos(c_.j, c_.k)), C_ik += y beta' max(0, cos(c_.j, c_.k)) for all k,

with cos = 0 if either vector is 0. For context i,

    score_j = (C_ij + c_j) / (N_ij + n_j) + alpha sqrt(ln(t + 1) / (f (N_ij + n_j))),

where f = t / sum_k (N_ik + n_k) scales the pooled plays to the number of rounds; an arm without
plays scores infinity.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, IntVector
from lumpable.learners.engine import TELLS, Clock, Kernels, kernel, largest
from lumpable.learners.learner import CellsByArm, Compiled, PerArm, Unfit, zeros

MOST_CONTEXTS = 5_000
"""The likeness of all pairs of contexts takes 8 S^2 bytes: 200 MB."""


class State(NamedTuple):
    """Arms first, contexts second: a reward is shared along its arm's row."""

    clicks: CellsByArm
    """c_ij, (K, S)."""
    shared_clicks: CellsByArm
    """C_ij, (K, S)."""
    shared_plays: CellsByArm
    """N_ij, (K, S)."""
    all_clicks: PerArm
    """c_j."""
    all_plays: PerArm
    """n_j."""
    contexts_dot: FloatMatrix
    """Products of contexts' clicks, (S, S)."""
    arms_dot: FloatMatrix
    """Products of arms' clicks, (K, K)."""
    plays: PerArm
    score: PerArm
    alpha: float
    beta: float
    arm_beta: float


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play the arm with the largest score."""
    plays, score, n = state.plays, state.score, 0.0
    for j in range(len(score)):
        plays[j] = state.shared_plays[j, context] + state.all_plays[j]
        n += plays[j]
    t = float(clock[TELLS])
    scale = state.alpha * math.sqrt(math.log(t + 1.0) * n / max(t, 1.0))
    for j in range(len(score)):
        if plays[j] > 0.0:
            mean = (state.shared_clicks[j, context] + state.all_clicks[j]) / plays[j]
            score[j] = mean + scale / math.sqrt(plays[j])
        else:
            score[j] = np.inf
    return largest(score, clock)


@kernel
def cosine(dot: FloatMatrix, i: int, other: int) -> float:
    """Return max(0, cos) of two rows; 0 if either is 0."""
    if dot[i, other] <= 0.0 or dot[i, i] <= 0.0 or dot[other, other] <= 0.0:
        return 0.0  # also where rewards cancelled but for rounding
    return min(dot[i, other] / (math.sqrt(dot[i, i]) * math.sqrt(dot[other, other])), 1.0)


@kernel
def change(dot: FloatMatrix, i: int, before: float, step: float) -> None:
    """Move the square of row i's length as one of its entries moves from `before` by `step`."""
    dot[i, i] += step * (2.0 * before + step)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Count a reward, and share it with contexts and arms like its own."""
    clicks, shared_clicks, shared_plays = state.clicks, state.shared_clicks, state.shared_plays
    contexts_dot, arms_dot = state.contexts_dot, state.arms_dot
    K, S = clicks.shape
    state.all_plays[arm] += 1.0
    state.all_clicks[arm] += reward
    if reward != 0.0:  # only then does any likeness change
        for other in range(S):
            if other != context:
                contexts_dot[context, other] += reward * clicks[arm, other]
                contexts_dot[other, context] = contexts_dot[context, other]
        for other in range(K):
            if other != arm:
                arms_dot[arm, other] += reward * clicks[other, context]
                arms_dot[other, arm] = arms_dot[arm, other]
        change(contexts_dot, context, clicks[arm, context], reward)
        change(arms_dot, arm, clicks[arm, context], reward)
        clicks[arm, context] += reward
    if state.beta > 0.0:
        for other in range(S):
            weight = state.beta * cosine(contexts_dot, context, other)
            shared_plays[arm, other] += weight
            shared_clicks[arm, other] += reward * weight
    if state.arm_beta > 0.0:
        for other in range(K):
            weight = state.arm_beta * cosine(arms_dot, arm, other)
            shared_plays[other, context] += weight
            shared_clicks[other, context] += reward * weight


class NUCB(Compiled):
    """NUCB: a UCB for all contexts, to which neighbours' rewards are added with large weights.

    Neighbours are contexts whose clicks point the same way (cosine), and also arms that are clicked
    by the same contexts. Rewards below 0 are negative clicks: the formulas still hold, and contexts
    that point opposite ways share nothing. So the zero of rewards matters: a large constant added
    to all of them makes all contexts alike.

    Good from the first rounds on, since it starts as one UCB for all. A round takes O(S + K), the
    memory is O(S^2 + S K + K^2): above 5,000 contexts or arms it is not run.

    Parameters
    ----------
    alpha
        Width of the bonus; the author's grid is 0.02 to 0.2.
    beta
        Weight of neighbouring contexts, the author's 100; 0 switches them off.
    arm_beta
        Weight of neighbouring arms, the author's 100; 0 switches them off.

    >>> learner = NUCB(contexts=3, arms=2, seed=1)
    >>> for arm, reward in ((0, 1.0), (1, 0.0)) * 10:
    ...     learner.tell(0, arm, reward)
    >>> learner.ask(2)
    0
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        alpha: float = 0.1,
        beta: float = 100.0,
        arm_beta: float = 100.0,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        if max(S, K) > MOST_CONTEXTS:
            raise Unfit(
                f"NUCB: compares all pairs of contexts and of arms, at most {MOST_CONTEXTS:,} "
                f"of either; got {S:,} contexts and {K:,} arms"
            )
        not_negative = "a number of at least 0"
        below_zero = -math.ulp(0.0)
        state = zeros(State, S, K)._replace(
            contexts_dot=np.zeros((S, S)),
            arms_dot=np.zeros((K, K)),
            alpha=checks.real("alpha", alpha, "a positive number", 0.0, 1e9),
            beta=checks.real("beta", beta, not_negative, below_zero, 1e9),
            arm_beta=checks.real("arm_beta", arm_beta, not_negative, below_zero, 1e9),
        )
        super().__init__(S, K, seed, state)

    def policy(self) -> IntVector:
        """Return each context's arm with the largest pooled mean."""
        plays = self.state.shared_plays + self.state.all_plays[:, None]
        clicks = self.state.shared_clicks + self.state.all_clicks[:, None]
        mean = np.where(plays > 0, clicks / np.maximum(plays, 1e-300), -np.inf)
        return np.argmax(mean, axis=0)
