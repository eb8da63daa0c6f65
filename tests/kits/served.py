"""A real server on a free port, in a thread, and a caller that sends exactly what it is told."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kits.service import opened
from lumpable.http.http_server import Address, HttpServer
from lumpable.http.json_logs import Log
from lumpable.http.page_files import Files, PageFiles
from lumpable.http.tokens import Tokens
from lumpable.service.live_experiment import LiveExperiment
from lumpable.stores.in_memory import MemoryStore
from lumpable.stores.law import StoreError
from lumpable.stores.log_entries import Entry

JSON = {"Content-Type": "application/json"}


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, str]:
        assert set(self.json) == {"error"}
        found: dict[str, str] = self.json["error"]
        assert set(found) == {"what", "expected", "got"}
        return found


@dataclass
class Served:
    """A server that runs."""

    server: HttpServer
    lines: list[str]
    """Of its log."""

    @property
    def url(self) -> str:
        return self.server.url

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] = JSON
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self.send("POST", path, json.dumps(body).encode(), JSON | headers)

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, None, headers)

    @property
    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


@contextmanager
def served(
    opener: Callable[[], LiveExperiment] = opened, tokens: Tokens | None = None,
    warmer: Callable[[LiveExperiment], None] = lambda experiment: None, *, wait: bool = True,
    names: tuple[str, ...] = (), page: Callable[[], Files] | None = None,
    may_write: Callable[[], bool] = lambda: True,
) -> Iterator[Served]:  # fmt: skip
    """Start a server and stop it; `wait` until the experiment is open."""
    lines: list[str] = []
    ready = threading.Event()

    def write(line: str) -> None:
        lines.append(line)
        if '"what":"ready"' in line:
            ready.set()

    address = Address(port=0, tokens=tokens or Tokens(), names=names)
    files = None if page is None else PageFiles(page)
    server = HttpServer(opener, address, log=Log(write), warmer=warmer, page=files,
                        may_write=may_write)  # fmt: skip
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        if wait:
            assert ready.wait(60)
        yield Served(server, lines)
    finally:
        server.stop()
        thread.join()


class Breakable(MemoryStore):
    """A store whose disk is full when the test says so."""

    full = False

    def append(self, entries: Any) -> int:
        if self.full:
            raise StoreError("disk full", "full")
        kept: list[Entry] = list(entries)
        return super().append(kept)
