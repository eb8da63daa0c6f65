"""Successive elimination: Even-Dar, Mannor, Mansour, "Action elimination ...", JMLR 7 (2006).

"Action elimination and stopping conditions for the multi-armed bandit and reinforcement learning
problems", their algorithm for unknown means; the constant c = 4, `sd` and `width` are ours. In pass
t every active arm is sampled once; then an arm a is dropped if

    max_b p_b - p_a >= 2 alpha_t,    alpha_t = sqrt(ln(c K t^2 / delta) / t),    c = 4.

By Hoeffding's inequality a mean of t rewards in [0, 1] is alpha_t away with probability at most
2 exp(-2 t alpha_t^2) <= 2 delta / (c K t^2). Over all arms and passes these add up to
delta pi^2 / 12 for c = 4, so with probability 1 - delta no mean is ever that far away, and
then the best arm is never dropped.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolMatrix, FloatVector, IntVector
from lumpable.learners.engine import Clock, Kernels, among, kernel
from lumpable.learners.learner import Cells, Compiled, Counts, zeros


class State(NamedTuple):
    """One row per context."""

    plays: Counts
    mean: Cells
    """p_a; 0 for an arm that was not played yet."""
    turn: Cells
    """Plays of an active arm, infinite for a dropped one."""
    passes: FloatVector
    """Passes that are complete: the fewest plays of an active arm."""
    waiting: IntVector
    """Active arms that were not played in this pass yet."""
    width: float
    """Width times 2 sd."""
    log_rest: float
    """ln(c K S / delta)."""


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play an active arm that this pass has not come to yet, any of them."""
    return among(state.turn[context], state.passes[context], clock)


@kernel
def radius(state: Any, n: int) -> float:
    """alpha_n, of a state with `width` and `log_rest`."""
    return state.width * math.sqrt((state.log_rest + 2.0 * math.log(n)) / n)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to its arm's mean; at the end of a pass, drop what is clearly worse."""
    plays, mean, turn = state.plays[context], state.mean[context], state.turn[context]
    plays[arm] += 1
    mean[arm] += (reward - mean[arm]) / plays[arm]
    if turn[arm] == np.inf:
        return
    turn[arm] = plays[arm]
    if plays[arm] - 1 != state.passes[context]:
        return
    state.waiting[context] -= 1
    if state.waiting[context] > 0:
        return
    floor = -np.inf
    for j in range(len(turn)):
        if turn[j] < np.inf:
            floor = max(floor, mean[j] - radius(state, plays[j]))
    fewest, waiting = np.inf, 0
    for j in range(len(turn)):
        # one arm is its own floor; with late rewards counts differ, and each has its own radius
        if turn[j] < np.inf and mean[j] + radius(state, plays[j]) <= floor:
            turn[j] = np.inf
        if turn[j] < fewest:
            fewest, waiting = turn[j], 0
        waiting += turn[j] == fewest and turn[j] < np.inf
    state.passes[context], state.waiting[context] = fewest, waiting


class SuccessiveElimination(Compiled):
    """Successive elimination in each context with confidence delta / S, then the arm that is left.

    With probability 1 - delta no context ever drops its best arm, if rewards lie in [0, 1] or their
    noise is sub-Gaussian with scale `sd` (1/2 for [0, 1]). An arm with gap Delta is dropped after
    about ln(SK / (delta Delta)) / Delta^2 plays, as in their theorem. `width` multiplies the
    radius; the guarantee holds down to 1 / sqrt 2; 0.2 is worth a try. Fair for best-arm
    guarantees, wasteful for regret: it shares nothing and plays all active arms alike.

    >>> learner = SuccessiveElimination(contexts=1, arms=2, seed=1)
    >>> for _ in range(100):
    ...     arm = learner.ask(0)
    ...     learner.tell(0, arm, float(arm))
    >>> learner.active()
    array([[False,  True]])
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        delta: float = 0.1,
        width: float = 1.0,
        sd: float = 0.5,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        delta = checks.real("delta", delta, "a number in (0, 1)", 0.0, math.nextafter(1.0, 0.0))
        width = checks.real("width", width, "a positive number", 0.0, 1e9)
        state = zeros(State, S, K)._replace(
            passes=np.zeros(S),
            waiting=np.full(S, K, dtype=np.int64),
            width=width * 2.0 * checks.real("sd", sd, "a positive number", 0.0, 1e100),
            log_rest=math.log(4.0 * K * S / delta),
        )
        super().__init__(S, K, seed, state)

    def active(self) -> BoolMatrix:
        """Return which arms each context has not dropped."""
        return self.state.turn < np.inf

    def policy(self) -> IntVector:
        """Return each context's active arm with the largest mean so far."""
        known = self.active() & (self.state.plays > 0)
        return np.argmax(np.where(known, self.state.mean, -np.inf), axis=1)
