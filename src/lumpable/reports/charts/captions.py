"""What the panels of a run share: its name, its setting, how numbers are shown."""

from __future__ import annotations

from typing import Any

from lumpable.base.words import counted
from lumpable.reports import canvas
from lumpable.runs.run import Run

BLUE, GREEN, VERMILLION = "#0072B2", "#009E73", "#D55E00"
"""Of Okabe and Ito."""


def label(run: Run) -> str:
    """Say what ran, with a capital letter."""
    title = run.about.title
    return title[0].upper() + title[1:]


def setting(run: Run) -> str:
    """Say in which world a run took place, and what reproduces it."""
    world = run.world
    seed = "no noise" if run.seed is None else f"seed {run.seed}"
    constants = run.parameters.get("constants")
    return (
        f"{counted(world.contexts, 'context')}, {counted(world.arms, 'arm')}, "
        f"{counted(world.groups, 'hidden group')}; {seed}"
        + (f"; constants: {constants}." if constants is not None else ".")
    )


def whole_ticks(first: int, last: int, most: int) -> list[int]:
    """Return at most so many whole numbers from first to last, at equal steps from the last down.

    >>> whole_ticks(12, 24, 6)
    [12, 15, 18, 21, 24]
    """
    step = -(-(last - first + 1) // most)
    return list(range(int(last), int(first) - 1, -int(step)))[::-1]


def numbers(*names: str) -> list[Any]:
    """Return tooltips of large numbers."""
    return [canvas.altair().Tooltip(f"{name}:Q", format=".3~g") for name in names]
