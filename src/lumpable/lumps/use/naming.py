"""Names of contexts and arms: plain strings or integers, each with a number from 0 on.

What is easily mistaken is said once: 17 beside "17", and integers that came as floats, as frames
make them of columns with missing values.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping

import numpy as np

from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.lumps.use.notes import Notes

LOWEST, HIGHEST = -(2**63), 2**63 - 1
"""Names that are numbers fit into 64 bits, so that every file format can hold them."""
EXACT = 2**53
"""Floats beyond this are no whole numbers that anybody counted."""
EXPECTED = "a string, or an integer of at most 64 bits"


class Names:
    """Names in order of first appearance, each with a number from 0 on."""

    def __init__(self, kind: str, names: Iterable[Name] = (), notes: Notes | None = None) -> None:
        self.kind = kind
        """What is named, for errors."""
        self.listed = list(names)
        self.number = {name: place for place, name in enumerate(self.listed)}
        self._notes = notes or Notes()

    def __len__(self) -> int:
        return len(self.listed)

    def plain(self, name: object) -> Name:
        """Return a name as a plain str or int; anything else is an error."""
        if type(name) is str or type(name) is int:
            if name in self.number:
                return name
            if _holdable(name):
                self._compare(name, self.number)
                return name
        elif isinstance(name, str):
            return self.plain(str.__str__(name))
        elif isinstance(name, float | np.floating):
            value = float(name)
            if value.is_integer() and abs(value) <= EXACT:
                words = f"{self.kind}s came as floats ({value}): read as integers"
                self._notes.once(f"floats as {self.kind}s", words)
                return self.plain(int(value))
        elif not isinstance(name, bool | np.bool_) and hasattr(name, "__index__"):
            try:
                return self.plain(operator.index(name))
            except TypeError:  # an array of several numbers, a length of time
                pass
        raise BadArgument(self.kind, EXPECTED, repr(name))

    def plains(self, names: Iterable[object]) -> list[Name]:
        """Return many names as plain ones; an error says in which row it is."""
        several = isinstance(names, Iterable) and not isinstance(names, str | Mapping)
        if not several or hasattr(names, "columns"):
            got = f"one string {names!r}" if isinstance(names, str) else f"{names!r:.60}"
            raise BadArgument(f"{self.kind}s", "several names", got)
        known, plain, rows = self.number, self.plain, list(names)
        try:
            return [
                name if (type(name) is str or type(name) is int) and name in known else plain(name)
                for name in rows
            ]
        except BadArgument:
            raise self._wrong_row(rows) from None

    def _wrong_row(self, names: list[object]) -> BadArgument:
        """Return the error of the first name that is none, and its row."""
        for row, name in enumerate(names):
            try:
                self.plain(name)
            except BadArgument as error:
                return BadArgument(self.kind, error.expected, f"{error.got} in row {row}")
        return BadArgument(self.kind, EXPECTED)

    def new(self, names: Iterable[Name]) -> list[Name]:
        """Return those of these plain names that have no number yet, each once."""
        new = dict.fromkeys(name for name in names if name not in self.number)
        for name in new:
            self._compare(name, new)
        return list(new)

    def _compare(self, name: Name, others: Mapping[Name, object]) -> None:
        """Say it if a name stands among others as a string here and as an integer there."""
        twin = _twin(name) if others else None
        if twin is not None and twin in others:
            number, text = sorted((name, twin), key=lambda one: isinstance(one, str))
            kinds = f"{self.kind}s: {number!r} (an integer) and {text!r} (a string)"
            self._notes.once(f"twins among {self.kind}s", f"{kinds} are two names: use one")

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


def _twin(name: Name) -> Name | None:
    """Return the name that looks the same and is of the other kind, if there is one."""
    if isinstance(name, int):
        return str(name)
    if 0 < len(name) <= 20 and (name[-1] in "0123456789"):
        try:
            number = int(name)
        except ValueError:
            return None
        return number if str(number) == name else None
    return None
