"""Ctrl-C and processes that are being started. Knows nothing of what they do."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def defer_interrupts() -> Iterator[None]:
    """Put off Ctrl-C while processes are started, and start them with Ctrl-C blocked.

    A process that is still starting would show a traceback. Blocking the signal in this thread is
    not enough: another thread, of linear algebra for instance, may receive it, and Python would
    raise it in this one.
    """
    with _blocked(), _handled_later():
        yield


@contextlib.contextmanager
def _blocked() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # started later, it would unblock Ctrl-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _handled_later() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        before(*came[0])
