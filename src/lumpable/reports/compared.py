"""The report of a comparison: rows in, one page out that opens offline; or pictures for a paper.

`report` writes the page, `pictures` a PNG for each world and picture, `summary_html` a short
table with a picture for a notebook. All take rows as a path, a frame, or dictionaries.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from lumpable.base.files import replace
from lumpable.comparisons.results import gather, read
from lumpable.comparisons.standing import Overall, stand
from lumpable.reports.charts import curves, dots
from lumpable.reports.charts.figures import Figure, Series, paper
from lumpable.reports.kit import canvas, save
from lumpable.reports.kit.svg import renumber_ids
from lumpable.reports.pages import comparison_page

__all__ = ["pictures", "read", "report", "summary_html"]

TITLE = "Learners compared"


def report(rows: object, path: str | Path, *, title: str = TITLE) -> Path:
    """Write the page of a comparison; return its path.

    Parameters
    ----------
    rows
        A path to a Parquet file of rows (the parts of an unfinished run are found beside it), a
        frame, or an iterable of mappings; the columns are those of `lumpable.comparisons.rows`.
    path
        The HTML file that is written.
    """
    overall = stand(gather(rows))
    drawn, figures = draw_all(overall)
    save.page(comparison_page.page(overall, drawn, figures, title, datetime.now(UTC)), path)
    return Path(path)


def pictures(
    rows: object,
    folder: str | Path,
    *,
    progress: Callable[[int, int, str], None] = lambda done, total, words: None,
) -> list[Path]:
    """Write every picture of a comparison as PNG into a folder; return the files.

    Parameters
    ----------
    rows
        As for `report`.
    folder
        Created if missing; each file is written as soon as it is drawn.
    progress
        Called with the number done, the total, and the name of the next file.
    """
    overall = stand(gather(rows))
    drawn, figures = draw_all(overall)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for done, figure in enumerate(figures):
        world = None if figure.world is None else overall.standings[figure.world].world.name
        file = folder / f"{file_name(figure.key, world)}.png"
        progress(done, len(figures), file.name)
        replace(file, canvas.png(paper(figure, drawn)))
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
    overall = stand(gather(rows))
    drawn, figures = draw_all(overall)
    several = len(overall.standings) > 1
    wanted = [one for one in figures if (one.kind == "strip" if several else one.choice)]
    drawings = [renumber_ids(canvas.svg(paper(one, drawn)), "comparison-") for one in wanted[:1]]
    return comparison_page.summary(overall, "".join(drawings))


def draw_all(overall: Overall) -> tuple[list[Series], list[Figure]]:
    """Return the curves of every world, and all figures."""
    drawn = [curves.series(standing) for standing in overall.standings]
    figures = [dots.strip(overall)] if len(overall.standings) > 1 else []
    for place, standing in enumerate(overall.standings):
        figures += curves.curves(standing, place, drawn[place])
        figures.append(dots.times(standing, place))
    return drawn, [figure for figure in figures if figure is not None]
