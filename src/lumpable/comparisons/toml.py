"""Experiments as TOML files: read and checked; errors name the file and the line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from lumpable.base.errors import BadArgument
from lumpable.base.words import nearest
from lumpable.comparisons import positions
from lumpable.comparisons.experiment import Experiment, parse
from lumpable.comparisons.values import Refused

SUITE = "suite"
TABLES = ("learner", "world")


def read(path: str | Path, changes: Mapping[str, Any] | None = None) -> Experiment:
    """Read an experiment; a `ValueError` names the file and line of what is wrong.

    Parameters
    ----------
    changes
        Seeds or a horizon, instead of those in the file, for all worlds.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadArgument(str(path), "text in UTF-8", f"{error.reason}") from error
    return _parse_text(text, str(path), path.parent, changes or {})


def suite(quick: bool = False, changes: Mapping[str, Any] | None = None) -> Experiment:
    """Return the comparison that comes with the package, or a quick look at it.

    Worlds that need a missing extra are left out.
    """
    folder = resources.files("lumpable.comparisons")
    said = tomllib.loads((folder / "suite.toml").read_text(encoding="utf-8"))
    if quick:  # the same learners in smaller worlds
        said |= tomllib.loads((folder / "suite-quick.toml").read_text(encoding="utf-8"))
    return parse(_with_changes(said, changes or {}), optional=True)


def _parse_text(text: str, name: str, folder: Path, changes: Mapping[str, Any]) -> Experiment:
    try:
        said = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of a thousand digits, a thousand [
        words = str(error)
        at = re.search(r"line (\d+)", words)
        line = int(at[1]) if at else text.count("\n") + 1
        why = _repetition(text, line, words) or words
        raise BadArgument("", why=why, place=f"{name}:{line}") from error
    try:
        found = parse(said, folder.absolute())
        changed = _with_changes(said, changes)  # after the file itself, whose errors have lines
        return found if changed == said else parse(changed, folder.absolute())
    except Refused as error:
        raise error.at(f"{name}:{positions.line(text, error.spot)}") from error


_KEY = re.compile(r"""(?P<open>\[{0,2})\s*(?P<key>[\w-]+|"[^"]*"|'[^']*')\s*(?P<end>[\]=])""")


def _repetition(text: str, line: int, words: str) -> str:
    """Say which key or table is repeated, if that is what is wrong with a line."""
    lines = [each.lstrip() for each in text.splitlines()]
    here = _KEY.match(lines[line - 1]) if line <= len(lines) else None
    if here is None or not re.match("Cannot (overwrite|declare|mutate)", words):
        return ""
    first = 0
    for number, other in enumerate(lines[: line - 1], start=1):
        if not here["open"] and other.startswith("["):
            first = 0  # another table, whose keys are its own
        match = _KEY.match(other)
        if match and match["key"] == here["key"] and bool(match["open"]) == bool(here["open"]):
            first = first or number
    key = here["key"].strip("\"'")
    if not first:
        return ""
    if not here["open"]:
        return f"{key}: expected once in a table, got it again, after line {first}"
    if key in TABLES:
        return f"{key}: expected [[{key}]] for each, got [{key}] beside it; see line {first}"
    return f"[{key}]: expected once, got it again, after line {first}"


def nearest_file(name: str) -> str:
    """Name what was probably meant by a name without a file: the suite, or a file beside it."""
    files = sorted(str(file) for file in Path(name).parent.glob("*.toml"))
    return nearest(name, [SUITE, *files], cutoff=0.6)


def _with_changes(said: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description with other seeds, or another horizon for all worlds."""
    changed = dict(said) | {key: value for key, value in changes.items() if value is not None}
    if changes.get("horizon") is not None:
        changed.pop("pulls", None)
        own = ("horizon", "pulls")
        changed["world"] = [
            {k: v for k, v in world.items() if k not in own} for world in said["world"]
        ]
    return changed
