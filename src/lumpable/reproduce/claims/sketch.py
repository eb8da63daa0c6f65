"""One kind of picture for most claims: measured series, curves and bars, on plain or log axes.

Knows nothing of bandits.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from lumpable.base.errors import BadArgument
from lumpable.reports.kit import axes, canvas, theme
from lumpable.reports.kit.canvas import Row
from lumpable.reproduce.claim import Measured

Colour = Literal["blue", "green", "ink", "orange", "pink", "sky"]
COLOURS: dict[Colour, str] = {
    "blue": theme.BLUE,
    "green": theme.GREEN,
    "ink": "#222222",
    "orange": theme.VERMILLION,
    "pink": theme.PINK,
    "sky": theme.SKY,
}
WIDTH, HEIGHT = 520, 260
LONGEST = 88
"""Characters in a line of the subtitle."""
DASH = [6, 4]
Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Axis:
    """A column of the rows, in words, and how it is drawn."""

    field: str
    title: str
    scale: Literal["linear", "log", "symlog"] = "linear"
    ticks: Sequence[float] | Literal["points"] = ()
    """Where ticks are; `points`: wherever there is a point; empty: at round numbers."""


@dataclass(frozen=True, slots=True)
class Series:
    """How the rows with one `series` are drawn."""

    colour: Colour
    mark: Literal["point", "ring", "line", "both", "dash"] = "both"


GUIDE = Series("ink", "dash")
"""For what is not measured but compared with."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """The picture of a claim: draws what was measured, row by row, when it is called."""

    x: Axis
    y: Axis
    series: Mapping[str, Series | Colour]
    """Which rows are drawn, and how; a colour alone draws points and lines."""
    title: str = field(kw_only=True)
    subtitle: str = field(kw_only=True)
    """May name what was measured: `{seeds} runs`, or any name of the setting or the facts."""
    description: str = field(kw_only=True)
    """For those who cannot see the picture."""
    bars: Mapping[str, float] = field(kw_only=True, default_factory=dict)
    """Horizontal lines, each with its words above it."""

    def __call__(self, measured: Measured) -> Any:
        """Return an Altair chart; a series without rows is an error."""
        if missing := set(self.series) - {row["series"] for row in measured.rows}:
            raise BadArgument("series", "names of measured series", f"{sorted(missing)}")
        names = {**measured.facts, **measured.setting, "seeds": measured.seeds}
        chart = panel(measured.rows, self.x, self.y, self.series, self.bars)
        lines = textwrap.wrap(self.subtitle.format_map(names), LONGEST)
        return canvas.with_title(chart, self.title, lines, self.description)


def curves(x: str, at: Sequence[float], y: str, series: Mapping[str, Sequence[float]]) -> Rows:
    """Return a row for each point of several series with the same values of x.

    >>> curves("S", (10, 20), "rounds", {"naive": (200, 800)})
    [{'series': 'naive', 'S': 10, 'rounds': 200}, {'series': 'naive', 'S': 20, 'rounds': 800}]
    """
    return [
        {"series": name, x: place, y: value}
        for name, values in series.items()
        for place, value in zip(at, values, strict=True)
    ]


def panel(
    rows: Iterable[Row],
    x: Axis,
    y: Axis,
    series: Mapping[str, Series | Colour],
    bars: Mapping[str, float] | None = None,
    width: int = WIDTH,
) -> Any:
    """Draw the rows of these series, without a title. Rows that are alike are drawn once."""
    alt = canvas.altair()
    bars = bars or {}
    drawn = (tuple(row.items()) for row in rows if row["series"] in series)
    table: Rows = [dict(row) for row in dict.fromkeys(drawn)]
    styles = {
        name: Series(style) if isinstance(style, str) else style for name, style in series.items()
    }
    colour = alt.Color(
        "series:N",
        title=None,
        scale=alt.Scale(
            domain=list(styles), range=[COLOURS[style.colour] for style in styles.values()]
        ),
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
        y=alt.Y(
            f"{y.field}:Q", **_axis(y, [*(float(row[y.field]) for row in table), *bars.values()])
        ),
        color=colour,
        tooltip=["series:N", f"{x.field}:Q", f"{y.field}:Q"],
    )
    layers = [part for name, style in styles.items() for part in _layer(base, name, style)]
    return alt.layer(*_bars(bars, y.field), *layers).properties(width=width, height=HEIGHT)


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
    ticks = sorted(set(values)) if axis.ticks == "points" else list(axis.ticks)
    if axis.scale == "linear" and not ticks:
        return {"title": axis.title, "axis": axes.numbers()}
    if axis.scale == "log":
        scale = axes.log_scale(padding=14)
        ticks = ticks or axes.ticks_of(values)
    elif axis.scale == "symlog":
        scale = alt.Scale(type="symlog", constant=1, nice=False, padding=10)
    else:
        scale = alt.Scale(zero=False, nice=False, padding=12)
    return {"title": axis.title, "scale": scale, "axis": axes.numbers(ticks)}
