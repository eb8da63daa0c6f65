"""What a learner was told, as evidence: the same, to its digest, as the log that told it.

A learner keeps how often each reward came, by user and item, and neither times nor propensities.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lumpable.base.arrays import FloatVector, IntVector
from lumpable.base.units import MICRO, Name
from lumpable.lumps.use.named import Lumps
from lumpable.tables.adding_up import add_up
from lumpable.tables.cleaning import Columns
from lumpable.tables.dirt import Dirt
from lumpable.tables.events import Events


def events_of(lumps: Lumps) -> Events:
    """Return all that a learner was told, of arms that are out of choices, too."""
    counts, named = lumps.core.counts(), lumps._named
    user, item = counts.context[counts.row], counts.arm
    cell, value, times = [np.arange(len(item))] * 2, [np.zeros(len(item)), np.ones(len(item))], []
    others = np.zeros(len(item))
    if counts.others is not None:
        others += np.bincount(counts.others.cell, counts.others.times, len(item))
        cell.append(counts.others.cell)
        value.append(counts.others.value)
        times.append(counts.others.times)
    cells, values = np.concatenate(cell), np.concatenate(value)
    often: FloatVector = np.concatenate([counts.n - counts.s - others, counts.s, *times])
    some = often > 0.5
    cells, micros = cells[some], np.rint(values[some] * MICRO).astype(np.int64)
    users, user_of = _in_order(list(named.contexts.listed), user[cells])
    items, item_of = _in_order(list(named.arms.listed), item[cells])
    keys, whole = add_up([user_of, item_of, micros], np.rint(often[some]).astype(np.int64))
    return Events(
        users, items, keys[0], keys[1], keys[2], whole, None, Columns("user", "item", "reward"),
        named.accepted, Dirt(int(whole.sum()), (), ()), None,
    )  # fmt: skip


def _in_order(names: Sequence[Name], number: IntVector) -> tuple[tuple[Name, ...], IntVector]:
    """Return the names that occur, integers first, each kind in order, and their new numbers."""
    order = sorted(np.unique(number).tolist(), key=lambda k: (isinstance(names[k], str), names[k]))
    new = np.zeros(len(names), np.int64)
    new[order] = np.arange(len(order))
    return tuple(names[k] for k in order), new[number]
