"""The page of a running experiment: its files, which hold no data. A service hands them out.

Its script asks the service what is going on and fills in numbers, tables and pictures.
"""

from __future__ import annotations

import hashlib

from lumpable.reports.charts import live_charts
from lumpable.reports.kit import canvas
from lumpable.reports.kit.render import render, static

SCRIPTS = ("live_words.js", "live_charts.js", "live.js")
SHEETS = ("page.css", "report.css", "live.css")


def files(title: str) -> dict[str, tuple[str, bytes]]:
    """Return the files of the page by their paths: content type and content.

    All but the page itself are named by what is in them, so that browsers may keep them.
    """
    texts = {
        "vega.js": ("text/javascript", canvas.script()),
        "live.js": ("text/javascript", "\n".join(['"use strict";', *map(static, SCRIPTS)])),
        "live.css": ("text/css", "\n".join([render("colours.css"), *map(static, SHEETS)])),
        "icon.svg": ("image/svg+xml", static("icon.svg")),
    }
    found, named = {}, {}
    for name, (kind, text) in texts.items():
        body = text.encode()
        stem, _, suffix = name.partition(".")
        path = f"/page/{stem}-{hashlib.sha256(body).hexdigest()[:12]}.{suffix}"
        found[path], named[stem if suffix != "css" else "style"] = (
            (f"{kind}; charset=utf-8", body),
            path,
        )
    page = render("live.html", title=title, files=named, charts=live_charts.all_charts())
    return {"/": ("text/html; charset=utf-8", page.encode()), **found}
