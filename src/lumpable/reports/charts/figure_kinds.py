"""The kinds of picture in the report of a comparison, as Vega-Lite specifications without data.

A page holds each kind once; a figure brings data, the ends of the axes and words. What is filled
in: the datasets that a template names, and the values of its parameters.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from lumpable.reports.kit import axes, canvas, theme
from lumpable.reports.kit.theme import DASHES

CURVE_HEIGHT = 380
SMALL_HEIGHT = 240
POINTER = "pointer"
"""The layer that is not seen, and paper has no use for."""
PICKED = "length(picked) == 0 || indexof(picked, datum.learner) >= 0"


class Kind(NamedTuple):
    """A kind of curve: what is drawn against rounds, and on which axes."""

    measure: str
    title: str
    across: str
    up: str
    height: int = SMALL_HEIGHT


CURVES = {
    "regret-linear": Kind("regret", "regret so far", "linear", "linear", CURVE_HEIGHT),
    "regret-log": Kind("regret", "regret so far", "log", "log", CURVE_HEIGHT),
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


def to_vega(name: str, scheme: str) -> dict[str, Any]:
    """Return the specification in Vega's own language, in the colours of a scheme, for a page."""
    return canvas.to_vega({**template(name), "config": theme.silent(scheme)})


def names() -> tuple[str, ...]:
    """Return the names of all kinds."""
    return (*CURVES, "time", "strip")


# --- Curves ---------------------------------------------------------------------------------------


def _curves(kind: Kind) -> Any:
    """Draw a band, a line and points for the pointer for each learner, and names at the ends."""
    alt = canvas.altair()
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
    data = alt.Chart(alt.NamedData(name="curves")).transform_filter("isValid(datum.mean)")
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
    picked = alt.param(name="picked", value=[])
    filled = _params("low top first last", "across up")
    return alt.layer(*layers).add_params(picked, *filled).properties(height=kind.height)


def _bands(data: Any) -> Any:
    """Return intervals of the mean, of those with a name, cut off at the ends of the axis."""
    alt = canvas.altair()
    return (
        data.transform_filter("isValid(datum.low) && (datum.look < 8 || datum.look == 9)")
        .transform_calculate(floor="max(datum.low, low)", roof="min(datum.high, top)")
        .mark_area(clip=True, aria=False)
        .encode(
            y2="roof:Q",
            color=alt.Color("look:N", scale=_looks(), legend=None),
            fillOpacity=alt.condition(PICKED, alt.value(0.14), alt.value(0.0)),
        )
    )


def _lines(data: Any) -> Any:
    """Return the curves: those that are picked stand out."""
    alt = canvas.altair()
    return data.mark_line(clip=True, aria=False, strokeJoin="round").encode(
        color=alt.Color("look:N", scale=_looks(), legend=None),
        strokeDash=alt.StrokeDash("look:N", scale=_dashes(), legend=None),
        strokeWidth=alt.condition(
            f"length(picked) > 0 && ({PICKED})", alt.value(3.2), alt.value(1.8)
        ),
        strokeOpacity=alt.when(f"!({PICKED})")
        .then(alt.value(0.13))
        .when("length(picked) == 0 && (datum.look == 8 || datum.look == 10)")
        .then(alt.value(0.6))
        .otherwise(alt.value(1)),
    )


def _points(data: Any, title: str) -> Any:
    """Return marks that nobody sees: the pointer finds them and shows their numbers."""
    alt, number = canvas.altair(), "',.4~r'"
    interval = (
        f"isValid(datum.low) ? format(datum.low, {number}) + ' to ' + "
        f"format(datum.high, {number}) : 'one seed'"
    )
    marks = data.transform_calculate(interval=interval).mark_circle(
        size=90, opacity=0, clip=True, aria=False
    )
    return marks.encode(
        tooltip=[
            alt.Tooltip("learner:N"),
            alt.Tooltip("round:Q", format=","),
            alt.Tooltip("mean:Q", format=",.4~r", title=title),
            alt.Tooltip("interval:N", title="95 % interval"),
        ]
    )


def _scale(kind: str, low: str, high: str) -> Any:
    """Return a scale between parameters, by their names."""
    ends = {"domainMin": {"expr": low}, "domainMax": {"expr": high}}
    return canvas.altair().Scale(type=kind, nice=False, zero=False, **ends)


def _axis(kind: str, ticks: str, grid: bool) -> Any:
    """Return an axis; the ticks of a logarithmic one are a parameter of that name."""
    if kind == "log":
        return axes.numbers(ticks, grid=grid)
    many = 6 if grid else {"expr": "max(2, min(6, floor(width / 75)))"}  # room for 40,000
    return axes.numbers(grid=grid, tickCount=many)


def _params(numbers: str, lists: str) -> list[Any]:
    """Return parameters that a figure fills in: ends of axes, and ticks along them."""
    alt = canvas.altair()
    ends = [alt.param(name=name, value=1) for name in numbers.split()]
    return ends + [alt.param(name=name, value=[1]) for name in lists.split()]


def _looks() -> Any:
    """Return the scale of looks; its colours come from the config."""
    return canvas.altair().Scale(domain=list(range(len(DASHES))))


def _dashes() -> Any:
    dashes = [list(dash) for dash in DASHES]
    return canvas.altair().Scale(domain=list(range(len(DASHES))), range=dashes)


def _labels() -> list[Any]:
    """Draw names beside the ends of lines, each joined to its own; `y` and `at` are pixels."""
    alt = canvas.altair()
    seen = f"length(picked) == 0 ? datum.named : ({PICKED})"
    opacity = alt.condition(seen, alt.value(1), alt.value(0))
    ends = alt.Chart(alt.NamedData(name="ends"))
    joints = ends.mark_rule(strokeWidth=1.2, aria=False).encode(
        x=alt.value({"expr": "width + 1"}),
        x2=alt.value({"expr": "width + 12"}),
        y=alt.Y("y:Q", scale=None),
        y2="at:Q",
        color=alt.Color("look:N", scale=_looks(), legend=None),
        strokeOpacity=opacity,
    )
    texts = ends.mark_text(
        style="label", align="left", baseline="middle", dx=15, limit=215, aria=False
    ).encode(
        x=alt.value({"expr": "width"}),
        y=alt.Y("at:Q", scale=None),
        text="learner:N",
        fillOpacity=opacity,
    )
    return [joints.properties(name="joints"), texts.properties(name="labels")]


def _truth(y: dict[str, Any]) -> Any:
    alt = canvas.altair()
    truth = alt.Chart(alt.NamedData(name="truth"))
    place = {"y": alt.Y("groups:Q", **y)}
    return alt.layer(
        truth.mark_rule(style="truth", aria=False).encode(**place),
        truth.mark_text(
            style="truth-label", align="left", baseline="bottom", dx=4, dy=-3, aria=False
        ).encode(x=alt.value(0), text="words:N", **place),
    )


# --- Dots -----------------------------------------------------------------------------------------


def _rows(field: str = "learner") -> Any:
    alt = canvas.altair()
    return alt.Y(f"{field}:N", sort=None, title=None, axis=axes.rows(labelLimit=230, grid=True))


def _time() -> Any:
    """Draw a dot for each learner: how long a round took."""
    alt = canvas.altair()
    x = alt.X(
        "seconds:Q",
        title="time per round",
        scale=_scale("log", "first", "last"),
        axis=axes.numbers("across", unit="s"),
    )
    dots = alt.Chart(alt.NamedData(name="dots")).encode(x=x, y=_rows())
    return (
        alt.layer(
            dots.mark_circle(size=80, opacity=1, aria=False).encode(
                color=alt.Color("look:N", scale=_looks(), legend=None),
                opacity=alt.condition(PICKED, alt.value(1), alt.value(0.2)),
                tooltip=["learner:N", alt.Tooltip("time:N", title="per round"), "memory:N"],
            )
        )
        .add_params(alt.param(name="picked", value=[]), *_params("first last", "across"))
        .properties(height=200)
    )


def _strip() -> Any:
    """Draw a dot for each world and a bar at the geometric mean, a line for each learner."""
    alt = canvas.altair()
    x = alt.X(
        "ratio:Q",
        title="ratio to the best fair peer",
        scale=_scale("log", "first", "last"),
        axis=axes.numbers("across", unit="×"),
    )
    dots = alt.Chart(alt.NamedData(name="dots")).encode(x=x, y=_rows())
    means = alt.Chart(alt.NamedData(name="means")).encode(x=x, y=_rows())
    number = alt.Tooltip("ratio:Q", format=".3~f")
    return (
        alt.layer(
            dots.mark_circle(
                style="faint", size=45, opacity=1, fillOpacity=0.55, aria=False
            ).encode(tooltip=["learner:N", "world:N", number]),
            means.mark_tick(style="strong", thickness=3, size=13, aria=False).encode(
                tooltip=["learner:N", "what:N", number]
            ),
        )
        .add_params(*_params("first last", "across"))
        .properties(height=200)
    )
