"""Checks of what an experiment says, value by value. Knows no learners and no worlds.

What is wrong is a `Refused` that knows its place in the description.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lumpable.base.checks import MOST_ROUNDS
from lumpable.base.words import nearest
from lumpable.comparisons.positions import Place

TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "str": (str,),
}
WORDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a string"}


class Refused(ValueError):
    """Something in an experiment is wrong; `place` says where."""

    def __init__(self, place: Place, message: str) -> None:
        super().__init__(message)
        self.place = place


def items(said: Mapping[str, Any], key: str) -> Sequence[Any]:
    """Return the tables of this name, of which there must be some."""
    found = said.get(key, [])
    if isinstance(found, str | Mapping) or not isinstance(found, Sequence):
        raise Refused((key,), f"{key}: expected [[{key}]] tables, got {found!r}")
    if not found:
        raise Refused((key,), f"{key}: expected at least one [[{key}]], got none")
    return found


def whole(place: Place, name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return a whole number, which may be written as 1e6."""
    real = isinstance(value, float) and math.isfinite(value) and value == int(value)
    number = int(value) if real or isinstance(value, int | np.integer) else None
    if number is None or isinstance(value, bool) or number < low or number > (high or number):
        allowed = f"a whole number of at least {low}"
        if high is not None and (high < MOST_ROUNDS or (number or 0) > high):
            most = "9.22e18" if high == MOST_ROUNDS else high
            allowed = f"a whole number from {low} to {most}"
        raise Refused(place, f"{name}: expected {allowed}, got {value!r}")
    return number


def text(place: Place, name: str, value: Any, *, optional: bool = False) -> str | None:
    """Return a string that is not empty."""
    if (optional and value is None) or (isinstance(value, str) and value.strip()):
        return value
    raise Refused((*place, name), f"{name}: expected a string, got {value!r}")


def known(place: Place, key: str, names: Iterable[str], who: str, what: str = "key") -> None:
    """Refuse a key that is none of these names."""
    names = list(dict.fromkeys(names))
    if key not in names:
        listed = ", ".join(names) or "none"
        words = f"{key}: {who} has no such {what}, expected one of {listed}"
        raise Refused((*place, key), words + nearest(key, names))


def hinted(words: str) -> str:
    """Add the nearest of the words that were expected, where a message lists them.

    >>> hinted("noise: expected one of gaussian, bernoulli, got 'bernouli'")
    "noise: expected one of gaussian, bernoulli, got 'bernouli'; the nearest is 'bernoulli'"
    """
    found = re.search(r"expected one of (.+), got '([^']*)'$", words)
    if found is None:
        return words
    return words + nearest(found[2], [name.strip(" '") for name in found[1].split(",")])


def typed(place: Place, key: str, parameter: inspect.Parameter, value: Any) -> None:
    """Refuse a value that does not suit the annotation, where that is a simple one."""
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
    raise Refused((*place, key), f"{key}: expected {words}, got {value!r}")


def distinct(kind: str, labels: Sequence[str]) -> None:
    """Refuse a label that two have."""
    for i, label in enumerate(labels):
        if label in labels[:i]:
            first = labels.index(label) + 1
            words = f"label: expected one of its own, got {label!r}, as {kind} {first} has"
            raise Refused((kind, i, "label"), words)


def labelled(title: str, given: Mapping[str, Any]) -> str:
    """Return a label that says what was given."""
    return ", ".join([title, *(f"{key}={value}" for key, value in given.items())])
