"""Optional parts: an error that says how to install what is missing."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any


class MissingExtra(ImportError):
    """A feature needs an extra that is not installed; the message is the command to type."""


def need(module: str, extra: str, what: str) -> Any:
    """Import an optional module, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as cause:
        raise MissingExtra(
            f"{what} needs an extra that is not installed: pip install 'lumpable[{extra}]'"
        ) from cause


def has(*modules: str) -> bool:
    """Whether optional modules are installed; imports none of them."""
    return all(importlib.util.find_spec(module) is not None for module in modules)
