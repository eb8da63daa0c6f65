"""Where in a TOML file something stands. Knows nothing of what is in it.

`tomllib` gives values without their lines, and an error that names a line is worth a page of code.
The text must be valid TOML: this looks for places only.
"""

from __future__ import annotations

import re

Place = tuple[str | int, ...]
"""Keys and indices from the top: ("learner", 2, "width")."""
_BLANK = re.compile(r"(?:\s|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]\}\n#]*")
_QUOTES = ('"""', "'''", '"', "'")


def line(text: str, place: Place) -> int:
    r"""Return the line of a place, or of the nearest that it lies in.

    >>> line('seeds = 3\n[[learner]]\nname = "ucb"\nwidth = 1', ("learner", 0, "width"))
    4
    """
    found = _Scanner(text).lines
    while place and place not in found:
        place = place[:-1]
    return found.get(place, 1)


class _Scanner:
    """Walks over the text once and notes the line of every key, table and element."""

    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n")
        self.at = 0
        self.lines: dict[Place, int] = {}
        self.last: dict[Place, int] = {}
        """Index of the last table of each array of tables."""
        table: Place = ()
        self.skip(_BLANK)
        while self.at < len(self.text):
            table = self.header() if self.sees("[") else self.pair(table)
            self.skip(_BLANK)

    def sees(self, word: str) -> bool:
        return self.text.startswith(word, self.at)

    def skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def note(self, place: Place, at: int) -> None:
        self.lines.setdefault(place, self.text.count("\n", 0, at) + 1)

    def header(self) -> Place:
        start, double = self.at, self.sees("[[")
        self.at += 2 if double else 1
        place: Place = ()
        parts = self.key()
        for part in parts[:-1]:
            place = (*place, part)
            place = (*place, self.last[place]) if place in self.last else place
        place = (*place, parts[-1])
        if double:
            self.note(place, start)
            self.last[place] = self.last.get(place, -1) + 1
            place = (*place, self.last[place])
        self.note(place, start)
        self.at += 2 if double else 1
        return place

    def pair(self, table: Place) -> Place:
        """Read `key = value`; returns the table that it is in."""
        start = self.at
        place = table + self.key()
        self.at += 1  # =
        self.skip(_SPACE)
        self.note(place, start)
        self.value(place)
        return table

    def key(self) -> Place:
        parts: list[str] = []
        while True:
            self.skip(_SPACE)
            start = self.at
            if self.text[start] in "\"'":
                self.string()
                parts.append(self.text[start + 1 : self.at - 1])
            else:
                self.skip(_BARE)
                parts.append(self.text[start : self.at])
            self.skip(_SPACE)
            if not self.sees("."):
                return tuple(parts)
            self.at += 1

    def value(self, place: Place) -> None:
        if self.sees("["):
            self.inside(place, "]")
        elif self.sees("{"):
            self.inside(place, "}")
        elif self.text[self.at] in "\"'":
            self.string()
        else:
            self.skip(_SCALAR)

    def inside(self, place: Place, end: str) -> None:
        """Read an array or an inline table, whose elements may stand on lines of their own."""
        self.at += 1
        number = 0
        self.skip(_BLANK)
        while not self.sees(end):
            if end == "]":
                self.note((*place, number), self.at)
                self.value((*place, number))
                number += 1
            else:
                self.pair(place)
            self.skip(_BLANK)
            if not self.sees(end):
                self.at += 1  # ,
                self.skip(_BLANK)
        self.at += 1

    def string(self) -> None:
        quote = next(quote for quote in _QUOTES if self.sees(quote))
        self.at += len(quote)
        while not self.sees(quote):
            escape = self.text[self.at] == "\\" and quote[0] == '"'
            self.at += 2 if escape else 1
        self.at += len(quote)
        while len(quote) == 3 and self.sees(quote[0]):
            self.at += 1  # one or two quotes may stand before the closing three
