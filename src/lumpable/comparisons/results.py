"""Rows of a comparison as arrays, world by world: read and checked, but nothing is computed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lumpable.base.arrays import FloatVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.comparisons import store
from lumpable.comparisons.parquet import arrow, check_columns
from lumpable.comparisons.rows import COLUMNS, KEY, STATUSES, Row

MEASURES = ("regret", "simple_regret", "worse_off", "clusters", "ari", "seconds", "bytes")
SIZES = {"contexts": 0, "arms": 0, "groups": 0, "horizon": 1, "round": 0}
"""Counts, and how small each may be."""
LARGEST = 1e100
"""A larger number was not measured, and squares of it would overflow; below 1 / LARGEST is 0."""
NUMBERS = (int, float, np.integer, np.floating)
MISSING = "not yet run"
"""The state of a cell that has no rows."""

KNOWN = {"groups": "r", "group": "the groups", "group_means": "the groups' means", "frequency": "ν"}
"""What only an oracle can know, in words."""


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """One world of a comparison: what was measured there, and what was not."""

    name: str
    setting: str
    contexts: int
    arms: int
    groups: int
    horizon: int
    learners: tuple[str, ...]
    knows: tuple[str, ...]
    seeds: tuple[int, ...]
    rounds: IntVector
    measures: Mapping[str, FloatVector]
    """Each (learners, seeds, rounds); NaN where there is nothing."""
    undone: Mapping[tuple[int, int], tuple[str, str]]
    """Status and reason of every cell (learner, seed) that is not done."""


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """A whole comparison."""

    worlds: tuple[World, ...]
    learners: tuple[str, ...]
    rows: int
    versions: tuple[str, ...]
    unfinished: bool = False


def read(path: Path) -> Comparison:
    """Read a Parquet file of rows, and the parts beside it if its run is not finished."""
    if not path.name:  # a folder that nothing can lie beside, such as /
        raise BadArgument("rows", "a Parquet file", repr(str(path)))
    whole = [store.read(path)] if path.is_file() else []
    parts = [rows for _, rows in store.read_parts(path) if rows is not None]
    if not whole and not parts:
        folder = store.parts_of(path)
        empty = f" ({folder.name} is empty)" if folder.is_dir() else ""
        raise BadArgument("rows", why=f"no such file: {str(path)!r}{empty}")
    rows = arrow().concat_tables([*whole, *parts])
    return arrange(rows.to_pydict(), unfinished=bool(parts))


def gather(rows: object) -> Comparison:
    """Lay out rows: a path, a frame, or an iterable of rows or mappings."""
    if isinstance(rows, Comparison):
        return rows
    if isinstance(rows, str | Path):
        return read(Path(rows))
    if isinstance(rows, Iterable) and not hasattr(rows, "columns"):
        listed = [asdict(row) if isinstance(row, Row) else row for row in rows]
        if not all(isinstance(row, Mapping) for row in listed):
            raise BadArgument("rows", why="expected rows, mappings, a frame or a path")
        for row in listed[:1]:
            check_columns("rows", "the first row", row, COLUMNS)
        return arrange({name: [row.get(name) for row in listed] for name in COLUMNS})
    import narwhals as nw

    try:
        frame = nw.from_native(rows, eager_only=True)  # type: ignore[call-overload]
    except TypeError as cause:
        raise BadArgument("rows", "rows or a frame", type(rows).__name__) from cause
    check_columns("rows", "the frame", frame.columns, COLUMNS)
    return arrange({name: frame[name].to_list() for name in COLUMNS})


# --- Arrays -------------------------------------------------------------------------------------


def arrange(columns: Mapping[str, list[Any]], unfinished: bool = False) -> Comparison:
    """Lay out columns as arrays; of rows with the same key the last one counts."""
    if not columns["learner"]:
        raise BadArgument("rows", "at least one row", "none")
    for name in (*KEY, "round", "status"):
        kind: Any = str if COLUMNS[name] == "string" else (int, np.integer)
        for value in columns[name]:
            if not isinstance(value, kind):
                words = "text" if kind is str else "whole numbers"
                raise BadArgument("rows", f"{words} in {name!r}", repr(value))
    for status in set(columns["status"]):
        if status not in STATUSES:
            raise BadArgument("rows", f"a status of {', '.join(STATUSES)}", repr(status))
    for name, least in SIZES.items():
        for value, status in zip(columns[name], columns["status"], strict=True):
            low = 1 if name == "round" and status == "done" else least
            if _known(value) and not (isinstance(value, NUMBERS) and low <= value < math.inf):
                raise BadArgument("rows", f"numbers of at least {low} in {name!r}", repr(value))
    learners = _learner_names(_pairs(columns, "learner", "parameters"))
    worlds = _world_names(_pairs(columns, "world", "setting", "horizon"))
    keys = zip(*(columns[key] for key in (*KEY, "round")), strict=True)
    last = {key: number for number, key in enumerate(keys)}
    of_world: dict[str, list[int]] = {name: [] for name in worlds.values()}
    for (_, _, world, setting, horizon, *_), number in last.items():
        of_world[worlds[world, setting, horizon]].append(number)
    names = tuple(dict.fromkeys(learners.values()))
    knows = {
        learners[label, parameters]: ", ".join(
            KNOWN.get(key, key) for key in (known or "").split(",")
        )
        for label, parameters, known in _pairs(columns, "learner", "parameters", "knows")
    }
    label = [learners[pair] for pair in zip(columns["learner"], columns["parameters"], strict=True)]
    return Comparison(
        tuple(
            _world(name, numbers, columns, label, names, knows)
            for name, numbers in of_world.items()
        ),
        names,
        len(last),
        tuple(sorted({str(version) for version in columns["version"]})),
        unfinished,
    )


def _pairs(columns: Mapping[str, list[Any]], *names: str) -> list[tuple[Any, ...]]:
    """Return each combination once, in order of first appearance."""
    return list(dict.fromkeys(zip(*(columns[name] for name in names), strict=True)))


def _learner_names(keys: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], str]:
    """Name each learner by its label, and its parameters where two have the same label."""
    labels = [str(label) for label, _ in keys]
    return {
        key: label if labels.count(label) == 1 else f"{label} {key[1]}"
        for key, label in zip(keys, labels, strict=True)
    }


def _world_names(keys: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], str]:
    """Name each world by its label, and by what differs where several have the same label."""
    found: dict[tuple[Any, ...], str] = {}
    for key in keys:
        label, setting, horizon = key
        same = [other for other in keys if other[0] == label]
        words = [str(label)]
        if len({other[2] for other in same}) > 1:
            words.append(f"{horizon:,} rounds")
        if len({other[1] for other in same}) > 1:
            parts, others = _parts(setting), [_parts(other[1]) for other in same]
            differ = [name for name in parts if len({other.get(name) for other in others}) > 1]
            words += [f"{name} {parts[name]}".strip() for name in differ]
        name = ", ".join(words)
        found[key] = f"{name}, {setting}" if name in found.values() else name
    return found


def _world(
    name: str,
    numbers: list[int],
    columns: Mapping[str, list[Any]],
    label: list[str],
    learners: tuple[str, ...],
    knows: Mapping[str, str],
) -> World:
    seeds = tuple(sorted({columns["seed"][i] for i in numbers}))
    done = [i for i in numbers if columns["status"][i] == "done"]
    rounds = sorted({columns["round"][i] for i in done})
    learner_at, seed_at, round_at = (
        {value: k for k, value in enumerate(values)} for values in (learners, seeds, rounds)
    )
    at = [
        (learner_at[label[i]], seed_at[columns["seed"][i]], round_at[columns["round"][i]])
        for i in done
    ]
    where = tuple(np.array(at, dtype=np.int64).reshape(-1, 3).T)
    measures = {}
    for measure in MEASURES:
        values = np.full((len(learners), len(seeds), len(rounds)), math.nan)
        values[where] = [_number(measure, columns[measure][i]) for i in done]
        measures[measure] = values
    undone = {
        (one, seed): (MISSING, "") for one in range(len(learners)) for seed in range(len(seeds))
    }
    for i in numbers:
        if columns["status"][i] != "done":
            key = (learner_at[label[i]], seed_at[columns["seed"][i]])
            undone[key] = (columns["status"][i], columns["reason"][i] or "no reason was given")
    for one, seed, _ in at:  # what failed once and was done later is done
        undone.pop((one, seed), None)

    def size(name: str) -> int:
        return next((int(value) for i in numbers if _known(value := columns[name][i])), 0)

    return World(
        name,
        _pretty(columns["setting"][numbers[0]]),
        size("contexts"),
        size("arms"),
        size("groups"),
        size("horizon"),
        learners,
        tuple(knows[learner] for learner in learners),
        seeds,
        np.array(rounds, dtype=np.int64),
        measures,
        undone,
    )


def _known(value: Any) -> bool:
    """Whether there is a value; frames have NaN where there is none."""
    return value is not None and value == value


def _number(measure: str, value: Any) -> float:
    if value is None:
        return math.nan
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise BadArgument("rows", f"numbers in {measure!r}", repr(value)) from None
    if abs(number) > LARGEST:
        raise BadArgument("rows", f"numbers up to {LARGEST:g} in {measure!r}", repr(value))
    return 0.0 if abs(number) < 1 / LARGEST else number


def _pretty(setting: str | None) -> str:
    """Return a JSON object as `name value, name value`; any other text unchanged."""
    return ", ".join(f"{name} {value}".strip() for name, value in _parts(setting).items())


def _parts(setting: str | None) -> dict[str, str]:
    """Return the names and values of a JSON object as text; any other text is one name."""
    try:
        made = json.loads(setting or "")
    except (ValueError, RecursionError):  # not of our making
        made = None
    if not isinstance(made, dict):
        return {setting: ""} if setting else {}
    return {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in made.items()
    }
