"""Every way to be refused: a clear 4xx, in JSON, and nothing has changed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Iterator

import pytest

from kits.served import JSON, Breakable, Served, served
from kits.service import opened
from lumpable.base.errors import BadArgument
from lumpable.http import application, guard
from lumpable.http.guard import body_of
from lumpable.http.http_server import Address
from lumpable.http.refusals import Refusal
from lumpable.http.tokens import Tokens
from lumpable.service.live_experiment import LiveExperiment

DECIDE, READ, OLD, NEW, ADMIN = (f"{name}-token-0123456789" for name in "dronA")
TOKENS = Tokens.parse(
    f"decide,read {DECIDE}  # a comment\n\nread {READ}; reward {OLD}\nreward {NEW}\nadmin {ADMIN}",
    "here",
)


@pytest.fixture(scope="module")
def shop() -> Iterator[Served]:
    with served() as running:
        yield running


@pytest.fixture(scope="module")
def guarded() -> Iterator[Served]:
    with served(tokens=TOKENS, names=("shop.example",)) as running:
        yield running


@pytest.mark.parametrize(
    ("body", "what", "expected"),
    [
        (b'{"user": "ann", "evnt": "x"}', "body", "no unknown field"),
        (b"{}", "body", "a field user"),
        (b'{"user": 1.5}', "user", "int | str"),
        (b'{"user": true}', "user", "int | str"),
        (b'{"user": null}', "user", "int | str"),
        (b'{"user": 9223372036854775808}', "user", "int"),
        (b'{"user": "ann", "activate": "yes"}', "activate", "bool"),
        (b'{"user": "ann", "event": ""}', "event", "length >= 1"),
        (b'{"user": "ann", "event": "' + b"x" * 201 + b'"}', "event", "length <= 200"),
        (b'{"user": "ann", "event": "a\\u0000b"}', "event", "1 to 200 characters"),
        (b'{"user": "' + b"x" * 1001 + b'"}', "user", "length <= 1000"),
        (b'{"user": "ann", "allowed": ["pink"]}', "allowed", "known arms"),
        (b'{"user": "ann", "allowed": []}', "allowed", "an arm that may be chosen"),
        (b'{"user": "ann"', "body", "JSON"),
        (b"", "body", "JSON"),
        (b'{"user": "\xff"}', "body", "UTF-8"),
        (b'{"user": "ann"} {"user": "bob"}', "body", "JSON"),
        (b'{"user": ' + b"[" * 30_000, "user", "int | str"),
        (b'["ann"]', "body", "object"),
    ],
)
def test_a_wrong_decision(shop: Served, body: bytes, what: str, expected: str) -> None:
    before = shop.get("/status").json["experiment"]
    answer = shop.send("POST", "/decide", body)
    assert answer.status == 400
    assert answer.error["what"] == what
    assert expected in answer.error["expected"]
    assert shop.get("/status").json["experiment"] == before


def test_what_came_is_not_what_was_expected(shop: Served) -> None:
    """What a decoder complains of stands under `got`, and what would be right under `expected`."""
    for body, expected, got in (
        (b'{"user": "ann"} x', "JSON", "trailing characters (byte 17)"),
        (b"", "JSON", "nothing, or JSON that breaks off"),
        (b"{}", "a field user", "none"),
        (b'{"user": "ann", "evnt": "x"}', "no unknown field", "evnt"),
        (b'{"user": true}', "int | str", "bool"),
    ):
        error = shop.send("POST", "/decide", body).error
        assert error == {"what": error["what"], "expected": expected, "got": got}
    error = shop.get("/explain?user=ann&type=float").error
    assert (error["what"], error["expected"]) == ("type", "one of the values in /openapi.json")
    error = shop.send("POST", "/reward", b'{"event": "e", "value": 1e999}').error
    assert (error["expected"], error["got"]) == ("a number of at most 64 bits", "more")


def test_an_error_in_a_sentence_is_taken_apart() -> None:
    """The words "expected" and "got" are the reader's, who puts them between the fields."""
    with served(lambda: opened(at_most=1)) as shop:
        for _ in range(3):
            assert shop.post("/decide", {"user": "ann"}).status == 200
        limited = shop.post("/decide", {"user": "ann"}).error
        for arm in ("red", "green", "blue"):
            shop.post("/arms/pause", {"arm": arm})
        nothing = shop.post("/decide", {"user": "bob"}).error
    expected = "an arm that may be chosen"
    assert nothing == {"what": "allowed", "expected": expected, "got": "there are none"}
    assert limited["expected"] == expected
    assert limited["got"] == "'ann' was shown each of them as often as `at_most` allows"


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", '"1"', "null", "1e10"])
def test_a_wrong_reward(shop: Served, value: str) -> None:
    before = shop.get("/status").json["experiment"]
    answer = shop.send("POST", "/reward", f'{{"event": "e", "value": {value}}}'.encode())
    assert answer.status == 400
    assert answer.error["expected"]
    assert shop.get("/status").json["experiment"] == before


def test_one_wrong_reward_refuses_all(shop: Served) -> None:
    rows = [{"event": "many", "value": 1}, {"event": "", "value": 1}]
    assert shop.post("/reward/many", {"rewards": rows}).status == 400
    assert shop.get("/status").json["experiment"]["rewards"] == 0


def test_an_event_of_another_user(shop: Served) -> None:
    shop.post("/decide", {"user": "ann", "event": "hers"})
    answer = shop.post("/decide", {"user": "bob", "event": "hers"})
    assert (answer.status, answer.error["what"]) == (400, "event")


def test_deeply_nested_features(shop: Served) -> None:
    deep = b"[" * 30_000 + b"]" * 30_000
    for body in (
        b'{"actions": [{"id": "red", "features": ' + deep + b'}], "contextFeatures": []}',
        b'{"actions": [{"id": "red"}], "contextFeatures": [{"x": ' + deep + b"}]}",
    ):
        answer = shop.send("POST", "/personalizer/v1.0/rank", body)
        assert (answer.status, answer.error["what"]) == (400, "body")


def test_large_bodies(shop: Served) -> None:
    large = json.dumps({"user": "x" * 70_000}).encode()
    assert shop.send("POST", "/decide", large).status == 413
    chunked = JSON | {"Transfer-Encoding": "chunked"}
    assert shop.send("POST", "/decide", _chunks(large), chunked).status == 413
    larger = json.dumps({"users": ["x" * 1000] * 9000}).encode()
    assert len(larger) > 8 * 1024 * 1024
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it need not be read
        assert shop.send("POST", "/decide/many", larger).status == 413
    body = json.dumps({"users": ["x" * 900] * 300}).encode()
    assert shop.send("POST", "/decide/many", body).status == 200


def test_a_body_without_end_is_not_read_to_its_end() -> None:
    taken: list[int] = []

    async def receive() -> dict[str, object]:
        taken.append(1)
        assert len(taken) < 10
        return {"type": "http.request", "body": b"x" * 1000, "more_body": True}

    scope = {"type": "http", "headers": []}
    with pytest.raises(Refusal) as refused:
        asyncio.run(body_of(scope, receive, 4000, json=False))
    assert (refused.value.status, len(taken)) == (413, 5)


@pytest.mark.parametrize("first", [[b"{"], []])
def test_a_body_that_does_not_come(first: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    come = [{"type": "http.request", "body": part, "more_body": True} for part in first]

    async def receive() -> dict[str, object]:
        if not come:
            await asyncio.Event().wait()
        return dict(come.pop())

    async def read() -> bytes:
        async with asyncio.timeout(20):  # whoever waits for ever fails here
            return await body_of({"type": "http", "headers": []}, receive, 4000, json=False)

    monkeypatch.setattr(guard, "PATIENCE", 0.0)
    with pytest.raises(Refusal) as refused:
        asyncio.run(read())
    assert refused.value.status == 408


def test_silent_callers_keep_nobody_out(shop: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "MOST_WAITING", 2)
    monkeypatch.setattr(guard, "PATIENCE", 0.5)
    head = b"POST /decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    silent = [socket.create_connection(("127.0.0.1", shop.server.port), 30) for _ in range(3)]
    for raw in silent:
        raw.sendall(head + b"Content-Length: 15\r\n\r\n")
    assert shop.post("/decide", {"user": "ann"}).status == 200
    for raw in silent:
        with raw, raw.makefile("rb") as answer:
            whole = answer.read()  # up to where the connection is closed
        assert whole.startswith(b"HTTP/1.1 408")
        assert b"connection: close" in whole.lower()


def test_more_than_can_be_served(shop: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "MOST_WAITING", 0)
    for answer in (shop.post("/decide", {"user": "ann"}), shop.get("/groups")):
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert shop.get("/health").status == 200


def _chunks(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


def test_a_body_that_is_not_json(shop: Served) -> None:
    for kind in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-json"}):
        answer = shop.send("POST", "/decide", b'{"user": "ann"}', kind)
        assert (answer.status, answer.error["what"]) == (415, "Content-Type")
    fine = {"Content-Type": "application/json; charset=utf-8"}
    assert shop.send("POST", "/decide", b'{"user": "ann"}', fine).status == 200


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/decide/", "//decide", "/../decide", "/%2e%2e/etc/passwd", "/decide%00",
     "/personalizer/v1.0/events/a%2Fb/reward", "/personalizer/v1.0/events//reward"],
)  # fmt: skip
def test_unknown_addresses(shop: Served, path: str) -> None:
    answer = shop.send("POST", path, b'{"value": 1}')
    assert (answer.status, answer.error["what"]) == (404, "path")


def test_tricks_in_ids_are_names_like_others(shop: Served) -> None:
    for id in ("..", "%2e%2e", "<script>alert(1)</script>", "a'; DROP TABLE log; --", "\u202e"):
        path = "/personalizer/v1.0/events/" + "".join(f"%{byte:02x}" for byte in id.encode())
        if "/" not in id:
            assert shop.post(path + "/reward", {"value": 1}).status == 204
        made = shop.post("/decide", {"user": id, "event": f"e {id}"})
        assert made.json["user"] == id
        assert made.headers["content-type"] == "application/json"
        assert made.headers["x-content-type-options"] == "nosniff"


def test_wrong_methods(shop: Served) -> None:
    for method, path in (("GET", "/decide"), ("DELETE", "/decide"), ("POST", "/groups")):
        answer = shop.send(method, path)
        assert (answer.status, answer.error["what"]) == (405, "method")
    assert shop.send("OPTIONS", "/decide", None, {"Origin": "http://localhost"}).status == 405


@pytest.mark.parametrize(
    ("query", "what"),
    [("", "query"), ("?user=a&user=b", "query"), ("?user=a&x=1", "query"), ("?user=", None),
     ("?user=x&type=integer", "user"), ("?user=1&type=float", "type"),
     ("?user=1_0&type=integer", "user"),
     ("?user=9" + "9" * 30 + "&type=integer", "user")],
)  # fmt: skip
def test_wrong_queries(shop: Served, query: str, what: str | None) -> None:
    answer = shop.get("/expected" + query)
    assert answer.status == (200 if what is None else 400)
    if what is not None:
        assert answer.error["what"] == what
    assert shop.get("/health?x=1").status == 400


def test_other_hosts_and_other_pages(guarded: Served) -> None:
    port = guarded.server.port
    for host in ("evil.example", "", "localhost.evil.example", f"127.0.0.1.evil.example:{port}"):
        answer = guarded.get("/health", Host=host)
        assert (answer.status, answer.error["what"]) == (421, "Host")
    for host in ("localhost", f"127.0.0.1:{port}", "[::1]:1", "SHOP.example", "shop.example."):
        assert guarded.get("/health", Host=host).status == 200
    for origin in ("http://evil.example", "null", "https://localhost.evil.example"):
        answer = guarded.get("/health", Origin=origin)
        assert (answer.status, answer.error["what"]) == (403, "Origin")
        assert "access-control-allow-origin" not in answer.headers
    assert guarded.get("/health", Origin=f"http://localhost:{port}").status == 200


def test_every_answer_carries_headers(guarded: Served) -> None:
    for answer in (guarded.get("/"), guarded.get("/groups"), guarded.get("/x"),
                   guarded.get("/", Host="evil.example")):  # fmt: skip
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


CALLS = [
    ("POST", "/decide", {"user": "ann"}, "decide"),
    ("POST", "/decide/many", {"users": ["ann"]}, "decide"),
    ("POST", "/observe", {"user": "ann", "arm": "red"}, "decide"),
    ("POST", "/reward", {"event": "x", "value": 1}, "reward"),
    ("POST", "/reward/many", {"rewards": []}, "reward"),
    ("POST", "/arms/add", {"arm": "red"}, "admin"),
    ("POST", "/forget", {"user": "nobody"}, "admin"),
    ("GET", "/groups", None, "read"),
    ("GET", "/policy", None, "read"),
    ("GET", "/recommended", None, "read"),
    ("GET", "/activity", None, "read"),
    ("GET", "/beliefs", None, "read"),
    ("GET", "/status", None, "read"),
    ("GET", "/metrics", None, "read"),
    ("POST", "/personalizer/v1.0/events/x/reward", {"value": 1}, "reward"),
]
MAY = {DECIDE: {"decide", "read"}, READ: {"read"}, OLD: {"reward"}, NEW: {"reward"},
       ADMIN: {"decide", "reward", "read", "admin"}}  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "role"), CALLS)
def test_roles(guarded: Served, method: str, path: str, body: object, role: str) -> None:
    sent = None if body is None else json.dumps(body).encode()

    def status(**headers: str) -> int:
        answer = guarded.send(method, path, sent, JSON | headers)
        if answer.status >= 400:
            assert answer.error["expected"]
        if answer.status == 401:
            assert answer.headers["www-authenticate"] == "Bearer"
        return answer.status

    for token, roles in MAY.items():
        wanted = {200, 204} if role in roles else {403}
        assert status(Authorization=f"Bearer {token}") in wanted
        assert status(**{"Ocp-Apim-Subscription-Key": token}) in wanted
    for wrong in ("", "Bearer", f"Basic {ADMIN}", f"Bearer {ADMIN}x", f"Bearer {ADMIN[:-1]}",
                  "Bearer \xff\xfe"):  # fmt: skip
        assert status(Authorization=wrong) == 401
    assert status() == 401
    assert "token-0123" not in "\n".join(guarded.lines)


def test_who_may_not_call_learns_nothing_of_the_body(guarded: Served) -> None:
    assert guarded.send("POST", "/decide", b"{", JSON).status == 401


def test_probes_need_no_token(guarded: Served) -> None:
    for path in ("/", "/health", "/ready", "/openapi.json"):
        assert guarded.get(path).status == 200


def test_other_hosts_need_tokens() -> None:
    for host in ("0.0.0.0", "::", "192.168.0.1", "shop.example"):
        with pytest.raises(BadArgument, match="tokens"):
            Address(host)
        assert Address(host, tokens=TOKENS).host == host


@pytest.mark.parametrize(
    "text",
    ["", "# nothing", "short token", f"boss {ADMIN}", f"decide,boss {ADMIN}", ADMIN,
     f"read {ADMIN} {OLD}", f"read, reward {ADMIN}", "read tökentökentökentöken"],
)  # fmt: skip
def test_wrong_tokens_are_named_by_their_line(text: str) -> None:
    with pytest.raises(BadArgument, match="here") as refused:
        Tokens.parse(text, "here")
    assert ADMIN not in str(refused.value)


def test_a_store_that_fails_acknowledges_nothing() -> None:
    store = Breakable()
    with served(lambda: opened(store)) as shop:
        shop.post("/decide", {"user": "ann", "event": "e1"})
        store.full = True
        for path, body in (
            ("/decide", {"user": "ann", "event": "e2"}), ("/reward", {"event": "e1", "value": 1}),
            ("/arms/pause", {"arm": "red"}), ("/personalizer/v1.0/events/e1/reward", {"value": 1}),
        ):  # fmt: skip
            answer = shop.post(path, body)
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert answer.error["got"] == "disk full"
        concern = shop.get("/health").json["concerns"][0]
        assert concern["what"] == "the last call could not be written: disk full"
        assert "disk" in concern["do"]
        store.full = False
        assert shop.post("/reward", {"event": "e1", "value": 1}).json == {"standing": "rewarded"}
        assert shop.get("/health").json["fine"]
        assert shop.get("/status").json["experiment"]["decisions"] == 1


def test_a_bug_is_in_the_log_under_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: LiveExperiment) -> None:
        raise RuntimeError("ann-secret")

    monkeypatch.setattr(LiveExperiment, "groups", broken)
    with served() as shop:
        answer = shop.get("/groups")
        assert answer.status == 500
        found = next(line for line in shop.log if line["what"] == "bug")
        assert answer.error["got"] == f"an internal error, logged as {found['id']}"
        assert found["error"] == "RuntimeError"
        assert any("broken" in where for where in found["where"])
        assert "secret" not in "\n".join(shop.lines) + answer.body.decode()
        assert shop.get("/health").status == 200


def test_what_is_not_http(shop: Served) -> None:
    with socket.create_connection(("127.0.0.1", shop.server.port), timeout=30) as raw:
        raw.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert raw.recv(1000).startswith(b"HTTP/1.1 400")
    assert shop.get("/health").status == 200
