"""Looks into runs of Algorithm 1 with the truth beside them, and makes worlds where claims bite.

Only the world knows which promises a run kept. Everything here follows the letters of
the proof of Theorem 1: omega(b) of a block, epsilon_b, its level n_b.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

import lumpable as lb
from lumpable.base.arrays import BoolVector, FloatVector
from lumpable.plans import lengths, pac
from lumpable.plans.problem import PAPER, Constants, Problem
from lumpable.runs.run import Step

DELTA = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A sizeable block: omega(b) >= epsilon / r."""

    members: BoolVector
    epsilon: float
    """epsilon_b = max(1, 1/sqrt(r omega(b))) epsilon."""
    level: int
    """n_b = ceil(log2(1 / epsilon_b^2))."""


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """A run of Algorithm 1, with every request and its sample."""

    run: lb.Run
    steps: Sequence[Step]

    @property
    def problem(self) -> Problem:
        """The size that the plan was given."""
        problem: Problem = self.run.parameters["problem"]
        return problem

    @property
    def epsilon(self) -> float:
        """The accuracy that the plan was given."""
        return float(self.run.parameters["epsilon"])

    @property
    def loss(self) -> float:
        """The mean loss of the policy."""
        return self.run.world.loss(self.run.policy)

    @property
    def candidates(self) -> list[int]:
        """W, the arms that screening found."""
        return [] if self.run.result is None else list(self.run.result.candidates)

    def blocks(self) -> list[Block]:
        """Return the sizeable blocks of the world."""
        return list(sizeable(self.run.world, self.problem.groups, self.epsilon))

    def uncovered(self, block: Block, level: int | None = None) -> int:
        """Count the arms that no context of the block finished at its level (or another)."""
        n = block.level if level is None else level
        plays = next(step.sample.plays for step in self.steps if step.request.repeats == 2**n)
        return int(np.sum(~plays[block.members].any(axis=0)))

    def gap(self, block: Block) -> float:
        """Return how far the best candidate is below the block's best arm, over epsilon_b."""
        mean = self.run.world.mean[block.members][0]
        return float(mean.max() - mean[self.candidates].max()) / block.epsilon


def watch(plan: lb.Plan, world: lb.World, seed: int, horizon: int | None = None) -> Watched:
    """Run a plan and keep every request and sample."""
    steps: list[Step] = []
    run = lb.simulate(plan, world, seed=seed, horizon=horizon, watch=steps.append)
    return Watched(run, steps)


def algorithm_1(
    world: lb.World,
    epsilon: float,
    seed: int,
    constants: Constants = PAPER,
    *,
    only_step_1: bool = False,
) -> Watched:
    """Run Algorithm 1 in a world, to its end or to the end of Step 1."""
    problem = size_of(world)
    plan = pac.near_uniform(problem, epsilon=epsilon, delta=DELTA, constants=constants)
    size = lengths.near_uniform_lengths(problem, epsilon, DELTA, constants)
    return watch(plan, world, seed, size.levels * size.explore if only_step_1 else None)


def size_of(world: lb.World) -> Problem:
    """Return the size of a world as a problem."""
    return Problem(world.contexts, world.arms, world.groups)


def log_x(problem: Problem) -> float:
    """log(rSK / delta), natural."""
    S, K, r = problem.letters
    return math.log(r * S * K / DELTA)


def sizeable(world: lb.World, groups: int, epsilon: float) -> Iterator[Block]:
    """Yield the blocks with omega(b) >= epsilon / r."""
    for b in np.unique(world.group):
        members = world.group == b
        omega = float(world.frequency[members].sum())
        if omega >= epsilon / groups:
            epsilon_b = max(1.0, 1 / math.sqrt(groups * omega)) * epsilon
            yield Block(members, epsilon_b, lengths.round_up(math.log2(1 / epsilon_b**2)))


# --- Broken on purpose ----------------------------------------------------------------------


def threshold_times(factor: float) -> Constants:
    """Return constants with the screening threshold this much wider, all lengths as printed."""
    square = factor**2
    return replace(
        PAPER,
        confidence=PAPER.confidence * square,
        explore=PAPER.explore / square,
        test=PAPER.test / square,
    )


# --- Worlds ---------------------------------------------------------------------------------


def most_uneven(contexts: int) -> FloatVector:
    """Frequencies 8/S for a ninth of the contexts and 1/(8S) for the others: they add up to 1.

    >>> round(float(most_uneven(18).sum()), 6)
    1.0
    """
    heavy = np.arange(contexts) < contexts // 9
    return np.where(heavy, 8.0, 1 / 8) / contexts


def planted(
    contexts: int, arms: int, groups: int, gap: float, frequency: FloatVector | None = None
) -> lb.World:
    """Give each block one good arm, all others `gap` below; blocks take turns among contexts.

    The first block's good arm is the best of all, so a screening that tells no blocks apart
    finds only that one.
    """
    group = np.arange(contexts) % groups
    best = 1 - 0.05 * np.arange(groups)
    mean = np.repeat((best - gap)[:, np.newaxis], arms, axis=1)
    mean[np.arange(groups), np.arange(groups)] = best
    nu = np.full(contexts, 1 / contexts) if frequency is None else frequency
    return lb.World(mean[group], nu, group, name="planted")


def decoy(contexts: int, arms: int, epsilon: float, units: float) -> lb.World:
    """Two blocks; the first one's best arm is a decoy for the second one.

    There it lies `units` sqrt(log x) epsilon below the best arm. When screening forgives as much,
    the second block leaves with the decoy, and its own best arm never becomes a candidate.
    """
    group = np.arange(contexts) % 2
    distance = units * math.sqrt(log_x(Problem(contexts, arms, 2))) * epsilon
    mean = np.zeros((2, arms))
    mean[0, 0], mean[1, 1] = 1.0, 1 - epsilon  # a lead of epsilon is many standard errors
    mean[1, 0] = mean[1, 1] - distance
    return lb.World(mean[group], np.full(contexts, 1 / contexts), group, name="decoy")


def one_large_block(contexts: int, arms: int, groups: int, gap: float) -> lb.World:
    """One block of nearly all arrivals; the others are single contexts, as rare as allowed.

    Single contexts have frequency 1/(8S). Every block has a good arm of its own, the others lie
    `gap` below.
    """
    group = np.maximum(np.arange(contexts) - (contexts - groups), 0)
    rare = group > 0
    nu = np.where(rare, 1 / (8 * contexts), 0.0)
    nu[~rare] = (1 - nu.sum()) / np.sum(~rare)
    mean = np.repeat((1 - 0.05 * np.arange(groups) - gap)[:, np.newaxis], arms, axis=1)
    mean[np.arange(groups), np.arange(groups)] += gap
    return lb.World(mean[group], nu, group, name="one large block")
