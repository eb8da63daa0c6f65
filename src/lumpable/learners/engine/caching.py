"""Compiled functions, cached on disk where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from lumpable.base.forgiving import Function, compile_cached


def cached_njit(**options: Any) -> Callable[[Function], Function]:
    """Compile a function when it is first called, with these options of `numba.njit`.

    Compiled code is kept on disk. Where that is impossible, or the disk is full or damaged, each
    process compiles its own.
    """

    def decorate(function: Function) -> Function:
        return compile_cached(numba.njit, function, **options)

    return decorate
