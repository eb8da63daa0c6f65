"""CSV files whose lines end in several ways, as when files of two systems were put together.

DuckDB wants one way. A file that has several is read from a copy, in which lines end in one. What
stands in quotes stays as it is.
"""

from __future__ import annotations

import codecs
import gzip
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lumpable.base.errors import BadArgument

BLOCK = 1 << 20
TO_THE_QUOTE = re.compile(rb'(?:[^"]++|"")*+"')
"""The rest of a field in quotes, and the quote that ends it."""


def open_csv(path: Path, mode: str, **options: Any) -> Any:
    """Open a CSV file, packed or not."""
    return gzip.open(path, mode, **options) if is_packed(path) else path.open(mode, **options)


def is_packed(path: Path) -> bool:
    """Whether a file is packed, by its name."""
    return path.name.lower().endswith(".gz")


def may_be_mixed(path: Path) -> bool:
    """Whether lines may end in several ways, or fields in quotes hold the ends of lines."""
    feeds = returns = both = 0
    last = b""
    with open_csv(path, "rb") as file:
        while block := file.read(BLOCK):
            feeds += block.count(b"\n")
            if last == b"\r" or b"\r" in block:
                returns += block.count(b"\r")
                both += (last + block).count(b"\r\n")
            last = block[-1:]
    return min(feeds, returns) > 0 and not feeds == returns == both


def even_out(path: Path, delimiter: str, copy: Path) -> bool:
    """Write a copy whose lines end in one way, unless those of the file do; whether it did."""
    with open_csv(path, "rb") as file:
        ends = {end for _, _, end in _lines(file, delimiter, path) if end}
    if ends <= {b"\n"} or ends == {b"\r\n"}:
        return False
    with open_csv(path, "rb") as file, copy.open("wb") as made:
        for line, body, end in _lines(file, delimiter, path):
            made.write(line[:body] + b"\n" if end else line)
    return True


def _lines(file: Iterable[bytes], delimiter: str, path: Path) -> Iterator[tuple[bytes, int, bytes]]:
    """Yield lines, how long each is without its end, and the end: none within a field in quotes."""
    opening, inside = re.compile(rb"(?:^|(?<=" + re.escape(delimiter.encode()) + rb'))"'), False
    for number, line in enumerate(file, 1):
        body = len(line.rstrip(b"\r\n")) if line.endswith(b"\n") else len(line)
        plain = line[:body].removeprefix(codecs.BOM_UTF8 if number == 1 else b"")
        if inside or b'"' in plain:
            plain, inside = _outside(plain, opening, inside)
        if b"\r" in plain:
            why = (
                f"line {number:,} of {str(path)!r} has a carriage return within a field, where it "
                "may be the end of a line: put the field into quotes, or take it out"
            )
            raise BadArgument("source", why=why)
        yield line, body, b"" if inside else line[body:]


def _outside(line: bytes, opening: re.Pattern[bytes], inside: bool) -> tuple[bytes, bool]:
    """Return what of a line stands in no quotes, and whether it ends within some.

    Quotes are those that begin a field.

    >>> _outside(b'a"b,"c,""d",e,"f""', re.compile(rb'(?:^|(?<=,))"'), False)
    (b'a"b,,e,', True)
    >>> _outside(b'g"",h",i', re.compile(rb'(?:^|(?<=,))"'), True)
    (b',i', False)
    """
    kept, at = b"", 0
    while True:
        if not inside:
            begin = opening.search(line, at)
            if begin is None:
                return kept + line[at:], False
            kept, at = kept + line[at : begin.start()], begin.end()
        close = TO_THE_QUOTE.match(line, at)
        if close is None:
            return kept, True
        inside, at = False, close.end()
