"""Events as evidence: who had what, what came of it, and how often."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import msgspec
import numpy as np

from lumpable.base.arrays import FloatVector, IntVector
from lumpable.base.units import MICRO, Name
from lumpable.base.words import counted
from lumpable.lumps.use.rewards import Accepted
from lumpable.tables.adding_up import blocks
from lumpable.tables.cleaning import Columns
from lumpable.tables.dirt import Dirt


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """What a log says, in a form that does not depend on the order of its rows.

    Row k: `times[k]` events of user `users[user[k]]` with item `items[item[k]]`, each of which
    had a reward of `reward[k]` millionths, and was chosen with probability `propensity[k]`. Rows
    are sorted, and no two are the same. Columns of places and times may have 32 bits.
    """

    users: tuple[Name, ...]
    items: tuple[Name, ...]
    user: IntVector
    item: IntVector
    reward: IntVector
    times: IntVector
    propensity: FloatVector | None
    """None: the log does not say."""
    columns: Columns
    accepted: Accepted
    dirt: Dirt
    span: tuple[int, int] | None
    """The first and the last time, in microseconds since 1970; None: the log does not say."""

    def __repr__(self) -> str:
        users, items = counted(len(self.users), "user"), counted(len(self.items), "item")
        return f"Events: {len(self):,} of {users} and {items}. {self.dirt.words}"

    def __len__(self) -> int:
        """Return how many events count."""
        return int(self.times.sum())

    @property
    def value(self) -> FloatVector:
        """Rewards as numbers."""
        value: FloatVector = self.reward / MICRO
        return value

    def evidence(self) -> tuple[IntVector, IntVector, IntVector, IntVector]:
        """Return user, item, reward in millionths and times, whatever the propensities are."""
        columns = self.user, self.item, self.reward
        if self.propensity is None or len(self.times) == 0:
            return *columns, self.times
        new = np.logical_or.reduce([np.diff(column) != 0 for column in columns])
        at = np.flatnonzero(np.append(True, new))
        user, item, reward = (column[at] for column in columns)
        return user, item, reward, np.add.reduceat(self.times, at, dtype=np.int64)

    def digest(self) -> str:
        """Return the SHA-256 of the evidence: the same for the same events, however they came."""
        whole = hashlib.sha256(msgspec.msgpack.encode([self.users, self.items]))
        for column in self.evidence():
            for part in blocks(len(column)):
                whole.update(column[part].astype("<i8").tobytes())
        return whole.hexdigest()
