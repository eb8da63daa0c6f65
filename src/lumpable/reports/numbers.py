"""Numbers as people read them in a comparison."""

from __future__ import annotations

import math

from lumpable.base.words import counted, runs
from lumpable.base.words import number as _number
from lumpable.comparisons.statistics import Ratio

NOTHING = "–"
__all__ = ["NOTHING", "counted", "duration_short", "interval", "listed", "memory", "number", "span"]


def number(value: float) -> str:
    """Write a number so that people can read it; nothing as a dash.

    >>> number(3217.6), number(0.04217), number(float("nan"))
    ('3,218', '0.0422', '–')
    """
    return NOTHING if math.isnan(value) else _number(value)


def span(value: float) -> str:
    """Write a ratio.

    >>> span(1.0), span(2.345), span(34.5), span(0.0123)
    ('1.00×', '2.35×', '34.5×', '0.012×')
    """
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞"
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 else 3
    return f"{value:,.{digits}f}×".replace("-", "−")


def interval(ratio: Ratio) -> str:
    """Write the interval of a ratio; nothing where there is none.

    >>> interval(Ratio(2.0, 1.874, 2.2, 10)), interval(Ratio(2.0, -math.inf, math.inf, 2))
    ('1.87–2.20', 'unbounded')
    >>> interval(Ratio(1.6, -0.403, 3.58, 3))
    '−0.40 to 3.58'
    """
    if math.isnan(ratio.low):
        return ""
    if math.isinf(ratio.low):
        return "unbounded"
    to = " to " if ratio.low < 0 else "–"  # a dash beside a minus is read as another
    return f"{span(ratio.low)[:-1]}{to}{span(ratio.high)[:-1]}"


def duration_short(seconds: float) -> str:
    """Write a short time.

    >>> duration_short(3.21e-7), duration_short(0.0042), duration_short(2.5)
    ('321 ns', '4.2 ms', '2.5 s')
    """
    if math.isnan(seconds):
        return NOTHING
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


def memory(size: float) -> str:
    """Write a number of bytes.

    >>> memory(800), memory(1.6e6)
    ('800 B', '1.6 MB')
    """
    if math.isnan(size):
        return NOTHING
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.0f} B"


def listed(numbers: list[int]) -> str:
    """Write whole numbers, runs of them as ranges.

    >>> listed([0, 1, 2, 5])
    '0–2, 5'
    """
    return ", ".join(
        str(a) if a == b else f"{a}–{b}" if b > a + 1 else f"{a}, {b}" for a, b in runs(numbers)
    )
