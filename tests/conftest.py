"""What holds for all tests: the same invented problems in every run, a Ctrl-C that is heard, one
browser, and workers that do not compile what another compiles.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

import browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TESTS = Path(__file__).parent

settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.load_profile("fixed")

# A job in the background of a shell starts with Ctrl-C ignored, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    """Return a browser without a head. Not for the session: its event loop stays in the thread."""
    with browser.opened() as found:
        yield found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep together, under `--dist loadgroup`, what shares compiled code or a browser."""
    for item in items:
        if "chrome" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("browser"))
        elif item.path.is_relative_to(TESTS / "lumps"):
            item.add_marker(pytest.mark.xdist_group("lumps"))
        elif item.path.parent == TESTS / "learners" and item.path.stem != "test_contract":
            item.add_marker(pytest.mark.xdist_group(item.path.stem.removeprefix("test_")))
