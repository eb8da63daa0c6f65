"""Names of contexts and arms: plain strings or integers, each with a number from 0 on."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping

import numpy as np

from lumpable.base.errors import BadArgument
from lumpable.lumps.core.under_way import Name

LOWEST, HIGHEST = -(2**63), 2**63 - 1
"""Names that are numbers fit into 64 bits, so that every file format can hold them."""


class Names:
    """Names in order of first appearance, each with a number from 0 on."""

    def __init__(self, kind: str, names: Iterable[Name] = ()) -> None:
        self.kind = kind
        """What is named, for errors."""
        self.listed = list(names)
        self.number = {name: place for place, name in enumerate(self.listed)}

    def __len__(self) -> int:
        return len(self.listed)

    def plain(self, name: object) -> Name:
        """Return a name as a plain str or int; anything else is an error."""
        if type(name) is str or type(name) is int:
            if name in self.number or _holdable(name):
                return name
        elif isinstance(name, str):
            return self.plain(str.__str__(name))
        elif not isinstance(name, bool | np.bool_) and hasattr(name, "__index__"):
            try:
                return self.plain(operator.index(name))
            except TypeError:  # an array of several numbers
                pass
        expected = "a string, or an integer of at most 64 bits"
        raise BadArgument(self.kind, expected, repr(name))

    def plains(self, names: Iterable[object]) -> list[Name]:
        """Return many names as plain ones."""
        several = isinstance(names, Iterable) and not isinstance(names, str | Mapping)
        if not several or hasattr(names, "columns"):
            got = f"one string {names!r}" if isinstance(names, str) else f"{names!r:.60}"
            raise BadArgument(f"{self.kind}s", "several names", got)
        known, plain = self.number, self.plain
        return [
            name if (type(name) is str or type(name) is int) and name in known else plain(name)
            for name in names
        ]

    def new(self, names: Iterable[Name]) -> list[Name]:
        """Return those of these plain names that have no number yet, each once."""
        return list(dict.fromkeys(name for name in names if name not in self.number))

    def add(self, new: Iterable[Name]) -> None:
        """Give new names the next numbers."""
        for name in new:
            self.number[name] = len(self.listed)
            self.listed.append(name)

    def cut(self, length: int) -> None:
        """Take away all names but the first ones, also of an addition that was cut off."""
        for name in [name for name, place in self.number.items() if place >= length]:
            del self.number[name]
        del self.listed[length:]


def _holdable(name: Name) -> bool:
    """Whether a file can hold this name."""
    if isinstance(name, int):
        return LOWEST <= name <= HIGHEST
    try:
        name.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True
