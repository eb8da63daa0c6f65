"""Logs that are made up, in the forms in which logs come."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

MEANS = np.array([[0.8, 0.5, 0.1, 0.3], [0.1, 0.5, 0.8, 0.3]])
"""Of two kinds of users and four offers."""


def two_tastes(users: int, events: int, seed: int, *, even: bool = False) -> dict[str, list[Any]]:
    """Return the columns of a log of two kinds of users; offers are chosen by known chance."""
    rng = np.random.default_rng(seed)
    odds = np.full(4, 0.25) if even else np.array([0.4, 0.3, 0.2, 0.1])
    user, offer = rng.integers(users, size=events), rng.choice(4, size=events, p=odds)
    reward = (rng.random(events) < MEANS[user % 2, offer]).astype(int)
    return {
        "user": [f"u{k:03d}" for k in user],
        "offer": [f"o{k}" for k in offer],
        "reward": reward.tolist(),
        "p": odds[offer].tolist(),
    }


def write_csv(path: Path, columns: Mapping[str, Sequence[Any]]) -> Path:
    """Write columns to a CSV file; None is an empty field."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def in_all_forms(folder: Path, columns: dict[str, list[Any]]) -> dict[str, Any]:
    """Return one table as CSV, Parquet, folders of both, pandas, polars and pyarrow."""
    frame = pl.DataFrame(columns, strict=False)
    half = len(frame) // 2
    frame.write_parquet(folder / "log.parquet")
    several = folder / "several"
    several.mkdir()
    frame[half:].write_parquet(several / "a.parquet")
    frame[:half].select(reversed(frame.columns)).write_csv(several / "b.csv")
    return {
        "csv": write_csv(folder / "log.csv", columns),
        "parquet": folder / "log.parquet",
        "folder": several,
        "polars": frame,
        "pandas": pd.DataFrame(columns),
        "pyarrow": frame.to_arrow(),
    }
