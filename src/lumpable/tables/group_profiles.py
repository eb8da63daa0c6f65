"""What is special about each group: its best items, and those that set it apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lumpable.lumps.belief.beliefs import Group, Mean

SHOWN = 3


@dataclass(frozen=True, slots=True)
class Apart:
    """An item whose mean in a group differs from that of all others."""

    item: Any
    mean: float
    others: float
    """Its mean in the other groups, weighted by their sizes."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What is special about a group."""

    group: int
    top: tuple[Mean, ...]
    """Its best items, ..."""
    apart: tuple[Apart, ...]
    """... and those whose means differ most from the rest, beyond their intervals."""


def profiles(groups: Sequence[Group], means: Sequence[Mean]) -> list[Profile]:
    """Return a profile of each group; `means` has a row for each group and item."""
    items = len(means) // max(1, len(groups))
    table = [means[g * items : (g + 1) * items] for g in range(len(groups))]
    made = []
    for own, group in zip(table, groups, strict=True):
        rest = [other for other in groups if other is not group]
        size = sum(other.size for other in rest)
        found = list[tuple[float, Apart]]()
        for j, row in enumerate(own if size > 0.0 else ()):
            others = sum(other.size * table[other.group][j].mean for other in rest) / size
            clear = abs(row.mean - others) - (row.high - row.low) / 2.0
            found.append((clear, Apart(row.arm, row.mean, others)))
        found.sort(key=lambda one: -one[0])
        top = sorted(own, key=lambda row: -row.mean)[:SHOWN]
        apart = tuple(one for clear, one in found[:SHOWN] if clear > 0.0)
        made.append(Profile(group.group, tuple(top), apart))
    return made
