"""An installed browser for tests of pages, without a head; where there is none, said loudly."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class NoBrowser(UserWarning):
    """Tests in a browser were not run."""


def found() -> str | None:
    """Return the path of an installed browser."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def opened() -> Iterator[Browser]:
    """Start a browser; without one the test is skipped, and the terminal says so."""
    path = found()
    if path is None:
        words = f"NOT RUN: tests in a browser, for none of {', '.join(NAMES)} is installed"
        with warnings.catch_warnings():
            warnings.simplefilter("always", NoBrowser)  # a warning, though others are errors
            warnings.warn(words, NoBrowser, stacklevel=2)
        pytest.skip(words)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()
