"""Every colour of the package, once: pictures (Vega) and pages (CSS) take theirs from here.

A scheme is light or dark; on paper, light. Colours are told apart by colour-blind people too, and
dashes tell lines apart once more. A look is a number: eight colours, then grey, an oracle with a
name, an oracle in grey.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lumpable.base.errors import BadArgument

BLUE, VERMILLION, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW, BLACK = "#E69F00", "#56B4E9", "#F0E442", "#000000"
"""Of Okabe and Ito, for marks on white."""
LINES = (BLUE, VERMILLION, GREEN, PINK, ORANGE, SKY, YELLOW)
GROUPS = (ORANGE, SKY, GREEN, PINK, BLUE, VERMILLION, YELLOW, BLACK)
GREY, PALE, FRAME = "#888888", "#9CC9E5", "#D00000"
SOLID, DASHED, DOTTED = (1, 0), (7, 4), (2, 3)
DASHES = (*(SOLID,) * 4, *(DASHED,) * 4, SOLID, DOTTED, DOTTED)
"""Of each look."""
FONT = "Helvetica, Arial, sans-serif"
"""About as wide where a picture is drawn as where it is shown."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """The colours of a page and of the pictures on it."""

    ink: str
    soft: str
    paper: str
    line: str
    band: str
    link: str
    good: str
    bad: str
    odd: str
    warm: str
    cool: str
    looks: tuple[str, ...]

    def variables(self) -> Iterator[tuple[str, str]]:
        """Yield every colour under the name that style sheets use."""
        for name in self.__slots__:
            if name != "looks":
                yield name, getattr(self, name)
        yield from ((f"look-{k}", colour) for k, colour in enumerate(self.looks))


LIGHT = Scheme(
    ink="#1c1c1c", soft="#565656", paper="#ffffff", line="#cfcfcf", band="#f4f4f2",
    link="#0b57a4", good="#1a6b33", bad="#a81e1e", odd="#875200", warm="#e8964a", cool="#6fb1e0",
    looks=(
        "#0072B2", "#D55E00", "#00845F", "#B5468B", "#9A6A00", "#4B2E9E", "#3390C6", "#222222",
        "#A8A8A8", "#222222", "#A8A8A8",
    ),
)  # fmt: skip
DARK = Scheme(
    ink="#e6e6e6", soft="#a9adb3", paper="#16181b", line="#43474d", band="#202327",
    link="#8fbff0", good="#7fd097", bad="#ff9b93", odd="#f0b860", warm="#8f4f12", cool="#1f5f92",
    looks=(
        "#58A9E8", "#FF8A4C", "#37C99A", "#F09ACB", "#EBBE4D", "#B5A1FF", "#A5E6FF", "#E6E6E6",
        "#74797F", "#E6E6E6", "#74797F",
    ),
)  # fmt: skip
SCHEMES = {"light": LIGHT, "dark": DARK, "paper": LIGHT}


def config(scheme: str) -> dict[str, Any]:
    """Return how every picture looks in a scheme, as a Vega-Lite config.

    On pages the background is that of the page; on paper it is white.
    """
    if scheme not in SCHEMES:
        raise BadArgument("scheme", f"one of {', '.join(SCHEMES)}", repr(scheme))
    one = SCHEMES[scheme]
    text = {"labelColor": one.ink, "labelFontSize": 12, "titleFontSize": 12}
    return {
        "background": one.paper if scheme == "paper" else "transparent",
        "font": FONT,
        "range": {
            "category": list(one.looks),
            "heatmap": {"scheme": "viridis"},
            "ramp": [one.paper, one.looks[0]],  # from nothing to certainty
        },
        "axis": {
            **text,
            "titleColor": one.soft,
            "titleFontWeight": "normal",
            "gridColor": one.line,
            "gridOpacity": 0.6,
            "domainColor": one.soft,
            "tickColor": one.soft,
        },
        "legend": {**text, "titleColor": one.soft, "titleFontWeight": "normal"},
        "title": {
            "color": one.ink,
            "subtitleColor": one.soft,
            "anchor": "start",
            "frame": "group",
            "fontSize": 15,
            "subtitleFontSize": 12,
            "subtitlePadding": 5,
            "offset": 14,
        },
        "bar": {"color": one.looks[0]},
        "view": {"stroke": None},
        "style": {
            "label": {"color": one.ink, "fontSize": 12},
            "truth": {"color": one.soft, "strokeDash": [4, 3], "strokeWidth": 1.5},
            "truth-label": {"color": one.soft, "fontSize": 11},
            "faint": {"color": one.soft},
            "strong": {"color": one.ink},
        },
    }


def silent(scheme: str) -> dict[str, Any]:
    """Return the same for a picture whose description says it all: no mark speaks for itself."""
    found = config(scheme)
    return {**found, "aria": False, "axis": {**found["axis"], "aria": False}}
