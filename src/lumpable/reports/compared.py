"""The report of a comparison: rows in, one page out that opens offline; or pictures for a paper.

`report` writes the page, `pictures` a PNG for each world and picture, `summary_html` a short
table with a picture for a notebook. All take rows as they are: a path, a frame, or dictionaries.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from lumpable.cli.bars import Advance
from lumpable.comparisons.results import gathered, read
from lumpable.comparisons.standing import Overall, stand
from lumpable.reports import comparison_page as _page
from lumpable.reports import drawing, frame, notebook
from lumpable.reports import figures as _figures
from lumpable.reports.figures import Figure, Series

__all__ = ["pictures", "read", "report", "summary_html"]

TITLE = "Learners compared"


def report(rows: object, path: str | Path, *, title: str = TITLE) -> None:
    """Write the page of a comparison.

    Parameters
    ----------
    rows
        A path to a Parquet file of rows (the parts of an unfinished run are found beside it), a
        frame, or an iterable of mappings; the columns are those of `lumpable.experiment.rows`.
    path
        The HTML file that is written.
    """
    overall = stand(gathered(rows))
    drawn, figures = _drawn(overall)
    text = _page.page(overall, drawn, figures, title, datetime.now(UTC), drawing.script())
    Path(path).write_text(text, encoding="utf-8")


def pictures(
    rows: object, folder: str | Path, *, progress: Advance = lambda done, total, words: None
) -> list[Path]:
    """Write every picture of a comparison as PNG into a folder; return the files.

    Parameters
    ----------
    rows
        As for `report`.
    folder
        Made where there is none; each file is written as soon as it is drawn.
    progress
        Is told how many are done, of how many, and the name of the next file.
    """
    overall = stand(gathered(rows))
    drawn, figures = _drawn(overall)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for done, figure in enumerate(figures):
        world = None if figure.world is None else overall.standings[figure.world].world.name
        file = folder / f"{file_name(figure.key, world)}.png"
        progress(done, len(figures), file.name)
        file.write_bytes(drawing.png(drawing.filled(figure, drawn)))
        written.append(file)
    return written


def file_name(key: str, world: str | None) -> str:
    """Return the name of a picture's file: number, words of the world, what is drawn.

    >>> file_name("world-3-regret-log", "100 users / 20 arms")
    '03-100-users-20-arms-regret-log'
    """
    if world is None:
        return key
    _, place, what = key.split("-", 2)
    words = re.sub(r"[^a-z0-9]+", "-", world.lower()).strip("-")[:40].rstrip("-")
    return "-".join(part for part in (f"{int(place):02d}", words, what) if part)


def summary_html(rows: object) -> str:
    """Return a short table and one picture as HTML, for a notebook; works without script."""
    overall = stand(gathered(rows))
    drawn, figures = _drawn(overall)
    if len(overall.standings) > 1:
        chosen = next((figure for figure in figures if figure.kind == "strip"), None)
    else:
        chosen = next((figure for figure in figures if figure.choice), None)
    picture = ""
    if chosen is not None:
        picture = frame.named(drawing.svg(drawing.filled(chosen, drawn)), chosen.description)
        picture = frame.apart(picture, "comparison-")
    return notebook.compact(overall, picture)


def _drawn(overall: Overall) -> tuple[list[Series], list[Figure]]:
    """Return the curves of every world, and all figures."""
    drawn = [_figures.series(standing) for standing in overall.standings]
    found: list[Figure | None] = []
    if len(overall.standings) > 1:
        found.append(_figures.strip(overall))
    for place, standing in enumerate(overall.standings):
        found += _figures.curves(standing, place, drawn[place])
        found.append(_figures.times(standing, place))
    return drawn, [figure for figure in found if figure is not None]
