"""LATTICE: after Pal and others, "Optimal algorithms for latent bandits ...", AISTATS 2023.

Pal, Suggala, Shanmugam and Jain, "Optimal algorithms for latent bandits with cluster structure":
latent bandits via matrix completion, which clusters users and shares what is known of the arms
within a cluster. The phases, their lengths and all thresholds are our reading.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, IntMatrix, IntVector
from lumpable.learners.engine import Clock, Kernels, among, kernel, largest
from lumpable.learners.fitting.completion import als
from lumpable.learners.learner import NEVER, Cells, Compiled, PerArm, PerContext, zeros

RIDGE, SWEEPS = 4.0, 10
"""Of the completion; the ridge in units of sd."""


class State(NamedTuple):
    """Counts; groups are named by their first member."""

    plays: Cells
    total: Cells
    group: PerContext
    active: IntMatrix
    """1 for the arms that the context's group still plays, (S, K)."""
    size: IntVector
    """How many these are."""
    phase: IntVector
    """l, of a group."""
    left: IntVector
    """Rewards on active arms that a group's phase still needs."""
    score: PerArm
    due: IntVector
    few: int
    """With at most this many active arms, UCB takes over."""
    sd: float


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play any active arm; when few are left, the one with the largest mean + bonus."""
    active, score = state.active[context], state.score
    if state.size[context] > state.few:
        return among(active, 1, clock)
    n = 0.0
    for j in range(len(active)):
        n += active[j] * state.plays[context, j]
    scale = state.sd * math.sqrt(2.0 * math.log(max(n, 1.0)))
    for j in range(len(active)):
        score[j] = -np.inf
        if active[j]:
            m = state.plays[context, j]
            score[j] = state.total[context, j] / m + scale / math.sqrt(m) if m > 0 else np.inf
    return largest(score, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward; the phase of the group may end with it."""
    state.plays[context, arm] += 1.0
    state.total[context, arm] += reward
    g = state.group[context]
    if state.active[context, arm]:
        state.left[g] -= 1
        if state.left[g] <= 0:
            state.due[0] = clock[1] + np.uint64(1)


class LATTICE(Compiled):
    """LATTICE: groups of users eliminate arms together and fall apart into clusters.

    At first all users are one group and all arms active. A group of n users with A active arms is
    in a phase l, with accuracy Delta = sd 2^(1-l). Its users play active arms at random until the
    block of its users and arms holds

        width^2 C (n + A) 4^(l-1)

    rewards, which is when a rank-C estimate has an error of about Delta / width in each entry: C (n
    + A) parameters, that many rewards of noise sd. Then the block is completed. Users whose rows
    are within 2 Delta on all active arms are joined, and the connected components are the new
    groups; the active arms of a group are those within 2 Delta of the best of at least one of its
    users, and those not played yet. Groups with at most few C active arms go on with UCB
    for each user on its own.

    All rewards that were seen on active arms count, also those of earlier phases. The authors
    promise regret of order sqrt((S + K) T), up to logarithms, for few clusters and contexts that
    are equally frequent, with their own constants; here a wrong split is never undone.

    Parameters
    ----------
    groups
        C, the number of clusters.
    width
        Accuracy in standard errors. From about 1 clusters are found and kept; the default parts
        users of one cluster but drops most arms early, which had less regret up to 400,000 rounds
        with 200 contexts and 50 arms.
    sd
        Noise of a reward.
    few
        Active arms for each cluster at which UCB takes over.

    >>> learner = LATTICE(contexts=20, arms=3, groups=2, few=1, sd=0.1, width=2, seed=1)
    >>> for t in range(2000):
    ...     arm = learner.ask(t % 20)
    ...     learner.tell(t % 20, arm, float(arm == t % 2))
    >>> learner.policy()[:4].tolist(), len(set(learner.labels().tolist()))
    ([0, 1, 0, 1], 2)
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        groups: int,
        width: float = 0.3,
        few: float = 2.0,
        sd: float = 0.5,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        self.groups = checks.whole("groups", groups, 1)
        self.width = checks.real("width", width, "a positive number", 0.0, 1e6)
        few = checks.real("few", few, "a positive number", 0.0, 1e6)
        self.completions = 0
        """Calls of the completion at the ends of phases."""
        state = zeros(State, S, K)._replace(
            active=np.ones((S, K), dtype=np.int64),
            size=np.full(S, K, dtype=np.int64),
            phase=np.ones(S, dtype=np.int64),
            left=np.full(S, NEVER, dtype=np.int64),
            due=np.array([NEVER]),
            few=int(few * self.groups),
            sd=checks.real("sd", sd, "a positive number", 0.0, 1e9),
        )
        super().__init__(S, K, seed, state)
        self._begin(np.arange(S), 1)

    def _begin(self, users: IntVector, phase: int) -> None:
        """Let a group enter a phase; UCB has none."""
        state, g = self.state, users[0]
        arms = np.flatnonzero(state.active[g])
        state.group[users], state.size[users], state.phase[g] = g, len(arms), phase
        need = self.width**2 * self.groups * (len(users) + len(arms)) * 4.0 ** (phase - 1)
        seen = state.plays[np.ix_(users, arms)].sum()
        state.left[g] = NEVER if len(arms) <= state.few else math.ceil(min(need, 1e18) - seen)

    def refit(self) -> None:
        """End the phase of every group that has seen enough, first group first."""
        state, rng = self.state, np.random.default_rng([self.seed, self.tells])
        state.due[0] = NEVER
        waiting = [int(g) for g in np.unique(state.group) if state.left[g] <= 0]
        while waiting:
            g = waiting.pop(0)
            users, arms = np.flatnonzero(state.group == g), np.flatnonzero(state.active[g])
            Q, phase = self._complete(users, arms, rng), int(state.phase[g])
            self.completions += 1
            close = 2.0 * state.sd * 2.0 ** (1 - phase)
            seen = state.plays[np.ix_(users, arms)].any(axis=0)
            good = (Q.max(axis=1, keepdims=True) - close <= Q) | ~seen
            for members in _components(Q, close):
                kept = arms[good[members].any(axis=0)]
                state.active[users[members]] = np.isin(np.arange(self.arms), kept)
                self._begin(users[members], phase + 1)
                first = int(users[members][0])
                waiting += [first] if state.left[first] <= 0 else []

    def _complete(self, users: IntVector, arms: IntVector, rng: np.random.Generator) -> FloatMatrix:
        """Return the estimate of a block: low rank about the arms' means, or plain means.

        A block with C rows or columns, or fewer, has no lower rank: cells that were not played take
        the arm's mean there.
        """
        state = self.state
        n, s = state.plays[np.ix_(users, arms)], state.total[np.ix_(users, arms)]
        played = n.sum(axis=0)
        arm = np.where(
            played > 0, s.sum(axis=0) / np.maximum(played, 1.0), s.sum() / max(n.sum(), 1.0)
        )
        rest = s / np.maximum(n, 1.0) - arm
        if min(n.shape) <= self.groups:
            return arm + np.where(n > 0, rest, 0.0)
        U, V = als(n, rest, self.groups, RIDGE * state.sd, SWEEPS, rng)
        return arm + U @ V.T

    def policy(self) -> IntVector:
        """Return each context's best active arm by the completion of its group's block now."""
        state, rng = self.state, np.random.default_rng([self.seed, self.tells])
        best = np.zeros(self.contexts, dtype=np.int64)
        for g in np.unique(state.group):
            users, arms = np.flatnonzero(state.group == g), np.flatnonzero(state.active[g])
            best[users] = arms[np.argmax(self._complete(users, arms, rng), axis=1)]
        return best

    def labels(self) -> IntVector:
        """Return the group of each context, named by its first member."""
        return self.state.group.copy()


def _components(Q: FloatMatrix, close: float) -> list[IntVector]:
    """Join rows that differ by at most `close` everywhere; return the connected components."""
    label = np.full(len(Q), -1)
    for first in range(len(Q)):
        if label[first] < 0:
            label[first] = first
            waiting = [first]
            while waiting:
                rest = np.flatnonzero(label < 0)
                apart = np.abs(Q[rest] - Q[waiting.pop()]).max(axis=1)
                joined = rest[apart <= close]
                label[joined] = first
                waiting += joined.tolist()
    return [np.flatnonzero(label == first) for first in np.unique(label)]
