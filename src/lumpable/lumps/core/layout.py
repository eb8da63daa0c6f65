"""How cells lie in the arrays of a state: rows with room, read out and laid out anew.

Where cells lie changes no choice.
"""

from __future__ import annotations

import numpy as np

from lumpable.base.archive import Array
from lumpable.base.arrays import IntVector
from lumpable.lumps.core.state import REAL, SQUARES, State
from lumpable.lumps.model.counts import Counts


def counts_of(state: State) -> Counts:
    """Return all that was seen: copies, so that a fit of them may run anywhere."""
    arms = len(state.mean)
    context = np.flatnonzero(state.length)
    length = state.length[context]
    first = np.concatenate([[0], np.cumsum(length)])
    row = np.repeat(np.arange(len(context)), length)
    at = np.arange(first[-1]) - first[row] + state.start[context][row]
    at = at[np.argsort(row * arms + state.arm[at])]
    return Counts(
        context, first, state.arm[at].astype(np.int64), state.pulls[at], state.total[at],
        arms, bool(state.value[REAL]), float(state.value[SQUARES]),
    )  # fmt: skip


def cells_of(state: State) -> dict[str, Array]:
    """Return the length of each context's row, and all rows' cells in the order they came in."""
    end = np.cumsum(state.length)
    at = np.arange(end[-1]) + np.repeat(state.start - (end - state.length), state.length)
    return {"length": state.length} | {
        name: getattr(state, name)[at] for name in ("arm", "pulls", "total")
    }


def lay_out(state: State, cells: dict[str, Array]) -> State:
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


def with_room(state: State, places: int = 0) -> State:
    """Return a state with room for the next cell, or for rows that take this many places."""
    held, least = len(state.arm), 2 * len(state.mean) + 4  # as in `steps.full`
    need = int(state.used[0]) + places + least
    if need <= held:
        return state
    more = np.zeros(max(held + least, need - held))
    return state._replace(
        arm=np.concatenate([state.arm, more.astype(np.int32)]),
        pulls=np.concatenate([state.pulls, more]),
        total=np.concatenate([state.total, more]),
    )


def places_for(state: State, contexts: IntVector) -> int:
    """Return how many places rewards of these contexts can take at most, before they come.

    A row that is full moves to where there is room for twice as many cells, as in `steps.cell`.
    """
    row, more = np.unique(contexts, return_counts=True)
    room = state.room[row]
    need = np.minimum(state.length[row] + more, len(state.mean))
    need, room = need[need > room], room[need > room]
    first = np.maximum(4, 2 * room)
    moves = np.ceil(np.log2(np.maximum(need / first, 1.0))).astype(np.int64)
    return int((first * (2 ** (moves + 1) - 1)).sum())
