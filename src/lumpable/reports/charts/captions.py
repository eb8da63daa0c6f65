"""What the panels of a run share: their size, its name, its setting, how numbers are shown."""

from __future__ import annotations

from typing import Any

from lumpable.base.words import counted
from lumpable.reports.kit import alt
from lumpable.runs.run import Run

PANEL = 360
"""Pixels of a square panel."""


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


def numbers(*names: str) -> list[Any]:
    """Return tooltips of large numbers."""
    return [alt.Tooltip(f"{name}:Q", format=".3~g") for name in names]
