"""Entry points whose first callers need not wait until they are compiled.

Until then they are interpreted, to the same bits (see `interpreted`), while one thread beside
compiles one after the other. What is on disk is loaded at once. A process that ends meanwhile
finishes what was begun, so that the next one finds it on disk.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from typing import Any, NamedTuple

import numba

from lumpable.base.forgiving import Forgiving
from lumpable.learners.engine.clock import Clock
from lumpable.learners.engine.interpreted import interpreted


class Early:
    """An entry point with the state behind its block: compiled if it is there, else interpreted."""

    def __init__(self, compiled: Any, state: NamedTuple, clock: Clock) -> None:
        self._compiled, self._state, self._clock = compiled, state, clock

    def __call__(self, address: int, *arguments: Any) -> Any:
        """Call it, as the compiled one is called."""
        if self._compiled.overloads or BESIDE.has(self._compiled, (address, *arguments)):
            return self._compiled(address, *arguments)
        return self._interpreted(*arguments)

    @cached_property
    def _interpreted(self) -> Callable[..., Any]:
        return interpreted(self._compiled, self._state, self._clock)


class Beside:
    """Compiles beside the callers, in the order in which they came."""

    def __init__(self) -> None:
        self.start_anew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.start_anew)

    def start_anew(self) -> None:
        """Begin without anything under way: a child has none of its parent's threads."""
        self._lock = threading.Lock()
        self._begun: dict[Any, Future[Any]] = {}
        self._worker: ThreadPoolExecutor | None = None

    def has(self, compiled: Any, arguments: tuple[Any, ...]) -> bool:
        """Whether an entry point can be called without a wait; if not, let it be compiled.

        One that could not be compiled can be called, too: its caller gets to know why.
        """
        with self._lock:
            future = self._begun.get(compiled)
            if future is not None:
                return future.done()
            types = tuple(map(numba.typeof, arguments))
            if all(each.done() for each in self._begun.values()) and _on_disk(compiled, types):
                return True  # loading takes the lock of the compiler, which is free
            if self._worker is None:
                self._worker = ThreadPoolExecutor(1, "lumpable compiler")
            self._begun[compiled] = self._worker.submit(compiled.compile, types)
            return False

    def wait(self) -> None:
        """Wait until everything is compiled that was asked for so far."""
        with self._lock:
            begun = list(self._begun.values())
        for future in begun:
            future.exception()


BESIDE = Beside()


def _on_disk(compiled: Any, types: tuple[Any, ...]) -> bool:
    """Whether compiled code for arguments of these types can be loaded."""
    cache = compiled._cache
    return isinstance(cache, Forgiving) and cache.holds(types, compiled.targetctx)
