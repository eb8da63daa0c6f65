"""Find a policy with few samples: two arms that might be best, and a rule that says when to stop.

The choice is top-two Thompson sampling (D. Russo, "Simple Bayesian algorithms for best-arm
identification", Operations Research 68(6), 2020) under the three-level model: a draw from the
posterior names an arm, and half of the time further draws name another one, which is played
instead. A draw takes a group first, so what tells groups apart is tried while that is uncertain.
The rule is in `stopping`.
"""

from __future__ import annotations

import math

from lumpable.base import checks
from lumpable.base.arrays import BoolVector
from lumpable.learners.engine.clock import Clock, kernel, start_choice
from lumpable.learners.engine.draws import drawn, largest, normal, uniform
from lumpable.learners.engine.entries import Kernels
from lumpable.lumps.core.index import EDGE, away, believed, effects, solve_factors, weigh
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.state import OWN, REAL, State
from lumpable.lumps.core.steps import update
from lumpable.lumps.core.stopping import good_enough
from lumpable.lumps.model.fit import Fit

GROWTH = 1.15
"""Fits come whenever there are this many times more rewards: groups found late cost more."""
LEADER = 0.5
"""How often the first of the two arms is played: beta, 1/2 as Russo proposes."""
TRIES = 20
"""Draws at most until another arm turns up."""


@kernel
def guess(state: State, i: int, allowed: BoolVector, clock: Clock) -> int:
    """Return the best arm for a context in a draw from the posterior; `weight` holds its groups.

    Values are normal with the posterior's mean and variance.
    """
    real, m0 = state.value[REAL] > 0.0, state.value[OWN]
    score, spread, scale = state.score, state.spread, state.scale
    g = drawn(state.weight, clock)
    for j in range(len(score)):
        m, v, scale[j] = believed(state, g, j)
        shift, around_it = away(effects(state), state.factor, state.cover, j)
        m, v = m + shift, v + around_it
        score[j], spread[j] = m, v
        if not math.isinf(m0):
            spread[j] += own_spread(real, m, m0, scale[j])
    if not math.isinf(m0):
        for c in range(state.start[i], state.start[i] + state.length[i]):
            j, x = state.arm[c], m0 + state.pulls[c]
            v = spread[j] - own_spread(real, score[j], m0, scale[j])
            score[j] = (m0 * score[j] + state.total[c]) / x
            spread[j] = (m0 / x) * (m0 / x) * v + own_spread(real, score[j], x, scale[j])
    for j in range(len(score)):
        score[j] += math.sqrt(spread[j]) * normal(clock)
        if not allowed[j]:
            score[j] = -math.inf
    return largest(score, clock)


@kernel
def own_spread(real: bool, mean: float, strength: float, noise: float) -> float:
    """Return the variance of a context's own mean around this one."""
    return noise / strength if real else max(mean * (1.0 - mean), EDGE) / (strength + 1.0)


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Top-two Thompson sampling among all arms that may be chosen."""
    return choose_among(state, context, state.allowed, clock)


@kernel
def choose_among(state: State, context: int, allowed: BoolVector, clock: Clock) -> int:
    """Top-two Thompson sampling: play the best arm of a draw, or the best of one that differs."""
    start_choice(clock, context)
    weigh(state, context)
    if len(state.factor) > 0:
        solve_factors(state, context)
    leader = guess(state, context, allowed, clock)
    if uniform(clock) < LEADER:
        return leader
    for _ in range(TRIES):
        challenger = guess(state, context, allowed, clock)
        if challenger != leader:
            return challenger
    return leader


class TopTwo(Levels):
    """Find an arm for each context that is good enough, with few samples; rewards do not matter.

    `finished` says whether the recommended policy, `policy()`, loses more than `epsilon` on average
    over contexts with probability at most `delta`. It is judged at each fit, at geometric times.
    `lumpable.PolicyFinder` is the same with names.

    >>> learner = TopTwo(contexts=2, arms=2, epsilon=0.1, seed=1)
    >>> while not learner.finished:
    ...     for context in (0, 1):
    ...         arm = learner.ask(context)
    ...         learner.tell(context, arm, float(arm))
    >>> learner.policy()
    array([1, 1])
    """

    kernels = Kernels(choose, update)
    among = choose_among
    growth = GROWTH, GROWTH

    def __init__(
        self, contexts: int, arms: int, *, epsilon: float = 0.05, delta: float = 0.05, seed: int = 0
    ) -> None:
        self.epsilon = checks.real("epsilon", epsilon, "a positive number", 0.0, 1e100)
        below_one = math.nextafter(1.0, 0.0)
        self.delta = checks.real("delta", delta, "a number in (0, 1)", 0.0, below_one)
        self.finished = False
        """Whether the last fit found the policy good enough; more rewards may take it back."""
        super().__init__(contexts, arms, seed)

    def change_names(self) -> None:
        """Take the judgement back until the next fit."""
        self.finished = False

    def adopt(self, fit: Fit) -> None:
        """Go on from a fit of what was seen, and judge the policy."""
        super().adopt(fit)
        known = len(self.numbers) or self.contexts  # the rest is room for contexts to come
        enough = self.tells >= 2 * known  # before, noise itself is hardly known
        self.finished = enough and good_enough(self, self.epsilon, self.delta, known)
