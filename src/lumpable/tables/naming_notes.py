"""Names that are easily mistaken for each other, said in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lumpable.base.units import Name

BROKEN = re.compile(r"-?\d+\.0+")


def notes_on(column: str, names: Sequence[Name], *, floats: bool, text: bool) -> Iterator[str]:
    """Yield what one should know of the names of a column.

    `floats`: it came as floats; `text`: from a CSV file, where every field is text.

    >>> list(notes_on("user", [17, "17"], floats=False, text=False))
    ["user: 17 (an integer) and '17' (text) are two names: write it one way"]
    >>> list(notes_on("user", ["17", "17.0"], floats=False, text=True))
    ["user: '17' and '17.0' are two names, as fields of a CSV file are text: write it one way"]
    """
    if floats:
        yield _came_as_floats(column)
    known = set(names)
    twin = next((n for n in names if isinstance(n, int) and str(n) in known), None)
    if twin is not None:
        yield f"{column}: {twin} (an integer) and '{twin}' (text) are two names: write it one way"
    for name in names if text else ():
        if isinstance(name, str) and BROKEN.fullmatch(name):
            whole = name.partition(".")[0]
            if whole in known:
                yield _text_floats(column, whole, name, "names")
                return


def notes_on_ids(column: str, odd: str | None, floats: bool) -> Iterator[str]:
    """Yield what one should know of event ids; `odd`: text that looks like a float.

    >>> list(notes_on_ids("id", "17.0", False))
    ["id: '17' and '17.0' are two ids, as fields of a CSV file are text: write it one way"]
    """
    if floats:
        yield _came_as_floats(column)
    if odd is not None:
        yield _text_floats(column, odd.partition(".")[0], odd, "ids")


def _came_as_floats(column: str) -> str:
    """Say that whole numbers came as floats."""
    return f"{column}: came as floats such as 17.0, read as integers such as 17"


def _text_floats(column: str, whole: str, name: str, what: str) -> str:
    """Say that text looks like a whole number that came as a float, and is not read as one."""
    why = "as fields of a CSV file are text: write it one way"
    return f"{column}: {whole!r} and {name!r} are two {what}, {why}"
