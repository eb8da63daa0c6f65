"""The colours of the report's pictures, light and dark, as Vega-Lite configs.

Colours are told apart by colour-blind people too, and dashes tell them apart once more. A look is a
number: a colour, then grey, an oracle with a name, an oracle in grey.
"""

from __future__ import annotations

from typing import Any

LIGHT = (
    "#0072B2", "#D55E00", "#00845F", "#B5468B", "#9A6A00", "#4B2E9E", "#3390C6", "#222222",
    "#A8A8A8", "#222222", "#A8A8A8",
)  # fmt: skip
DARK = (
    "#58A9E8", "#FF8A4C", "#37C99A", "#F09ACB", "#EBBE4D", "#B5A1FF", "#A5E6FF", "#E6E6E6",
    "#74797F", "#E6E6E6", "#74797F",
)  # fmt: skip
SOLID, DASHED, DOTTED = (1, 0), (7, 4), (2, 3)
DASHES = (*(SOLID,) * 4, *(DASHED,) * 4, SOLID, DOTTED, DOTTED)


def _config(
    colours: tuple[str, ...], ink: str, soft: str, line: str, background: str
) -> dict[str, Any]:
    axis = {"labelColor": ink, "titleColor": soft, "gridColor": line, "domainColor": soft}
    return {
        "background": background,
        "font": "system-ui, Helvetica, Arial, sans-serif",
        "aria": False,
        "range": {"category": list(colours)},
        "axis": {
            **axis,
            "aria": False,
            "tickColor": soft,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "gridOpacity": 0.6,
        },
        "title": {
            "color": ink,
            "subtitleColor": soft,
            "anchor": "start",
            "frame": "group",
            "fontSize": 15,
            "subtitleFontSize": 12,
            "subtitlePadding": 5,
            "offset": 14,
        },
        "view": {"stroke": None},
        "style": {
            "label": {"color": ink, "fontSize": 12},
            "truth": {"color": soft, "strokeDash": [4, 3], "strokeWidth": 1.5},
            "truth-label": {"color": soft, "fontSize": 11},
            "guide": {"color": line, "strokeWidth": 1},
            "faint": {"color": soft},
            "strong": {"color": ink},
        },
    }


CONFIG = {
    "light": _config(LIGHT, "#1c1c1c", "#565656", "#d9d9d9", "transparent"),
    "dark": _config(DARK, "#e6e6e6", "#a9adb3", "#3a3e44", "transparent"),
    "paper": _config(LIGHT, "#1c1c1c", "#565656", "#d9d9d9", "white"),
}
