"""Verdicts and measured numbers as people read them, on the page and in a terminal."""

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


def verdicts(row: Row) -> tuple[str, str, str]:
    """Say what came of the printed and the repaired form and of the broken variant."""
    if row.error:
        return "not measured", "-", "-"
    printed, repaired = (
        "-" if holds is None else "holds" if holds else "does not hold"
        for holds in (row.printed_holds, row.repaired_holds)
    )
    return printed, repaired, "caught" if row.broken_caught else "not caught"
