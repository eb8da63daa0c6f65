"""Sets of pairs (context, arm) as the candidates use them: numbered row by row, i K + j, in order.

What is asked for is a small part of all pairs, and work on such numbers costs no more than they do.
"""

from __future__ import annotations

import numpy as np

from lumpable.base.arrays import BoolMatrix, FloatMatrix, FloatVector, IntVector


def best_pair(among: BoolMatrix, mean: FloatMatrix) -> tuple[int, int, float]:
    """Return context, arm and mean of the pair with the largest mean; the first of equals."""
    pairs = np.flatnonzero(among)
    values = mean.reshape(-1)[pairs]
    top = int(np.argmax(values))
    i, j = divmod(int(pairs[top]), mean.shape[1])
    return i, j, float(values[top])


def raised(
    V: FloatVector, arm: IntVector, pairs: IntVector, lower: FloatVector, arms: int
) -> tuple[FloatVector, IntVector]:
    """Raise V(i) to the largest of its lower bounds, and name the arm; of equals the first."""
    if not pairs.size:
        return V, arm
    i, j = np.divmod(pairs, arms)
    starts = np.flatnonzero(np.diff(i, prepend=-1))
    rows, best = i[starts], np.maximum.reduceat(lower, starts)
    top = lower == np.repeat(best, np.diff(starts, append=pairs.size))
    first = np.minimum.reduceat(np.where(top, j, arms), starts)
    better = best > V[rows]
    V, arm = V.copy(), arm.copy()
    V[rows[better]], arm[rows[better]] = best[better], first[better]
    return V, arm


def most_in_a_row(pairs: IntVector, arms: int) -> int:
    """Return how many pairs the context with most of them has; 0: there are none."""
    return int(np.bincount(pairs // arms).max(initial=0))


def as_sets(pairs: IntVector, contexts: int, arms: int) -> BoolMatrix:
    """Return the exploration sets that hold these pairs, numbered row by row."""
    sets = np.zeros(contexts * arms, dtype=bool)
    sets[pairs] = True
    return sets.reshape(contexts, arms)
