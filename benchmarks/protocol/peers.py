"""The peers: every fair learner of the catalogue that is worth its time, at several settings.

The first setting is that of its author or of the catalogue, the others are greedier (or, where the
default is greedy, also bolder). Learners that know r, the grouping or the means stand apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lumpable.learners.catalogue import CATALOGUE

Peer = dict[str, Any]
"""A learner as `lumpable.compare` takes it."""

SETTINGS: dict[str, tuple[str, Sequence[float | None]]] = {
    "shrinkage": ("spread", (1.0, 0.6, 0.4, 0.25)),
    "maillard-mannor": ("width", (1.0, 0.4, 0.2, 0.1, 0.05)),
    "bmf": ("spread", (1.0, 0.6, 0.4, 0.25)),
    "factor-bayes": ("spread", (1.0, 0.4, 0.25, 0.15)),
    "ids-mixture": ("spread", (1.0, 0.6, 0.4)),
    "thompson-one": ("spread", (1.0, 0.4, 0.2)),
    "beta-thompson-one": ("spread", (1.0, 0.4, 0.2)),
    "ucb-one": ("width", (1.0, 0.2, 0.1)),
    "thompson": ("spread", (1.0, 0.4, 0.15)),
    "beta-thompson": ("spread", (1.0, 0.4, 0.15)),
    "ucb": ("width", (1.0, 0.2, 0.1)),
    "kl-ucb": ("width", (1.0, 0.3, 0.1)),
    "squarecb": ("gamma", (10.0, 100.0, 1000.0)),
    "squarecb-additive": ("gamma", (10.0, 100.0, 1000.0)),
    "squarecb-lumpable": ("gamma", (10.0, 100.0, 1000.0)),
    "squarecb-low-rank": ("gamma", (10.0, 100.0, 1000.0)),
    "falcon-lumpable": ("c", (1.0, 30.0, 300.0)),
    "falcon-low-rank": ("c", (1.0, 30.0, 300.0)),
    "club": ("alpha", (0.3, 0.1, 0.03)),
    "rclumb": ("alpha", (0.3, 0.1)),
    "uniclub": ("alpha", (0.3, 0.1)),
    "borrowing": ("spread", (0.4, 0.15)),
    "sclub": ("alpha", (0.3, 0.1, 0.03)),
    "cab": ("alpha", (0.3, 0.1, 0.03)),
    "dynucb": ("alpha", (0.3, 0.1, 0.03)),
    "cofiba": ("alpha", (1.0, 0.3, 0.1)),
    "nucb": ("alpha", (0.2, 0.1, 0.03)),
    "linucb-additive": ("alpha", (None, 0.3, 0.1)),
    "nmf": ("rank", (5, 3, 2)),
    "particle": ("rank", (2, 3, 5)),
}
SLOW: dict[str, dict[str, str]] = {
    "s": {},
    "b": {
        "particle": "about 15 s for 60,000 rounds",
        "ids-mixture": "about a minute for 60,000 rounds",
        "cab": "about 4 s for 60,000 rounds, and behind CLUB and SCLUB",
    },
    "w": {
        "particle": "its cost grows with the number of arms",
        "ids-mixture": "its cost grows with the square of the number of arms",
        "cab": "its cost grows with the number of arms",
        "linucb-additive": "about 6 s for 12,000 rounds, and far behind",
        "falcon-low-rank": "about 6 s for 12,000 rounds, and far behind",
        "squarecb-low-rank": "about 5 s for 12,000 rounds, and far behind",
    },
}
"""Peers that are not run at a size, and why."""
LEFT_OUT = {
    "exp4, exp4-constant": "their regret is that of uniform play at these horizons",
    "linucb, suplinrel": "LinUCB with a feature per cell is UCB per context; SupLinRel is slower",
    "jain-pal, jedra, algorithm-4, algorithm-6": "plans that explore for longer than these runs",
    "vowpal": "SquareCB again, at a hundredth of the speed",
    "falcon, falcon-additive": "SquareCB with the same model was ahead everywhere",
    "kmeans, mixture, lattice": "they know r; k-means is in the table of long runs",
}
"""Learners of the catalogue that are no peers here, and why."""

TESTED: Peer = {"name": "lumps", "label": "Lumps"}
KMEANS = "explore, then k-means (knows r)"


def peers(size: str) -> list[Peer]:
    """Return all fair peers at all settings that are run at this size."""
    return [
        peer
        for name, (parameter, values) in SETTINGS.items()
        if name not in SLOW[size]
        for peer in settings(name, parameter, values)
    ]


def settings(
    name: str, parameter: str, values: Sequence[float | None], title: str | None = None, **also: Any
) -> list[Peer]:
    """Return a learner at each of these settings, with a label that says so."""
    called = title or CATALOGUE[name].title
    return [
        {
            "name": name,
            "label": f"{called}, {parameter} {'default' if value is None else f'{value:g}'}",
            **({} if value is None else {parameter: value}),
            **also,
        }
        for value in values
    ]


def kmeans() -> list[Peer]:
    """Return explore-then-k-means, which knows r, at three settings."""
    return settings("kmeans", "width", (1.0, 0.5, 0.25), KMEANS)


KNOWS_GROUPS, KNOWS_MEANS = "knows the grouping", "knows the groups' means"
PLAIN = ", spread 1"
"""How the labels of the oracles as they come end."""


def oracles() -> list[Peer]:
    """Return both oracles at three settings: Thompson with known groups, and with known means."""
    return [
        *settings("oracle-groups", "spread", (1.0, 0.6, 0.4), KNOWS_GROUPS),
        *settings("mts", "spread", (1.0, 0.6, 0.4), KNOWS_MEANS),
    ]
