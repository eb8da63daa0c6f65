"""The cells in use, row after row, and a state with them: where they lie changes no choice."""

from __future__ import annotations

import numpy as np

from lumpable.base.archive import Array
from lumpable.lumps.levels import ThreeLevels
from lumpable.lumps.state import State


def cells_of(learner: ThreeLevels) -> dict[str, Array]:
    """Return the length of each context's row, and all rows' cells in the order they came in."""
    state = learner.state
    end = np.cumsum(state.length)
    at = np.arange(end[-1]) + np.repeat(state.start - (end - state.length), state.length)
    return {"length": state.length} | {
        name: getattr(state, name)[at] for name in ("arm", "pulls", "total")
    }


def laid_out(state: State, cells: dict[str, Array]) -> State:
    """Return a state with these cells, as `cells_of` returns them, and room for the next ones."""
    length, arms = cells["length"], len(state.mean)
    spare = np.zeros(2 * arms + 4)
    return state._replace(
        start=np.cumsum(length) - length,
        length=length,
        room=length.copy(),
        arm=np.concatenate([cells["arm"], spare]).astype(np.int32),
        pulls=np.concatenate([cells["pulls"], spare]),
        total=np.concatenate([cells["total"], spare]),
        used=np.array([length.sum()]),
    )
