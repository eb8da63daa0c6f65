"""What holds for all tests: the same invented problems in every run, a Ctrl-C that is heard, and a
browser.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

import browser

settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.load_profile("fixed")

# A job in the background of a shell starts with Ctrl-C ignored, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def chrome() -> Iterator[browser.Chrome]:
    """Return a browser without a head. Not for the session: its event loop stays in the thread."""
    with browser.opened() as found:
        yield found
