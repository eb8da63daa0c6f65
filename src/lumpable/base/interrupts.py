"""Ctrl-C and processes that are being started. Knows nothing of what they do."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def spared() -> Iterator[None]:
    """Let processes be born deaf to Ctrl-C, or one that is still starting would show a traceback.

    Here it is only put off; nothing happens where signals cannot be.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # in its own time it would unblock Ctrl-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
