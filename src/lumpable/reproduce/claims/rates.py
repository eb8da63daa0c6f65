"""Reads growth off runs: regret at many times, exponents, and the logarithms that a tilde hides."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

import lumpable as lb
from lumpable.base.arrays import FloatVector
from lumpable.base.checks import MOST_ROUNDS
from lumpable.plans import lengths
from lumpable.plans.problem import Problem
from lumpable.reproduce.claim import Check


def equal_logs(problem: Problem, T: float) -> float:
    """lg_h of the phase of round T: 6 eps~_h times the rounds is of order lg_h sqrt(T)."""
    return last_phase(problem, T, lengths.equal_groups_phase, 2.0).lg


def any_logs(problem: Problem, T: float) -> float:
    """lg_h and the number of levels of the phase of round T, whose bounds are added up."""
    phase = last_any_groups_phase(problem, T)
    return phase.lg * phase.h


def standard_logs(problem: Problem, T: float) -> float:
    """The widths of its confidence intervals: delta = 2^-63, for all pairs and all time."""
    pairs = problem.contexts * problem.arms
    return math.sqrt(2 * math.log(2 * pairs * MOST_ROUNDS) + math.log(T))


def last_any_groups_phase(problem: Problem, T: float) -> lengths.Phase:
    """Return the phase of Algorithm 6 in which round T is; its levels take L_{h,n} rounds each."""
    return last_phase(problem, T, lengths.any_groups_phase, 2 / (1 - 2**-0.5))


def last_phase(
    problem: Problem, T: float, law: Callable[[Problem, int], lengths.Phase], whole: float
) -> lengths.Phase:
    """Return the phase in which round T is, when all phases to h take `whole` times L_{h,h}."""
    h = 1
    while whole * law(problem, h).explore(h) < T:
        h += 1
    return law(problem, h)


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
