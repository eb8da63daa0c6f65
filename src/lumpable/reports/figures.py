"""The figures of the report: data, axes and words of each picture, computed from standings.

A figure is one of the kinds in `templates`, filled. Its data are means over seeds, never rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lumpable.comparisons.standing import ORACLE, Overall, Standing
from lumpable.comparisons.statistics import Band, band
from lumpable.reports.labels import spread, ticks
from lumpable.reports.numbers import duration_short, memory, number, span
from lumpable.reports.vega import CURVES

GAP = 15
"""Pixels between names at the ends of lines."""
MOST_NAMES = 12
NEAR, ALL, LOG = "linear, as far as the best", "linear, all", "logarithmic"
SUFFIX = {NEAR: "-best", ALL: "-linear", LOG: "-log"}
Series = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """A picture: its kind, what is filled in, and what it says in words."""

    key: str
    kind: str
    title: str
    description: str
    params: Mapping[str, float | list[float]]
    data: Mapping[str, list[dict[str, Any]]]
    world: int | None = None
    height: int | None = None
    names: int = 430
    """Pixels of width below which there is no room for names beside the lines."""
    choice: str = ""
    """What the switch calls it, where there are several views of the same."""
    group: str = field(default="")

    def page(self) -> dict[str, Any]:
        """Return what the page's script needs to draw it."""
        kind = CURVES.get(self.kind)
        return {
            "kind": self.kind,
            "world": self.world,
            "measure": kind.measure if kind else None,
            "params": dict(self.params),
            "data": dict(self.data),
            "height": self.height,
            "names": self.names,
            "description": self.description,
        }


# --- Curves ---------------------------------------------------------------------------------------


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


def long(series: Series, measure: str) -> list[dict[str, Any]]:
    """Return curves as rows, as the page's script does."""
    parts = series["measures"][measure]
    return [
        {
            "learner": learner,
            "look": series["looks"][i],
            "round": series["rounds"][k],
            **{part: values[i][k] for part, values in parts.items()},
        }
        for i, learner in enumerate(series["learners"])
        for k in range(len(series["rounds"]))
    ]


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
        described(standing, measure, drawn, choice),
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


def described(standing: Standing, measure: str, drawn: Series, choice: str) -> str:
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


# --- Dots -----------------------------------------------------------------------------------------


def times(standing: Standing, place: int) -> Figure | None:
    """Return the figure of the time that a round took."""
    taken = {i: standing.per_round(i) for i in standing.order}
    order = sorted((i for i in taken if taken[i] > 0), key=lambda i: taken[i])
    if not order:
        return None
    names = standing.world.learners
    dots = [
        {
            "learner": names[i],
            "look": standing.looks[i],
            "seconds": float(f"{taken[i]:.4g}"),
            "time": duration_short(taken[i]),
            "memory": memory(standing.size(i)),
        }
        for i in order
    ]
    quick, slow = order[0], order[-1]
    return Figure(
        f"world-{place + 1}-time",
        "time",
        f"Time a round: {standing.world.name}",
        f"Time a round on a logarithmic axis, a dot for each of {len(order)} learners: from "
        f"{names[quick]} with {duration_short(taken[quick])} to {names[slow]} with "
        f"{duration_short(taken[slow])}.",
        _reach(taken[quick] / 1.5, taken[slow] * 1.5),
        {"dots": dots},
        world=place,
        height=18 * len(order),
    )


def _reach(first: float, last: float) -> dict[str, float | list[float]]:
    return {"first": first, "last": last, "across": ticks(first, last)}


def strip(overall: Overall) -> Figure | None:
    """Return the figure of all ratios: a line of dots for each learner, its mean marked."""
    names, worlds = overall.comparison.learners, overall.comparison.worlds
    good = np.isfinite(overall.ratio) & (overall.ratio > 0)
    order = [i for i in overall.order if good[i].any() and 0 < overall.mean[i] < math.inf]
    if not order:
        return None
    dots = [
        {"learner": names[i], "world": worlds[w].name, "ratio": float(f"{overall.ratio[i, w]:.4g}")}
        for i in order
        for w in range(len(worlds))
        if good[i, w]
    ]
    means = [
        {"learner": names[i], "what": "geometric mean", "ratio": float(f"{overall.mean[i]:.4g}")}
        for i in order
    ]
    seen = [float(x) for x in overall.ratio[good]]
    ends = "; ".join(f"{names[i]} {span(overall.mean[i])}" for i in order[:5])
    return Figure(
        "overall-ratios",
        "strip",
        "Regret relative to the best fair peer, in every world",
        f"A line of dots for each of {len(order)} learners, a dot for each world, on a logarithmic "
        f"axis of regret relative to the best fair peer. Geometric means: {ends}; the ratios go "
        f"from {span(min(seen))} to {span(max(seen))}.",
        _reach(min(seen) / 1.1, max(seen) * 1.1),
        {"dots": dots, "means": means},
        height=18 * len(order),
    )
