"""Whose turn it is to write, where several processes share a store.

In its turn a process is the only one that writes, and does all as if it were alone. It gives the
turn up when nothing is left to write, or after a moment if others might be waiting. Fits are made
by one of the processes, the elected one, and put aside for the others.
"""

from __future__ import annotations

from lumpable.base.errors import BadArgument
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.use import fits_kept
from lumpable.stores.law import SharedStore, Store
from lumpable.stores.log_entries import Entry

LONGEST = 20_000
"""Microseconds that a turn lasts, about, while there is more to write."""
FIT, FITS_KEPT = "fit", 5
"""What a fit is called where it is put aside, and how many are kept."""


class Turns:
    """The turns of this process; at a store that is not shared, it is always its turn."""

    def __init__(self, store: Store) -> None:
        self._store = store if isinstance(store, SharedStore) else None
        self._since: int | None = None

    @property
    def shared(self) -> bool:
        """Whether others write, too."""
        return self._store is not None

    @property
    def held(self) -> bool:
        """Whether it is the turn of this process."""
        return self._store is None or self._since is not None

    def too_long(self, now: int) -> bool:
        """Whether others should have theirs."""
        return self._since is not None and not 0 <= now - self._since < LONGEST

    def take(self, now: int) -> None:
        """Wait for the turn."""
        if self._store is not None:
            self._since = now
            try:
                self._store.take_turn()
            except BaseException:
                self._since = None
                raise

    def end(self) -> None:
        """Let others write."""
        if self._store is not None and self._since is not None:
            self._since = None
            self._store.end_turn()

    def elected(self) -> bool:
        """Whether this process makes the fits."""
        return self._store is None or self._store.elected()

    def pack(self, made: Fit) -> bytes:
        """Return a fit as the others read it; empty if there are none."""
        return b"" if self._store is None else fits_kept.to_bytes(made)

    def keep_fit(self, packed: bytes) -> str:
        """Put a fit aside for the others; return what it is called."""
        return "" if self._store is None else self._store.put_aside(FIT, packed, FITS_KEPT)

    def find_fit(self, entry: Entry) -> Fit | None:
        """Return the fit that an entry adopted; None: it is gone, and made anew."""
        if self._store is None or not entry.detail:
            return None
        held = self._store.find_aside(FIT, entry.detail)
        try:
            return None if held is None else fits_kept.from_bytes(held)
        except BadArgument:  # of another version
            return None
