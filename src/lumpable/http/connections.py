"""A connection, before anybody knows who calls: what is sent ahead of a body has bounds.

Tokens stand in the headers of a request. So their size and the time they take must be limited
before a token is looked at, and for everybody.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from lumpable.http.guard import CARRIED, JSON
from lumpable.http.refusals import Refusal

LARGEST_HEAD = 32 * 1024
"""Bytes of a request that are no body: its headers, and what stands between and after its parts."""
CHUNK = 16
"""Bytes that may stand around a part of a body."""
KEEP_ALIVE = 5
"""Seconds after which a connection is closed that nothing comes from."""
HEAD_PATIENCE = 10.0
"""Seconds between two looks whether a connection does anything: one that did not is closed."""


class Connection(HttpToolsProtocol):
    """A connection whose headers are neither large nor slow; an idle one is closed."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._bare = 0
        """Bytes of the message under way that are no body, ..."""
        self._heading = False
        """... and whether its headers are not complete."""
        self._moved = False
        """Whether headers or an answer were completed since the last look."""
        self._look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a first request no longer than for another one."""
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )
        self._look = self.loop.call_later(HEAD_PATIENCE, self._close_if_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no more."""
        super().connection_lost(exc)
        if self._look is not None:
            self._look.cancel()

    def _close_if_idle(self) -> None:
        """Close the connection if nothing was completed since the last look.

        One timer for a connection, as a timer for each request would cost more than all the rest.
        """
        if self._moved or self._under_way:
            self._moved = False
            self._look = self.loop.call_later(HEAD_PATIENCE, self._close_if_idle)
        elif self._heading:
            self._refuse(Refusal(408, "headers", f"all of it within {HEAD_PATIENCE:.0f} seconds"))
        else:
            self.transport.close()

    @property
    def _under_way(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    # --- What comes ------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Take what came, unless it is too much."""
        self._bare += len(data)
        super().data_received(data)
        if self._bare > LARGEST_HEAD and not self.transport.is_closing():
            self._refuse(_too_large())

    def on_message_begin(self) -> None:
        """Begin to read headers."""
        self._heading = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Go on to the body; headers that came in one piece may be too large, too."""
        if self._bare > LARGEST_HEAD:
            size = sum(len(name) + len(value) + 4 for name, value in self.headers)
            if len(self.url) + size > LARGEST_HEAD:
                raise ValueError("too large")  # the parser stops, and `send_400_response` is called
        self._heading, self._moved = False, True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body, which is counted where it is read."""
        self._bare -= len(body) + CHUNK
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Begin to count anew."""
        self._bare = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Notice that somebody is served here."""
        self._moved = True
        super().on_response_complete()

    # --- Refusals --------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser stopped at."""
        large = self._bare > LARGEST_HEAD and self._heading
        self._refuse(_too_large() if large else Refusal(400, "request", "HTTP/1.1"))

    def _refuse(self, refused: Refusal) -> None:
        """Say why and close; in the middle of an answer, only close."""
        if not self._under_way:
            length = str(len(refused.body)).encode()
            headers = [(b"content-type", JSON), (b"content-length", length),
                       (b"connection", b"close"), *CARRIED]  # fmt: skip
            lines = b"".join(b"%b: %b\r\n" % header for header in headers)
            self.transport.write(STATUS_LINE[refused.status] + lines + b"\r\n" + refused.body)
        self.transport.close()


def _too_large() -> Refusal:
    return Refusal(431, "headers", f"at most {LARGEST_HEAD:,} bytes", "more")
