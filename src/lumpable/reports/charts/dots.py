"""The dots of a comparison: the time per round, and the ratios of all worlds."""

from __future__ import annotations

import math

import numpy as np

from lumpable.comparisons.standing import Overall, Standing
from lumpable.reports.charts.figures import Figure
from lumpable.reports.kit.axes import ticks
from lumpable.reports.kit.numbers import memory, ratio, short_time


def times(standing: Standing, place: int) -> Figure | None:
    """Return the figure of the time that a round took."""
    taken = {i: standing.per_round(i) for i in standing.order}
    order = sorted((i for i in taken if taken[i] > 0), key=lambda i: taken[i])
    if not order:
        return None
    names = standing.world.learners
    dots = [
        {
            "learner": names[i],
            "look": standing.looks[i],
            "seconds": float(f"{taken[i]:.4g}"),
            "time": short_time(taken[i]),
            "memory": memory(standing.size(i)),
        }
        for i in order
    ]
    quick, slow = order[0], order[-1]
    return Figure(
        f"world-{place + 1}-time",
        "time",
        f"Time per round: {standing.world.name}",
        f"Time per round on a logarithmic axis, a dot for each of {len(order)} learners: from "
        f"{names[quick]} with {short_time(taken[quick])} to {names[slow]} with "
        f"{short_time(taken[slow])}.",
        _reach(taken[quick] / 1.5, taken[slow] * 1.5),
        {"dots": dots},
        18 * len(order),
        place,
    )


def _reach(first: float, last: float) -> dict[str, float | list[float]]:
    return {"first": first, "last": last, "across": ticks(first, last)}


def strip(overall: Overall) -> Figure | None:
    """Return the figure of all ratios: a line of dots for each learner, its mean marked."""
    names, worlds = overall.comparison.learners, overall.comparison.worlds
    good = np.isfinite(overall.ratio) & (overall.ratio > 0)
    order = [i for i in overall.order if good[i].any() and 0 < overall.mean[i] < math.inf]
    if not order:
        return None
    dots = [
        {"learner": names[i], "world": worlds[w].name, "ratio": float(f"{overall.ratio[i, w]:.4g}")}
        for i in order
        for w in range(len(worlds))
        if good[i, w]
    ]
    means = [
        {"learner": names[i], "what": "geometric mean", "ratio": float(f"{overall.mean[i]:.4g}")}
        for i in order
    ]
    seen = [float(x) for x in overall.ratio[good]]
    ends = "; ".join(f"{names[i]} {ratio(overall.mean[i])}" for i in order[:5])
    return Figure(
        "overall-ratios",
        "strip",
        "Regret relative to the best fair peer, in every world",
        f"A line of dots for each of {len(order)} learners, a dot for each world, on a logarithmic "
        f"axis of regret relative to the best fair peer. Geometric means: {ends}; the ratios go "
        f"from {ratio(min(seen))} to {ratio(max(seen))}.",
        _reach(min(seen) / 1.1, max(seen) * 1.1),
        {"dots": dots, "means": means},
        18 * len(order),
    )
