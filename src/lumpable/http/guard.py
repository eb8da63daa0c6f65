"""What every request passes first: Host and Origin, sizes, tokens; and what every answer carries.

A page of another site that somebody has open must not reach a service on their machine: names that
were bent to its address are told by Host, pages by Origin.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from lumpable.http.json_logs import Log
from lumpable.http.metrics import Meter
from lumpable.http.refusals import Refusal
from lumpable.http.tokens import Role, Tokens

PATIENCE = 30.0
"""Seconds in which a body must come."""
JSON = b"application/json"
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
CARRIED = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
"""Headers of every answer, unless it has its own."""


def host_of(header: str) -> str:
    """Return a Host header without its port.

    >>> host_of("Shop.example:80"), host_of("[::1]:8000"), host_of("[::1]"), host_of("127.0.0.1")
    ('shop.example', '::1', '::1', '127.0.0.1')
    """
    name = header.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0].removesuffix(".")


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers of a request by their names in small letters; of several, the first."""
    return dict(reversed(scope["headers"]))


def bearer(headers: Headers) -> bytes:
    """Return the token of a request; Personalizer's callers send it by another name."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and token:
        return token.strip().encode("latin-1")
    return headers.get("ocp-apim-subscription-key", "").encode("latin-1")


def roles_of(tokens: Tokens, headers: Headers) -> frozenset[Role]:
    """Return what the sender of a request may do."""
    return tokens.roles(bearer(headers))


async def body_of(scope: Scope, receive: Receive, limit: int, *, json: bool) -> bytes:
    """Read a body that is not too large, and JSON by its own account."""
    headers = headers_of(scope)
    kind = headers.get(b"content-type", b"")
    if json and kind != JSON and kind.partition(b";")[0].strip() != JSON:
        got = kind.decode("latin-1")[:80] if b"content-type" in headers else "nothing"
        raise Refusal(415, "Content-Type", "application/json", got)
    length = headers.get(b"content-length", b"").decode("latin-1")
    if length.isdecimal() and int(length) > limit:
        raise _too_large(limit)
    try:
        async with asyncio.timeout(PATIENCE):  # from the first byte on: there may be none
            return await _whole(receive, limit)
    except TimeoutError:
        expected, close = f"all of it within {PATIENCE:.0f} seconds", ((b"connection", b"close"),)
        raise Refusal(408, "body", expected, headers=close) from None


async def _whole(receive: Receive, limit: int) -> bytes:
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(400, "body", "all of it", "a connection that ended early")
        parts.append(message.get("body", b""))
        size, more = size + len(parts[-1]), bool(message.get("more_body"))
        if size > limit:
            raise _too_large(limit)
    return b"".join(parts)


def _too_large(limit: int) -> Refusal:
    return Refusal(413, "body", f"at most {limit:,} bytes", "more")


async def respond(
    send: Send, status: int, kind: bytes, body: bytes,
    headers: tuple[tuple[bytes, bytes], ...] = (),
) -> None:  # fmt: skip
    """Send an answer."""
    lines = [*headers]
    if status != 204:
        lines += [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})


class Guard:
    """Lets through what is meant for this host; counts and times all of it."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str], log: Log, meter: Meter) -> None:
        self._app, self._hosts, self._log, self._meter = app, hosts, log, meter

    def _refuse(self, scope: Scope) -> Refusal | None:
        headers = headers_of(scope)
        host = headers.get(b"host", b"").decode("latin-1")
        if host_of(host) not in self._hosts:
            return Refusal(421, "Host", "a name of this service (see --allow-host)")
        origin = headers.get(b"origin")
        if origin is not None:
            name = host_of(origin.decode("latin-1").partition("://")[2])
            if name not in self._hosts:
                return Refusal(403, "Origin", "no page of another site")
        return None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500

        async def carry(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {name for name, _ in message["headers"]}
                carried = [header for header in CARRIED if header[0] not in own]
                message["headers"] = [*message["headers"], *carried]
            await send(message)

        self._meter.under_way += 1
        try:
            refused = self._refuse(scope)
            if refused is None:
                await self._app(scope, receive, carry)
            else:
                await carry({"type": "http.response.start", "status": refused.status,
                             "headers": [(b"content-type", JSON)]})  # fmt: skip
                await carry({"type": "http.response.body", "body": refused.body})
        finally:
            self._meter.under_way -= 1
            self._note(scope, status, time.perf_counter() - begun)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = scope.get("lumpable.route", "-")
        self._meter.on_answer(route, status, seconds)
        worth = status >= 400 and route != "/ready"
        if worth or self._log.all_requests:
            method = scope["method"] if scope["method"] in ("GET", "POST", "HEAD") else "-"
            self._log.say("request", "info" if status < 500 else "warning", method=method,
                          route=route, status=status, ms=round(1e3 * seconds, 2))  # fmt: skip
