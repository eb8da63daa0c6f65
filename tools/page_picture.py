"""Photograph the page of a running service: `python tools/page_picture.py`.

An hour of a platform with four hidden tastes, played in seconds by a clock of its own, with fixed
seeds; then the page, in an installed browser, into docs/pictures/page.png.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import browser  # noqa: E402
from kits.platform import Platform  # noqa: E402
from kits.served import served  # noqa: E402
from lumpable.reports.pages import live_page  # noqa: E402

PICTURE = ROOT / "docs" / "pictures" / "page.png"
ARMS = ("jazz", "rock", "folk", "opera", "ska", "house", "soul", "punk")
SIZE = {"width": 1080, "height": 1250}


def main() -> None:
    """Play, serve, photograph."""
    platform = Platform(users=80, arms=ARMS)
    platform.visit(3_000, 1.2)
    with (
        served(lambda: platform.experiment, page=lambda: live_page.files("clicks.db")) as running,
        browser.opened() as chrome,
    ):
        page = chrome.new_page(viewport=SIZE, timezone_id="UTC")
        page.goto(running.url)
        page.locator("body[data-entries]").wait_for()
        page.screenshot(path=PICTURE)
    print(f"wrote {PICTURE} ({PICTURE.stat().st_size / 1024:.0f} KiB)")


if __name__ == "__main__":
    main()
