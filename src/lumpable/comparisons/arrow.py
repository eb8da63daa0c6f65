"""Arrow arrays out of Python values, without pandas: pyarrow's own way imports it if it is there.

That takes half a second, which is longer than many a comparison.
"""

from __future__ import annotations

import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from lumpable.base.extras import need

WHAT = "comparing learners"
CODES = {"int64": "q", "float64": "d"}


def arrow() -> Any:
    """Import pyarrow, or say which extra brings it."""
    return need("pyarrow", "research", WHAT)


def kind(name: str) -> Any:
    """Return a type of `rows.COLUMNS` in Arrow's words."""
    return {"string": arrow().string, "int64": arrow().int64, "float64": arrow().float64}[name]()


def filled(values: Sequence[Any], name: str) -> Any:
    """Return an array of this type; None is null, and a value of another type is an error.

    >>> filled([3, None], "int64").to_pylist(), filled(["é", None, ""], "string").to_pylist()
    ([3, None], ['é', None, ''])
    """
    valid = np.packbits(np.array([value is not None for value in values], bool), bitorder="little")
    if name == "string":
        texts = [(value or "").encode(errors="backslashreplace") for value in values]
        ends = array.array("i", accumulate(map(len, texts), initial=0))
        data = [ends, b"".join(texts)]
    else:
        data = [array.array(CODES[name], (0 if value is None else value for value in values))]
    buffers = [arrow().py_buffer(held) for held in (valid, *data)]
    return arrow().Array.from_buffers(kind(name), len(values), buffers)
