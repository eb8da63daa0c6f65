"""Altair, by the name that its users give it; imported when the first picture is drawn."""

from typing import Any

from lumpable.reports.kit.canvas import altair


def __getattr__(name: str) -> Any:
    """Return what Altair has under this name, or say how to install it."""
    return getattr(altair(), name)
