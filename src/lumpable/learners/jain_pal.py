"""OCTAL: Jain and Pal, "Online low rank matrix completion", ICLR 2023.

Theirs, as we read them: in every epoch each context plays one arm. Explore, then commit (ETC):
random arms until the matrix can be completed, then the best arm of it, with a regret of order
T^(2/3) for any rank. OCTAL, for rank 1, P = u v': all contexts with u_i > 0 share their best arm,
as do those with u_i < 0. In phases, a context whose row is clearly not flat is put with those of
its sign; arms that are clearly not the best of some context of a sign are dropped for that sign;
the rest is explored again. Flat rows lose little by any arm. The regret is of order sqrt(T).

Ours: S rounds are an epoch, in which each context comes once on average; completion by weighted
alternating least squares; and the length of the exploration, the radii and the lengths of the
phases, see `OCTAL`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolVector, FloatMatrix, FloatVector, IntMatrix, IntVector
from lumpable.learners.engine import Clock, Kernels, below, kernel
from lumpable.learners.fitting.completion import als
from lumpable.learners.learner import NEVER, Cells, Compiled, Counts, PerArm, PerContext, zeros

SWEEPS = 20
FIRST = 8
"""Epochs of OCTAL's first phase; each has twice as many as the one before."""
UNKNOWN, PLUS, MINUS = 0, 1, 2
"""Signs of u_i; which of the two is plus means nothing."""


class State(NamedTuple):
    """What was seen in this phase, and who explores which arms."""

    plays: Counts
    total: Cells
    """Sums of rewards."""
    old_plays: Counts
    """Of the phases before, which the policy alone uses."""
    old_total: Cells
    sign: PerContext
    """UNKNOWN, PLUS or MINUS for each context."""
    active: IntMatrix
    """For each sign, the arms that are explored come first."""
    number: IntVector
    """How many those are."""
    direction: PerArm
    """v of the last phase, which tells what plus is."""
    best: PerContext
    committed: IntVector
    due: IntVector


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play the best arm once committed, else any active arm of the context's sign."""
    if state.committed[0]:
        return state.best[context]
    sign = state.sign[context]
    return state.active[sign, below(clock, state.number[sign])]


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to its cell."""
    state.plays[context, arm] += 1
    state.total[context, arm] += reward


class OCTAL(Compiled):
    """Explore, then commit to a completed matrix (any rank), or OCTAL (rank 1).

    Both spend their exploration on random arms, so they pay off over long horizons only. OCTAL is
    for means u_i v_j: with other means its clusters are meaningless, hence the default.

    Parameters
    ----------
    horizon
        Rounds to be played, which the exploration of `etc` depends on.
    method
        `etc` or `octal`.
    rank
        Of the matrix that `etc` completes.
    explore
        Factor on the epochs that `etc` explores, (N sd sqrt(r (1 + K/S)))^(2/3) of N = T / S: there
        the cost of an epoch meets what the error sd sqrt(r (1 + K/S) / epochs) costs later.
    sd
        Standard deviation of the noise.
    width
        Factor on OCTAL's error sd sqrt(2 ln(S K) (1/n_i + N/n)): of a row with n_i rewards, in a
        block with N active arms and n rewards.
    ridge
        Of the least squares.

    >>> learner = OCTAL(contexts=2, arms=2, horizon=8, explore=0.5, seed=1)
    >>> for reward in (0.0, 1.0, 1.0, 0.0):
    ...     learner.tell(0, learner.ask(0), reward)
    >>> int(learner.policy()[0]) == learner.ask(0)
    True
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        horizon: int,
        method: str = "etc",
        rank: int = 3,
        explore: float = 1.0,
        sd: float = 0.5,
        width: float = 1.0,
        ridge: float = 0.1,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        self.method = checks.choice("method", method, ("etc", "octal"))
        self.rank = checks.whole("rank", rank, 1)
        self.sd = checks.real("sd", sd, "a positive number", 0.0, 1e9)
        self.width = checks.real("width", width, "a positive number", 0.0, 1e9)
        self.ridge = checks.real("ridge", ridge, "a positive number", 0.0, 1e9)
        factor = checks.real("explore", explore, "a positive number", 0.0, 1e9)
        epochs = checks.whole("horizon", horizon, 1) / S
        spent = factor * (epochs * self.sd * math.sqrt(self.rank * (1 + K / S))) ** (2 / 3)
        state = zeros(State, S, K)._replace(
            active=np.tile(np.arange(K), (3, 1)),
            number=np.full(3, K),
            committed=np.zeros(1, dtype=np.int64),
            due=np.array([S * (FIRST if method == "octal" else math.ceil(spent))], dtype=np.int64),
        )
        super().__init__(S, K, seed, state)

    def refit(self) -> None:
        """Commit (etc), or end a phase (octal)."""
        state = self.state
        if self.method == "etc":
            state.best[:] = self.policy()
            state.committed[0] = 1
            state.due[0] = NEVER
            return
        rng = np.random.default_rng([self.seed, self.tells])
        for sign in (PLUS, MINUS, UNKNOWN):  # the unknown join the others, so they come last
            rows, arms = state.sign == sign, state.active[sign, : state.number[sign]].copy()
            if state.plays[rows].any():
                self._end_phase(sign, rows, arms, rng)
        state.old_plays[:] += state.plays
        state.old_total[:] += state.total
        state.plays[:] = 0
        state.total[:] = 0.0
        state.due[0] = 2 * state.due[0] + self.contexts * FIRST

    def _end_phase(
        self, sign: int, rows: BoolVector, arms: IntVector, rng: np.random.Generator
    ) -> None:
        """Learn from what contexts of one sign have seen: their signs, and which arms are left."""
        state, where = self.state, np.flatnonzero(rows)
        plays = state.plays[np.ix_(where, arms)].astype(np.float64)
        total = state.total[np.ix_(where, arms)]
        U, V = als(plays, total / np.maximum(plays, 1), 1, self.ridge, SWEEPS, rng)
        u, v = U[:, 0], V[:, 0]
        P = np.outer(u, v)
        seen = plays.sum(axis=1)
        error = np.full(len(where), np.inf)
        log = 2 * math.log(self.contexts * self.arms)
        some = seen > 0
        error[some] = (
            self.width * self.sd * np.sqrt(log * (1 / seen[some] + len(arms) / seen.sum()))
        )
        if sign == UNKNOWN:
            before = state.direction - state.direction.mean()
            first = not before.any()  # then the largest row is plus
            flip = np.sign(u[np.argmax(np.abs(u))] if first else v @ before)
            state.direction[:] = flip * v
            clear = P.max(axis=1) - P.min(axis=1) > 4 * error
            state.sign[where[clear]] = np.where(flip * u[clear] > 0, PLUS, MINUS)
            for joined in (PLUS, MINUS):
                self._drop(joined, P, error, clear & (state.sign[where] == joined), arms)
        else:
            self._drop(sign, P, error, some, arms)

    def _drop(
        self, sign: int, P: FloatMatrix, error: FloatVector, rows: BoolVector, arms: IntVector
    ) -> None:
        """Drop the arms of a sign that are clearly worse than the best for one of these rows."""
        if not rows.any():
            return
        state = self.state
        behind = P[rows].max(axis=1, keepdims=True) - P[rows]
        worse = arms[(behind > 2 * error[rows, None]).any(axis=0)]
        old = state.active[sign, : state.number[sign]]
        left = old[~np.isin(old, worse)]
        if len(left) == 0:  # no arm is good for all: this is not of rank 1, so nothing is known
            return
        dropped = np.setdiff1d(state.active[sign], left)
        state.active[sign] = np.concatenate([left, dropped])
        state.number[sign] = len(left)

    def policy(self) -> IntVector:
        """Return the arms that it is committed to, else the best active ones as completed now.

        That completion is of all that was seen, in all phases.
        """
        state = self.state
        if state.committed[0]:
            return np.array(state.best)
        rng = np.random.default_rng([self.seed, self.tells])
        plays, total = state.plays + state.old_plays, state.total + state.old_total
        rank = self.rank if self.method == "etc" else 1
        mean = total / np.maximum(plays, 1)
        U, V = als(plays.astype(np.float64), mean, rank, self.ridge, SWEEPS, rng)
        P, best = U @ V.T, np.zeros(self.contexts, dtype=np.int64)
        for sign in (UNKNOWN, PLUS, MINUS):
            rows, arms = state.sign == sign, np.sort(state.active[sign, : state.number[sign]])
            best[rows] = arms[np.argmax(P[np.ix_(rows, arms)], axis=1)]
        return best

    def labels(self) -> IntVector | None:
        """Return 0 for a context of unknown sign, else 1 or 2; None for `etc`."""
        if self.method == "etc":
            return None
        return self.state.sign.copy()
