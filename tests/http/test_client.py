"""The client: every call against a real service, and retries against one that loses answers."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from kits.served import Breakable, Served, served
from kits.service import Clock, opened
from lumpable.client import Client, Decided, Refused, Unreachable
from lumpable.http.tokens import Tokens

TOKEN = "a-token-of-some-length"


class Ticking(Clock):
    """Time that goes on whenever somebody looks."""

    def __call__(self) -> int:
        self.now += 1.0
        return super().__call__()


@pytest.fixture(scope="module")
def shop() -> Iterator[Served]:
    tokens = Tokens.parse(f"admin {TOKEN}", "here")
    with served(lambda: opened(clock=Ticking(), repeated="sum"), tokens) as running:
        yield running


def test_every_call(shop: Served) -> None:
    with Client(shop.url, TOKEN) as client:
        client.wait_until_ready()
        made = client.decide("ann", ["red"], event="v1")
        assert made == Decided("v1", "ann", "red", 1.0, 0)
        assert client.decide("ann").event != client.decide("ann").event
        assert client.reward("v1", 1.0, at=1000.0) == "rewarded"
        assert [one.user for one in client.decide_many(["bob", 3])] == ["bob", 3]
        two = client.decide_many(["bob", 3], ["green"], events=["a", "b"], activate=False)
        assert client.reward_many([("a", 0.0), ("b", 1.0)]) == ["rewarded", "rewarded"]
        client.activate(two[0].event)
        assert client.observe("cid", "red", propensity=0.5).propensity == 0.5
        assert client.observe("cid", "red", event="again").propensity is None
        assert client.observe("cid", "red", event="again").propensity is None
        assert client.add_arm("gold")[-1] == "gold"
        assert "gold" not in client.pause_arm("gold")
        assert "gold" in client.resume_arm("gold")
        assert "gold" not in client.remove_arm("gold")
        assert client.groups()["groups"]
        assert client.explain("ann")["rewards"] == 1
        assert client.expected(3)[0]["rewards"] in (0, 1)
        assert len(client.policy()) == 3
        assert set(client.recommended()) == {row["user"] for row in client.policy()}
        assert sum(span["decisions"] for span in client.activity()["spans"]) == 9
        assert client.beliefs()["users"] == 3
        assert client.health()["fine"]
        client.forget("ann")
        assert client.status()["experiment"]["counted"] == 2


def test_refusals_are_raised_and_not_repeated(shop: Served) -> None:
    before = len(shop.lines)
    with Client(shop.url, TOKEN, sleep=_never) as client:
        with pytest.raises(Refused, match="400: allowed: expected known arms") as refused:
            client.decide("ann", ["pink"])
        assert (refused.value.status, refused.value.got) == (400, "'pink'")
        with pytest.raises(ValueError, match="JSON"):
            client.reward("v1", float("nan"))
    with Client(shop.url, "wrong", sleep=_never) as client, pytest.raises(Refused, match="401"):
        client.status()
    assert len(shop.lines) == before + 2


def test_what_would_be_taken_for_something_else_is_refused(shop: Served) -> None:
    with Client(shop.url, TOKEN, sleep=_never) as caller:
        client: Any = caller  # whose types nobody checked
        before = client.status()["experiment"]["entries"]
        cases: tuple[tuple[Callable[[], Any], str], ...] = (
            (lambda: client.decide("ann", event=""), "event: expected a string of 1 to 200"),
            (
                lambda: client.observe("ann", "red", event=""),
                "event: expected a string of 1 to 200",
            ),
            (lambda: client.decide_many("abc"), "users: expected several, got one string, 'abc'"),
            (lambda: client.decide("ann", "red"), "allowed: expected several, got one string"),
            (lambda: client.decide_many(["a", "b"], events="ab"), "events: expected several"),
            (lambda: client.reward_many("ab"), "rewards: expected several"),
            (lambda: client.explain(5.0), "user: expected a string or an integer, got 5.0"),
            (lambda: client.explain(True), "user: expected a string or an integer, got True"),
            (
                lambda: client.decide(np.array(["a", "b"])),
                "expected strings and numbers, got array",
            ),
            (lambda: client.decide({1}), r"expected strings and numbers, got \{1\}"),
        )
        for call, words in cases:
            with pytest.raises(ValueError, match=words):
                call()
        for wrong in (True, 1.5, None):
            with pytest.raises(Refused, match="400: user"):
                client.decide(wrong)
        assert client.status()["experiment"]["entries"] == before


def test_numbers_of_numpy_and_truths_are_numbers(shop: Served) -> None:
    with Client(shop.url, TOKEN, sleep=_never) as caller:
        client: Any = caller  # whose types nobody checked
        assert client.decide(np.int64(70)).user == 70
        users = [70, 71, "m"]
        assert [one.user for one in client.decide_many(np.array([70, 71]))] == users[:2]
        assert client.decide_many([np.str_("m")])[0].user == users[2]
        for value in (True, np.bool_(False), np.float32(0.5), np.float64(0.5), np.int8(1)):
            event = client.decide("nia", [np.str_("green")]).event
            assert client.reward(event, value, at=np.float64(1000.0)) == "rewarded"
            again = client.reward_many([(event, value)], at=np.int64(1000))
            assert again == ["rewarded"]
        assert client.explain(np.int64(70))["rewards"] == 0
        expected = {row["arm"]: row for row in client.expected("nia")}["green"]
        assert expected["rewards"] == 5


def _never(seconds: float) -> None:
    raise AssertionError("there was nothing to wait for")


class Flaky(Client):
    """Loses requests (r) and answers (a), by a plan for each call; then everything goes through."""

    plan = ""
    tried = 0

    def _once(
        self, method: str, path: str, body: bytes | None
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        fate = self.plan[self.tried : self.tried + 1]
        self.tried += 1
        if fate == "r":
            raise ConnectionResetError
        answer = super()._once(method, path, body)
        if fate == "a":
            raise http.client.RemoteDisconnected("lost")
        return answer


@pytest.mark.parametrize("plan", ["", "r", "a", "ra", "aaar", "rrrrr"])
def test_what_is_lost_is_sent_again_and_counts_once(shop: Served, plan: str) -> None:
    pauses: list[float] = []
    with Flaky(shop.url, TOKEN, sleep=pauses.append) as client:
        before = client.status()["experiment"]
        client.plan = plan
        for call in (
            lambda: client.decide("dan", event=f"{plan}-0"),
            lambda: client.reward(f"{plan}-0", 1.0),
            lambda: client.decide_many(["dan", "eve"], events=[f"{plan}-1", f"{plan}-2"]),
            lambda: client.reward_many([(f"{plan}-1", 1.0), (f"{plan}-2", 0.0)]),
            lambda: client.decide("fay"),
            lambda: client.decide_many(["gus", "hal"]),
            lambda: client.observe("ida", "red"),
        ):
            client.tried = 0
            call()
        after = client.status()["experiment"]
    assert after["decisions"] - before["decisions"] == 7
    assert after["rewards"] - before["rewards"] == 3  # also where rewards are summed up
    assert len(pauses) == 7 * len(plan)
    assert all(0.05 <= pause <= 7.5 for pause in pauses)


def test_a_store_that_fails_is_tried_again() -> None:
    store = Breakable()
    with served(lambda: opened(store)) as shop:
        store.full = True
        pauses: list[float] = []

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            store.full = len(pauses) < 3

        with Client(shop.url, sleep=sleep) as client:
            client.decide("ann", event="e1")
            assert client.status()["experiment"]["decisions"] == 1
        assert len(pauses) == 3
        assert all(pause >= 0.5 for pause in pauses[1:])  # as Retry-After says, about
        store.full = True
        again = r"POST /decide: 2 tries, last 503.*disk full"
        with (
            Client(shop.url, tries=2, sleep=lambda _: None) as client,
            pytest.raises(Unreachable, match=again),
        ):
            client.decide("ann")


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Client(f"http://127.0.0.1:{port}", tries=3, sleep=lambda _: None) as client:
        with pytest.raises(Unreachable, match="ConnectionRefused"):
            client.status()
        with pytest.raises(Unreachable, match="not ready"):
            client.wait_until_ready(0.0)
    for url in ("127.0.0.1:8000", "ftp://x", "http://"):
        with pytest.raises(ValueError, match="url"):
            Client(url)
    with pytest.raises(ValueError, match="tries"):
        Client("http://x", tries=0)


def test_an_answer_of_somebody_else() -> None:
    def serve() -> None:
        caller, _ = listening.accept()
        with caller:
            caller.recv(65536)
            caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        with (
            Client(f"http://127.0.0.1:{listening.getsockname()[1]}") as client,
            pytest.raises(Refused, match="JSON of a lumpable service"),
        ):
            client.status()
        thread.join()
