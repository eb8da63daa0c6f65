"""How many bandits have the right arm: bounds that nobody beats, and attackers held against them.

m bandits with k arms come equally often. Each has one good arm, uniform on its k arms and 4 epsilon
better than the others, so nobody learns about one bandit from another. A run loses more than
epsilon when more than a quarter of its bandits end with a wrong arm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lumpable.base.arrays import BoolMatrix, FloatMatrix, FloatVector
from lumpable.base.extras import need
from lumpable.reproduce.claim import slope
from lumpable.reproduce.claims import attackers, rates
from lumpable.reproduce.claims.attackers import ATTACKERS

EPSILON, SIDE, ARMS = 1 / 16, 32, 8
"""epsilon, m and k, where they are not varied."""
MANY = (128, 256, 512, 1024)
"""Contexts for those who are told who is alike: it helps as contexts are added."""
UNITS = tuple(float(unit) for unit in np.geomspace(0.0005, 0.06, 16))
"""Budgets, in cells/epsilon^2: m k/epsilon^2."""
FURTHEST = 0.08
"""A bandit is played so often, in k/epsilon^2: a third more than the largest budget asks for."""
PARTS = 4
"""Bandits are divided into so many parts, each with exponents of its own."""
Guesses = dict[str, BoolMatrix]
"""For each attacker: whether each bandit (column) has the right arm after n plays (row)."""


# --- What nobody can beat -------------------------------------------------------------------


def wrong_at_least(arms: int, gap: float, plays: FloatVector) -> FloatVector:
    """Return a lower bound on the share of bandits with a wrong arm: `plays` of each on average.

    P_a, where arm a is good, differs from P_0, where none is, by at most sqrt(KL(P_0, P_a) / 2) and
    KL(P_0, P_a) = kl E_0[plays of a], kl = KL(1/2, 1/2 + gap). Averaged over a, the right guess has
    probability at most 1/k + sqrt(kl plays / (2k)), whatever is known of the other bandits.
    """
    kl = -math.log1p(-4 * gap**2) / 2
    return 1 - 1 / arms - np.sqrt(kl * plays / (2 * arms))


def failure_at_least(wrong: float) -> float:
    """Return a lower bound on the probability of a loss above epsilon, from that on wrong arms.

    A run fails with more than a quarter of wrong arms, and has at most a quarter otherwise.
    """
    return max(0.0, (wrong - 0.25) / 0.75)


def half_fail(arms: int) -> float:
    """Return the budget up to which half of the runs fail, in cells/epsilon^2; epsilon <= 1/16.

    Then kl <= (8/3) gap^2.
    """
    return 3 / 64 * max(0.0, 3 / 8 - 1 / arms) ** 2


def wrong_if_uniform(arms: int, gap: float, plays: int) -> float:
    """Return the probability of a wrong guess after `plays` plays of every arm, exactly."""
    binom = need("scipy.stats", "research", "reproducing the paper").binom
    heads = np.arange(plays + 1)
    bad, most = binom.pmf(heads, plays, 0.5), binom.cdf(heads, plays, 0.5)
    less = most - bad
    wins = np.sum([most**j * less ** (arms - 1 - j) for j in range(arms)], axis=0) / arms
    return float(1 - binom.pmf(heads, plays, 0.5 + gap) @ wins)


# --- Attackers ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Size:
    """Bandits with `arms` arms whose good one is 4 epsilon better."""

    arms: int
    epsilon: float

    @property
    def gap(self) -> float:
        """4 epsilon."""
        return 4 * self.epsilon

    def plays(self, unit: float) -> float:
        """Return the plays of a bandit for so many units of cells/epsilon^2."""
        return unit * self.arms / self.epsilon**2

    def guess(self, name: str, rows: int, seed: int, longer: int = 1) -> BoolMatrix:
        """Return which of many bandits have the right arm, by their plays."""
        most = longer * math.ceil(self.plays(FURTHEST))
        return attackers.correct(ATTACKERS[name], rows, self.arms, self.gap, most, seed)

    def guesses(self, rows: int, seed: int) -> Guesses:
        """Return the same for all attackers."""
        return {name: self.guess(name, rows, seed + k) for k, name in enumerate(ATTACKERS)}


def wrong_shares(
    right: BoolMatrix, weight: FloatMatrix, budget: float, rng: np.random.Generator
) -> FloatVector:
    """Return the share of arrivals with a wrong arm in each run; a row of `weight` is one run."""
    visits = rng.multinomial(round(budget), weight)
    rows = np.arange(weight.size).reshape(weight.shape)
    wrong = ~right[np.minimum(visits, len(right) - 1), rows]
    shares: FloatVector = np.sum(weight * wrong, axis=1)
    return shares


def weights(
    right: BoolMatrix, size: Size, contexts: int, rng: np.random.Generator, *, told: bool
) -> FloatMatrix:
    """Divide bandits into runs: how often each of a run comes.

    Each context is a bandit; if `told`, those with the same good arm are known to be one.
    """
    if not told:
        return np.full((right.shape[1] // contexts, contexts), 1 / contexts)
    each = np.full(size.arms, 1 / size.arms)
    alike: FloatMatrix = rng.multinomial(contexts, each, right.shape[1] // size.arms) / contexts
    return alike


def half_budget(right: BoolMatrix, weight: FloatMatrix, most: float) -> float:
    """Return the budget at which half of the runs lose more than epsilon, by bisection."""
    low, high = 1.0, most
    for _ in range(12):
        middle = math.sqrt(low * high)
        lost = np.mean(wrong_shares(right, weight, middle, np.random.default_rng(15)) > 0.25)
        low, high = (middle, high) if lost > 0.5 else (low, middle)
    return math.sqrt(low * high)


def cheapest(found: Guesses, size: Size, contexts: int, part: int, *, told: bool) -> float:
    """Return the smallest budget of any attacker with which half of the runs of a part succeed."""
    budgets = []
    for right in found.values():
        own = np.array_split(right, PARTS, axis=1)[part]
        weight = weights(own, size, contexts, np.random.default_rng([15, part]), told=told)
        budgets.append(half_budget(own, weight, weight.shape[1] * (len(right) - 1.0)))
    return min(budgets)


def exponent(
    pools: dict[Size, Guesses], at: Sequence[tuple[float, Size, int]], *, told: bool = False
) -> tuple[float, float]:
    """Return the exponent of the cheapest budget in what grows, and its standard error.

    `at` holds what grows, the size and the contexts of each point.
    """
    return rates.exponent(
        slope(
            [x for x, _, _ in at],
            [cheapest(pools[size], size, contexts, part, told=told) for _, size, contexts in at],
        )
        for part in range(PARTS)
    )


@dataclass(frozen=True, slots=True)
class Point:
    """The runs of one attacker with one budget, beside the bounds."""

    series: str
    unit: float
    """The budget in cells/epsilon^2."""
    failures: int
    """Runs that lose more than epsilon."""
    runs: int
    bandits: int
    wrong: float
    """The share of contexts with a wrong arm."""
    bound: float
    """What it is at least, on average."""

    @property
    def chance(self) -> float:
        """The probability of so few failures, if the bound were the truth."""
        binom = need("scipy.stats", "research", "reproducing the paper").binom
        return float(binom.cdf(self.failures, self.runs, failure_at_least(self.bound)))

    @property
    def deviation(self) -> float:
        """How far the share of wrong arms is above its bound, in standard errors."""
        b = self.bound
        return math.inf if b < 0.02 else (self.wrong - b) / math.sqrt(b * (1 - b) / self.bandits)


def points(found: Guesses, size: Size, contexts: int, *, told: bool = False) -> list[Point]:
    """Hold all attackers with all budgets against the bounds."""
    made = []
    for name, right in found.items():
        rng = np.random.default_rng(15)
        weight = weights(right, size, contexts, rng, told=told)
        for unit in UNITS:
            shares = wrong_shares(right, weight, contexts * size.plays(unit), rng)
            bound = float(wrong_at_least(size.arms, size.gap, np.array(size.plays(unit))))
            made.append(
                Point(
                    series=name,
                    unit=unit,
                    failures=int(np.sum(shares > 0.25)),
                    runs=len(shares),
                    bandits=weight.size,
                    wrong=float(shares.mean()),
                    bound=bound,
                )
            )
    return made
