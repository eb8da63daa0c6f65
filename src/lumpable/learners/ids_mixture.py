"""Information-directed sampling: Russo and Van Roy, "Learning to optimize via ...", NIPS 2014.

"Learning to optimize via information-directed sampling" (also Operations Research 66, 2018), with
their variance-based ratio, on a mixture of bandits, which is ours: contexts fall into at most
`most` groups, whose number is not known. Let a* be the context's best arm. Play what
minimises

    Delta(p)^2 / v(p),   Delta_j = E[mu_{a*} - mu_j],   v_j = Var(E[mu_j | a*]),

both linear in p, over all ways p of drawing an arm; two arms are enough, as they show.

The posterior is that of `fitting.gibbs`, with Dirichlet weights of 1 / most, so that groups nobody
needs stay empty. Given the groups z of the others, that of the context has chances

    P(z_i = g) ~ (1 / most + number of others in g) P(own rewards | those of the others in g),

with B summed out, and the means B_gj of all groups and arms are independent: each has M draws of
its own, and a reward costs M new ones. Where the context is not in a group, its own rewards weigh
the draws of that group.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from lumpable.learners.engine import Clock, Kernels, beta, kernel, normal
from lumpable.learners.engine.entries import entry
from lumpable.learners.fitting.gibbs import EDGE, Mixture
from lumpable.learners.fitting.information import Cube, find_best, inform, two_arms
from lumpable.learners.fitting.lloyd import lloyd
from lumpable.learners.learner import Cells, Compiled, PerArm, PerContext, zeros

GROWTH = 0.05
"""A refit comes when the tells have grown by this share since the last one, or by S."""
NEGLIGIBLE = 1e-6
"""Groups with a smaller chance than this share of the largest are left out."""


class State(NamedTuple):
    """Counts of contexts and of groups, draws of the groups' means, and room for a choice."""

    plays: Cells
    total: Cells
    group: PerContext
    """z_i at the last refit."""
    size: FloatVector
    """Number of contexts in each group."""
    group_plays: FloatMatrix
    group_total: FloatMatrix
    B: Cube
    """Draws of the means, (most, K, M)."""
    eta: Cube
    cost: Cube
    """A, of the draws, as is eta."""
    prior: FloatVector
    """Mean and variance of the normal prior."""
    gaussian: IntVector
    """1 if rewards are normal."""
    chance: FloatVector
    """Of each group, for the context that is asked about."""
    weight: FloatMatrix
    """Of each draw of each group, (most, M); all sum to 1."""
    best: IntMatrix
    """The best arm of each draw."""
    top: FloatMatrix
    """Its mean."""
    mass: PerArm
    """P(a* = a)."""
    part: PerArm
    """E[mu_j; a* = a], for one j."""
    regret: PerArm
    """Delta."""
    gain: PerArm
    """v."""
    due: IntVector
    sd: float
    spread: float


@kernel
def evidence(state: State, n: float, s: float, own_n: float, own_s: float) -> float:
    """Return ln P(own rewards of an arm | n rewards of sum s of others in the group)."""
    if state.gaussian[0]:
        before = 1.0 / state.prior[1] + n / state.sd**2
        b = state.prior[0] / state.prior[1] + s / state.sd**2
        after, c = before + own_n / state.sd**2, b + own_s / state.sd**2
        return 0.5 * (c * c / after - b * b / before - math.log(after / before))
    a, b = 1.0 + s, 1.0 + max(n - s, 0.0)
    c, d = a + own_s, b + max(own_n - own_s, 0.0)
    after = math.lgamma(c) + math.lgamma(d) - math.lgamma(c + d)
    return after - math.lgamma(a) - math.lgamma(b) + math.lgamma(a + b)


@kernel
def believe(state: State, context: int, clock: Clock) -> None:
    """Fill in the chances of the context's groups, given the groups of all others."""
    chance, most = state.chance, len(state.chance)
    top = -np.inf
    for g in range(most):
        inside = 1.0 if state.group[context] == g else 0.0
        chance[g] = math.log(1.0 / most + state.size[g] - inside)
        for j in range(state.plays.shape[1]):
            n, s = state.plays[context, j], state.total[context, j]
            if n > 0.0:
                others_n = state.group_plays[g, j] - inside * n
                others_s = state.group_total[g, j] - inside * s
                chance[g] += evidence(state, others_n, others_s, n, s)
        top = max(top, chance[g])
    total = 0.0
    for g in range(most):
        chance[g] = math.exp(chance[g] - top)
        chance[g] = chance[g] if chance[g] > NEGLIGIBLE else 0.0
        total += chance[g]
    for g in range(most):
        chance[g] /= total


@kernel
def weigh(state: State, context: int) -> None:
    """Fill in the weights of all draws: a group's chance, shared by how they fit the context."""
    weight, M = state.weight, state.weight.shape[1]
    for g in range(len(state.chance)):
        row = weight[g]
        row[:] = 0.0
        if state.chance[g] == 0.0:
            continue
        if state.group[context] != g:  # its rewards are not yet in the draws
            for j in range(state.plays.shape[1]):
                n, s = state.plays[context, j], state.total[context, j]
                if n > 0.0:
                    for m in range(M):
                        row[m] += s * state.eta[g, j, m] - n * state.cost[g, j, m]
        top, total = row.max(), 0.0
        for m in range(M):
            row[m] = math.exp(row[m] - top)
            total += row[m]
        for m in range(M):
            row[m] *= state.chance[g] / total


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play the best arm if all draws agree on it; else draw from the pair with the least ratio."""
    believe(state, context, clock)
    weigh(state, context)
    B, weight, best, top, mass = state.B, state.weight, state.best, state.top, state.mass
    find_best(B, weight, best, top, mass)
    if np.count_nonzero(mass) == 1:
        return int(np.argmax(mass))
    inform(B, weight, best, top, mass, state.part, state.regret, state.gain)
    return two_arms(state.regret, state.gain, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to its cell and its group, and draw that group's mean of the arm anew."""
    g = state.group[context]
    state.plays[context, arm] += 1.0
    state.total[context, arm] += reward
    state.group_plays[g, arm] += 1.0
    state.group_total[g, arm] += reward
    if state.gaussian[0] == 0 and (reward < 0.0 or reward > 1.0):
        state.gaussian[0] = 1
        state.due[0] = clock[1] + np.uint64(1)  # all draws so far came from the wrong model
        return
    narrow = 1.0 / state.spread**2
    n, s = state.group_plays[g, arm] * narrow, state.group_total[g, arm] * narrow
    precision = 1.0 / state.prior[1] + n / state.sd**2
    mean = (state.prior[0] / state.prior[1] + s / state.sd**2) / precision
    for m in range(state.B.shape[2]):
        if state.gaussian[0]:
            value = mean + normal(clock) / math.sqrt(precision)
            state.eta[g, arm, m] = value / state.sd**2
            state.cost[g, arm, m] = value * value / (2.0 * state.sd**2)
        else:
            value = beta(clock, 1.0 + s, 1.0 + max(n - s, 0.0))
            inner = min(max(value, EDGE), 1.0 - EDGE)
            state.eta[g, arm, m] = math.log(inner / (1.0 - inner))
            state.cost[g, arm, m] = -math.log(1.0 - inner)
        state.B[g, arm, m] = value


class InformationMixture(Compiled):
    """Information-directed sampling on a mixture of bandits with an unknown number of groups.

    In a round it weighs what an arm costs against what it would tell about which arm is the best,
    by draws from the posterior. Unlike Thompson sampling it may play an arm that cannot be the best
    but tells the groups apart. A refit runs two Gibbs chains, one from the current groups and one
    from weighted k-means with a random number of groups, and keeps the groups that are more likely.
    Refits come every S tells, later whenever the tells have grown by 5 %. A round takes time of
    order `most` K M, and K^2 for the pairs of arms.

    Strong where groups exist. It has no guarantee, and stops exploring where all draws agree.

    Parameters
    ----------
    most
        The most groups that there may be; groups that nobody needs stay empty.
    sd
        Noise of the normal model; rewards are taken for coins as long as all lie in [0, 1].
    spread
        Factor on the posterior's spread of B; less explores less.
    draws
        M.
    sweeps
        Gibbs sweeps of each chain at a refit.

    >>> learner = InformationMixture(contexts=4, arms=2, most=2, seed=1)
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
        most: int = 8,
        sd: float = 0.5,
        spread: float = 1.0,
        draws: int = 100,
        sweeps: int = 10,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        most, M = checks.whole("most", most, 1), checks.whole("draws", draws, 1)
        self.sweeps = checks.whole("sweeps", sweeps, 1)
        sd = checks.real("sd", sd, "a positive number", 0.0, 1e9)
        state = zeros(State, S, K)._replace(
            size=np.array([float(S)] + [0.0] * (most - 1)),
            group_plays=np.zeros((most, K)),
            group_total=np.zeros((most, K)),
            B=np.zeros((most, K, M)),
            eta=np.zeros((most, K, M)),
            cost=np.zeros((most, K, M)),
            prior=np.array([0.0, sd**2]),
            gaussian=np.zeros(1, dtype=np.int64),
            chance=np.zeros(most),
            weight=np.zeros((most, M)),
            best=np.zeros((most, M), dtype=np.int64),
            top=np.zeros((most, M)),
            due=np.array([S]),
            sd=sd,
            spread=checks.real("spread", spread, "a positive number", 0.0, 1e9),
        )
        super().__init__(S, K, seed, state)
        self._redraw(self._mixture(), np.random.default_rng([self.seed, 0]))

    def _mixture(self) -> Mixture:
        state = self.state
        most, gaussian = len(state.chance), bool(state.gaussian[0])
        return Mixture(state.plays, state.total, most, gaussian, state.sd, 1.0 / most)

    def _redraw(self, mixture: Mixture, rng: np.random.Generator) -> None:
        """Draw B given the groups: M times each, group by group, arm by arm."""
        state, shape = self.state, self.state.B.shape
        n, s = (
            np.broadcast_to(count[:, :, None] / state.spread**2, shape)
            for count in (state.group_plays, state.group_total)
        )
        state.B[:] = mixture.means(n, s, state.prior, rng)
        state.eta[:], state.cost[:] = mixture.natural(state.B)

    def refit(self) -> None:
        """Run both chains, and draw all means given the groups of the better one."""
        state, rng = self.state, np.random.default_rng([self.seed, self.tells])
        mixture, mean = self._mixture(), state.total / np.maximum(state.plays, 1.0)
        nearest, _ = lloyd(state.plays, mean, int(rng.integers(1, mixture.groups + 1)), rng)
        starts = [state.group.copy(), nearest]
        z, state.prior[:] = mixture.search(starts, state.prior, self.sweeps, rng)
        state.group[:], state.size[:] = z, np.bincount(z, minlength=mixture.groups)
        state.group_plays[:], state.group_total[:] = mixture.counts(z)
        self._redraw(mixture, rng)
        state.due[0] = self.tells + max(self.contexts, math.ceil(GROWTH * self.tells))

    def chances(self) -> FloatMatrix:
        """Return how likely each context is in each group."""
        step, found = entry(believe, self.state), np.zeros((self.contexts, len(self.state.chance)))
        for context in range(self.contexts):
            step(self._address, context)
            found[context] = self.state.chance
        return found

    def policy(self) -> IntVector:
        """Return each context's arm with the largest mean, over the groups that it may be in."""
        state = self.state
        means = self._mixture().expected(state.group_plays, state.group_total, state.prior)
        return np.argmax(self.chances() @ means, axis=1)

    def labels(self) -> IntVector:
        """Return the most likely group of each context."""
        return np.argmax(self.chances(), axis=1)
