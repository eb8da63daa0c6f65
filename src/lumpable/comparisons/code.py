"""A digest of the code of a learner: whoever edits it gets new numbers. Knows no learner.

What is taken is what Python will run: bytecode, constants, defaults, closures, and what a function
names in its own module. The text of a file may be newer than what was imported from it.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))

UNSAID = ("__module__", "__dict__", "__weakref__", "__doc__", "__qualname__", "__firstlineno__")
"""What a class holds beside its code."""


def digest(found: Any) -> str:
    """Return a short digest of the code behind what makes a learner; the same in any process.

    >>> digest(lambda contexts: 1) == digest(lambda contexts: 1) != digest(lambda contexts: 2)
    True
    """
    taken = hashlib.sha256()
    for word in _words(found, set()):
        taken.update(word.encode(errors="backslashreplace") + b"\0")
    return taken.hexdigest()[:12]


def _words(thing: Any, seen: set[int]) -> Iterator[str]:
    """Say what a thing does; what cannot be said is at least named by its type."""
    thing = getattr(thing, "py_func", thing)  # compiled by Numba
    if isinstance(thing, PLAIN):
        yield repr(thing)
        return
    if id(thing) in seen:
        return
    seen.add(id(thing))
    yield from _said(thing, seen)
    if not isinstance(thing, type) and not callable(thing):
        seen.discard(id(thing))  # whether equal constants are one object is Python's affair


def _said(thing: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(thing, FunctionType):
        yield from _function(thing, seen)
    elif isinstance(thing, MethodType):
        yield from _all((thing.__func__, getattr(thing.__self__, "__dict__", None)), seen)
    elif isinstance(thing, staticmethod | classmethod):
        yield from _words(thing.__func__, seen)
    elif isinstance(thing, property):
        yield from _all((thing.fget, thing.fset), seen)
    elif isinstance(thing, functools.partial):
        yield from _all((thing.func, thing.args, thing.keywords), seen)
    elif isinstance(thing, CodeType):
        yield from _code(thing, seen)
    elif isinstance(thing, type):
        yield from _class(thing, seen)
    elif isinstance(thing, np.ndarray):
        yield f"{thing.dtype} {thing.shape} {hashlib.sha256(thing.tobytes()).hexdigest()}"
    elif isinstance(thing, tuple | list):
        yield f"{len(thing)}"
        yield from _all(thing, seen)
    elif isinstance(thing, set | frozenset):  # in no order, so in that of what they say
        yield from sorted(" ".join(_words(each, seen)) for each in thing)
    elif isinstance(thing, dict):
        yield from _all((each for pair in thing.items() for each in pair), seen)
    else:
        yield type(thing).__qualname__
        if callable(thing) and not _library(type(thing)):
            yield from _all((type(thing), getattr(thing, "__dict__", None)), seen)


def _all(things: Any, seen: set[int]) -> Iterator[str]:
    for thing in things:
        yield from _words(thing, seen)


def _function(thing: FunctionType, seen: set[int]) -> Iterator[str]:
    yield from _words(thing.__code__, seen)
    yield from _all((thing.__defaults__, thing.__kwdefaults__), seen)
    for cell in thing.__closure__ or ():
        try:
            yield from _words(cell.cell_contents, seen)
        except ValueError:  # not filled yet
            continue
    if _library(thing):
        return
    for name in sorted(_names(thing.__code__)):  # helpers and constants of the same module
        used = thing.__globals__.get(name)
        if isinstance(used, (*PLAIN, tuple)) or _module(used) == thing.__module__:
            yield name
            yield from _words(used, seen)


def _class(thing: type, seen: set[int]) -> Iterator[str]:
    for each in thing.__mro__:
        yield each.__qualname__
        if _library(each):
            continue
        for name, value in vars(each).items():
            if name not in UNSAID:
                yield name
                yield from _words(value, seen)


def _code(thing: CodeType, seen: set[int]) -> Iterator[str]:
    yield thing.co_code.hex()
    yield " ".join((*thing.co_names, *thing.co_varnames))
    yield from _all(thing.co_consts, seen)


def _names(code: CodeType) -> set[str]:
    inner = (_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*inner)


def _module(thing: Any) -> str | None:
    return getattr(getattr(thing, "py_func", thing), "__module__", None)


def _library(thing: Any) -> bool:
    """Whether it comes with Python."""
    return (_module(thing) or "builtins").partition(".")[0] in sys.stdlib_module_names
