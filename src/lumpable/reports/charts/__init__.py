"""Pictures of a run: its regret, the clusters it found, which arms were dropped when, who is alike.

Chart functions take runs and return Altair charts; `kit.save.chart` writes them. The rows behind
each panel come from functions of their own, so that they can be checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lumpable.base.errors import BadArgument
from lumpable.base.words import short
from lumpable.reports.charts import alike, cluster_counts, cost, drops
from lumpable.reports.charts.captions import PANEL, label, setting
from lumpable.reports.charts.scaling import growth
from lumpable.reports.kit import alt, canvas
from lumpable.runs import questions
from lumpable.runs.run import Run

if TYPE_CHECKING:
    import altair

__all__ = ["clusters", "dropped_arms", "growth", "regret", "run", "sorted_matrix"]


def regret(runs: Run | Mapping[str, Run]) -> altair.LayerChart:
    """Draw regret against rounds on log axes, for one run or for several with labels.

    Thin lines are the rates of the theorems, where all runs are of one problem.
    """
    named = {label(runs): runs} if isinstance(runs, Run) else dict(runs)
    chart: altair.LayerChart = canvas.with_title(
        cost.panel(named), "What learning cost", [cost.caption(named)], cost.words(named)
    )
    return chart


def clusters(run: Run) -> altair.VConcatChart:
    """Draw how many clusters there were in each phase, and how many arms were good for them.

    Of plans side by side: by bucket, at the end.
    """
    if not cluster_counts.any_clusters(run):
        raise BadArgument("run", "one that forms clusters", f"{run.plan}")
    chart: altair.VConcatChart = canvas.with_title(
        cluster_counts.panel(run),
        "Who was told apart, and what is still good for them",
        [setting(run)],
        cluster_counts.words(run),
    )
    return chart


def dropped_arms(run: Run) -> altair.FacetChart:
    """Draw for each cluster when each arm was dropped, by how much it is worse than the best."""
    if not questions.latest(run):
        raise BadArgument("run", "one that forms clusters", f"{run.plan}")
    chart: altair.FacetChart = canvas.with_title(
        drops.panel(run), "When each arm was dropped", [setting(run)], drops.words(run)
    )
    return chart


def sorted_matrix(run: Run) -> altair.HConcatChart:
    """Draw the mean rewards as hidden, and sorted by the clusters that were found.

    Rows are contexts, columns are arms, the strip on the left shows the hidden groups. The arm that
    a cluster is given is framed. Where a plan forms no clusters, contexts that were given the same
    arm stand together.
    """
    subtitle = [setting(run), *alike.captions(run)]
    chart: altair.HConcatChart = canvas.with_title(
        alike.pair(run), alike.TITLE, subtitle, alike.words(run)
    )
    return chart


def run(run: Run) -> altair.VConcatChart:
    """Draw all that applies to a run: what it cost, what it found and when, who is alike."""
    name = label(run)
    words = [cost.words({name: run})]
    if cluster_counts.any_clusters(run):
        rows = [alt.hconcat(cost.panel({name: run}), cluster_counts.panel(run), spacing=60)]
        words.append(cluster_counts.words(run))
    else:
        rows = [cost.panel({name: run}, width=2 * PANEL + 60)]
    if questions.latest(run):
        rows.append(drops.panel(run))
        words.append(drops.words(run))
    subtitle = alike.captions(run)
    rows.append(alike.pair(run).properties(title={"text": alike.TITLE, "subtitle": subtitle}))
    words.append(alike.words(run))
    chart: altair.VConcatChart = canvas.with_title(
        alt.vconcat(*rows, spacing=50).resolve_scale(
            color="independent", shape="independent", strokeDash="independent"
        ),
        f"{name}: {run.regret / max(1, run.rounds):.3g} of reward lost per round "
        f"in {short(run.rounds)} rounds",
        [setting(run), *(f"Note: {note}." for note in run.notes)],
        " ".join(words),
    )
    return chart
