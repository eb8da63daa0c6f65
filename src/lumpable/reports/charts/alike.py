"""Who is alike: the mean rewards as hidden, and sorted by the clusters that a run found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lumpable.base.checks import IntVector
from lumpable.base.words import counted
from lumpable.reports.charts.captions import setting
from lumpable.reports.kit import canvas, matrix
from lumpable.reports.kit.matrix import Drawn
from lumpable.runs import questions
from lumpable.runs.run import Run

if TYPE_CHECKING:
    import altair

TITLE = "Who is alike, found from rewards alone"


def sorted_matrix(run: Run) -> altair.HConcatChart:
    """Draw the mean rewards as hidden, and sorted by the clusters that were found.

    Rows are contexts, columns are arms, the strip on the left shows the hidden groups. The arm that
    a cluster is given is framed. Where a plan forms no clusters, contexts that were given the same
    arm stand together.
    """
    shown = choose(run)
    chart: altair.HConcatChart = canvas.with_title(
        _pair(run, shown),
        TITLE,
        [setting(run), *matrix.captions(run.world, shown, run.policy)],
        words(run),
    )
    return chart


def panel(run: Run) -> Any:
    """Draw the same as a part of a larger picture."""
    shown = choose(run)
    title = {"text": TITLE, "subtitle": matrix.captions(run.world, shown, run.policy)}
    return _pair(run, shown).properties(title={**title, "fontSize": 15, "subtitleFontSize": 12})


def choose(run: Run) -> Drawn:
    """Choose what is shown: contexts cluster by cluster, the arms that are given first."""
    return matrix.choose(run.world, run.policy, cluster_of(run), good_arms(run))


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


def words(run: Run) -> str:
    """Describe the panel."""
    return (
        f"Two heat maps of the mean rewards of {run.world.contexts} contexts (rows) and "
        f"{run.world.arms} arms (columns): as hidden, and sorted so that contexts which were found "
        f"alike stand together, in {_clusters(run)}. The policy's loss is "
        f"{run.world.loss(run.policy):.2g}."
    )


def _pair(run: Run, shown: Drawn) -> Any:
    return matrix.side_by_side(
        run.world, shown, run.policy, _clusters(run), questions.final_clusters(run)
    )


def _clusters(run: Run) -> str:
    return counted(len(np.unique(cluster_of(run))), "cluster")
