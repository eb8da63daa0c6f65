"""The arrays that a saved learner consists of, each with its law, and how they are read.

Anything that no learner could have written is an error before it is used.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import msgspec
import numpy as np

from lumpable.base import archive
from lumpable.base.archive import Array
from lumpable.base.errors import BadArgument
from lumpable.lumps.core.state import VALUES
from lumpable.lumps.model.ends import Ends
from lumpable.lumps.model.fit import Fit, Scale
from lumpable.lumps.model.scores import Score
from lumpable.lumps.model.worth import Worth

HUGE = float(np.finfo(np.float64).max)
TINY = math.nextafter(0.0, 1.0)
MOST_ARMS = 2**31 - 1


class Law(NamedTuple):
    """What an array must be: its axes, and the least and the largest number in it."""

    axes: str
    """S contexts, K arms, M groups, q factors, c cells, l real rewards, k knots of the score, w
    groups with a worth, v values, e two ends with their variance, C contexts and A arms fitted."""
    low: float = -HUGE
    high: float = HUGE
    kind: str = "f"


CELLS = {
    "length": Law("S", 0, MOST_ARMS, "i"),
    "arm": Law("c", 0, MOST_ARMS, "i"),
    "pulls": Law("c", TINY),
    "ones": Law("c", 0.0),
    "total": Law("c"),
    "log_context": Law("l", 0, HUGE, "i"),
    "log_arm": Law("l", 0, MOST_ARMS, "i"),
    "log_value": Law("l"),
    "log_count": Law("l", TINY),
}
"""The rows of cells, one after the other, and the rewards that are neither 0 nor 1."""
BELIEFS = {
    "visits": Law("S", 0.0),
    "log_weight": Law("SM", -math.inf),
    "group_pulls": Law("MK", 0.0),
    "group_total": Law("MK"),
    "group_visits": Law("M", 0.0),
    "pending": Law("MK", 0.0),
    "centre": Law("K"),
    "prior_weight": Law("K", TINY, math.inf),
    "value": Law("v", -HUGE, math.inf),
    "loading": Law("Kq"),
    "precision_mean": Law("Sq"),
    "precision": Law("Sqq"),
    "allowed": Law("K", 0, 1, "b"),
    "knot": Law("k"),
    "grade": Law("k", 0.0, 1.0),
    "phi": Law("K", TINY, 1.0),
    "worth_pulls": Law("wK", 0.0),
    "worth_total": Law("wK"),
    "noise": Law("wK", TINY),
    "worth_centre": Law("K"),
    "hold": Law("K", TINY, math.inf),
    "worth_loading": Law("Kr"),
}
"""Arrays of the state that are saved; the others are room to calculate."""
FITTED = {
    "context": Law("C", 0, HUGE, "i"),
    "member": Law("CM", 0.0, 1.0),
    "pulls": Law("AM", 0.0),
    "totals": Law("AM"),
    "share": Law("M", -HUGE, 0.0),
    "centre": Law("A"),
    "prior_weight": Law("A", TINY, math.inf),
    "loading": Law("Aq"),
    "kappa": Law("", TINY, math.inf),
    "m0": Law("", TINY, math.inf),
    "k0": Law("", TINY, math.inf),
    "p0": Law(""),
    "rewards": Law("", 0.0, math.inf),
    "evidence": Law("", -math.inf, math.inf),
    "doubt": Law("", 0.0, 1.0),
}
"""The last fit, ..."""
SCORED = {
    "knot": Law("k"),
    "grade": Law("k", 0.0, 1.0),
    "low": Law(""),
    "high": Law(""),
    "phi": Law("A", TINY, 1.0),
}
"""... how it scored real rewards, ..."""
WORTH = {
    "pulls": Law("AM", 0.0),
    "totals": Law("AM"),
    "noise": Law("AM", TINY),
    "between": Law("", TINY),
    "centre": Law("A"),
    "hold": Law("A", TINY, math.inf),
    "own": Law("", TINY, math.inf),
    "p0": Law(""),
    "t0": Law("", TINY),
    "loading": Law("Aq"),
    "ceiling": Law("", -HUGE, math.inf),
    "ends": Law("e"),
}
"""... and what it found them worth."""

ON_DISK = {"prior_weight": "hold", "precision_mean": "force", "precision": "grip", "hold": "sure"}
"""Names that files use where they differ from those of the arrays."""


def on_disk(name: str) -> str:
    """Return the name of an array in a file."""
    return ON_DISK.get(name, name)


def damage_error(why: str) -> BadArgument:
    """Return the error for a file that holds what no learner could have written."""
    return BadArgument("path", why=why)


class Shelf:
    """The arrays of an open file, each checked against its law."""

    def __init__(self, reader: archive.Reader, sizes: dict[str, int], size: int) -> None:
        self._reader, self._sizes, self._size = (
            reader,
            {**sizes, "v": VALUES, "e": len(Ends._fields)},
            size,
        )

    def arrays(self, laws: dict[str, Law], prefix: str = "") -> dict[str, Array]:
        """Return arrays of the right shape and type, that can be written."""
        return {name: self._array(prefix + on_disk(name), law) for name, law in laws.items()}

    def values(self, laws: dict[str, Law], prefix: str) -> dict[str, Any]:
        """Return the same, those without axes as numbers."""
        arrays = self.arrays(laws, prefix)
        return {name: array if array.ndim else array.item() for name, array in arrays.items()}

    def _array(self, name: str, law: Law) -> Array:
        shape = tuple(self._sizes[axis] for axis in law.axes)
        flat = self._vector(name, law.kind, math.prod(shape))
        dtype = {"f": np.float64, "i": np.int64, "b": np.bool_}[law.kind]
        array: Array = flat.astype(dtype).reshape(shape)
        wrong = ~((array >= law.low) & (array <= law.high))
        if wrong.any():
            between = f"numbers from {law.low:g} to {law.high:g}"
            raise damage_error(f"{name}: expected {between}, got {array[wrong][0]}")
        return array

    def _vector(self, name: str, kind: str, length: int) -> Array:
        """Return a vector of this length, which no file smaller than itself can hold."""
        if length > self._size:
            words = f"{length} numbers in a file of {self._size} bytes"
            raise damage_error(f"{name}: the header says {words}")
        flat = self._reader.array(name, kind, length)
        if len(flat) != length:
            raise damage_error(f"{name}: expected {length} numbers, got {len(flat)}")
        return flat

    def vector(self, name: str, length: int) -> Array:
        """Return a vector of this many numbers."""
        return self._vector(on_disk(name), "f", length)

    def extra(self, length: int) -> dict[str, object]:
        """Return what was saved beside the learner."""
        raw = self._vector("extra", "u", length).tobytes()
        try:
            return msgspec.json.decode(raw, type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError) as cause:
            raise damage_error(f"extra is damaged: {cause}") from None

    def fit(self, *, real: bool) -> Fit:
        """Return the last fit, of real rewards or of coins."""
        fit = Fit(**self.values(FITTED, "fit-"))
        if not real:
            return fit
        score = self.values(SCORED, "fit-score-")
        phi, worth = score.pop("phi"), self.values(WORTH, "fit-worth-")
        worth["ends"] = Ends(*worth["ends"].tolist())
        return Fit(**{**vars(fit), "scale": Scale(Score(**score), phi, Worth(**worth))})


def to_write(fit: Fit) -> dict[str, Array]:
    """Return the arrays of a fit, by their names in a file."""
    arrays = {f"fit-{on_disk(name)}": getattr(fit, name) for name in FITTED}
    if fit.scale is not None:
        score = {**fit.scale.score._asdict(), "phi": fit.scale.phi}
        arrays |= {f"fit-score-{on_disk(name)}": score[name] for name in SCORED}
        arrays |= {f"fit-worth-{on_disk(name)}": getattr(fit.scale.worth, name) for name in WORTH}
    return arrays
