"""Compiled code on disk, where trouble with the disk is no trouble for the caller.

Numba loads compiled code when a function is first called, and saves it there. A damaged file, one
that may not be read, or a full disk would make that call fail, whatever it was for. Here it costs
only time: the function is compiled. Knows no function, and gets the compiler as an argument.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


def compile_cached(njit: Callable[..., Any], function: Function, **options: Any) -> Function:
    """Compile a function when it is first called, with these options of `numba.njit`.

    In a read-only container, say, there is nowhere to keep compiled code: each process compiles
    its own.
    """
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:  # numba finds no place for its cache
        compiled = njit(**options)(function)
    else:
        compiled._cache = Forgiving(compiled._cache)
    return cast(Function, compiled)


class Forgiving:
    """A cache of numba's that never fails: what cannot be loaded is compiled, what cannot be
    saved is compiled again by the next process. The first trouble of a process is a warning.
    """

    warned = False

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def holds(self, signature: Any, context: Any) -> bool:
        """Whether there seems to be compiled code for these types; looks at the index only."""
        try:
            key = self._cache._index_key(signature, context.codegen())
            return key in self._cache._cache_file._load_index()
        except Exception:  # damaged, or not to be read: as good as none
            return False

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return compiled code, or None where there is none that can be used."""
        try:
            return self._cache.load_overload(signature, context)
        except Exception as error:
            if not isinstance(error, OSError):  # damaged: it would be so for ever
                self._drop()
            _warn(self._cache.cache_path, error)
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Save compiled code, where that is possible."""
        try:
            self._cache.save_overload(signature, compiled)
        except BaseException as error:
            self._drop()  # or it would name what was not written, and an older version of it
            if not isinstance(error, Exception):
                raise
            _warn(self._cache.cache_path, error)

    def _drop(self) -> None:
        """Remove the index of this function, which takes no room on a full disk."""
        with contextlib.suppress(OSError, AttributeError):
            os.unlink(self._cache._cache_file._index_path)


def _warn(place: Any, error: Exception) -> None:
    """Say once in a process that starting takes longer than it should, and why."""
    if not Forgiving.warned:
        Forgiving.warned = True
        why = f"{type(error).__name__}: {error}"
        words = f"compiled code in {place} cannot be used ({why}): it is compiled again"
        warnings.warn(words, RuntimeWarning, stacklevel=2)
