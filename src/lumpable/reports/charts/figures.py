"""A figure of a comparison: one of `figure_kinds`, filled with data, ends of axes and words."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lumpable.reports.charts.figure_kinds import CURVES, POINTER, template
from lumpable.reports.kit import theme

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
    height: int
    world: int | None = None
    names: int = 430
    """Pixels of width below which there is no room for names beside the lines."""
    choice: str = ""
    """What the switch calls it, where there are several views of the same."""
    group: str = ""

    @property
    def measure(self) -> str | None:
        """What its curves show, if it has any."""
        return CURVES[self.kind].measure if self.kind in CURVES else None

    def page(self) -> dict[str, Any]:
        """Return what the page's script needs to draw it."""
        names = ("kind", "world", "measure", "params", "data", "height", "names", "description")
        return {name: getattr(self, name) for name in names}


def long_rows(series: Series, measure: str) -> list[dict[str, Any]]:
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


def paper(figure: Figure, drawn: Sequence[Series], width: int = 760) -> dict[str, Any]:
    """Return the whole specification of a figure, for paper."""
    spec = copy.deepcopy(template(figure.kind))
    spec["datasets"] = dict(figure.data)
    if figure.measure and figure.world is not None:
        spec["datasets"]["curves"] = long_rows(drawn[figure.world], figure.measure)
        # marks for the pointer and for picking take most of the time, and paper has neither
        spec["datasets"]["ends"] = [end for end in figure.data["ends"] if end["named"]]
        spec["layer"] = [layer for layer in spec["layer"] if layer.get("name") != POINTER]
    for param in spec["params"]:
        param["value"] = figure.params.get(param["name"], param["value"])
    return {
        **spec,
        "height": figure.height,
        "width": width,
        "padding": {"left": 24, "top": 8, "bottom": 8, "right": 8},
        "title": figure.title,
        "description": figure.description,
        "config": theme.silent(theme.LIGHT),
    }
