"""What is believed, for many who look: worked out seldom, and served from memory meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from lumpable.lumps.belief.glance import Glance

SHORTEST, LONGEST = 2.0, 60.0
"""Seconds before beliefs are worked out again, at least and at most, ..."""
PATIENCE = 50.0
"""... and else so many times what it took: others need the processor, too."""


@dataclass(frozen=True, slots=True)
class BeliefsNow:
    """What is believed of users, and when it was."""

    at: float
    """Seconds since 1970."""
    entries: int
    """Of the log, that had come by then."""
    version: int
    rewards: int
    users: int
    level: float
    """The probability that an interval holds the truth."""
    summary: str
    glance: Glance


class Overview:
    """Keeps what was believed until it is stale."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._turn = clock, threading.Lock()
        self._kept: BeliefsNow | None = None
        self._again = 0.0
        self._forgotten = 0

    def beliefs(self, entries: int, work: Callable[[], BeliefsNow]) -> BeliefsNow:
        """Return what is believed, as it was if nothing came since or it is too early to look.

        Several who ask wait for one who works it out.
        """
        kept = self._kept
        if kept is not None and self._fresh(kept, entries):
            return kept
        with self._turn:
            kept, forgotten, begun = self._kept, self._forgotten, self._clock()
            if kept is not None and self._fresh(kept, entries):
                return kept
            made = work()
            done = self._clock()
            self._again = done + min(max(PATIENCE * (done - begun), SHORTEST), LONGEST)
            if forgotten == self._forgotten:
                self._kept = made
            return made

    def _fresh(self, kept: BeliefsNow, entries: int) -> bool:
        return kept.entries == entries or self._clock() < self._again

    def forget(self) -> None:
        """Drop what was believed with somebody who is forgotten; waits for nobody."""
        self._forgotten += 1
        self._kept = None
