"""The bars of `matrices.py`, and how a peer is chosen on one half of the seeds. Runs nothing.

A peer that is chosen and judged on the same seeds has their luck. So for each matrix, kind of
rewards and mark, the best peer of one half of the seeds is judged on the other half, both ways. The
best in hindsight stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matrix_runs import COINS, OURS, REAL, Problem
from protocol.bars import Bar
from protocol.ratios import Ratio, geometric_mean, ratio

MEAN = {COINS: 0.95, REAL: 1.00}
"""The most that the geometric mean over families may be."""
FAMILY = 1.10
"""... and that of any family."""
MADE = {COINS: 1.05, REAL: 1.10}
TWO_POINT = 1.2
"""Real rewards of two-point worlds, those without levels."""

Regrets = Mapping[str, Sequence[float]]
"""Of each learner, by seed."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A problem at a mark: the ratio to the peer chosen apart, and to the best in hindsight."""

    problem: Problem
    mark: int
    fair: Ratio
    hindsight: Ratio
    size: tuple[int, int] = (0, 0)
    failed: Mapping[str, str] = field(default_factory=dict)
    """Peers that failed in some run, and so are judged by none: why."""


def judge(problem: Problem, rows: Sequence[Mapping[str, Any]]) -> list[Judged]:
    """Judge a problem at each mark, from its rows, a seed each."""
    failed = {label: why for row in rows for label, why in row["failed"].items()}
    known = [label for label in rows[0]["regret"] if label not in failed]
    contexts, arms = rows[0]["size"]
    found = []
    for place, mark in enumerate(problem.marks):
        regrets = {label: [row["regret"][label][place] for row in rows] for label in known}
        pair = chosen_apart(regrets), best_in_hindsight(regrets)
        found.append(Judged(problem, mark, *pair, (contexts, arms), failed))
    return found


def best_of(regrets: Regrets, seeds: slice) -> str:
    """Return the peer with the least mean regret on these seeds.

    >>> best_of({OURS: [0.0, 0.0], "a": [1.0, 4.0], "b": [2.0, 2.0]}, slice(0, None, 2))
    'a'
    """
    means = {label: float(np.mean(x[seeds])) for label, x in regrets.items() if label != OURS}
    return min(means, key=lambda label: (means[label], label))


def chosen_apart(regrets: Regrets) -> Ratio:
    """Return the ratio to the peers that the other half of the seeds chose."""
    halves = slice(0, None, 2), slice(1, None, 2)
    theirs, names = np.empty(len(regrets[OURS])), []
    for mine, other in (halves, halves[::-1]):
        names.append(best_of(regrets, other))
        theirs[mine] = regrets[names[-1]][mine]
    return ratio(regrets[OURS], theirs, " / ".join(sorted(set(names))))


def best_in_hindsight(regrets: Regrets) -> Ratio:
    """Return the ratio to the peer that was best on all seeds."""
    peer = best_of(regrets, slice(None))
    return ratio(regrets[OURS], regrets[peer], peer)


# --- Families -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Family:
    """The geometric means of a family, for one kind of rewards and mark."""

    name: str
    matrices: list[Judged]
    fair: Ratio
    hindsight: Ratio


def by_family(judged: Sequence[Judged]) -> list[Family]:
    """Return the geometric means of each family, for matrices of one kind of rewards and mark."""
    names = list(dict.fromkeys(each.problem.family for each in judged))
    parts = {name: [each for each in judged if each.problem.family == name] for name in names}
    return [
        Family(name, part, *(
            geometric_mean(ratios)
            for ratios in ([each.fair for each in part], [each.hindsight for each in part])
        ))
        for name, part in parts.items()
    ]  # fmt: skip


def of(judged: Sequence[Judged], noise: str, mark: int) -> list[Judged]:
    """Return what was judged with one kind of rewards at one mark."""
    return [each for each in judged if (each.problem.noise, each.mark) == (noise, mark)]


def folder_bars(judged: Sequence[Judged], called: Mapping[str, str]) -> list[Bar]:
    """Return the bars on matrices: over families, and of the worst one, by what it is called."""
    bars = []
    for noise, most in MEAN.items():
        for mark in sorted({each.mark for each in judged}):
            found = by_family(of(judged, noise, mark))
            mean = geometric_mean([family.fair for family in found])
            late = geometric_mean([family.hindsight for family in found])
            worst = max(found, key=lambda family: family.fair.value)
            what = f"{noise} rewards at {mark} pulls"
            note = f"{len(found)} families; {late} against the best in hindsight"
            good = sum(family.fair.value <= FAMILY for family in found)
            bars += [
                Bar(f"{what}, geometric mean over families", high=most, value=mean.value,
                    error=mean.error, note=note),
                Bar(f"{what}, every family", high=FAMILY, value=worst.fair.value,
                    error=worst.fair.error,
                    note=f"worst: {called[worst.name]}; {good} of {len(found)}"),
            ]  # fmt: skip
    return bars


def made_bars(judged: Sequence[Judged]) -> list[Bar]:
    """Return the bars on made worlds."""
    return [
        Bar(f"{each.problem.name}, {each.problem.noise} rewards at {each.mark} pulls",
            high=most_of(each.problem), value=each.fair.value, error=each.fair.error,
            peer=each.fair.peer, note=f"{each.hindsight} against the best in hindsight")
        for each in judged
    ]  # fmt: skip


def most_of(problem: Problem) -> float:
    """Return the bar of a made world."""
    hard = (problem.name, problem.noise) == ("two-point", REAL)
    return TWO_POINT if hard else MADE[problem.noise]
