"""What a plan is told: finished plays and their means, of all pairs or of those that were seen."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from lumpable.base.errors import BadArgument

Number = TypeVar("Number", np.int64, np.float64)


class Seen(NamedTuple):
    """Pairs with a finished play, numbered row by row (i K + j) and in this order."""

    pairs: IntVector
    plays: IntVector
    mean: FloatVector

    def first(self, number: int) -> Seen:
        """Return the first so many of them, read-only."""
        return Seen(
            checks.read_only(self.pairs[:number]),
            checks.read_only(self.plays[:number]),
            checks.read_only(self.mean[:number]),
        )


class Sample:
    """The answer: finished plays of each pair (D_n) and their mean reward (A-hat_n).

    `mean` is NaN exactly where `plays` is 0; it is the average of plays x repeats rewards. Most
    requests ask for few of all pairs. So a sample can be made of those that were seen, and has its
    matrices made when somebody looks at them.
    """

    __slots__ = ("_mean", "_plays", "_seen", "shape")

    def __init__(self, plays: IntMatrix, mean: FloatMatrix) -> None:
        plays, mean = np.asarray(plays), np.asarray(mean, dtype=np.float64)
        if plays.ndim != 2 or plays.shape != mean.shape:
            shapes = f"{plays.shape} and {mean.shape}"
            raise BadArgument("plays and mean", "two (S, K) arrays", f"{shapes}")
        if plays.dtype.kind not in "iu":
            raise BadArgument("plays", "whole numbers", f"{plays.dtype}")
        plays = plays.astype(np.int64, copy=False)
        if plays.min(initial=0) < 0:
            raise BadArgument("plays", "no negative number", f"{plays.min()}")
        odd = np.isfinite(mean) != (plays > 0)
        if odd.any():
            wrong = f"wrong {place(int(np.argmax(odd)), plays.shape)}"
            expected = "finite where plays is not 0, and NaN elsewhere"
            raise BadArgument("mean", why=f"expected numbers that are {expected}; {wrong}")
        if np.isinf(mean).any():
            raise BadArgument("mean", "NaN where plays is 0", "inf")
        self.shape: tuple[int, int] = plays.shape
        self._plays: IntMatrix | None = checks.read_only(plays)
        self._mean: FloatMatrix | None = checks.read_only(mean)
        self._seen: Seen | None = None

    @classmethod
    def of(cls, shape: tuple[int, int], seen: Seen) -> Sample:
        """Make a sample of the pairs that were seen. Nothing is checked: executors vouch for it."""
        sample = cls.__new__(cls)
        sample.shape = shape
        sample._plays = sample._mean = None
        sample._seen = seen.first(len(seen.pairs))
        return sample

    @property
    def plays(self) -> IntMatrix:
        """Finished plays of each pair."""
        if self._plays is None:
            self._plays = self._spread(0, self.seen.plays)
        return self._plays

    @property
    def mean(self) -> FloatMatrix:
        """Mean reward of each pair; NaN: not seen."""
        if self._mean is None:
            self._mean = self._spread(math.nan, self.seen.mean)
        return self._mean

    @property
    def seen(self) -> Seen:
        """The pairs with a finished play."""
        if self._seen is None:
            pairs = np.flatnonzero(self.plays)
            found = Seen(pairs, self.plays.reshape(-1)[pairs], self.mean.reshape(-1)[pairs])
            self._seen = found.first(len(pairs))
        return self._seen

    def _spread(self, elsewhere: float, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
        matrix = np.full(self.shape, elsewhere, dtype=values.dtype)
        matrix.reshape(-1)[self.seen.pairs] = values
        return checks.read_only(matrix)

    def __repr__(self) -> str:
        return f"Sample({len(self.seen.pairs)} pairs of {self.shape[0]} x {self.shape[1]})"


def place(pair: int, shape: tuple[int, int]) -> str:
    """Name the context and the arm of a pair, numbered row by row."""
    context, arm = divmod(int(pair), shape[1])
    return f"at context {context}, arm {arm}"
