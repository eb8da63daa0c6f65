"""The documentation says what is there: quoted code, cited tests, links, signatures."""

from __future__ import annotations

import ast
import fnmatch
import functools
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import lumpable as lb
from lumpable.cli import reproducing
from lumpable.reproduce import runner

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "lumpable"
PAPER = ROOT / "docs" / "paper.md"
REGRET = ROOT / "docs" / "paper-regret.md"
HAND_WRITTEN = [PAPER, REGRET, ROOT / "docs" / "errata.md", ROOT / "docs" / "regret.md"]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
CITATION = re.compile(r"`((?:tests/)?(?:learners/)?\w+\.py)(?:::([\w.]+))?`")
ALGORITHM = re.compile(r"(?m)^### (Algorithm \d: .*)\n")


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def without_space(code: str) -> str:
    return "".join(code.split())


def both() -> str:
    """Return the paper beside the code: the two pages in one."""
    return text(PAPER) + "\n" + text(REGRET)


def cited_file(name: str) -> Path:
    return ROOT / name if name.startswith("tests/") else SOURCE / name


@functools.cache
def find(path: Path, name: str) -> str | None:
    """Return the source of a function, class or method (`Class.method`), None: there is none."""
    source = text(path)
    scope: list[ast.stmt] = ast.parse(source).body
    found: ast.stmt | None = None
    for part in name.split("."):
        found = next(
            (
                node
                for node in scope
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part
            ),
            None,
        )
        if not isinstance(found, ast.FunctionDef | ast.ClassDef):
            return None
        scope = found.body
    return None if found is None else ast.get_source_segment(source, found)


# --- docs/paper.md and docs/paper-regret.md -----------------------------------------------------


def rows(page: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the table rows under each heading "Algorithm ..", with the heading."""
    pieces = ALGORITHM.split(page)[1:]
    for heading, body in zip(pieces[::2], pieces[1::2], strict=True):
        for line in body.split("\n#")[0].splitlines():
            if re.match(r"\| \d", line):
                yield heading, [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def quoted(cell: str) -> Iterator[tuple[str, str, str]]:
    """Yield (file, function, code) for every line of code that a table cell quotes."""
    file = function = ""
    for item in re.findall(r"`([^`]+)`", cell):
        place = CITATION.fullmatch(f"`{item}`")
        if place:
            file, function = place[1], place[2]
        else:
            yield file, function, item


def wrong_quotes(page: str) -> list[str]:
    return [
        f"{file}::{function}: {code}"
        for _, (_, _, cell, _) in rows(page)
        for file, function, code in quoted(cell)
        if without_space(code) not in without_space(find(cited_file(file), function) or "")
    ]


def wrong_citations(page: str) -> list[str]:
    return [
        f"{file}::{name}"
        for file, name in CITATION.findall(page)
        if not cited_file(file).is_file() or (name and find(cited_file(file), name) is None)
    ]


def test_quoted_code_is_in_the_source() -> None:
    assert wrong_quotes(both()) == []


def test_every_line_of_the_pseudocode_is_there() -> None:
    lines: dict[str, list[int]] = {}
    for heading, (line, _, cell, _) in rows(both()):
        lines.setdefault(heading.split(":")[0], []).append(int(line))
        assert cell == "nothing to do" or list(quoted(cell)), f"{heading}, line {line}"
    assert sorted(lines) == [f"Algorithm {number}" for number in range(1, 7)]
    assert lines["Algorithm 1"] == list(range(1, 14))
    assert lines["Algorithm 2"] == [*range(1, 12), *range(1, 12)]  # in bulk, and round by round
    assert sorted(set(lines["Algorithm 3"])) == list(range(1, 7))
    assert lines["Algorithm 4"] == list(range(1, 15))
    assert lines["Algorithm 5"] == list(range(1, 11))
    assert lines["Algorithm 6"] == list(range(1, 18))


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=lambda page: page.name)
def test_cited_functions_and_tests_exist(page: Path) -> None:
    assert wrong_citations(text(page)) == []


def test_there_are_citations() -> None:
    assert all(len(CITATION.findall(text(page))) > 100 for page in (PAPER, REGRET))


def test_every_reading_is_there_with_reason_code_and_test() -> None:
    readings = re.findall(r"(?ms)^\*\*Reading .*?(?=^\*\*Reading|^##|\Z)", both())
    numbers = [int(reading.split()[1].strip(".*")) for reading in readings]
    assert numbers == [*range(1, 18), 33, 36, *range(18, 36)]  # 33 has a part on either page
    for reading in readings:
        assert all(word in reading for word in ("*Why:*", "*Code:*", "*Test:*")), reading[:40]
        assert ".py" in reading.split("*Code:*")[1].split("*Test:*")[0], reading[:40]
        assert "`tests/" in reading.split("*Test:*")[1], reading[:40]


def test_readings_that_the_code_names_are_there() -> None:
    known = set(re.findall(r"\*\*Reading (\d+)", both()))
    for path in SOURCE.rglob("*.py"):
        assert set(re.findall(r"[Rr]eading (\d+)", text(path))) <= known, path.name


def named_claims(page: str) -> set[int]:
    """Return the numbers of `lumpable reproduce --only ..` on a page."""
    return {n for part in re.findall(r"--only (\d[\d,-]*)", page) for n in reproducing.parse(part)}


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=lambda page: page.name)
def test_claims_that_a_page_names_are_there(page: Path) -> None:
    assert named_claims(text(page)) <= set(runner.load())


def test_the_errata_name_their_claims() -> None:
    assert len(named_claims(text(ROOT / "docs" / "errata.md"))) > 20


def test_the_checks_of_quotes_and_citations_can_fail() -> None:
    page = text(PAPER)
    assert wrong_quotes(page.replace("`candidates.add(j)`", "`candidates.add(i)`"))
    assert wrong_quotes(page.replace("`pac.py::screen` `while", "`pac.py::near_uniform` `while"))
    assert wrong_citations(page.replace("::test_levels`", "::test_level`"))
    assert wrong_citations(page.replace("`tests/test_plans.py::", "`tests/test_plan.py::"))
    page = text(REGRET)
    assert wrong_quotes(page.replace("> 2 * self.threshold", ">= 2 * self.threshold"))
    assert wrong_citations(page.replace("`learners/exp4.py::", "`learners/exp3.py::"))


# --- docs/api.md ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_api", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_api_page_is_up_to_date(generate: ModuleType) -> None:
    assert text(ROOT / "docs" / "api.md") == generate.page(), "run: python docs/generate.py"


def test_the_table_of_learners_is_up_to_date(generate: ModuleType) -> None:
    page = text(ROOT / "docs" / "learners.md")
    assert page == generate.with_table(page), "run: python docs/generate.py"
    assert [f"| `{name}` |" in page for name in lb.learners.names()].count(False) == 0


def test_the_api_page_has_every_public_name(generate: ModuleType) -> None:
    page = generate.page()
    for name in lb.__all__:
        module = isinstance(getattr(lb, name), ModuleType)
        heading = f"## lumpable.{name}" if module else f"### {name}"
        assert f"\n{heading}\n" in page, name
    assert ">>>" not in page  # examples run in the docstrings, once


# --- All pages and files ------------------------------------------------------------------------


def anchors(path: Path) -> set[str]:
    """Return what can follow # in a link to a page: its headings, as GitHub spells them."""
    headings = re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?s)```.*?```", "", text(path)))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(path: Path) -> list[str]:
    """Return the relative links of a page that lead nowhere."""
    prose = re.sub(r"(?s)```.*?```|`[^`\n]*`", "", text(path))
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", prose):
        target, _, anchor = (link[0] or link[1]).partition("#")
        if re.match(r"\w+:", target):
            continue
        file = (path.parent / target) if target else path
        missing = anchor and file.suffix == ".md" and file.is_file() and anchor not in anchors(file)
        if not file.exists() or missing:
            broken.append(link[0] or link[1])
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_the_index_names_every_page() -> None:
    index = text(ROOT / "docs" / "index.md")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "index.md" or f"]({page.name})" in index, page.name


def project_files() -> Iterator[Path]:
    """Yield the files of the project, without what .gitignore names."""
    ignored = [".git", *(line.strip().strip("/") for line in text(ROOT / ".gitignore").split())]
    folders = [ROOT]
    while folders:
        for path in sorted(folders.pop().iterdir()):
            if not any(fnmatch.fnmatch(path.name, pattern) for pattern in ignored):
                if path.is_dir():
                    folders.append(path)
                else:
                    yield path


def test_no_file_points_outside_the_project() -> None:
    forbidden = [
        "readings" + ".md",
        "claims" + ".md",
        "/work" + "/",
        "../" + "shared",
        "pypi" + ".org",
        "python" + "hosted.org",
        "index" + "-url",
    ]
    files = list(project_files())
    assert PAPER in files
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in files
        for word in forbidden
        if word.encode() in path.read_bytes()
    ]
    assert found == []
