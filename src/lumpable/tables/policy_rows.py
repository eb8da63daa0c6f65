"""A policy as rows: what to give to whom, how sure that is, and what to do while it is open."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lumpable.base import files
from lumpable.base.errors import BadArgument
from lumpable.base.extras import need
from lumpable.lumps.belief.advice import Advice

SURE = 0.9
"""An item is shown alone if it is the best with this probability, ..."""
CHEAP = 0.01
"""... or if being wrong costs at most this part of its mean on average."""


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """The item that is believed best for a user."""

    user: Any
    item: Any
    mean: float
    """Its mean reward for this user, and the ends of an interval."""
    low: float
    high: float
    probability_best: float
    runner_up: Any
    """The item with the next largest mean; None where there is no other."""
    expected_loss: float
    """What a wrong choice costs on average."""
    do: str
    """What to do: show one item, or try two while it is open which is better."""

    @property
    def open(self) -> bool:
        """Whether it is open which item is best."""
        return self.do.startswith("try ")


COLUMNS = tuple(field.name for field in fields(PolicyRow))


def row_of(advice: Advice) -> PolicyRow:
    """Return what to do about a user."""
    settled = (
        advice.runner_up is None
        or advice.probability_best >= SURE
        or advice.expected_loss <= CHEAP * abs(advice.mean)
    )
    item, other = advice.best_arm, advice.runner_up
    return PolicyRow(
        advice.context, item, advice.mean, advice.low, advice.high, advice.probability_best,
        other, advice.expected_loss, f"show {item}" if settled else f"try {item} and {other}",
    )  # fmt: skip


def check(path: Path, argument: str = "policy") -> None:
    """Raise now what `write` would raise: another ending, or a library that is not there."""
    if path.suffix not in (".csv", ".parquet"):
        raise BadArgument(argument, "a name that ends in .csv or .parquet", repr(path.name))
    if path.suffix == ".parquet":
        need("pyarrow.parquet", "research", "writing Parquet files")


def write(rows: Sequence[PolicyRow], path: Path) -> None:
    """Write a policy to a CSV or Parquet file, whole or not at all."""
    check(path)
    if path.suffix == ".csv":
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(COLUMNS)
        writer.writerows([getattr(row, name) for name in COLUMNS] for row in rows)
        files.replace(path, text.getvalue().encode())
    else:
        _write_parquet(rows, path)


def _write_parquet(rows: Sequence[PolicyRow], path: Path) -> None:
    arrow = need("pyarrow", "research", "writing Parquet files")
    parquet = need("pyarrow.parquet", "research", "writing Parquet files")
    columns = {name: [getattr(row, name) for row in rows] for name in COLUMNS}
    for name in ("user", "item", "runner_up"):
        if len({type(value) for value in columns[name]} - {type(None)}) > 1:
            columns[name] = [None if value is None else str(value) for value in columns[name]]
    with files.replacing(path) as file:
        parquet.write_table(arrow.table(columns), file)
