"""Which version of a file a learner knows, so that none replaces what another one has saved."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from lumpable.base import files
from lumpable.base.errors import BadArgument

Stamp = tuple[int, ...]


def stamp_of(path: str | Path) -> Stamp | None:
    """Return what tells one version of a file from another; None if there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class Versions:
    """The files that a learner loaded or saved, each as it was then."""

    def __init__(self) -> None:
        self._known: dict[Path, Stamp | None] = {}

    def know(self, path: str | Path, stamp: Stamp | None) -> None:
        """Remember a version of a file."""
        self._known[Path(path).resolve()] = stamp

    @contextlib.contextmanager
    def replacing(self, path: str | Path, *, overwrite: bool) -> Iterator[None]:
        """Let a file be written in this block, unless somebody else wrote it last."""
        where = Path(path).resolve()
        with files.alone(where.parent):
            now, known = stamp_of(where), self._known.get(where)
            if now is not None and now != known and not overwrite:
                why = f"{str(path)!r} {_words(known)}; load it first, or say overwrite=True"
                raise BadArgument("path", why=why)
            try:
                yield
            finally:  # also of a save that was cut off: the old file, or the new one
                self.know(where, stamp_of(where))


def _words(known: Stamp | None) -> str:
    if known is None:
        return "exists, and this learner neither loaded nor saved it"
    return "was changed since this learner loaded or saved it: what is in it would be lost"
