"""What is easily mistaken in a table, said in words: names that look alike, numbers as others write
them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from lumpable.base.units import Name
from lumpable.tables.dirt import RowFault

BROKEN = re.compile(r"-?\d+\.0+")
COMMA = re.compile(r"[+-]?\d*,\d+")
WORDS = ("yes", "no", "y", "n", "true", "false", "t", "f", "on", "off")
"""What is written for 1 and 0."""


def notes_on(column: str, names: Sequence[Name], *, floats: bool, text: bool) -> Iterator[str]:
    """Yield what one should know of the names of a column.

    `floats`: it came as floats; `text`: from a CSV file, where every field is text.

    >>> list(notes_on("user", [17, "17"], floats=False, text=False))
    ["user: 17 (an integer) and '17' (text) are two names: write it one way"]
    >>> list(notes_on("user", ["17", "17.0"], floats=False, text=True))
    ["user: '17' and '17.0' are two names, as fields of a CSV file are text: write it one way"]
    >>> list(notes_on("user", [" u1", "u1"], floats=False, text=False))
    ["user: ' u1' and 'u1' are two names, which differ in outer blanks only: write it one way"]
    """
    if floats:
        yield _came_as_floats(column)
    known = set(names)
    twin = next((n for n in names if isinstance(n, int) and str(n) in known), None)
    if twin is not None:
        yield f"{column}: {twin} (an integer) and '{twin}' (text) are two names: write it one way"
    blank = next((n for n in names if isinstance(n, str) and n != n.strip() in known), None)
    if blank is not None:
        two = f"{blank!r} and {blank.strip()!r} are two names"
        yield f"{column}: {two}, which differ in outer blanks only: write it one way"
    for name in names if text else ():
        if isinstance(name, str) and BROKEN.fullmatch(name):
            whole = name.partition(".")[0]
            if whole in known:
                yield _text_floats(column, whole, name, "names")
                return


def notes_on_fault(fault: RowFault, columns: Collection[str]) -> Iterator[str]:
    """Yield what to do about a fault if numbers are written as people write them.

    `columns` are those that hold numbers.

    >>> list(notes_on_fault(RowFault("gain is no number", 9, "0,5", ()), ["gain"]))
    ['gain: numbers with a decimal comma are not read: write 0.5 for 0,5']
    """
    column = next((one for one in columns if fault.fault.startswith(f"{one} is ")), None)
    if column is None:
        return
    if COMMA.fullmatch(fault.example):
        point = fault.example.replace(",", ".")
        instead = f"write {point} for {fault.example}"
        yield f"{column}: numbers with a decimal comma are not read: {instead}"
    elif fault.example.casefold() in WORDS:
        yield f"{column}: words such as {fault.example!r} are no numbers: write 1 and 0"


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
