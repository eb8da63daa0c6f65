"""Forget a context: a learner as if its rewards had never come.

The cells of other contexts stay to the bit. Groups and strengths are fitted to them alone, without
the fit before, in which the context had its part.
"""

from __future__ import annotations

import numpy as np

from lumpable.learners.engine.clock import TELLS
from lumpable.lumps import search
from lumpable.lumps.layout import cells_of, laid_out
from lumpable.lumps.levels import ThreeLevels
from lumpable.lumps.state import REAL, SQUARES


def without(learner: ThreeLevels, context: int) -> ThreeLevels:
    """Return a learner of the same size that never heard of this context.

    Contexts after it move up by one number. That rewards are real is not forgotten, and of the
    squares of real rewards, which are one sum for all, its part is taken out by its share.
    """
    made = ThreeLevels(learner.contexts, learner.arms, seed=learner.seed)
    cells, old = cells_of(learner), learner.state
    row = np.repeat(np.arange(learner.contexts), cells["length"])
    kept = {name: array[row != context] for name, array in cells.items() if name != "length"}
    kept["length"] = np.append(np.delete(cells["length"], context), 0)
    made.state = laid_out(made.state, kept)
    made.state.visits[:] = np.append(np.delete(old.visits, context), 0.0)
    made.state.allowed[:] = old.allowed
    made.clock[TELLS] = learner.tells - int(old.visits[context])
    if len(kept["arm"]) > 0:
        n, s = kept["pulls"], kept["total"]
        free = (cells["pulls"].sum() - len(row), n.sum() - len(n))
        part = free[1] / free[0] if free[0] > 0 else 0.0
        real = old.value[REAL] > 0.0
        made.state.value[REAL] = real
        made.state.value[SQUARES] = old.value[SQUARES] * part if real else (s * (n - s) / n).sum()
    made._connect()
    if len(kept["arm"]) > 0:
        made.adopt(search.fit(made.counts()))
    return made
