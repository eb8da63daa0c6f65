"""Every example runs, from a folder that is not the project's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = next(
    folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file()
)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
ONE_BY_ONE = """
import runpy, sys
for example in sys.argv[1:]:
    print("-----", example)
    runpy.run_path(example, run_name="__main__")
"""


def test_examples_run(tmp_path: Path) -> None:
    """By day one after the other in a process, but for the one that starts processes itself."""
    some = [str(example) for example in EXAMPLES if example.name != "compare.py"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ONE_BY_ONE, *some],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.split("----- ")[1:]
    assert len(said) == len(some)
    assert all(words.partition("\n")[2] for words in said)
    (live,) = (words for words in said if f"{os.sep}live.py\n" in words)
    assert float(live.split("loss ")[1].split()[0]) <= 0.2  # it learns
    (kept,) = (words for words in said if f"{os.sep}experiment.py\n" in words)
    assert "600 rewards came" in kept
    assert int(kept.split(" of 40 were")[0].split()[-1]) >= 30


def by_day_or_night(example: Path) -> object:
    marks = [] if example.name == "compare.py" else [pytest.mark.nightly]
    return pytest.param(example, marks=marks, id=example.name)


@pytest.mark.parametrize("example", [*map(by_day_or_night, EXAMPLES)])
def test_example_runs(example: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
