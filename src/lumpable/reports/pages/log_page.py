"""The page of what a log teaches: that of what is believed, and what to do about it.

Takes rows and computes nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lumpable.base.words import between, counted, figure, plural
from lumpable.lumps.belief.posterior import cache_answers
from lumpable.reports.kit.numbers import percent
from lumpable.reports.kit.table import Column, Table, of_rows
from lumpable.reports.pages import belief_page
from lumpable.reports.pages.belief_page import Words
from lumpable.tables.answered import Answered, answer
from lumpable.tables.dirt import short
from lumpable.tables.judged_policies import Value
from lumpable.tables.learned import LEVEL, Learned

MOST_ROWS = 100
"""Rows of the policy on the page: those that are open first."""
INTERVAL = f"{100 * LEVEL:g} % interval"


def report(learned: Learned, path: str | Path) -> Path:
    """Write a page of all that a log answers; return its path."""
    with cache_answers(learned.lumps.core):
        return write(answer(learned), path)


def write(found: Answered, path: str | Path) -> Path:
    """Write the page of what was answered."""
    lumps, words = found.learned.lumps, Words(*found.words, "events")
    return belief_page.report(
        lumps.core, path, title=f"What works for which {words.who}", context_names=lumps.contexts,
        arm_names=lumps.arms, contexts_known=len(lumps.contexts), level=LEVEL, words=words,
        log=parts(found, words),
    )  # fmt: skip


def parts(found: Answered, words: Words) -> dict[str, Any]:
    """Return what the page shows beside what is believed."""
    dirt, value = found.learned.events.dirt, found.value
    return {
        "sentence": f"Are there groups of {plural(words.who)}? {found.sentence}",
        "dirt_words": dirt.words,
        "dirt": dirt_table(found) if dirt.faults else None,
        "notes": dirt.notes,
        "lift": found.lift_words,
        "value": None if value is None else value_table(value),
        "value_notes": (found.unsaid,) if value is None else value.notes,
        "next_steps": found.next_steps,
        "policy": policy_table(found, words),
        "profiles": profile_lines(found, words),
    }


def dirt_table(found: Answered) -> Table:
    """Return what was wrong with the log."""
    columns = [
        Column("fault", lambda row: row.fault, number=False),
        Column("rows", lambda row: f"{row.rows:,}"),
        Column("example", lambda row: short(row.example) if row.example else "", number=False),
        Column("first at", lambda row: ", ".join(row.places), number=False),
    ]
    return of_rows("Rows that cannot count", found.learned.events.dirt.faults, columns)


def value_table(value: Value) -> Table:
    """Return off-policy values and lifts, method by method."""
    columns = [
        Column("method", lambda row: row[0].method, number=False),
        Column("value per event", lambda row: figure(row[0].value)),
        Column(INTERVAL, lambda row: _range(row[0])),
        Column("over one for all", lambda row: "" if row[1] is None else figure(row[1].value)),
        Column(INTERVAL, lambda row: "" if row[1] is None else _range(row[1])),
    ]
    rows = [*zip(value.estimates, value.lift, strict=True), (value.logged, None)]
    return of_rows(f"What {value.policy} would have earned, off-policy", rows, columns)


def policy_table(found: Answered, words: Words) -> Table:
    """Return what to give to whom, those that are open first."""
    rows = sorted(found.policy, key=lambda row: not row.open)[:MOST_ROWS]
    columns = [
        Column(words.who, lambda row: str(row.user), number=False),
        Column(f"best {words.what}", lambda row: str(row.item), number=False),
        Column("mean", lambda row: figure(row.mean)),
        Column(INTERVAL, _range),
        Column("probability that it is the best", lambda row: percent(row.probability_best)),
        Column("runner-up", lambda row: _name(row.runner_up), number=False),
        Column("what to do", lambda row: row.do, number=False),
    ]
    part = f"{len(rows):,} of {counted(len(found.policy), words.who)}"
    return of_rows(f"Policy, {part}", rows, columns)


def profile_lines(found: Answered, words: Words) -> list[str]:
    """Return a sentence or two on each group: its best items, and those that set it apart."""
    lines = []
    for profile in found.profiles:
        top = ", ".join(f"{row.arm} ({figure(row.mean)})" for row in profile.top)
        apart = ", ".join(
            f"{one.item} ({figure(one.mean)}, elsewhere {figure(one.others)})"
            for one in profile.apart
        )
        own = f" What sets it apart: {apart}." if apart else ""
        lines.append(f"Group {profile.group}: the best {plural(words.what)} are {top}.{own}")
    return lines


def _range(row: Any) -> str:
    return between(row.low, row.high)


def _name(name: object) -> str:
    return "" if name is None else str(name)
