"""Pictures of a running experiment, without data: the page fills them, and fills them again.

Each names the tables that it draws; their rows are said in its docstring. Colours are names, which
the page's style sheet gives.
"""

from __future__ import annotations

from typing import Any

from lumpable.reports.kit import alt, axes, canvas, theme

HEIGHT = 200
STEP = 26
"""Pixels of a row that has a name."""
MATRIX = 340
TIMES = {
    **dict.fromkeys(("seconds", "minutes", "hours"), "%H:%M"),
    **dict.fromkeys(("day", "date", "week", "month", "quarter", "year"), "%e %b"),
}
"""How times are written along an axis."""


def all_charts() -> dict[str, Any]:
    """Return every picture in Vega's own language, by name."""
    made = {
        "traffic": traffic(), "worth": worth(), "arms": arms(), "matrix": matrix(),
        "versions": versions(),
    }  # fmt: skip
    return {name: canvas.to_vega(_dressed(chart).to_dict()) for name, chart in made.items()}


def _dressed(chart: Any) -> Any:
    """Give a chart the colours of the page, and let its width be that of its place."""
    fit = {"type": "fit-x", "contains": "padding"}
    return chart.properties(config=theme.silent(theme.PAGE), padding=4, width=600, autosize=fit)


def _rows(name: str) -> Any:
    return alt.Chart(alt.NamedData(name))


def _times() -> Any:
    axis = alt.Axis(grid=False, tickCount=6, labelOverlap=True, format=TIMES)
    return alt.X("at:T", title=None, axis=axis)


def traffic() -> Any:
    """Draw decisions and rewards per minute. Table `spans`: at, what, rate, look, words."""
    base = _rows("spans").encode(x=_times(), y=alt.Y(
        "rate:Q", title="per minute", stack=None, scale=alt.Scale(zero=True),
        axis=axes.numbers(tickCount=4),
    ))  # fmt: skip
    lines = base.mark_line(interpolate="monotone", strokeWidth=2).encode(
        detail="what:N", stroke=alt.Stroke("look:N", scale=None)
    )
    dots = base.mark_circle(size=90, opacity=0.0).encode(tooltip=["words:N"])
    return alt.layer(lines, dots).properties(height=HEIGHT)


def worth() -> Any:
    """Draw mean rewards with intervals. Table `means`: at, who, mean, low, high, look, words."""
    base = _rows("means").encode(x=_times())
    up = alt.Y("mean:Q", title="mean reward", scale=alt.Scale(zero=False),
               axis=axes.numbers(tickCount=4))  # fmt: skip
    fill = alt.Fill("look:N", scale=None)
    bands = base.mark_area(opacity=0.16).encode(y=alt.Y("low:Q", title="mean reward"), y2="high:Q",
                                                detail="who:N", fill=fill)  # fmt: skip
    lines = base.mark_line(strokeWidth=2).encode(
        y=up, detail="who:N", stroke=alt.Stroke("look:N", scale=None)
    )
    dots = base.mark_circle(size=34, opacity=1.0).encode(y=up, fill=fill, tooltip=["words:N"])
    return alt.layer(bands, lines, dots).properties(height=HEIGHT)


def arms() -> Any:
    """Draw each group's best arms. Table `arms`: row, mean, low, high, look, strength, words."""
    down = alt.Y("row:N", sort=None, title=None, axis=axes.rows(labelLimit=170))
    base = _rows("arms").encode(y=down)
    colour = alt.Color("look:N", scale=None)
    faded = alt.Opacity("strength:Q", scale=None)
    along = alt.X("low:Q", title="mean reward", scale=alt.Scale(zero=False),
                  axis=axes.numbers(tickCount=5))  # fmt: skip
    interval = base.mark_rule(strokeWidth=4, strokeCap="round").encode(
        x=along, x2="high:Q", color=colour, opacity=faded, tooltip=["words:N"]
    )
    mean = base.mark_point(filled=True, size=110, opacity=1.0, strokeWidth=2).encode(
        x=alt.X("mean:Q", title="mean reward"), fill=colour, tooltip=["words:N"],
        stroke=alt.value(theme.PAGE.paper),
    )  # fmt: skip
    return alt.layer(interval, mean).properties(height=alt.Step(STEP))


def matrix() -> Any:
    """Draw rewards as they came, users by group.

    Table `cells`: arm, top, bottom, mean, words. Table `groups`: top, bottom, middle, group.
    """
    side = alt.Scale(reverse=True, nice=False, zero=False)
    up = alt.Y("top:Q", title=None, scale=side, axis=None)
    names = alt.Axis(labelAngle=-45, labelLimit=90, ticks=False, domain=False)
    across = alt.X("arm:N", sort=None, title=None, axis=names)
    cells = _rows("cells").mark_rect(stroke=None).encode(
        x=across, y=up, y2="bottom:Q", tooltip=["words:N"],
        color=alt.Color("mean:Q", title="mean reward", scale=alt.Scale(range="heatmap"),
                        legend=alt.Legend(orient="top", gradientLength=160, gradientThickness=10,
                                          tickCount=3)),
    )  # fmt: skip
    between = (
        _rows("groups").mark_rule(strokeWidth=3).encode(y=up, color=alt.value(theme.PAGE.paper))
    )
    beside = (
        _rows("groups")
        .mark_text(align="right", dx=-8)
        .encode(x=alt.value(0), y=alt.Y("middle:Q", scale=side, axis=None), text="group:N")
    )
    return alt.layer(cells, between, beside).properties(height=MATRIX)


def versions() -> Any:
    """Draw the users of each group, version by version.

    Table `versions`: version, place (of the group), size, look, words.
    """
    return _rows("versions").mark_bar(strokeWidth=1, stroke=theme.PAGE.paper).encode(
        x=alt.X("version:O", title="version",
                axis=alt.Axis(labelAngle=0, labelOverlap=True, ticks=False),
                scale=alt.Scale(paddingInner=0.1)),
        y=alt.Y("size:Q", title="users", axis=axes.counts(tickCount=4)),
        order=alt.Order("place:Q"),
        fill=alt.Fill("look:N", scale=None),
        tooltip=["words:N"],
    ).properties(height=HEIGHT)  # fmt: skip
