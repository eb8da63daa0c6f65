"""Pictures of what a learner believes: group means, memberships, sizes, who is together.

Each takes a learner and returns an Altair chart with its description; `in_scheme` gives it the
colours of a page or of paper. The rows behind each come from a function of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from lumpable.base.arrays import IntVector
from lumpable.base.words import counted, distinct, number, plural
from lumpable.lumps.belief import beliefs
from lumpable.lumps.belief.beliefs import LEVEL, Mean, Names
from lumpable.lumps.belief.posterior import counts_now, posterior_now
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.reports.kit import alt, axes, theme

Row = dict[str, Any]

MOST_ARMS = 40
LONGEST = 18, 40
"""Characters of a name beside a picture, and at most of one that would look like another."""
UNSEEN = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
"""Characters that an SVG cannot hold, or that show nothing."""
WIDTH = 640
SHADES = 10
"""Steps of the probability to be together."""
FAINTEST = 0.12
BINS = 10
INTERVALS = [f"{b / BINS:.1f} to {(b + 1) / BINS:.1f}" for b in range(BINS)]
"""Of the probability of the likeliest group."""


def in_scheme(chart: Any, scheme: theme.Scheme) -> Any:
    """Give a chart the colours of a scheme."""
    padding = {"left": 8, "top": 8, "right": 8, "bottom": 20}
    return chart.properties(config=theme.silent(scheme), padding=padding)


# --- What things are called -----------------------------------------------------------------------


def unique_labels(names: Names) -> list[str]:
    """Return names as text, in quotes where two would look alike or one cannot be shown.

    >>> unique_labels([1, "1", "ann", ""])
    ['1', "'1'", 'ann', "''"]
    """
    texts = [str(name) for name in names]
    many = Counter(texts)
    return [
        repr(name) if many[text] > 1 or UNSEEN.search(text) or not text.strip() else text
        for name, text in zip(names, texts, strict=True)
    ]


def arm_labels(learner: ThreeLevels, names: Names | None, *, short: bool = False) -> list[str]:
    """Return what arms are called on a page; those that are not allowed say that they retired."""
    text = unique_labels(range(learner.arms) if names is None else names)
    marks = ("" if allowed else " (retired)" for allowed in learner.state.allowed)
    shown = distinct(text, *LONGEST) if short else text
    return [name + mark for name, mark in zip(shown, marks, strict=False)]  # `beliefs` counts names


# --- Pictures -------------------------------------------------------------------------------------


def _chart(rows: list[Row]) -> Any:
    return alt.Chart(alt.Data(values=rows))


def _by_group(rows: list[Row], groups: int) -> Any:
    """Return a chart with a line for each group."""
    down = alt.Y("group:N", sort=None, title=None, axis=axes.rows())
    return _chart(rows).encode(y=down).properties(width=WIDTH, height=max(60, 26 * groups))


def means(
    learner: ThreeLevels, level: float = LEVEL, *, arm_names: Names | None = None,
    chosen: str = "pulls",
) -> Any:  # fmt: skip
    """Draw the mean of each arm (columns) in each group (rows), uncertain ones faded.

    Best arms of groups come first, then those with most pulls, at most 40; retired ones are last.
    """
    names = arm_labels(learner, arm_names)
    cells = mean_rows(learner, level, names)
    shown = sorted({(cell["place"], cell["column"]) for cell in cells})
    short = arm_labels(learner, arm_names, short=True)
    cell = _by_group(cells, len(cells) // len(shown)).mark_rect()
    return cell.encode(
        x=alt.X("place:O", title=" ", axis=axes.columns([short[j] for _, j in shown], WIDTH)),
        color=alt.Color("mean:Q", title="mean", scale=alt.Scale(range="heatmap")),
        opacity=alt.Opacity("sure:Q", scale=None, legend=None),
        tooltip=[
            "group:N",
            "arm:N",
            "mean:Q",
            "interval:N",
            alt.Tooltip("pulls:Q", title=chosen),
        ],
    ).properties(description=_describe_means(learner, level, names, len(shown)))


def mean_rows(learner: ThreeLevels, level: float, names: Names) -> list[Row]:
    """Return a row for each cell: the mean, its interval, and how sure it is, from 0.12 to 1."""
    rows = beliefs.means(learner, level, arm_names=names)
    widest = max(row.high - row.low for row in rows) if counts_now(learner).real else 1.0
    groups = [rows[k : k + learner.arms] for k in range(0, len(rows), learner.arms)]
    shown = _arms_shown(rows, learner)
    return [
        {
            "group": _group(row.group), "arm": row.arm, "column": j, "place": place,
            "mean": row.mean, "interval": f"{number(row.low)} to {number(row.high)}",
            "pulls": round(row.pulls, 1),
            "sure": 1.0 - (1.0 - FAINTEST) * (row.high - row.low) / max(widest, 1e-300),
        }
        for own in groups
        for place, j in enumerate(shown)
        for row in (own[j],)
    ]  # fmt: skip


def _arms_shown(rows: list[Mean], learner: ThreeLevels) -> list[int]:
    """Return the arms to draw: the best of each group, then by pulls, then those that retired."""
    allowed, shape = learner.state.allowed, (-1, learner.arms)
    mean = np.array([row.mean for row in rows]).reshape(shape)
    pulls = np.array([row.pulls for row in rows]).reshape(shape).sum(axis=0)
    best = np.where(allowed, mean, -np.inf).argmax(axis=1)
    order = [*best.tolist(), *np.lexsort((-pulls, ~allowed)).tolist()]
    return list(dict.fromkeys(order))[:MOST_ARMS]


def _group(g: int) -> str:
    return f"group {g}"


def _describe_means(learner: ThreeLevels, level: float, names: Names, shown: int) -> str:
    best = "; ".join(
        f"group {row.group}: {row.best_arm} with {number(row.mean)}"
        for row in beliefs.groups(learner, level, arm_names=names)
    )
    return (
        f"A heat map of the mean rewards of {shown} of {counted(learner.arms, 'arm')} in each "
        f"group; the wider the {100 * level:g} % interval, the more faded. Best arms: {best}."
    )


def sizes(learner: ThreeLevels, level: float = LEVEL, *, who: str = "context") -> Any:
    """Draw the number of contexts in each group, with its interval; `who` is what to call one."""
    rows = size_rows(learner, level)
    base = _by_group(rows, len(rows))
    interval = base.mark_rule(strokeWidth=2).encode(x="size_low:Q", x2="size_high:Q")
    bars = base.mark_bar(height=14).encode(
        x=alt.X("size:Q", title=plural(who), axis=axes.counts()),
        tooltip=["group:N", "size:Q", "size_low:Q", "size_high:Q"],
    )
    ends = "; ".join(
        f"{row['group']}: {number(row['size'])}, {row['size_low']} to {row['size_high']}"
        for row in rows
    )
    words = f"{plural(who).capitalize()} in each group, with {100 * level:g} % intervals. {ends}."
    return alt.layer(bars, interval).properties(description=words)


def size_rows(learner: ThreeLevels, level: float = LEVEL) -> list[Row]:
    """Return a row for each group: its size and the interval of that."""
    keys = ("size", "size_low", "size_high")
    return [
        {"group": _group(row.group), **{key: getattr(row, key) for key in keys}}
        for row in beliefs.groups(learner, level)
    ]


def memberships(learner: ThreeLevels, *, who: str = "context") -> Any:
    """Draw how sure memberships are: contexts by the probability of their likeliest group."""
    rows = membership_rows(learner)
    sure = posterior_now(learner).member.max(axis=1)
    least = min([BINS // 2, *(INTERVALS.index(row["probability"]) for row in rows)])  # for scale
    firm = int((sure >= 1.0 - 1.0 / BINS).sum())
    faded = alt.Opacity(
        "contexts:Q", legend=None, scale=alt.Scale(type="sqrt", domainMin=0, range=[0, 1])
    )
    boxes = _by_group(rows, len({row["group"] for row in rows})).mark_rect()
    return boxes.encode(
        x=alt.X(
            "probability:O",
            title="probability of the likeliest group",
            scale=alt.Scale(domain=INTERVALS[least:]),
            axis=alt.Axis(labelAngle=0, ticks=False),
        ),
        opacity=faded,
        tooltip=["group:N", "probability:O", "contexts:Q"],
    ).properties(
        description=(
            f"{plural(who).capitalize()} of each group by the probability of their likeliest "
            f"group: {firm} of {counted(len(sure), who)} have at least {1.0 - 1.0 / BINS:g}."
        ),
    )


def membership_rows(learner: ThreeLevels) -> list[Row]:
    """Return how many contexts of each group have a probability in each interval, if any."""
    member = posterior_now(learner).member
    label, sure = np.argmax(member, axis=1), member.max(axis=1)
    rows: list[Row] = []
    for g in range(member.shape[1]):
        inside = np.minimum((sure[label == g] * BINS).astype(np.int64), BINS - 1)
        rows += [
            {"group": _group(g), "probability": interval, "contexts": int(many)}
            for interval, many in zip(INTERVALS, np.bincount(inside, minlength=BINS), strict=True)
            if many
        ]
    return rows


def together(
    learner: ThreeLevels, *, context_names: Names | None = None, most: int, who: str = "context"
) -> Any:
    """Draw how likely any two contexts are to be in one group, sorted by group.

    At most `most` contexts, evenly spaced. Neighbours of the same shade are one mark.
    """
    seen = posterior_now(learner)
    order = np.lexsort((-seen.member.max(axis=1), np.argmax(seen.member, axis=1)))
    shown = seen.counts.context[axes.evenly(order, most)]
    names = unique_labels(
        [context_names[c] if context_names is not None else int(c) for c in shown]
    )
    side = {"type": "linear", "domain": [0, max(1, len(shown))], "nice": False}
    axis = {"title": f"{plural(who)}, sorted by group", "axis": axes.bare()}
    probability = beliefs.together(learner, shown[:, None], shown[None, :])
    sure = float(((probability < 0.1) | (probability > 0.9)).mean()) if len(shown) else 1.0
    faded = alt.Opacity(
        "together:Q",
        title="together",
        scale=alt.Scale(domain=[0, 1], range=[0, 1]),
        legend=alt.Legend(symbolType="square", symbolSize=200),
    )
    boxes = _chart(list(_boxes(np.rint(probability * SHADES), names))).mark_rect(stroke=None)
    return boxes.encode(
        x=alt.X("left:Q", scale=alt.Scale(**side), **axis),
        x2="right:Q",
        y=alt.Y("top:Q", scale=alt.Scale(**side, reverse=True), **axis),
        y2="bottom:Q",
        opacity=faded,
        tooltip=["context:N", "with:N", "together:Q"],
    ).properties(
        width=360,
        height=360,
        description=(
            f"How likely any two of {counted(len(shown), who)} are to be in one group, "
            f"of {counted(seen.counts.contexts, who)} seen, sorted by group. "
            f"{100 * sure:.0f} % of the pairs are sure: below 0.1 or above 0.9."
        ),
    )


def _boxes(shade: IntVector | Any, names: list[str]) -> Iterator[Row]:
    """Yield the marks of a matrix of shades; neighbours in a row of the same shade are one."""
    for y, row in enumerate(shade):
        x = 0
        for value, run in groupby(row):
            right = x + sum(1 for _ in run)
            if value > 0:
                other = names[x] if right == x + 1 else f"{names[x]} .. {names[right - 1]}"
                yield {
                    "left": x, "right": right, "top": y, "bottom": y + 1,
                    "together": value / SHADES, "context": names[y], "with": other,
                }  # fmt: skip
            x = right
