"""Random graphs over contexts, as lists of edges, and their components: where CLUB begins."""

from __future__ import annotations

import numpy as np

from lumpable.base.arrays import IntMatrix, IntVector


def random_graph(contexts: int, density: float, rng: np.random.Generator) -> IntMatrix:
    """Draw each of all possible edges with this chance; return their ends, (edges, 2)."""
    possible = contexts * (contexts - 1) // 2
    number = int(rng.binomial(possible, density))
    drawn = np.sort(rng.choice(possible, number, replace=False))
    ends = np.cumsum(np.arange(contexts - 1, 0, -1))  # pairs (0, 1), (0, 2), .. (1, 2), ..
    i = np.searchsorted(ends, drawn, side="right")
    return np.stack([i, drawn - (ends - contexts)[i]], axis=1)


def components(contexts: int, ends: IntMatrix) -> IntVector:
    """Return the component of each context in the graph with these edges."""
    label = np.arange(contexts)
    while True:
        before = label.copy()
        low = label[ends].min(axis=1)
        for end in ends.T:
            np.minimum.at(label, end, low)
        if np.array_equal(before, label):
            return np.unique(label, return_inverse=True)[1]
