"""Save pictures and pages: a file is written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.base.files import replace
from lumpable.reports.kit import canvas, render

KINDS = (".png", ".svg", ".html")


def check(path: str | Path, kinds: tuple[str, ...] = KINDS) -> Path:
    """Raise now what saving would raise later: an unknown kind of file or a missing extra."""
    path = Path(path)
    if path.suffix not in kinds:
        raise BadArgument("path", f"a name that ends in {', '.join(kinds)}", repr(path.name))
    canvas.altair()
    canvas.converter()
    if path.suffix == ".html":
        render.environment()
    return path


def chart(chart: Any, path: str | Path) -> None:
    """Write a chart as .png, .svg or .html: one page with all of its script inside."""
    path = check(path)
    spec = chart.to_dict()
    if path.suffix == ".png":
        replace(path, canvas.png(spec))
    elif path.suffix == ".svg":
        page(canvas.svg(spec), path)
    else:
        title = spec["title"]["text"]
        page(render.render("chart.html", title=title, chart=spec, script=canvas.script()), path)


def page(text: str, path: str | Path) -> None:
    """Write the text of a page or of an SVG."""
    replace(Path(path), text.encode())
