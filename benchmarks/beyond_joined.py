"""Ratios of candidates to the standard algorithm at all sizes: one table from three pages.

    python benchmarks/beyond_joined.py

Reads the pages that `beyond.py` wrote and puts the table into docs/explanation/beyond.md. Runs
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import click
from beyond_page import crossing
from page_tables import table
from protocol import frozen
from protocol.ratios import Ratio

PAGES = tuple(
    frozen.ROOT / "docs" / "measured" / f"{name}.md"
    for name in ("beyond", "beyond-large", "beyond-largest")
)
LETTER = frozen.ROOT / "docs" / "explanation" / "beyond.md"
GROUPS = ("2", "8")
SIZES = ("300", "600", "1,000", "2,500", "5,000")
BEGIN = "### All sizes in one table\n"

Row = tuple[str, str, str]
"""Groups, world and form of candidates."""


def ratios(page: str) -> dict[Row, dict[str, str]]:
    """Return the ratios of a page by row, and by S = K, as they are printed."""
    _, _, after = page.partition("## Against the standard algorithm\n")
    lines = [line for line in after.partition("\n## ")[0].splitlines() if line.startswith("|")]
    heads, _, *rows = [[word.strip() for word in line.strip("|").split("|")] for line in lines]
    sizes = {at: head[8:] for at, head in enumerate(heads) if head.startswith("S = K = ")}
    return {
        (row[0], row[1], row[2]): {size: row[at] for at, size in sizes.items() if row[at]}
        for row in rows
    }


def joined(pages: Iterable[str]) -> str:
    """Return the table; a figure that no page has is an error."""
    found: dict[Row, dict[str, str]] = {}
    for page in pages:
        for row, more in ratios(page).items():
            found.setdefault(row, {}).update(more)
    rows = []
    for row in (row for row in found if row[0] in GROUPS):
        said = {size: found[row][size] for size in SIZES}
        numbers = {int(size.replace(",", "")): _ratio(words) for size, words in said.items()}
        rows.append([*row, *said.values(), crossing(numbers)])
    return table(["r", "world", "form", *SIZES, "crossing"], rows)


def _ratio(words: str) -> Ratio:
    value, error = map(float, re.findall(r"\d+\.\d+", words))
    return Ratio(value, error)


def with_table(letter: str, made: str) -> str:
    """Return the page with this table in the place of the one that it has."""
    before, begin, after = letter.partition(BEGIN)
    if not begin:
        raise click.ClickException(f"{LETTER.name} has no heading {BEGIN.strip()!r}")
    return before + begin + re.sub(r"(?m)(^\|.*\n)+", lambda old: f"{made}\n", after, count=1)


def main() -> None:
    """Write the table into the page."""
    made = joined(page.read_text() for page in PAGES)
    LETTER.write_text(with_table(LETTER.read_text(), made))


if __name__ == "__main__":
    main()
