"""One writer a file: a lock that a process holds until it ends, however it ends.

The lock is a file beside the file, as SQLite's own locks are lost when anybody in the process
closes the file. So it belongs to a name; who holds it looks again and again whether the names still
lead to the same files. A file of two names would have two locks, and is refused.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from lumpable.base.errors import BadArgument
from lumpable.stores.law import StoreError

PRIVATE = 0o600
"""Files are made for their owner only: there are names of users in them."""


def check_file(path: Path) -> Path:
    """Return where a file is or may be made; refuse what is no file, and a second name of one."""
    if "\0" in str(path):
        raise BadArgument("path", "the name of a file", repr(str(path)))
    path = Path(os.path.realpath(path))
    try:
        found = path.stat()
    except FileNotFoundError:
        return path
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        got = f"{str(path)!r}, a link that leads to itself"
        raise BadArgument("path", "the name of a file", got) from None
    if not stat.S_ISREG(found.st_mode):
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "a device"
        raise BadArgument("path", "the name of a file", f"{str(path)!r}, {what}")
    return path


class WriterLock:
    """Holds the right to write a file; where files cannot be locked, everybody has it."""

    def __init__(self, path: Path) -> None:
        self._path, self._name = path, f"{path}.lock"
        self._handle: int | None = None
        self._made = False
        self._files: dict[str, tuple[int, int]] = {}
        """What names lead to, as long as it is held."""
        if not path.parent.exists():  # else the lock would be what is missing
            raise FileNotFoundError(f"no such folder: {str(path.parent)!r}")
        if path.exists() and path.stat().st_nlink > 1:
            got = f"{str(path)!r}, which has a second name (a hard link)"
            raise BadArgument(
                "path", "a file without hard links, as each name has a lock of its own", got
            )
        try:
            import fcntl
        except ImportError:
            return
        while self._handle is None:
            handle = self._open()
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                expected = "a file that no other process has open"
                raise BadArgument("path", expected, f"{str(path)!r}, which one has") from None
            except BaseException:
                os.close(handle)
                raise
            if _file_of(self._name) == _identity(os.fstat(handle)):
                self._handle = handle
            else:  # it was removed in between: lock the new one
                os.close(handle)
        self._files[self._name] = _identity(os.fstat(self._handle))

    def _open(self) -> int:
        try:
            handle = os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE)
        except FileExistsError:
            self._made = False
            return os.open(self._name, os.O_RDWR | os.O_CREAT, PRIVATE)
        self._made = True
        return handle

    def watch(self, *names: str) -> None:
        """From now on notice when one of these files, which are there, is removed or replaced."""
        for name in names:
            found = _file_of(name)
            if found is not None:
                self._files[name] = found

    def check(self) -> None:
        """Raise if what is written now would be lost, or somebody else may write."""
        for name, file in self._files.items():
            if _file_of(name) != file:
                why = "it was removed or replaced while it was in use, so that nothing can be kept"
                raise StoreError(f"{why}; open the experiment again", "gone", place=name)

    def release(self, *, unused: bool = False) -> None:
        """Let others write; if it was never used, leave no file that was made for it."""
        if self._handle is not None:
            if unused and self._made and _file_of(self._name) == self._files[self._name]:
                os.unlink(self._name)
            os.close(self._handle)
            self._handle = None


def _file_of(name: str) -> tuple[int, int] | None:
    """Return what a name leads to; None: nothing."""
    try:
        return _identity(os.stat(name))
    except OSError:
        return None


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
