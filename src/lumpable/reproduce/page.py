"""The page of `lumpable reproduce`: one HTML file that opens offline and needs no script.

Takes rows, measures nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lumpable.base.words import counted, duration
from lumpable.reports.kit.render import render
from lumpable.reproduce.record import FORMS, Form, Row
from lumpable.reproduce.verdicts import broken_verdict, pair, printed_verdict, repaired_verdict

TITLE = "The paper's claims, measured"
NAMES: dict[Form, str] = {"printed": "As printed", "repaired": "Repaired", "broken": "Broken"}
RELATIONS = {"<=": "at most", ">=": "at least"}


@dataclass(frozen=True, slots=True)
class About:
    """When, where and how a page was made."""

    command: str
    date: datetime
    cores: int
    jobs: int
    seconds: float


def page(rows: Sequence[Row], about: About) -> str:
    """Return the whole page."""
    return render(
        "claims.html", title=TITLE, facts=facts(rows, about), claims=[claim(row) for row in rows]
    )


def facts(rows: Sequence[Row], about: About) -> list[tuple[str, str]]:
    """Return what came out, and how the page was made."""
    good = sum(row.as_expected for row in rows)
    computed = duration(sum(row.seconds for row in rows))
    effort = "a quick look" if rows[0].quick else "the whole measurement"
    machine = f"{counted(about.jobs, 'worker')} on a machine with {counted(about.cores, 'core')}"
    return [
        ("Result", f"{good} of {len(rows)} claims came out as expected."),
        ("Package", f"lumpable {', '.join(sorted({row.version for row in rows}))}"),
        ("Command", f"`{about.command}`"),
        ("Effort", f"{effort}, {computed} of computing"),
        ("This run", f"{duration(about.seconds)}, {machine}"),
        ("Date", f"{about.date:%Y-%m-%d %H:%M %Z}"),
    ]


def claim(row: Row) -> dict[str, Any]:
    """Return what the page shows of a claim."""
    verdicts = (printed_verdict(row), repaired_verdict(row), broken_verdict(row))
    measured = f"over {counted(row.seeds, 'seed')} in {duration(row.seconds)}"
    return {
        "number": row.number,
        "title": row.title,
        "said": [
            (name, text)
            for name, text in (
                ("Printed", row.printed),
                ("Repaired", row.repaired),
                ("Broken variant", row.broken),
                ("Setting", row.setting),
                ("Measured", "" if row.error else measured),
            )
            if text
        ],
        "verdicts": verdicts,
        "seeds": "-" if row.error else f"{row.seeds:,}",
        "as_expected": row.as_expected,
        "error": row.error,
        "words": row.words,
        "forms": [
            {"key": form, "name": NAMES[form], "verdict": verdict, "checks": checks(row, form)}
            for form, verdict in zip(FORMS, verdicts, strict=True)
            if row.of(form)
        ],
        "picture": row.picture,
        "description": "" if row.figure is None else row.figure["description"],
    }


def checks(row: Row, form: Form) -> list[dict[str, Any]]:
    """Return the checks of one form, in words."""
    found = []
    for line in row.of(form):
        measured, bar = pair(line.measured, line.bar)
        relation = RELATIONS[line.relation]
        found.append(
            {"what": line.what, "measured": measured, "relation": relation, "bar": bar}
            | {"holds": line.holds}
        )
    return found
