"""Thompson sampling for a mixture of bandits with a known number of groups, by Gibbs sampling.

The model is that of Hong, Kveton, Zaheer, Chow, Ahmed and Boutilier, "Latent bandits revisited",
NeurIPS 2020. The sampler for unknown means B, and r groups, is ours (`fitting.gibbs`, whose letters
these are): pi ~ Dirichlet(1, .., 1), z_i ~ pi, B_gj from a conjugate prior, reward ~ f(B_{z_i j}).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine import Clock, Kernels, beta, by_log_weight, kernel, largest, normal
from lumpable.learners.fitting.gibbs import Mixture
from lumpable.learners.fitting.lloyd import lloyd
from lumpable.learners.learner import Cells, Compiled, PerArm, PerContext, zeros

MODELS = ("auto", "gaussian")
GROWTH = 0.05
"""A refit comes when the tells have grown by this share since the last one, or by S."""


class State(NamedTuple):
    """Counts of contexts and of groups, and the last draws of B and pi."""

    plays: Cells
    total: Cells
    group: PerContext
    """z_i at the last refit."""
    group_plays: FloatMatrix
    group_total: FloatMatrix
    eta: FloatMatrix
    cost: FloatMatrix
    """A, of the last draw of B, as is eta."""
    likely: FloatMatrix
    """ln pi_g + ln f(all rewards of context i | B_g), (S, r)."""
    prior: FloatVector
    """Mean and variance of the normal prior."""
    gaussian: IntVector
    """1 if rewards are normal."""
    score: PerArm
    chance: FloatVector
    due: IntVector
    sd: float
    spread: float


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Draw z_i given B, then B_g given all groups, and play its best arm."""
    score = state.score
    g = by_log_weight(state.likely[context], state.chance, clock)
    own = 0.0 if g == state.group[context] else 1.0  # its rewards are not yet in that group
    narrow = 1.0 / state.spread**2
    for j in range(len(score)):
        n = (state.group_plays[g, j] + own * state.plays[context, j]) * narrow
        s = (state.group_total[g, j] + own * state.total[context, j]) * narrow
        if state.gaussian[0]:
            variance = 1.0 / (1.0 / state.prior[1] + n / state.sd**2)
            mean = variance * (state.prior[0] / state.prior[1] + s / state.sd**2)
            score[j] = mean + math.sqrt(variance) * normal(clock)
        else:
            score[j] = beta(clock, 1.0 + s, 1.0 + max(n - s, 0.0))
    return largest(score, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to its cell, its group, and the likelihoods of the context's groups."""
    g = state.group[context]
    state.plays[context, arm] += 1.0
    state.total[context, arm] += reward
    state.group_plays[g, arm] += 1.0
    state.group_total[g, arm] += reward
    for g in range(len(state.chance)):
        state.likely[context, g] += reward * state.eta[g, arm] - state.cost[g, arm]
    if state.gaussian[0] == 0 and (reward < 0.0 or reward > 1.0):
        state.gaussian[0] = 1
        state.due[0] = clock[1] + np.uint64(1)  # all draws so far came from the wrong model


class MixtureThompson(Compiled):
    """Mixture Thompson sampling: contexts in r groups with unknown means, by Gibbs sampling.

    In a round the context's group is drawn given the last draw of B, then that group's means given
    all rewards told so far, and the best arm is played. A refit runs two Gibbs chains, one from the
    current groups and one from weighted k-means, and keeps the groups that are more likely with pi
    and B summed out: chains from random groups get stuck. Refits come every S tells, later whenever
    the tells have grown by 5 %.

    The strongest practical peer where groups exist and their number is known; with too many or too
    few groups it degrades. It has no guarantee.

    Parameters
    ----------
    groups
        r.
    model
        "gaussian", or "auto": Bernoulli as long as all rewards lie in [0, 1], where one between
        counts as a part of a success, and normal as soon as one does not.
    sd
        Noise of the normal model.
    spread
        Factor on the posterior's spread of B; 1 is Thompson sampling, less explores less.
    sweeps
        Gibbs sweeps of each chain at a refit.

    >>> learner = MixtureThompson(contexts=4, arms=2, groups=2, seed=1)
    >>> for context in (0, 1, 2, 3) * 10:
    ...     arm = learner.ask(context)
    ...     learner.tell(context, arm, float(arm == context % 2))
    >>> learner.policy().tolist()
    [0, 1, 0, 1]
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        groups: int,
        model: str = "auto",
        sd: float = 0.5,
        spread: float = 1.0,
        sweeps: int = 10,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        r = checks.whole("groups", groups, 1)
        self.groups = r
        self.sweeps = checks.whole("sweeps", sweeps, 1)
        gaussian = checks.choice("model", model, MODELS) == "gaussian"
        sd = checks.real("sd", sd, "a positive number", 0.0, 1e9)
        state = zeros(State, S, K)._replace(
            group_plays=np.zeros((r, K)),
            group_total=np.zeros((r, K)),
            eta=np.zeros((r, K)),
            cost=np.zeros((r, K)),
            likely=np.zeros((S, r)),
            prior=np.array([0.0, sd**2]),
            gaussian=np.array([int(gaussian)]),
            chance=np.zeros(r),
            due=np.array([S]),
            sd=sd,
            spread=checks.real("spread", spread, "a positive number", 0.0, 1e9),
        )
        super().__init__(S, K, seed, state)

    def _mixture(self) -> Mixture:
        state = self.state
        return Mixture(state.plays, state.total, self.groups, bool(state.gaussian[0]), state.sd)

    def refit(self) -> None:
        """Run both chains; draw B and pi given the groups of the better one."""
        state, rng = self.state, np.random.default_rng([self.seed, self.tells])
        mixture, mean = self._mixture(), state.total / np.maximum(state.plays, 1.0)
        nearest, _ = lloyd(state.plays, mean, self.groups, rng)
        starts = [state.group.copy(), nearest]
        z, state.prior[:] = mixture.search(starts, state.prior, self.sweeps, rng)
        state.group[:] = z
        state.group_plays[:], state.group_total[:] = mixture.counts(z)
        state.likely[:], B = mixture.draw(z, state.prior, rng)
        state.eta[:], state.cost[:] = mixture.natural(B)
        state.due[0] = self.tells + max(self.contexts, math.ceil(GROWTH * self.tells))

    def policy(self) -> IntVector:
        """Return each context's arm with the largest mean, over the groups that it may be in."""
        state, likely = self.state, self.state.likely
        chance = np.exp(likely - likely.max(axis=1, keepdims=True))
        means = self._mixture().expected(state.group_plays, state.group_total, state.prior)
        return np.argmax(chance @ means, axis=1)

    def labels(self) -> IntVector:
        """Return the most likely group of each context."""
        return np.argmax(self.state.likely, axis=1)
