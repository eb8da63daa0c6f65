"""The bars of `laws.py`: what was asked for, what the runs say, and whether it is enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from law_runs import ITSELF, LOGGED, Run
from protocol.bars import Bar

MOST_FALSE = 0.05
"""With one taste, the share of runs that believe in groups."""
MOST_WORSE = 0.02
"""A policy may be worse than one arm for all by this part of that arm's mean."""
LEAST_RIGHT, LEAST_ARI, BEHIND = 0.9, 0.9, 0.1
COVER = (0.87, 0.93)
LEAST_BEST = 0.8
FOUND = ("sd by arm", "sd by mean", "poisson", "exponential", "student")
"""Laws under which four tastes must be found."""
TASTES = 4


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many, run by run: its standard error knows that runs are what is drawn."""

    part: tuple[float, ...]
    whole: tuple[float, ...]

    @property
    def value(self) -> float:
        """The share; nan of none."""
        return sum(self.part) / sum(self.whole) if sum(self.whole) else math.nan

    @property
    def error(self) -> float | None:
        """Its standard error, by the delta method; None for a single run."""
        a, b = np.array(self.part), np.array(self.whole)
        if len(a) < 2 or b.sum() == 0:
            return None
        return float(math.sqrt(len(a)) * np.std(a - self.value * b, ddof=1) / b.sum())


def share(
    runs: Iterable[Run], part: Callable[[Run], float], whole: Callable[[Run], float]
) -> Share:
    """Return the share of one number of runs in another."""
    found = list(runs)
    return Share(tuple(float(part(x)) for x in found), tuple(float(whole(x)) for x in found))


def mean(runs: Iterable[Run], of: Callable[[Run], float]) -> Share:
    """Return the mean of a number over runs; of a truth, how often it holds."""
    return share(runs, of, lambda run: 1.0)


def false_groups(run: Run) -> bool:
    """Whether more than one group is believed, or said to be likely."""
    return run.groups > 1 or run.said


def intervals(runs: Iterable[Run]) -> Share:
    """Return how many intervals of group means hold the truth, where groups are matched."""
    return share(runs, lambda run: run.covered, lambda run: run.intervals)


def lifts(runs: Iterable[Run]) -> Share:
    """Return how many intervals of the lift hold the truth, where there may be one."""
    return mean((run for run in runs if run.lift_covered is not None), _lift_covered)


def _lift_covered(run: Run) -> float:
    return bool(run.lift_covered)


def sure(runs: Iterable[Run]) -> Share:
    """Return how many arms that are said to be best with 0.8 to 1 are."""
    return share(runs, lambda run: run.sure_right, lambda run: run.sure)


def middle(runs: Iterable[Run]) -> Share:
    """Return how many arms that are said to be best with 0.5 to 0.8 are."""
    return share(runs, lambda run: run.middle_right, lambda run: run.middle)


# --- Bars ---------------------------------------------------------------------------------------


def bars(runs: Sequence[Run], size: tuple[int, int], pulls: int) -> list[Bar]:
    """Return every bar; those of four tastes are of this size and this many rewards a context."""
    one = [run for run in runs if run.case.groups == 1]
    four = [
        run for run in runs
        if (run.case.groups, run.case.size, run.case.pulls) == (TASTES, size, pulls)
    ]  # fmt: skip
    found = [
        *(_one_taste(law, part) for law, part in by_law(one).items()),
        *_not_worse(runs),
        *(bar for law, part in by_law(four).items() if law in FOUND for bar in _found(law, part)),
    ]
    for how in (LOGGED, ITSELF):
        played = [run for run in four if run.case.how == how]
        found += _trusted(f"four tastes, {pulls} rewards, {how}", by_law(played))
    return found


def by_law(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Return the runs of each law, laws in order of appearance."""
    laws: dict[str, list[Run]] = {}
    for run in runs:
        laws.setdefault(run.case.law, []).append(run)
    return laws


def _one_taste(law: str, runs: Sequence[Run]) -> Bar:
    false = mean(runs, false_groups)
    note = f"{sum(false.part):g} of {len(runs)} runs"
    directions = sum(run.rank > 0 for run in runs)
    note += f"; directions in {directions}" if directions else ""
    return _bar(f"one taste, {law}: groups believed or said to be likely", false,
                high=MOST_FALSE, note=note)  # fmt: skip


def _not_worse(runs: Sequence[Run]) -> list[Bar]:
    """Return the bars on policies that are worse than one arm for all: runs, and laws."""
    found = []
    for words, arm in (("largest average", _raw), ("best by the posterior", _one)):
        worse = [run for run in runs if run.value < (1.0 - MOST_WORSE) * arm(run)]
        laws = ", ".join(f"{law} {len(part)}" for law, part in by_law(worse).items())
        what = f"policy worse by over {100 * MOST_WORSE:g} % than one arm for all, the"
        note = f"of {len(runs)}" + (f": {laws}" if laws else "")
        found.append(Bar(f"{what} {words}: runs", high=0.0, value=len(worse), note=note))
        gains = {law: _gain(part, arm) for law, part in by_law(runs).items()}
        bad = [f"{law} {gain:.1%}" for law, gain in gains.items() if gain < -MOST_WORSE]
        note = f"of {len(gains)}, on average over runs" + (f": {', '.join(bad)}" if bad else "")
        found.append(Bar(f"{what} {words}: laws", high=0.0, value=len(bad), note=note))
    return found


def _raw(run: Run) -> float:
    return run.raw


def _one(run: Run) -> float:
    return run.one


def _gain(runs: Sequence[Run], arm: Callable[[Run], float]) -> float:
    """Return what the policy brings over one arm for all, as a part of that arm's mean."""
    return share(runs, lambda run: run.value - arm(run), arm).value


def _found(law: str, runs: Sequence[Run]) -> list[Bar]:
    """Return the bars on groups under a law: by a log; what its own play finds is in the note."""
    found = []
    for words, low, of in (
        (f"{TASTES} groups believed, share of runs", LEAST_RIGHT, _right),
        ("ARI", LEAST_ARI, _ari),
    ):
        told, itself = (
            mean([run for run in runs if run.case.how == how], of) for how in (LOGGED, ITSELF)
        )
        note = f"{len(told.part)} runs"
        note += f"; {itself.value:.2f} if it plays itself" if itself.part else ""
        found.append(_bar(f"four tastes, {law}, {LOGGED}: {words}", told, low=low, note=note))
    return found


def _right(run: Run) -> float:
    return run.groups == TASTES


def _ari(run: Run) -> float:
    return run.ari


def _trusted(what: str, laws: dict[str, list[Run]]) -> list[Bar]:
    """Return the bars that every law must meet, and that on lifts, which are one for each run."""
    behind = {law: mean(part, lambda run: run.oracle_ari - run.ari) for law, part in laws.items()}
    cover = {law: intervals(part) for law, part in laws.items()}
    best = {law: sure(part) for law, part in laws.items()}
    every = [run for part in laws.values() for run in part]
    lift, less_sure = lifts(every), middle(every)
    return [
        every_law(Bar(f"{what}: ARI behind that of the oracle", high=BEHIND), behind),
        every_law(Bar(f"{what}: 90 % intervals of group means cover", *COVER), cover),
        _bar(f"{what}: 90 % intervals of the lift cover", lift, *COVER,
             note=f"{len(lift.part)} runs"),
        every_law(Bar(f"{what}: said to be best with 0.8 to 1 that are", low=LEAST_BEST), best,
                  f"with 0.5 to 0.8: {number(less_sure.value)}"),
    ]  # fmt: skip


def every_law(bar: Bar, laws: dict[str, Share], more: str = "") -> Bar:
    """Return a bar that every law must meet: the law that misses it most, or comes nearest to."""
    judged = [
        (replace(bar, value=each.value, error=each.error), law)
        for law, each in laws.items()
        if not math.isnan(each.value)
    ]
    if not judged:
        return replace(bar, note="there is no such run")
    worst, name = min(judged, key=lambda case: _room(case[0]))
    good = sum(each.met is True for each, _ in judged)
    note = f"worst: {name}; {good} of {len(judged)} laws"
    none = [law for law, each in laws.items() if math.isnan(each.value)]
    note += f"; nothing to judge under {', '.join(none)}" if none else ""
    return replace(worst, note=note + (f"; {more}" if more else ""))


def _room(bar: Bar) -> float:
    """Return how far a value is inside its limits; less than 0 outside."""
    assert bar.value is not None
    return min(bar.value - bar.low, bar.high - bar.value)


def _bar(
    what: str, found: Share, low: float = -math.inf, high: float = math.inf, *, note: str
) -> Bar:
    value = None if math.isnan(found.value) else found.value
    return Bar(what, low, high, value, found.error, note=note)


def number(value: float) -> str:
    """Return a share in two digits; nothing for none.

    >>> number(0.916), number(math.nan)
    ('0.92', '-')
    """
    return "-" if math.isnan(value) else f"{value:.2f}"
