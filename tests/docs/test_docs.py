"""The documentation says what is there: quoted code, cited tests, links, names, commands."""

from __future__ import annotations

import ast
import fnmatch
import functools
import html
import inspect
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, get_args, get_type_hints

import click
import pytest

import lumpable as lb
import site_pages
from browser import Chrome, until
from lumpable.cli import reproducing
from lumpable.cli.main import main
from lumpable.reproduce.listed import CLAIMS

ROOT = next(
    folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file()
)
DOCS, TESTS, SOURCE = ROOT / "docs", ROOT / "tests", ROOT / "src" / "lumpable"
PAPER = DOCS / "explanation" / "paper.md"
REGRET = DOCS / "explanation" / "paper-regret.md"
ERRATA = DOCS / "explanation" / "errata.md"
HAND_WRITTEN = [PAPER, REGRET, ERRATA, DOCS / "how-to" / "regret.md"]
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
CITATION = re.compile(r"`(\w+\.py)(?:::([\w.]+))?`")
ALGORITHM = re.compile(r"(?m)^### (Algorithm \d: .*)\n")


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def without_space(code: str) -> str:
    return "".join(code.split())


def both() -> str:
    """Return the paper beside the code: the two pages in one."""
    return text(PAPER) + "\n" + text(REGRET)


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@functools.cache
def cited_file(name: str) -> Path:
    """Return the one file of this name, in whatever folder of the tests or of the package."""
    there = list((TESTS if name.startswith("test_") else SOURCE).rglob(name))
    return there[0] if len(there) == 1 else ROOT / "no" / "such" / "file"


@functools.cache
def parsed_file(path: Path) -> tuple[list[str], list[ast.stmt]]:
    """Return the lines of a file, and what they say."""
    source = text(path)
    return source.split("\n"), ast.parse(source).body


@functools.cache
def find(path: Path, name: str) -> str | None:
    """Return the lines of a function, class or method (`Class.method`), None: there is none."""
    lines, scope = parsed_file(path)
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
    return None if found is None else "\n".join(lines[found.lineno - 1 : found.end_lineno])


# --- The paper beside the code ------------------------------------------------------------------


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


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=page_name)
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
        assert "`test_" in reading.split("*Test:*")[1], reading[:40]


def test_readings_that_the_code_names_are_there() -> None:
    known = set(re.findall(r"\*\*Reading (\d+)", both()))
    for path in SOURCE.rglob("*.py"):
        assert set(re.findall(r"[Rr]eading (\d+)", text(path))) <= known, path.name


def named_claims(page: str) -> set[int]:
    """Return the numbers of `lumpable reproduce --only ..` on a page."""
    return {n for part in re.findall(r"--only (\d[\d,-]*)", page) for n in reproducing.parse(part)}


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=page_name)
def test_claims_that_a_page_names_are_there(page: Path) -> None:
    assert named_claims(text(page)) <= {claim.number for claim in CLAIMS}


def test_the_errata_name_their_claims() -> None:
    assert len(named_claims(text(ERRATA))) > 20


def test_the_checks_of_quotes_and_citations_can_fail() -> None:
    page = text(PAPER)
    assert wrong_quotes(page.replace("`candidates.add(j)`", "`candidates.add(i)`"))
    assert wrong_quotes(page.replace("`pac.py::screen` `while", "`pac.py::near_uniform` `while"))
    assert wrong_citations(page.replace("::test_levels`", "::test_level`"))
    assert wrong_citations(page.replace("`test_plans.py::", "`test_plan.py::"))
    page = text(REGRET)
    assert wrong_quotes(page.replace("> 2 * self.threshold", ">= 2 * self.threshold"))
    assert wrong_citations(page.replace("`exp4.py::", "`exp3.py::"))


# --- The site ---------------------------------------------------------------------------------


SEEN = ("index", "explanation/ideas", "reference/cli", "reference/learners", "reference/lumps")
"""The pages that are written by day."""


def built(folder: Path, *pages: str) -> Path:
    """Build the site, or read all and write some pages; what Sphinx complains of fails."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "--no-color"]
    done = subprocess.run(
        [*command, "-d", str(folder / "trees"), str(DOCS), str(folder / "site"), *pages],
        capture_output=True,
        text=True,
        check=False,
    )
    said = re.sub(r"WARNING: search index couldn't be loaded.*\n", "", done.stderr)
    assert not said, said
    assert done.returncode == bool(pages)  # only for the index, which then is of some pages
    return folder / "site"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site by day: a docstring that is no text, or a page to which nothing leads, fails.

    Links from page to page are looked at below, those of all docstrings by night.
    """
    return built(tmp_path_factory.mktemp("site"), *(str(DOCS / f"{name}.md") for name in SEEN))


@pytest.mark.nightly
def test_the_whole_site_is_built(tmp_path: Path) -> None:
    """A link that leads nowhere fails; nothing on any page comes from another host."""
    pages = [p for p in built(tmp_path).rglob("*") if p.suffix in {".html", ".css"}]
    assert len(pages) > 45
    assert [path.name for path in pages if LOADED.search(text(path))] == []


LOADED = re.compile(
    r"""(?ix) <(?:script|img|iframe|source|audio|video|embed)\b[^>]*?\bsrc\s*=\s*["']?(?:https?:)?//
    | <link\b(?![^>]*\brel=["']?(?:canonical|author|license))[^>]*?\bhref\s*=\s*["']?(?:https?:)?//
    | @import\s+(?:url\()?["']?(?:https?:)?//  | url\(\s*["']?(?:https?:)?//"""
)
"""What makes a browser fetch something from another host while it reads a page."""


def test_nothing_on_the_site_comes_from_another_host(site: Path) -> None:
    pages = [path for path in site.rglob("*") if path.suffix in {".html", ".css"}]
    assert {f"{name}.html" for name in SEEN} <= {str(path.relative_to(site)) for path in pages}
    assert [path.name for path in pages if LOADED.search(text(path))] == []
    assert LOADED.search('<script async src="https://cdn.example/x.js"></script>')
    assert LOADED.search('<link rel="stylesheet" href="//fonts.example/x.css">')
    assert LOADED.search("@font-face { src: url(https://fonts.example/x.woff) }")


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_the_site_reads_and_searches_without_a_network(
    chrome: Chrome, site: Path, scheme: Literal["light", "dark"]
) -> None:
    asked: list[str] = []
    complaints: list[str] = []
    page = chrome.new_page(color_scheme=scheme, offline=True)
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    for name in ("index.html", "explanation/ideas.html", "reference/lumps.html"):
        page.goto((site / name).as_uri())
        until(page, "[...document.images].every(one => one.complete && one.naturalWidth > 0)")
    page.goto((site / "search.html").as_uri() + "?q=propensity")
    page.wait_for_selector("#search-results li a")
    page.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert complaints == []


def test_the_site_has_light_and_dark(chrome: Chrome, site: Path) -> None:
    colours = set()
    for scheme in ("light", "dark"):
        page = chrome.new_page(color_scheme=scheme)
        page.goto((site / "index.html").as_uri())
        colours.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert page.locator(".theme-toggle").count() > 0
        page.close()
    assert len(colours) == 2


def test_the_site_holds_what_is_made_while_it_is_built(site: Path) -> None:
    help_page = html.unescape(text(site / "reference" / "cli.html"))
    for words in site_pages.commands((), main):
        assert f"Usage: {' '.join(('lumpable', *words))} " in help_page
    table = text(site / "reference" / "learners.html")
    for name in lb.learners.names():
        assert f">{name}</span>" in table
    api = text(site / "reference" / "lumps.html")
    assert all(f'id="lumpable.Lumps.{name}"' in api for name in ("decide", "reward", "save"))


REFERENCE = [DOCS / "reference" / name for name in ("lumps.md", "paper.md", "comparisons.md")]


def test_the_reference_has_every_public_name() -> None:
    pages = "\n".join(map(text, REFERENCE))
    shown = set(re.findall(r"(?m)^::: lumpable\.(\w+)$|`lumpable\.(\w+)`", pages))
    names = {first or second for first, second in shown} | {"learners"}
    assert set(lb.__all__) - names == set()


def parts_of(hint: object) -> Iterator[type]:
    """Yield the classes of the package in a type."""
    if isinstance(hint, type) and hint.__module__.startswith("lumpable."):
        yield hint
    for part in get_args(hint):
        yield from parts_of(part)


def handed_out(owners: Iterable[type]) -> set[type]:
    """Return the classes that public methods hand out, and those of their fields."""
    hints = [
        get_type_hints(thing.fget if isinstance(thing, property) else thing).get("return")
        for owner in owners
        for name, thing in inspect.getmembers(owner)
        if not name.startswith("_") and (inspect.isfunction(thing) or isinstance(thing, property))
    ]
    found: set[type] = set()
    while new := {part for hint in hints for part in parts_of(hint)} - found - {*owners}:
        found |= new
        hints = [hint for one in new for hint in get_type_hints(one).values()]
    return found


def test_the_reference_has_what_public_methods_hand_out() -> None:
    shown = set(re.findall(r"(?m)^::: \S*?[.~]?(\w+)$", "\n".join(map(text, REFERENCE))))
    owners = (lb.Lumps, lb.PolicyFinder, lb.LiveExperiment, lb.Learned, lb.Nightly, lb.Events)
    rows = {one.__name__ for one in handed_out(owners)}
    assert {"Group", "Activity", "Weights"} <= rows
    assert rows - shown == set()


def test_lumps_comes_first_in_the_reference() -> None:
    first = re.findall(r"(?m)^::: (\S+)$", text(REFERENCE[0]))[0]
    assert first == "lumpable.Lumps"


# --- Names and commands on pages ----------------------------------------------------------------

NAME = re.compile(r"\b(?:lb|lumpable)\.((?:[A-Za-z]\w*)(?:\.[A-Za-z]\w*)*)")
FILES = ("toml", "md", "py", "parquet", "lumps", "html")


def missing_names(page: str) -> list[str]:
    """Return the names of the package that a page mentions and that do not exist."""
    prose = re.sub(r"(?s)```\{?(?:eval-rst|toctree|text).*?```", "", page)
    return sorted(
        name
        for name in set(NAME.findall(prose))
        if name.rpartition(".")[2] not in FILES and not exists(name)
    )


def exists(name: str) -> bool:
    try:
        site_pages.found(f"lumpable.{name}")
    except (AttributeError, ImportError):
        return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_names_that_a_page_mentions_exist(page: Path) -> None:
    assert missing_names(text(page)) == []


def test_a_name_that_does_not_exist_is_noticed() -> None:
    assert missing_names("Take `lb.Lumpz` or lb.pac.near_uniform.") == ["Lumpz"]


def shown_commands(page: str) -> Iterator[list[str]]:
    """Yield the words of every `lumpable ...` line of a page: in a block, or between backquotes."""
    for line in re.findall(r"(?m)^(?: {4}|\t)+(lumpable .*)$", page) + re.findall(
        r"`(lumpable [a-z][^`]*)`", page
    ):
        words = shlex.split(line.replace("\n", " "), comments=True)
        if not {"...", "|"} & set(words) and len(words) > 1:
            yield words[1:]


def parsed(words: list[str]) -> str:
    """Return what is wrong with a command line, read and not run; empty: nothing."""
    command: click.Command = main
    context = click.Context(command, info_name="lumpable")
    try:
        while isinstance(command, click.Group) and words:
            below = command.get_command(context, words[0])
            if below is None:
                return f"no command {words[0]!r}"
            command, words = below, words[1:]
        if words:
            command.make_context("lumpable", list(words), parent=context)
    except click.exceptions.Exit:
        return ""
    except click.UsageError as error:
        return "" if isinstance(error, click.MissingParameter) else error.format_message()
    return ""


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_commands_that_a_page_shows_can_be_typed(page: Path, tmp_path: Path) -> None:
    wrong = {" ".join(words): parsed(words) for words in shown_commands(text(page))}
    assert {line: said for line, said in wrong.items() if said} == {}


def test_a_command_that_cannot_be_typed_is_noticed() -> None:
    page = "\n    lumpable simulate pac --contextz 3\n\nand `lumpable simulat`\n"
    option, command = [parsed(words) for words in shown_commands(page)]
    assert "--contextz" in option
    assert command == "no command 'simulat'"


def test_there_are_commands_to_check() -> None:
    assert sum(len(list(shown_commands(text(page)))) for page in PAGES) > 40


def test_what_made_a_page_is_what_is_listed() -> None:
    """Commands are those at the heads of measured pages, and so are minutes where both say them."""
    compared = 0
    for row in text(DOCS / "reference" / "making.md").splitlines():
        names = re.findall(r"measured/([\w-]+\.md)\)", row)
        heads = [text(DOCS / "measured" / name).partition("\n## ")[0] for name in names]
        made = [head for head in heads if "Made by `python benchmarks/" in head]
        command = re.search(r"`(python benchmarks/[^`]*)`", row)
        if made and command is not None:
            same = [head for head in made if f"Made by `{command[1]}`" in head]
            assert same, row
            said, took = (re.search(r"(\d+) minutes", each) for each in (row, same[0]))
            assert said is None or (took is not None and said[1] == took[1]), row
            compared += 1
    assert compared >= 7


def test_targets_of_make_that_a_page_shows_exist() -> None:
    targets = set(re.findall(r"(?m)^([a-z]+):", text(ROOT / "Makefile")))
    for page in PAGES:
        shown = set(re.findall(r"(?m)^ {4}make ([a-z]+)|`make ([a-z]+)[` ]", text(page)))
        assert {first or second for first, second in shown} <= targets, page


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


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_pages_that_the_code_names_exist() -> None:
    named = {
        name
        for path in SOURCE.rglob("*.py")
        for name in re.findall(r"\b[a-z][\w-]*\.md\b", text(path))
    }
    assert {"paper.md", "errata.md"} <= named
    assert named <= {page.name for page in PAGES}


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
        for content in [path.read_bytes()]
        for word in forbidden
        if word.encode() in content
    ]
    assert found == []
