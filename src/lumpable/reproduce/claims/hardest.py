"""Worlds that are hard for low regret, and the worst of their gaps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.base.arrays import FloatMatrix, FloatVector
from lumpable.plans.problem import Problem
from lumpable.reproduce.claims.rates import curve

GRADES = 4
"""Common arms lose 1/4, 1/2, 3/4 or 1, as many each."""


def own_arms(problem: Problem, seed: int, *, uneven: bool = False) -> lb.World:
    """Give every group an arm of its own; the others lose by grades. Means span 1.

    An own arm is worth 1 to its group and 0 to all others, so it tells that group apart and no
    other one: Algorithm 5 has to be called for every group. The grades of the common arms keep
    several accuracy levels busy. `uneven`: groups of sizes S/2, S/4, .., and whoever is not in the
    largest one comes as rarely as the theorems allow, with frequency 1/(8S).
    """
    S, K, r = problem.letters
    order = np.random.default_rng([seed, 1]).permutation(K)
    means: FloatMatrix = np.zeros((r, K))
    common = np.arange(1, K - r + 1) / (K - r)
    means[:, order[r:]] = 1 - np.ceil(GRADES * common) / GRADES
    means[np.arange(r), order[:r]] = 1.0
    sizes = "geometric" if uneven else "equal"
    world = worlds.lumpable(S, K, r, sizes=sizes, means=means, seed=seed)
    if not uneven:
        return world
    large = world.group == np.argmax(np.bincount(world.group))
    nu = np.where(large, 0.0, 1 / (8 * S))
    nu[large] = (1 - nu.sum()) / large.sum()
    return replace(world, frequency=nu)


def copied(world: lb.World, times: int) -> lb.World:
    """Copy every context and every arm: the same means and groups at `times` the size."""
    return lb.World(
        np.repeat(np.repeat(world.mean, times, axis=0), times, axis=1),
        np.repeat(world.frequency, times) / times,
        np.repeat(world.group, times),
        world.noise,
        world.sd,
        world.name,
    )


def shrink(world: lb.World, halvings: float) -> lb.World:
    """Return the same world with all means 2^-k times as large."""
    return replace(world, mean=world.mean * 2.0**-halvings)


def worst_regret(
    make: Callable[[], lb.Plan],
    world: lb.World,
    seed: int,
    times: Sequence[float],
    *,
    start: float = 0.0,
    step: float = 1.0,
) -> FloatVector:
    """Return the largest regret at each time over all gaps: so gaps are scaled with T.

    The search has no edge: gaps are 2^-k times those of the world, whose means span 1, for k from
    `start` on in steps, and end where T rounds cannot lose more than was lost already, since a
    round loses at most 2^-k. With a `start` above 0 the worst must lie beyond it.
    """
    worst: FloatVector = np.zeros(len(times))
    first: FloatVector = np.full(len(times), -1.0)
    k = start
    while np.any(2.0**-k * np.asarray(times) > worst):
        found = curve(make(), shrink(world, k), seed, times)
        if k == start > 0:
            first = found
        worst = np.maximum(worst, found)
        k += step
    assert np.all(worst > first), f"the worst gap is not beyond 2^-{start:g}"
    return worst
