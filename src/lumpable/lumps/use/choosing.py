"""Choices for many contexts before any reward, where limits and floors may hold.

Contexts that no limit can stop are asked at once. The others come after them, one by one, each
among the arms that are left to it; what was chosen before counts as a pull under way.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence

import numpy as np

from lumpable.base.arrays import BoolVector, FloatVector, IntVector
from lumpable.base.units import Name
from lumpable.lumps.core import batches
from lumpable.lumps.use.decisions import check_floor, draw_arm, draw_arms, luck
from lumpable.lumps.use.limits import Limits, left
from lumpable.lumps.use.registry import Core, Named

Chosen = tuple[IntVector, FloatVector]
"""Arms and their propensities."""


def choose_many(
    named: Named[Core], limits: Limits | None, names: Sequence[Name], mask: BoolVector,
    floor: float, chance: Sequence[float],
) -> Chosen:  # fmt: skip
    """Return an arm for each of these contexts and its propensity; changes nothing.

    `chance` is the luck of each row; without a floor none is needed.
    """
    arms, propensity = np.empty(len(names), dtype=np.int64), np.ones(len(names))
    room = {} if limits is None else _near(limits, names, mask)
    free = [row for row, name in enumerate(names) if name not in room] if room else None
    rows = range(len(names)) if free is None else free
    places = np.array([named.place(names[row]) for row in rows], dtype=np.int64)
    if len(rows) > 0 or not names:
        check_floor(floor, mask)
        arms[free if free is not None else slice(None)] = batches.ask_many(named.core, places, mask)
    if floor > 0.0:
        at = np.array(rows, dtype=np.int64)
        arms[at], propensity[at] = draw_arms(arms[at], mask, floor, np.array(chance)[at])
    if free is not None:
        _one_by_one(named, names, free, room, mask, floor, chance, (arms, propensity))
    return arms, propensity


def _near(limits: Limits, names: Sequence[Name], mask: BoolVector) -> dict[Name, FloatVector]:
    """Return what is left to the contexts that a limit may stop in this batch."""
    rooms = ((name, limits.room(name), times) for name, times in Counter(names).items())
    return {name: room for name, room, times in rooms if (room[mask] < times).any()}


def _one_by_one(
    named: Named[Core], names: Sequence[Name], free: list[int], room: dict[Name, FloatVector],
    mask: BoolVector, floor: float, chance: Sequence[float], chosen: Chosen,
) -> None:  # fmt: skip
    """Fill in the rows that are not free, in an order of chance."""
    core, (arms, propensity) = _counting_apart(named.core), chosen
    for row in free:
        core.expect(row, names[row], int(arms[row]))
    near = [row for row, name in enumerate(names) if name in room]
    for row in sorted(near, key=lambda row: luck(names[row], core.tells)):
        name = names[row]
        choices = left(name, mask, room[name])
        check_floor(floor, choices)
        best = core.ask(named.place(name), choices)
        u = chance[row] if floor > 0.0 else 0.0
        arms[row], propensity[row] = draw_arm(best, choices, floor, u)
        room[name][arms[row]] -= 1.0
        core.expect(row, name, int(arms[row]))


def _counting_apart(core: Core) -> Core:
    """Return a copy that shares all but the pulls under way."""
    apart, state = copy.copy(core), core.state
    own = state._replace(pending=state.pending.copy(), group_visits=state.group_visits.copy())
    apart.become(own, under_way={})
    return apart
