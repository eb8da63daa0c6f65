"""Frames of any kind are read, or refused in words; their columns keep what they are."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lumpable import BadArgument, read_events

LOG = {"user": ["a", "b"], "item": ["x", "y"], "reward": [0.5, 2.0]}
PANDAS, POLARS = pd.DataFrame(LOG), pl.DataFrame(LOG)
HALF = np.array(LOG["reward"], np.float16)
READ: dict[str, Any] = {
    "float16 of pandas": PANDAS.assign(reward=HALF),
    "float16 of pyarrow": pa.table(LOG | {"reward": pa.array(HALF)}),
    "float16 of polars": POLARS.with_columns(pl.col("reward").cast(pl.Float16)),
    "float16 of a lazy frame": POLARS.lazy().with_columns(pl.col("reward").cast(pl.Float16)),
    "narwhals of pandas": nw.from_native(PANDAS),
    "narwhals of polars": nw.from_native(POLARS),
    "narwhals of a lazy frame": nw.from_native(POLARS.lazy()),
}
LARGE = pl.Series("user", [1, 2**70], pl.Int128)
REFUSED: dict[str, tuple[Any, str]] = {
    "Int128": (POLARS.with_columns(LARGE), "'user' (cast it), got type Int128"),
    "Int128, lazy": (POLARS.lazy().with_columns(LARGE), "'user' (cast it), got type Int128"),
    "complex": (PANDAS.assign(reward=[1j, 0j]), "'reward' (cast it), got type complex128"),
    "sparse": (
        PANDAS.assign(reward=pd.arrays.SparseArray([1, 0])), "'reward' (cast it), got type Sparse["
    ),
    "period": (
        PANDAS.assign(user=pd.period_range("2020-01", periods=2, freq="M")),
        "'user' (cast it), got type period[M]",
    ),
    "categories of two kinds": (
        PANDAS.assign(user=pd.Categorical([1, "2"])), "'user' (cast it), got type category"
    ),
}  # fmt: skip
"""Types that DuckDB has not, or that it would take for something else, by what is said of them."""


@pytest.mark.parametrize("kind", READ)
def test_frames_are_read_whoever_made_them(kind: str) -> None:
    events = read_events(READ[kind])
    assert events.users == ("a", "b")
    assert events.reward.tolist() == [500_000, 2_000_000]


@pytest.mark.parametrize("kind", REFUSED)
def test_columns_that_cannot_be_read_are_named_with_their_type(kind: str) -> None:
    frame, words = REFUSED[kind]
    with pytest.raises(BadArgument) as refused:
        read_events(frame)
    assert words in str(refused.value)


BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

sys.meta_path.insert(0, Blocked())
import lumpable as lb, pandas as pd, polars as pl
from lumpable.base.extras import MissingExtra

log = {"user": ["a", "b"], "item": ["x", "y"], "reward": [1, 0]}
assert len(lb.read_events(pl.DataFrame(log))) == 2
for frame in (pd.DataFrame(log), pl.LazyFrame(log)):
    try:
        lb.read_events(frame)
    except MissingExtra as error:
        assert "lumpable[research]" in str(error)
    else:
        raise AssertionError("it was read")
print("fine")
"""


def test_what_needs_an_extra_says_so() -> None:
    """Without pyarrow, files and frames of polars are read, and others say what brings it."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BLOCKED], capture_output=True, text=True, check=False
    )
    assert done.stdout == "fine\n", done.stderr
