"""How cells lie in the arrays of a state: rows with room, read out and laid out anew.

Where cells lie changes no choice.
"""

from __future__ import annotations

import numpy as np

from lumpable.base.archive import Array
from lumpable.base.arrays import IntVector
from lumpable.lumps.core.state import FIRST_LOG, State
from lumpable.lumps.model.counts import Counts, Others, blocks

CELLS = ("arm", "pulls", "ones", "total")
LOG = ("log_context", "log_arm", "log_value", "log_count")


def counts_of(state: State) -> Counts:
    """Return all that was seen: copies, so that a fit of them may run anywhere."""
    context, first = _rows(state)
    arm, pulls, ones = (np.empty(first[-1], dtype=kind) for kind in (np.int64, float, float))
    for rows, part in blocks(first):
        at = _in_order(state, context[rows])
        arm[part], pulls[part], ones[part] = state.arm[at], state.pulls[at], state.ones[at]
    return Counts(
        context, first, arm, pulls, ones, len(state.mean), float(state.visits.sum()),
        _others(state, context, first, arm),
    )  # fmt: skip


def cell_places(state: State) -> IntVector:
    """Return the place of each cell, by context and arm."""
    context, first = _rows(state)
    place = np.empty(first[-1], dtype=np.int64)
    for rows, part in blocks(first):
        place[part] = _in_order(state, context[rows])
    return place


def _rows(state: State) -> tuple[IntVector, IntVector]:
    """Return the contexts with cells, and where their cells begin."""
    context = np.flatnonzero(state.length)
    return context, np.concatenate([[0], np.cumsum(state.length[context])])


def _in_order(state: State, contexts: IntVector) -> IntVector:
    """Return the places of the cells of these contexts, by context and arm."""
    row, at = cells_at(state, contexts)
    key = row * len(state.mean) + state.arm[at]
    if (key[1:] > key[:-1]).all():
        return at
    return at[np.argsort(key)]


def cells_at(state: State, contexts: IntVector) -> tuple[IntVector, IntVector]:
    """Return the places of the cells of these contexts: the row of each here, and where it lies."""
    length = state.length[contexts]
    row = np.repeat(np.arange(len(contexts)), length)
    before = np.cumsum(length) - length
    return row, np.arange(len(row)) + (state.start[contexts] - before)[row]


def _others(state: State, contexts: IntVector, first: IntVector, arms: IntVector) -> Others | None:
    """Return the rewards that are neither 0 nor 1, in the order of these cells."""
    logged = int(state.logged[0])
    if logged == 0:
        return None
    key = np.repeat(contexts * len(state.mean), np.diff(first)) + arms
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
    longer = dict[str, Array]()
    for name in names:
        array = getattr(state, name)
        longer[name] = np.zeros(len(array) + more, dtype=array.dtype)  # room takes no memory yet
        longer[name][: len(array)] = array
    return longer


def with_rows_for(state: State, contexts: IntVector) -> State:
    """Return a state whose rows have room for cells of these contexts, before they come.

    A row that could become too short moves once, to where there is room for all of them; a row that
    had moved before gets twice its room at least, or many small batches would take a lot.
    """
    if len(contexts) < len(state.length):
        row, more = np.unique(contexts, return_counts=True)
    else:
        more = np.bincount(contexts, minlength=len(state.length))
        row = np.flatnonzero(more)
        more = more[row]
    need = np.minimum(state.length[row] + more, len(state.mean))
    short = need > state.room[row]
    if not short.any():
        return state
    row, need = row[short], need[short]
    wide = np.maximum(np.maximum(4, 2 * state.room[row]), need)
    places = int(wide.sum())
    state = with_room(state, places)
    used = int(state.used[0])
    start, room = state.start.copy(), state.room.copy()
    start[row], room[row] = used + np.cumsum(wide) - wide, wide
    _, old = cells_at(state, row)
    moved = state._replace(start=start, room=room, used=np.array([used + places]))
    _, new = cells_at(moved, row)
    for name in CELLS:  # to places that are not in use
        cells = getattr(state, name)
        cells[new] = cells[old]
    return moved
