"""Interrupt a call at any line of some files, as Ctrl-C or a lack of memory may."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import lumpable

PACKAGE = Path(lumpable.__file__).parent


def cut_off(
    call: Callable[[], object],
    at: int,
    *places: str,
    error: type[BaseException] = KeyboardInterrupt,
) -> bool:
    """Call and raise at the line with this number; False if there is no such line: all is done.

    Lines are counted in these files and folders of the package only.
    """

    def entered(number: int) -> None:
        if number == at:
            raise error

    try:
        with _traced(places, entered):
            call()
    except error:
        return True
    return False


def lines_of(call: Callable[[], object], *places: str) -> int:
    """Call and return how many lines that executes in these files and folders of the package."""
    numbers: list[int] = []
    with _traced(places, numbers.append):
        call()
    return len(numbers)


@contextmanager
def _traced(places: tuple[str, ...], each: Callable[[int], None]) -> Iterator[None]:
    """Hand over the number of each line of these places, before it is executed."""
    inside, lines = tuple(str(PACKAGE / place) for place in places), 0

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        if event == "line":
            lines += 1
            each(lines - 1)
        return local

    def entered(frame: FrameType, event: str, argument: Any) -> Any:
        return local if frame.f_code.co_filename.startswith(inside) else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        yield
    finally:
        sys.settrace(before)
