"""What the site shows but git does not hold: the command line's help and the table of learners.

MkDocs calls the functions named `on_...` while it builds. They read the package and write nothing
into the sources. Run by `make docs`; nothing here runs a test or a benchmark.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.testing import CliRunner

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
sys.path.insert(0, str(SOURCE))  # the package beside these docs, whatever is installed

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

CLI_PAGE = "reference/cli.md"
LEARNERS_HERE = "<!-- table of learners -->"
ANY_CLASS = re.compile(r"(?m)^::: ~(\w+)$")
ORACLES = {"groups": "r", "group": "the groups", "group_means": "the means", "frequency": "ν"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of the command line."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, CLI_PAGE, content=cli_page()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in the table of learners, and say where a class named by `::: ~Name` is."""
    if LEARNERS_HERE in markdown:
        markdown = markdown.replace(LEARNERS_HERE, "\n".join(learner_table()))
    return ANY_CLASS.sub(lambda match: f"::: {place_of(match[1])}", markdown)


# --- The command line -----------------------------------------------------------------------


def commands(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command and of all commands below it."""
    yield path
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from commands((*path, name), below)


def cli_page() -> str:
    """Return the help of every command, as people see it in a terminal."""
    from lumpable.cli.main import main

    parts = ["# The command line\n", "What `--help` prints, for every command.\n"]
    for words in commands((), main):
        title = " ".join(("lumpable", *words))
        shown = CliRunner().invoke(main, [*words, "--help"], prog_name="lumpable")
        if shown.exit_code != 0:
            raise RuntimeError(f"{title} --help: exit code {shown.exit_code}")
        parts.append(f"## `{title}`\n\n```text\n{shown.output}```\n")
    return "\n".join(parts)


# --- The API --------------------------------------------------------------------------------


@cache
def places() -> dict[str, list[str]]:
    """Return the full names of every class of the package, by its own name."""
    found: dict[str, list[str]] = {}
    for path in sorted((SOURCE / "lumpable").rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(f"{module}.{node.name}")
    return found


def place_of(name: str) -> str:
    """Return the full name of a class that stands only once in the package, wherever it is."""
    match places().get(name, []):
        case [place]:
            return place
        case others:
            raise LookupError(f"::: ~{name}: expected one class of this name, got {others}")


# --- The table of learners ------------------------------------------------------------------


def learner_table() -> Iterator[str]:
    """Yield a table with a line for each learner of the catalogue, in its order."""
    from lumpable.learners.catalogue import CATALOGUE

    yield "| name | learner | from | knows |"
    yield "| --- | --- | --- | --- |"
    for name, entry in CATALOGUE.items():
        module, _, wanted = entry.place.partition(":")
        made = getattr(importlib.import_module(module), wanted)
        named = inspect.signature(made).parameters
        knows = ", ".join(words for argument, words in ORACLES.items() if argument in named)
        first = " ".join((sys.modules[module].__doc__ or "").split("\n\n")[0].split())
        source = (first.partition(": ")[2] or first).rstrip(".")
        yield f"| `{name}` | {entry.title} | {source} | {knows} |"
