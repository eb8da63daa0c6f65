"""The page of what a learner believes: one HTML file that opens offline and needs no script.

Takes rows and charts, computes nothing; what is not known is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from lumpable.base import checks
from lumpable.base.version import __version__
from lumpable.base.words import counted, plural
from lumpable.lumps.belief import alternatives, beliefs, looks, residuals, summary
from lumpable.lumps.belief.alternatives import Alternative
from lumpable.lumps.belief.beliefs import LEVEL, Group, Mean, Member, Names
from lumpable.lumps.belief.posterior import cache_answers, counts_now
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.reports.charts import belief_charts
from lumpable.reports.kit import canvas, save, theme
from lumpable.reports.kit.numbers import decimal, percent
from lumpable.reports.kit.render import render
from lumpable.reports.kit.svg import renumber_ids
from lumpable.reports.kit.table import Column, Table, of_rows

MOST_MEMBERS = 100
"""Contexts in the table of members: the least sure ones."""
MOST_DRAWN = 100
"""Contexts in the picture of who is together."""
MOST_CELLS = 300_000
"""Other models of larger tables than this are judged by a sample of their contexts."""


class Words(NamedTuple):
    """What to call a context, an arm, and the rewards of an arm as they were chosen."""

    who: str = "context"
    what: str = "arm"
    chosen: str = "pulls"


PLAIN = Words()


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """A learner and what it believes, as rows with names to show."""

    learner: ThreeLevels
    level: float
    groups: list[Group]
    arms: list[Mean]
    members: list[Member]
    identified: bool
    words: Words = PLAIN

    @property
    def interval(self) -> str:
        """What intervals are called in the head of a column."""
        return f"{100 * self.level:g} % interval"

    def mean(self, value: float, sign: str = "") -> str:
        """Write a mean with two decimals, or with more where all means are below 0.1."""
        largest = max(abs(row.mean) for row in self.groups)
        more = max(0, -1 - math.floor(math.log10(largest))) if largest > 0.0 else 0
        return decimal(value, 2 + more, sign)

    def range(self, row: Group | Mean) -> str:
        """Write the interval of a mean."""
        return f"{self.mean(row.low)} to {self.mean(row.high)}"


def report(
    learner: ThreeLevels,
    path: str | Path,
    *,
    title: str = "What the learner believes",
    context_names: Names | None = None,
    arm_names: Names | None = None,
    contexts_known: int | None = None,
    level: float = LEVEL,
    words: Words = PLAIN,
    log: Mapping[str, Any] | None = None,
) -> Path:
    """Write a page with all that is believed: the sentence, tables and pictures; return its path.

    Parameters
    ----------
    contexts_known
        How many contexts there are, seen or not, if that is known.
    level
        Probability that an interval holds the truth.
    words
        What the page calls contexts and arms.
    log
        What else a log says, for the part "What to do" (see `log_page`).
    """
    path = save.check(path, (".html",))
    with cache_answers(learner):
        seen = counts_now(learner).contexts
        if contexts_known is not None:
            contexts_known = checks.whole("contexts_known", contexts_known, seen)
        arms = belief_charts.arm_labels(learner, arm_names)
        contexts = None if context_names is None else belief_charts.unique_labels(context_names)
        rows = Beliefs(
            learner,
            level,
            beliefs.groups(learner, level, arm_names=arms),
            beliefs.means(learner, level, arm_names=arms),
            beliefs.members(learner, context_names=contexts, arm_names=arms),
            beliefs.identified(learner),
            words,
        )
        shown = {
            "title": title,
            "facts": facts(rows, contexts_known),
            "sentence": summary.summary(learner) if log is None else log["sentence"],
            "check": residuals.residuals(learner),
            "level": f"{100 * level:g} %",
            "seen": seen,
            "who": words.who,
            "what": words.what,
            "chosen": words.chosen,
            "log": log,
        }
        if seen:
            shown |= tables(rows)
            shown["pictures"] = pictures(rows, context_names, arm_names)
    save.page(render("beliefs.html", **shown), path)
    return path


def facts(rows: Beliefs, contexts_known: int | None) -> list[tuple[str, str]]:
    """Return what the page is of."""
    learner = rows.learner
    known = "" if contexts_known is None else f" of {contexts_known:,}"
    allowed = int(learner.state.allowed.sum())
    reading = looks.looks(learner).reading.replace("Contexts", plural(rows.words.who).capitalize())
    retired = f", and {learner.arms - allowed:,} retired" if allowed < learner.arms else ""
    return [
        (plural(rows.words.who), f"{len(rows.members):,} seen{known}"),
        (plural(rows.words.what), f"{allowed:,}{retired}"),
        ("rewards", f"{learner.tells:,}. {reading}"),
        ("made", f"{datetime.now(UTC):%Y-%m-%d}, with lumpable {__version__}"),
    ]


# --- Pictures -------------------------------------------------------------------------------------


def pictures(rows: Beliefs, context_names: Names | None, arm_names: Names | None) -> dict[str, str]:
    """Return all pictures as SVG, by name; those of memberships where groups are identified."""
    learner, level, who = rows.learner, rows.level, rows.words.who
    charts = {
        "sizes": belief_charts.sizes(learner, level, who=who),
        "means": belief_charts.means(learner, level, arm_names=arm_names, chosen=rows.words.chosen),
    }
    if rows.identified:
        charts["members"] = belief_charts.memberships(learner, who=who)
        charts["together"] = belief_charts.together(
            learner, context_names=context_names, most=MOST_DRAWN, who=who
        )
    drawn = {
        key: canvas.svg(belief_charts.in_scheme(chart, theme.PAGE).to_dict())
        for key, chart in charts.items()
    }
    return {key: renumber_ids(svg, f"{key}-") for key, svg in drawn.items()}


def part(most: int, all: int, thing: str) -> str:
    """Say how many of how many are shown.

    >>> part(100, 2000, "context"), part(100, 7, "arm")
    ('100 of 2,000 contexts', '7 of 7 arms')
    """
    return f"{min(most, all)} of {counted(all, thing)}"


# --- Tables ---------------------------------------------------------------------------------------


def tables(rows: Beliefs) -> dict[str, Any]:
    """Return all tables, by name, and how much tables and pictures show."""
    contexts, (who, what, _) = len(rows.members), rows.words
    return {
        "arms_drawn": part(belief_charts.MOST_ARMS, rows.learner.arms, what),
        "contexts_drawn": part(MOST_DRAWN, contexts, who),
        "members_shown": part(MOST_MEMBERS, contexts, who)
        + (", the least sure first" if rows.identified else ""),
        "groups": group_table(rows),
        "arms": [arm_table(rows, g) for g in range(len(rows.groups))],
        "members": member_table(rows),
        "evidence": evidence_table(rows),
    }


def group_table(rows: Beliefs) -> Table:
    """Return the groups: sizes, best arms and their means."""
    columns = [
        Column("group", lambda row: str(row.group), number=False),
        Column("size", lambda row: f"{row.size:,.0f}"),
        Column(rows.interval, lambda row: f"{row.size_low} to {row.size_high}"),
        Column("share", lambda row: f"{100 * row.share:.0f} %"),
        Column(f"best {rows.words.what}", attrgetter("best_arm"), number=False),
        Column("probability that it is the best", lambda row: percent(row.probability_best)),
        Column(f"mean of the best {rows.words.what}", lambda row: rows.mean(row.mean)),
        Column(rows.interval, rows.range),
    ]
    return of_rows("Groups", rows.groups, columns)


def arm_table(rows: Beliefs, group: int) -> Table:
    """Return a group's arms, the best first."""
    K = rows.learner.arms
    own = sorted(rows.arms[group * K : (group + 1) * K], key=lambda row: -row.mean)
    columns = [
        Column(rows.words.what, attrgetter("arm"), number=False),
        Column(rows.words.chosen, lambda row: f"{row.pulls:,.0f}"),
        Column("mean", lambda row: rows.mean(row.mean)),
        Column(rows.interval, rows.range),
    ]
    shown = own[: belief_charts.MOST_ARMS]
    best = f", the best {len(shown)} of {K:,}" if len(shown) < K else ""
    return of_rows(f"{plural(rows.words.what).capitalize()} of group {group}{best}", shown, columns)


def member_table(rows: Beliefs) -> Table:
    """Return contexts, the least sure first if their groups are known."""
    shown = rows.members
    columns = [
        Column(rows.words.who, lambda row: str(row.context), number=False),
        Column("group", lambda row: str(row.group)),
        Column("probability of the group", lambda row: percent(row.probability or 0.0)),
        Column("rewards", lambda row: f"{row.rewards:,}"),
        Column(f"best {rows.words.what}", attrgetter("best_arm"), number=False),
        Column("expected reward", lambda row: rows.mean(row.expected_reward)),
        Column("deviation", lambda row: rows.mean(row.deviation, "+")),
    ]
    if rows.identified:
        shown = sorted(shown, key=lambda row: row.probability or 0.0)
    else:
        del columns[1:3]
    return of_rows(plural(rows.words.who).capitalize(), shown[:MOST_MEMBERS], columns)


def evidence_table(rows: Beliefs) -> Table:
    """Return the models that were compared; the one that is believed stands out."""
    learner, who = rows.learner, rows.words.who
    models = alternatives.alternatives(learner, who, MOST_CELLS)
    judged, seen = alternatives.sample_size(learner, MOST_CELLS), len(rows.members)
    caption = "Other models"
    if judged < seen:
        caption += f", judged by {judged:,} of {counted(seen, who)}"

    def difference(row: Alternative) -> str:
        return "" if row.believed else decimal(row.difference, sign="+")

    columns = [
        Column("model", attrgetter("model"), number=False),
        Column("log evidence", lambda row: decimal(row.log_evidence)),
        Column("difference", difference),
        Column("odds", attrgetter("odds"), number=False),
    ]
    return of_rows(caption, models, columns, lambda row: "believed" * row.believed)
