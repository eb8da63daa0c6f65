"""The kinds of picture in the report of a comparison, as Vega-Lite specifications without data.

A page holds each kind once; a figure brings data, the ends of the axes and words. What is filled
in: the datasets that a template names, and the values of its parameters.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from lumpable.reports.kit import alt, axes, canvas, theme
from lumpable.reports.kit.theme import DASHES

POINTER = "pointer"
"""The layer of invisible marks, which paper does not need."""
PICKED = "length(picked) == 0 || indexof(picked, datum.learner) >= 0"


class Kind(NamedTuple):
    """A kind of curve: what is drawn against rounds, and on which axes."""

    measure: str
    title: str
    across: str
    up: str
    height: int = 240


CURVES = {
    "regret-linear": Kind("regret", "regret so far", "linear", "linear", 380),
    "regret-log": Kind("regret", "regret so far", "log", "log", 380),
    "simple": Kind("simple_regret", "loss per round of its policy", "log", "linear"),
    "worse": Kind("worse_off", "share of contexts worse off", "log", "linear"),
    "clusters": Kind("clusters", "groups found", "log", "log"),
    "ari": Kind("ari", "agreement with the true groups", "log", "linear"),
}


@functools.cache
def template(name: str) -> dict[str, Any]:
    """Return the specification of a kind, to be copied before it is filled."""
    made = _curves(CURVES[name]) if name in CURVES else {"time": _time, "strip": _strip}[name]()
    spec: dict[str, Any] = made.properties(
        width=900, autosize={"type": "fit-x", "contains": "padding"}
    ).to_dict(validate=False)
    del spec["config"]
    return spec


def to_vega(name: str) -> dict[str, Any]:
    """Return the specification of a kind in Vega's own language, for a page."""
    return canvas.to_vega({**template(name), "config": theme.silent(theme.PAGE)})


# --- Curves ---------------------------------------------------------------------------------------


def _curves(kind: Kind) -> Any:
    """Draw a band, a line and points for the pointer for each learner, and names at the ends."""
    x = alt.X(
        "round:Q",
        title="rounds",
        scale=_scale(kind.across, "first", "last"),
        axis=_axis(kind.across, "across", grid=False),
    )
    y = {
        "scale": _scale(kind.up, "low", "top"),
        "axis": _axis(kind.up, "up", grid=True),
        "title": kind.title,
    }
    data = _chart_of("curves").transform_filter("isValid(datum.mean)")
    if kind.up == "log":
        data = data.transform_filter("datum.mean > 0")
    data = data.encode(x=x, detail="learner:N")
    mean = alt.Y("mean:Q", **y)
    layers = [_lines(data).encode(y=mean)]
    if kind.measure == "regret":
        layers.insert(0, _bands(data).encode(y=alt.Y("floor:Q", **y)))
    if kind.measure == "clusters":
        layers.insert(0, _truth(y))
    layers += [*_labels(), _points(data, kind.title).encode(y=mean).properties(name=POINTER)]
    filled = _params("low top first last", "across up")
    return (
        alt.layer(*layers).add_params(_picked_parameter(), *filled).properties(height=kind.height)
    )


def _bands(data: Any) -> Any:
    """Return intervals of the mean, of those with a name, cut off at the ends of the axis."""
    return (
        data.transform_filter("isValid(datum.low) && (datum.look < 8 || datum.look == 9)")
        .transform_calculate(floor="max(datum.low, low)", roof="min(datum.high, top)")
        .mark_area(clip=True)
        .encode(
            y2="roof:Q",
            color=_colour(),
            fillOpacity=alt.condition(PICKED, alt.value(0.14), alt.value(0.0)),
        )
    )


def _lines(data: Any) -> Any:
    """Return the curves: those that are picked stand out."""
    picked = f"length(picked) > 0 && ({PICKED})"
    dashes = alt.Scale(domain=list(range(len(DASHES))), range=[list(dash) for dash in DASHES])
    return data.mark_line(clip=True, strokeJoin="round").encode(
        color=_colour(),
        strokeDash=alt.StrokeDash("look:N", scale=dashes, legend=None),
        strokeWidth=alt.condition(picked, alt.value(3.2), alt.value(1.8)),
        strokeOpacity=alt.when(f"!({PICKED})")
        .then(alt.value(0.13))
        .when("length(picked) == 0 && (datum.look == 8 || datum.look == 10)")
        .then(alt.value(0.6))
        .otherwise(alt.value(1)),
    )


def _points(data: Any, title: str) -> Any:
    """Return invisible marks: the pointer finds them and shows their numbers."""
    number = "',.4~r'"
    interval = (
        f"isValid(datum.low) ? format(datum.low, {number}) + ' to ' + "
        f"format(datum.high, {number}) : 'one seed'"
    )
    marks = data.transform_calculate(interval=interval).mark_circle(size=90, opacity=0, clip=True)
    return marks.encode(
        tooltip=[
            alt.Tooltip("learner:N"),
            alt.Tooltip("round:Q", format=","),
            alt.Tooltip("mean:Q", format=",.4~r", title=title),
            alt.Tooltip("interval:N", title="95 % interval"),
        ]
    )


def _labels() -> list[Any]:
    """Draw names beside the ends of lines, each joined to its own; `y` and `at` are pixels."""
    seen = f"length(picked) == 0 ? datum.named : ({PICKED})"
    opacity = alt.condition(seen, alt.value(1), alt.value(0))
    ends = _chart_of("ends")
    joints = ends.mark_rule(strokeWidth=1.2).encode(
        x=alt.value({"expr": "width + 1"}),
        x2=alt.value({"expr": "width + 12"}),
        y=alt.Y("y:Q", scale=None),
        y2="at:Q",
        color=_colour(),
        strokeOpacity=opacity,
    )
    texts = ends.mark_text(align="left", baseline="middle", dx=15, limit=215).encode(
        x=alt.value({"expr": "width"}),
        y=alt.Y("at:Q", scale=None),
        text="learner:N",
        fillOpacity=opacity,
    )
    return [joints.properties(name="joints"), texts.properties(name="labels")]


def _truth(y: dict[str, Any]) -> Any:
    truth = _chart_of("truth").encode(y=alt.Y("groups:Q", **y))
    words = truth.mark_text(style="truth-label", align="left", baseline="bottom", dx=4, dy=-3)
    return alt.layer(truth.mark_rule(style="truth"), words.encode(x=alt.value(0), text="words:N"))


# --- Dots -----------------------------------------------------------------------------------------


def _time() -> Any:
    """Draw a dot for each learner: how long a round took."""
    dots = _rows("dots", "seconds:Q", "time per round", "s").mark_circle(size=80, opacity=1)
    return _dots(
        dots.encode(
            color=_colour(),
            opacity=alt.condition(PICKED, alt.value(1), alt.value(0.2)),
            tooltip=["learner:N", alt.Tooltip("time:N", title="per round"), "memory:N"],
        )
    ).add_params(_picked_parameter())


def _strip() -> Any:
    """Draw a dot for each world and a bar at the geometric mean, a line for each learner."""
    number = alt.Tooltip("ratio:Q", format=".3~f")
    dots, means = (
        _rows(name, "ratio:Q", "ratio to the best fair peer", "×") for name in ("dots", "means")
    )
    return _dots(
        dots.mark_circle(style="faint", size=45, opacity=1, fillOpacity=0.55).encode(
            tooltip=["learner:N", "world:N", number]
        ),
        means.mark_tick(style="strong", thickness=3, size=13).encode(
            tooltip=["learner:N", "what:N", number]
        ),
    )


def _dots(*layers: Any) -> Any:
    params = _params("first last", "across")
    return alt.layer(*layers).add_params(*params).properties(height=200)  # a figure has its own


def _rows(name: str, field: str, title: str, unit: str) -> Any:
    """Place the marks of a dataset along a logarithmic axis, a row for each learner."""
    across = axes.numbers("across", unit=unit)
    rows = axes.rows(labelLimit=230, grid=True)
    return _chart_of(name).encode(
        x=alt.X(field, title=title, scale=_scale("log", "first", "last"), axis=across),
        y=alt.Y("learner:N", sort=None, title=None, axis=rows),
    )


# --- What they share ------------------------------------------------------------------------------


def _chart_of(name: str) -> Any:
    return alt.Chart(alt.NamedData(name=name))


def _scale(kind: str, low: str, high: str) -> Any:
    """Return a scale between parameters, by their names."""
    ends = {"domainMin": {"expr": low}, "domainMax": {"expr": high}}
    return alt.Scale(type=kind, nice=False, zero=False, **ends)


def _axis(kind: str, ticks: str, grid: bool) -> Any:
    """Return an axis; the ticks of a logarithmic one are a parameter of that name."""
    if kind == "log":
        return axes.numbers(ticks, grid=grid)
    many = 6 if grid else {"expr": "max(2, min(6, floor(width / 75)))"}  # room for 40,000
    return axes.numbers(grid=grid, tickCount=many)


def _params(numbers: str, lists: str) -> list[Any]:
    """Return parameters that a figure fills in: ends of axes, and ticks along them."""
    ends = [alt.param(name=name, value=1) for name in numbers.split()]
    return ends + [alt.param(name=name, value=[1]) for name in lists.split()]


def _picked_parameter() -> Any:
    return alt.param(name="picked", value=[])


def _colour() -> Any:
    """Return the colour of a learner's look, which comes from the config."""
    return alt.Color("look:N", scale=alt.Scale(domain=list(range(len(DASHES)))), legend=None)
