"""The page of what a learner believes: one HTML file that opens offline and needs no script.

Takes rows and charts, computes nothing; what is not known is left out. Every picture stands in it
twice, for light and for dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lumpable.base import checks
from lumpable.base.version import __version__
from lumpable.base.words import counted
from lumpable.lumps import beliefs, left_over, odds
from lumpable.lumps.beliefs import LEVEL, Names, Row
from lumpable.lumps.levels import ThreeLevels
from lumpable.reports.charts import belief_charts
from lumpable.reports.kit import canvas, save
from lumpable.reports.kit.numbers import decimal, percent
from lumpable.reports.kit.render import render
from lumpable.reports.kit.svg import prefix_ids
from lumpable.reports.kit.table import Cell, Line, Table, figure

MOST_MEMBERS = 100
"""Contexts in the table of members: the least sure ones."""
MOST_DRAWN = 100
"""Contexts in the picture of who is together."""


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """A learner and what it believes, as rows with names to show."""

    learner: ThreeLevels
    level: float
    groups: list[Row]
    arms: list[Row]
    members: list[Row]
    identified: bool

    @property
    def interval(self) -> str:
        """What intervals are called in the head of a column."""
        return f"{100 * self.level:g} % interval"

    def mean(self, value: float, sign: str = "") -> str:
        """Write a mean with two decimals, or with more where all means are below 0.1."""
        largest = max(abs(row["mean"]) for row in self.groups)
        more = max(0, -1 - math.floor(math.log10(largest))) if largest > 0.0 else 0
        return decimal(value, 2 + more, sign)

    def range(self, row: Row) -> str:
        """Write the interval of a mean."""
        return f"{self.mean(row['low'])} to {self.mean(row['high'])}"


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
    path = save.check(path, (".html",))
    seen = learner.counts().contexts
    if contexts_known is not None:
        contexts_known = checks.whole("contexts_known", contexts_known, seen)
    arms = belief_charts.arm_labels(learner, arm_names)
    contexts = None if context_names is None else belief_charts.unique_labels(context_names)
    rows = Beliefs(
        learner,
        level,
        beliefs.groups(learner, level, arm_names=arms),
        beliefs.arms(learner, level, arm_names=arms),
        beliefs.members(learner, context_names=contexts, arm_names=arms),
        beliefs.identified(learner),
    )
    found = {
        "title": title,
        "facts": facts(rows, contexts_known),
        "sentence": odds.summary(learner),
        "check": left_over.residuals(learner),
        "level": f"{100 * level:g} %",
        "seen": seen,
    }
    if seen:
        found |= tables(rows)
        found["pictures"] = pictures(rows, context_names, arm_names)
    save.page(render("beliefs.html", **found), path)
    return path


def facts(rows: Beliefs, contexts_known: int | None) -> list[tuple[str, str]]:
    """Return what the page is of."""
    learner = rows.learner
    known = "" if contexts_known is None else f" of {contexts_known:,}"
    allowed = int(learner.state.allowed.sum())
    retired = f", and {learner.arms - allowed:,} retired" if allowed < learner.arms else ""
    kind = ", real numbers" if learner.counts().real else ", all of them 0 or 1"
    return [
        ("contexts", f"{len(rows.members):,} seen{known}"),
        ("arms", f"{allowed:,}{retired}"),
        ("rewards", f"{learner.tells:,}{kind if learner.tells else ''}"),
        ("made", f"{datetime.now(UTC):%Y-%m-%d}, with lumpable {__version__}"),
    ]


# --- Pictures -------------------------------------------------------------------------------------


def pictures(
    rows: Beliefs, context_names: Names | None, arm_names: Names | None
) -> dict[str, dict[str, str] | None]:
    """Return all pictures, by name; None where groups are not identified."""
    learner, level = rows.learner, rows.level
    members = together = None
    if rows.identified:
        members = picture(
            "members",
            belief_charts.memberships(learner),
            "How sure memberships are",
            "The stronger the colour, the more contexts.",
        )
        together = picture(
            "together",
            belief_charts.together(learner, context_names=context_names, most=MOST_DRAWN),
            "Who is together",
            f"{part(MOST_DRAWN, len(rows.members), 'context')}: how likely any two are to be in "
            "one group.",
        )
    sizes = picture(
        "sizes",
        belief_charts.sizes(learner, level),
        "Contexts in each group",
        "Bars: expected; lines: intervals.",
    )
    means = picture(
        "means",
        belief_charts.means(learner, level, arm_names=arm_names),
        "Mean reward of each arm in each group",
        f"{part(belief_charts.MOST_ARMS, learner.arms, 'arm')}: the best, then those with most "
        "pulls, then retired ones; faded where the interval is wide.",
    )
    return {"sizes": sizes, "members": members, "means": means, "together": together}


def picture(key: str, chart: Any, heading: str, words: str) -> dict[str, str]:
    """Draw a chart in the colours of light and dark pages."""
    drawn = {
        scheme: prefix_ids(
            canvas.svg(belief_charts.themed(chart, scheme).to_dict()), f"{key}-{scheme}-"
        )
        for scheme in ("light", "dark")
    }
    return {"key": key, "heading": heading, "words": words, **drawn}


def part(most: int, all: int, thing: str) -> str:
    """Say how many of how many are shown.

    >>> part(100, 2000, "context"), part(100, 7, "arm")
    ('100 of 2,000 contexts', '7 of 7 arms')
    """
    return f"{min(most, all)} of {counted(all, thing)}"


# --- Tables ---------------------------------------------------------------------------------------


def tables(rows: Beliefs) -> dict[str, Any]:
    """Return all tables, by name, and how many contexts are in theirs."""
    shown = part(MOST_MEMBERS, len(rows.members), "context")
    return {
        "groups": group_table(rows),
        "arms": [arm_table(rows, g) for g in range(len(rows.groups))],
        "members": member_table(rows),
        "members_shown": shown + (", the least sure first" if rows.identified else ""),
        "evidence": evidence_table(odds.evidence(rows.learner)),
    }


def group_table(rows: Beliefs) -> Table:
    """Return the groups: sizes, best arms and their means."""
    heads = [
        Cell("group"), figure("size"), figure(rows.interval), figure("share"), Cell("best arm"),
        figure("probability that it is the best"), figure("mean of the best arm"),
        figure(rows.interval),
    ]  # fmt: skip
    lines = [
        Line([
            Cell(str(row["group"])), figure(decimal(row["size"])),
            figure(f"{row['size_low']} to {row['size_high']}"), figure(f"{100 * row['share']:.0f} %"),
            Cell(row["best_arm"]), figure(percent(row["probability_best"])),
            figure(rows.mean(row["mean"])), figure(rows.range(row)),
        ])
        for row in rows.groups
    ]  # fmt: skip
    return Table("Groups", heads, lines)


def arm_table(rows: Beliefs, group: int) -> Table:
    """Return a group's arms, the best first."""
    K = rows.learner.arms
    own = sorted(rows.arms[group * K : (group + 1) * K], key=lambda row: -float(row["mean"]))
    own = own[: belief_charts.MOST_ARMS]
    heads = [Cell("arm"), figure("pulls"), figure("mean"), figure(rows.interval)]
    lines = [
        Line([
            Cell(row["arm"]), figure(decimal(row["pulls"])), figure(rows.mean(row["mean"])),
            figure(rows.range(row)),
        ])
        for row in own
    ]  # fmt: skip
    best = "" if len(own) == K else f", the best {len(own)} of {K:,}"
    return Table(f"Arms of group {group}{best}", heads, lines)


def member_table(rows: Beliefs) -> Table:
    """Return contexts, the least sure first if their groups are known."""
    known, shown = rows.identified, rows.members
    if known:
        shown = sorted(shown, key=lambda row: float(row["probability"]))
    heads = [
        Cell("context"), *([figure("group"), figure("probability of the group")] * known),
        figure("rewards"), Cell("best arm"), figure("expected reward"), figure("deviation"),
    ]  # fmt: skip
    lines = [
        Line([
            Cell(str(row["context"])),
            *([figure(str(row["group"])), figure(percent(row["probability"]))] if known else []),
            figure(f"{row['rewards']:,}"), Cell(row["best_arm"]),
            figure(rows.mean(row["expected_reward"])), figure(rows.mean(row["deviation"], "+")),
        ])
        for row in shown[:MOST_MEMBERS]
    ]  # fmt: skip
    return Table("Contexts", heads, lines)


def evidence_table(rows: Sequence[Row]) -> Table:
    """Return the models that were compared; the one that is believed stands out."""
    heads = [Cell("model"), figure("log evidence"), figure("difference"), Cell("odds")]
    lines = [
        Line([
            Cell(row["model"]), figure(decimal(row["log_evidence"])),
            figure("" if row["believed"] else decimal(row["difference"], sign="+")),
            Cell(row["odds"]),
        ], "believed" if row["believed"] else "")
        for row in rows
    ]  # fmt: skip
    return Table("Other models", heads, lines)
