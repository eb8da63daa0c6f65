"""How cells lie in the arrays of a state: rows with room, read out and laid out anew.

Where cells lie changes no choice.
"""

from __future__ import annotations

import numpy as np

from lumpable.base.archive import Array
from lumpable.base.arrays import IntVector
from lumpable.lumps.core.state import FIRST_LOG, State
from lumpable.lumps.model.counts import Counts, Others

CELLS = ("arm", "pulls", "ones", "total")
LOG = ("log_context", "log_arm", "log_value", "log_count")


def counts_of(state: State) -> Counts:
    """Return all that was seen: copies, so that a fit of them may run anywhere."""
    arms = len(state.mean)
    context, first, at = cell_places(state)
    arm = state.arm[at].astype(np.int64)
    key = np.repeat(context * arms, np.diff(first)) + arm
    return Counts(
        context, first, arm, state.pulls[at], state.ones[at], arms, float(state.visits.sum()),
        _others(state, key),
    )  # fmt: skip


def cell_places(state: State) -> tuple[IntVector, IntVector, IntVector]:
    """Return the contexts with cells, where their cells begin, and the place of each cell."""
    context = np.flatnonzero(state.length)
    length = state.length[context]
    first = np.concatenate([[0], np.cumsum(length)])
    row = np.repeat(np.arange(len(context)), length)
    at = np.arange(first[-1]) - first[row] + state.start[context][row]
    return context, first, at[np.argsort(row * len(state.mean) + state.arm[at])]


def cells_at(state: State, contexts: IntVector) -> tuple[IntVector, IntVector]:
    """Return the places of the cells of these contexts: the row of each here, and where it lies."""
    length = state.length[contexts]
    row = np.repeat(np.arange(len(contexts)), length)
    before = np.cumsum(length) - length
    return row, np.arange(len(row)) + (state.start[contexts] - before)[row]


def _others(state: State, key: IntVector) -> Others | None:
    """Return the rewards that are neither 0 nor 1, of cells with these keys, in order."""
    logged = int(state.logged[0])
    if logged == 0:
        return None
    context, arm, value, count = (getattr(state, name)[:logged] for name in LOG)
    cell = np.searchsorted(key, context.astype(np.int64) * len(state.mean) + arm)
    order = np.lexsort((value, cell))
    cell, value, count = cell[order], value[order], count[order]
    new = np.append(True, (np.diff(cell) != 0) | (np.diff(value) != 0.0))
    at = np.flatnonzero(new)
    return Others(cell[at], value[at], np.add.reduceat(count, at))


def cells_of(state: State) -> dict[str, Array]:
    """Return the length of each context's row, and all rows' cells in the order they came in.

    And the rewards that are neither 0 nor 1.
    """
    end = np.cumsum(state.length)
    at = np.arange(end[-1]) + np.repeat(state.start - (end - state.length), state.length)
    cells = {name: getattr(state, name)[at] for name in CELLS}
    log = {name: getattr(state, name)[: state.logged[0]] for name in LOG}
    return {"length": state.length} | cells | log


def lay_out(state: State, cells: dict[str, Array]) -> State:
    """Return a state with these cells, as `cells_of` returns them, and room for the next ones."""
    length, arms = cells["length"], len(state.mean)
    spare = np.zeros(2 * arms + 4)
    rows = {
        name: np.concatenate([cells[name], spare]).astype(getattr(state, name).dtype)
        for name in CELLS
    }
    return with_log(state, *(cells[name] for name in LOG))._replace(
        start=np.cumsum(length) - length, length=length, room=length.copy(),
        used=np.array([length.sum()]), **rows,
    )  # fmt: skip


def with_log(state: State, *columns: Array) -> State:
    """Return a state that keeps these real rewards, and has room for more."""
    logged = len(columns[0])
    room = max(FIRST_LOG, logged // 4)
    log = {
        name: np.concatenate([column, np.zeros(room)]).astype(getattr(state, name).dtype)
        for name, column in zip(LOG, columns, strict=True)
    }
    return state._replace(logged=np.array([logged]), **log)


def with_room(state: State, places: int = 0, rewards: int = 0) -> State:
    """Return a state with room for the next cell and real reward, or for as many as this."""
    held, least = len(state.arm), 2 * len(state.mean) + 4  # as in `steps.full`
    need = int(state.used[0]) + places + least
    if need > held:
        state = state._replace(**_longer(state, CELLS, max(held + least, need - held)))
    held, need = len(state.log_value), int(state.logged[0]) + rewards + 1
    if need > held:
        state = state._replace(**_longer(state, LOG, max(held, need - held)))
    return state


def _longer(state: State, names: tuple[str, ...], more: int) -> dict[str, Array]:
    arrays = {name: getattr(state, name) for name in names}
    return {
        name: np.concatenate([array, np.zeros(more, dtype=array.dtype)])
        for name, array in arrays.items()
    }


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
