"""Matrices of means in numpy's own files, npy and npz. Nothing in them is ever unpickled.

A header says how large an array is, so it is read before the array.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lumpable.base.arrays import FloatMatrix
from lumpable.base.errors import BadArgument
from lumpable.base.words import short

MOST_CELLS = 50_000_000
"""Cells of a matrix that are read. Each takes 8 bytes, however few it takes in a file, and as many
in every copy."""
NAMES = ("contexts", "arms")


def read(path: Path) -> tuple[FloatMatrix, tuple[Hashable, ...], tuple[Hashable, ...]]:
    """Return the means, the names of contexts and those of arms; no names if there are none."""
    try:
        arrays = _npy(path) if path.suffix == ".npy" else _npz(path)
    except (OSError, ValueError, EOFError, SyntaxError, zipfile.BadZipFile) as cause:
        if isinstance(cause, BadArgument):
            raise
        first = (str(cause).splitlines() or [type(cause).__name__])[0]
        why = f"{str(path)!r} is not a file of plain numpy arrays: {first}"
        raise BadArgument("path", why=why) from None
    mean = arrays["mean"]
    if mean.ndim != 2 or mean.dtype.kind not in "fiu":
        got = f"an array of shape {mean.shape} and type {mean.dtype}"
        raise BadArgument("path", "a (contexts, arms) array of numbers", got)
    contexts, arms = (
        _names(name, arrays.get(name), many) for name, many in zip(NAMES, mean.shape, strict=True)
    )
    return mean.astype(np.float64, copy=False), contexts, arms


def _npy(path: Path) -> dict[str, npt.NDArray[Any]]:
    with path.open("rb") as file:
        _refuse_large(file, path.name, path.stat().st_size)
        file.seek(0)
        return {"mean": np.lib.format.read_array(file, allow_pickle=False)}


def _npz(path: Path) -> dict[str, npt.NDArray[Any]]:
    with zipfile.ZipFile(path) as archive:
        held = {name.removesuffix(".npy"): name for name in archive.namelist()}
        if "mean" not in held and len(held) == 1:
            held = {"mean": next(iter(held.values()))}
        if "mean" not in held:
            raise BadArgument("path", "an array 'mean', or a single one", f"{sorted(held)[:10]}")
        arrays = {}
        for name in ("mean", *NAMES):
            if name not in held:
                continue
            with archive.open(held[name]) as file:
                _refuse_large(file, name, archive.getinfo(held[name]).file_size)
            with archive.open(held[name]) as file:
                arrays[name] = np.lib.format.read_array(file, allow_pickle=False)
        return arrays


def _refuse_large(file: Any, name: str, held: int) -> None:
    """Read the header of an array, and refuse more than memory should hold, or than there is."""
    version = np.lib.format.read_magic(file)
    header = (
        np.lib.format.read_array_header_1_0(file)
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0(file)
    )
    shape, _, dtype = header
    cells = math.prod(int(length) for length in shape)
    size, most = cells * dtype.itemsize, MOST_CELLS * np.dtype(np.float64).itemsize
    if cells > MOST_CELLS:
        got = f"{short(cells)} in {name!r}"
        raise BadArgument("path", f"an array of at most {short(MOST_CELLS)} cells", got)
    if size > most:  # names may be long
        got = f"{short(size)} in {name!r}"
        raise BadArgument("path", f"an array of at most {short(most)} bytes", got)
    if size > held:
        raise BadArgument("path", f"{short(size)} bytes in {name!r}", f"{short(held)}")


def _names(name: str, given: npt.NDArray[Any] | None, many: int) -> tuple[Hashable, ...]:
    if given is None:
        return ()
    names = tuple(given.ravel().tolist())
    if len(set(names)) != many or len(names) != many:
        raise BadArgument("path", f"{many} different names in {name!r}", f"{list(names)[:10]}")
    return names
