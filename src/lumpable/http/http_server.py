"""Listen, serve until told to stop, and stop gracefully: what was handed in is finished."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import uvicorn

from lumpable.base.errors import BadArgument
from lumpable.http import personalizer
from lumpable.http.application import application
from lumpable.http.connections import KEEP_ALIVE, Connection
from lumpable.http.guard import LOCAL
from lumpable.http.json_logs import Forwarder, Log
from lumpable.http.life import Life
from lumpable.http.page_files import PageFiles
from lumpable.http.tokens import ENVIRONMENT, Tokens
from lumpable.service.live_experiment import LiveExperiment

GRACE = 15
"""Seconds that requests under way are given when the service stops."""
TWICE = 0.5
"""Seconds in which a second signal is the same one: some send it to a process and to its group."""
BACKLOG = 1_024


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen, by which names to be called, and who may call."""

    host: str = "127.0.0.1"
    port: int = 8000
    names: tuple[str, ...] = ()
    """Other names that the Host header may have."""
    tokens: Tokens = Tokens()  # noqa: RUF009 (none, and never changed)

    def __post_init__(self) -> None:
        if not is_local(self.host) and not self.tokens:
            why = f"{self.host} can be reached from other machines and needs tokens"
            why += f" (--tokens FILE or {ENVIRONMENT})"
            raise BadArgument("host", "tokens", "none", why=why)

    @property
    def hosts(self) -> frozenset[str]:
        """What the Host header may name."""
        return LOCAL | {name.lower() for name in (self.host, *self.names)}


def is_local(host: str) -> bool:
    """Whether only this machine can connect.

    >>> is_local("localhost"), is_local("::1"), is_local("127.0.0.2"), is_local("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Server(uvicorn.Server):
    """A server that ends well when it is told to stop, and says which signal it was."""

    stopped_by: int | None = None
    hurry: Callable[[int], None] = staticmethod(os._exit)
    """Called with an exit code when it is told a second time."""
    _told_at = 0.0

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop gracefully at SIGTERM and Ctrl-C, at the second one soon, at the third one now."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(number: int, frame: object) -> None:
            again = self.stopped_by is not None
            if again and time.monotonic() - self._told_at < TWICE:
                return
            if self.force_exit:
                os._exit(128 + number)
            self.stopped_by, self._told_at, self.should_exit = number, time.monotonic(), True
            if again:
                self.force_exit = True
                threading.Thread(target=self.hurry, args=(128 + number,), daemon=True).start()

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class HttpServer:
    """An experiment behind an address; `run` returns when it is stopped."""

    def __init__(
        self, opener: Callable[[], LiveExperiment], address: Address, *, log: Log | None = None,
        user_feature: str = personalizer.USER,
        warmer: Callable[[LiveExperiment], None] = LiveExperiment.warm,
        page: PageFiles | None = None, may_write: Callable[[], bool] = lambda: True,
    ) -> None:  # fmt: skip
        self._log = log or Log()
        self.life = Life(opener, self._log, warmer, may_write)
        app = application(self.life, tokens=address.tokens, hosts=address.hosts, log=self._log,
                          user_feature=user_feature, page=page)  # fmt: skip
        self._server = Server(uvicorn.Config(
            app, http=Connection, log_config=None, access_log=False, server_header=False, ws="none",
            proxy_headers=False, lifespan="on", timeout_graceful_shutdown=GRACE,
            timeout_keep_alive=KEEP_ALIVE,
        ))  # fmt: skip
        self._server.hurry = self._end
        self.life.on_failure = self.stop
        self._socket = _bound(address)
        self.port: int = self._socket.getsockname()[1]
        host = f"[{address.host}]" if ":" in address.host else address.host
        self.url = f"http://{host}:{self.port}"

    def stop(self) -> None:
        """Let `run` finish what is under way, and return."""
        self._server.should_exit = True

    def _end(self, code: int) -> None:
        """End the process as soon as what was handed in is durable: without a snapshot."""
        self.life.finish()
        self._log.say("stopped", "warning", at_once=True)
        os._exit(code)

    def leave(self) -> None:
        """End the process if something is still being compiled; all else is closed by then."""
        if self.life.left_behind:
            sys.stdout.flush()
            os._exit(130 if self._server.stopped_by == signal.SIGINT else 0)

    def run(self) -> None:
        """Serve until stopped; raise what kept the experiment from being opened.

        Ctrl-C stops gracefully, too, and is raised at the end.
        """
        logger, handler = logging.getLogger("uvicorn"), Forwarder(self._log)
        logger.addHandler(handler)
        logger.propagate = False
        try:
            with self._socket:
                self._server.run(sockets=[self._socket])
        finally:
            logger.removeHandler(handler)
        if self._server.force_exit:
            self._end(128 + (self._server.stopped_by or 0))
        if self.life.failure is not None:
            raise self.life.failure
        self._log.say("stopped")
        if self._server.stopped_by == signal.SIGINT:
            raise KeyboardInterrupt


def _bound(address: Address) -> socket.socket:
    """Return a socket that listens."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((address.host, address.port))
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        expected = "an address that is free"
        got = f"{address.host}:{address.port} ({error.strerror})"
        raise BadArgument("port", expected, got) from error
    bound.setblocking(False)
    return bound


def quiet_warnings(log: Log) -> None:
    """Write warnings to the log without their words, which may name somebody."""

    def show(message: object, category: type[Warning], file: str, line: int, *_: object) -> None:
        log.say("warning", "warning", category=category.__name__, where=f"{file}:{line}")

    warnings.showwarning = show  # type: ignore[assignment]
