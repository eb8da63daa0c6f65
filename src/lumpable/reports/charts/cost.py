"""The panel of a run's regret: what learning cost, beside the rates of the theorems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lumpable.plans import bounds
from lumpable.reports.charts.captions import PANEL, numbers
from lumpable.reports.kit import alt, axes, canvas, theme
from lumpable.reports.kit.canvas import Row
from lumpable.runs import questions
from lumpable.runs.run import Run

THEOREM = "√(r³ (S + K) T), the paper's rate"
STANDARD = "√(S K T), the standard rate"
BUCKETS = "its buckets, each on its own clock"
MOST_POINTS = 300
"""Of a run's line."""
MOST_DOTS = 80


def regret_rows(runs: Mapping[str, Run], most: int = MOST_POINTS) -> Iterator[Row]:
    """Yield the points of each run: totals at the end of its requests, as far as any regret."""
    for name, run in runs.items():
        rows = [row for row in run.requests if row.regret > 0]
        for number in axes.evenly(np.arange(len(rows))[::-1], most)[::-1]:
            row = rows[number]
            yield {"line": name, "rounds": row.rounds, "regret": row.regret, "words": row.phase}


def rate_rows(runs: Mapping[str, Run]) -> Iterator[Row]:
    """Yield both ends of each rate's line, where all runs are of one problem."""
    problems = {questions.rated_problem(run) for run in runs.values()}
    rounds = [row["rounds"] for row in regret_rows(runs)]
    problem = problems.pop() if len(problems) == 1 else None
    if problem is None or not rounds:
        return
    for T in (min(rounds), max(rounds)):
        yield {"line": THEOREM, "rounds": T, "regret": bounds.regret_rate(problem, T)}
        yield {"line": STANDARD, "rounds": T, "regret": bounds.standard_rate(problem, T)}


def bucket_rows(runs: Mapping[str, Run]) -> Iterator[Row]:
    """Yield the points of plans side by side, where a run has some, each on its own clock."""
    for name, run in runs.items():
        for number, side in enumerate(questions.buckets(run), start=1):
            for row in regret_rows({BUCKETS: side.run}, MOST_DOTS):
                point = {"line": BUCKETS, "rounds": row["rounds"], "regret": row["regret"]}
                yield {**point, "bucket": f"{name}, bucket {number}"}


def panel(runs: Mapping[str, Run], width: int = PANEL) -> Any:
    """Draw regret against rounds, with the rates of the theorems."""
    rates, buckets = list(rate_rows(runs)), list(bucket_rows(runs))
    place = _place(runs, rates, buckets)
    layers = []
    if rates:
        thin = alt.Chart(canvas.data(rates)).mark_line(strokeWidth=1.2)
        layers.append(thin.encode(**place))
    if buckets:
        faint = alt.Chart(canvas.data(buckets)).mark_line(strokeWidth=1.2)
        layers.append(faint.encode(**place, detail="bucket:N"))
    points = alt.Chart(canvas.data(regret_rows(runs)))
    many = sum(len(run.requests) for run in runs.values()) > MOST_DOTS  # then only for the pointer
    dots = points.mark_circle(size=30, opacity=0 if many else 1)
    tooltip = ["line:N", *numbers("rounds", "regret"), alt.Tooltip("words:N", title="then")]
    layers += [
        points.mark_line(strokeWidth=2.2).encode(**place),
        dots.encode(x=place["x"], y=place["y"], color=place["color"], tooltip=tooltip),
    ]
    title = {"text": "Regret: the flatter, the more was learned", "subtitle": caption(runs)}
    return alt.layer(*layers).properties(width=width, height=PANEL - 40, title=title)


def _place(runs: Mapping[str, Run], rates: Sequence[Row], buckets: Sequence[Row]) -> dict[str, Any]:
    """Return what the lines share: logarithmic axes, a colour and dashes for each, one legend."""
    looks = {
        name: (theme.LINES[number % len(theme.LINES)], theme.SOLID)
        for number, name in enumerate(runs)
    }
    if buckets:
        looks[BUCKETS] = (theme.PALE, theme.SOLID)
    if rates:
        looks |= {THEOREM: (theme.BLACK, theme.DASHED), STANDARD: (theme.GREY, theme.DOTTED)}
    colours, dashes = zip(*looks.values(), strict=True)
    legend = alt.Legend(
        orient="bottom",
        direction="vertical",
        title=None,
        labelLimit=0,
        symbolType="stroke",
        symbolSize=900,
        symbolStrokeWidth=2,
    )
    named = {"legend": legend, "title": None}
    scale = axes.log_scale()
    drawn = [*regret_rows(runs), *rates, *buckets]
    across, up = (
        axes.numbers(axes.ticks_of([row[name] for row in drawn])) for name in ("rounds", "regret")
    )
    return {
        "x": alt.X("rounds:Q", title="rounds T", scale=scale, axis=across),
        "y": alt.Y("regret:Q", title="regret: reward given up so far", scale=scale, axis=up),
        "color": alt.Color(
            "line:N", scale=alt.Scale(domain=list(looks), range=list(colours)), **named
        ),
        "strokeDash": alt.StrokeDash(
            "line:N", scale=alt.Scale(domain=list(looks), range=list(dashes)), **named
        ),
    }


def caption(runs: Mapping[str, Run]) -> str:
    """Say what the lines are."""
    if any(True for _ in rate_rows(runs)):
        return "Dashed, dotted: rates, constants and logarithms left out"
    return "Totals at the end of each request, on logarithmic axes"


def words(runs: Mapping[str, Run]) -> str:
    """Describe the panel."""
    ends = "; ".join(
        f"{name}: {run.regret:.3g} after {run.rounds:.3g} rounds" for name, run in runs.items()
    )
    rates = "; ".join(f"{row['line']}: {row['regret']:.3g}" for row in list(rate_rows(runs))[2:])
    last = f" At the end, rates without constants and logarithms: {rates}." if rates else ""
    return f"A chart with logarithmic axes of regret against rounds. {ends}.{last}"
