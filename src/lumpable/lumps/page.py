"""The page of what a learner believes: one HTML file that opens offline and needs no script.

Takes rows and charts, computes nothing. Every picture stands in it twice, for light and for dark;
every name is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from lumpable import canvas, pages
from lumpable.comparison import drawing
from lumpable.comparison.style import EXTRA
from lumpable.lumps import beliefs, left_over, odds, pictures
from lumpable.lumps.beliefs import LEVEL, Names, Row
from lumpable.lumps.levels import ThreeLevels
from lumpable.wording import counted, number

MOST_MEMBERS = 100
"""Contexts in the table of members: the least sure ones."""
MOST_DRAWN = 100
"""Contexts in the picture of who is together."""
STYLE = """
.on-dark { display: none; }
@media screen and (prefers-color-scheme: dark) {
  .on-light { display: none; }
  .on-dark { display: block; }
}
.picture rect, .picture .mark-rect path { shape-rendering: crispEdges; }
@media screen { .picture svg { max-width: none; } }
table { width: auto; }
tbody th { min-width: 0; }
tr.believed > * { font-weight: 700; }
"""

READING = """\
<p>A <strong>group</strong> is a set of contexts whose arms have the same means, as far as rewards
tell. An <strong>interval</strong> of {level:g} % holds the truth with that probability if the model
is right; it is wide where rewards are few or members are doubtful. <strong>Pulls</strong> count as
much as they tell of the group: many rewards of one context tell less than those of many. The
<strong>deviation</strong> of a context is how far its best arm lies from what its group would let
one expect. Groups whose best arm is the same may stay one for long: a learner has no reason to tell
them apart.</p>"""


def report(
    learner: ThreeLevels,
    path: str | Path,
    *,
    title: str = "What the learner believes",
    context_names: Names | None = None,
    arm_names: Names | None = None,
    level: float = LEVEL,
) -> Path:
    """Write a page with all that is believed: the sentence, tables and pictures; return its path.

    Parameters
    ----------
    level
        Probability that an interval holds the truth.
    """
    path = Path(path)
    if path.suffix != ".html":
        raise ValueError(f"path: expected a name that ends in .html, got {path.name!r}")
    canvas.check(path)
    names = {"context_names": context_names, "arm_names": arm_names}
    text = page(learner, title, names, level)
    path.write_text(text, encoding="utf-8")
    return path


def page(learner: ThreeLevels, title: str, names: Mapping[str, Names | None], level: float) -> str:
    """Return the whole page."""
    context_names, arm_names = names["context_names"], names["arm_names"]
    groups = beliefs.groups(learner, level, arm_names=arm_names)
    members = beliefs.members(learner, context_names=context_names, arm_names=arm_names)
    arms = beliefs.arms(learner, level, arm_names=arm_names)
    check = left_over.residuals(learner)
    figures = _figures(learner, level, context_names, arm_names)
    body = f"""\
<header>
<h1>{escape(title)}</h1>
{_facts(learner, members)}
</header>
<main>
<section aria-labelledby="summary">
<h2 id="summary">Summary</h2>
<p class="lead">{escape(odds.summary(learner))}</p>
<p>Check of the model: {escape(check["words"])} (<var>p</var> = {number(check["p_value"])}; \
{number(check["statistic"])}, where {number(check["usual"])} is usual).</p>
</section>
<section aria-labelledby="groups">
<h2 id="groups">Groups</h2>
{_groups(groups, level)}
{figures["sizes"]}
{figures["members"]}
</section>
<section aria-labelledby="arms">
<h2 id="arms">Arms</h2>
{figures["means"]}
{"".join(_arms(g, arms, learner.arms) for g in range(len(groups)))}
</section>
<section aria-labelledby="contexts">
<h2 id="contexts">Contexts</h2>
{figures["together"]}
{_members(members)}
</section>
<section aria-labelledby="evidence">
<h2 id="evidence">Other models</h2>
{_evidence(odds.evidence(learner))}
</section>
<section aria-labelledby="reading">
<h2 id="reading">How to read this</h2>
{READING.format(level=100 * level)}
</section>
</main>"""
    return pages.styled(title, body, EXTRA + STYLE)


def _facts(learner: ThreeLevels, members: Sequence[Row]) -> str:
    pairs = [
        ("contexts", f"{len(members):,} seen of {learner.contexts:,}"),
        ("arms", f"{learner.arms:,}"),
        ("rewards", f"{learner.tells:,}"),
    ]
    return pages.facts(pairs)


def _figures(
    learner: ThreeLevels, level: float, context_names: Names | None, arm_names: Names | None
) -> dict[str, str]:
    """Return all pictures, by name."""
    drawn = {
        "sizes": (
            pictures.sizes(learner, level),
            "Contexts in each group",
            "Bars: expected; lines: intervals.",
        ),
        "members": (
            pictures.memberships(learner),
            "How sure memberships are",
            "The stronger the colour, the more contexts.",
        ),
        "means": (
            pictures.means(learner, level, arm_names=arm_names),
            "Mean reward of each arm in each group",
            "Best arms first, then those with most pulls; faded where the interval is wide.",
        ),
        "together": (
            pictures.together(learner, context_names=context_names, most=MOST_DRAWN),
            "Who is together",
            "How likely any two contexts are to be in one group.",
        ),
    }
    return {key: _figure(chart, key, *words) for key, (chart, *words) in drawn.items()}


def _figure(chart: Any, key: str, heading: str, words: str) -> str:
    """Return a picture in the colours of light and dark pages."""
    drawn = ""
    for scheme in ("light", "dark"):
        spec = pictures.themed(chart, scheme).to_dict()
        picture = pages.apart(drawing.svg(spec), f"{key}-{scheme}-")
        drawn += f'<div class="on-{scheme}">{pages.named(picture, spec["description"])}</div>\n'
    return f"""\
<figure>
<h4>{escape(heading)}</h4>
<div class="picture" id="picture-{key}" role="region" aria-label="{escape(heading)}" tabindex="0">
{drawn}</div>
<figcaption>{escape(words)}</figcaption>
</figure>"""


# --- Tables ---------------------------------------------------------------------------------------


def _table(
    label: str, heads: Sequence[tuple[str, bool]], rows: Iterable[tuple[str, Sequence[str]]]
) -> str:
    """Return a table; heads say whether a column holds numbers, rows bring a class of their own."""
    top = "".join(pages.head(escape(text), is_number) for text, is_number in heads)
    kinds = [' class="number"' if is_number else "" for _, is_number in heads]
    lines = []
    for kind, cells in rows:
        inside = f"<th scope='row'>{escape(cells[0])}</th>"
        for number_or_not, cell in zip(kinds[1:], cells[1:], strict=True):
            inside += f"<td{number_or_not}>{escape(cell)}</td>"
        lines.append(f"<tr class='{kind}'>{inside}</tr>")
    body = "\n".join(lines)
    table = f"<table><thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    return pages.scrolled(label, table)


def _range(low: float, high: float) -> str:
    return f"{number(low)} to {number(high)}"


def _percent(probability: float) -> str:
    """Write a probability that was estimated, and never as certain.

    >>> _percent(0.62), _percent(0.9999), _percent(0.0)
    ('62 %', 'over 99 %', 'under 1 %')
    """
    if probability > 0.99:
        return "over 99 %"
    return f"{100 * probability:.0f} %" if probability >= 0.01 else "under 1 %"


def _groups(rows: Sequence[Row], level: float) -> str:
    interval = f"{100 * level:g} % interval"
    heads = [
        ("group", False), ("contexts", True), (interval, True), ("share", True),
        ("best arm", False), ("is the best", True), ("its mean", True), (interval, True),
    ]  # fmt: skip
    cells = (
        ("", [
            str(row["group"]), f"{row['size']:.1f}", f"{row['size_low']} to {row['size_high']}",
            f"{100 * row['share']:.0f} %", str(row["best_arm"]), _percent(row["probability_best"]),
            number(row["mean"]), _range(row["low"], row["high"]),
        ])
        for row in rows
    )  # fmt: skip
    return _table("Groups", heads, cells)


def _arms(group: int, rows: Sequence[Row], arms: int) -> str:
    """Return a group's arms, the best first, folded away."""
    own = sorted(rows[group * arms : (group + 1) * arms], key=lambda row: -float(row["mean"]))
    own = own[: pictures.MOST_ARMS]
    heads = [("arm", False), ("pulls", True), ("mean", True), ("interval", True)]
    cells = (
        ("", [
            str(row["arm"]), f"{row['pulls']:,.1f}", number(row["mean"]),
            _range(row["low"], row["high"]),
        ])
        for row in own
    )  # fmt: skip
    table = _table(f"Arms of group {group}", heads, cells)
    best = "" if len(own) == arms else f", the best {len(own)}"
    return f"<details><summary>Arms of group {group}{best}</summary>{table}</details>\n"


def _members(rows: Sequence[Row]) -> str:
    order = np.argsort([row["probability"] for row in rows], kind="stable")[:MOST_MEMBERS]
    heads = [
        ("context", False), ("group", True), ("probability", True), ("rewards", True),
        ("best arm", False), ("expected", True), ("deviation", True),
    ]  # fmt: skip
    cells = (
        ("", [
            str(row["context"]), str(row["group"]), _percent(row["probability"]),
            f"{row['rewards']:,}", str(row["best_arm"]), number(row["expected_reward"]),
            f"{row['deviation']:+.3f}".replace("-", "−"),
        ])
        for row in (rows[k] for k in order)
    )  # fmt: skip
    words = f"{counted(len(order), 'context')}, the least sure first"
    return f"<details><summary>{words}</summary>{_table('Contexts', heads, cells)}</details>"


def _evidence(rows: Sequence[Row]) -> str:
    if not rows:
        return "<p>Nothing was seen yet.</p>"
    heads = [("model", False), ("log evidence", True), ("difference", True), ("odds", False)]
    cells = (
        ("believed" if row["believed"] else "", [
            row["model"], f"{row['log_evidence']:,.1f}".replace("-", "−"),
            "" if row["believed"] else f"{row['difference']:+,.1f}".replace("-", "−"), row["odds"],
        ])
        for row in rows
    )  # fmt: skip
    return _table("Other models", heads, cells)
