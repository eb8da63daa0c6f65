"""Files that are written whole: a crash leaves the old one or the new one, never a part.

Until it is whole, a file lies beside its place, under a name that begins with a dot and names the
process that writes it. If that process is killed, the next one that writes removes what it left;
files that others are writing are left alone. Whether a process of another machine runs cannot be
known: what it left is removed after a day. Knows bytes and paths, nothing of what they mean.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

LONGEST = 100
"""Bytes of a file's name that the temporary name repeats: names must not become too long."""
DAY = 86_400.0
"""Seconds after which no other machine is still writing a file."""


def replace(path: Path, content: bytes) -> None:
    """Write a file whole."""
    with replacing(path) as file:
        file.write(content)


@contextlib.contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a file that takes the place of the old one at the end, if nothing went wrong.

    Through a symbolic link the file behind it is replaced, and the link stays.
    """
    path = path.resolve()
    folder = path.parent
    sweep(folder, path.name)
    writer = f"{_machine()}-{os.getpid()}-{threading.get_ident()}"
    temporary = folder / f"{_beginning(path.name)}.{writer}"
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _FLAGS, mode)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync(folder)


def remove(path: Path) -> None:
    """Remove a file for good, and what processes that have ended left of it."""
    path = path.resolve()
    sweep(path.parent, path.name)
    path.unlink(missing_ok=True)
    _sync(path.parent)


def sweep(folder: Path, name: str = "") -> None:
    """Remove unfinished files of processes that have ended: of one file, or all in a folder."""
    begins = f"{_beginning(name)}." if name else "."
    with os.scandir(folder) as entries:
        found = [entry for entry in entries if entry.name.startswith(begins)]
    for entry in found:
        written = re.fullmatch(r"\..+\.([0-9a-f]{6})-(\d+)-(\d+)", entry.name)
        if written and _abandoned(Path(entry.path), *written.groups()):
            Path(entry.path).unlink(missing_ok=True)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let one process at a time into this block for a folder, where folders can be locked."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    held = _Held(folder)
    try:
        held.lock(fcntl.LOCK_EX)
        yield
    finally:
        held.close()


class _Held:
    """An open folder. It is closed, and its lock given up, at the latest when nobody knows it."""

    handle = -1
    """There is nothing to close if it cannot be opened, or was not yet when Ctrl-C came."""

    def __init__(self, folder: Path) -> None:
        self.handle = os.open(folder, os.O_RDONLY)

    def lock(self, kind: int) -> None:
        import fcntl

        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(self.handle, kind)

    def close(self) -> None:
        if self.handle >= 0:
            self.lock(_UNLOCK)  # first: an interruption after it can leave no lock behind
            handle, self.handle = self.handle, -1
            os.close(handle)

    def __del__(self) -> None:
        self.close()


def _beginning(name: str) -> str:
    """Return how the temporary names of a file begin; a long name is cut, and told from others."""
    held = os.fsencode(name)
    if len(held) <= LONGEST:
        return f".{name}"
    return f".{held[:LONGEST].decode(errors='ignore')}-{hashlib.sha256(held).hexdigest()[:8]}"


def _abandoned(path: Path, machine: str, process: str, thread: str) -> bool:
    """Say whether nobody writes this file any more; if that cannot be known, no."""
    if machine != _machine():
        with contextlib.suppress(OSError):
            return time.time() - path.stat().st_mtime > DAY
        return False
    if int(process) == os.getpid():  # in a container, the next process often has the same number
        return int(thread) not in sys._current_frames()
    return not _alive(int(process))


def _machine() -> str:
    """Return a short name for this machine: processes of others cannot be looked up."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:6]


def _alive(process: int) -> bool:
    """Say whether a process of this machine is running; if that cannot be known, yes."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


_UNLOCK = 8
_FLAGS = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


def _sync(folder: Path) -> None:
    """Make the rename durable, where folders can be synced."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
