"""Checkpoints: what commits left in the write-ahead log goes into the main file, beside the writer.

SQLite by itself does that inside a commit, about every 250 of ours: whoever waits for that commit
waits for a thousand pages and two syncs more. Here another thread does it, by a connection of its
own. The writer begins the log from its start again only if all of it is in the main file, which is
never so while there is much to write; so when the log is long the writer is held up for a moment.

Until version 3.51.2 SQLite may lose entries if a checkpoint begins in the instant in which a writer
begins the log again. Here that cannot be: a checkpoint beside begins only when something was
committed since the last one, so that the log is not all in the main file; any other one is made
while nobody can write.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from lumpable.stores.sqlite_file import beside

STEP = 2_000
"""Pages that are written between two checkpoints, about, ..."""
LONGEST = 2_500
"""... and pages of a log that is begun again, 10 MiB: where a log grows, each sync costs more."""
FEW, EACH = 4, 1
"""Pages that a commit writes, about, and for each entry."""


class Checkpoints:
    """Made beside the one writer of a file, who holds `writing` while it commits."""

    def __init__(self, db: sqlite3.Connection, writing: threading.RLock) -> None:
        self._db, self._writing = db, writing
        self._one = threading.Lock()
        """Held while one is made; whoever holds it may wait for `writing`, not the reverse."""
        self._making = self._closed = False
        self._written = 0
        """Pages since the last one was over, about."""

    @classmethod
    def begin(cls, path: Path, writing: threading.RLock) -> Checkpoints | None:
        """Get ready; None: the file cannot be opened twice, and SQLite must do it by itself."""
        try:
            return cls(beside(path), writing)
        except sqlite3.Error:
            return None

    def wrote(self, entries: int) -> None:
        """Take notice of a commit, while `writing` is held."""
        self._written += FEW + EACH * entries
        if self._written >= STEP and not self._making and not self._closed:
            thread = threading.Thread(target=self._make, name="lumpable checkpoint", daemon=True)
            with contextlib.suppress(RuntimeError):  # there are too many threads: later, then
                thread.start()
                self._making = True

    def _make(self) -> None:
        with self._one:
            long = not self._closed and self._copy_pages() > LONGEST
            with self._writing:  # nothing is committed between the end of one and the next count
                if long:
                    self._copy_pages()
                self._making, self._written = False, 0

    def _copy_pages(self) -> int:
        """Copy what no reader needs as it was; return the pages of the log."""
        try:
            pages: int = self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
        except sqlite3.Error:  # a full disk: the next one does it
            return 0
        return pages

    @contextlib.contextmanager
    def none(self) -> Iterator[None]:
        """Let none be made meanwhile; `writing` must not be held yet."""
        with self._one:
            yield

    def close(self) -> None:
        """Make no more, and let go of the file; `writing` must not be held."""
        self._closed = True
        with self._one, contextlib.suppress(sqlite3.Error):
            self._db.close()
