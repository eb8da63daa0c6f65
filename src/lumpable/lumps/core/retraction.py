"""Take back a reward that was told: another one took its place.

Its cell is as if it had never come; the groups learn of it with the next fit, a function of cells.
"""

from __future__ import annotations

import numpy as np

from lumpable.base.errors import BadArgument
from lumpable.learners.engine.clock import TELLS
from lumpable.lumps.core.layout import CELLS, LOG, with_room
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.state import HIGH, LOW, REAL, State
from lumpable.lumps.core.steps import TINIEST


def retract(learner: Levels, context: int, arm: int, reward: float) -> None:
    """Take back one reward of this value."""
    learner.finish()
    state, reward = learner.state, 0.0 if abs(reward) < TINIEST else reward
    at = np.flatnonzero(_row(state, context) == arm)
    if len(at) == 0:
        raise BadArgument("reward", "one that was told", f"{reward:g}")
    c = int(state.start[context] + at[0])
    coin = reward in (0.0, 1.0)
    if not coin:
        learner.become(_without_one(state, context, arm, reward))
        state = learner.state
    else:
        state.ones[c] -= reward
    real = state.value[REAL] > 0.0
    low, high = (float(state.value[LOW]), float(state.value[HIGH])) if real else (0.0, 1.0)
    state.total[c] -= min(max(reward, low), high)
    if not (real or coin or _has_real(state, context, arm)):  # nothing of a fraction is left
        state.total[c] = state.ones[c]
    state.pulls[c] -= 1.0
    state.visits[context] -= 1.0
    learner.clock[TELLS] -= np.uint64(1)
    if state.pulls[c] == 0.0:
        _close(state, context, c)


def _row(state: State, context: int) -> np.ndarray:
    first = state.start[context]
    return state.arm[first : first + state.length[context]]


def _has_real(state: State, context: int, arm: int) -> bool:
    """Whether a cell still has a real reward."""
    logged = int(state.logged[0])
    own = (state.log_context[:logged] == context) & (state.log_arm[:logged] == arm)
    return bool(own.any())


def _close(state: State, context: int, c: int) -> None:
    """Remove an empty cell: the last one of its row takes its place."""
    last = int(state.start[context] + state.length[context] - 1)
    for name in CELLS:
        getattr(state, name)[c] = getattr(state, name)[last]
    state.length[context] -= 1


def _without_one(state: State, context: int, arm: int, reward: float) -> State:
    """Return the state with one real reward less in its log."""
    logged = int(state.logged[0])
    same = (
        (state.log_context[:logged] == context)
        & (state.log_arm[:logged] == arm)
        & (state.log_value[:logged] == reward)
    )
    if not same.any():
        raise BadArgument("reward", "one that was told", f"{reward:g}")
    k = int(np.flatnonzero(same)[-1])
    columns = {name: getattr(state, name).copy() for name in LOG}
    columns["log_count"][k] -= 1.0
    if columns["log_count"][k] == 0.0:
        for column in columns.values():
            column[k : logged - 1] = column[k + 1 : logged]
        logged -= 1
    return with_room(state._replace(logged=np.array([logged]), **columns))
