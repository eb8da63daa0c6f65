"""What comes ahead of a token is bounded in size and time, whoever sends it; normal calls are not.

None of these callers has a token. The limits of time are made short; nothing depends on how fast
the machine is.
"""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator

import pytest

from kits.served import Served, served
from lumpable.http import connections, http_server
from lumpable.http.connections import LARGEST_HEAD
from lumpable.http.tokens import Tokens

HEAD = b"POST /decide HTTP/1.1\r\nHost: localhost\r\n"
TOKEN = b"Authorization: Bearer a-token-of-some-length\r\nContent-Type: application/json\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
FLOOD = 64 * 1024 * 1024


@pytest.fixture(scope="module")
def shop() -> Iterator[Served]:
    with served(tokens=Tokens.parse("decide a-token-of-some-length", "here")) as running:
        yield running


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A service that waits for nobody."""
    monkeypatch.setattr(http_server, "KEEP_ALIVE", 1.0)
    monkeypatch.setattr(connections, "HEAD_PATIENCE", 0.3)
    with served() as running:
        yield running


def connected(shop: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", shop.server.port), 30)


def answer_to(raw: socket.socket) -> bytes:
    """Return all that comes until the connection is closed."""
    parts = []
    try:
        while part := raw.recv(65_536):
            parts.append(part)
    except ConnectionError:  # closed with something unread
        pass
    return b"".join(parts)


def flooded(raw: socket.socket, piece: bytes) -> tuple[int, bytes]:
    """Send a piece again and again until it is closed; return how many bytes went, and answers."""
    sent, seen = 0, b""
    try:
        while sent < FLOOD:
            raw.sendall(piece)
            sent += len(piece)
            try:
                part = raw.recv(10_000)
            except TimeoutError:
                continue
            if not part:
                break
            seen += part
    except ConnectionError:
        pass
    return sent, seen


@pytest.mark.parametrize(
    "begin",
    [
        HEAD + b"X-A: ",
        HEAD,
        b"POST /",
        b"",
        HEAD + TOKEN + CHUNKED + b"0\r\n",
        HEAD + CHUNKED + b"1;",
    ],
    ids=["one line", "many lines", "address", "nothing", "after the body", "between its parts"],
)
@pytest.mark.parametrize("piece", [b"y" * 4_000, b"X-A: " + b"y" * 4_000 + b"\r\n"])
def test_nobody_can_send_without_end(shop: Served, begin: bytes, piece: bytes) -> None:
    """Whatever it is that never ends: it is closed, long before it is large."""
    with connected(shop) as raw:
        raw.sendall(begin)
        raw.settimeout(0.001)
        assert flooded(raw, piece * 16)[0] < FLOOD  # what is on its way in the system


@pytest.mark.parametrize("lines", [1, 500])
def test_a_large_head_is_refused_in_words(shop: Served, lines: int) -> None:
    each = b"X-A: " + b"y" * (LARGEST_HEAD // lines) + b"\r\n"
    with connected(shop) as raw:
        raw.sendall(HEAD + each * lines + b"\r\n")
        answer = answer_to(raw)
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert b'{"error":{"what":"headers","expected":"at most 32,768 bytes","got":"more"}}' in answer
    assert b"x-content-type-options: nosniff" in answer


def test_what_is_no_http_is_refused_in_words(shop: Served) -> None:
    with connected(shop) as raw:
        raw.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        answer = answer_to(raw)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.endswith(b'{"error":{"what":"request","expected":"HTTP/1.1","got":""}}')


def test_a_head_that_is_as_large_as_it_may_be(shop: Served) -> None:
    """So is a body in very small parts, and one call after the other on a connection."""
    caller = http.client.HTTPConnection("127.0.0.1", shop.server.port, timeout=30)
    token = {"Authorization": "Bearer a-token-of-some-length", "Content-Type": "application/json"}
    for k in range(3):
        body = b'{"user": "ann", "event": "e%d"}' % k + b" " * 60_000
        parts = (body[i : i + 5] for i in range(0, len(body), 5))
        long = {"X-A": "y" * (LARGEST_HEAD - 500)}
        caller.request("POST", "/decide", parts, token | long, encode_chunked=True)
        answer = caller.getresponse()
        assert (answer.status, b"ann" in answer.read()) == (200, True)
    caller.close()


@pytest.mark.parametrize("sent", [HEAD, b"", b"\r\n", HEAD + b"Content-Length: 9\r\n\r\n{", b"GET"])
def test_who_sends_nothing_more_is_not_waited_for(
    hasty: Served, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    """Answered 408 in the middle of a request, closed between two."""
    monkeypatch.setattr("lumpable.http.guard.PATIENCE", 0.3)
    with connected(hasty) as raw:
        raw.sendall(sent)
        answer = answer_to(raw)
    assert answer[:13] in (b"HTTP/1.1 408 ", b"HTTP/1.1 415 ") if sent.strip() else answer == b""


def test_who_sends_a_little_now_and_then_is_not_waited_for(hasty: Served) -> None:
    with connected(hasty) as raw:
        raw.settimeout(0.05)
        raw.sendall(HEAD)
        assert flooded(raw, b"X")[0] < FLOOD


def test_after_an_answer_the_rest_of_a_body_is_not_waited_for(hasty: Served) -> None:
    """Nobody reads the body of a GET."""
    with connected(hasty) as raw:
        raw.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        raw.settimeout(0.05)
        sent, seen = flooded(raw, b"x")
    assert sent < FLOOD
    assert seen.startswith(b"HTTP/1.1 200 ")
