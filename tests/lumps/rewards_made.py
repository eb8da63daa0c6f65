"""Laws of rewards for tests: one mean in (0, 1) makes a law, whose own mean is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats

from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.lumps.core.batches import tell_many
from lumpable.lumps.core.levels import ThreeLevels

Draw = Callable[[np.random.Generator, FloatVector, FloatVector], FloatVector]


class Law(NamedTuple):
    """A law of rewards: draw(rng, theta, sd of the arm), and its mean for each theta."""

    draw: Draw
    mean: Callable[[FloatMatrix], FloatMatrix]


def _stars_mean(theta: FloatMatrix) -> FloatMatrix:
    """Return the mean of 1 + 4 theta and normal noise, rounded to one of 1 .. 5."""
    edges = np.arange(1.5, 5.0)
    mean: FloatMatrix = 1.0 + np.sum(stats.norm.sf(edges, 1.0 + 4.0 * theta[..., None]), axis=-1)
    return mean


def _stars(rng: np.random.Generator, theta: FloatVector, _: FloatVector) -> FloatVector:
    return np.clip(np.round(rng.normal(1.0 + 4.0 * theta)), 1.0, 5.0)


def _revenue(rng: np.random.Generator, theta: FloatVector, _: FloatVector) -> FloatVector:
    clicked = rng.random(len(theta)) < 0.1 + 0.4 * theta
    return np.where(clicked, rng.lognormal(0.0, 1.0, len(theta)), 0.0)


def _rare(rng: np.random.Generator, theta: FloatVector, _: FloatVector) -> FloatVector:
    bought = rng.random(len(theta)) < 0.02 * theta
    return np.where(bought, rng.lognormal(3.0, 0.5, len(theta)), 0.0)


LAWS: dict[str, Law] = {
    "beta": Law(lambda rng, p, _: rng.beta(5.0 * p, 5.0 * (1.0 - p)), lambda p: p),
    "poisson": Law(lambda rng, p, _: rng.poisson(3.0 * p).astype(np.float64), lambda p: 3.0 * p),
    "exponential": Law(lambda rng, p, _: rng.exponential(p + 0.1), lambda p: p + 0.1),
    "revenue": Law(_revenue, lambda p: (0.1 + 0.4 * p) * np.exp(0.5)),
    "t3": Law(lambda rng, p, _: p + 0.5 * rng.standard_t(3.0, len(p)), lambda p: p),
    "stars": Law(_stars, _stars_mean),
    "sd by arm": Law(lambda rng, p, sd: rng.normal(p, sd), lambda p: p),
    "sd by mean": Law(lambda rng, p, _: rng.normal(p, 0.05 + p), lambda p: p),
    "rare": Law(_rare, lambda p: 0.02 * p * np.exp(3.125)),
}


class Seen(NamedTuple):
    """A learner that was told rewards of arms drawn at random, and the truth."""

    learner: ThreeLevels
    mean: FloatMatrix
    group: IntVector


def seen(
    law: Law, theta: FloatMatrix, contexts: int, each: int, seed: int, sd: FloatVector | None = None
) -> Seen:
    """Return a learner after so many rewards of each context; context i has the taste i mod M.

    Arms whose noise is their own have this one, or any.
    """
    rng, (M, K) = np.random.default_rng([seed, 88]), theta.shape
    group = np.arange(contexts) % M
    sd = 0.3 * np.exp(0.8 * rng.standard_normal(K)) if sd is None else sd
    context = np.repeat(np.arange(contexts), each)
    arm = rng.integers(K, size=len(context))
    reward = law.draw(rng, theta[group[context], arm], sd[arm])
    learner = ThreeLevels(contexts, K, seed=seed)
    learner.next_fit = learner.state.due[0] = 10**12
    tell_many(learner, context, arm, reward, np.ones(len(arm), dtype=np.int64))
    learner.adopt(learner.fit(learner.counts()))
    return Seen(learner, law.mean(theta[group]), group)


def tastes(number: int, arms: int, seed: int) -> FloatMatrix:
    """Return the theta of one taste, at random, or of two that differ by 0.4 or more everywhere."""
    rng = np.random.default_rng([seed, 77])
    if number == 1:
        return rng.uniform(0.1, 0.9, (1, arms))
    low, up = rng.uniform(0.1, 0.3, arms), rng.permuted(np.arange(arms) % 2 == 0)
    high = low + rng.uniform(0.5, 0.6, arms)
    return np.stack([np.where(up, high, low), np.where(up, low, high)])


def agreement(one: IntVector, two: IntVector) -> float:
    """Return the adjusted Rand index of two labellings.

    >>> agreement(np.array([0, 0, 1, 1]), np.array([5, 5, 2, 2]))
    1.0
    >>> agreement(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0]))
    0.0
    """
    table = np.zeros((one.max() + 1, two.max() + 1))
    np.add.at(table, (one, two), 1.0)

    def pairs(n: FloatMatrix) -> float:
        return float((n * (n - 1.0) / 2.0).sum())

    rows, columns, both = pairs(table.sum(axis=1)), pairs(table.sum(axis=0)), pairs(table)
    by_chance = rows * columns / pairs(np.array([float(len(one))]))
    most = (rows + columns) / 2.0
    return 1.0 if most == by_chance else (both - by_chance) / (most - by_chance)
