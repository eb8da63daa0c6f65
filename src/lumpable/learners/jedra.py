"""RS-BPI: Jedra, Réveillard, Stojanovic and Proutiere, "Low-rank bandits ...", ICML 2024.

"Low-rank bandits via tight two-to-infinity singular subspace recovery": with arms drawn at random,
an inverse-propensity estimate of the mean matrix is cut to its r leading singular values. Their
RS-BPI goes on with fresh samples: it fits, by ridge regression on the features

    [vec(U' e_i e_j' V), vec(U' e_i e_j' V_perp), vec(U_perp' e_i e_j' V)],   d = r (S + K) - r^2,

and recommends the best arm of the fit. The features are an orthonormal basis of the tangent space
{U G + H V'}, so the fit is found in that space, by conjugate gradients, without writing them down.

Ours: a context's frequency is not known, so its propensity is its share of the visits; the two
samples are taken in turn, not one after the other, so that there is a policy at any time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, IntVector
from lumpable.learners.engine import TELLS, Clock, Kernels, below, kernel
from lumpable.learners.learner import NEVER, Compiled

GROWTH = 2.0
"""How much later each refit is than the one before."""
STEPS, SMALL = 300, 1e-8
"""Most steps of conjugate gradients, and the relative size of what may be left."""


class State(NamedTuple):
    """What exploration saw, in two samples, and the policy of the last refit."""

    plays: npt.NDArray[np.int64]
    """[sample, context, arm]."""
    total: npt.NDArray[np.float64]
    """Sums of rewards."""
    fitted: FloatMatrix
    """The estimate of the means."""
    best: IntVector
    due: IntVector
    budget: int


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Play any arm while there is budget, then the policy."""
    if clock[TELLS] < state.budget:
        return below(clock, state.plays.shape[2])
    return state.best[context]


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Add a reward of the exploration to one of the two samples, in turn."""
    if clock[TELLS] < state.budget:
        sample = int(clock[TELLS]) % 2
        state.plays[sample, context, arm] += 1
        state.total[sample, context, arm] += reward


def spectral(
    plays: npt.NDArray[np.int64], total: FloatMatrix, rank: int
) -> tuple[FloatMatrix, FloatMatrix, FloatMatrix]:
    """Return U (S, r), V (K, r) and the matrix that is left of r singular values.

    Of the inverse-propensity estimate: rewards over n_i / K, the plays to be expected of each cell.
    """
    expected = plays.sum(axis=1, keepdims=True) / plays.shape[1]
    raw = total / np.where(expected > 0, expected, 1.0)
    left, value, right = np.linalg.svd(raw, full_matrices=False)
    U, V = left[:, :rank], right[:rank].T
    return U, V, (U * value[:rank]) @ V.T


def fit_on_tangent(
    plays: npt.NDArray[np.int64], total: FloatMatrix, U: FloatMatrix, V: FloatMatrix, ridge: float
) -> FloatMatrix:
    """Return X = U G + H V' with the least sum n_ij (X_ij - mean_ij)^2 + ridge |X|^2."""

    def tangent(X: FloatMatrix) -> FloatMatrix:
        along: FloatMatrix = X @ V
        return U @ (U.T @ X) + (along - U @ (U.T @ along)) @ V.T

    X = np.zeros_like(total)
    rest = tangent(total)
    step, size = rest, float(np.sum(rest * rest))
    enough = SMALL**2 * size
    for _ in range(STEPS):
        if size <= enough:
            break
        curved = tangent(plays * step) + ridge * step
        length = size / float(np.sum(step * curved))
        X = X + length * step
        rest = rest - length * curved
        size, before = float(np.sum(rest * rest)), size
        step = rest + (size / before) * step
    return X


class SpectralPolicy(Compiled):
    """Explore uniformly for a part of the horizon, then play the policy of a low-rank fit.

    Made to find a good policy, not for small regret while it looks: of order r (S + K) / epsilon^2
    log(1 / delta) samples suffice for a policy within epsilon, with probability 1 - delta, where
    means and frequencies are homogeneous, up to constants. Rewards of later rounds are not used:
    their arms are not drawn at random. A context that hardly comes has a noisy row, as its
    propensity is small.

    Parameters
    ----------
    horizon
        Rounds to be played.
    explore
        The share of them that explores.
    rank
        r; at most the smaller of contexts and arms is used.
    refine
        Whether to fit in the tangent space by a second sample (RS-BPI), or to take the cut matrix
        of all samples.
    ridge
        Of that fit.

    >>> learner = SpectralPolicy(contexts=2, arms=2, horizon=8, seed=1)
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
        explore: float = 0.5,
        rank: int = 3,
        refine: bool = True,
        ridge: float = 1e-4,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        share = checks.real("explore", explore, "a number in (0, 1]", 0.0, 1.0)
        budget = max(1, round(share * checks.whole("horizon", horizon, 1)))
        self.rank = min(checks.whole("rank", rank, 1), S, K)
        self.refine = bool(refine)
        self.ridge = checks.real("ridge", ridge, "a positive number", 0.0, 1e9)
        rng = np.random.default_rng(checks.whole("seed", seed, 0))
        state = State(
            plays=np.zeros((2, S, K), dtype=np.int64),
            total=np.zeros((2, S, K)),
            fitted=np.zeros((S, K)),
            best=rng.integers(K, size=S),
            due=np.array([min(S + K, budget)], dtype=np.int64),
            budget=budget,
        )
        super().__init__(S, K, seed, state)

    def refit(self) -> None:
        """Estimate the means from what exploration saw so far."""
        state = self.state
        if self.refine:
            U, V, _ = spectral(state.plays[0], state.total[0], self.rank)
            state.fitted[:] = fit_on_tangent(state.plays[1], state.total[1], U, V, self.ridge)
        else:
            state.fitted[:] = spectral(state.plays.sum(axis=0), state.total.sum(axis=0), self.rank)[
                2
            ]
        state.best[:] = np.argmax(state.fitted, axis=1)
        later = min(int(GROWTH * self.tells) + 1, state.budget)
        state.due[0] = later if self.tells < state.budget else NEVER

    def policy(self) -> IntVector:
        """Return each context's best arm by the last estimate."""
        return self.state.best.copy()
