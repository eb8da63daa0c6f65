"""The fit of a night's evidence, kept beside it, so that the next plan need not fit again.

It may be lost at any time: a file that is not there, is damaged or belongs to other evidence is no
fit, and one is made anew. What it says follows from the evidence, so a plan is the same either way.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from lumpable.base import files
from lumpable.base.errors import BadArgument
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.use import fits_kept

KEPT = "fit.kept"
HEX = 64


class KeptFit:
    """The last fit of a state."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / KEPT

    def read(self, key: str) -> Fit | None:
        """Return the fit of the evidence with this key, if it is there and whole."""
        try:
            held = self._path.read_bytes()
            if held[: 2 * HEX] != _head(key, held[2 * HEX :]):
                return None
            return fits_kept.from_bytes(held[2 * HEX :])
        except (OSError, BadArgument):
            return None

    def write(self, key: str, fit: Fit) -> None:
        """Keep a fit instead of the one before."""
        content = fits_kept.to_bytes(fit)
        with contextlib.suppress(OSError):  # nothing is lost but time
            files.replace(self._path, _head(key, content) + content)

    def remove(self) -> None:
        """Keep none."""
        if self._path.exists():
            files.remove(self._path)


def _head(key: str, content: bytes) -> bytes:
    """Return the evidence's key and the digest of both, as the file begins."""
    return (key + hashlib.sha256(key.encode() + content).hexdigest()).encode()
