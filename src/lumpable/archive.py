"""Files of arrays: a JSON header and `.npy` members in one zip, written atomically, no pickle.

Knows arrays and bytes, nothing of what they mean, but for `Packed`: a sample as it lies on disk.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from lumpable.checks import FloatVector
from lumpable.durable import replacing
from lumpable.plan import Sample

HEADER = "header.json"
HEADER_LIMIT = 1 << 20
NPY_OVERHEAD = 1 << 10
Array = npt.NDArray[Any]


def write(path: Path, header: bytes, arrays: Mapping[str, Array]) -> None:
    """Write a file whole: a crash leaves the old one or the new one, never a part."""
    with (
        replacing(path, mode=0o600) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as members,
    ):
        members.writestr(HEADER, header)
        for name, array in arrays.items():
            with members.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


class Reader:
    """An open file. Whatever is wrong with it is a `ValueError`, before memory is taken."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise ValueError(f"path: expected a saved file, got {str(path)!r}, which is none")
        try:
            self._zip = zipfile.ZipFile(path)
        except Exception as cause:  # a damaged zip fails in many ways
            raise ValueError(f"path: {str(path)!r} is damaged or no saved file: {cause}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    @property
    def header(self) -> bytes:
        """The JSON header."""
        return self._read(HEADER, HEADER_LIMIT)

    def array(self, name: str, kind: str, most: int) -> Array:
        """Return a vector of at most `most` numbers of this kind (i, u or f)."""
        raw = self._read(f"{name}.npy", 8 * most + NPY_OVERHEAD)
        stream = io.BytesIO(raw)
        try:
            version = np.lib.format.read_magic(stream)
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        except Exception as cause:  # so does a damaged array
            raise ValueError(f"path: {name} is damaged: {cause}") from None
        held = len(raw) - stream.tell()
        if version != (1, 0) or len(shape) != 1 or dtype.kind != kind:
            raise ValueError(f"path: {name} is not what was saved: {dtype} of shape {shape}")
        if dtype.itemsize * shape[0] != held:
            raise ValueError(f"path: {name} says {shape[0]} numbers and holds {held} bytes")
        return np.frombuffer(raw, dtype=dtype, offset=stream.tell())

    def _read(self, name: str, limit: int) -> bytes:
        try:
            size = self._zip.getinfo(name).file_size
            data = self._zip.read(name) if size <= limit else b""
        except Exception as cause:  # a damaged zip fails in many ways
            raise ValueError(f"path: {name} is missing or damaged: {cause}") from None
        if size > limit:
            raise ValueError(f"path: {name} takes {size} bytes, expected at most {limit}")
        return data


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """A sample without its empty cells: one bit for each cell, plays and means of the touched."""

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
            raise ValueError(f"path: a sample has {self.touched.size} bytes of cells for {shape}")
        touched = np.unpackbits(self.touched, count=cells).astype(bool)
        if not len(self.plays) == len(self.mean) == touched.sum():
            raise ValueError("path: a sample has not as many means as cells")
        plays, mean = np.zeros(cells, dtype=np.int64), np.full(cells, np.nan)
        plays[touched], mean[touched] = self.plays, self.mean
        return Sample(plays.reshape(shape), mean.reshape(shape))
