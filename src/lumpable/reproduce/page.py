"""The page of `lumpable reproduce`: one HTML file that opens offline and needs no script.

Takes rows, measures nothing. Every word that comes from elsewhere is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape

from lumpable.base.words import counted, duration
from lumpable.reports import frame
from lumpable.reproduce.record import FORMS, Form, Line, Row
from lumpable.reproduce.verdicts import (
    broken_verdict,
    pair,
    printed_verdict,
    repaired_verdict,
    words,
)

TITLE = "The paper's claims, measured"
PAPER = (
    "Chung-Wei Lee, Qinghua Liu, Yasin Abbasi-Yadkori, Chi Jin, Tor Lattimore and Csaba "
    "Szepesvári: <cite>Context-lumpable stochastic bandits</cite>. Advances in Neural Information "
    "Processing Systems 36, 2023."
)
READING = """\
<p>Each claim is measured in up to three forms. <strong>Printed</strong>: as it stands in the
paper. <strong>Repaired</strong>: where the printed form asks for a correction, the corrected one.
<strong>Broken</strong>: a variant that is wrong on purpose; its checks must fail, for a check that
cannot fail says nothing.</p>
<p>A form holds when all of its checks do. The bars were fixed in the code before anything was
measured. A claim is <em>as expected</em> when the printed form holds exactly where the
package says that it does, the repaired form (if there is one) holds, and the broken variant
is caught.</p>"""
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
    body = f"""\
<header>
<h1>{TITLE}</h1>
{_introduction(rows, about)}
</header>
{_contents(rows)}
<main>
<section aria-labelledby="summary">
<h2 id="summary">Summary</h2>
{_summary(rows)}
</section>
<section aria-labelledby="reading">
<h2 id="reading">How to read this</h2>
{READING}
</section>
<section aria-labelledby="claims">
<h2 id="claims">The claims</h2>
{"".join(map(_section, rows))}</section>
</main>"""
    return frame.styled(TITLE, body)


# --- The head -------------------------------------------------------------------------------


def _introduction(rows: Sequence[Row], about: About) -> str:
    good = sum(row.as_expected for row in rows)
    computed = duration(sum(row.seconds for row in rows))
    version = ", ".join(sorted({row.version for row in rows}))
    effort = "a quick look" if rows[0].quick else "the whole measurement"
    facts = (
        ("Result", f"{good} of {len(rows)} claims came out as expected."),
        ("Package", f"lumpable {escape(version)}"),
        ("Command", f"<code>{escape(about.command)}</code>"),
        ("Effort", f"{effort}, {computed} of computing"),
        ("This run", f"{duration(about.seconds)}, {_machine(about)}"),
        ("Date", f"{about.date:%Y-%m-%d %H:%M %Z}"),
    )
    return f"""\
<p>What a program can check of the paper below: for every claim what the paper says, what was
measured, and whether it holds.</p>
<p class="paper">{PAPER}</p>
{frame.facts(facts)}"""


def _machine(about: About) -> str:
    return f"{counted(about.jobs, 'worker')} on a machine with {counted(about.cores, 'core')}"


def _contents(rows: Iterable[Row]) -> str:
    links = "\n".join(
        f'<li><a href="#claim-{row.number}" title="{escape(row.title)}">'
        f'<span class="unseen">Claim </span>{row.number}</a></li>'
        for row in rows
    )
    return f"""\
<nav aria-label="Contents">
<ul>
<li><a href="#summary">Summary</a></li>
<li><a href="#reading">How to read this</a></li>
<li><a href="#claims">The claims</a></li>
</ul>
<ol>
{links}
</ol>
</nav>"""


def _summary(rows: Iterable[Row]) -> str:
    lines = "\n".join(map(_summary_line, rows))
    heads = ("No.", "Claim", "Printed", "Repaired", "Broken variant", "Seeds", "As expected")
    head = _head(heads, numbers=("No.", "Seeds"))
    return frame.scrolled(
        "Summary",
        f"""\
<table class="summary">
<thead><tr>{head}</tr></thead>
<tbody>
{lines}
</tbody>
</table>""",
    )


def _summary_line(row: Row) -> str:
    expected = "yes" if row.as_expected else "no"
    cells = (printed_verdict(row), repaired_verdict(row), broken_verdict(row))
    verdicts = "".join(f"<td>{_mark(cell)}</td>" for cell in cells)
    return (
        f'<tr><td class="number">{row.number}</td>'
        f'<th scope="row"><a href="#claim-{row.number}">{words(row.title)}</a></th>{verdicts}'
        f'<td class="number">{"-" if row.error else f"{row.seeds:,}"}</td>'
        f"<td>{_mark(expected)}</td></tr>"
    )


def _head(names: Iterable[str], numbers: Sequence[str]) -> str:
    return "".join(frame.head(name, name in numbers) for name in names)


def _mark(verdict: str) -> str:
    """Mark a verdict with a class of its own; the words alone say it all."""
    return f'<span class="{verdict.replace(" ", "-").strip("-")}">{verdict}</span>'


# --- A claim --------------------------------------------------------------------------------


def _section(row: Row) -> str:
    parts = [
        f'<article id="claim-{row.number}" aria-labelledby="title-{row.number}">',
        f'<h3 id="title-{row.number}">{row.number}. {words(row.title)}</h3>',
        _said(row),
    ]
    if row.error:
        parts.append(f'<p class="error">Could not be measured: {escape(row.error)}</p>')
    else:
        parts += [_checks(row), f'<p class="takeaway">{words(row.words)}</p>' * bool(row.words)]
        parts.append(_figure(row))
    parts.append('<p class="back"><a href="#summary">Back to the summary</a></p>')
    return "\n".join(part for part in (*parts, "</article>") if part) + "\n"


def _said(row: Row) -> str:
    texts = (
        ("Printed", words(row.printed)),
        ("Repaired", words(row.repaired)),
        ("Broken variant", words(row.broken)),
        ("Setting", words(row.setting)),
        ("Measured", "" if row.error else _effort(row)),
    )
    return frame.facts((name, text) for name, text in texts if text)


def _effort(row: Row) -> str:
    return f"over {counted(row.seeds, 'seed')} in {duration(row.seconds)}"


def _checks(row: Row) -> str:
    heads = ("Check", "Measured", "Must be", "Bar", "Holds")
    head = _head(heads, numbers=("Measured", "Bar"))
    bodies = "\n".join(_form(row, form) for form in FORMS if row.of(form))
    return frame.scrolled(
        f"Checks of claim {row.number}",
        f'<table class="checks">\n<thead><tr>{head}</tr></thead>\n{bodies}\n</table>',
    )


def _form(row: Row, form: Form) -> str:
    verdict = {
        "printed": printed_verdict(row),
        "repaired": repaired_verdict(row),
        "broken": broken_verdict(row),
    }[form]
    lines = "\n".join(map(_check, row.of(form)))
    return f"""\
<tbody class="{form}">
<tr><th colspan="5" scope="rowgroup">{NAMES[form]}: {_mark(verdict)}</th></tr>
{lines}
</tbody>"""


def _check(line: Line) -> str:
    measured, bar = pair(line.measured, line.bar)
    return (
        f'<tr><th scope="row">{words(line.what)}</th><td class="number">{measured}</td>'
        f'<td>{RELATIONS[line.relation]}</td><td class="number">{bar}</td>'
        f"<td>{'yes' if line.holds else 'no'}</td></tr>"
    )


def _figure(row: Row) -> str:
    if row.figure is None:
        return ""
    description = row.figure["description"]
    picture = frame.named(frame.apart(row.picture, f"figure-{row.number}-"), description)
    scroll = f'role="group" aria-label="Figure of claim {row.number}" tabindex="0"'
    return f"""\
<figure>
<div class="picture" {scroll}>{picture}</div>
<figcaption>{escape(description)}</figcaption>
</figure>"""
