"""Figures drawn outside a browser, and the script that draws them inside one."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Sequence
from typing import Any

from lumpable.base.extras import need
from lumpable.reports import canvas
from lumpable.reports.figures import Figure, Series, long
from lumpable.reports.palette import CONFIG
from lumpable.reports.vega import CURVES, POINTER, template


def filled(figure: Figure, drawn: Sequence[Series], width: int = 760) -> dict[str, Any]:
    """Return the whole specification of a figure, for paper."""
    spec = copy.deepcopy(template(figure.kind))
    kind = CURVES.get(figure.kind)
    rows = long(drawn[figure.world], kind.measure) if kind and figure.world is not None else []
    spec["datasets"] = {**figure.data, **({"curves": rows} if kind else {})}
    if kind:  # what only shows when somebody points or picks takes longer than all the rest
        spec["datasets"]["ends"] = [end for end in figure.data["ends"] if end["named"]]
        spec["layer"] = [layer for layer in spec["layer"] if layer.get("name") != POINTER]
    for param in spec["params"]:
        param["value"] = figure.params.get(param["name"], param["value"])
    spec["height"] = figure.height or spec["height"]
    spec["width"] = width
    spec["padding"] = {"left": 24, "top": 8, "bottom": 8, "right": 8}
    spec["title"] = figure.title
    spec["description"] = figure.description
    spec["config"] = {**CONFIG["paper"], "font": "Helvetica, Arial, sans-serif"}
    return spec


def compiled(kind: str, scheme: str) -> dict[str, Any]:
    """Return a template in Vega's own language, in the colours of a scheme, for the page."""
    vlc = need("vl_convert", "plot", "drawing pictures")
    spec = {**template(kind), "config": CONFIG[scheme]}
    made: dict[str, Any] = vlc.vegalite_to_vega(spec, vl_version=version())
    return made


def png(spec: dict[str, Any]) -> bytes:
    """Draw a specification as PNG, twice as fine as on a screen."""
    vlc = need("vl_convert", "plot", "drawing pictures")
    drawn: bytes = vlc.svg_to_png(clipped_once(svg(spec)), scale=2)
    return drawn


def clipped_once(picture: str) -> str:
    """Cut the curves of an SVG off at its edges together, not each by itself.

    A clip is a layer of pixels as large as the picture: one for each curve takes ten seconds.
    """
    clips = re.findall(r'<clipPath id="([^"]*)"[^>]*>(.*?)</clipPath>', picture, re.S)
    if len({shape for _, shape in clips}) != 1:
        return picture
    alone, first = re.sub(r' clip-path="[^"]*"', "", picture), clips[0][0]
    return re.sub(r'(<g class="[^"]*pathgroup")', rf'\1 clip-path="url(#{first})"', alone)


def svg(spec: dict[str, Any]) -> str:
    """Draw a specification as SVG."""
    vlc = need("vl_convert", "plot", "drawing pictures")
    drawn: str = vlc.vegalite_to_svg(spec, vl_version=version())
    return drawn


@functools.cache
def script() -> str:
    """Return everything that draws in a browser."""
    vlc = need("vl_convert", "plot", "drawing pictures")
    bundle: str = vlc.javascript_bundle(vl_version=version())
    return bundle


def version() -> str:
    """Return the version of Vega-Lite that Altair writes."""
    return ".".join(canvas.altair().SCHEMA_VERSION.split(".")[:2])
