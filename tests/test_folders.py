"""Tests and benchmarks keep apart, and every test stands in the folder of a room or at the top."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import lumpable as lb

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {path.name for path in Path(lb.__file__).parent.iterdir() if path.is_dir()} | {"docs"}


IMPORT = re.compile(r"(?m)^ *(?:import|from) +(\w+)")
"""An import; no line has two of them, as `ruff` sees to. Prose that looks like one counts, too."""


def modules(folder: str) -> dict[Path, str]:
    """Return the files of a folder, its own tests aside, and the name each is imported by."""
    top, found = ROOT / folder, {}
    for file in top.rglob("*.py"):
        parts = file.relative_to(top).parts
        if "tests" not in parts:
            packed = (file.parent / "__init__.py").exists()
            found[file] = parts[0] if packed else file.stem
    return found


def imported(file: Path) -> set[str]:
    """Return the first names of all that a file imports, those inside functions too."""
    return set(IMPORT.findall(file.read_text(encoding="utf-8")))


def test_tests_and_benchmarks_do_not_know_each_other() -> None:
    tests, benchmarks = modules("tests"), modules("benchmarks")
    assert "twins" in tests.values()
    assert "protocol" in benchmarks.values()
    for mine, others in ((tests, benchmarks), (benchmarks, tests)):
        known = {file.name: imported(file) & set(others.values()) for file in mine}
        assert not {name: found for name, found in known.items() if found}


def test_every_test_stands_in_a_room_or_at_the_top() -> None:
    """Two tests of one name would hide each other: they are imported by it."""
    files = [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "benchmarks").rglob("test_*.py")]
    twice = [name for name, times in Counter(file.name for file in files).items() if times > 1]
    assert not twice
    places = {file.relative_to(ROOT / "tests").parts[:-1] for file in modules("tests")}
    assert {place[0] for place in places if place} - {"twins", "kits"} <= FOLDERS
