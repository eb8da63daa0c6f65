"""The panel of dropped arms: when, in which cluster, and by how much they were worse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lumpable.base.arrays import FloatVector, IntVector
from lumpable.base.words import counted
from lumpable.reports.charts.captions import PANEL
from lumpable.reports.kit import alt, axes, canvas, theme
from lumpable.reports.kit.canvas import Row
from lumpable.runs import questions
from lumpable.runs.run import Run
from lumpable.worlds.world import World

MOST_CLUSTERS = 8
MOST_ARMS = 150
"""Of each cluster."""
KEPT, FELL = "still good", "dropped in this phase"
BEST, LOST = "best arm, still good", "best arm, dropped"
KINDS = {
    KEPT: (theme.GREEN, "circle"),
    FELL: (theme.GREY, "circle"),
    BEST: (theme.BLUE, "diamond"),
    LOST: (theme.VERMILLION, "diamond"),
}


def drop_rows(run: Run) -> Iterator[Row]:
    """Yield a row for each arm of each cluster: its gap, the last phase in which it was good.

    The largest clusters only, and of many arms those that are evenly spaced by gap.
    """
    turns = questions.latest(run)
    label, good = questions.clusters_of(turns[-1].belief)
    phase = questions.last_good(turns)
    size = np.bincount(label)
    shown = np.sort(np.argsort(-size, kind="stable")[:MOST_CLUSTERS])
    for cluster in shown:
        members = np.flatnonzero(label == cluster)
        gap = average_gap(run.world, members)
        best = set(run.world.policy[members].tolist())
        title = f"Cluster {cluster + 1}: {counted(int(size[cluster]), 'context')}"
        for arm in axes.evenly(np.argsort(gap, kind="stable"), MOST_ARMS):
            kept = bool(good[cluster, arm])
            kind = (BEST if kept else LOST) if int(arm) in best else (KEPT if kept else FELL)
            yield {
                "cluster": title,
                "arm": run.world.arm_names[arm] if run.world.arm_names else arm,
                "gap": round(float(gap[arm]), 4),
                "phase": phase[cluster, arm],
                "kind": kind,
            }


def average_gap(world: World, members: IntVector) -> FloatVector:
    """Return how much these contexts lose on average with each arm, as often as they come."""
    weight = world.frequency[members]
    weight = weight / weight.sum() if weight.sum() > 0 else np.full(len(members), 1 / len(members))
    gap: FloatVector = weight @ (world.best[members, np.newaxis] - world.mean[members])
    return np.maximum(gap, 0.0)


def panel(run: Run) -> Any:
    """Draw each arm of each cluster by its gap and the phase in which it was dropped."""
    rows = list(drop_rows(run))
    panels = len({row["cluster"] for row in rows})
    first = min(row["phase"] for row in rows)
    last = max(row["phase"] for row in rows)
    colours = alt.Scale(domain=list(KINDS), range=[colour for colour, _ in KINDS.values()])
    shapes = alt.Scale(domain=list(KINDS), range=[shape for _, shape in KINDS.values()])
    legend = alt.Legend(title=None, orient="bottom", symbolOpacity=1)
    points = (
        alt.Chart(canvas.data(rows))
        .mark_point(filled=True, opacity=0.75)
        .encode(
            x=alt.X(
                "gap:Q",
                title="gap: reward lost per round with this arm",
                axis=axes.numbers(tickCount=6),
            ),
            y=alt.Y(
                "phase:Q",
                title="phase",
                scale=alt.Scale(domain=[first - 1, last + 1], nice=False),
                axis=axes.counts(values=axes.whole_ticks(first, last, 6)),
            ),
            color=alt.Color("kind:N", scale=colours, legend=legend),
            shape=alt.Shape("kind:N", scale=shapes, legend=legend),
            size=alt.condition("indexof(datum.kind, 'best') == 0", alt.value(110), alt.value(36)),
            tooltip=["arm:N", "gap:Q", "phase:Q", "kind:N"],
        )
        .properties(width=PANEL if panels > 1 else 2 * PANEL, height=110)
    )
    title = {"text": "When each arm was dropped, in each cluster", "subtitle": captions(run)}
    return points.facet(
        alt.Facet("cluster:N", title=None, sort=None, header=alt.Header(labelFontSize=12)),
        columns=2,
        title=title,
    ).resolve_axis(x="independent", y="independent")


def captions(run: Run) -> list[str]:
    """Say what a point is, and how much is drawn."""
    number = len(questions.clusters_of(run.turns[-1].belief)[1])
    drawn = len({row["cluster"] for row in drop_rows(run)})
    lines = [
        "A point is an arm, at the last phase in which it was good. Those far to the right, which "
        "cost most, should be dropped first."
    ]
    if all(row["kind"] in (KEPT, BEST) for row in drop_rows(run)):
        lines = ["A point is an arm. None was dropped yet."]
    if drawn < number or run.world.arms > MOST_ARMS:
        lines.append(
            f"Drawn: {drawn} of {number} clusters, the largest, and "
            f"{min(run.world.arms, MOST_ARMS)} of {run.world.arms} arms, evenly spaced by gap."
        )
    return lines


def words(run: Run) -> str:
    """Describe the panel."""
    turns = questions.latest(run)
    good = questions.clusters_of(turns[-1].belief)[1]
    phase = questions.last_good(turns)[~good]
    if not len(phase):
        return "A chart of the phase in which each arm was dropped, by cluster: none was."
    lost = sum(row["kind"] == LOST for row in drop_rows(run))
    return (
        f"A chart of the phase in which each arm was dropped: of {good.size} pairs of cluster and "
        f"arm {len(phase)} were, in phases {phase.min()} to {phase.max()}; best arms that were "
        f"dropped: {lost}."
    )
