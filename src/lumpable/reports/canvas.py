"""What every picture shares: the library that draws, data, style and files.

Knows nothing of bandits. Altair and vl-convert are imported only when a picture is drawn.
"""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.base.extras import need
from lumpable.reports import frame

SUFFIXES = (".png", ".svg", ".html")
INK, GREY = "#222222", "#555555"
Row = Mapping[str, Any]


def altair() -> Any:
    """Return the Altair module, or say how to install it."""
    return need("altair", "plot", "drawing pictures")


def data(rows: Iterable[Row]) -> Any:
    """Return rows as inline CSV: a list of objects would be copied and checked again and again."""
    alt = altair()
    table = list(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(table[0]) if table else [])
    writer.writeheader()
    writer.writerows(table)
    return alt.Data(values=text.getvalue(), format=alt.DataFormat(type="csv"))


def styled(chart: Any, title: str, subtitle: list[str], description: str) -> Any:
    """Give a chart its title, its words for screen readers and legible type."""
    heading = {"text": title, "subtitle": subtitle, "fontSize": 18, "subtitleFontSize": 13}
    return chart.properties(  # all at once: each change would copy the whole chart
        title={**heading, "anchor": "start", "offset": 18, "subtitlePadding": 6},
        description=description,
        background="white",
        padding=16,
        config={
            "font": "Helvetica, Arial, sans-serif",
            "title": {
                "fontSize": 14,
                "color": INK,
                "subtitleColor": GREY,
                "anchor": "start",
                "frame": "group",
            },
            "axis": {
                "labelFontSize": 12,
                "titleFontSize": 13,
                "titleFontWeight": "normal",
                "labelColor": INK,
            },
            "legend": {
                "labelFontSize": 12,
                "titleFontSize": 12,
                "labelColor": INK,
                "titleColor": INK,
            },
            "view": {"stroke": None},
        },
    )


def check(path: Path) -> None:
    """Raise now what `save` would raise later: no such kind of file, or the extra is missing."""
    if path.suffix not in SUFFIXES:
        kinds = ", ".join(SUFFIXES)
        raise BadArgument("path", f"a name that ends in {kinds}", repr(path.name))
    altair()
    need("vl_convert", "plot", "drawing pictures")


def save(chart: Any, path: str | Path) -> None:
    """Write a chart as .png, .svg or .html: one page with all of its script inside."""
    path = Path(path)
    check(path)
    vlc = need("vl_convert", "plot", "drawing pictures")
    spec = chart.to_dict()
    version = ".".join(altair().SCHEMA_VERSION.split(".")[:2])
    if path.suffix == ".png":
        path.write_bytes(vlc.vegalite_to_png(spec, vl_version=version, scale=2))
    elif path.suffix == ".svg":
        picture = vlc.vegalite_to_svg(spec, vl_version=version)
        path.write_text(frame.named(picture, spec["description"]), encoding="utf-8")
    else:
        script = vlc.javascript_bundle(vl_version=version)
        path.write_text(page(spec, script), encoding="utf-8")


def page(spec: dict[str, Any], script: str) -> str:
    """Return one HTML page with chart and script inside; nothing is fetched, names are escaped."""
    title = html.escape(spec["title"]["text"])
    chart = json.dumps(spec).replace("<", "\\u003c")  # a name must not end the element
    return f"""\
{frame.HEAD}<title>{title}</title>
<script>{script}</script>
</head>
<body>
<main id="picture"></main>
<script type="application/json" id="chart">{chart}</script>
<script>
const chart = JSON.parse(document.getElementById("chart").textContent);
vegaEmbed("#picture", chart, {{renderer: "svg", actions: {{export: true, source: false, \
compiled: false, editor: false}}}});
</script>
</body>
</html>
"""
