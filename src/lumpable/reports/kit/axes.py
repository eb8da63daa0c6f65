"""Axes for every picture: ticks, numbers, names.

A logarithmic axis is given its ticks, by `ticks` or by the name of a parameter that holds them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any
from unicodedata import east_asian_width

import numpy as np

from lumpable.base.arrays import IntVector
from lumpable.reports.kit import alt

LEADS = ((1.0, 2.0, 5.0), (1.0,), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
"""First digits of the numbers along a logarithmic axis, the preferred ones first."""
LEAST, MOST = 3, 8
"""Numbers along an axis."""
LONGEST = 1e6
"""An axis with larger numbers writes all of them as powers."""
LETTER = 7.5
"""Pixels: about the width of a letter."""
LABELS = {
    "": "datum.value == 0 ? '0' : abs(datum.value) >= 1e6 || abs(datum.value) < 1e-3 ? "
    "replace(format(datum.value, '.2~e'), '+', '') : "
    "format(datum.value, abs(datum.value) < 0.1 ? '.3~g' : ',.3~f')",
    "e": "datum.value != 0 && (abs(datum.value) >= 1e3 || abs(datum.value) < 1e-3) ? "
    "replace(format(datum.value, '.2~e'), '+', '') : format(datum.value, '~g')",
    "×": "format(datum.value, '~g') + '×'",
    "s": "datum.value >= 1 ? format(datum.value, '~g') + ' s' : datum.value >= 1e-3 ? "
    "format(1e3 * datum.value, '~g') + ' ms' : datum.value >= 1e-6 ? "
    "format(1e6 * datum.value, '~g') + ' µs' : format(1e9 * datum.value, '~g') + ' ns'",
}
"""How numbers are written, by unit: 2,000, 1e6 or 0.0025; 2e3 beside 1e9; 1.5×; 20 µs."""


# --- Axes -----------------------------------------------------------------------------------------


def numbers(values: Sequence[float] | str | None = None, *, unit: str = "", **more: Any) -> Any:
    """Return an axis of numbers at these values; a string names the parameter that holds them."""
    if values is not None:
        more["values"] = {"expr": values} if isinstance(values, str) else list(values)
        if not unit and not isinstance(values, str) and max(values, default=0) > LONGEST:
            unit = "e"
    apart = {"labelOverlap": True, "labelSeparation": 6, "labelFlush": False}
    return alt.Axis(labelExpr=LABELS[unit], **apart, **more)


def counts(**more: Any) -> Any:
    """Return an axis of whole numbers."""
    return alt.Axis(tickMinStep=1, format="d", **more)


def rows(**more: Any) -> Any:
    """Return the axis of rows that have names."""
    return alt.Axis(ticks=False, domain=False, **more)


def columns(names: list[str], width: int) -> Any:
    """Return the axis of columns 0, 1, .. with these names, upright where they have no room."""
    letters = (sum(1 + (east_asian_width(x) in "WF") for x in name) for name in names)
    longest = LETTER * max(letters)
    upright = longest * len(names) > width
    return alt.Axis(
        labelExpr=f"{json.dumps(names)}[datum.value]",
        labelLimit=0,  # a limit cuts between the halves of a character, and SVG cannot hold one
        labelOverlap=False,
        labelAngle=-90 if upright else 0,
        minExtent=longest if upright else 0,  # fonts may be wider where they are shown
        ticks=False,
    )


def bare() -> Any:
    """Return an axis that shows nothing but its title."""
    return alt.Axis(labels=False, ticks=False, grid=False, domain=False)


def log_scale(**more: Any) -> Any:
    """Return a logarithmic scale that ends where the data do."""
    return alt.Scale(type="log", nice=False, **more)


# --- Ticks ----------------------------------------------------------------------------------------


def ticks(low: float, high: float) -> list[float]:
    """Return the numbers along a logarithmic axis: 1-2-5, fewer if it is long, more if short.

    >>> ticks(40.0, 600.0), ticks(3.0, 2e4), ticks(0.91, 1.45)
    ([50.0, 100.0, 200.0, 500.0], [10.0, 100.0, 1000.0, 10000.0], [1.0, 1.2, 1.4])
    """
    if high <= low:
        return [low]
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for leads in LEADS:
        inside = [float(f"{lead}e{power}") for power in powers for lead in leads]
        inside = [x for x in inside if low <= x <= high]
        if LEAST <= len(inside) <= MOST:
            return inside
    if len(powers) > MOST:
        return [10.0**power for power in powers if low <= 10.0**power <= high][:: len(powers) // 5]
    return _even(low, high)


def _even(low: float, high: float) -> list[float]:
    """Return round numbers at equal steps, for an axis too short to look logarithmic."""
    power = math.floor(math.log10(high - low))
    steps = [float(f"{lead}e{power - 1}") for lead in (50, 20, 10, 5, 2, 1)]
    for step in steps:
        places = range(math.ceil(low / step), math.floor(high / step) + 1)
        if len(places) >= LEAST:
            break
    return [float(f"{k * step:.12g}") for k in places]


def ticks_of(values: Sequence[float]) -> list[float]:
    """Return the numbers along a logarithmic axis of these values; none where none is positive.

    >>> ticks_of([0.0, 40.0, 600.0]), ticks_of([])
    ([50.0, 100.0, 200.0, 500.0], [])
    """
    positive = [float(x) for x in values if x > 0]
    return ticks(min(positive) / 1.001, max(positive) * 1.001) if positive else []


def whole_ticks(first: int, last: int, most: int) -> list[int]:
    """Return at most `most` whole numbers from first to last, at equal steps from the last down.

    >>> whole_ticks(12, 24, 6)
    [12, 15, 18, 21, 24]
    """
    step = -(-(last - first + 1) // most)
    return list(range(int(last), int(first) - 1, -int(step)))[::-1]


# --- Places ---------------------------------------------------------------------------------------


def spread(wanted: Sequence[float], gap: float, height: float) -> list[float]:
    """Move sorted places apart by a gap, as little as possible in the sum of squares.

    >>> spread([10.0, 10.0, 50.0], gap=20, height=100)
    [0.0, 20.0, 50.0]
    """
    blocks: list[list[float]] = []  # mean and size of pooled places, each less its gaps
    for number, place in enumerate(wanted):
        blocks.append([place - gap * number, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, size = blocks.pop()
            before = blocks[-1]
            before[0] = (before[0] * before[1] + mean * size) / (before[1] + size)
            before[1] += size
    pooled = [mean for mean, size in blocks for _ in range(int(size))]
    most = height - gap * (len(wanted) - 1)
    return [min(max(0.0, x), most) + gap * k for k, x in enumerate(pooled)]


def evenly(values: IntVector, most: int) -> IntVector:
    """Return at most `most` of the values, evenly spaced."""
    if len(values) <= most:
        return values
    return values[np.arange(most) * len(values) // max(most, 1)]
