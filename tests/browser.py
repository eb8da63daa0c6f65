"""An installed browser for tests of pages, without a head; where there is none, said loudly.

A page draws its pictures one after another, and each moves what is below it. On a busy machine
that takes minutes, with seconds between two frames. So no test waits for frames or for a page that
stands still: `Chrome` has patience, `until` asks by the clock, and `show` scrolls without a wait.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

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
PATIENCE = 180_000
"""Milliseconds until a test gives up: only what hangs for good may take so long."""


CONTRAST = """
() => {
  const channel = c => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4 };
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const read = colour => {  // any CSS colour as red, green, blue, alpha
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = read(getComputedStyle(at).backgroundColor);
      if (colour[3] > 250) return colour;
    }
    return [255, 255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !element.getClientRects().length || element.closest("script, style")) continue;
    const style = getComputedStyle(element);
    if (style.opacity === "0" || element.getAttribute("opacity") === "0") continue;
    const ink = element.closest("svg") ? style.fill : style.color;
    const [a, b] = [light(read(ink)), light(behind(element))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), element.tagName, element.textContent.slice(0, 40)]);
  }
  return found;
}
"""
"""The contrast of every text that is shown to what is behind it, its element and its beginning."""


class NoBrowser(UserWarning):
    """Tests in a browser were not run."""


def found() -> str | None:
    """Return the path of an installed browser."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Chrome:
    """A browser whose pages all have patience, and do not move for show."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    def new_page(self, **options: Any) -> Page:
        """Open an empty page in a window of its own."""
        page = self._browser.new_page(reduced_motion="reduce", **options)
        page.set_default_timeout(PATIENCE)
        return page


def until(page: Page, condition: str) -> None:
    """Wait until an expression is true, asked by the clock: frames may be rare."""
    page.wait_for_function(condition, polling=50)


def show(element: Locator) -> None:
    """Scroll to an element at once, though what is above it may still grow."""
    element.evaluate("element => element.scrollIntoView({block: 'center', behavior: 'instant'})")


@contextmanager
def opened() -> Iterator[Chrome]:
    """Start a browser; without one the test is skipped, and the terminal says so.

    Where CI is set, it fails: nobody reads that terminal.
    """
    path = found()
    if path is None:
        words = f"NOT RUN: tests in a browser, for none of {', '.join(NAMES)} is installed"
        if os.environ.get("CI"):
            pytest.fail(words)
        with warnings.catch_warnings():
            warnings.simplefilter("always", NoBrowser)  # a warning, though others are errors
            warnings.warn(words, NoBrowser, stacklevel=2)
        pytest.skip(words)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=FLAGS, timeout=PATIENCE)
        yield Chrome(browser)
        browser.close()
