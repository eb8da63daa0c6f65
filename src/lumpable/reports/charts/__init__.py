"""Pictures of a run: its regret, the clusters it found, which arms were dropped when, who is alike.

Chart functions take runs and return Altair charts; `kit.save.chart` writes them. The rows behind
each panel come from functions of their own, so that they can be checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lumpable.base.words import short
from lumpable.reports.charts import alike, cluster_counts, cost, drops
from lumpable.reports.charts.alike import sorted_matrix
from lumpable.reports.charts.captions import PANEL, label, setting
from lumpable.reports.charts.cluster_counts import clusters
from lumpable.reports.charts.cost import regret
from lumpable.reports.charts.drops import dropped_arms
from lumpable.reports.charts.scaling import growth
from lumpable.reports.kit import alt, canvas
from lumpable.runs import questions
from lumpable.runs.run import Run

if TYPE_CHECKING:
    import altair

__all__ = ["clusters", "dropped_arms", "growth", "regret", "run", "sorted_matrix"]


def run(run: Run) -> altair.VConcatChart:
    """Draw all that applies to a run: what it cost, what it found and when, who is alike."""
    name = label(run)
    said = [cost.words({name: run})]
    if cluster_counts.any_clusters(run):
        rows = [alt.hconcat(cost.panel({name: run}), cluster_counts.panel(run), spacing=60)]
        said.append(cluster_counts.words(run))
    else:
        rows = [cost.panel({name: run}, width=2 * PANEL + 60)]
    if questions.latest(run):
        rows.append(drops.panel(run))
        said.append(drops.words(run))
    rows.append(alike.panel(run))
    said.append(alike.words(run))
    chart: altair.VConcatChart = canvas.with_title(
        alt.vconcat(*rows, spacing=50).resolve_scale(
            color="independent", shape="independent", strokeDash="independent"
        ),
        f"{name}: {run.regret / max(1, run.rounds):.3g} of reward lost per round "
        f"in {short(run.rounds)} rounds",
        [setting(run), *(f"Note: {note}." for note in run.notes)],
        " ".join(said),
    )
    return chart
