"""The panels of what a run found: clusters and good arms, by phase or by bucket."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lumpable.base.words import counted, short
from lumpable.plans.plan import Belief
from lumpable.reports.charts.captions import PANEL, numbers
from lumpable.reports.kit import alt, axes, canvas, theme
from lumpable.reports.kit.canvas import Row
from lumpable.reports.kit.theme import BLUE, GREEN
from lumpable.runs import questions
from lumpable.runs.run import Run

MOST_GROUPS = 50
"""More hidden groups than these have no line."""


def any_clusters(run: Run) -> bool:
    """Say whether a run formed clusters, itself or in plans side by side."""
    return questions.final_clusters(run) is not None


def phase_rows(run: Run) -> Iterator[Row]:
    """Yield a row for each phase: clusters at its end, and the good arms it was played with."""
    place = 0
    for start, turns in enumerate(questions.starts(run)):
        for turn in questions.phases(turns):
            place += 1
            yield {
                "place": place,
                "start": start + 1,
                "phase": turn.belief.number,
                "rounds": turn.rounds,
                **_good(turn.belief),
            }


def _good(belief: Belief | None) -> Row:
    """Return the number of clusters, and of the arms that are good for them."""
    good = questions.clusters_of(belief)[1].sum(axis=1) if belief else np.array([np.nan])
    return {
        "clusters": len(good) if belief else 0,
        "fewest": good.min(),
        "average": round(float(good.mean()), 3),
        "most": good.max(),
    }


def panel(run: Run) -> Any:
    """Draw clusters and good arms: by phase, or at the end by bucket."""
    return _by_phase(run) if run.turns else _by_bucket(run)


def _by_phase(run: Run) -> Any:
    """Draw two panels below each other, phases on the axis."""
    rows = list(phase_rows(run))
    again = [{"place": row["place"] - 0.5} for row in rows[1:] if row["phase"] == 1]
    table = alt.Chart(canvas.data(rows)).encode(
        x=_phases(rows, bool(again)),
        tooltip=["phase:Q", *numbers("rounds"), "clusters:Q", "fewest:Q", "average:Q", "most:Q"],
    )
    lines = alt.Chart(canvas.data(again)).mark_rule(color=theme.GREY)
    starts = [lines.encode(x=alt.X("place:Q"))] if again else []
    dashed = "" if run.world.groups > MOST_GROUPS else "; dashed: hidden groups"
    return alt.vconcat(
        alt.layer(*starts, *_numbers_of_clusters(run, rows, table)).properties(
            width=PANEL,
            height=100,
            title={"text": "Clusters, phase by phase", "subtitle": f"{_ends(run)}{dashed}"},
        ),
        alt.layer(*starts, *_good_arms(table)).properties(
            width=PANEL,
            height=150,
            title={
                "text": "Arms that are still good for a cluster",
                "subtitle": "Line: average; shaded: from the fewest to the most",
            },
        ),
        spacing=20,
    )


def _phases(rows: list[Row], again: bool) -> Any:
    """Return the axis of phases, which are counted anew where a plan starts again."""
    phases = [row["phase"] for row in rows]
    step = 1 if len(rows) <= 12 else 2 if len(rows) <= 24 else 5
    return alt.X(
        "place:Q",
        title="phase h" + (" (it started again at the thin lines)" if again else ""),
        scale=alt.Scale(domain=[0.5, len(rows) + 0.5], nice=False),
        axis=alt.Axis(
            labelExpr=f"{phases}[datum.value - 1]",
            values=[row["place"] for row in rows if row["phase"] == 1 or row["phase"] % step == 0],
            labelOverlap="greedy",
            labelSeparation=8,
            grid=False,
        ),
    )


def _numbers_of_clusters(run: Run, rows: list[Row], table: Any) -> list[Any]:
    """Return the layers of the clusters, with the hidden groups where they are not too many."""
    groups = run.world.groups
    truth = alt.Chart(canvas.data([{"clusters": groups}])).mark_rule(strokeDash=theme.DASHED)
    most = max(row["clusters"] for row in rows)
    top = most if groups > MOST_GROUPS else max(groups, most)
    number = alt.Y(
        "clusters:Q",
        title="clusters",
        axis=axes.counts(tickCount=4),
        scale=alt.Scale(domain=[0, top + 0.5]),
    )
    return [
        *([] if groups > MOST_GROUPS else [truth.encode(y="clusters:Q")]),
        table.mark_line(interpolate="step-after", color=BLUE).encode(y=number),
        table.mark_circle(color=BLUE, size=30, opacity=1).encode(y=number),
    ]


def _good_arms(table: Any) -> list[Any]:
    """Return the layers of the good arms."""
    title = "good arms per cluster"
    arms = alt.Y("average:Q", title=title, scale=alt.Scale(domainMin=0))
    return [
        table.mark_area(color=GREEN, opacity=0.25).encode(
            y=alt.Y("fewest:Q", title=title), y2="most:Q"
        ),
        table.mark_line(color=GREEN).encode(y=arms),
        table.mark_circle(color=GREEN, size=30, opacity=1).encode(y=arms),
    ]


def _ends(run: Run) -> str:
    after = questions.apart(questions.latest(run), run.world)
    if after is None:
        return "Not all groups are apart"
    return f"All apart after {short(after)} rounds" if after else "There is only one group"


def bucket_rows(run: Run) -> Iterator[Row]:
    """Yield one row for each plan that was side by side last: its contexts, groups and clusters."""
    for number, side in enumerate(questions.buckets(run), start=1):
        turns = questions.latest(side.run)
        yield {
            "bucket": f"{number}: {counted(len(side.contexts), 'context')}",
            "rounds": side.run.rounds,
            "regret": side.run.regret,
            "groups": len(np.unique(side.run.world.group)),
            **_good(turns[-1].belief if turns else None),
        }


def _by_bucket(run: Run) -> Any:
    """Draw two panels side by side, buckets on the axis."""
    rows = list(bucket_rows(run))
    down = alt.Y("bucket:N", title="bucket, most frequent first", sort=None)
    table = alt.Chart(canvas.data(rows)).encode(
        tooltip=["bucket:N", *numbers("rounds", "regret"), "groups:Q", "clusters:Q", "average:Q"]
    )
    most = max(max(row["groups"], row["clusters"]) for row in rows)
    across, ticks = alt.Scale(domain=[0, most + 0.5], nice=False), "groups (ticks), clusters (dots)"
    found = alt.layer(
        table.mark_tick(style="strong", thickness=3, size=20).encode(
            x=alt.X("groups:Q", title=ticks, scale=across, axis=axes.counts()), y=down
        ),
        table.mark_circle(size=90, color=BLUE, opacity=1).encode(
            x=alt.X("clusters:Q", scale=across), y=down
        ),
    )
    bare = alt.Y("bucket:N", title=None, sort=None, axis=axes.bare())
    good = alt.layer(
        table.mark_rule(strokeWidth=5, color=GREEN, opacity=0.35).encode(
            x=alt.X("fewest:Q", title="good arms per cluster", scale=alt.Scale(domainMin=0)),
            x2="most:Q",
            y=bare,
        ),
        table.mark_circle(size=70, color=GREEN, opacity=1).encode(x=alt.X("average:Q"), y=bare),
    )
    title = {"text": "Clusters by bucket", "subtitle": "In the end, each on its own clock"}
    more = {"text": "Arms still good", "subtitle": "Fewest, average and most"}
    height = max(60, min(PANEL - 40, 30 * len(rows)))
    return alt.hconcat(
        found.properties(width=150, height=height, title=title),
        good.properties(width=150, height=height, title=more),
        spacing=20,
    )


def words(run: Run) -> str:
    """Describe the panels."""
    if not run.turns:
        rows = list(bucket_rows(run))
        each = ", ".join(f"{row['clusters']} for {row['groups']}" for row in rows)
        return f"Clusters found for the hidden groups in each of {len(rows)} buckets: {each}."
    rows = list(phase_rows(run))
    last = rows[-1]
    starts = f" It started {last['start']} times." if last["start"] > 1 else ""
    return (
        f"Charts of clusters and good arms by phase.{starts} In phase {last['phase']} there are "
        f"{counted(last['clusters'], 'cluster')} for {counted(run.world.groups, 'hidden group')}, "
        f"with {last['average']:g} good arms each on average. {_ends(run)}."
    )
