"""The bars: what was asked for, what was measured, and whether it is enough. Runs nothing.

A ratio meets its bar by its value; the standard error stands beside it. Where a bar allows "within
two paired standard errors", that means: not worse than the best peer by more than two of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from protocol.problems import LONG, OTHER, SUITE
from protocol.ratios import Ratio, geometric_mean
from protocol.running import Measured

SUITE_MEAN, SUITE_WORST = 0.80, 0.92
LONG_FAIR, LONG_KMEANS = 0.65, 0.95
OTHER_MOST, EARLY_MOST = 1.05, 1.10
ORACLES_MOST = 1.5
WITHIN = 2.0
"""Paired standard errors."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar and what was measured of it."""

    what: str
    low: float = -math.inf
    high: float = math.inf
    """Where the value must lie."""
    value: float | None = None
    """None: it was not measured, and `note` says why."""
    error: float | None = None
    peer: str = ""
    note: str = ""
    excused: bool = False
    """Whether it counts as met by another clause of the bar, which `note` names."""
    unit: str = ""

    @property
    def met(self) -> bool | None:
        """Whether it is met; None if nobody knows."""
        if self.value is None:
            return None
        return self.excused or self.low <= self.value <= self.high

    @property
    def missed_by(self) -> float:
        """How far the value is from where it must lie; 0 if it is there."""
        if self.value is None or self.met:
            return 0.0
        return max(self.low - self.value, self.value - self.high)


Case = tuple[Measured, int, Ratio]
"""A problem, a mark, and the ratio there."""


def regret_bars(measured: Sequence[Measured]) -> list[Bar]:
    """Return every bar on regret."""
    part = {name: [each for each in measured if each.problem.part == name] for name in PARTS}
    at_60 = [(each, 60, each.ratios[60]) for each in part[SUITE]]
    mean = geometric_mean([found for _, _, found in at_60])
    long = [(each, mark, each.ratios[mark]) for each in part[LONG] for mark in each.ratios]
    known = [(each, mark, each.to_kmeans(mark)) for each in part[LONG] for mark in each.ratios]
    others = [(each, mark, each.ratios[mark]) for each in part[OTHER] for mark in (30, 60)]
    early = [(each, 10, each.ratios[10]) for each in (*part[SUITE], *part[OTHER])]
    return [
        Bar("suite at 60 pulls, geometric mean", high=SUITE_MEAN, value=mean.value,
            error=mean.error, peer="best of each problem", note=f"{len(at_60)} problems"),
        every("suite at 60 pulls, every problem", SUITE_WORST, at_60),
        every("long runs, 100 to 1,000 pulls", LONG_FAIR, long),
        every("long runs, against k-means that knows r", LONG_KMEANS, known),
        every("other problems at 30 and 60 pulls", OTHER_MOST, others, excused=not_worse),
        every("all problems at 10 pulls", EARLY_MOST, early),
        _oracle_bar([each for each in part[SUITE] if "deviation" not in each.problem.world]),
    ]  # fmt: skip


PARTS = (SUITE, LONG, OTHER)


def _oracle_bar(lumpable: Sequence[Measured]) -> Bar:
    """Return the bar on the sum of both oracles as they come; tempered ones stand in the note."""
    what = "lumpable at 60 pulls, against the sum of both oracles"
    plain, tempered = (
        every(what, ORACLES_MOST, [(each, 60, each.to_oracles(60, plain=as_they_come))
                                   for each in lumpable])
        for as_they_come in (True, False)
    )  # fmt: skip
    if tempered.value is None:
        return plain
    words = f"with each oracle at its best of three settings {tempered.value:.2f}"
    return replace(plain, note=f"{plain.note}; {words} ({tempered.note})")


def not_worse(found: Ratio) -> bool:
    """Whether it is within two paired standard errors of the best peer."""
    return found.value - WITHIN * found.error <= 1.0


def every(
    what: str,
    most: float,
    cases: Sequence[Case],
    excused: Callable[[Ratio], bool] = lambda found: False,
) -> Bar:
    """Return a bar that every case must meet: the worst that misses it, or else the worst."""
    if not cases:
        return Bar(what, high=most, note="no such problem was run")
    missed = [case for case in cases if case[2].value > most and not excused(case[2])]
    by_clause = [case for case in cases if case[2].value > most and excused(case[2])]
    measured, mark, worst = max(missed or cases, key=lambda case: case[2].value)
    note = f"worst: {measured.problem.label} at {mark}; {len(cases) - len(missed)} of {len(cases)}"
    if by_clause:
        note += f", {len(by_clause)} of them within two standard errors"
    return Bar(what, high=most, value=worst.value, error=worst.error, peer=worst.peer, note=note,
               excused=not missed)  # fmt: skip
