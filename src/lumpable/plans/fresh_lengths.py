"""Lengths, errors and eliminations of fresh phases, with the printed constants and with `TIGHT`.

Formulas only. Letters: r is the number of groups that the phase works with, which may be a guess;
every context comes with frequency at least 1/(8S); e = e_{h,n} is the error of level n in phase h.

What the proof of `regret.fresh_phases` asks of a set of constants, and how `TIGHT` meets it:

O1  Errors. Every pair that is used at level n is within its radius, which is at most e, for all
    levels of the phase at once but for a chance beta_h. A phase that fails has X_h rounds, say;
    the sum of beta_h min(T, X_h) must be within the bound, and beta_h = 2^(-h/2)/S does it:
    ell = log(4 S K h / beta_h), e = sqrt(2 ell / 2^n), radius = e / sqrt(plays).
O2  Coverage. A group b has a finished play of every good arm at all levels with
    2^n <= min(1, r omega(b))^2 2^h. It needs K ell finished plays, so 8 S 2^n rounds for plays
    that do not get finished and r K ell 2^((n+h)/2) for those that do, and a margin of 5/4.
O3  Gaps. A gap that is shown proves a range of R >= 2e on that arm: lower and upper ends 2e apart.
    If none is shown, the range is less than 6e.
O4  Comparisons are between arms that are still good for the cluster, from data of this level: of
    those every covered group has its own. An arm leaves when another is better for every context
    seen. This is safe in mixed clusters too.
O5  Good sets shrink from level to level within a phase, and start as all arms.
O6  Splits. Intervals hold for all stages of all calls of a phase at once, but for a chance of
    2^-h/S^2, and an arm is repeated at least 32 lambda times: `Stages`.
O7  Rows, lengths and where a request ends depend on the past only.

Survivors of level n are then within 12e of the best arm of every covered group; with the printed
constants, whose elimination needs clusters that show no gap, within 14e.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from lumpable.base.arrays import BoolMatrix, FloatMatrix, IntMatrix
from lumpable.plans.clusters import Clusters
from lumpable.plans.intervals import Intervals
from lumpable.plans.lengths import any_groups_phase, doubled
from lumpable.plans.problem import Constants, Problem, Tight

RAREST = 8
"""Every context comes with frequency at least 1/(8S)."""


class FreshPhase(Protocol):
    """What one set of constants says about phase h."""

    @property
    def problem(self) -> Problem:
        """S, K and the number of groups that the phase works with."""
        ...

    @property
    def h(self) -> int:
        """The number of the phase."""
        ...

    @property
    def first(self) -> int:
        """n0, the first level at which e is small enough to conclude anything."""
        ...

    def explore(self, n: int) -> int:
        """L_{h,n}, the rounds of level n."""
        ...

    def error(self, n: int) -> float:
        """e_{h,n}: ends of intervals 2e apart show a gap."""
        ...

    def intervals(self, n: int, plays: IntMatrix) -> FloatMatrix:
        """Return the radius of each pair's interval at level n, at most e."""
        ...

    def fallen(self, n: int, seen: Intervals, found: Clusters) -> BoolMatrix:
        """Say which arms leave which clusters at level n."""
        ...


@dataclass(frozen=True, slots=True)
class TightPhase:
    """Phase h with `TIGHT`."""

    problem: Problem
    h: int
    ell: float
    """log(4 S K h / beta_h), beta_h = 2^(-h/2)/S."""

    @property
    def first(self) -> int:
        """The first n with e < 1/2."""
        return math.floor(math.log2(8 * self.ell)) + 1

    def explore(self, n: int) -> int:
        """5/4 (8 S 2^n + r K ell 2^((n+h)/2))."""
        S, K, r = self.problem.letters
        return (10 * S << n) + doubled(1.25 * r * K * self.ell, (n + self.h) / 2)

    def error(self, n: int) -> float:
        """sqrt(2 ell / 2^n)."""
        return math.sqrt(2 * self.ell) * math.exp2(-n / 2)

    def intervals(self, n: int, plays: IntMatrix) -> FloatMatrix:
        """Return sqrt(2 ell / (plays 2^n))."""
        return radius(self.error(n), plays)

    def fallen(self, n: int, seen: Intervals, found: Clusters) -> BoolMatrix:
        """Return the arms that are worse than another for every context seen."""
        return seen.surely_worse(found)


@dataclass(frozen=True, slots=True)
class PrintedPhase:
    """Phase h with the constants of Algorithm 6; levels below n0 are left out."""

    problem: Problem
    h: int
    lg: float
    """lg_h = 128 log(r S K h / delta_h)."""
    taper: float

    @property
    def first(self) -> int:
        """The first n with e <= 1/2."""
        return max(1, math.ceil(math.log2(self.lg) - 2))

    def explore(self, n: int) -> int:
        """Algorithm 6, line 6: r (S + K) lg_h 2^((n+h)/2)."""
        S, K, r = self.problem.letters
        return doubled(r * (S + K) * self.lg, self.h - self.taper * (self.h - n))

    def error(self, n: int) -> float:
        """A quarter of the printed threshold sqrt(lg_h / 2^n)."""
        return math.sqrt(self.lg) / 4 * math.exp2(-n / 2)

    def intervals(self, n: int, plays: IntMatrix) -> FloatMatrix:
        """Return e, however many plays: means that are a threshold apart show a gap."""
        return np.full(plays.shape, self.error(n))

    def fallen(self, n: int, seen: Intervals, found: Clusters) -> BoolMatrix:
        """Return the arms that are two thresholds below; none where a gap shows (reading 20)."""
        e = self.error(n)
        restless: BoolMatrix = np.any(seen.gaps(found) >= 2 * e, axis=1, keepdims=True)
        return seen.far_below(found, 8 * e) & ~restless


def fresh_phase(
    problem: Problem, h: int, constants: Constants | Tight, known: bool = True
) -> FreshPhase:
    """Return phase h; where r is only a guess, the confidence does not depend on it."""
    S, K, r = problem.letters
    if isinstance(constants, Tight):
        ell = math.log(4 * S * K * h * S) + h / 2 * math.log(2)
        return TightPhase(problem, h, ell)
    lg = any_groups_phase(Problem(S, K, r if known else S), h, constants).lg
    return PrintedPhase(problem, h, lg, constants.taper)


@dataclass(frozen=True, slots=True)
class Stages:
    """A call of `fresh.split` on a gap: its stages q = 0, 1, .. measure twice as fine each.

    The range of the arm on the cluster is at least R. With at most r different means, some k of the
    distances between neighbours are at least R/(k eta): if all were smaller, they would add up to
    less than R. Stage q = ceil(log2(k eta)) cuts those k, and that is enough: so the rounds are of
    order k^2 for k cuts. Without stages, a single one cuts the largest distance, at least R/(r-1).
    """

    problem: Problem
    h: int
    R: float
    """min(1, G)."""
    adaptive: bool

    @property
    def eta(self) -> float:
        """1 + log r, above 1 + 1/2 + .. + 1/(r-1)."""
        return 1 + math.log(self.problem.groups)

    @property
    def number(self) -> int:
        """Q, how many stages there are."""
        if not self.adaptive:
            return 1
        return 1 + math.floor(math.log2(2 * self.eta * max(1, self.problem.groups - 1)))

    @property
    def confidence(self) -> float:
        """lambda = log(3 S^4 Q 2^h)."""
        return math.log(3 * self.problem.contexts**4 * self.number) + self.h * math.log(2)

    def repeats(self, q: int) -> int:
        """M_q = 32 lambda 4^q / R^2; without stages, (r-1)^2 in place of 4^q."""
        finer = 1 << 2 * q if self.adaptive else max(1, self.problem.groups - 1) ** 2
        return math.ceil(Fraction(32 * self.confidence) * finer / Fraction(self.R) ** 2)

    def rounds(self, q: int) -> int:
        """1.3 x 8 S M_q: every context expects 1.3 M_q of them."""
        return -(-13 * RAREST * self.problem.contexts * self.repeats(q) // 10)

    def intervals(self, q: int, plays: IntMatrix) -> FloatMatrix:
        """Return sqrt(2 lambda / (plays M_q)), at most R/4 2^-q."""
        return radius(math.sqrt(Fraction(2 * self.confidence) / self.repeats(q)), plays)

    def enough(self, q: int, cuts: int) -> bool:
        """Say whether the cuts of stage q pay for its rounds."""
        return cuts >= max(1.0, (1 << q) / (2 * self.eta))


def radius(error: float, plays: IntMatrix) -> FloatMatrix:
    """Return the error of each pair, if one play has this one."""
    return error / np.sqrt(np.maximum(plays, 1))
