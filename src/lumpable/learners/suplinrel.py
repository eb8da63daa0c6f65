"""SupLinRel: Auer, "Using confidence bounds for exploitation-exploration ...", JMLR 3 (2002).

"Using confidence bounds for exploitation-exploration trade-offs". The width alpha is ours, derived
from Azuma's inequality. With one feature for each cell LinRel has the closed form of `bound`:
eigenvalues are counts of plays, an estimate is a mean, and a cell without plays has width 1 (the
norm of its feature).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lumpable.base import checks
from lumpable.base.arrays import IntVector
from lumpable.learners.engine import Clock, Kernels, kernel, largest
from lumpable.learners.learner import Cells, Compiled, PerArm, zeros


class State(NamedTuple):
    """Plays and sums of each level, and of all rounds for the policy."""

    plays: npt.NDArray[np.int64]
    """Psi(s), counted by level, context and arm."""
    sums: npt.NDArray[np.float64]
    all_plays: Cells
    all_sums: Cells
    width: PerArm
    ucb: PerArm
    """-inf for an arm that is not in A_s."""
    score: PerArm
    alpha: float
    """||a|| has this factor."""
    least: float
    """1 / sqrt(T): smaller widths are not worth a play."""


@kernel
def bound(state: State, level: int, context: int, arm: int) -> None:
    """Fill width and upper confidence bound of an arm, from the rounds of a level."""
    n = state.plays[level, context, arm]
    if n == 0:
        state.width[arm], state.ucb[arm] = 1.0, 1.0
        return
    state.width[arm] = state.alpha / math.sqrt(n)
    state.ucb[arm] = state.sums[level, context, arm] / n + state.width[arm]


@kernel
def descend(state: State, context: int) -> int:
    """Go down the levels as far as this context's widths allow.

    Return the level s = 0, 1, .. at which an arm of A_s is to be explored, or -1 if the best upper
    bound is to be played. A_s is where `ucb` is finite.
    """
    width, ucb = state.width, state.ucb
    K = len(ucb)
    ucb[:] = 0.0
    for level in range(len(state.plays)):
        accuracy = 2.0 ** -(level + 1)
        widest, top = 0.0, -np.inf
        for j in range(K):
            if ucb[j] > -np.inf:
                bound(state, level, context, j)
                widest = max(widest, width[j])
                top = max(top, ucb[j])
        if widest <= state.least:
            return -1
        if widest > accuracy:
            return level
        for j in range(K):
            if ucb[j] < top - 2.0 * accuracy:
                ucb[j] = -np.inf
    return -1  # not reached: the last accuracy is below 1 / sqrt(T)


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Explore the least played of the arms that are too wide, or play the best upper bound."""
    level = descend(state, context)
    if level < 0:
        return largest(state.ucb, clock)
    for j in range(len(state.score)):  # if any arm is too wide, the least played one is
        left = state.ucb[j] > -np.inf
        state.score[j] = -float(state.plays[level, context, j]) if left else -np.inf
    return largest(state.score, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Store the round at the level where it explores, if it does."""
    level = descend(state, context)
    explores = level >= 0 and state.ucb[arm] > -np.inf
    if explores and state.width[arm] > 2.0 ** -(level + 1):
        state.plays[level, context, arm] += 1
        state.sums[level, context, arm] += reward
    state.all_plays[context, arm] += 1.0
    state.all_sums[context, arm] += reward


class SupLinRel(Compiled):
    """SupLinRel on one feature for each context and arm: elimination in phases, per context.

    Levels s = 1 .. ceil(ln T), each with rounds of its own. While an arm is wider than 2^-s it is
    explored and stored at level s; Auer lets any of several be taken, we take the one that the
    level has played least (ties at random): the widest would stay the same for many rounds, as a
    cell without plays has width 1 and one with few plays more. Then arms that are 2 * 2^-s below
    the best upper bound are dropped and s + 1 follows; when all are within 1 / sqrt(T), the best
    upper bound is played and not stored. As rounds of a level are chosen by their counts alone they
    are independent, which gives a regret of order sqrt(SKT) up to logarithms; but at width 1 the
    first level alone takes more than 100 plays of every cell.

    A choice is not remembered: when a reward comes the levels are gone through again, and it is
    stored at the level that is reached if its arm would be explored there now. A late reward of an
    arm that has been dropped, or is narrow enough by now, is only seen by the policy.

    Parameters
    ----------
    delta
        Confidence of the theorem.
    width
        Factor of alpha = sqrt(2 ln(2TK / delta)), which is safe for noise of sd 1. 1/2 is safe for
        rewards in [0, 1]; try 0.05 to 0.2.

    >>> learner = SupLinRel(contexts=1, arms=2, horizon=100, width=0.1)
    >>> for _ in range(20):
    ...     arm = learner.ask(0)
    ...     learner.tell(0, arm, float(arm))
    >>> learner.ask(0), int(learner.policy()[0])
    (1, 1)
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        horizon: int,
        delta: float = 0.05,
        width: float = 1.0,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        T = checks.whole("horizon", horizon, 1)
        delta = checks.real("delta", delta, "a number in (0, 1)", 0.0, math.nextafter(1.0, 0.0))
        factor = checks.real("width", width, "a positive number", 0.0, 1e9)
        levels = max(1, math.ceil(math.log(T)))
        state = zeros(State, S, K)._replace(
            plays=np.zeros((levels, S, K), dtype=np.int64),
            sums=np.zeros((levels, S, K)),
            alpha=factor * math.sqrt(2 * math.log(2 * T * K / delta)),
            least=1 / math.sqrt(T),
        )
        super().__init__(S, K, seed, state)

    def policy(self) -> IntVector:
        """Return each context's arm with the largest mean over all rounds."""
        plays = self.state.all_plays
        mean = np.where(plays > 0, self.state.all_sums / np.maximum(plays, 1), -np.inf)
        return np.asarray(np.argmax(mean, axis=1), dtype=np.int64)
