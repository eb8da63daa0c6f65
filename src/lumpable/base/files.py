"""Files that are written whole: a crash leaves the old one or the new one, never a part.

Until it is whole, a file lies beside its place, under a name that begins with a dot and names the
process that writes it. If that process is killed, the next one that writes removes what it left;
files that others are writing are left alone. Knows bytes and paths, nothing of what they mean.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

LONGEST = 100
"""Letters of a file's name that the temporary name repeats: names must not become too long."""


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
    temporary = folder / f".{path.name[:LONGEST]}.{writer}"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync(folder)


def sweep(folder: Path, name: str = "") -> None:
    """Remove unfinished files of processes that have ended: of one file, or all in a folder."""
    begins = f".{name[:LONGEST]}" if name else "."
    for entry in os.scandir(folder):
        if entry.name.startswith(begins):
            written = re.fullmatch(rf"\..+\.{_machine()}-(\d+)-\d+", entry.name)
            if written and not _alive(int(written[1])):
                Path(entry.path).unlink(missing_ok=True)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let one process at a time into this block for a folder, where folders can be locked."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


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


_BINARY = getattr(os, "O_BINARY", 0)


def _sync(folder: Path) -> None:
    """Make the rename durable, where folders can be synced."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
