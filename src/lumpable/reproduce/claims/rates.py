"""Reads growth off runs: regret at many times, exponents, and what a proof charges for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

import lumpable as lb
from lumpable.base.arrays import FloatVector
from lumpable.plans import lengths
from lumpable.plans.problem import Problem
from lumpable.reproduce.claim import Check

Law = Callable[[Problem, int], lengths.Phase]
"""The lengths of phase h of Algorithm 4 or 6."""


def last_phase(problem: Problem, T: float, law: Law = lengths.any_groups_phase) -> lengths.Phase:
    """Return Algorithm 6's phase of round T: those to h take 2 / (1 - 2^-1/2) L_{h,h} rounds."""
    h = 1
    while 2 / (1 - 2**-0.5) * law(problem, h).explore(h) < T:
        h += 1
    return law(problem, h)


def any_logs(problem: Problem, T: float) -> float:
    """lg_h and the levels of Algorithm 6's phase of round T, whose bounds are added up."""
    phase = last_phase(problem, T)
    return phase.lg * phase.h


def charge(problem: Problem, T: float, law: Law) -> float:
    """Return what the proofs of Theorems 4 and 5 charge for T rounds, logarithms and constants too.

    Step 1 of phase h plays arms that are at most 6 eps~_{h,n} bad at level n, for L_{h,n} rounds;
    calls of Algorithm 5 take L' rounds each, together at most all T, at 6 eps~_h a round. Added up
    over all phases that T rounds of Step 1 reach. Of order sqrt(r^3 (S + K) T), without logarithms.
    The paper charges r calls; each cuts a cluster, so there are at most r - 1, which is less.
    """
    total, rounds, h, calls = 0.0, 0.0, 0, problem.groups - 1
    while rounds < T:
        h += 1
        phase = law(problem, h)
        total += 6 * phase.threshold(h) * min(T, calls * phase.split_rounds(h))
        for n in phase.levels:
            length = min(T - rounds, phase.explore(n))
            total += 6 * phase.threshold(n) * length
            rounds += length
    return total


def rounds_through(problem: Problem, h: int, law: Law = lengths.any_groups_phase) -> float:
    """Return the rounds of Step 1 in the phases 1 .. h."""
    phases = (law(problem, each) for each in range(1, h + 1))
    return float(sum(phase.explore(n) for phase in phases for n in phase.levels))


def curve(plan: lb.Plan, world: lb.World, seed: int, times: Sequence[float]) -> FloatVector:
    """Run once and read the regret at many times; inside a request it grows evenly on average."""
    run = lb.simulate(plan, world, seed=seed, horizon=int(times[-1]))
    rounds = [0.0, *(float(row.rounds) for row in run.requests)]
    lost: FloatVector = np.interp(times, rounds, [0.0, *(row.regret for row in run.requests)])
    return lost


def check_exponent(what: str, found: tuple[float, float], bar: float) -> Check:
    """Hold an exponent and its standard error against a bar: two errors are allowed."""
    value, error = found
    return Check(f"{what}, ± {error:.3f}; two errors allowed", value, "<=", bar + 2 * error)


def exponent(found: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return the mean of the slopes of several worlds, and the error of the mean.

    The error is the larger of that of the fits and that of the spread between worlds.
    """
    pairs = list(found)
    values, errors = np.array(pairs).T
    n = len(pairs)
    spread = float(values.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    fits = math.sqrt(float(errors @ errors)) / n
    return float(values.mean()), max(spread, fits)
