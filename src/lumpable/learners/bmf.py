"""Factor Thompson: Salakhutdinov and Mnih, "Bayesian probabilistic matrix ...", ICML 2008.

The Gibbs sampler is in the manner of "Bayesian probabilistic matrix factorization using Markov
chain Monte Carlo". Factors in a bandit: Zhao, Zhang and Wang, "Interactive collaborative
filtering", CIKM 2013; Kawale, Bui, Kveton, Tran-Thanh and Chawla, "Efficient Thompson sampling for
online matrix-factorization recommendation", NIPS 2015. The model, its priors and the times of the
refits are ours; with d = 1 .. rank:

    y_t = c + a_j + u_i . v_j + noise,   u_i ~ N(0, I),   v_jd ~ N(0, 1 / lambda_d),
    a_j ~ N(0, 1 / lambda_0),   lambda ~ Gamma(1, VAGUE sd^2).

c is the mean of all rewards. An arm's vector is w_j = (v_j, a_j), regressed on x_i = (u_i, 1).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.learners.engine import Clock, Kernels, kernel, largest, normal
from lumpable.learners.fitting.completion import normal_equations
from lumpable.learners.learner import Cells, Compiled, PerArm, zeros
from lumpable.learners.particle import backward, forward, take_root

GROWTH = 0.05
"""A refit comes when the tells have grown by this share since the last one, or by S."""
VAGUE = 0.1
"""Rate of the prior of each lambda, in units of sd^2: the rank's directions may fade."""


class State(NamedTuple):
    """Counts; the last draw of U; the posterior N(P_j^-1 b_j, P_j^-1) of each w_j given U."""

    plays: Cells
    total: Cells
    x: FloatMatrix
    """(u_i, 1) at the last refit, (S, rank + 1); 0 before the first."""
    precision: FloatMatrix
    """P_j (K, rank + 1, rank + 1)."""
    shift: FloatMatrix
    """b_j (K, rank + 1)."""
    root: FloatMatrix
    """Cholesky factor L_j of P_j."""
    half: FloatMatrix
    """L_j^-1 b_j."""
    w: FloatMatrix
    """Drawn arms, (K, rank + 1); with what follows, room for a choice."""
    own_precision: FloatMatrix
    own_root: FloatMatrix
    own_shift: FloatVector
    own_half: FloatVector
    u: FloatVector
    score: PerArm
    centre: FloatVector
    """c."""
    due: IntVector
    sd: float
    spread: float


@kernel
def factor(P: FloatMatrix, b: FloatVector, L: FloatMatrix, half: FloatVector) -> None:
    """Cholesky: write L with L L' = P and half = L^-1 b."""
    take_root(P, L)
    for d in range(len(b)):
        half[d] = b[d]
    forward(L, half)


@kernel
def sample(L: FloatMatrix, half: FloatVector, spread: float, clock: Clock, x: FloatVector) -> None:
    """Draw x = L'^-1 (half + spread z), z standard normal: last entry first."""
    for row in range(len(x) - 1, -1, -1):
        x[row] = half[row] + spread * normal(clock)
    backward(L, x)


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Draw every w_j given U, then u_i given them and its rewards; play the best arm."""
    w, u, score = state.w, state.u, state.score
    K, rank = len(score), len(u)
    if state.x[context, rank] == 0.0:
        score[:] = 0.0  # nothing was fitted yet: any arm
        return largest(score, clock)
    for j in range(K):
        sample(state.root[j], state.half[j], state.spread, clock, w[j])
    P, b = state.own_precision, state.own_shift
    for d in range(rank):
        b[d] = 0.0
        for e in range(rank):
            P[d, e] = 1.0 if d == e else 0.0
    for j in range(K):
        n = state.plays[context, j]
        if n > 0.0:
            rest = (state.total[context, j] - n * (state.centre[0] + w[j, rank])) / state.sd**2
            n /= state.sd**2
            for d in range(rank):
                b[d] += rest * w[j, d]
                for e in range(d + 1):
                    P[d, e] += n * w[j, d] * w[j, e]
    factor(P, b, state.own_root, state.own_half)
    sample(state.own_root, state.own_half, state.spread, clock, u)
    for j in range(K):
        score[j] = w[j, rank]
        for d in range(rank):
            score[j] += u[d] * w[j, d]
    return largest(score, clock)


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward to its cell and to the posterior of its arm given U."""
    state.plays[context, arm] += 1.0
    state.total[context, arm] += reward
    x, P, b = state.x[context], state.precision[arm], state.shift[arm]
    for d in range(len(x)):
        b[d] += (reward - state.centre[0]) * x[d] / state.sd**2
        for e in range(len(x)):
            P[d, e] += x[d] * x[e] / state.sd**2
    factor(P, b, state.root[arm], state.half[arm])


class FactorThompson(Compiled):
    """Thompson sampling for a low-rank matrix of means with a bias for each arm.

    Uniform play until the first refit, after S tells. Then each round draws all arms' vectors given
    the contexts', the context's own given the arms', and plays the best arm; the arms' posterior
    follows every tell. Refits run Gibbs sweeps over arms, precisions and contexts, from where the
    last ended: every S tells, later whenever the tells have grown by 5 %.

    Strong where contexts are seen a few times each, whether they fall into groups or not; a rank
    below the true one leaves linear regret, one above it is shrunk away. A round takes time of
    order K rank^2.

    Parameters
    ----------
    rank
        Number of factors beside the arms' biases.
    spread
        Factor on the posterior's spread; 1 is Thompson sampling, less explores less.
    sd
        Noise of a reward.
    sweeps
        Gibbs sweeps at a refit.

    >>> learner = FactorThompson(contexts=4, arms=2, rank=1, seed=1)
    >>> for context in (0, 1, 2, 3) * 50:
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
        rank: int = 3,
        spread: float = 1.0,
        sd: float = 0.5,
        sweeps: int = 5,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        rank = checks.whole("rank", rank, 1)
        D = rank + 1
        self.sweeps = checks.whole("sweeps", sweeps, 1)
        noise = checks.real("sd", sd, "a positive number", 0.0, 1e9)
        self.precisions = np.full(D, noise**-2)
        """lambda, the bias last; at first that of one reward."""
        state = zeros(State, S, K)._replace(
            x=np.zeros((S, D)),
            precision=np.tile(np.eye(D), (K, 1, 1)),
            shift=np.zeros((K, D)),
            root=np.tile(np.eye(D), (K, 1, 1)),
            half=np.zeros((K, D)),
            w=np.zeros((K, D)),
            own_precision=np.zeros((rank, rank)),
            own_root=np.zeros((rank, rank)),
            own_shift=np.zeros(rank),
            own_half=np.zeros(rank),
            u=np.zeros(rank),
            centre=np.zeros(1),
            due=np.array([S]),
            sd=noise,
            spread=checks.real("spread", spread, "a positive number", 0.0, 1e9),
        )
        super().__init__(S, K, seed, state)

    def refit(self) -> None:
        """Sweep over W given U, lambda given W, and U given W; then W's posterior given U.

        Random draws, in this order: at the first refit S rank normals for U; in each sweep K (rank
        + 1) normals, rank + 1 gammas and S rank normals.
        """
        state, rng = self.state, np.random.default_rng([self.seed, self.tells])
        S, K, D = self.contexts, self.arms, state.x.shape[1]
        if state.x[0, -1] == 0.0:
            state.x[:, :-1] = rng.standard_normal((S, D - 1))
            state.x[:, -1] = 1.0
        state.centre[0] = state.total.sum() / state.plays.sum()
        n = state.plays / state.sd**2
        y = (state.total - state.centre[0] * state.plays) / state.sd**2
        rate, shape = VAGUE * state.sd**2, 1.0 + 0.5 * K
        for _ in range(self.sweeps):
            w = _draw(n.T, y.T, state.x, self.precisions, rng.standard_normal((K, D)))
            self.precisions[:] = rng.standard_gamma(shape, D) / (rate + 0.5 * np.sum(w**2, axis=0))
            V, a = w[:, :-1], w[:, -1]
            u = _draw(n, y - n * a, V, np.ones(D - 1), rng.standard_normal((S, D - 1)))
            state.x[:, :-1] = u
        P, b = normal_equations(n.T, y.T, state.x, self.precisions)
        state.precision[:], state.shift[:] = P, b
        state.root[:] = np.linalg.cholesky(P)
        state.half[:] = np.linalg.solve(state.root, b[:, :, None])[:, :, 0]
        state.due[0] = self.tells + max(S, math.ceil(GROWTH * self.tells))

    def policy(self) -> IntVector:
        """Return each context's best arm at the posterior means of W given U, and of u given W."""
        state = self.state
        w = np.linalg.solve(state.precision, state.shift[:, :, None])[:, :, 0]
        V, a = w[:, :-1], w[:, -1]
        n = state.plays / state.sd**2
        y = (state.total - state.centre[0] * state.plays) / state.sd**2
        P, b = normal_equations(n, y - n * a, V, np.ones(V.shape[1]))
        u = np.linalg.solve(P, b[:, :, None])[:, :, 0]
        return np.argmax(u @ V.T + a, axis=1)


def _draw(
    n: FloatMatrix, y: FloatMatrix, X: FloatMatrix, prior: FloatVector, z: FloatMatrix
) -> FloatMatrix:
    """Draw each row's coefficients on X: L'^-1 (L^-1 b + z) with L L' = P."""
    P, b = normal_equations(n, y, X, prior)
    L = np.linalg.cholesky(P)
    half = np.linalg.solve(L, b[:, :, None])
    return np.linalg.solve(L.transpose(0, 2, 1), half + z[:, :, None])[:, :, 0]
