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
from lumpable.reports.charts.figure_kinds import CURVES
from lumpable.reports.charts.figures import Figure, Series
from lumpable.reports.kit.axes import spread, ticks
from lumpable.reports.kit.numbers import number

GAP = 15
"""Pixels between names at the ends of lines."""
MOST_NAMES = 12
NEAR, ALL, LOG = "linear, as far as the best", "linear, all", "logarithmic"
SUFFIX = {NEAR: "-best", ALL: "-linear", LOG: "-log"}


def series(standing: Standing) -> Series:
    """Return the curves of a world: means over seeds with intervals, the worst learner first."""
    order = standing.order[::-1]
    world = standing.world
    measures = {}
    for measure in dict.fromkeys(kind.measure for kind in CURVES.values()):
        found = [band(world.measures[measure][i]) for i in order]
        kept = Band._fields if measure == "regret" else ("mean",)
        measures[measure] = {part: [_short(getattr(one, part)) for one in found] for part in kept}
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
    rest = len(standing.shown) < len(standing.order)
    regret = [_curve(standing, place, drawn, "regret-linear", choice=ALL)]
    if rest:
        near = _curve(standing, place, drawn, "regret-linear", choice=NEAR, near=True)
        regret.insert(0, near)
    regret.append(_curve(standing, place, drawn, "regret-log", choice=LOG))
    others = [kind for kind in CURVES if CURVES[kind].measure != "regret"]
    return regret + [
        _curve(standing, place, drawn, kind)
        for kind in others
        if not np.isnan(standing.world.measures[CURVES[kind].measure]).all()
    ]


def _curve(
    standing: Standing, place: int, drawn: Series, kind: str, choice: str = "", near: bool = False
) -> Figure:
    measure, log = CURVES[kind].measure, CURVES[kind].up == "log"
    known = {
        name: [x for x in row if x is not None]
        for name, row in zip(drawn["learners"], drawn["measures"][measure]["mean"], strict=True)
    }
    named = {standing.world.learners[i] for i in standing.shown}
    if measure in ("clusters", "ari") and sum(map(bool, known.values())) <= MOST_NAMES:
        named |= set(known)  # those that have groups are few, and need not be the best
    seen = [x for name, row in known.items() for x in row if not near or name in named]
    for name, row in zip(drawn["learners"], drawn["measures"][measure].get("high", ())):  # noqa: B905
        seen += [x for x in row if x is not None and name in named]  # bands have room, too
    low, top = _ends(kind, seen, standing.world.groups)
    rounds = standing.world.rounds
    first = float(rounds[0]) if CURVES[kind].across == "log" else 0.0
    last = float(rounds[-1]) if rounds[-1] > first else first + 1
    ends = _names(drawn, known, named, low, top, log, CURVES[kind].height)
    key = f"world-{place + 1}-{measure.replace('_', '-')}"
    data: dict[str, list[dict[str, Any]]] = {"ends": ends}
    if kind == "clusters":
        groups = standing.world.groups
        data["truth"] = [{"groups": groups, "words": f"{groups} true groups"}]
    return Figure(
        key + SUFFIX.get(choice, ""),
        kind,
        f"{TITLES[measure]}: {standing.world.name}",
        describe(standing, measure, drawn, choice),
        {
            **{"low": low, "top": top, "first": first, "last": last},
            "across": ticks(first, last) if CURVES[kind].across == "log" else [],
            "up": ticks(low, top) if log else [],
        },
        data,
        world=place,
        names=640 if measure in ("simple_regret", "worse_off") else 430,
        choice=choice,
        group=key,
    )


TITLES = {
    "regret": "Regret",
    "simple_regret": "Loss of what it would recommend now",
    "worse_off": "Share of contexts worse off than with one arm for all",
    "clusters": "Groups found",
    "ari": "Agreement with the true groups (adjusted Rand index)",
}


def _ends(kind: str, seen: Sequence[float], groups: int) -> tuple[float, float]:
    """Return the ends of the upward axis."""
    if kind == "regret-log":
        above = [x for x in seen if x > 0] or [1.0]
        return max(min(above), max(above) * 1e-6) / 1.15, max(above) * 1.15
    if kind == "clusters":
        above = [*(x for x in seen if x > 0), float(groups)]
        return min(above) / 1.3, max(above) * 1.3
    if kind == "ari":
        return min(0.0, *seen) * 1.05, 1.02
    return 0.0, (max(seen) or 1.0) * 1.03


def _names(
    drawn: Series,
    known: Mapping[str, Sequence[float]],
    named: set[str],
    low: float,
    top: float,
    log: bool,
    height: int,
) -> list[dict[str, Any]]:
    """Place the names beside the ends of their lines, in pixels; those always shown stay apart."""
    ends = []
    for name, look in zip(drawn["learners"], drawn["looks"], strict=True):
        if not known[name] or (log and known[name][-1] <= 0):
            continue
        value = min(max(known[name][-1], low), top)
        part = math.log(value / low) / math.log(top / low) if log else (value - low) / (top - low)
        y = round(height * (1 - part), 1)
        ends.append({"learner": name, "look": look, "y": y, "at": y, "named": name in named})
    shown = sorted((end for end in ends if end["named"]), key=lambda end: end["y"])
    for end, at in zip(shown, spread([end["y"] for end in shown], GAP, height), strict=True):
        end["at"] = round(at, 1)
    return ends


def describe(standing: Standing, measure: str, drawn: Series, choice: str) -> str:
    """Say in words, with numbers, what a figure of curves shows."""
    world = standing.world
    kind = choice.split(",")[0]
    reach = ", which end where the best do," if choice == NEAR else ","
    on = f" on {kind} axes{reach}" if choice else ","
    said = [f"{TITLES[measure]} against rounds{on} of {len(standing.order)} learners."]
    means = drawn["measures"][measure]["mean"]
    all_ = {name: row[-1] for name, row in zip(drawn["learners"], means, strict=True)}
    last = {name: value for name, value in all_.items() if value is not None}
    names = [world.learners[i] for i in standing.shown if world.learners[i] in last]
    after = f"After {int(world.rounds[-1]):,} rounds"
    ends = "; ".join(f"{name} {number(last[name])}{_known(standing, name)}" for name in names)
    said.append(f"{after}: {ends}." if ends else f"{after}: none of those with a colour.")
    grey = [value for name, value in last.items() if name not in names]
    if grey:
        many = f"{len(grey)} others" if len(grey) > 1 else "one other"
        reach = f" to {number(max(grey))}" if max(grey) > min(grey) else ""
        said.append(f"In grey: {many}, {number(min(grey))}{reach}.")
    if measure == "clusters":
        said.append(f"There are {world.groups} true groups.")
    return " ".join(said)


def _known(standing: Standing, name: str) -> str:
    i = standing.world.learners.index(name)
    return " (oracle)" if standing.looks[i] == ORACLE else ""
