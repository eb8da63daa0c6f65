"""Worlds of people: how much they give at all, strong likes and dislikes, and tastes in groups.

Numbers without a name are those of the standard suite. pop_j ~ N(0, 0.6^2) is how well arm j does
with everybody, and sig is the logistic function.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, IntVector
from lumpable.worlds.amounts import Beta, Exponential, Poisson, Revenue, StudentT
from lumpable.worlds.laws import Bernoulli, Gaussian, Law
from lumpable.worlds.made import frequencies, generator, size
from lumpable.worlds.noises import Noise
from lumpable.worlds.stars import Stars
from lumpable.worlds.world import World


def with_levels(
    contexts: int,
    arms: int,
    *,
    groups: int | None = None,
    frequency: str | npt.ArrayLike = "uniform",
    noise: Noise = "bernoulli",
    seed: int,
) -> World:
    """Give every context a level of its own: some like nearly everything, others nearly nothing.

    Without groups the means are sig(0.3 + pop_j + N(0, 1.5^2)_i + N(0, 0.6^2)_ij), and each context
    is its own group. With groups they are sig(0.3 + N(0, 1.2^2)_gj + N(0, 1.5^2)_i): members of a
    group rank the arms alike, on different levels.

    >>> with_levels(contexts=6, arms=4, groups=2, seed=1)
    World(levels, contexts=6, arms=4, groups=2, bernoulli)
    """
    S, K = size(contexts, arms)
    rng = generator(seed)
    if groups is None:
        group, popular = np.arange(S), rng.normal(0.0, 0.6, K)
        taste = popular + rng.normal(0.0, 0.6, (S, K))
    else:
        group = _group(S, groups, rng)
        taste = rng.normal(0.0, 1.2, (groups, K))[group]
    mean = _sig(0.3 + taste + rng.normal(0.0, 1.5, (S, 1)))
    return World(mean, frequencies(frequency, S, rng), group, noise, name="levels")


def two_point(
    contexts: int,
    arms: int,
    *,
    levels: bool = False,
    frequency: str | npt.ArrayLike = "uniform",
    noise: Noise = "bernoulli",
    seed: int,
) -> World:
    """Give every context strong likes and dislikes, pair by pair: there are no groups to find.

    Means are Beta(0.2 p_j, 0.2 (1 - p_j)) with p_j = sig(pop_j): most are near 0 or 1. With
    `levels` they are Beta(0.3 p_ij, 0.3 (1 - p_ij)) with p_ij = sig(pop_j + N(0, 1.5^2)_i).
    """
    S, K = size(contexts, arms)
    rng = generator(seed)
    popular = rng.normal(0.0, 0.6, K)
    if levels:
        p, weight = _sig(popular + rng.normal(0.0, 1.5, (S, 1))), 0.3
    else:
        p, weight = np.broadcast_to(_sig(popular), (S, K)), 0.2
    mean = rng.beta(weight * p, weight * (1 - p))
    return World(mean, frequencies(frequency, S, rng), np.arange(S), noise, name="two-point")


def blocs(
    contexts: int,
    arms: int,
    groups: int,
    *,
    frequency: str | npt.ArrayLike = "uniform",
    noise: Noise = "bernoulli",
    seed: int,
) -> World:
    """Hide groups with strong likes and dislikes, which their members share roughly.

    A group's p_gj ~ Beta(0.3, 0.15), cut off at [0.02, 0.98], so that several arms are nearly the
    best; a member's means are Beta(8 p, 8 (1 - p)). `group` names the groups.
    """
    S, K = size(contexts, arms)
    rng = generator(seed)
    group = _group(S, groups, rng)
    p = np.clip(rng.beta(0.3, 0.15, (groups, K)), 0.02, 0.98)[group]
    mean = rng.beta(8 * p, 8 * (1 - p))
    return World(mean, frequencies(frequency, S, rng), group, noise, name="blocs")


Rewarded = tuple[FloatMatrix, Law]
"""Mean rewards, and their law."""


def _by_arm(theta: FloatMatrix, rng: np.random.Generator) -> Rewarded:
    return theta, Gaussian(0.3 * np.exp(0.8 * rng.standard_normal(theta.shape[1])))


def _by_context(theta: FloatMatrix, rng: np.random.Generator) -> Rewarded:
    level = np.exp(0.5 * rng.standard_normal((len(theta), 1)))
    return theta, Gaussian(0.3 * level**2)


def _rare(theta: FloatMatrix, rng: np.random.Generator) -> Rewarded:
    law = Revenue(mu=3.0, sigma=0.5)
    return 0.02 * theta * law.amount, law


def _revenue(theta: FloatMatrix, rng: np.random.Generator) -> Rewarded:
    law = Revenue()
    return (0.1 + 0.4 * theta) * law.amount, law


REWARDS: dict[str, Callable[[FloatMatrix, np.random.Generator], Rewarded]] = {
    "bernoulli": lambda theta, rng: (theta, Bernoulli()),
    "gaussian": lambda theta, rng: (theta, Gaussian(0.3)),
    "sd by arm": _by_arm,
    "sd by mean": lambda theta, rng: (theta, Gaussian(0.05, slope=1.0)),
    "sd by context": _by_context,
    "beta": lambda theta, rng: (theta, Beta(5.0)),
    "poisson": lambda theta, rng: (3 * theta, Poisson()),
    "exponential": lambda theta, rng: (theta + 0.1, Exponential()),
    "stars": lambda theta, rng: (Stars().mean_of(1 + 4 * theta), Stars()),
    "revenue": _revenue,
    "rare": _rare,
    "student": lambda theta, rng: (theta, StudentT(3.0, scale=0.5)),
}
"""Mean rewards and their law, from a taste theta in (0, 1)."""


def tastes(
    contexts: int,
    arms: int,
    groups: int = 1,
    *,
    rewards: str = "bernoulli",
    frequency: str | npt.ArrayLike = "uniform",
    seed: int,
) -> World:
    """Hide the same tastes under different laws of rewards; with one group all are alike.

    A taste is theta_gj = p_j + 0.2 N(0, 1), cut off at [0.03, 0.97], where p_j is uniform on
    [0.1, 0.9]; with one group it is p_j.

    Parameters
    ----------
    rewards
        `bernoulli`, `gaussian` (sd 0.3) or `beta` (concentration 5) with mean theta; `student` (3
        degrees of freedom, scale 0.5); `sd by arm` (0.3 e^(0.8 z)), `sd by mean` (0.05 + theta) or
        `sd by context` (0.3 e^z), which are Gaussian; `poisson` with mean 3 theta; `exponential`
        with mean theta + 0.1; `stars` around 1 + 4 theta; `revenue`: a click with probability
        0.1 + 0.4 theta, then lognormal(0, 1); `rare`: with 0.02 theta, then lognormal(3, 0.5).

    >>> tastes(contexts=6, arms=4, groups=2, rewards="stars", seed=1)
    World(tastes, contexts=6, arms=4, groups=2, stars, sd=1)
    """
    S, K = size(contexts, arms)
    rng = generator(seed)
    group = _group(S, groups, rng)
    checks.choice("rewards", rewards, tuple(REWARDS))
    p = rng.uniform(0.1, 0.9, K)
    theta = np.clip(p + 0.2 * rng.standard_normal((groups, K)), 0.03, 0.97)[group]
    if groups == 1:
        theta = np.tile(p, (S, 1))
    nu = frequencies(frequency, S, rng)
    mean, law = REWARDS[rewards](theta, rng)
    return World(mean, nu, group, law, name="tastes")


def _sig(x: FloatMatrix) -> FloatMatrix:
    return 1 / (1 + np.exp(-x))


def _group(contexts: int, groups: int, rng: np.random.Generator) -> IntVector:
    """Return a random division into groups that are equally large, to within one context."""
    r = checks.whole("groups", groups, 1, contexts)
    return rng.permutation(np.arange(contexts) % r)
