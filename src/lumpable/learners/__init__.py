"""Learners that decide every round. They know no world: `ask` reads, `tell` writes.

Each is a page of its own. They are imported when they are first named: their steps are compiled,
and the compiler takes longer to import than all the rest of the package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lumpable.learners.catalogue import CATALOGUE, names

if TYPE_CHECKING:
    from lumpable.learners.base import Compiled, Learner, Unfit
    from lumpable.learners.exp4 import ConstantExperts
    from lumpable.learners.ucb import UCB1

__all__ = ["CATALOGUE", "UCB1", "Compiled", "ConstantExperts", "Learner", "Unfit", "names"]

_BASE = ("Compiled", "Learner", "Unfit")


def __getattr__(name: str) -> Any:
    """Import a learner's module when the learner is first asked for."""
    if name in _BASE:
        return getattr(importlib.import_module("lumpable.learners.base"), name)
    for entry in CATALOGUE.values():
        module, _, found = entry.place.partition(":")
        if found == name:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name everything that can be asked for."""
    return sorted({*__all__, *(entry.place.partition(":")[2] for entry in CATALOGUE.values())})
