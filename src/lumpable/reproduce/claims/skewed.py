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
from lumpable import pac, reductions, schedule, worlds
from lumpable.checks import FloatVector, IntVector
from lumpable.plan import Belief, Branching, Collect, Result, Sample, Split
from lumpable.problem import Problem

Putting = Callable[[FloatVector], IntVector]
"""From estimated frequencies to buckets: -1 is given up."""


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


def judged(run: lb.Run) -> Reduced:
    """Judge a run of the reduction."""
    inside = sum(side.run.regret for side in run.sides)
    nu = run.world.frequency
    factors = [1.0]
    for side in run.sides:
        relative = len(side.contexts) * nu[side.contexts] / nu[side.contexts].sum()
        factors += [float(relative.max()), float(1 / relative.min())]
    estimating = float(run.steps[0]["regret"])
    given_up = max(0.0, run.regret - estimating - inside)  # differences of large numbers
    return Reduced(len(run.sides), max(factors), estimating, given_up, inside)


def most_buckets(contexts: int, horizon: int) -> float:
    """Return log2 sqrt(ST) + 1."""
    return math.log2(math.sqrt(contexts * horizon)) + 1


def estimating_bar(contexts: int, horizon: int) -> float:
    """Return 8 sqrt(ST) log(2ST): every round of J may cost 1."""
    area = contexts * horizon
    return 8 * math.sqrt(area) * math.log(2 * area)


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


def kinds(problem: Problem, horizon: int, seed: int) -> dict[str, lb.World]:
    """Return worlds with the same means and different frequencies."""
    S, K, r = problem.letters
    drawn = worlds.lumpable(S, K, r, frequency="zipf", seed=seed)
    frequencies = {
        "Zipf": drawn.frequency,
        "halving": halving(S),
        "just too rare": nearly_all_rare(S, horizon, 0.9),  # the most that giving up may cost
        "not too rare": nearly_all_rare(S, horizon, 20.0),  # must be kept
    }
    return {name: lb.World(drawn.mean, nu, drawn.group) for name, nu in frequencies.items()}


# --- Broken on purpose ----------------------------------------------------------------------


def all_kept(frequency: FloatVector) -> IntVector:
    """Buckets as they should be, for everybody who was seen at all."""
    return reductions.side_by_side(frequency, 1 << 200)


def no_buckets(frequency: FloatVector) -> IntVector:
    """One bucket for everybody who was seen."""
    return np.where(frequency > 0, 0, -1)


def below_average_given_up(frequency: FloatVector) -> IntVector:
    """Buckets as they should be, but only for contexts above 1/(2S)."""
    S = len(frequency)
    return np.where(frequency > 0.5 / S, all_kept(frequency), -1)


@lb.algorithm
def put_wrongly(problem: Problem, *, horizon: int, putting: Putting) -> Branching:
    """The reduction with other buckets."""
    S, K, r = problem.letters
    J = schedule.estimate_rounds(S, horizon)
    everything = np.ones((S, K), dtype=bool)
    sample: Sample = yield Collect(J, 1, everything, Belief("estimating", np.zeros(S, np.int64)))
    chosen = putting(sample.plays.sum(axis=1) / sample.plays.sum())
    numbers, inverse = np.unique(chosen[chosen >= 0], return_inverse=True)
    bucket = np.full(S, -1, dtype=np.int64)
    bucket[chosen >= 0] = inverse
    policy = np.full(S, pac.best_pooled_arm(sample))
    plans = tuple(
        lb.regret.any_groups(Problem(size, K, min(r, size)))
        for size in np.bincount(inverse, minlength=len(numbers)).tolist()
    )
    yield Split(horizon - J, bucket, plans, Belief("side by side", policy))
    return Result(policy)
