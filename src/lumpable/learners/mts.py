"""mTS: Hong, Kveton, Zaheer, Chow, Ahmed, Boutilier, "Latent bandits revisited", NeurIPS 2020.

Their Thompson sampling with known means, for each context: keep the posterior P(s) of the latent
states given the rewards, draw a state from it and play its best arm. Both likelihoods are
exponential families, so that

    log f(y | s, a) = slope(s, a) y + offset(s, a) + something that is the same for all s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.learners.engine import Clock, Kernels, by_log_weight, kernel
from lumpable.learners.learner import Compiled
from lumpable.learners.mucb import check_means

MODELS = ("gaussian", "bernoulli")
SURE = 1e-12
"""Bernoulli means stay this far from 0 and 1: no reward rules out all states."""


class State(NamedTuple):
    """One row per context, one column per latent state; tables by arm and latent state."""

    log_posterior: FloatMatrix
    """log P(s) up to a constant."""
    slope: FloatMatrix
    offset: FloatMatrix
    best: IntVector
    """The best arm of each latent state."""
    score: FloatVector


@kernel
def choose(state: State, context: int, clock: Clock) -> int:
    """Draw a latent state from its posterior and play its best arm."""
    return state.best[by_log_weight(state.log_posterior[context], state.score, clock)]


@kernel
def update(state: State, context: int, arm: int, reward: float, clock: Clock) -> None:
    """Bayes' rule."""
    for s in range(len(state.best)):
        likelihood = state.slope[arm, s] * reward + state.offset[arm, s]
        state.log_posterior[context, s] += likelihood


class ModelThompson(Compiled):
    """mTS: knows the means of all groups and draws each context's group from its posterior.

    `group_means` is (r, K). Rewards are modelled as `gaussian` with scale `sd` (1/2 for rewards in
    [0, 1]) or as `bernoulli`; `prior` holds the groups' probabilities, equal unless given. `spread`
    tempers the likelihood, which is raised to the power 1 / spread^2. Regret per context grows with
    r, not with K. An oracle: true means are rarely known, and it trusts them blindly.

    >>> learner = ModelThompson(contexts=2, arms=2, group_means=[[0.1, 0.9], [0.8, 0.2]])
    >>> for _ in range(20):
    ...     learner.tell(0, 0, 1.0)
    >>> learner.labels()
    array([1, 0])
    """

    kernels = Kernels(choose, update)

    def __init__(
        self,
        contexts: int,
        arms: int,
        *,
        group_means: npt.ArrayLike,
        sd: float = 0.5,
        model: str = "gaussian",
        prior: npt.ArrayLike | None = None,
        spread: float = 1.0,
        seed: int = 0,
    ) -> None:
        S, K = checks.whole("contexts", contexts, 1), checks.whole("arms", arms, 1)
        self._means = means = check_means(group_means, K)
        sd = checks.real("sd", sd, "a positive number", 0.0, 1e100)
        power = checks.real("spread", spread, "a positive number", 0.0, 1e6) ** -2
        if checks.choice("model", model, MODELS) == "bernoulli":
            self.unit_rewards = True  # type: ignore[misc]
            if means.min() < 0.0 or means.max() > 1.0:
                raise BadArgument(
                    "group_means", why="expected numbers in [0, 1] for a bernoulli model"
                )
            p = np.clip(means, SURE, 1.0 - SURE)
            slope, offset = np.log(p) - np.log1p(-p), np.log1p(-p)
        else:
            slope, offset = means / sd**2, -(means**2) / (2.0 * sd**2)
        state = State(
            log_posterior=np.tile(_log_prior(prior, len(means)), (S, 1)),
            slope=np.ascontiguousarray(power * slope.T),
            offset=np.ascontiguousarray(power * offset.T),
            best=np.argmax(means, axis=1),
            score=np.zeros(len(means)),
        )
        super().__init__(S, K, seed, state)

    def posterior(self) -> FloatMatrix:
        """Return the probability of each latent state in each context."""
        log_posterior = self.state.log_posterior
        weight = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
        return weight / weight.sum(axis=1, keepdims=True)

    def policy(self) -> IntVector:
        """Return each context's arm with the largest expected mean."""
        return np.argmax(self.posterior() @ self._means, axis=1)

    def labels(self) -> IntVector:
        """Return the most likely state of each context."""
        return np.argmax(self.state.log_posterior, axis=1)


def _log_prior(prior: npt.ArrayLike | None, groups: int) -> FloatVector:
    if prior is None:
        return np.zeros(groups)
    given = np.array(prior, dtype=np.float64)
    if given.shape != (groups,) or not (given > 0.0).all() or not np.isfinite(given).all():
        raise BadArgument("prior", f"{groups} positive numbers", repr(prior))
    return np.log(given)
