"""From what was measured to a row: judged, worded and drawn. Measures nothing."""

from __future__ import annotations

import os
import traceback
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.reports.kit import canvas, theme
from lumpable.reports.kit.svg import renumber_ids
from lumpable.reproduce import record
from lumpable.reproduce.claim import Claim
from lumpable.reproduce.record import Kept, Row


def conclude(claim: Claim, kept: Kept) -> Row:
    """Judge, word and draw what was measured; an error becomes part of the row."""
    try:
        verdict = claim.judge(kept.measured)
        words = claim.word(kept.measured, verdict)
        chart = None if claim.draw is None else claim.draw(kept.measured)
        figure = None if chart is None else chart.to_dict()
        picture = "" if figure is None else draw(figure, f"figure-{claim.number}-")
        return record.row(claim, kept, verdict, words, figure=figure, picture=picture)
    except Exception as error:
        return record.error_row(claim, describe(error), **kept.about())


def draw(figure: dict[str, Any], prefix: str) -> str:
    """Return a Vega-Lite specification as SVG in the colours of a page, with ids of its own."""
    if not figure.get("description"):
        raise BadArgument("figure", why="expected a description for those who cannot see it")
    return renumber_ids(canvas.svg({**figure, "config": theme.config(theme.PAGE)}), prefix)


def describe(error: Exception) -> str:
    """Say what went wrong, and where."""
    first = (str(error).splitlines() or [""])[0]
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {first} ({os.path.basename(at.filename)}, line {at.lineno})"
