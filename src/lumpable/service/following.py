"""Follows what others write: a thread for an experiment that is shared."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from lumpable.stores.law import StoreError

EVERY = 0.1
"""Seconds between two looks."""


class Follower:
    """Calls `follow` again and again until it is stopped; a store that is away is no trouble."""

    def __init__(self, follow: Callable[[], None]) -> None:
        self._follow, self._stopped = follow, threading.Event()
        self._thread = threading.Thread(target=self._run, name="lumpable follower", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.wait(EVERY):
            with contextlib.suppress(StoreError):
                self._follow()

    def stop(self) -> None:
        """Follow no more; what is under way is finished."""
        self._stopped.set()
        self._thread.join()
