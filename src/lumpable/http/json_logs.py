"""Lines of JSON for whoever runs the service. No user, event or token is ever in them."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

Write = Callable[[str], None]


def to_stderr(line: str) -> None:
    """Write a line."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


class Log:
    """Writes a line for each thing that is worth one."""

    def __init__(self, write: Write = to_stderr, *, all_requests: bool = False) -> None:
        self._write, self._lock = write, threading.Lock()
        self.all_requests = all_requests
        """Whether requests that were served are worth a line, too."""

    def say(self, what: str, level: str = "info", **more: Any) -> None:
        """Write a line."""
        at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
        line = {"at": at, "level": level, "what": what} | more
        with self._lock:
            self._write(msgspec.json.encode(line).decode())

    def bug(self, error: BaseException, id: str, route: str) -> None:
        """Write where an error came from; not its words, which may name somebody."""
        self.say("bug", "error", id=id, route=route, **origin(error))


def origin(error: BaseException) -> dict[str, Any]:
    """Return what an error is and where it came from, without its words."""
    where = [f"{frame.filename}:{frame.lineno} {frame.name}"
             for frame in traceback.extract_tb(error.__traceback__)]  # fmt: skip
    return {"error": type(error).__name__, "where": where}


class Forwarder(logging.Handler):
    """Turns what the HTTP server logs into lines of ours, by its unformatted words."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        self._log.say("server", record.levelname.lower(), said=str(record.msg).strip()[:200])
