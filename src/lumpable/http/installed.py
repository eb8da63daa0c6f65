"""Whether what serving needs is installed."""

from __future__ import annotations

from lumpable.base.extras import need


def check() -> None:
    """Say which extra is missing, if one is."""
    need("starlette", "serve", "serving over HTTP")
    need("uvicorn", "serve", "serving over HTTP")
    need("httptools", "serve", "serving over HTTP")
