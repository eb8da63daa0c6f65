"""Claim 25's worlds with skewed frequencies, its runs, and versions of the reduction with a fault.

The fault is in how contexts are put into buckets; everything else is as in
`reductions.any_contexts_online`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.base.arrays import FloatVector, IntVector
from lumpable.plans import lengths, pac, reductions, regret
from lumpable.plans.plan import Belief, Branching, Collect, Result, Split
from lumpable.plans.problem import Problem
from lumpable.plans.seen import Sample

SKEWED = Problem(50, 10, 3)
Putting = Callable[[FloatVector], IntVector]
"""From estimated frequencies to buckets: -1 is given up."""
Inside = Callable[[Problem], lb.Plan]
"""The plan of a bucket."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """What a run of the reduction came to, with the truth beside it."""

    buckets: int
    unevenness: float
    """How far a context of a bucket is from its average frequency, as a factor."""
    estimating: float
    """Regret of the rounds that estimate frequencies."""
    given_up: float
    """Regret of contexts that were given up."""
    inside: float
    """Regret of all buckets."""
    late: bool
    """Whether an arm of gap 1 surely falls in every bucket."""


def take_apart(run: lb.Run) -> Reduced:
    """Say where the regret of a run of the reduction comes from."""
    inside = sum(side.run.regret for side in run.sides)
    nu = run.world.frequency
    factors = [1.0]
    for side in run.sides:
        relative = len(side.contexts) * nu[side.contexts] / nu[side.contexts].sum()
        factors += [float(relative.max()), float(1 / relative.min())]
    estimating = float(run.requests[0].regret)
    given_up = max(0.0, run.regret - estimating - inside)  # differences of large numbers
    late = all(surely_learns(side.run.parameters["problem"], side.run.rounds) for side in run.sides)
    return Reduced(len(run.sides), max(factors), estimating, given_up, inside, late)


def surely_learns(problem: Problem, rounds: int) -> bool:
    """Say whether Algorithm 6 ends, in this many rounds, a phase in which a gap of 1 must show.

    By schedule: 3.5 epsilon~ < 1 at its deepest level, r - 1 calls of Algorithm 5 included.
    """
    h, spent = 0, 0
    while True:
        h += 1
        phase = lengths.any_groups_phase(problem, h)
        spent += sum(phase.explore(n) for n in range(1, h + 1))
        if 3.5 * phase.threshold(h) < 1:
            return spent + (problem.groups - 1) * phase.split_rounds(h) <= rounds


def most_buckets(contexts: int, horizon: int) -> float:
    """Return log2 sqrt(ST) + 1."""
    return math.log2(math.sqrt(contexts * horizon)) + 1


def given_up_bar(contexts: int, horizon: int) -> float:
    """Return 2 sqrt(ST): S contexts that come at most twice as often as they seem to, T rounds."""
    return 2 * math.sqrt(contexts * horizon)


# --- Worlds ---------------------------------------------------------------------------------


def halving(contexts: int) -> FloatVector:
    """Frequencies that halve from context to context, each in the middle of its bucket.

    >>> halving(3)
    array([0.4, 0.4, 0.2])
    """
    nu: FloatVector = np.array([0.75 * 0.5**i for i in range(contexts)])
    nu[0] = nu[1]
    nu /= nu.sum()
    return nu


def nearly_all_rare(contexts: int, horizon: int, units: float) -> FloatVector:
    """All contexts but two come as often as this, in units of 1/sqrt(ST)."""
    nu = np.full(contexts, units / math.sqrt(contexts * horizon))
    nu[:2] = (1 - nu[2:].sum()) / 2
    return nu


def kinds(horizon: int, seed: int) -> dict[str, lb.World]:
    """Return worlds with the same means and different frequencies."""
    S, K, r = SKEWED.letters
    drawn = worlds.lumpable(S, K, r, frequency="zipf", seed=seed)
    frequencies = {
        "Zipf": drawn.frequency,
        "halving": halving(S),
        "just too rare": nearly_all_rare(S, horizon, 0.9),  # the most that giving up may cost
        "not too rare": nearly_all_rare(S, horizon, 20.0),  # must be kept
    }
    return {name: lb.World(drawn.mean, nu, drawn.group) for name, nu in frequencies.items()}


# --- Broken on purpose ----------------------------------------------------------------------


def keep_all(frequency: FloatVector) -> IntVector:
    """Return the right buckets, but give up no context that was seen."""
    return reductions.side_by_side(frequency, 1 << 200)


def no_buckets(frequency: FloatVector) -> IntVector:
    """Put all contexts that were seen into one bucket."""
    return np.where(frequency > 0, 0, -1)


def give_up_below_average(frequency: FloatVector) -> IntVector:
    """Return the right buckets, but give up all contexts below 1/(2S)."""
    return np.where(frequency > 0.5 / len(frequency), keep_all(frequency), -1)


@lb.algorithm
def put_wrongly(
    problem: Problem,
    *,
    horizon: int,
    putting: Putting,
    inside: Inside = regret.any_groups,
) -> Branching:
    """The reduction with other buckets, or with another plan inside them."""
    S, K, r = problem.letters
    J = lengths.estimate_rounds(S, horizon)
    everything = np.ones((S, K), dtype=bool)
    sample: Sample = yield Collect(J, 1, everything, Belief("estimating", np.zeros(S, np.int64)))
    chosen = putting(sample.plays.sum(axis=1) / sample.plays.sum())
    numbers, inverse = np.unique(chosen[chosen >= 0], return_inverse=True)
    bucket = np.full(S, -1, dtype=np.int64)
    bucket[chosen >= 0] = inverse
    policy = np.full(S, pac.best_pooled_arm(sample))
    plans = tuple(
        inside(Problem(size, K, min(r, size)))
        for size in np.bincount(inverse, minlength=len(numbers)).tolist()
    )
    yield Split(horizon - J, bucket, plans, Belief("side by side", policy))
    return Result(policy)


# --- Runs -----------------------------------------------------------------------------------


def run_reduction(world: lb.World, horizon: int, seed: int) -> Reduced:
    """Run the reduction."""
    plan = reductions.any_contexts_online(SKEWED, horizon=horizon)
    return take_apart(lb.simulate(plan, world, seed=seed))


def run_with_fault(
    world: lb.World, horizon: int, putting: Putting, inside: Inside = regret.any_groups
) -> Reduced:
    """Run the reduction with a fault, once."""
    plan = put_wrongly(SKEWED, horizon=horizon, putting=putting, inside=inside)
    return take_apart(lb.simulate(plan, world, seed=0))


def in_bars(run: Reduced, horizon: int) -> dict[str, float]:
    """Return what was measured, in units of its bar where that depends on the horizon."""
    S = SKEWED.contexts
    return {
        "buckets": run.buckets / most_buckets(S, horizon),
        "unevenness": run.unevenness,
        "given_up": run.given_up / given_up_bar(S, horizon),
    }


def uniform_regret(world: lb.World, horizon: int, seed: int) -> float:
    """Return the regret of Algorithm 6 with the same means and uniform frequencies."""
    even = worlds.from_matrix(world.mean)
    return lb.simulate(regret.any_groups(SKEWED), even, horizon=horizon, seed=seed).regret
