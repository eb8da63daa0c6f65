"""Files that are written whole: a crash leaves the old one or the new one, never a part.

Knows bytes and paths, nothing of what they mean.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def replace(path: Path, content: bytes) -> None:
    """Write a file whole."""
    with replacing(path) as file:
        file.write(content)


@contextlib.contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a file that takes the place of the old one at the end, if nothing went wrong.

    Until then it lies beside it, under a name that begins with a dot.
    """
    folder = path.resolve().parent
    temporary = folder / f".{path.name}.{os.getpid()}-{threading.get_ident()}"
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


_BINARY = getattr(os, "O_BINARY", 0)


def _sync(folder: Path) -> None:
    """Make the rename durable, where folders can be synced."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
