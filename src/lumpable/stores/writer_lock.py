"""One writer a file: a lock that a process holds until it ends, however it ends."""

from __future__ import annotations

import os
from pathlib import Path

from lumpable.base.errors import BadArgument


class WriterLock:
    """Holds the right to write a file; where files cannot be locked, everybody has it."""

    def __init__(self, path: Path) -> None:
        self._handle: int | None = None
        try:
            import fcntl
        except ImportError:
            return
        handle = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            expected = "a file that no other process writes"
            raise BadArgument("path", expected, f"{str(path)!r}, which one does") from None
        except BaseException:
            os.close(handle)
            raise
        self._handle = handle

    def release(self) -> None:
        """Let others write."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
