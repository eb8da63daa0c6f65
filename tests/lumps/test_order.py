"""Inside the room: model knows nothing of the others, core knows model, belief core, use all."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lumpable

FLOORS = ("model", "core", "belief", "use")
PACKAGE = Path(lumpable.__file__).parent


@pytest.mark.parametrize("floor", FLOORS)
def test_every_floor_knows_only_those_below_it(floor: str) -> None:
    above = FLOORS[FLOORS.index(floor) + 1 :]
    for path in sorted((PACKAGE / "lumps" / floor).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                imported = node.module.removeprefix("lumpable.lumps.").partition(".")[0]
                assert imported not in above, f"{path.name}:{node.lineno}"


def test_no_class_inherits_from_one_that_is_final() -> None:
    code = (
        "import lumpable, lumpable.lumps.core.levels as a, lumpable.lumps.core.top_two as b\n"
        "classes = [a.ThreeLevels, b.TopTwo, lumpable.Lumps, lumpable.PolicyFinder]\n"
        "print([c.__name__ for c in classes if c.__subclasses__()])\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"


@pytest.mark.skipif(os.name != "posix", reason="folders that nobody may write to")
def test_it_is_imported_where_nothing_can_be_written(tmp_path: Path) -> None:
    """As in a read-only container: no folder of the package, no home, no cache."""
    shutil.copytree(PACKAGE, tmp_path / "lumpable", ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import numba.core.caching as caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "import lumpable, lumpable.runs.kernels\n"
        "print(lumpable.Lumps(['red']))\n"
    )
    told = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=told
    )
    assert (said.stdout, said.stderr) == (
        "Lumps: 0 contexts, 1 arm, 0 rewards, 0 outstanding\n",
        "",
    )
