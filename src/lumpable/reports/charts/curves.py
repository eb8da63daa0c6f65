"""The curves of a comparison: measures against rounds, a line for each learner.

Their data are means over seeds, never rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lumpable.comparisons.standing import ORACLE, Standing
from lumpable.comparisons.statistics import Band, band
from lumpable.reports.charts.figure_kinds import CURVES, Kind
from lumpable.reports.charts.figures import Figure, Series
from lumpable.reports.kit.axes import spread, ticks
from lumpable.reports.kit.numbers import number

GAP = 15
"""Pixels between names at the ends of lines."""
MOST_NAMES = 12
NEAR, ALL, LOG = "linear, as far as the best", "linear, all", "logarithmic"
SUFFIX = {NEAR: "-best", ALL: "-linear", LOG: "-log"}
TITLES = {
    "regret": "Regret",
    "simple_regret": "Loss of what it would recommend now",
    "worse_off": "Share of contexts worse off than with one arm for all",
    "clusters": "Groups found",
    "ari": "Agreement with the true groups (adjusted Rand index)",
}


def series(standing: Standing) -> Series:
    """Return the curves of a world: means over seeds with intervals, the worst learner first."""
    order = standing.order[::-1]
    world = standing.world
    measures = {}
    for measure in dict.fromkeys(kind.measure for kind in CURVES.values()):
        bands = [band(world.measures[measure][i]) for i in order]
        parts = Band._fields if measure == "regret" else ("mean",)
        measures[measure] = {part: [_short(getattr(one, part)) for one in bands] for part in parts}
    return {
        "rounds": world.rounds.tolist(),
        "learners": [world.learners[i] for i in order],
        "looks": [standing.looks[i] for i in order],
        "measures": measures,
    }


def _short(values: Iterable[float]) -> list[float | None]:
    return [None if math.isnan(x) else float(f"{x:.4g}") for x in values]


def curves(standing: Standing, place: int, drawn: Series) -> list[Figure]:
    """Return the figures of curves of a world: regret three ways, then what else is known."""
    if not standing.order:
        return []
    views = [("regret-linear", ALL), ("regret-log", LOG)]
    if len(standing.shown) < len(standing.order):
        views.insert(0, ("regret-linear", NEAR))
    measures = standing.world.measures
    views += [
        (name, "")
        for name, kind in CURVES.items()
        if kind.measure != "regret" and not np.isnan(measures[kind.measure]).all()
    ]
    return [_curve(standing, place, drawn, name, choice) for name, choice in views]


def _curve(standing: Standing, place: int, drawn: Series, name: str, choice: str) -> Figure:
    kind, world = CURVES[name], standing.world
    measure, parts = kind.measure, drawn["measures"][kind.measure]
    known = {
        learner: [x for x in row if x is not None]
        for learner, row in zip(drawn["learners"], parts["mean"], strict=True)
    }
    named = {world.learners[i] for i in standing.shown}
    if measure in ("clusters", "ari") and sum(map(bool, known.values())) <= MOST_NAMES:
        named |= set(known)  # those that have groups are few, and need not be the best
    seen = [x for learner, row in known.items() for x in row if choice != NEAR or learner in named]
    if "high" in parts:  # bands need room, too
        for learner, row in zip(drawn["learners"], parts["high"], strict=True):
            seen += [x for x in row if x is not None and learner in named]
    low, top = _ends(name, seen, world.groups)
    first = float(world.rounds[0]) if kind.across == "log" else 0.0
    last = float(world.rounds[-1]) if world.rounds[-1] > first else first + 1
    data = {"ends": _names(drawn, known, named, low, top, kind)}
    if measure == "clusters":
        data["truth"] = [{"groups": world.groups, "words": f"{world.groups} true groups"}]
    key = f"world-{place + 1}-{measure.replace('_', '-')}"
    return Figure(
        key + SUFFIX.get(choice, ""),
        name,
        f"{TITLES[measure]}: {world.name}",
        describe(standing, measure, drawn, choice),
        {
            **{"low": low, "top": top, "first": first, "last": last},
            "across": ticks(first, last) if kind.across == "log" else [],
            "up": ticks(low, top) if kind.up == "log" else [],
        },
        data,
        kind.height,
        place,
        names=640 if measure in ("simple_regret", "worse_off") else 430,
        choice=choice,
        group=key,
    )


def _ends(name: str, seen: Sequence[float], groups: int) -> tuple[float, float]:
    """Return the ends of the upward axis."""
    above = [x for x in seen if x > 0]
    if name == "regret-log":
        above = above or [1.0]
        return max(min(above), max(above) * 1e-6) / 1.15, max(above) * 1.15
    if name == "clusters":
        above += [float(groups)] if groups else []
        return min(above, default=1.0) / 1.3, max(above, default=1.0) * 1.3
    if name == "ari":
        return min([0.0, *seen]) * 1.05, 1.02
    return 0.0, max(above, default=1.0) * 1.03


def _names(
    drawn: Series,
    known: Mapping[str, Sequence[float]],
    named: set[str],
    low: float,
    top: float,
    kind: Kind,
) -> list[dict[str, Any]]:
    """Place the names beside the ends of their lines, in pixels; those always shown stay apart."""
    ends, log = [], kind.up == "log"
    for name, look in zip(drawn["learners"], drawn["looks"], strict=True):
        if not known[name] or (log and known[name][-1] <= 0):
            continue
        value = min(max(known[name][-1], low), top)
        part = math.log(value / low) / math.log(top / low) if log else (value - low) / (top - low)
        y = round(kind.height * (1 - part), 1)
        ends.append({"learner": name, "look": look, "y": y, "at": y, "named": name in named})
    shown = sorted((end for end in ends if end["named"]), key=lambda end: end["y"])
    for end, at in zip(shown, spread([end["y"] for end in shown], GAP, kind.height), strict=True):
        end["at"] = round(at, 1)
    return ends


def describe(standing: Standing, measure: str, drawn: Series, choice: str) -> str:
    """Say in words, with numbers, what a figure of curves shows."""
    world = standing.world
    reach = ", which end where the best do," if choice == NEAR else ","
    on = f" on {choice.split(',')[0]} axes{reach}" if choice else ","
    lines = [f"{TITLES[measure]} against rounds{on} of {len(standing.order)} learners."]
    means = drawn["measures"][measure]["mean"]
    ends = zip(drawn["learners"], means, strict=True)
    last = {name: row[-1] for name, row in ends if row[-1] is not None}
    coloured = [
        f"{name} {number(last.pop(name))}{' (oracle)' if standing.looks[i] == ORACLE else ''}"
        for i in standing.shown
        if (name := world.learners[i]) in last
    ]
    words = "; ".join(coloured) or "none of those with a colour"
    lines.append(f"After {int(world.rounds[-1]):,} rounds: {words}.")
    if last:  # what is left is grey
        low, high = min(last.values()), max(last.values())
        many = f"{len(last)} others" if len(last) > 1 else "one other"
        lines.append(f"In grey: {many}, {number(low)}{f' to {number(high)}' * (high > low)}.")
    if measure == "clusters":
        lines.append(f"There are {world.groups} true groups.")
    return " ".join(lines)
