"""Ratios of mean regrets with their standard errors, and the choice of peers. Runs nothing.

Seeds are paired: all learners meet the same world, contexts and luck. By the delta method the ratio
R = mean a / mean b has the standard error sd(a - R b) / (sqrt(n) mean b).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lumpable.comparisons.rows import Row

Rows = Sequence[Row]
Regrets = dict[str, dict[int, float]]
"""Of each learner, by seed."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of mean regrets, its standard error, and to whom it is."""

    value: float
    error: float
    peer: str = ""

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.error:.2f})"


def ratio(ours: npt.ArrayLike, theirs: npt.ArrayLike, peer: str = "") -> Ratio:
    """Return the ratio of mean regrets of paired seeds.

    >>> print(ratio([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]))
    0.50 (0.00)
    """
    a, b = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if a.shape != b.shape or len(a) < 2:
        raise ValueError(f"seeds: expected at least two, paired; got {a.shape} and {b.shape}")
    value = a.mean() / b.mean()
    error = np.std(a - value * b, ddof=1) / (math.sqrt(len(a)) * b.mean())
    return Ratio(float(value), float(error), peer)


def geometric_mean(ratios: Sequence[Ratio]) -> Ratio:
    """Return the geometric mean of ratios of independent problems."""
    logs = [math.log(each.value) for each in ratios]
    value = math.exp(sum(logs) / len(logs))
    relative = math.sqrt(sum((each.error / each.value) ** 2 for each in ratios)) / len(ratios)
    return Ratio(value, value * relative)


def regrets(rows: Rows, round_: int) -> Regrets:
    """Return what each learner had lost by this round, of all cells that came so far."""
    found: Regrets = defaultdict(dict)
    for row in rows:
        if row.round == round_ and row.status == "done" and row.regret is not None:
            found[row.learner][row.seed] = row.regret
    return found


def mean_regrets(rows: Rows, round_: int, among: Iterable[str] | None = None) -> dict[str, float]:
    """Return the mean regret of learners by this round, the least first.

    One that lacks a seed that others have is left out: it failed, or could not be run.
    """
    found = regrets(rows, round_)
    all_seeds = set().union(*(each.keys() for each in found.values()))
    wanted = found.keys() if among is None else set(among) & found.keys()
    means = {
        label: float(np.mean(list(found[label].values())))
        for label in wanted
        if found[label].keys() == all_seeds
    }
    return dict(sorted(means.items(), key=lambda item: (item[1], item[0])))


def fair(rows: Rows) -> set[str]:
    """Return the learners that know nothing that only an oracle can know."""
    return {row.learner for row in rows} - {row.learner for row in rows if row.knows}


def failures(rows: Rows) -> dict[str, str]:
    """Return learners that failed in some cell, and why."""
    return {row.learner: row.reason for row in rows if row.status == "failed"}


def best(rows: Rows, rounds: Sequence[int], number: int = 5) -> list[str]:
    """Return the best fair learners: in turn the best, second best .. of each round, last first."""
    allowed = fair(rows)
    orders = [list(mean_regrets(rows, round_, allowed)) for round_ in sorted(rounds, reverse=True)]
    chosen: list[str] = []
    for place in range(max(map(len, orders), default=0)):
        for order in orders:
            if place < len(order) and order[place] not in chosen and len(chosen) < number:
                chosen.append(order[place])
    return chosen


def against(rows: Rows, round_: int, ours: str, peers: Iterable[str]) -> Ratio:
    """Return the ratio to whichever of these peers had the least mean regret by this round."""
    means = mean_regrets(rows, round_, peers)
    if not means:
        raise ValueError(f"peers: expected some that were run until round {round_}, got none")
    peer, found = next(iter(means)), regrets(rows, round_)
    common = sorted(found[ours].keys() & found[peer].keys())
    return ratio([found[ours][x] for x in common], [found[peer][x] for x in common], peer)


def to_sum(rows: Rows, round_: int, ours: str, parts: Sequence[Iterable[str]]) -> Ratio:
    """Return the ratio to a sum: of the best of each of these kinds of learners."""
    found = regrets(rows, round_)
    chosen = [next(iter(mean_regrets(rows, round_, part))) for part in parts]
    common = sorted(set(found[ours]).intersection(*(found[label] for label in chosen)))
    theirs = [sum(found[label][seed] for label in chosen) for seed in common]
    return ratio([found[ours][seed] for seed in common], theirs, " + ".join(chosen))
