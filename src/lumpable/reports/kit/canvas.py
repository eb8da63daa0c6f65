"""The library that draws: Altair makes specifications, vl-convert turns them into pictures.

Knows nothing of bandits. Both are imported only when a picture is drawn.
"""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Iterable, Mapping
from typing import Any

from lumpable.base.extras import need
from lumpable.reports.kit import theme
from lumpable.reports.kit.svg import clip_once, name_svg

Row = Mapping[str, Any]


def altair() -> Any:
    """Return the Altair module, or say how to install it."""
    return need("altair", "plot", "drawing pictures")


def converter() -> Any:
    """Return the module that turns specifications into pictures, or say how to install it."""
    return need("vl_convert", "plot", "drawing pictures")


def version() -> str:
    """Return the version of Vega-Lite that Altair writes."""
    return ".".join(altair().SCHEMA_VERSION.split(".")[:2])


def data(rows: Iterable[Row]) -> Any:
    """Return rows as inline CSV: Altair would copy and check a list of objects again and again."""
    alt, table = altair(), list(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(table[0]) if table else [])
    writer.writeheader()
    writer.writerows(table)
    return alt.Data(values=text.getvalue(), format=alt.DataFormat(type="csv"))


def with_title(chart: Any, title: str, subtitle: list[str], description: str) -> Any:
    """Give a chart its title, its words for screen readers, and the colours of paper."""
    heading = {"text": title, "subtitle": subtitle, "fontSize": 18, "subtitleFontSize": 13}
    return chart.properties(  # all at once: each change would copy the whole chart
        title={**heading, "anchor": "start", "offset": 18, "subtitlePadding": 6},
        description=description,
        padding=16,
        config=theme.config(theme.LIGHT),
    )


def svg(spec: dict[str, Any]) -> str:
    """Draw a specification as SVG, named by its description for those who cannot see it."""
    drawn: str = converter().vegalite_to_svg(spec, vl_version=version())
    return name_svg(drawn, spec.get("description", ""))


def png(spec: dict[str, Any]) -> bytes:
    """Draw a specification as PNG, twice as fine as on a screen."""
    drawn: bytes = converter().svg_to_png(clip_once(svg(spec)), scale=2)
    return drawn


def to_vega(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a specification in Vega's own language, which a browser need not compile."""
    made: dict[str, Any] = converter().vegalite_to_vega(spec, vl_version=version())
    return made


@functools.cache
def script() -> str:
    """Return everything that draws in a browser."""
    bundle: str = converter().javascript_bundle(vl_version=version())
    return bundle
