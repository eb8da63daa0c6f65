"""Pictures: the reward matrix as hidden and as found, and how the rounds grow with the problem.

Chart functions take values and return Altair charts; `save` writes them. Colours are told apart by
colour-blind people too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lumpable.base.words import counted
from lumpable.reports import canvas, heat
from lumpable.reports.canvas import Row, save
from lumpable.reports.heat import PANEL, Drawn
from lumpable.runs.run import Run
from lumpable.worlds.world import World

if TYPE_CHECKING:
    import altair

__all__ = ["growth", "matrix", "save"]

METHODS = {"Algorithm 3": "#0072B2", "naive method": "#D55E00"}


# --- The matrix -----------------------------------------------------------------------------


def drawn(world: World, run: Run) -> Drawn:
    """Sort contexts by the arm that they are given; that arm stands for their cluster."""
    candidates = () if run.result is None else run.result.candidates
    return heat.arranged(world, run.policy, run.policy, np.array(candidates, dtype=np.int64))


def matrix(world: World, run: Run) -> altair.HConcatChart:
    """Draw the mean rewards twice: as hidden, and sorted by what a run found.

    Rows are contexts, columns are arms, the strip on the left shows the hidden groups. As found,
    contexts that were given the same arm stand together, and their cells of that arm are framed.
    """
    shown = drawn(world, run)
    clusters = counted(len(np.unique(run.policy)), "cluster")
    chart: altair.HConcatChart = canvas.styled(
        heat.both(world, shown, run.policy, clusters),
        "Who is alike, found from rewards alone",
        heat.captions(world, shown, run.policy),
        f"Two heat maps of the mean rewards of {world.contexts} contexts (rows) and {world.arms} "
        "arms (columns). Left: as hidden, contexts in their own order. Right: sorted by the "
        f"policy that was found, so that contexts with the same arm stand together, in {clusters}. "
        f"The policy's loss is {world.loss(run.policy):.2g}.",
    )
    return chart


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
