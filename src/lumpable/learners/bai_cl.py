"""BAI-Cl: Yash, Karamchandani, Ghosh, "Near optimal best arm identification ...", ICML 2025.

"Near optimal best arm identification for clustered bandits": find the best arm of every agent with
probability 1 - delta, for agents in M groups with M different best arms. Agents are taken one after
another, and successive elimination finds their best arms until M different ones are known. All
other agents then eliminate among these M candidates only. BAI-Cl++ compares as well: an agent whose
mean of a candidate is not that of the agent for which this arm is best is not of its group.

Ours, since contexts come at random and none can be called: every context eliminates on its own
until M arms are known, so that no round is wasted. With contexts that do come one after another
this is BAI-Cl to the letter, with the intervals of successive elimination (`successive.py`), which
hold at all times for all pairs with probability 1 - delta:

    m_ij +- alpha(n_ij),    alpha(n) = sqrt(ln(4 S K n^2 / delta) / n).

BAI-Cl++ is given the least distance eta_1 of such means between groups, guesses an arm and confirms
it. Instead of knowing eta_1, we look at the intervals: of the context i and of the first context l
whose best arm was found to be k. If they are disjoint on any arm, i is not of the group of l, and k
is dropped. Every other play is of the candidate with the largest mean, the guess to be confirmed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolMatrix, IntVector
from lumpable.learners.engine import Clock, Kernels, among, kernel, largest
from lumpable.learners.learner import Cells, Compiled, Counts, PerArm, PerContext, zeros
from lumpable.learners.successive import radius

NOBODY = -1


class State(NamedTuple):
    """One row per context, and the arms that are known to be somebody's best."""

    plays: Counts
    """n_ij."""
    mean: Cells
    """m_ij; 0 for an arm that was not played yet."""
    lower: Cells
    upper: Cells
    """The ends of m_ij +- alpha(n_ij)."""
    turn: Cells
    """Plays of an active arm, infinite for a dropped one."""
    left: PerContext
    """The number of active arms; with 1 the context is settled."""
    visits: PerContext
    first: IntVector
    """For each arm, the first context whose best arm it was found to be, or NOBODY."""
    known: IntVector
    """[the number of such arms], and [rewards told before their context was settled]."""
    score: PerArm
    groups: int
    """M."""
    compare: bool
    width: float
    """Width times 2 sd."""
    log_rest: float
    """ln(4 S K / delta)."""


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play an active arm with the fewest plays or, when it is to be confirmed, the largest mean."""
    turn, score = state.turn[context], state.score
    fewest = turn.min()
    guess = state.compare and state.known[0] >= state.groups and state.visits[context] % 2 == 1
    if guess and fewest > 0.0:
        for j in range(len(turn)):
            score[j] = state.mean[context, j] if turn[j] < np.inf else -np.inf
        return largest(score, clock)
    return among(turn, fewest, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to its arm's mean and drop what is clearly worse; the last of M arms ends it."""
    i = context
    state.plays[i, arm] += 1
    state.visits[i] += 1
    n = state.plays[i, arm]
    state.mean[i, arm] += (reward - state.mean[i, arm]) / n
    state.lower[i, arm] = state.mean[i, arm] - radius(state, n)
    state.upper[i, arm] = state.mean[i, arm] + radius(state, n)
    if state.turn[i, arm] < np.inf:
        state.turn[i, arm] = n
    if state.left[i] == 1:
        return
    state.known[1] += 1
    eliminate(state, i)
    if state.known[0] >= state.groups:
        if state.compare:
            tell_apart(state, i, arm)
    elif state.left[i] == 1:
        best = int(state.turn[i].argmin())
        if state.first[best] == NOBODY:
            state.first[best] = i
            state.known[0] += 1
            if state.known[0] == state.groups:
                narrow(state)


@kernel
def drop(state: State, i: int, arm: int) -> None:
    """Drop an active arm unless it is the last."""
    if state.turn[i, arm] < np.inf and state.left[i] > 1:
        state.turn[i, arm] = np.inf
        state.left[i] -= 1


@kernel
def eliminate(state: State, i: int) -> None:
    """Drop all arms whose interval lies below that of another active arm."""
    floor = -np.inf
    for j in range(len(state.score)):
        if state.turn[i, j] < np.inf:
            floor = max(floor, state.lower[i, j])
    for j in range(len(state.score)):
        if state.upper[i, j] <= floor:
            drop(state, i, j)


@kernel
def tell_apart(state: State, i: int, arm: int) -> None:
    """Drop the best arms of all contexts whose interval of this arm is disjoint from that of i."""
    for k in range(len(state.score)):
        other = state.first[k]
        if other == NOBODY or state.turn[i, k] == np.inf:
            continue
        above = state.lower[i, arm] > state.upper[other, arm]
        if above or state.upper[i, arm] < state.lower[other, arm]:
            drop(state, i, k)


@kernel
def narrow(state: State) -> None:
    """Drop all arms that are nobody's best, now that M are known, for who is not settled yet.

    A context that has dropped all M is one that was wrong: it begins again with the M.
    """
    S, K = state.turn.shape
    for i in range(S):
        if state.left[i] == 1:
            continue
        state.left[i] = 0
        for k in range(K):
            state.left[i] += state.first[k] != NOBODY and state.turn[i, k] < np.inf
        again = state.left[i] == 0
        for k in range(K):
            if state.first[k] == NOBODY:
                state.turn[i, k] = np.inf
            elif again:
                state.turn[i, k] = state.plays[i, k]
                state.left[i] += 1
        if state.compare:
            for j in range(K):
                tell_apart(state, i, j)


class BAICl(Compiled):
    """Find every context's best arm, with the few arms that are best for somebody; knows r.

    With probability 1 - delta all arms are right when it is `finished`, if contexts are in at most
    `groups` groups of equals and rewards lie in [0, 1] or their noise is sub-Gaussian with scale
    `sd` (1/2 for [0, 1]). Where groups share a best arm, M are never found, and it is successive
    elimination in each context: right, but nothing is gained. Made for whoever may call contexts at
    will, who needs all K arms of a few contexts only. With contexts at random all are at work until
    M arms are known, and what is gained is the end, for contexts that come rarely or late.

    Parameters
    ----------
    groups
        M. Too many are safe; with too few, a best arm may be missing.
    compare
        Whether to compare contexts with those who were settled first, after BAI-Cl++.
    delta
        Probability that any context's arm is wrong.
    width
        Multiplies the radius; the guarantee holds down to 1 / sqrt 2.
    sd
        Scale of the noise.

    >>> learner = BAICl(contexts=2, arms=3, groups=1, seed=1)
    >>> while not learner.finished:  # the second context never comes
    ...     arm = learner.ask(0)
    ...     learner.tell(0, arm, float(arm == 2))
    >>> learner.policy().tolist()
    [2, 2]
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        groups: int,
        compare: bool = True,
        delta: float = 0.1,
        width: float = 1.0,
        sd: float = 0.5,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        delta = checks.real("delta", delta, "a number in (0, 1)", 0.0, math.nextafter(1.0, 0.0))
        width = checks.real("width", width, "a positive number", 0.0, 1e9)
        state = zeros(State, S, K)._replace(
            lower=np.full((S, K), -np.inf),
            upper=np.full((S, K), np.inf),
            left=np.full(S, K, dtype=np.int64),
            first=np.full(K, NOBODY, dtype=np.int64),
            known=np.zeros(2, dtype=np.int64),
            groups=checks.whole("groups", groups, 1),
            compare=bool(compare),
            width=width * 2.0 * checks.real("sd", sd, "a positive number", 0.0, 1e100),
            log_rest=math.log(4.0 * K * S / delta),
        )
        super().__init__(S, K, seed, state)

    @property
    def finished(self) -> bool:
        """Whether every context has one arm left."""
        return bool((self.state.left == 1).all())

    @property
    def samples(self) -> int:
        """The rewards that were told before their context was settled: what it needed."""
        return int(self.state.known[1])

    def active(self) -> BoolMatrix:
        """Return which arms each context has not dropped."""
        return self.state.turn < np.inf

    def policy(self) -> IntVector:
        """Return each context's active arm with the largest mean so far."""
        seen = np.where(self.state.plays > 0, self.state.mean, -np.finfo(np.float64).max)
        return np.argmax(np.where(self.active(), seen, -np.inf), axis=1)

    def labels(self) -> IntVector:
        """Return clusters of contexts with the same arm."""
        return np.unique(self.policy(), return_inverse=True)[1]
