"""Tables of Markdown that read well as plain text too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an aligned Markdown table."""
    cells = [list(columns), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "| " + " | ".join(map(str.ljust, row, widths)) + " |"
        for row in (cells[0], ["-" * width for width in widths], *cells[1:])
    ]
    return "\n".join(lines)
