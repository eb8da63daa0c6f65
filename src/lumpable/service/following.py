"""A thread that sees to what is due though nobody calls: others wrote, or time has passed."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from lumpable.stores.law import StoreError

OFTEN, SELDOM = 0.1, 1.0
"""Seconds between two looks: at what others write, and at the clock alone."""
LONGEST = 10.0
"""Seconds before another look after several that failed."""
BREATH = 0.001
"""Seconds in which callers get their turn while there is more to do."""


class Follower:
    """Calls `follow` again and again until it is stopped; a store that is away is no trouble.

    `follow` does a little, and says whether there is more to do now.
    """

    def __init__(self, follow: Callable[[], bool], every: float = OFTEN) -> None:
        self._follow, self._every, self._stopped = follow, every, threading.Event()
        self._thread = threading.Thread(target=self._run, name="lumpable follower", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        wait = self._every
        while not self._stopped.wait(wait):
            failed = True
            with contextlib.suppress(StoreError):
                wait = BREATH if self._follow() else self._every
                failed = False
            if failed:
                wait = min(2 * max(wait, self._every), LONGEST)

    def stop(self) -> None:
        """Follow no more; what is under way is finished."""
        self._stopped.set()
        self._thread.join()
