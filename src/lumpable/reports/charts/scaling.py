"""How the rounds grow with the size of a problem: with groups learned, and with groups ignored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lumpable.reports.charts.captions import PANEL
from lumpable.reports.kit import alt, axes, canvas, theme
from lumpable.reports.kit.canvas import Row

if TYPE_CHECKING:
    import altair

METHODS = {"Algorithm 3": theme.BLUE, "naive method": theme.VERMILLION}


def growth(rows: Sequence[Row]) -> altair.HConcatChart:
    """Draw the rounds that each method used against S + K and against S K, on log axes.

    Rows are runs: `contexts`, `arms`, `groups`, `epsilon`, `method` (one of `METHODS`), `rounds`
    and `loss`; a loss of None says that the rounds are known without a run, and draws a hollow
    point. Lines join the problems with S = K.
    """
    table = [with_size(row) for row in rows]
    rounds = [row["rounds"] for row in table]
    losses = "; ".join(f"{method}: {_losses(table, method)}" for method in METHODS)
    hollow = " Hollow: not run, the method always takes this many rounds."
    by_sum = _growth_panel(table, "sum", "S + K (contexts plus arms)")
    by_product = _growth_panel(table, "product", "S × K (contexts times arms)", legends=True)
    chart: altair.HConcatChart = canvas.with_title(
        alt.hconcat(
            by_sum.properties(title="Algorithm 3 grows about in proportion to S + K"),
            by_product.properties(title="The naive method grows about in proportion to S × K"),
            spacing=40,
        ).resolve_scale(color="independent", shape="independent"),
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


def with_size(row: Row) -> dict[str, Any]:
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
    legend = alt.Legend() if legends else None
    scale = axes.log_scale(padding=24)
    square = sorted({row[field] for row in table if row["shape"] == "S = K"})
    up = axes.numbers(axes.ticks_of([row["rounds"] for row in table]))
    colours = alt.Scale(domain=list(METHODS), range=list(METHODS.values()))
    shapes = {"S = K": "circle", "S < K": "triangle-right", "S > K": "triangle-up"}
    base = alt.Chart(canvas.data(table)).encode(
        x=alt.X(f"{field}:Q", title=title, scale=scale, axis=axes.numbers(square)),
        y=alt.Y("rounds:Q", title="rounds used", scale=scale, axis=up),
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
