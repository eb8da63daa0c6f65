"""PTS: Kawale and others, "Efficient Thompson sampling for online ...", NIPS 2015.

Kawale, Bui, Kveton, Tran-Thanh and Chawla, "Efficient Thompson sampling for online
matrix-factorization recommendation": R_ij is normal around U_i' V_j with standard deviation sigma,
U_i and V_j are normal around 0. A Rao-Blackwellised filter of D particles holds V; U_i is
integrated out to weigh a particle.

As we read the paper, the precisions Lambda are those of a particle's current factors and of all
rewards; they are sums over cells, so that no particle keeps any of its own. Particles stand side by
side in the last axis: all are worked on at once, and one that is drawn twice is copied in full.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine import Clock, Kernels, below, kernel, largest, normal, uniform
from lumpable.learners.learner import Cells, CellsByArm, Compiled, PerArm, Unfit, zeros

Cube = npt.NDArray[np.float64]
MOST = 3_000_000
"""Largest (S + K) D rank^2: 1 to 3 ms a round."""


class State(NamedTuple):
    """What was seen, shared by all particles; the particles; and scratch."""

    plays: Cells
    """How often arm j was played for context i, [i, j]."""
    total: Cells
    """The sum of its rewards."""
    plays_by_arm: CellsByArm
    """The same as [j, i], so that either way is contiguous."""
    total_by_arm: CellsByArm
    U: Cube
    """(S, rank, D)."""
    V: Cube
    """(K, rank, D)."""
    precision: Cube
    """Lambda, (rank, rank, D)."""
    pull: FloatMatrix
    """zeta, (rank, D)."""
    root: FloatMatrix
    """Lower Cholesky factor of a Lambda."""
    drawn: FloatVector
    scaled: FloatVector
    weight: FloatVector
    ancestor: IntVector
    copied: FloatVector
    score: PerArm
    sd: float
    sigma_u: float
    sigma_v: float


@kernel
def gather(
    state: State, plays: FloatVector, total: FloatVector, factors: Cube, prior: float,
    first: int, last: int,
) -> None:  # fmt: skip
    """Posterior of a row: Lambda = sum x x' / sigma^2 + I / prior^2 and zeta = sum r x.

    x are the factors of what this row was played with, in particles first .. last - 1.
    """
    precision, pull = state.precision, state.pull
    rank = len(pull)
    for d in range(first, last):
        for a in range(rank):
            pull[a, d] = 0.0
            for b in range(a + 1):
                precision[a, b, d] = 1.0 / prior**2 if a == b else 0.0
    for j in range(len(plays)):
        if plays[j] == 0.0:
            continue
        n, s = plays[j] / state.sd**2, total[j]
        for a in range(rank):
            for d in range(first, last):
                pull[a, d] += s * factors[j, a, d]
            for b in range(a + 1):
                for d in range(first, last):
                    precision[a, b, d] += n * factors[j, a, d] * factors[j, b, d]


@kernel
def take_root(P: FloatMatrix, root: FloatMatrix) -> None:
    """Write the lower Cholesky factor of P."""
    for a in range(len(root)):
        for b in range(a + 1):
            rest = P[a, b]
            for e in range(b):
                rest -= root[a, e] * root[b, e]
            root[a, b] = math.sqrt(rest) if a == b else rest / root[b, b]


@kernel
def forward(root: FloatMatrix, x: FloatVector) -> None:
    """Replace x by L^-1 x."""
    for a in range(len(x)):
        for b in range(a):
            x[a] -= root[a, b] * x[b]
        x[a] /= root[a, a]


@kernel
def backward(root: FloatMatrix, x: FloatVector) -> None:
    """Replace x by L^-T x."""
    for a in range(len(x) - 1, -1, -1):
        for b in range(a + 1, len(x)):
            x[a] -= root[b, a] * x[b]
        x[a] /= root[a, a]


@kernel
def draw(state: State, d: int, clock: Clock) -> None:
    """Draw from N(mu, Lambda^-1) with mu = Lambda^-1 zeta / sigma^2, for one particle."""
    drawn = state.drawn
    take_root(state.precision[:, :, d], state.root)
    for a in range(len(drawn)):
        drawn[a] = state.pull[a, d] / state.sd**2
    forward(state.root, drawn)
    for a in range(len(drawn)):
        drawn[a] += normal(clock)
    backward(state.root, drawn)


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Draw a particle and U_i given its V; play the largest U_i' V_j."""
    i, u = context, state.drawn
    d = below(clock, len(state.weight))
    gather(state, state.plays[i], state.total[i], state.V, state.sigma_u, d, d + 1)
    draw(state, d, clock)
    for j in range(len(state.score)):
        state.score[j] = 0.0
        for a in range(len(u)):
            state.score[j] += u[a] * state.V[j, a, d]
    return largest(state.score, clock)


@kernel
def weigh(state: State, arm: int, reward: float) -> None:
    """Weigh a particle by N(r; V_j' mu, sigma^2 + V_j' Lambda^-1 V_j), without U_i."""
    mean, x, log_weight = state.drawn, state.scaled, state.weight
    top = -np.inf
    for d in range(len(log_weight)):
        take_root(state.precision[:, :, d], state.root)
        for a in range(len(x)):
            mean[a] = state.pull[a, d] / state.sd**2
            x[a] = state.V[arm, a, d]
        forward(state.root, mean)
        forward(state.root, x)
        centre, variance = 0.0, state.sd**2
        for a in range(len(x)):
            centre += x[a] * mean[a]
            variance += x[a] * x[a]
        log_weight[d] = -0.5 * (math.log(variance) + (reward - centre) ** 2 / variance)
        top = max(top, log_weight[d])
    for d in range(len(log_weight)):
        state.weight[d] = math.exp(log_weight[d] - top)


@kernel
def resample(state: State, clock: Clock) -> None:
    """Draw D particles by weight, and copy each in full."""
    weight, D = state.weight, len(state.weight)
    for d in range(1, D):
        weight[d] += weight[d - 1]
    for d in range(D):
        at, e = uniform(clock) * weight[D - 1], 0
        while e < D - 1 and weight[e] <= at:
            e += 1
        state.ancestor[d] = e
    copy(state.U, state.ancestor, state.copied)
    copy(state.V, state.ancestor, state.copied)


@kernel
def copy(factors: Cube, ancestor: IntVector, copied: FloatVector) -> None:
    """Replace each particle's factors by its ancestor's."""
    for i in range(factors.shape[0]):
        for a in range(factors.shape[1]):
            for d in range(len(copied)):
                copied[d] = factors[i, a, ancestor[d]]
            for d in range(len(copied)):
                factors[i, a, d] = copied[d]


@kernel
def move(state: State, row: FloatMatrix, clock: Clock) -> None:
    """Redraw a row of U or V in each particle, from the posterior in `precision` and `pull`."""
    for d in range(len(state.weight)):
        draw(state, d, clock)
        for a in range(len(row)):
            row[a, d] = state.drawn[a]


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Weigh and resample particles, then draw U_i and, given it, V_j in each."""
    i, j, D = context, arm, len(state.weight)
    gather(state, state.plays[i], state.total[i], state.V, state.sigma_u, 0, D)
    weigh(state, j, reward)
    resample(state, clock)
    state.plays[i, j] += 1.0
    state.total[i, j] += reward
    state.plays_by_arm[j, i] += 1.0
    state.total_by_arm[j, i] += reward
    gather(state, state.plays[i], state.total[i], state.V, state.sigma_u, 0, D)
    move(state, state.U[i], clock)
    gather(state, state.plays_by_arm[j], state.total_by_arm[j], state.U, state.sigma_v, 0, D)
    move(state, state.V[j], clock)


class ParticleThompson(Compiled):
    """Thompson sampling from a particle filter over factorisations of the means.

    Good early, where the means are nearly of this rank. The filter forgets: as V_j is redrawn only
    when arm j is played, and all particles descend from one after a while, late play is noisier. A
    round costs of order (S + K) D rank^2, too slow for very large problems.

    Parameters
    ----------
    rank, particles
        Number of factors, and of particles.
    sd, sigma_u, sigma_v
        Standard deviations of the noise and of the factors, all known to the method.

    >>> learner = ParticleThompson(contexts=2, arms=3, particles=5, seed=1)
    >>> for reward in (0.0, 1.0, 1.0):
    ...     learner.tell(0, learner.ask(0), reward)
    >>> learner.means().shape
    (2, 3)
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        rank: int = 2,
        particles: int = 30,
        sd: float = 0.5,
        sigma_u: float = 1.0,
        sigma_v: float = 1.0,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        rank, D = checks.whole("rank", rank, 1), checks.whole("particles", particles, 1)
        if (S + K) * D * rank**2 > MOST:
            raise Unfit(
                f"particle: takes (S + K) D rank^2 steps a round, at most {MOST:,}, "
                f"got ({S} + {K}) {D} {rank}^2"
            )
        scale_v = checks.real("sigma_v", sigma_v, "a positive number", 0.0, 1e9)
        rng = np.random.default_rng(checks.whole("seed", seed, 0))
        state = zeros(State, S, K)._replace(
            U=np.zeros((S, rank, D)),
            V=scale_v * rng.standard_normal((K, rank, D)),
            precision=np.zeros((rank, rank, D)),
            pull=np.zeros((rank, D)),
            root=np.zeros((rank, rank)),
            drawn=np.zeros(rank),
            scaled=np.zeros(rank),
            weight=np.zeros(D),
            ancestor=np.zeros(D, dtype=np.int64),
            copied=np.zeros(D),
            sd=checks.real("sd", sd, "a positive number", 0.0, 1e9),
            sigma_u=checks.real("sigma_u", sigma_u, "a positive number", 0.0, 1e9),
            sigma_v=scale_v,
        )
        super().__init__(S, K, seed, state)

    def means(self) -> FloatMatrix:
        """Return the mean of mu_i' V_j over the particles."""
        state = self.state
        found: FloatMatrix = np.zeros((self.contexts, self.arms))
        for d in range(len(state.weight)):
            V = state.V[:, :, d]
            precision = np.einsum("ij,ja,jb->iab", state.plays, V, V) / state.sd**2
            precision += np.eye(V.shape[1]) / state.sigma_u**2
            mu = np.linalg.solve(precision, (state.total @ V)[:, :, None] / state.sd**2)
            found += mu[:, :, 0] @ V.T
        return found / len(state.weight)

    def policy(self) -> IntVector:
        """Return each context's arm with the largest mean over the particles."""
        return np.argmax(self.means(), axis=1)
