"""CAB: Gentile, Li, Kar and others, "On context-dependent clustering of bandits", ICML 2017.

Gentile, Li, Kar, Karatzoglou, Zappella and Etrue. Our items are K arms without features (unit
vectors), so that M_l is diagonal:

    w_lj = s_lj / (1 + n_lj),    CB_l(j) = alpha sqrt(ln(1 + t) / (1 + n_lj)).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, IntVector
from lumpable.learners.engine import TELLS, Clock, Kernels, kernel, kernel_without_nan, largest
from lumpable.learners.learner import Cells, Compiled, PerArm, PerContext, Unfit, zeros

MOST_CELLS = 200_000
"""Contexts times arms that are passed over in a round: beyond, a round takes over 0.1 ms."""


class State(NamedTuple):
    """One row per context; rewards count for the neighbours that they were shared with, too."""

    total: Cells
    """s_lj."""
    plays: FloatMatrix
    """1 + n_lj."""
    w: Cells
    root: FloatMatrix
    """1 / sqrt(1 + n_lj)."""
    seen: PerContext
    """1 for contexts that came at least once."""
    value: PerArm
    bonus: PerArm
    number: PerArm
    score: PerArm
    alpha: float
    gamma: float


@kernel_without_nan
def neighbours(state: State, i: int, scale: float) -> None:
    """Add up w, 1 / sqrt(1 + n) and 1 over the neighbours of context i, for each arm.

    The contexts' sums run arm by arm side by side, which is fast and keeps their order.
    """
    value, bonus, number = state.value, state.bonus, state.number
    w_i, root_i = state.w[i], state.root[i]
    value[:], bonus[:], number[:] = 0.0, 0.0, 0.0
    for other in range(len(state.seen)):
        if state.seen[other] == 0 and other != i:
            continue
        w, root = state.w[other], state.root[other]
        for j in range(len(value)):
            near = 1.0 if abs(w_i[j] - w[j]) <= scale * (root_i[j] + root[j]) else 0.0
            value[j] += near * w[j]
            bonus[j] += near * root[j]
            number[j] += near


@kernel
def width(state: State, clock: Clock) -> float:
    """Return alpha sqrt(ln(1 + t)) in round t, counted from 1."""
    return state.alpha * math.sqrt(math.log(2.0 + clock[TELLS]))


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play the arm with the largest mean of w plus mean of CB over the context's neighbours."""
    scale = width(state, clock)
    neighbours(state, context, scale)
    for j in range(len(state.score)):
        state.score[j] = (state.value[j] + scale * state.bonus[j]) / state.number[j]
    return largest(state.score, clock)


@kernel
def learn(state: State, i: int, arm: int, reward: float) -> None:
    """Count a reward for one context."""
    state.plays[i, arm] += 1.0
    state.total[i, arm] += reward
    state.w[i, arm] = state.total[i, arm] / state.plays[i, arm]
    state.root[i, arm] = 1.0 / math.sqrt(state.plays[i, arm])


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Count a reward for the context alone or, if it knows the arm well, for its neighbours too."""
    scale = width(state, clock)
    w, root = state.w[context, arm], state.root[context, arm]
    state.seen[context] = 1
    learn(state, context, arm, reward)
    if scale * root >= state.gamma / 4.0:
        return
    for other in range(len(state.seen)):
        if other == context or state.seen[other] == 0:
            continue
        sure = scale * state.root[other, arm] < state.gamma / 4.0
        if sure and abs(w - state.w[other, arm]) <= scale * (root + state.root[other, arm]):
            learn(state, other, arm, reward)


class CAB(Compiled):
    """CAB: contexts share what they know of an arm with those whose estimates of it are near.

    The neighbours of context i for arm j are the contexts l that came so far with
    |w_ij - w_lj| <= CB_i(j) + CB_l(j); an arm's score is the neighbours' mean of w plus their mean
    of CB. A reward counts for its context alone while CB_i(j) >= gamma / 4, afterwards also for all
    neighbours with CB_l(j) < gamma / 4.

    Strong where each context has little data of its own; elsewhere a well-tuned LinUCB for each
    context often beats it. A round passes over all cells, S K, at about 0.6 ns each: above 200,000
    cells it is too slow to be a fair peer.

    Parameters
    ----------
    alpha
        Width of CB, tuned by us at (S, K, r) = (200, 50, 5). Too small, neighbours are lost; too
        large, all contexts are one: 0.2 to 0.3 for Bernoulli rewards.
    gamma
        What is thought to separate groups: the smaller, the later rewards are shared. The default
        is ours, not the authors'.

    >>> learner = CAB(contexts=2, arms=2, seed=1)
    >>> for _ in range(20):
    ...     learner.tell(0, 0, 1.0), learner.tell(0, 1, 0.0)  # doctest: +ELLIPSIS
    (None, None)...
    >>> learner.ask(1)
    0
    """

    kernels = Kernels(choose, update)

    def __init__(
        self, contexts: int, arms: int, *, alpha: float = 0.3, gamma: float = 0.2, seed: int = 0
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        if S * K > MOST_CELLS:
            raise Unfit(f"CAB: passes over all {S * K:,} cells a round; at most {MOST_CELLS:,}")
        state = zeros(State, S, K)._replace(
            plays=np.ones((S, K)),
            root=np.ones((S, K)),
            alpha=checks.real("alpha", alpha, "a positive number", 0.0, 1e9),
            gamma=checks.real("gamma", gamma, "a positive number", 0.0, 1e9),
        )
        super().__init__(S, K, seed, state)

    def policy(self) -> IntVector:
        """Return each context's arm with the largest mean of w over the neighbours."""
        scale = width(self.state, self.clock)
        best = np.empty(self.contexts, dtype=np.int64)
        for i in range(self.contexts):
            neighbours(self.state, i, scale)
            best[i] = np.argmax(self.state.value / self.state.number)
        return best
