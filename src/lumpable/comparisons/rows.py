"""A row of a comparison: its columns, and what identifies a cell. Reads and writes no file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from lumpable.comparisons import parquet


@dataclass(frozen=True, slots=True)
class Row:
    """A learner in a world with a seed, measured at one round.

    A list of rows turns into a frame: `pandas.DataFrame(rows)`, `polars.DataFrame(rows)`.
    """

    learner: str
    """The label that people read, unique in an experiment."""
    parameters: str
    """JSON of what differs from the learner's defaults, keys sorted."""
    knows: str
    """What it knows that only an oracle can, comma-separated; empty for a fair peer."""
    world: str
    """Label of the world or scene, unique in an experiment."""
    setting: str
    """JSON of how the world is made, keys sorted."""
    contexts: int | None
    arms: int | None
    groups: int | None
    horizon: int
    seed: int
    round: int
    """0 in the single row of a cell that is not done."""
    regret: float | None
    reward: float | None
    """None where rewards are not drawn one by one."""
    simple_regret: float | None
    worse_off: float | None
    clusters: int | None
    """None for learners without clusters."""
    ari: float | None
    """None likewise."""
    seconds: float | None
    bytes: int | None
    """None where it cannot be measured."""
    status: str
    """`done`, `not run` or `failed`."""
    reason: str
    """Why it was not run, or the traceback of what failed."""
    version: str
    """Of lumpable."""

    @classmethod
    def of(cls, known: Mapping[str, Any]) -> Row:
        """Make a row; what is not known is None."""
        values: dict[str, Any] = {name: known.get(name) for name in COLUMNS}
        return cls(**values)

    @property
    def key(self) -> Key:
        """What identifies the cell of this row."""
        return (
            *(self.learner, self.parameters, self.world, self.setting),
            *(self.horizon, self.seed),
        )  # fmt: skip


KINDS = {"str": "string", "int": "int64", "float": "float64"}
COLUMNS: dict[str, str] = {
    each.name: KINDS[str(each.type).partition(" ")[0]] for each in fields(Row)
}
"""The columns of a table of rows, in order, and their types."""
STATUSES = ("done", "not run", "failed")
Key = tuple[str, str, str, str, int, int]
KEY = ("learner", "parameters", "world", "setting", "horizon", "seed")
"""What identifies a cell: a cell whose key is in the rows is not run again."""


def table(rows: Sequence[Row]) -> Any:
    """Return rows as an Arrow table."""
    return parquet.table({name: [getattr(row, name) for row in rows] for name in COLUMNS}, COLUMNS)


def rows_of(table: Any) -> list[Row]:
    """Return the rows of an Arrow table."""
    return [Row.of(each) for each in table.to_pylist()]


def keys(table: Any) -> list[Key]:
    """Return the key of each row of a table."""
    return list(zip(*(table.column(name).to_pylist() for name in KEY), strict=True))


def without_code(key: Key) -> Key:
    """Return the key of a cell without the digest of its learner's code."""
    return (key[0], _without_source(key[1]), *key[2:])


@cache
def _without_source(parameters: str) -> str:
    try:
        said = json.loads(parameters)
    except (ValueError, RecursionError):  # not of our making
        return parameters
    if not isinstance(said, dict):
        return parameters
    return as_json({name: value for name, value in said.items() if name != "source"})


def as_json(value: Mapping[str, Any]) -> str:
    """Write a mapping as JSON with its keys in order."""
    return json.dumps(value, sort_keys=True, default=str)
