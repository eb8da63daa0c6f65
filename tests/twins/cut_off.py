"""Interrupt a call at any line of some files, as Ctrl-C or a lack of memory may."""

from __future__ import annotations

import sys
from collections.abc import Callable
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
    inside = tuple(str(PACKAGE / place) for place in places)
    lines = 0

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        if event == "line":
            lines += 1
            if lines == at + 1:
                raise error
        return local

    def entered(frame: FrameType, event: str, argument: Any) -> Any:
        return local if frame.f_code.co_filename.startswith(inside) else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        call()
    except error:
        return True
    finally:
        sys.settrace(before)
    return False
