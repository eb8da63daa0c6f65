"""Fingerprints of code: an edit changes them. Knows nothing of what the code does.

`digest` reads what Python will run: bytecode, constants, defaults, closures, and what a function
names in its own module. The text of a file may be newer than what was imported from it.

`digest_behind` adds all code of this package that a function reaches: within its room by what
Python will run, so that an edit of a neighbour changes nothing; outside by whole files, found by
their imports, also those inside functions.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import hashlib
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from lumpable.base.errors import BadArgument

PACKAGE = Path(__file__).resolve().parent.parent
PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
HELD = (tuple, list, dict, set, frozenset, np.ndarray)
UNSAID = ("__module__", "__dict__", "__weakref__", "__doc__", "__qualname__", "__firstlineno__")
"""Attributes of a class that are not its code."""


def digest(thing: Any) -> str:
    """Return a short digest of the code behind a callable; the same in any process.

    >>> digest(lambda contexts: 1) == digest(lambda contexts: 1) != digest(lambda contexts: 2)
    True
    """
    return _short(word.encode(errors="backslashreplace") for word in _Walk().words(thing))[:12]


def digest_behind(function: Callable[..., Any], room: str, without: Sequence[str] = ()) -> str:
    """Return a fingerprint of a function and of the code of this package that it reaches.

    The rooms `without`, such as charts, cannot change what is computed.
    """
    walk = _Walk(room)
    parts = [word.encode(errors="backslashreplace") for word in walk.words(function)]
    start = [path for name in sorted(walk.outside) if (path := file_of(name)) is not None]
    for path in sorted(imported_by(start, without)):
        parts += [path.relative_to(PACKAGE).as_posix().encode(), path.read_bytes()]
    return _short(parts)


def _short(parts: Iterable[bytes]) -> str:
    taken = hashlib.sha256()
    for part in parts:
        taken.update(part + b"\0")
    return taken.hexdigest()[:16]


# --- What Python will run -------------------------------------------------------------------


class _Walk:
    """Describes an object word by word; one of an unknown kind is named by its type.

    In a room it follows all names of that room, and notes modules of the package outside.
    """

    def __init__(self, room: str = "") -> None:
        self.room = room
        self.outside: set[str] = set()
        self._seen: set[int] = set()

    def words(self, thing: Any) -> Iterator[str]:
        thing = getattr(thing, "py_func", thing)  # compiled by Numba
        if not isinstance(thing, FunctionType | type):
            thing = getattr(thing, "__wrapped__", thing)  # behind a cache
        if isinstance(thing, PLAIN):
            yield repr(thing)
            return
        if id(thing) in self._seen:
            return
        self._seen.add(id(thing))
        yield from self._describe(thing)
        if not isinstance(thing, type) and not callable(thing):
            # equal constants may or may not be one object
            self._seen.discard(id(thing))

    def _describe(self, thing: Any) -> Iterator[str]:
        if isinstance(thing, FunctionType):
            yield from self._function(thing)
        elif isinstance(thing, MethodType):
            yield from self._all((thing.__func__, getattr(thing.__self__, "__dict__", None)))
        elif isinstance(thing, staticmethod | classmethod):
            yield from self.words(thing.__func__)
        elif isinstance(thing, property):
            yield from self._all((thing.fget, thing.fset))
        elif isinstance(thing, functools.partial):
            yield from self._all((thing.func, thing.args, thing.keywords))
        elif isinstance(thing, CodeType):
            yield thing.co_code.hex()
            yield " ".join((*thing.co_names, *thing.co_varnames))
            yield from self._all(thing.co_consts)
        elif isinstance(thing, type):
            yield from self._class(thing)
        elif isinstance(thing, np.ndarray):
            yield f"{thing.dtype} {thing.shape} {hashlib.sha256(thing.tobytes()).hexdigest()}"
        elif isinstance(thing, tuple | list):
            yield f"{len(thing)}"
            yield from self._all(thing)
        elif isinstance(thing, set | frozenset):  # in no order, so sorted by their words
            yield from sorted(" ".join(self.words(each)) for each in thing)
        elif isinstance(thing, dict):
            yield from self._all(each for pair in thing.items() for each in pair)
        else:
            yield type(thing).__qualname__
            if dataclasses.is_dataclass(thing):
                yield from self._all(
                    getattr(thing, each.name) for each in dataclasses.fields(thing)
                )
            if callable(thing) and not _library(type(thing)):
                yield from self._all((type(thing), getattr(thing, "__dict__", None)))

    def _all(self, things: Iterable[Any]) -> Iterator[str]:
        for thing in things:
            yield from self.words(thing)

    def _function(self, thing: FunctionType) -> Iterator[str]:
        yield from self.words(thing.__code__)
        yield from self._all((thing.__defaults__, thing.__kwdefaults__))
        for cell in thing.__closure__ or ():
            try:
                yield from self.words(cell.cell_contents)
            except ValueError:  # not filled yet
                continue
        if _library(thing):
            return
        names = _names(thing.__code__)
        constant = (*PLAIN, *(HELD if self.room else (tuple,)))  # a list may change as code runs
        for name in sorted(names):  # helpers and constants of the same module, or of the room
            used = thing.__globals__.get(name)
            if isinstance(used, constant) or self._own(used, thing.__module__):
                yield name
                yield from self.words(used)
            elif self.room and _inside(name, PACKAGE.name) and "." in name:
                yield from self._beyond(importlib.import_module(name), names)  # imported within
            elif self.room:
                yield from self._beyond(used, names)

    def _class(self, thing: type) -> Iterator[str]:
        for each in thing.__mro__:
            yield each.__qualname__
            if _library(each):
                continue
            if self.room and not _inside(each.__module__, self.room):
                self._note(each.__module__)
            for name, value in vars(each).items():
                if name not in UNSAID:
                    yield name
                    yield from self.words(value)

    def _own(self, thing: Any, home: str) -> bool:
        module = _module(thing)
        return module == home or bool(self.room and _inside(module or "", self.room))

    def _beyond(self, thing: Any, names: set[str]) -> Iterator[str]:
        """Follow names used of a module: code of the room, or a file outside."""
        if not isinstance(thing, ModuleType):
            self._note(_module(thing) or "")
            return
        if not _inside(thing.__name__, PACKAGE.name):
            return
        if thing.__name__ != PACKAGE.name and not _inside(thing.__name__, self.room):
            self._note(thing.__name__)
        for name in sorted(names & set(dir(thing))):
            used = getattr(thing, name)
            if _inside(thing.__name__, self.room) and not isinstance(used, ModuleType):
                yield name
                yield from self.words(used)
            elif used is not thing:
                yield from self._beyond(used, names - {name})

    def _note(self, module: str) -> None:
        if _inside(module, PACKAGE.name) and module != PACKAGE.name:
            self.outside.add(module)


def _names(code: CodeType) -> set[str]:
    inner = (_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*inner)


def _module(thing: Any) -> str | None:
    return getattr(getattr(thing, "py_func", thing), "__module__", None)


def _inside(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _library(thing: Any) -> bool:
    """Say whether it comes with Python."""
    return (_module(thing) or "builtins").partition(".")[0] in sys.stdlib_module_names


# --- Files ----------------------------------------------------------------------------------


def imported_by(start: Iterable[Path], without: Sequence[str] = ()) -> set[Path]:
    """Return these files and all of this package that they import, directly or not."""
    found: set[Path] = set()
    ahead = list(start)
    while ahead:
        path = ahead.pop()
        if path not in found and path.relative_to(PACKAGE).parts[0] not in without:
            found.add(path)
            ahead += filter(None, map(file_of, _imports(path, path.stat().st_mtime_ns)))
    return found


@functools.cache
def _imports(path: Path, modified: int) -> tuple[str, ...]:
    """Return the dotted names that a file imports; of `from a import b` both a and a.b."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise BadArgument(path.name, why="relative imports are not followed")
            names += (node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names))
    return tuple(names)


def file_of(name: str) -> Path | None:
    """Return the file of a module of this package; None for other names."""
    first, *rest = name.split(".")
    if first != PACKAGE.name:
        return None
    stem = PACKAGE.joinpath(*rest)
    return next((p for p in (stem.with_suffix(".py"), stem / "__init__.py") if p.is_file()), None)
