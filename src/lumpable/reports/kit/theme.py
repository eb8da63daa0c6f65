"""Every colour of the package, once: pictures (Vega) and pages (CSS) take theirs from here.

Pictures on a page name their colours, and the page's style sheet says which these are, light or
dark. On paper they are light. Colour-blind people can tell the colours apart, and so do dashes. A
look is a number: eight colours, then grey, an oracle with a name, an oracle in grey.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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
SCHEMES = {"light": LIGHT, "dark": DARK}
NAMED = {name: f"var(--{name})" for name, _ in LIGHT.variables()}
PAGE = Scheme(
    **{name: NAMED[name] for name in Scheme.__slots__ if name != "looks"},
    looks=tuple(NAMED[f"look-{k}"] for k in range(len(DASHES))),
)
"""Colours by name, for pictures inside a page."""


def config(scheme: Scheme) -> dict[str, Any]:
    """Return how every picture looks in a scheme, as a Vega-Lite config."""
    text = {"labelColor": scheme.ink, "labelFontSize": 12, "titleFontSize": 12}
    title = {"titleColor": scheme.soft, "titleFontWeight": "normal"}
    return {
        "background": scheme.paper,
        "font": FONT,
        "range": {"category": list(scheme.looks), "heatmap": {"scheme": "viridis"}},
        "axis": {
            **text,
            **title,
            "gridColor": scheme.line,
            "gridOpacity": 0.6,
            "domainColor": scheme.soft,
            "tickColor": scheme.soft,
        },
        "legend": {**text, **title, "columnPadding": 20},
        "header": {"labelColor": scheme.ink, "labelFontSize": 12},
        "title": {
            "color": scheme.ink,
            "subtitleColor": scheme.soft,
            "anchor": "start",
            "frame": "group",
            "fontSize": 15,
            "subtitleFontSize": 12,
            "subtitlePadding": 5,
            "offset": 14,
        },
        "mark": {"aria": False, "color": scheme.looks[0]},  # the description says it all
        "rule": {"color": scheme.ink},
        "text": {"color": scheme.ink, "fontSize": 12},
        "view": {"stroke": None},
        "style": {
            "truth": {"color": scheme.soft, "strokeDash": [4, 3], "strokeWidth": 1.5},
            "truth-label": {"color": scheme.soft, "fontSize": 11},
            "faint": {"color": scheme.soft},
            "strong": {"color": scheme.ink},
        },
    }


def silent(scheme: Scheme) -> dict[str, Any]:
    """Return the same, but screen readers hear only the description, not the axes."""
    whole = config(scheme)
    return {**whole, "aria": False, "axis": {**whole["axis"], "aria": False}}
