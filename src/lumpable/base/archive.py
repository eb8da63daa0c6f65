"""Files of arrays: a JSON header and `.npy` members in one zip, written atomically, no pickle.

Knows arrays and bytes, nothing of what they mean.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
import numpy.typing as npt

from lumpable.base.errors import BadArgument
from lumpable.base.files import replacing

HEADER = "header.json"
HEADER_LIMIT = 1 << 26
NPY_OVERHEAD = 1 << 10
Array = npt.NDArray[Any]


def write(path: Path, header: bytes, arrays: Mapping[str, Array]) -> None:
    """Write a file whole: a crash leaves the old one or the new one, never a part."""
    with replacing(path, mode=0o600) as file:
        _pack(file, header, arrays)


def pack(header: bytes, arrays: Mapping[str, Array]) -> bytes:
    """Return what a file would hold."""
    file = io.BytesIO()
    _pack(file, header, arrays)
    return file.getvalue()


def _pack(file: IO[bytes], header: bytes, arrays: Mapping[str, Array]) -> None:
    if len(header) > HEADER_LIMIT:  # it could never be read
        raise BadArgument("header", f"at most {HEADER_LIMIT} bytes", f"{len(header)}")
    members = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
    try:
        members.writestr(_member(HEADER), header)
        for name, array in arrays.items():
            with members.open(_member(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        members.close()
    except BaseException:
        members.fp = None  # or it would still be ended, and hide what happened
        raise


def _member(name: str) -> zipfile.ZipInfo:
    """Return a member without the time of day: the same content gives the same bytes."""
    member = zipfile.ZipInfo(name)
    member.external_attr = 0o600 << 16
    return member


class Reader:
    """An open file, or what one holds. Anything wrong raises `BadArgument` before memory is taken.

    `size` is that of the file in bytes. No member may unpack to more: those that we write are not
    packed at all.
    """

    def __init__(self, held: Path | bytes) -> None:
        if isinstance(held, Path) and not held.exists():
            raise FileNotFoundError(f"no such file: {str(held)!r}")
        place = repr(str(held)) if isinstance(held, Path) else "what was kept"
        self._file: IO[bytes] | None = None
        try:
            self._file = held.open("rb") if isinstance(held, Path) else io.BytesIO(held)
            self.size = held.stat().st_size if isinstance(held, Path) else len(held)
            self._zip = zipfile.ZipFile(self._file)
        except Exception as cause:  # a damaged zip fails in many ways
            self._close()
            why = f"{place} is damaged, or not a saved file: {cause}"
            raise BadArgument("path", why=why) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def __del__(self) -> None:
        self._close()  # an interruption may come before the block that closes it begins

    def _close(self) -> None:
        """Close the file, which is our own: `ZipFile` would leave its own open if interrupted."""
        file = getattr(self, "_file", None)
        if file is not None:
            file.close()

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
        except Exception as cause:  # a damaged array, too
            raise BadArgument("path", why=f"{name} is damaged: {cause}") from None
        held = len(raw) - stream.tell()
        if version != (1, 0) or len(shape) != 1 or dtype.kind != kind:
            raise BadArgument("path", why=f"{name} is not what was saved: {dtype} of shape {shape}")
        if dtype.itemsize * shape[0] != held:
            raise BadArgument("path", why=f"{name} claims {shape[0]} numbers in {held} bytes")
        return np.frombuffer(raw, dtype=dtype, offset=stream.tell())

    def _read(self, name: str, limit: int) -> bytes:
        try:
            size = self._zip.getinfo(name).file_size
            if size <= min(limit, self.size):
                return self._zip.read(name)
        except Exception as cause:  # a damaged zip fails in many ways
            raise BadArgument("path", why=f"{name} is missing or damaged: {cause}") from None
        most = f"{limit}" if size > limit else f"the {self.size} of the file"
        raise BadArgument("path", why=f"{name} takes {size} bytes, expected at most {most}")
