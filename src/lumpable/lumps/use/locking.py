"""One thread at a time: a lock that copies and files leave out, and methods that take it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Lock:
    """A lock of its own for every copy."""

    def __init__(self) -> None:
        self.inner = threading.RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Lock, ()


def alone(
    method: Callable[Concatenate[Any, Given], Result],
) -> Callable[Concatenate[Any, Given], Result]:
    """Let one thread at a time into these methods of an object, which has a `_lock`."""

    @wraps(method)
    def inside(self: Any, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        with self._lock.inner:
            return method(self, *args, **kwargs)

    return inside
