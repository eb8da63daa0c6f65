"""Numbers, times and verdicts as people read them, on the page and in a terminal."""

from __future__ import annotations

import math
import re
from html import escape

from lumpable.reproduce.record import Row


def words(text: str) -> str:
    """Escape a text; what stands between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def number(value: float, digits: int = 3) -> str:
    """Write a number so that people can read it.

    >>> number(1234), number(0.04217), number(2.4771e9), number(1e-6), number(float("inf"))
    ('1,234', '0.0422', '2.48e9', '1e-6', '∞')
    """
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) < 100_000 and (value == round(value) or abs(value) >= 10**digits):
        return f"{value:,.0f}"
    mantissa, e, exponent = f"{value:,.{digits}g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if e else mantissa


def pair(measured: float, bar: float) -> tuple[str, str]:
    """Write two numbers with as many digits as it takes to tell them apart."""
    for digits in range(3, 18):
        texts = number(measured, digits), number(bar, digits)
        if texts[0] != texts[1] or measured == bar:
            break
    return texts


def duration(seconds: float) -> str:
    """Write a time.

    >>> duration(4.2), duration(95), duration(7260)
    ('4.2 s', '1 min 35 s', '2 h 1 min')
    """
    if seconds < 10:
        return f"{seconds:.2g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def printed_verdict(row: Row) -> str:
    """Say whether the printed form holds."""
    return "not measured" if row.error else "holds" if row.printed_holds else "does not hold"


def repaired_verdict(row: Row) -> str:
    """Say whether the repaired form holds, where there is one."""
    if row.repaired_holds is None:
        return "-"
    return "holds" if row.repaired_holds else "does not hold"


def broken_verdict(row: Row) -> str:
    """Say whether the broken variant was caught."""
    return "-" if row.error else "caught" if row.broken_caught else "not caught"
