"""Forget a context: a learner as if its rewards had never come.

The cells of other contexts stay to the bit. Groups and strengths are fitted to them alone, without
the fit before, in which the context had its part.
"""

from __future__ import annotations

import copy
from typing import TypeVar

import numpy as np

from lumpable.base.archive import Array
from lumpable.learners.engine.clock import TELLS
from lumpable.lumps.core.adoption import expecting
from lumpable.lumps.core.layout import cells_of, lay_out
from lumpable.lumps.core.learning import FIRST_FIT, ONE_GROUP, Levels
from lumpable.lumps.core.state import REAL, SQUARES, State, blank
from lumpable.lumps.core.under_way import regroup

AnyLevels = TypeVar("AnyLevels", bound=Levels)


def without(learner: AnyLevels, context: int) -> AnyLevels:
    """Return a learner of the same size without this context and its rewards.

    Contexts after it move up by one number, and its pulls under way are gone. That rewards are real
    is not forgotten, and of the squares of real rewards, which are one sum for all, its part is
    taken out by its share.
    """
    cells, old = cells_of(learner.state), learner.state
    row = np.repeat(np.arange(learner.contexts), cells["length"])
    others = {name: array[row != context] for name, array in cells.items() if name != "length"}
    others["length"] = np.append(np.delete(cells["length"], context), 0)
    state = lay_out(blank(learner.contexts, learner.arms, FIRST_FIT), others)
    state.visits[:] = np.append(np.delete(old.visits, context), 0.0)
    state.allowed[:] = old.allowed
    seen = len(others["arm"]) > 0
    if seen:
        state.value[REAL] = old.value[REAL] > 0.0
        state.value[SQUARES] = _squares(old, cells, others)
    clock = learner.clock.copy()
    clock[TELLS] = learner.tells - int(old.visits[context])
    numbers = {name: i - (i > context) for name, i in learner.numbers.items() if i != context}
    gone = learner.numbers.keys() - numbers.keys()
    pulls = {id: pull for id, pull in learner.under_way.items() if pull.context not in gone}
    pulls = regroup(pulls, numbers, state.log_weight, ONE_GROUP)
    made = copy.copy(learner)
    made.become(
        expecting(state, pulls), clock=clock, last_fit=None, next_fit=FIRST_FIT, under_way=pulls,
        numbers=numbers,
    )  # fmt: skip
    if seen:
        made.adopt(made.fit(made.counts()))
    return made


def _squares(old: State, cells: dict[str, Array], others: dict[str, Array]) -> float:
    """Return the squared distances of the other contexts' rewards from their cells' averages."""
    n, s = others["pulls"], others["total"]
    if old.value[REAL] == 0.0:
        return float((s * (n - s) / n).sum())
    free = cells["pulls"].sum() - len(cells["pulls"]), n.sum() - len(n)
    part = free[1] / free[0] if free[0] > 0 else 0.0
    return float(old.value[SQUARES] * part)
