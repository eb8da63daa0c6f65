"""Warnings that a learner gives once, at the line of whoever called it."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).parents[2])


class Notes:
    """What a learner has warned of."""

    def __init__(self) -> None:
        self.given: set[str] = set()

    def once(self, about: str, words: str) -> None:
        """Warn, unless there was a warning about this; where warnings are errors, each time."""
        if about not in self.given:
            warnings.warn(words, stacklevel=_callers())
            self.given.add(about)


def _callers() -> int:
    """Return the level of the first line outside this package, as `warnings` counts levels."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    return level
