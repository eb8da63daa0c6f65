"""One thread at a time: a lock that copies and files leave out, and methods that take it.

A process that forks waits until nobody is inside, so that the child gets whole learners whose locks
are free.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakSet

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Lock:
    """A lock of its own for every copy."""

    def __init__(self) -> None:
        self.inner = threading.RLock()
        with _making:
            _locks.add(self)

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


# --- Forks ------------------------------------------------------------------------------------

_making, _forking = threading.RLock(), threading.RLock()
_locks: WeakSet[Lock] = WeakSet()
_taken: list[Lock] = []


def _before_fork() -> None:
    """Wait until no thread is inside, and let none in."""
    _forking.acquire()
    with _making:
        locks = list(_locks)
    for lock in locks:
        lock.inner.acquire()
        _taken.append(lock)
    _making.acquire()


def _after_fork() -> None:
    """Let go of what was taken, in the parent."""
    _making.release()
    while _taken:
        _taken.pop().inner.release()
    _forking.release()


def _in_child() -> None:
    """Give every learner a free lock: whoever held one is not in this process."""
    global _making, _forking
    _making, _forking = threading.RLock(), threading.RLock()
    _taken.clear()
    for lock in list(_locks):
        lock.inner = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
