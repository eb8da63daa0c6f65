"""The page of `lumpable reproduce`: one HTML file that opens offline and needs no script.

Takes rows, measures nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from lumpable.base.words import counted, duration
from lumpable.reports.kit.render import render
from lumpable.reproduce.record import Row
from lumpable.reproduce.verdicts import pair, verdicts

TITLE = "The paper's claims, measured"
NAMES = {"printed": "As printed", "repaired": "Repaired", "broken": "Broken"}
"""Of the forms, in the order of `verdicts`."""
RELATIONS = {"<=": "at most", ">=": "at least"}


def page(
    rows: Sequence[Row], *, command: str, date: datetime, cores: int, jobs: int, seconds: float
) -> str:
    """Return the whole page; the rest says when, where and how it was made."""
    good = sum(row.as_expected for row in rows)
    effort = "a quick look" if rows[0].quick else "the whole measurement"
    computed = duration(sum(row.seconds for row in rows))
    machine = f"{counted(jobs, 'worker')} on a machine with {counted(cores, 'core')}"
    facts = [
        ("Result", f"{good} of {len(rows)} claims came out as expected."),
        ("Package", f"lumpable {', '.join(sorted({row.version for row in rows}))}"),
        ("Command", f"`{command}`"),
        ("Effort", f"{effort}, {computed} of computing"),
        ("This run", f"{duration(seconds)}, {machine}"),
        ("Date", f"{date:%Y-%m-%d %H:%M %Z}"),
    ]
    return render(
        "claims.html",
        title=TITLE,
        facts=facts,
        rows=rows,
        forms=NAMES,
        relations=RELATIONS,
        claim_facts=claim_facts,
        verdicts=verdicts,
        pair=pair,
    )


def claim_facts(row: Row) -> list[tuple[str, str]]:
    """Return what a claim says, and how it was measured; empty facts are left out."""
    measured = f"over {counted(row.seeds, 'seed')} in {duration(row.seconds)}"
    facts = [
        ("Printed", row.printed),
        ("Repaired", row.repaired),
        ("Broken variant", row.broken),
        ("Setting", row.setting),
        ("Measured", "" if row.error else measured),
    ]
    return [(name, text) for name, text in facts if text]
