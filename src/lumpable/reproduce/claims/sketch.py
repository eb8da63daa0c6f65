"""One kind of picture for most claims: measured series, curves and bars, on plain or log axes.

Knows nothing of bandits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lumpable.reports.kit import axes, canvas, theme
from lumpable.reports.kit.canvas import Row

WIDTH, HEIGHT = 520, 260
BLUE, ORANGE, GREEN, PINK, SKY = (
    theme.BLUE,
    theme.VERMILLION,
    theme.GREEN,
    theme.PINK,
    theme.SKY,
)
DASH = [6, 4]
Mark = Literal["point", "ring", "line", "both", "dash"]
Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Axis:
    """A column of the rows, in words, and how it is drawn."""

    field: str
    title: str
    scale: Literal["linear", "log", "symlog"] = "linear"
    values: Sequence[float] = ()
    """Ticks; empty: round numbers."""


@dataclass(frozen=True, slots=True)
class Series:
    """How the rows with one `series` are drawn."""

    colour: str
    mark: Mark = "both"


def picture(
    rows: Iterable[Row],
    x: Axis,
    y: Axis,
    series: Mapping[str, Series],
    *,
    title: str,
    subtitle: list[str],
    description: str,
    bars: Mapping[str, float] | None = None,
) -> Any:
    """Draw rows by their `series`; bars are horizontal lines, each with its words above it.

    Rows that are alike are drawn once.
    """
    alt = canvas.altair()
    table: Rows = [dict(row) for row in dict.fromkeys(tuple(row.items()) for row in rows)]
    heights = [*(bars or {}).values()]
    colour = alt.Color(
        "series:N",
        title=None,
        scale=alt.Scale(domain=list(series), range=[each.colour for each in series.values()]),
        legend=alt.Legend(
            orient="top",
            direction="horizontal",
            columns=2 if len(series) == 4 else 3,
            labelLimit=320,
            symbolStrokeWidth=3,
        ),
    )
    base = alt.Chart(canvas.data(table)).encode(
        x=alt.X(f"{x.field}:Q", **_axis(x, [float(row[x.field]) for row in table])),
        y=alt.Y(f"{y.field}:Q", **_axis(y, [*(float(row[y.field]) for row in table), *heights])),
        color=colour,
        tooltip=["series:N", f"{x.field}:Q", f"{y.field}:Q"],
    )
    layers = [_layer(base, name, style) for name, style in series.items()]
    chart = alt.layer(*_bars(bars or {}, y.field), *[part for group in layers for part in group])
    return canvas.with_title(
        chart.properties(width=WIDTH, height=HEIGHT), title, subtitle, description
    )


def _layer(base: Any, name: str, style: Series) -> list[Any]:
    alt = canvas.altair()
    own = base.transform_filter(alt.FieldEqualPredicate(field="series", equal=name))
    marks = {
        "line": [own.mark_line(strokeWidth=2.5)],
        "dash": [own.mark_line(strokeWidth=2, strokeDash=DASH)],
        "ring": [own.mark_point(filled=False, size=150, strokeWidth=2, opacity=1)],
        "point": [own.mark_point(filled=True, size=55, opacity=0.75)],
        "both": [own.mark_line(strokeWidth=2), own.mark_point(filled=True, size=70, opacity=1)],
    }
    return marks[style.mark]


def _bars(bars: Mapping[str, float], field: str) -> list[Any]:
    alt = canvas.altair()
    if not bars:
        return []
    base = alt.Chart(canvas.data({"words": words, field: at} for words, at in bars.items()))
    place = base.encode(y=f"{field}:Q")
    return [
        place.mark_rule(style="strong", strokeDash=DASH, strokeWidth=1.5),
        place.mark_text(style="label", align="left", dy=-9).encode(x=alt.value(6), text="words:N"),
    ]


def _axis(axis: Axis, values: Sequence[float]) -> dict[str, Any]:
    """Return title, scale and ticks of an axis."""
    alt = canvas.altair()
    if axis.scale == "log":
        ticks = list(axis.values) or axes.ticks_of(values)
        scale = axes.log_scale(padding=14)
        return {"title": axis.title, "scale": scale, "axis": axes.numbers(ticks)}
    if axis.scale == "linear" and not axis.values:
        return {"title": axis.title, "axis": axes.numbers()}
    scale = alt.Scale(zero=False, nice=False, padding=12)
    if axis.scale == "symlog":
        scale = alt.Scale(type="symlog", constant=1, nice=False, padding=10)
    return {"title": axis.title, "scale": scale, "axis": axes.numbers(axis.values)}
