"""Compiled functions, cached on disk where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def cached_njit(**options: Any) -> Callable[[Function], Function]:
    """Compile a function when it is first called, with these options of `numba.njit`.

    In a read-only container, say, there is nowhere to keep compiled code: each process compiles
    its own.
    """

    def decorate(function: Function) -> Function:
        try:
            compiled: Any = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # numba finds no place for its cache
            compiled = numba.njit(**options)(function)
        return cast(Function, compiled)

    return decorate
