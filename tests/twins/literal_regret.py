"""Algorithms 4, 5 and 6 written out line by line: the oracle for the regret plans.

Sets, dictionaries and loops, as the pseudocode prints them; it shares nothing with the plans.
Readings are those of paper.md. Clusters stand in the order in which they came about.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator
from dataclasses import dataclass

Means = dict[tuple[int, int], float]
"""A-hat on D: a pair that is not in D is not there."""


@dataclass(frozen=True)
class Asked:
    """A call of Algorithm 2: its input, and the partition at that time."""

    rounds: float
    repeats: int
    sets: list[set[int]]
    partition: list[set[int]]
    scale: float
    """A size of gap that matters to what is asked: for whoever makes up answers."""


Play = Generator[Asked, Means, None]


@dataclass(frozen=True)
class Setting:
    """S, K, r and the constants that are printed as 64, 128 and 64."""

    S: int
    K: int
    r: int
    phase: float = 64
    levels: float = 128
    split: float = 64

    def delta(self, h: int) -> float:
        return float(2.0**-h / (self.r**3 * self.S * self.K))


class Partition:
    """P_h, and GOOD_{h,n}(C) for every level n."""

    def __init__(self, at: Setting) -> None:
        self.clusters = [set(range(at.S))]
        self.good = {1: [set(range(at.K))]}
        self.aside: set[int] = set()
        """Contexts that take no further part in this phase (reading 24)."""
        self.settled: list[tuple[set[int], int]] = []
        """What Algorithm 5 returned in one part in this phase (reading 20)."""

    def sets(self, at: Setting, n: int) -> list[set[int]]:
        """K(i) = GOOD_{h,n}(C) of the cluster C of i."""
        return [
            next(set(self.good[n][c]) for c, C in enumerate(self.clusters) if i in C)
            for i in range(at.S)
        ]

    def largest_gap(self, data: dict[int, Means], threshold: dict[int, float]) -> Gap | None:
        """Line 7: is there a gap? The deepest level, the largest gap, the smallest context, arm."""
        for n in sorted(data, reverse=True):
            best: Gap | None = None
            for c in sorted(range(len(self.clusters)), key=lambda c: min(self.clusters[c])):
                for j in sorted(self.good[n][c]):
                    gap = self.gap(c, j, data[n])
                    if gap < threshold[n] or self.is_settled(c, j):
                        continue
                    if best is None or gap > best.size:
                        best = Gap(gap, n, c, j)
            if best is not None:
                return best
        return None

    def gap(self, c: int, j: int, data: Means) -> float:
        seen = [data[i, j] for i in self.clusters[c] - self.aside if (i, j) in data]
        return max(seen) - min(seen) if seen else 0.0

    def is_settled(self, c: int, j: int) -> bool:
        return any(arm == j and self.clusters[c] <= contexts for contexts, arm in self.settled)

    def mu(self, c: int, j: int, data: Means) -> float | None:
        """The largest mean of an arm in a cluster; None: no context of it finished the arm."""
        seen = [data[i, j] for i in self.clusters[c] - self.aside if (i, j) in data]
        return max(seen, default=None)

    def survivors(self, c: int, n: int, data: Means, threshold: float) -> set[int]:
        """Lines 13 and 14 of Algorithm 4, 14 and 15 of Algorithm 6 (reading 21)."""
        mu = {j: self.mu(c, j, data) for j in self.good[n][c]}
        known = [value for value in mu.values() if value is not None]
        return {j for j, m in mu.items() if m is None or max(known) - m <= 2 * threshold}

    def shows_a_gap(self, c: int, data: dict[int, Means], threshold: dict[int, float]) -> bool:
        """Whether Step 3 must leave the cluster alone (reading 20)."""
        return any(self.gap(c, j, data[n]) >= threshold[n] for n in data for j in self.good[n][c])


@dataclass(frozen=True)
class Gap:
    size: float
    n: int
    c: int
    j: int


def algorithm_4(at: Setting) -> Play:
    P = Partition(at)  # line 1
    for h in itertools.count(1):  # line 3
        lg = at.phase * math.log(at.r * at.S * at.K / at.delta(h))  # line 4
        threshold = math.sqrt(lg) * 2 ** (-h / 2)
        L = at.r * (at.S + at.K) * lg * 2**h  # line 5
        data = yield Asked(L, 2**h, P.sets(at, 1), P.clusters[:], threshold)  # line 6
        yield from step_2(at, P, h, {1: data}, {1: threshold})
        P.good[1] = [  # lines 12 to 14
            P.good[1][c]
            if P.shows_a_gap(c, {1: data}, {1: threshold})
            else P.survivors(c, 1, data, threshold)
            for c in range(len(P.clusters))
        ]


def algorithm_6(at: Setting, mended: bool = False) -> Play:
    P = Partition(at)  # line 1
    for h in itertools.count(1):  # line 3
        lg = at.levels * math.log(at.r * at.S * at.K * h / at.delta(h))  # line 4
        data, threshold = {}, {}
        for n in range(1, h + 1):  # line 5
            threshold[n] = math.sqrt(lg / 2**n)
            L = at.r * (at.S + at.K) * lg * 2 ** ((n + h) / 2)  # line 6
            data[n] = yield Asked(L, 2**n, P.sets(at, n), P.clusters[:], threshold[n])  # line 7
        yield from step_2(at, P, h, data, threshold, mended)
        C = range(len(P.clusters))
        alone = [P.shows_a_gap(c, data, threshold) for c in C]
        after = {1: [set(range(at.K)) for c in C]}  # line 11
        for n in range(2, h + 1):  # lines 12 to 16
            after[n] = []
            for c in C:
                both = after[n - 1][c] & P.survivors(c, n, data[n], threshold[n])
                keep = both or after[n - 1][c]  # reading 28
                after[n].append(P.good[n][c] if alone[c] else keep)
        P.good = {**after, h + 1: after[h]}  # reading 27


def step_2(
    at: Setting,
    P: Partition,
    h: int,
    data: dict[int, Means],
    threshold: dict[int, float],
    mended: bool = False,
) -> Play:
    """Line 7 and what follows: Algorithm 5 for every gap, and its parts."""
    P.aside, P.settled = set(), []
    while (gap := P.largest_gap(data, threshold)) is not None:
        C = P.clusters[gap.c]
        finer = 2 ** (gap.n if mended else h) * (4 * at.r) ** 2  # 1/eps'^2
        sets = P.sets(at, max(P.good) if mended else gap.n)
        for i in C:
            sets[i] = {gap.j}  # line 8
        lg = at.split * math.log(at.S * at.r / at.delta(h))  # Algorithm 5, line 2
        cut = math.sqrt(lg / finer)
        repeats = 2 ** math.ceil(math.log2(finer))
        found = yield Asked(at.S * lg * finer, repeats, sets, P.clusters[:], cut)  # line 3
        parts = algorithm_5(C, {i: found[i, gap.j] for i in C if (i, gap.j) in found}, cut)
        P.aside |= {i for i in C if (i, gap.j) not in found}
        if len(parts) == 1:
            P.settled.append((C, gap.j))
        P.clusters = [*P.clusters, *parts[1:]]  # line 10
        P.clusters[gap.c] = parts[0]
        for n in P.good:
            P.good[n] = [*P.good[n], *(set(P.good[n][gap.c]) for _ in parts[1:])]


def algorithm_5(C: set[int], mean: dict[int, float], threshold: float) -> list[set[int]]:
    """Lines 4 to 10; who has no estimate goes with the largest part (reading 24)."""
    if not mean:
        return [C]
    order = sorted(mean, key=lambda i: (-mean[i], i))  # line 4
    parts = [{order[0]}]  # line 5
    for before, i in itertools.pairwise(order):  # line 6
        if mean[before] - mean[i] >= threshold:  # line 7
            parts.append(set())  # line 8
        parts[-1].add(i)  # line 9
    max(parts, key=len).update(C - mean.keys())
    return parts  # line 10
