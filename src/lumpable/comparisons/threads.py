"""One thread for linear algebra: more of them add up in another order, and the last digits differ.

Worker processes are told by environment variables before they start; a process that runs already
must be told through the library itself. Knows the OpenBLAS that comes with numpy's and scipy's
wheels; with any other library nothing happens here.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

PACKAGES = ("numpy", "scipy")
NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads")


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let linear algebra use one thread, and then as many as before."""
    before = [(put, get()) for get, put in _libraries()]
    for put, _ in before:
        put(1)
    try:
        yield
    finally:
        for put, number in before:
            put(number)


@cache
def _libraries() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """Return how to read and how to set the number of threads, for each library."""
    found = []
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        folder = Path(spec.origin).parent if spec is not None and spec.origin else Path()
        for file in folder.with_name(f"{package}.libs").glob("*openblas*"):
            with contextlib.suppress(OSError):
                library = ctypes.CDLL(str(file))
                found += [
                    (getattr(library, name.format("get")), getattr(library, name.format("set")))
                    for name in NAMES
                    if hasattr(library, name.format("set"))
                ]
    return found
