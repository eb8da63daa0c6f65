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


def out_of_memory(call: Callable[[], object], at: int, *places: str) -> bool:
    """Call with no memory left before the call of a function in C with this number, of these files.

    As `cut_off` does at lines: what allocates is written in C.
    """

    def entered(number: int) -> None:
        if number == at:
            raise MemoryError

    try:
        with _profiled(places, entered):
            call()
    except MemoryError:
        return True
    return False


def c_calls_of(call: Callable[[], object], *places: str) -> int:
    """Call and return how many functions in C that calls from these files and folders."""
    numbers: list[int] = []
    with _profiled(places, numbers.append):
        call()
    return len(numbers)


@contextmanager
def _profiled(places: tuple[str, ...], each: Callable[[int], None]) -> Iterator[None]:
    """Hand over the number of each call of a function in C from these places, before it."""
    inside, calls = tuple(str(PACKAGE / place) for place in places), 0

    def entered(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        if event == "c_call" and frame.f_code.co_filename.startswith(inside):
            calls += 1
            each(calls - 1)

    before = sys.getprofile()
    sys.setprofile(entered)
    try:
        yield
    finally:
        sys.setprofile(before)


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
