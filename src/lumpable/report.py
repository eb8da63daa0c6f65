"""Pictures: the reward matrix as hidden and as found, and how the rounds grow with the problem.

Chart functions take values and return Altair charts; `save` writes them. Colours are told apart by
colour-blind people too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lumpable import canvas
from lumpable.canvas import Row, save
from lumpable.checks import IntVector
from lumpable.simulate import Run
from lumpable.world import World

if TYPE_CHECKING:
    import altair

__all__ = ["growth", "matrix", "save"]

MOST_CONTEXTS = 150
MOST_ARMS = 40
PANEL = 360
"""Pixels of a square panel."""
FRAME = "#D00000"
METHODS = {"Algorithm 3": "#0072B2", "naive method": "#D55E00"}
GROUPS = ("#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#D55E00", "#F0E442", "#000000")
"""Colours of Okabe and Ito; with more groups than these the strip of hidden groups is left out."""


# --- The matrix -----------------------------------------------------------------------------


class Drawn(NamedTuple):
    """Which contexts and arms a picture of the matrix shows, and in which order."""

    contexts: IntVector
    """In their own order."""
    arms: IntVector
    """In their own order."""
    sorted_contexts: IntVector
    """By the arm that the policy gives them, then in their own order."""
    sorted_arms: IntVector
    """The arms that the policy gives, other candidates, then others."""
    used: IntVector
    """The arms that the policy gives to these contexts: one cluster each."""


def drawn(world: World, run: Run) -> Drawn:
    """Choose evenly spaced contexts and, after the arms that were found, evenly spaced others."""
    contexts = evenly(np.arange(world.contexts), MOST_CONTEXTS)
    used = evenly(np.unique(run.policy[contexts]), MOST_ARMS)
    candidates = () if run.result is None else run.result.candidates
    unused = np.setdiff1d(np.array(candidates, dtype=np.int64), used)
    found = np.concatenate([used, evenly(unused, MOST_ARMS - len(used))])
    others = np.setdiff1d(np.arange(world.arms), found)
    arms = np.concatenate([found, evenly(others, MOST_ARMS - len(found))])
    by_arm = contexts[np.argsort(run.policy[contexts], kind="stable")]
    return Drawn(contexts, np.sort(arms), by_arm, arms, used)


def evenly(values: IntVector, most: int) -> IntVector:
    """Return at most that many of the values, evenly spaced."""
    if len(values) <= most:
        return values
    return values[np.arange(most) * len(values) // max(most, 1)]


def matrix(world: World, run: Run) -> altair.HConcatChart:
    """Draw the mean rewards twice: as hidden, and sorted by what a run found.

    Rows are contexts, columns are arms, the strip on the left shows the hidden groups. As found,
    contexts that were given the same arm stand together, and their cells of that arm are framed.
    """
    shown = drawn(world, run)
    number = len(np.unique(run.policy))
    clusters = f"{number} cluster{'s' if number > 1 else ''}"
    as_hidden = _panel(world, shown.contexts, shown.arms, "arms in their own order")
    as_found = _panel(
        world,
        shown.sorted_contexts,
        shown.sorted_arms,
        "first the arms that the policy gives, then others",
        frames=frames(shown, run.policy),
    )
    chart: altair.HConcatChart = canvas.styled(
        canvas.altair().hconcat(
            as_hidden.properties(title="As hidden: contexts in their own order"),
            as_found.properties(title=f"As found: the same contexts in {clusters}"),
            spacing=40,
        ),
        "Who is alike, found from rewards alone",
        [
            "A row is a context, a column an arm. Framed: the arm that a cluster is given. "
            f"Loss of this policy: {world.loss(run.policy):.2g}.",
            f"Drawn: {len(shown.contexts)} of {world.contexts} contexts, evenly spaced, and "
            f"{len(shown.arms)} of {world.arms} arms, those found and evenly spaced others.",
        ],
        f"Two heat maps of the mean rewards of {world.contexts} contexts (rows) and {world.arms} "
        "arms (columns). Left: as hidden, contexts in their own order. Right: sorted by the "
        f"policy that was found, so that contexts with the same arm stand together, in {clusters}. "
        f"The policy's loss is {world.loss(run.policy):.2g}.",
    )
    return chart


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
    """Yield the cells of each cluster's own arm, as one frame."""
    given = policy[shown.sorted_contexts]
    for column, arm in enumerate(shown.used):
        rows = np.flatnonzero(given == arm)
        yield _box(int(rows[0]), int(rows[-1]) + 1, column, column + 1)


def _box(top: float, bottom: float, left: float, right: float) -> dict[str, Any]:
    return {"row": top, "bottom": bottom, "column": left, "right": right}


def _panel(
    world: World,
    contexts: IntVector,
    arms: IntVector,
    arms_title: str,
    frames: Iterable[Row] | None = None,
) -> Any:
    """Draw one matrix; the one with frames has the legends too."""
    alt = canvas.altair()
    legends = frames is not None
    height, width = max(1, PANEL // len(contexts)), max(1, PANEL // len(arms))  # whole: no seams
    strip = 0 if world.groups > len(GROUPS) else 18 / width
    edge = 2 / height  # room for the frames
    across = alt.Scale(domain=[-strip, len(arms)], nice=False)
    down = alt.Scale(domain=[len(contexts) + edge, -edge], nice=False)
    bare = alt.Axis(labels=False, ticks=False, grid=False, domain=False)
    place = {
        "x": alt.X("column:Q", title=arms_title, axis=bare, scale=across),
        "x2": "right:Q",
        "y": alt.Y("row:Q", title="contexts", axis=bare, scale=down),
        "y2": "bottom:Q",
    }
    reward = alt.Color(
        "mean:Q",
        title="mean reward",
        scale=alt.Scale(scheme="viridis", domain=[world.mean.min(), world.mean.max()]),
        legend=alt.Legend(gradientLength=140) if legends else None,
    )
    heat = alt.Chart(canvas.data(cells(world, contexts, arms))).mark_rect(aria=False)
    layers = [heat.encode(**place, color=reward, tooltip=["context:N", "arm:N", "mean:Q"])]
    if strip:
        layers.append(_strip(world, contexts, strip, legends).encode(**place))
    if frames is not None:
        outline = alt.Chart(canvas.data(frames)).mark_rect(
            aria=False, fillOpacity=0, stroke=FRAME, strokeWidth=2.5
        )
        layers.append(outline.encode(**place))
    size = {"width": width * (len(arms) + strip), "height": height * (len(contexts) + 2 * edge)}
    return alt.layer(*layers).resolve_scale(color="independent").properties(**size)


def _strip(world: World, contexts: IntVector, width: float, legend: bool) -> Any:
    """Draw the hidden group of each context, left of the matrix."""
    alt = canvas.altair()
    names = [str(group + 1) for group in range(world.groups)]
    rows = (
        {**_box(row, row + 1, -width, -width / 3), "group": names[world.group[context]]}
        for row, context in enumerate(contexts)
    )
    colour = alt.Color(
        "group:N",
        title="hidden group",
        scale=alt.Scale(domain=names, range=list(GROUPS[: world.groups])),
        legend=alt.Legend() if legend else None,
    )
    return alt.Chart(canvas.data(rows)).mark_rect(aria=False).encode(color=colour)


# --- Growth ---------------------------------------------------------------------------------


def growth(rows: Sequence[Row]) -> altair.HConcatChart:
    """Draw the rounds that each method used against S + K and against S K, on log axes.

    Rows are runs: `contexts`, `arms`, `groups`, `epsilon`, `method` (one of `METHODS`), `rounds`
    and `loss`; a loss of None says that the rounds are known without a run, and draws a hollow
    point. Lines join the problems with S = K.
    """
    table = [sized(row) for row in rows]
    rounds = [row["rounds"] for row in table]
    losses = "; ".join(f"{method}: {_losses(table, method)}" for method in METHODS)
    hollow = " Hollow: not run, the method always takes this many rounds."
    by_sum = _growth_panel(table, "sum", "S + K (contexts plus arms)")
    by_product = _growth_panel(table, "product", "S × K (contexts times arms)", legends=True)
    chart: altair.HConcatChart = canvas.styled(
        canvas.altair()
        .hconcat(
            by_sum.properties(title="Algorithm 3 grows about in proportion to S + K"),
            by_product.properties(title="The naive method grows about in proportion to S × K"),
            spacing=40,
        )
        .resolve_scale(color="independent", shape="independent"),
        "Rounds grow with S + K when groups are learned, with S × K when they are ignored",
        [
            f"Whole runs at epsilon {table[0]['epsilon']:g} with {table[0]['groups']} hidden "
            f"groups. Loss of the policies, {losses}.",
            "The lines join problems with as many contexts as arms (S = K)."
            + (hollow if any(row["loss"] is None for row in table) else ""),
        ],
        "Two charts with logarithmic axes of the rounds that Algorithm 3 and the naive method "
        f"used, from {min(rounds):.1e} to {max(rounds):.1e}: against S + K, with which Algorithm 3 "
        "grows, and against S times K, with which the naive method grows.",
    )
    return chart


def sized(row: Row) -> dict[str, Any]:
    """Return a row with what the charts of growth need: S + K, S K, shape, run or known."""
    S, K = row["contexts"], row["arms"]
    shape = "S = K" if S == K else "S < K" if S < K else "S > K"
    known = "not run: known" if row["loss"] is None else "run"
    return {**row, "sum": S + K, "product": S * K, "shape": shape, "known": known}


def _losses(table: Sequence[Row], method: str) -> str:
    """Say in which range the losses of a method were."""
    losses = [row["loss"] for row in table if row["method"] == method and row["loss"] is not None]
    return f"{min(losses):.1g} to {max(losses):.1g}" if losses else "not run"


def _growth_panel(table: Sequence[Row], field: str, title: str, legends: bool = False) -> Any:
    """Draw the rounds against one measure of size."""
    alt = canvas.altair()
    legend = alt.Legend() if legends else None
    scale = alt.Scale(type="log", nice=False, padding=24)
    square = sorted({row[field] for row in table if row["shape"] == "S = K"})
    powers = alt.Axis(
        values=[10**power for power in range(19)],
        labelExpr="replace(format(datum.value, '.0e'), '+', '')",
    )
    colours = alt.Scale(domain=list(METHODS), range=list(METHODS.values()))
    shapes = {"S = K": "circle", "S < K": "triangle-right", "S > K": "triangle-up"}
    base = alt.Chart(canvas.data(table)).encode(
        x=alt.X(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(values=square, format=",")),
        y=alt.Y("rounds:Q", title="rounds used", scale=scale, axis=powers),
        color=alt.Color("method:N", title="method", scale=colours, legend=legend),
        tooltip=["method:N", "contexts:Q", "arms:Q", "rounds:Q", "loss:Q", "known:N"],
    )
    points = base.encode(
        shape=alt.Shape(
            "shape:N",
            title="problem",
            scale=alt.Scale(domain=list(shapes), range=list(shapes.values())),
            legend=legend,
        )
    )
    return alt.layer(
        base.transform_filter("datum.shape == 'S = K'").mark_line(strokeWidth=2),
        points.mark_point(size=100, filled=True, opacity=1),
        points.transform_filter("datum.known != 'run'").mark_point(
            size=100, fill="white", opacity=1, strokeWidth=2
        ),
    ).properties(width=PANEL, height=PANEL)
