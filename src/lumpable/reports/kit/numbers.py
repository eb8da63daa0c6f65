"""Numbers as people read them on a page; what is not known is a dash."""

from __future__ import annotations

import math

from lumpable.base import words

NOTHING = "–"
__all__ = ["decimal", "interval", "memory", "number", "percent", "ranges", "ratio", "short_time"]


def number(value: float, digits: int = 3) -> str:
    """Write a number so that people can read it; nothing as a dash.

    >>> number(3217.6), number(0.04217), number(float("nan"))
    ('3,218', '0.0422', '–')
    """
    return NOTHING if math.isnan(value) else words.number(value, digits)


def ratio(value: float) -> str:
    """Write a ratio.

    >>> ratio(1.0), ratio(2.345), ratio(34.5), ratio(0.0123)
    ('1.00×', '2.35×', '34.5×', '0.012×')
    """
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞"
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 else 3
    return f"{value:,.{digits}f}×".replace("-", "−")


def interval(low: float, high: float) -> str:
    """Write the interval of a ratio; nothing where there is none.

    >>> interval(1.874, 2.2), interval(-math.inf, math.inf), interval(-0.403, 3.58)
    ('1.87–2.20', 'unbounded', '−0.40 to 3.58')
    """
    if math.isnan(low):
        return ""
    if math.isinf(low):
        return "unbounded"
    to = " to " if low < 0 else "–"  # a dash beside a minus is read as another
    return f"{ratio(low)[:-1]}{to}{ratio(high)[:-1]}"


def short_time(seconds: float) -> str:
    """Write a short time.

    >>> short_time(3.21e-7), short_time(0.0042), short_time(2.5)
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


def ranges(numbers: list[int]) -> str:
    """Write whole numbers, runs of them as ranges.

    >>> ranges([0, 1, 2, 5])
    '0–2, 5'
    """
    return ", ".join(
        str(a) if a == b else f"{a}–{b}" if b > a + 1 else f"{a}, {b}"
        for a, b in words.runs(numbers)
    )


def decimal(value: float, places: int = 2, sign: str = "") -> str:
    """Write a number with that many decimals.

    >>> decimal(-1234.567), decimal(0.25, 3, "+")
    ('−1,234.57', '+0.250')
    """
    return f"{value:{sign},.{places}f}".replace("-", "−")


def percent(probability: float) -> str:
    """Write a probability that was estimated, and never as certain.

    >>> percent(0.62), percent(0.9999), percent(0.0)
    ('62 %', 'over 99 %', 'under 1 %')
    """
    return words.percent(probability)
