"""Every claim of the paper that a program can check, measured: `lumpable reproduce`."""

from lumpable.reproduce.record import Row, as_expected
from lumpable.reproduce.runner import run

__all__ = ["Row", "as_expected", "run"]
