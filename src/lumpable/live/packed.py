"""A sample in the form in which a session is saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from lumpable.base.archive import Array, Reader
from lumpable.base.arrays import FloatVector
from lumpable.base.errors import BadArgument
from lumpable.plans.seen import Sample


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """A sample without its empty cells: one bit for each cell, plays and means of the others."""

    touched: npt.NDArray[np.uint8]
    plays: Array
    mean: FloatVector

    @classmethod
    def of(cls, sample: Sample) -> Self:
        """Pack a sample; plays take the smallest type that holds them."""
        touched = sample.plays > 0
        plays = sample.plays[touched]
        dtype = np.min_scalar_type(int(plays.max(initial=0)))
        return cls(np.packbits(touched), plays.astype(dtype), sample.mean[touched])

    def arrays(self) -> dict[str, Array]:
        """Return the three arrays by name."""
        return {"touched": self.touched, "plays": self.plays, "mean": self.mean}

    @classmethod
    def read(cls, reader: Reader, prefix: str, shape: tuple[int, int]) -> Self:
        """Read the three arrays back."""
        size = shape[0] * shape[1]
        kinds = {"touched": "u", "plays": "u", "mean": "f"}
        return cls(*(reader.array(prefix + name, kind, size) for name, kind in kinds.items()))

    def sample(self, shape: tuple[int, int]) -> Sample:
        """Return the sample; arrays that do not fit the shape are an error."""
        cells = shape[0] * shape[1]
        if self.touched.dtype != np.uint8 or self.touched.size != (cells + 7) // 8:
            raise BadArgument(
                "path", why=f"a sample has {self.touched.size} bytes of cells for {shape}"
            )
        touched = np.unpackbits(self.touched, count=cells).astype(bool)
        if not len(self.plays) == len(self.mean) == touched.sum():
            raise BadArgument("path", why="a sample needs as many means as cells")
        plays, mean = np.zeros(cells, dtype=np.int64), np.full(cells, np.nan)
        plays[touched], mean[touched] = self.plays, self.mean
        return Sample(plays.reshape(shape), mean.reshape(shape))
