"""The page of what a learner believes: one HTML file that opens offline and needs no script.

Takes rows and charts, computes nothing; what is not known is left out. Every picture stands in it
twice, for light and for dark; every name is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from lumpable.base import checks
from lumpable.base.errors import BadArgument
from lumpable.base.version import __version__
from lumpable.base.words import counted, number
from lumpable.lumps.belief import alternatives, beliefs, residuals, summary
from lumpable.lumps.belief.alternatives import Alternative
from lumpable.lumps.belief.beliefs import LEVEL, Group, Mean, Member, Names
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.reports import belief_charts, canvas, drawing, frame
from lumpable.reports.style import EXTRA

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
.picture svg { max-width: 100%; height: auto; }
table { width: auto; }
thead th { white-space: normal; max-width: 8rem; }
tbody th { min-width: 0; }
tr.believed > * { font-weight: 700; }
"""

READING = """\
<p>A <strong>group</strong> is a set of contexts whose arms have the same means, as far as rewards
tell. An <strong>interval</strong> of {level:g} % holds the truth with that probability if the model
is right; it is wide where rewards are few, members are doubtful, or one group more or less is about
as likely. <strong>Pulls</strong> count as much as they tell of the group: many rewards of one
context tell less than those of many. The <strong>deviation</strong> of a context is how far its
best arm lies from what its group would let one expect. Groups that share a good arm may stay one
for long: what is played does not tell them apart.</p>"""


def report(
    learner: ThreeLevels,
    path: str | Path,
    *,
    title: str = "What the learner believes",
    context_names: Names | None = None,
    arm_names: Names | None = None,
    contexts_known: int | None = None,
    level: float = LEVEL,
) -> Path:
    """Write a page with all that is believed: the sentence, tables and pictures; return its path.

    Parameters
    ----------
    contexts_known
        How many contexts there are, seen or not, if that is known.
    level
        Probability that an interval holds the truth.
    """
    path = Path(path)
    if path.suffix != ".html":
        raise BadArgument("path", "a name that ends in .html", repr(path.name))
    canvas.check(path)
    seen = learner.counts().contexts
    if contexts_known is not None:
        contexts_known = checks.whole("contexts_known", contexts_known, seen)
    arms = belief_charts.arm_labels(learner, arm_names)
    contexts = None if context_names is None else belief_charts.labels(context_names)
    told = _Told(
        learner,
        level,
        beliefs.groups(learner, level, arm_names=arms),
        beliefs.means(learner, level, arm_names=arms),
        beliefs.members(learner, context_names=contexts, arm_names=arms),
        beliefs.identified(learner),
    )
    figures = _figures(told, context_names, arm_names) if seen else {}
    path.write_text(_page(told, figures, title, contexts_known), encoding="utf-8")
    return path


class _Told(NamedTuple):
    """A learner and what it believes, as rows with names to show."""

    learner: ThreeLevels
    level: float
    groups: list[Group]
    arms: list[Mean]
    members: list[Member]
    identified: bool

    def mean(self, value: float, sign: str = "") -> str:
        """Write a mean with two decimals, or with more where all means are below 0.1."""
        largest = max(abs(row.mean) for row in self.groups)
        more = max(0, -1 - math.floor(math.log10(largest))) if largest > 0.0 else 0
        return _decimal(value, 2 + more, sign)

    def range(self, row: Group | Mean) -> str:
        """Write the interval of a mean."""
        return f"{self.mean(row.low)} to {self.mean(row.high)}"


def _page(told: _Told, figures: dict[str, str], title: str, contexts_known: int | None) -> str:
    said = escape(summary.summary(told.learner))
    sections = [("summary", "Summary", f'<p class="lead">{said}</p>\n{_check(told.learner)}')]
    if told.members:
        groups = _groups(told) + figures["sizes"] + figures.get("members", f"<p>{said}</p>")
        arms = "".join(_arms(told, g) for g in range(len(told.groups)))
        sections += [
            ("groups", "Groups", groups),
            ("arms", "Arms", figures["means"] + arms),
            ("contexts", "Contexts", figures.get("together", "") + _members(told)),
            ("evidence", "Other models", _evidence(alternatives.alternatives(told.learner))),
        ]
    sections.append(("reading", "How to read this", READING.format(level=100 * told.level)))
    body = "\n".join(
        f'<section aria-labelledby="{key}">\n<h2 id="{key}">{heading}</h2>\n{inside}\n</section>'
        for key, heading, inside in sections
    )
    head = f"<header>\n<h1>{escape(title)}</h1>\n{_facts(told, contexts_known)}\n</header>"
    return frame.styled(title, f"{head}\n<main>\n{body}\n</main>", EXTRA + STYLE)


def _facts(told: _Told, contexts_known: int | None) -> str:
    learner = told.learner
    known = "" if contexts_known is None else f" of {contexts_known:,}"
    allowed = int(learner.state.allowed.sum())
    retired = f", and {learner.arms - allowed:,} retired" if allowed < learner.arms else ""
    kind = ", real numbers" if learner.counts().real else ", all of them 0 or 1"
    pairs = [
        ("contexts", f"{len(told.members):,} seen{known}"),
        ("arms", f"{allowed:,}{retired}"),
        ("rewards", f"{learner.tells:,}{kind if learner.tells else ''}"),
        ("made", f"{datetime.now(UTC):%Y-%m-%d}, with lumpable {__version__}"),
    ]
    return frame.facts(pairs)


def _check(learner: ThreeLevels) -> str:
    """Say whether the model fits; figures come last."""
    check = residuals.residuals(learner)
    figures = ""
    if check.usual > 0.0:
        figures = (
            f" (were the model right, at least as much would be left over in "
            f"{number(100.0 * check.p_value, 2)} % of cases, <var>p</var> = "
            f"{number(check.p_value)}; it measures {_decimal(check.statistic)}, where "
            f"{_decimal(check.usual)} is usual)"
        )
    return f"<p>Check of the model: {escape(check.words)}{figures}.</p>"


def _figures(told: _Told, context_names: Names | None, arm_names: Names | None) -> dict[str, str]:
    """Return all pictures of what is known, by name."""
    learner, level, seen = told.learner, told.level, len(told.members)
    drawn = {
        "sizes": (
            belief_charts.sizes(learner, level),
            "Contexts in each group",
            "Bars: expected; lines: intervals.",
        ),
        "means": (
            belief_charts.means(learner, level, arm_names=arm_names),
            "Mean reward of each arm in each group",
            f"{_part(belief_charts.MOST_ARMS, learner.arms, 'arm')}: the best, then those with "
            "most pulls, then retired ones; faded where the interval is wide.",
        ),
    }
    if told.identified:
        drawn["members"] = (
            belief_charts.memberships(learner),
            "How sure memberships are",
            "The stronger the colour, the more contexts.",
        )
        drawn["together"] = (
            belief_charts.together(learner, context_names=context_names, most=MOST_DRAWN),
            "Who is together",
            f"{_part(MOST_DRAWN, seen, 'context')}: how likely any two are to be in one group.",
        )
    return {key: _figure(chart, key, *words) for key, (chart, *words) in drawn.items()}


def _part(most: int, all: int, thing: str) -> str:
    """Say how many of how many are shown.

    >>> _part(100, 2000, "context"), _part(100, 7, "arm")
    ('100 of 2,000 contexts', '7 of 7 arms')
    """
    return f"{min(most, all)} of {counted(all, thing)}"


def _figure(chart: Any, key: str, heading: str, words: str) -> str:
    """Return a picture in the colours of light and dark pages."""
    drawn = ""
    for scheme in ("light", "dark"):
        spec = belief_charts.themed(chart, scheme).to_dict()
        picture = frame.apart(drawing.svg(spec), f"{key}-{scheme}-")
        drawn += f'<div class="on-{scheme}">{frame.named(picture, spec["description"])}</div>\n'
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
    top = "".join(frame.head(escape(text), is_number) for text, is_number in heads)
    kinds = [' class="number"' if is_number else "" for _, is_number in heads]
    lines = []
    for kind, cells in rows:
        inside = f"<th scope='row'>{escape(cells[0])}</th>"
        for number_or_not, cell in zip(kinds[1:], cells[1:], strict=True):
            inside += f"<td{number_or_not}>{escape(cell)}</td>"
        lines.append(f"<tr class='{kind}'>{inside}</tr>")
    body = "\n".join(lines)
    table = f"<table><thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    return frame.scrolled(label, table)


def _decimal(value: float, places: int = 2, sign: str = "") -> str:
    """Write a number with so many decimals.

    >>> _decimal(-1234.567), _decimal(0.25, 3, "+")
    ('−1,234.57', '+0.250')
    """
    return f"{value:{sign},.{places}f}".replace("-", "−")


def _percent(probability: float) -> str:
    """Write a probability that was estimated, and never as certain.

    >>> _percent(0.62), _percent(0.9999), _percent(0.0)
    ('62 %', 'over 99 %', 'under 1 %')
    """
    if probability > 0.99:
        return "over 99 %"
    return f"{100 * probability:.0f} %" if probability >= 0.01 else "under 1 %"


def _groups(told: _Told) -> str:
    interval = f"{100 * told.level:g} % interval"
    heads = [
        ("group", False), ("size", True), (interval, True), ("share", True), ("best arm", False),
        ("probability that it is the best", True), ("mean of the best arm", True), (interval, True),
    ]  # fmt: skip
    cells = (
        ("", [
            str(row.group), _decimal(row.size), f"{row.size_low} to {row.size_high}",
            f"{100 * row.share:.0f} %", row.best_arm, _percent(row.probability_best),
            told.mean(row.mean), told.range(row),
        ])
        for row in told.groups
    )  # fmt: skip
    return _table("Groups", heads, cells)


def _arms(told: _Told, group: int) -> str:
    """Return a group's arms, the best first, folded away."""
    K = told.learner.arms
    own = sorted(told.arms[group * K : (group + 1) * K], key=lambda row: -row.mean)
    own = own[: belief_charts.MOST_ARMS]
    interval = f"{100 * told.level:g} % interval"
    heads = [("arm", False), ("pulls", True), ("mean", True), (interval, True)]
    cells = (
        ("", [row.arm, _decimal(row.pulls), told.mean(row.mean), told.range(row)]) for row in own
    )
    table = _table(f"Arms of group {group}", heads, cells)
    best = "" if len(own) == K else f", the best {len(own)} of {K:,}"
    return f"<details><summary>Arms of group {group}{best}</summary>{table}</details>\n"


def _members(told: _Told) -> str:
    """Return contexts, the least sure first if their groups are known, folded away."""
    known, seen = told.identified, len(told.members)
    rows = sorted(told.members, key=lambda row: row.probability or 0.0) if known else told.members
    heads = [
        ("context", False), *([("group", True), ("probability of the group", True)] * known),
        ("rewards", True), ("best arm", False), ("expected reward", True), ("deviation", True),
    ]  # fmt: skip
    cells = (
        ("", [
            str(row.context),
            *([str(row.group), _percent(row.probability or 0.0)] if known else []),
            f"{row.rewards:,}", row.best_arm, told.mean(row.expected_reward),
            told.mean(row.deviation, "+"),
        ])
        for row in rows[:MOST_MEMBERS]
    )  # fmt: skip
    words = _part(MOST_MEMBERS, seen, "context") + (", the least sure first" if known else "")
    return f"<details><summary>{words}</summary>{_table('Contexts', heads, cells)}</details>"


def _evidence(rows: Sequence[Alternative]) -> str:
    heads = [("model", False), ("log evidence", True), ("difference", True), ("odds", False)]
    cells = (
        ("believed" if row.believed else "", [
            row.model, _decimal(row.log_evidence),
            "" if row.believed else _decimal(row.difference, sign="+"), row.odds,
        ])
        for row in rows
    )  # fmt: skip
    return _table("Other models", heads, cells)
