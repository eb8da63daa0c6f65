"""Every example runs, from a folder that is not the project's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = next(
    folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file()
)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
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


def test_the_live_example_learns(tmp_path: Path) -> None:
    (live,) = (path for path in EXAMPLES if path.name == "live.py")
    out = subprocess.run(
        [sys.executable, str(live)], capture_output=True, text=True, check=True, cwd=tmp_path
    ).stdout
    assert float(out.split("loss ")[1].split()[0]) <= 0.2
