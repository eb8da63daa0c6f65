"""The panel of who is alike: the mean rewards as hidden, and sorted by the clusters found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lumpable.base.checks import IntVector
from lumpable.base.words import counted
from lumpable.reports import canvas, heat, matrix
from lumpable.reports.charts.captions import setting
from lumpable.reports.heat import Drawn
from lumpable.runs import questions
from lumpable.runs.run import Run

if TYPE_CHECKING:
    import altair


def sorted_matrix(run: Run) -> altair.HConcatChart:
    """Draw the mean rewards as hidden, and sorted by the clusters that were found.

    Where a plan forms no clusters, contexts that were given the same arm stand together.
    """
    if questions.final_clusters(run) is None:
        return matrix.matrix(run.world, run)
    shown = drawn(run)
    chart: altair.HConcatChart = canvas.styled(
        _pair(run, shown),
        "Who is alike, found from rewards alone",
        [setting(run), *heat.captions(run.world, shown, run.policy)],
        words(run),
    )
    return chart


def panel(run: Run) -> Any:
    """Draw the same as a part of a larger picture."""
    shown = drawn(run)
    title = {
        "text": "Who is alike, found from rewards alone",
        "subtitle": heat.captions(run.world, shown, run.policy),
        "fontSize": 14,
        "subtitleFontSize": 12,
        "anchor": "start",
        "offset": 12,
    }
    return _pair(run, shown).properties(title=title)


def drawn(run: Run) -> Drawn:
    """Choose what is shown: contexts cluster by cluster, the arms that are given first."""
    cluster = questions.final_clusters(run)
    if cluster is None:
        return matrix.drawn(run.world, run)
    return heat.arranged(run.world, run.policy, cluster, still_good(run))


def still_good(run: Run) -> IntVector:
    """Return the arms that are still good for some cluster, once some have fallen for all."""
    if not run.turns:
        return np.array([], dtype=np.int64)
    return np.flatnonzero(questions.clusters_of(run.turns[-1].belief)[1].any(axis=0))


def words(run: Run) -> str:
    """Describe the panel."""
    return (
        f"Two heat maps of the mean rewards of {run.world.contexts} contexts (rows) and "
        f"{run.world.arms} arms (columns): as hidden, and sorted so that contexts which were found "
        f"alike stand together, in {_clusters(run)}. The policy's loss is "
        f"{run.world.loss(run.policy):.2g}."
    )


def _pair(run: Run, shown: Drawn) -> Any:
    return heat.both(run.world, shown, run.policy, _clusters(run), questions.final_clusters(run))


def _clusters(run: Run) -> str:
    cluster = questions.final_clusters(run)
    return counted(len(np.unique(run.policy if cluster is None else cluster)), "cluster")
