"""Verdicts and what was measured as people read them, on the page and in a terminal."""

from __future__ import annotations

from lumpable.base.words import number
from lumpable.reproduce.record import Row


def pair(measured: float, bar: float) -> tuple[str, str]:
    """Write two numbers with as many digits as it takes to tell them apart."""
    for digits in range(3, 18):
        texts = number(measured, digits), number(bar, digits)
        if texts[0] != texts[1] or measured == bar:
            break
    return texts


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
