"""Checks of single values of an experiment. Knows no learners and no worlds.

A bad value is a `Refused`: a `BadArgument` that knows where it stands in the description.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lumpable.base import checks
from lumpable.base.checks import MOST_ROUNDS
from lumpable.base.errors import BadArgument
from lumpable.base.words import nearest
from lumpable.comparisons.positions import Place

TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "str": (str,),
}
WORDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a string"}


class Refused(BadArgument):
    """Something in an experiment is wrong; `spot` says where: keys and numbers from the top."""

    def __init__(
        self, spot: Place, argument: str, expected: str = "", got: str = "", **words: str
    ) -> None:
        super().__init__(argument, expected, got, **words)
        self.spot = spot

    def at(self, place: str) -> BadArgument:
        """Return the error with its place in words: a file and line, or an item of a list."""
        where = ": ".join(part for part in (place, self.place) if part)
        return BadArgument(self.argument, self.expected, self.got, why=self.why, place=where)


def refusal(spot: Place, said: object, place: str, error: Exception) -> Refused:
    """Return an error in what was described, at the key that caused it if that is known."""
    if not isinstance(error, BadArgument):
        first = (str(error).splitlines() or [type(error).__name__])[0]
        return Refused(spot, place, why=first)
    own = isinstance(said, Mapping) and error.argument in said
    where = (*spot, error.argument) if own else spot
    return Refused(where, error.argument, error.expected, error.got, why=error.why, place=place)


def items(said: Mapping[str, Any], key: str) -> Sequence[Any]:
    """Return the tables of this name; there must be at least one."""
    found = said.get(key, [])
    if isinstance(found, str | Mapping) or not isinstance(found, Sequence):
        raise Refused((key,), key, f"[[{key}]] tables", repr(found))
    if not found:
        raise Refused((key,), key, f"at least one [[{key}]]", "none")
    return found


def whole(spot: Place, name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return a whole number, which may be written as 1e6."""
    real = isinstance(value, float) and math.isfinite(value) and value == int(value)
    number = int(value) if real or isinstance(value, int | np.integer) else None
    if number is None or isinstance(value, bool) or number < low or number > (high or number):
        allowed = f"a whole number of at least {low}"
        if high is not None and (high < MOST_ROUNDS or (number or 0) > high):
            most = "9.22e18" if high == MOST_ROUNDS else high
            allowed = f"a whole number from {low} to {most}"
        raise Refused(spot, name, allowed, repr(value))
    return number


def text(spot: Place, name: str, value: Any) -> str:
    """Return a string that is not empty."""
    if isinstance(value, str) and value.strip():
        return value
    raise Refused((*spot, name), name, "a string", repr(value))


def choice(spot: Place, name: str, value: Any, allowed: Iterable[str]) -> str:
    """Return a word that is one of these."""
    try:
        return checks.choice(name, value, tuple(allowed))
    except BadArgument as error:
        raise refusal((*spot, name), None, "", error) from None


def check_key(spot: Place, key: str, names: Iterable[str], who: str, what: str = "key") -> None:
    """Refuse a key that is not among these names."""
    names = list(dict.fromkeys(names))
    if key not in names:
        listed = ", ".join(names) or "none"
        words = f"{who} has no such {what}, expected one of {listed}{nearest(key, names)}"
        raise Refused((*spot, key), key, why=words)


def check_type(spot: Place, key: str, parameter: inspect.Parameter, value: Any) -> None:
    """Refuse a value of the wrong type, where the annotation is a simple one."""
    annotation = parameter.annotation
    if annotation is parameter.empty:
        return
    if isinstance(annotation, type):
        annotation = annotation.__name__
    kinds = [kind.strip() for kind in str(annotation).split("|") if kind.strip() != "None"]
    if not kinds or not all(kind in TYPES for kind in kinds):
        return
    for kind in kinds:
        if isinstance(value, TYPES[kind]) and (kind == "bool" or not isinstance(value, bool)):
            return
    if value is None and "None" in str(annotation):
        return
    words = " or ".join(WORDS[kind] for kind in kinds)
    raise Refused((*spot, key), key, words, repr(value))


def check_labels(kind: str, labels: Sequence[str]) -> None:
    """Refuse a label that two have."""
    first: dict[str, int] = {}
    for i, label in enumerate(labels):
        if first.setdefault(label, i) != i:
            got = f"{label!r}, which is the label of {kind} {first[label] + 1}"
            raise Refused((kind, i, "label"), "label", "a label of its own", got)


def label_of(title: str, given: Mapping[str, Any]) -> str:
    """Return a label made of a title and parameters."""
    return ", ".join([title, *(f"{key}={value}" for key, value in given.items())])
