"""A policy as rows: what to give to whom, how sure that is, and what to do while it is open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lumpable.base import row_files
from lumpable.base.units import Name
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


def write(rows: Sequence[PolicyRow], path: Path) -> None:
    """Write a policy to a CSV or Parquet file, whole or not at all."""
    row_files.check(path, "policy")
    users = _kind(row.user for row in rows)
    items = _kind(name for row in rows for name in (row.item, row.runner_up))
    own = {"user": users, "item": items, "runner_up": items, "do": "string"}
    columns = {name: own.get(name, "float64") for name in COLUMNS}
    row_files.write(path, columns, (_values(row, columns) for row in rows))


def _kind(names: Iterable[Name | None]) -> str:
    """Return the type of a column of names: text, unless all are numbers."""
    known = {isinstance(name, int) for name in names if name is not None}
    return "int64" if known == {True} else "string"


def _values(row: PolicyRow, columns: Mapping[str, str]) -> list[Any]:
    values = [getattr(row, name) for name in columns]
    return [
        str(value) if kind == "string" and value is not None else value
        for value, kind in zip(values, columns.values(), strict=True)
    ]
