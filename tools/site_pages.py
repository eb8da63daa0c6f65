"""What the site shows but git does not hold: API, help of the command line, table of learners.

Pages under docs/ name these parts by a line of their own. While the site is built `filled` puts
Markdown in their place:

    ::: lumpable.Lumps                what its docstrings say; a module's public names, one by one
    ::: ~Decision                     a class by its name alone, wherever in the package it is
    ::: command line                  the help of every command
    ::: table of learners             the catalogue
    ::: classes of learners           what the docstrings of its classes say

It reads the package and writes nothing. Nothing here runs a test or a benchmark.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from click.testing import CliRunner

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PART = re.compile(r"(?m)^::: (.+)$")
ORACLES = {"groups": "r", "group": "the groups", "group_means": "the means", "frequency": "ν"}


def filled(text: str) -> str:
    """Return a page with its parts in place."""
    return PART.sub(lambda line: _part(line[1].strip()), text)


def _part(words: str) -> str:
    made = {
        "command line": command_line,
        "table of learners": learner_table,
        "classes of learners": learner_classes,
    }
    if words in made:
        return "\n".join(made[words]())
    return "\n".join(entry(place_of(words[1:]) if words.startswith("~") else words))


# --- The API ------------------------------------------------------------------------------------


def found(name: str) -> Any:
    """Return what a dotted name of the package stands for."""
    parts = name.split(".")
    thing: Any = importlib.import_module(parts[0])
    for k, part in enumerate(parts[1:], start=2):
        if not hasattr(thing, part):
            importlib.import_module(".".join(parts[:k]))
        thing = getattr(thing, part)
    return thing


def entry(name: str, *, members: bool = True) -> Iterator[str]:
    """Yield the Markdown that shows the docstrings of a name."""
    thing = found(name)
    if isinstance(thing, ModuleType):
        yield f"### `{name}`\n"
        yield f"{inspect.getdoc(thing)}\n"
        for below in public(thing):
            yield from entry(f"{name}.{below}")
        return
    kind = "class" if inspect.isclass(thing) else "function"
    options = ["   :members:", "   :inherited-members: object, ValueError, ImportError"]
    inside = options if kind == "class" and members else []
    yield "\n".join(["```{eval-rst}", f".. auto{kind}:: {name}", *inside, "```", ""])


def public(module: ModuleType) -> list[str]:
    """Return the functions and classes of a module that are for people, as they stand in it."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(thing) or inspect.isclass(thing) or hasattr(thing, "__wrapped__"))
        and thing.__module__ == module.__name__
    ]


@cache
def places() -> dict[str, list[str]]:
    """Return the full names of every class of the package, by its own name."""
    there: dict[str, list[str]] = {}
    for path in sorted((SOURCE / "lumpable").rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                there.setdefault(node.name, []).append(f"{module}.{node.name}")
    return there


def place_of(name: str) -> str:
    """Return the full name of a class whose name stands only once in the package."""
    match places().get(name, []):
        case [place]:
            return place
        case others:
            raise LookupError(f"::: ~{name}: expected one class of this name, got {others}")


# --- Docstrings ---------------------------------------------------------------------------------


def as_rst(lines: list[str]) -> list[str]:
    """Return a docstring for Sphinx: `code` as code, parameters as a list of definitions.

    Ours are plain text with backquotes, examples, and sections underlined with dashes; stars, bars
    and underscores in them mean themselves.
    """
    out: list[str] = []
    section = example = False
    for line, after in pairwise([*lines, ""]):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if re.fullmatch("-{3,}", after):
            out += [f".. rubric:: {line}", ""]
            section = True
        elif example:
            out.append(line)
            section = section and line.startswith(" ")
        elif section and re.match(r"\w", line) and after.startswith(" "):
            out.append(f"`{line}`")
        elif not re.fullmatch("-{3,}", line):
            out.append(_plain(line))
    return out


def _plain(line: str) -> str:
    parts = line.split("`")
    for k in range(0, len(parts), 2):
        start = re.match(r"\s*[*-] ", parts[k]) if k == 0 else None
        bullet = start[0] if start else ""
        words = parts[k].removeprefix(bullet)
        parts[k] = bullet + re.sub(r"[*|]|(?<=\w)_(?!\w)", lambda sign: "\\" + sign[0], words)
    return "`".join(parts)


ARRAY_LIKE = re.compile(
    r"[\w.~]*_Buffer \| .*?_SupportsArray\[.*? \| bytes(?: \| str)?"
    r" \| [\w.~]*_NestedSequence\[complex \| bytes \| str\]"
)


def short_types(signature: str | None) -> str | None:
    """Return a signature that says `ArrayLike` where numpy spells out what that is."""
    return None if signature is None else ARRAY_LIKE.sub("ArrayLike", signature)


# --- The command line ---------------------------------------------------------------------------


def commands(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command and of all commands below it."""
    yield path
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from commands((*path, name), below)


def command_line() -> Iterator[str]:
    """Yield the help of every command, as people see it in a terminal."""
    from lumpable.cli.main import main

    for words in commands((), main):
        title = " ".join(("lumpable", *words))
        shown = CliRunner().invoke(main, [*words, "--help"], prog_name="lumpable")
        if shown.exit_code != 0:
            raise RuntimeError(f"{title} --help: exit code {shown.exit_code}")
        yield f"## `{title}`\n\n```text\n{shown.output}```\n"


# --- Learners -----------------------------------------------------------------------------------


def learner_table() -> Iterator[str]:
    """Yield a table with a line for each learner of the catalogue, in its order."""
    from lumpable.learners.catalogue import CATALOGUE

    yield "| name | learner | from | knows |"
    yield "| --- | --- | --- | --- |"
    for name, listed in CATALOGUE.items():
        module, _, wanted = listed.place.partition(":")
        made: Callable[..., Any] = getattr(importlib.import_module(module), wanted)
        named = inspect.signature(made).parameters
        knows = ", ".join(words for argument, words in ORACLES.items() if argument in named)
        first = " ".join((sys.modules[module].__doc__ or "").split("\n\n")[0].split())
        source = (first.partition(": ")[2] or first).rstrip(".")
        yield f"| `{name}` | {listed.title} | {source} | {knows} |"


def learner_classes() -> Iterator[str]:
    """Yield an entry of the API for each class of learners: how it is made, and its reference."""
    from lumpable import learners

    for name in learners.__all__:
        if inspect.isclass(getattr(learners, name)):
            yield from entry(f"lumpable.learners.{name}", members=False)
