"""The package as people get it: wheel and sdist, quick import, extras that say what is missing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import check
import lumpable as lb
import release

ROOT = next(
    folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file()
)
CORE = ("numpy", "numba", "msgspec", "narwhals", "click", "rich")


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build wheel and sdist with the tools that are installed, as a release would."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.mark.nightly
def test_the_sdist_is_whole(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    needed = ("LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "src/lumpable/py.typed")
    assert {*needed, "tools/release.py", "docs/index.md", "Makefile", "constraints.txt"} <= names


@pytest.mark.nightly
def test_the_wheel_runs_without_this_folder(built: Path, tmp_path: Path) -> None:
    """Install the wheel where nothing of the project is, and do the main things."""
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    needed = ("py.typed", "reports/templates/base.html", "reports/static/page.css")
    assert {f"lumpable/{name}" for name in needed} <= set(names)
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    site = run(python, "-c", "import site; print(site.getsitepackages()[0])").strip()
    run(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", site, wheel)
    # what the wheel depends on is tested elsewhere: lend it the packages installed here
    here = run(sys.executable, "-c", "import numpy; print(numpy.__path__[0])").strip()
    Path(site, "lent.pth").write_text(str(Path(here).parent))
    away = {"PYTHONPATH": ""}  # whatever path the tests were started with
    where = run(python, "-c", "import lumpable; print(lumpable.__file__)", **away).strip()
    assert where.startswith(site)
    code = """
import lumpable as lb
world = lb.worlds.lumpable(20, 10, 2, seed=1)
run = lb.simulate(lb.pac.any_contexts(lb.Problem(20, 10, 2), epsilon=0.3, delta=0.1), world, seed=1)
print(lb.__version__, run.rounds, world.loss(run.policy) <= 1)
"""
    version, rounds, sane = run(python, "-c", code, **away).split()
    assert (version, sane) == (lb.__version__, "True")
    assert int(rounds) > 0
    assert "budget" in run(python, "-m", "lumpable", "--help", **away)


def test_import_brings_nothing_heavy() -> None:
    code = "import sys, lumpable; print(*sorted(m for m in sys.modules if '.' not in m))"
    loaded = set(run(sys.executable, "-c", code).split())
    heavy = {"numba", "llvmlite", "narwhals", "click", "rich", "altair", "scipy", "pyarrow"}
    assert not loaded & (heavy | {"pandas", "polars", "vl_convert"})


@pytest.mark.parametrize(
    ("missing", "code", "command"),
    [
        (
            "pyarrow",
            "lb.worlds.read('means.parquet')",
            "reading Parquet files needs an extra that is not installed: "
            "pip install 'lumpable[research]'",
        ),
        (
            "altair",
            "report.growth([])",
            "drawing pictures needs an extra that is not installed: pip install 'lumpable[plot]'",
        ),
    ],
)
def test_a_missing_extra_says_what_to_type(
    tmp_path: Path, missing: str, code: str, command: str
) -> None:
    (tmp_path / "means.parquet").touch()
    script = f"""
import os, sys
os.chdir({str(tmp_path)!r})
sys.modules[{missing!r}] = None
import lumpable as lb
from lumpable.reports import charts as report
try:
    {code}
except lb.MissingExtra as problem:
    print(problem)
"""
    assert run(sys.executable, "-c", script).strip() == command


def test_versions_agree() -> None:
    assert release.version() == lb.__version__
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()  # from the same place
    assert f"version: {lb.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {lb.__version__} (" in (ROOT / "CHANGELOG.md").read_text()


def test_a_release_needs_its_entry_in_the_changelog() -> None:
    said = "\n".join(release.complaints("9.9.9"))
    assert "CHANGELOG.md: expected a heading '## 9.9.9 (YYYY-MM-DD)'" in said
    assert "CITATION.cff: expected 'version: 9.9.9'" in said


def test_every_room_has_quick_tests() -> None:
    rooms = {path.parent.name for path in (ROOT / "src" / "lumpable").glob("*/__init__.py")}
    assert rooms | {"docs"} == set(check.QUICK)
    for room, names in check.QUICK.items():
        assert [name for name in names if not list((ROOT / "tests").rglob(f"{name}.py"))] == []
        assert all(place.exists() for place in check.places(room))


def test_extras_are_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text().lower().replace("_", "-").split()
    pins = {line.split("==")[0] for line in lines}
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    needed = {re.split(r"[>=\[]", need)[0] for needs in extras.values() for need in needs}
    assert {name.lower().replace("_", "-") for name in needed} - {"lumpable"} <= pins


def test_every_dependency_is_pinned() -> None:
    pins = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().split()}
    assert set(CORE) <= pins
    assert "@" not in (ROOT / "constraints.txt").read_text()


def test_citation_names_both() -> None:
    text = lb.citation()
    assert "Context-lumpable stochastic bandits" in text
    assert f"version = {{{lb.__version__}}}" in text
