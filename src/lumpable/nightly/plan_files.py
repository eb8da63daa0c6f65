"""A plan as a file that any client can use: CSV or Parquet, four columns.

Columns: user, action, propensity, version. The first row has no user: it is for whoever has none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lumpable.base import row_files
from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.nightly.night_folder import copy_whole
from lumpable.nightly.night_plans import NightPlan
from lumpable.tables.queries import database
from lumpable.tables.source_parts import literal

FORMATS = {
    ".csv": "(FORMAT csv, HEADER true)",
    ".parquet": "(FORMAT parquet, COMPRESSION zstd, KV_METADATA {lumpable: 'plan 1'})",
}


def check_name(path: Path) -> None:
    """Refuse a file that could not be written, before anything is done."""
    row_files.check_ending(path, "out")
    if not path.resolve().parent.is_dir():
        raise BadArgument("out", "a file in an existing folder", repr(str(path)))
    if path.is_dir():
        raise BadArgument("out", "a file", f"{str(path)!r}, which is a folder")


def check_plan(plan: NightPlan) -> None:
    """Refuse a plan that no file can hold, before anything is written."""
    _column("users", [None, *plan.users])
    _column("items", [plan.default, *plan.actions])


def write_plan(plan: NightPlan, path: Path) -> None:
    """Write a plan whole or not at all: the same plan gives the same bytes."""
    check_name(path)
    columns = {
        "users": _column("users", [None, *plan.users]),
        "actions": _column("items", [plan.default, *plan.actions]),
        "propensities": np.append(plan.default_propensity, plan.propensity),
        "numbers": np.arange(len(plan) + 1),
    }
    user, action = (_type(names) for names in (plan.users, [plan.default, *plan.actions]))
    with tempfile.TemporaryDirectory(prefix="lumpable-") as folder, database(None) as con:
        made = Path(folder) / f"plan{path.suffix}"
        con.register("planned", columns)
        con.execute("SET threads = 1")  # one order of rows and one layout of the file
        con.execute(
            f"COPY (SELECT users::{user} AS user, actions::{action} AS action, "
            f"propensities AS propensity, {literal(plan.version)} AS version FROM planned "
            f"ORDER BY numbers) TO {literal(str(made))} {FORMATS[path.suffix]}"
        )
        copy_whole(made, path)


def _type(names: Sequence[Name]) -> str:
    return "VARCHAR" if any(isinstance(name, str) for name in names) else "BIGINT"


def _column(role: str, names: Sequence[Name | None]) -> Any:
    """Return names as text, which a file of one type holds; two must not become one."""
    texts: dict[str, Name | None] = {}
    for name in names:
        other = texts.setdefault(str(name), name) if name is not None else None
        if other is not None and other != name:
            expected = "names that differ as strings, as a column of a plan has one type"
            raise BadArgument(role, expected, f"{other!r} and {name!r}")
    return np.array([None if name is None else str(name) for name in names], dtype=object)
