"""Forget a context: a learner as if its rewards had never come.

The cells of other contexts stay to the bit. Groups and strengths are fitted to them alone, without
the fit before, in which the context had its part. A learner that leaves its fits to others believes
in one group until the next one, which is due at once: nobody waits.
"""

from __future__ import annotations

import copy
from typing import TypeVar

import numpy as np

from lumpable.base.archive import Array
from lumpable.learners.engine.clock import TELLS
from lumpable.lumps.core.adoption import expecting
from lumpable.lumps.core.layout import CELLS, LOG, cells_of, lay_out
from lumpable.lumps.core.learning import FIRST_FIT, ONE_GROUP, Levels
from lumpable.lumps.core.state import blank
from lumpable.lumps.core.under_way import regroup
from lumpable.lumps.model.fitted import one_group

AnyLevels = TypeVar("AnyLevels", bound=Levels)


def without(learner: AnyLevels, context: int) -> AnyLevels:
    """Return a learner of the same size without this context and its rewards.

    Contexts after it move up by one number, and its pulls under way are gone.
    """
    others, old = _other_cells(learner, context), learner.state
    state = lay_out(blank(learner.contexts, learner.arms, FIRST_FIT), others)
    state.visits[:] = np.append(np.delete(old.visits, context), 0.0)
    state.allowed[:] = old.allowed
    seen = len(others["arm"]) > 0
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
    if seen and made.fits:
        made.adopt(made.fit(made.counts()))
    elif seen:
        made.adopt(one_group(made.counts()))
        made.next_fit = made.tells
    return made


def _other_cells(learner: Levels, context: int) -> dict[str, Array]:
    """Return the cells of all contexts but this one, and their real rewards."""
    cells = cells_of(learner.state)
    row, log = np.repeat(np.arange(learner.contexts), cells["length"]), cells["log_context"]
    others = {name: cells[name][row != context] for name in CELLS}
    others |= {name: cells[name][log != context] for name in LOG}
    others["log_context"] = others["log_context"] - (others["log_context"] > context)
    others["length"] = np.append(np.delete(cells["length"], context), 0)
    if len(others["log_context"]) == 0:  # without a fence, as coins have none
        others["total"] = others["ones"].copy()
    return others
