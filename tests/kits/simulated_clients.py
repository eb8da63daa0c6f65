"""What clients ask of a simulated service, and what must come out: the promises, said literally."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from lumpable.base.units import Name
from lumpable.service.settings import Settings
from lumpable.stores.log_entries import Entry

ARMS, USERS = ("red", "green", "blue", "grey"), tuple(f"user-{k}-zanzibar" for k in range(5))
SECOND = 1_000_000


def literal(entries: list[Entry], rules: Settings, now: int) -> list[tuple[Any, ...]]:
    """Return the evidence of a set of entries at a time, as the promises say it."""
    events: dict[str, list[Entry]] = {}
    for entry in entries:
        events.setdefault(entry.event, []).append(entry)
    table: Counter[tuple[Any, ...]] = Counter()
    for own in events.values():
        for d in (entry for entry in own if entry.kind == "decided"):
            end = float("inf") if rules.window is None else rules.window
            sent = {(e.at, e.value, e.detail) for e in own if e.kind == "rewarded"}
            values = [value for at, value, _ in sorted(sent) if abs(at - d.at) <= end]
            shown = d.active or any(e.kind == "activated" for e in own)
            if not values and rules.default is not None and shown and now > d.at + end:
                values = [rules.default]
            if values:
                which = {"first": values[0], "last": values[-1], "sum": sum(values)}  # type: ignore[arg-type]
                table[d.user, d.arm, which[rules.repeated]] += 1
    return sorted((*cell, times) for cell, times in table.items())


def held(log: Any) -> set[tuple[Any, ...]]:
    """Return what the entries of a log acknowledge."""
    return {
        ("decided", e.event, e.user, e.arm, e.version)
        if e.kind == "decided"
        else (e.kind, e.event, e.at, e.value, e.detail)
        for _, e in log
    }


def wrong_in(log: list[tuple[int, Entry]]) -> str:
    """Say what no log may hold: something twice, or versions that go back."""
    once = Counter(
        (e.kind, e.event, e.at * (e.kind == "rewarded"), e.value, e.detail)
        for _, e in log
        if e.event
    )
    if twice := [key for key, times in once.items() if times > 1]:
        return f"written twice: {twice}"
    versions = [e.version or 0 for _, e in log if e.kind in ("decided", "adopted", "forgot")]
    return "" if versions == sorted(versions) else f"versions {versions}"


@dataclass
class Request:
    """What a client wants: the same one is sent again until it is answered."""

    verb: str
    about: tuple[Any, ...]
    more: dict[str, Any] = field(default_factory=dict)
    sent: int = 0
    answered: bool = False

    def __str__(self) -> str:
        return f"{self.verb} {self.about} {self.more or ''}".rstrip()

    @property
    def event(self) -> Any:
        return self.more.get("event", self.about[0])


class Clients:
    """Whoever calls, and the network between: messages are lost, repeated, and overtake others."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.network = rng, list[Request]()
        self.rewards = rng.choice([(0.0, 1.0), (0.0, 1.0, 0.3)])
        self.users: dict[str, Name] = {}
        """Whose event it is."""

    def ask(self, now: float) -> None:
        """Send something new."""
        rng, known, what = self.rng, list(self.users), self.rng.random()
        if what < 0.42 or not known:
            request = self.decision(now)
        elif what < 0.84:
            when = now + rng.choice([-8, -1, 0, 0, 0, 3])
            request = self.reward(rng.choice(known[-12:]), when, rng.choice(["", "", "x"]))
            if rng.random() < 0.15:
                request.more = {}
        elif what < 0.88:
            request = Request("activate", (rng.choice(known[-12:]),))
        elif what < 0.94:
            verb = rng.choice(["add_arm", "remove_arm", "pause_arm", "resume_arm"])
            request = Request(verb, (rng.choice(ARMS[1:]),))
        else:
            request = Request("forget", (rng.choice(USERS),))
        self.network.append(request)

    def decision(self, now: float) -> Request:
        event, user = f"e{len(self.users)}", self.rng.choice(USERS)
        self.users[event] = user
        if self.rng.random() < 0.15:
            about = user, self.rng.choice(ARMS[:2])
            at = now - self.rng.choice([0, 2, 9])
            return Request("observe", about, {"event": event, "at": at})
        return Request("decide", (user,), {"event": event, "activate": self.rng.random() < 0.8})

    def reward(self, event: str, at: float, key: str = "") -> Request:
        about = (event, self.rng.choice(self.rewards))
        return Request("reward", about, {"at": at, "key": key})

    def next(self) -> tuple[Request, bool] | None:
        """Return a message and whether it arrives; either way it may be sent once more."""
        if not self.network:
            return None
        request = self.network.pop(self.rng.randrange(min(4, len(self.network))))
        fate = self.rng.random()
        if request.sent < 4 and (fate < 0.35 or not request.answered):
            self.network.append(request)
        request.sent += 1
        return request, fate >= 0.1
