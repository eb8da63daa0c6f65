"""Who is alike: the mean rewards as hidden, and sorted by the clusters that a run found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from lumpable.base.arrays import IntVector
from lumpable.base.words import counted
from lumpable.reports.charts.captions import PANEL
from lumpable.reports.kit import alt, axes, canvas, theme
from lumpable.reports.kit.axes import evenly
from lumpable.reports.kit.canvas import Row
from lumpable.runs import questions
from lumpable.runs.run import Run
from lumpable.worlds.world import World

TITLE = "Who is alike, found from rewards alone"
MOST_CONTEXTS = 150
MOST_ARMS = 40


# --- What is drawn --------------------------------------------------------------------------


class Drawn(NamedTuple):
    """Which contexts and arms a picture of the matrix shows, and in which order."""

    contexts: IntVector
    """In their own order."""
    arms: IntVector
    """In their own order."""
    sorted_contexts: IntVector
    """By cluster, then in their own order."""
    sorted_arms: IntVector
    """The arms that the policy gives, other candidates, then others."""
    used: IntVector
    """The arms that the policy gives to these contexts."""


def choose(run: Run) -> Drawn:
    """Choose evenly spaced contexts and, after the arms that were found, evenly spaced others."""
    contexts = evenly(np.arange(run.world.contexts), MOST_CONTEXTS)
    used = evenly(np.unique(run.policy[contexts]), MOST_ARMS)
    unused = np.setdiff1d(good_arms(run), used)
    first = np.concatenate([used, evenly(unused, MOST_ARMS - len(used))])
    others = np.setdiff1d(np.arange(run.world.arms), first)
    arms = np.concatenate([first, evenly(others, MOST_ARMS - len(first))])
    by_cluster = contexts[np.argsort(cluster_of(run)[contexts], kind="stable")]
    return Drawn(contexts, np.sort(arms), by_cluster, arms, used)


def cluster_of(run: Run) -> IntVector:
    """Return the cluster of each context; without clusters, the arm that it is given."""
    cluster = questions.final_clusters(run)
    return run.policy if cluster is None else cluster


def good_arms(run: Run) -> IntVector:
    """Return the arms that are still good for some cluster, or else the candidates."""
    if run.turns:
        return np.flatnonzero(questions.clusters_of(run.turns[-1].belief)[1].any(axis=0))
    sides = questions.final_clusters(run) is not None
    candidates = () if run.result is None or sides else run.result.candidates
    return np.array(candidates, dtype=np.int64)


# --- In words -------------------------------------------------------------------------------


def captions(run: Run) -> list[str]:
    """Say what the two matrices show, and how much of it."""
    world, shown = run.world, choose(run)
    lines = [
        "A row is a context, a column an arm. Framed: the arm that a cluster is given. "
        f"Loss of this policy: {world.loss(run.policy):.2g}."
    ]
    if len(shown.contexts) < world.contexts or len(shown.arms) < world.arms:
        lines.append(
            f"Drawn: {len(shown.contexts)} of {world.contexts} contexts, evenly spaced, and "
            f"{len(shown.arms)} of {world.arms} arms, those found and evenly spaced others."
        )
    return lines


def words(run: Run) -> str:
    """Describe the panel."""
    return (
        f"Two heat maps of the mean rewards of {run.world.contexts} contexts (rows) and "
        f"{run.world.arms} arms (columns): as hidden, and sorted so that contexts which were found "
        f"alike stand together, in {_clusters(run)}. The policy's loss is "
        f"{run.world.loss(run.policy):.2g}."
    )


def _clusters(run: Run) -> str:
    return counted(len(np.unique(cluster_of(run))), "cluster")


# --- The panels -----------------------------------------------------------------------------


def pair(run: Run) -> Any:
    """Draw the matrix as hidden and as found, side by side."""
    shown, cluster = choose(run), questions.final_clusters(run)
    as_hidden = _matrix(run.world, shown.contexts, shown.arms, "arms in their own order")
    as_found = _matrix(
        run.world,
        shown.sorted_contexts,
        shown.sorted_arms,
        "first the arms that the policy gives, then others",
        frames=frames(shown, run.policy),
        bands=None if cluster is None else list(bands(cluster[shown.sorted_contexts])),
    )
    return alt.hconcat(
        as_hidden.properties(title="As hidden: contexts in their own order"),
        as_found.properties(title=f"As found: the same contexts in {_clusters(run)}"),
        spacing=40,
    )


def cells(world: World, contexts: IntVector, arms: IntVector) -> Iterator[Row]:
    """Yield one row for each cell of a panel, from top left on."""
    for row, context in enumerate(contexts):
        for column, arm in enumerate(arms):
            yield {
                **_box(row, row + 1, column, column + 1),
                "context": world.context_names[context] if world.context_names else context,
                "arm": world.arm_names[arm] if world.arm_names else arm,
                "mean": f"{world.mean[context, arm]:.4g}",
            }


def frames(shown: Drawn, policy: IntVector) -> Iterator[Row]:
    """Yield the cells of the arm that contexts below each other are given, as one frame."""
    column = {int(arm): number for number, arm in enumerate(shown.used)}
    for top, bottom, arm in bands(policy[shown.sorted_contexts]):
        if arm in column:
            yield _box(top, bottom, column[arm], column[arm] + 1)


def bands(label: IntVector) -> Iterator[tuple[int, int, int]]:
    """Yield where rows of the same label begin and end, and the label."""
    starts = np.flatnonzero(np.diff(label, prepend=label[0] - 1))
    for top, bottom in pairwise([*starts.tolist(), len(label)]):
        yield top, bottom, int(label[top])


def _box(top: float, bottom: float, left: float, right: float) -> dict[str, Any]:
    return {"row": top, "bottom": bottom, "column": left, "right": right}


def _matrix(
    world: World,
    contexts: IntVector,
    arms: IntVector,
    arms_title: str,
    frames: Iterable[Row] | None = None,
    bands: Sequence[tuple[int, int, int]] | None = None,
) -> Any:
    """Draw one matrix; the one with frames has the legends too, and lines between its bands."""
    legends = frames is not None
    height, width = max(1, PANEL // len(contexts)), max(1, PANEL // len(arms))  # whole: no seams
    strip = 0 if world.groups > len(theme.GROUPS) else 18 / width  # a colour for each, or none
    edge = 2 / height  # room for the frames
    margin = 0 if bands is None else 20 / width
    across = alt.Scale(domain=[-strip, len(arms) + margin], nice=False)
    down = alt.Scale(domain=[len(contexts) + edge, -edge], nice=False)
    place = {
        "x": alt.X("column:Q", title=arms_title, axis=axes.bare(), scale=across),
        "x2": "right:Q",
        "y": alt.Y("row:Q", title="contexts", axis=axes.bare(), scale=down),
        "y2": "bottom:Q",
    }
    reward = alt.Color(
        "mean:Q",
        title="mean reward",
        scale=alt.Scale(scheme="viridis", domain=[world.mean.min(), world.mean.max()]),
        legend=alt.Legend(gradientLength=140) if legends else None,
    )
    heat = alt.Chart(canvas.data(cells(world, contexts, arms))).mark_rect()
    layers = [heat.encode(**place, color=reward, tooltip=["context:N", "arm:N", "mean:Q"])]
    if strip:
        layers.append(_strip(world, contexts, strip, legends).encode(**place))
    if frames is not None:
        outline = alt.Chart(canvas.data(frames)).mark_rect(
            fillOpacity=0, stroke=theme.FRAME, strokeWidth=2.5
        )
        layers.append(outline.encode(**place))
    if bands is not None:
        layers += _lines(bands, len(arms), height, place)
    size = {
        "width": width * (len(arms) + strip + margin),
        "height": height * (len(contexts) + 2 * edge),
    }
    return alt.layer(*layers).resolve_scale(color="independent").properties(**size)


def _lines(
    bands: Sequence[tuple[int, int, int]], arms: int, height: int, place: dict[str, Any]
) -> list[Any]:
    """Draw a line above each cluster but the first, and its number, where there is room."""
    rows = [
        {
            **_box(top, top, 0, arms),
            "middle": (top + bottom) / 2,
            "number": label + 1 if height * (bottom - top) >= 12 else "",
            "room": height * (bottom - top) >= 6,
        }
        for top, bottom, label in bands
    ]
    table = alt.Chart(canvas.data(rows))
    lines = table.transform_filter("datum.row > 0 && datum.room == 'True'").mark_rule(
        stroke="white", size=2
    )
    numbers = table.mark_text(align="left", dx=6)
    return [
        lines.encode(x=place["x"], x2="right:Q", y=place["y"]),
        numbers.encode(x=alt.X("right:Q"), y=alt.Y("middle:Q"), text=alt.Text("number:N")),
    ]


def _strip(world: World, contexts: IntVector, width: float, legend: bool) -> Any:
    """Draw the hidden group of each context, left of the matrix."""
    names = [str(group + 1) for group in range(world.groups)]
    rows = (
        {**_box(row, row + 1, -width, -width / 3), "group": names[world.group[context]]}
        for row, context in enumerate(contexts)
    )
    colour = alt.Color(
        "group:N",
        title="hidden group",
        scale=alt.Scale(domain=names, range=list(theme.GROUPS[: world.groups])),
        legend=alt.Legend() if legend else None,
    )
    return alt.Chart(canvas.data(rows)).mark_rect().encode(color=colour)
