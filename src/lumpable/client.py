"""A client of `lumpable serve`: the standard library, nothing else. This file may be copied.

Every call may be sent again: events have ids and rewards have times before they are sent the first
time. So what the network or the server lost is tried again, and counts once.
"""

from __future__ import annotations

import http.client
import json
import random
import secrets
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

Name = str | int
Answer = tuple[int, http.client.HTTPMessage, bytes]
TRIES = 6
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between tries: about twice as long each time."""
AGAIN = frozenset({408, 429, 502, 503, 504})
"""Answers after which trying again may help."""


class Refused(Exception):
    """The server said no: its status, what was wrong, what was expected there, what it was."""

    def __init__(self, status: int, what: str, expected: str, got: str) -> None:
        self.status, self.what, self.expected, self.got = status, what, expected, got
        reason = f"{what}: expected {expected}" + (f", got {got}" if got else "")
        super().__init__(f"{status}: {reason}")


class Unreachable(Exception):
    """No server answered, or none that was ready, however often it was tried."""


@dataclass(frozen=True, slots=True)
class Decided:
    """An arm that was chosen for a user, how likely that was, and by which version."""

    event: str
    user: Name
    arm: Name
    propensity: float | None
    """None: somebody else decided, and did not say."""
    version: int


class Client:
    """Calls a service; threads may share it, each has a connection of its own.

    `url` is such as "http://127.0.0.1:8000". A call that fails because the network or the server is
    not ready is sent up to `tries` times, with growing pauses; then `Unreachable` is raised.
    """

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 10.0, tries: int = TRIES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url: expected http://HOST:PORT, got {url!r}")
        if tries < 1:
            raise ValueError(f"tries: expected at least 1, got {tries}")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._root, self._timeout = parts.path.rstrip("/"), timeout
        self._tries, self._sleep = tries, sleep
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._local = threading.local()

    def decide(
        self, user: Name, allowed: Sequence[Name] | None = None, *, event: str | None = None,
        activate: bool = True,
    ) -> Decided:  # fmt: skip
        """Choose an arm for a user; the same `event` gets the same decision again."""
        body = {"user": user, "allowed": _as_list("allowed", allowed), "event": _id_or_new(event),
                "activate": activate}  # fmt: skip
        return Decided(**self.post("/decide", body))

    def decide_many(
        self, users: Iterable[Name], allowed: Sequence[Name] | None = None, *,
        events: Sequence[str] | None = None, activate: bool = True,
    ) -> list[Decided]:  # fmt: skip
        """Choose for many users, in one commit."""
        names = _as_list("users", users)
        ids = [new_id() for _ in names] if events is None else _as_list("events", events)
        body = {"users": names, "allowed": _as_list("allowed", allowed), "events": ids,
                "activate": activate}  # fmt: skip
        return [Decided(**one) for one in self.post("/decide/many", body)["decisions"]]

    def reward(self, event: str, value: float, *, at: float | None = None, key: str = "") -> str:
        """Report the reward of an event, of now or of `at`; return where the event stands.

        `at`: seconds since 1970. Clocks of client and server may differ by less than the window.
        """
        body = {
            "event": event,
            "value": _number(value),
            "at": time.time() if at is None else at,
            "key": key,
        }
        return str(self.post("/reward", body)["standing"])

    def reward_many(
        self, rewards: Iterable[tuple[str, float]], *, at: float | None = None, key: str = ""
    ) -> list[str]:
        """Report many rewards, in one commit: all count, or, if one is wrong, none."""
        pairs = _as_list("rewards", rewards)
        rows = [{"event": event, "value": _number(value)} for event, value in pairs]
        body = {"rewards": rows, "at": time.time() if at is None else at, "key": key}
        return list(self.post("/reward/many", body)["standings"])

    def activate(self, event: str) -> None:
        """Say that what was decided with `activate=False` was shown."""
        self.post("/activate", {"event": event})

    def observe(
        self, user: Name, arm: Name, *, event: str | None = None, propensity: float | None = None,
        at: float | None = None,
    ) -> Decided:  # fmt: skip
        """Report a decision that somebody else made."""
        body = {"user": user, "arm": arm, "event": _id_or_new(event), "propensity": propensity,
                "at": time.time() if at is None else at}  # fmt: skip
        return Decided(**self.post("/observe", body))

    def add_arm(self, arm: Name) -> list[Name]:
        """Let an arm be chosen from now on; return all that may be."""
        return list(self.post("/arms/add", {"arm": arm})["arms"])

    def pause_arm(self, arm: Name) -> list[Name]:
        """Choose an arm no more until it is resumed."""
        return list(self.post("/arms/pause", {"arm": arm})["arms"])

    def resume_arm(self, arm: Name) -> list[Name]:
        """Choose a paused or removed arm again."""
        return list(self.post("/arms/resume", {"arm": arm})["arms"])

    def remove_arm(self, arm: Name) -> list[Name]:
        """Choose an arm no more; its evidence stays."""
        return list(self.post("/arms/remove", {"arm": arm})["arms"])

    def forget(self, user: Name) -> None:
        """Erase a user."""
        self.post("/forget", {"user": user})

    def groups(self) -> dict[str, Any]:
        """Return the groups that are believed in, and a summary."""
        return self.get("/groups")

    def explain(self, user: Name) -> dict[str, Any]:
        """Return why a user is shown what is believed best for them."""
        return self.get("/explain", user)

    def expected(self, user: Name) -> list[dict[str, Any]]:
        """Return what each arm is expected to bring for a user."""
        return list(self.get("/expected", user)["expected"])

    def policy(self) -> list[dict[str, Any]]:
        """Return the arm that is believed best for each known user."""
        return list(self.get("/policy")["policy"])

    def recommended(self) -> dict[Name, Name]:
        """Return the arm that the learner, whatever it is, would recommend to each known user."""
        return {row["user"]: row["arm"] for row in self.get("/recommended")["recommended"]}

    def beliefs(self) -> dict[str, Any]:
        """Return what is believed, at a glance: it may be a minute old."""
        return self.get("/beliefs")

    def activity(self) -> dict[str, Any]:
        """Return decisions and rewards over time, and what was gained over the hold-back."""
        return self.get("/activity")

    def status(self) -> dict[str, Any]:
        """Return counts of what happened, and settings."""
        return self.get("/status")

    def health(self) -> dict[str, Any]:
        """Return what looks wrong, and what to do about it."""
        return self.get("/health")

    def wait_until_ready(self, seconds: float = 60.0) -> None:
        """Return when the service is ready; raise `Unreachable` if it is not by then."""
        end = time.monotonic() + seconds
        while True:
            try:
                if self._once("GET", "/ready", None)[0] == 200:
                    return
            except (OSError, http.client.HTTPException):
                self.close()
            if time.monotonic() > end:
                raise Unreachable(f"not ready within {seconds:g} seconds")
            self._sleep(FIRST_PAUSE)

    def get(self, path: str, user: Name | None = None) -> dict[str, Any]:
        """Ask an address, of a user if one is named."""
        if user is not None:
            user = _plain(user)
            if isinstance(user, bool) or not isinstance(user, str | int):
                raise ValueError(f"user: expected a string or an integer, got {user!r}")
            kind = "integer" if isinstance(user, int) else "string"
            path += "?" + urllib.parse.urlencode({"user": user, "type": kind})
        return self._call("GET", path, None)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send JSON to an address; it may be sent more than once."""
        return self._call("POST", path, json.dumps(body, allow_nan=False, default=_plain).encode())

    def _call(self, method: str, path: str, body: bytes | None) -> dict[str, Any]:
        pause, why = FIRST_PAUSE, ""
        for number in range(self._tries):
            if number:
                self._sleep(pause * (0.5 + random.random()))
                pause = min(2 * pause, LONGEST_PAUSE)
            try:
                status, headers, answer = self._once(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                why = repr(error)
                continue
            if status not in AGAIN:
                return _read_answer(status, answer)
            why = f"{status}: {answer[:200].decode(errors='replace')}"
            wait = headers.get("Retry-After") or ""
            pause = max(pause, min(float(wait), LONGEST_PAUSE)) if wait.isdecimal() else pause
        raise Unreachable(f"{method} {path.partition('?')[0]}: {self._tries} tries, last {why}")

    def _once(self, method: str, path: str, body: bytes | None) -> Answer:
        connection = self._connection()
        connection.request(method, self._root + path, body, self._headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read()

    def _connection(self) -> http.client.HTTPConnection:
        known: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if known is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            known = self._local.connection = kind(self._host, self._port, timeout=self._timeout)
        return known

    def close(self) -> None:
        """Close this thread's connection; the next call opens another one."""
        known = getattr(self._local, "connection", None)
        self._local.connection = None
        if known is not None:
            known.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def new_id() -> str:
    """Return an id that no other event has; later ones come after it, as databases like it."""
    return f"{time.time_ns() // 1000:014x}{secrets.token_hex(6)}"


def _id_or_new(event: str | None) -> str:
    """Return an event's id, a new one if there is none; an empty one is a slip, not none."""
    if event == "":
        raise ValueError("event: expected a string of 1 to 200 characters, got ''")
    return new_id() if event is None else event


def _plain(value: Any) -> Any:
    """Return a number or a string, also one of numpy, as JSON has it."""
    found = value.item() if hasattr(value, "item") and not getattr(value, "shape", ()) else value
    if found is not None and not isinstance(found, str | int | float):
        raise ValueError(f"expected strings and numbers, got {value!r}"[:200])
    return found


def _number(value: Any) -> Any:
    """Return a reward as JSON has it: True is 1, as where there is no server between."""
    return int(value) if isinstance(value := _plain(value), bool) else value


def _as_list(what: str, values: Any) -> Any:
    """Return a list, or None for None; a string is refused: it would be taken letter by letter."""
    if isinstance(values, str | bytes):
        raise ValueError(f"{what}: expected several, got one string, {values!r}"[:200])
    return None if values is None else list(values)


def _read_answer(status: int, answer: bytes) -> dict[str, Any]:
    try:
        said: Any = json.loads(answer) if answer else {}
    except ValueError:
        said = None
    if 200 <= status < 300 and isinstance(said, dict):
        return said
    fault = said.get("error") if isinstance(said, dict) else None
    if isinstance(fault, dict):
        raise Refused(status, *(str(fault.get(name, "")) for name in ("what", "expected", "got")))
    raise Refused(status, "answer", "JSON of a lumpable service", answer[:80].decode("latin-1"))
