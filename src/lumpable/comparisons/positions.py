"""Where in a TOML file something stands. Knows nothing of what is in it.

`tomllib` gives values without their lines. But the line of a value is the first one up to which the
file holds it. The text must be valid TOML.
"""

from __future__ import annotations

import bisect
import contextlib
import tomllib
from collections.abc import Sequence
from typing import Any

Place = tuple[str | int, ...]
"""Keys and indices from the top: ("learner", 2, "width")."""
_ENDS = ("", "]", "]]", "]]]", '"""', "'''")
"""What closes a text that is cut after a line: inside an array or a string of several lines."""


def line(text: str, place: Place) -> int:
    r"""Return the line of a place, or of the nearest that it lies in.

    >>> line('seeds = 3\n[[learner]]\nname = "ucb"\nwidth = 1', ("learner", 0, "width"))
    4
    """
    lines = text.split("\n")
    while not _holds(tomllib.loads(text), place):
        place = place[:-1]
    numbers = range(len(lines) + 1)
    first = bisect.bisect_left(numbers, True, key=lambda n: _holds(_beginning(lines, n), place))
    return max(1, first)


def _beginning(lines: Sequence[str], number: int) -> dict[str, Any]:
    """Parse the first lines, and as many more as it takes if they stop inside a value."""
    while True:
        for end in _ENDS:
            with contextlib.suppress(ValueError):
                return tomllib.loads("\n".join((*lines[:number], end)))
        number += 1


def _holds(found: Any, place: Place) -> bool:
    for step in place:
        try:
            found = found[step]
        except (LookupError, TypeError):
            return False
    return True
