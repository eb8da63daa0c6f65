"""What an event's decision and rewards come to: a function of the set of its entries.

In whatever order they arrive, and however often, the same entries make the same outcome.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from lumpable.service.settings import Settings
from lumpable.stores.log_entries import Entry

Standing = Literal[
    "waiting", "rewarded", "defaulted", "missed", "early", "orphan", "late", "predated"
]
"""Late or predated: it has rewards, and none within the window."""
Unusual = Literal["late", "predated", "repeated", "missed", "defaulted"]
"""Of a reward: after the window, as long before its decision, beside another. Of an event: without
a reward when the window closed."""


class Event(msgspec.Struct, gc=False):
    """All entries of one event; many are kept, so the collector of cycles leaves them out."""

    decision: Entry | None = None
    rewards: tuple[tuple[int, int, str], ...] = ()
    """Time, value and what tells several apart, sorted: the same one sent twice is one."""
    shown: bool = False
    expired: bool = False
    number: int = 0
    """Of the last entry."""

    def add(self, entry: Entry, number: int = 0) -> None:
        """Take notice of one more entry."""
        self.number = number
        if entry.kind == "decided":
            self.decision = entry
            self.shown = self.shown or bool(entry.active)
        elif entry.kind == "rewarded" and entry.value is not None:
            self.rewards = tuple(sorted({*self.rewards, (entry.at, entry.value, entry.detail)}))
        elif entry.kind == "activated":
            self.shown = True
        elif entry.kind == "expired":
            self.expired = True

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Event:
        """Put an event together."""
        event = cls()
        for entry in entries:
            event.add(entry)
        return event


def in_time(event: Event, rules: Settings) -> list[tuple[int, int]]:
    """Return the rewards that count and their times, the earliest first."""
    decision, window = event.decision, rules.window
    if decision is None or not event.rewards:
        return []
    return [
        (at, value)
        for at, value, _ in event.rewards
        if window is None or abs(at - decision.at) <= window
    ]


def outside(event: Event, rules: Settings) -> list[Literal["predated", "late"]]:
    """Say of each reward that does not count on which side of the window it is, by its time."""
    decision, window = event.decision, rules.window
    if decision is None or window is None:
        return []
    return [
        "late" if at > decision.at else "predated"
        for at, _, _ in event.rewards
        if abs(at - decision.at) > window
    ]


def outcome(event: Event, rules: Settings) -> int | None:
    """Return the reward that an event tells the learner; None: nothing, or nothing yet."""
    if event.rewards and (values := [value for _, value in in_time(event, rules)]):
        if rules.repeated == "sum":
            return sum(values)
        return values[0 if rules.repeated == "first" else -1]
    return rules.default if event.decision is not None and event.expired and event.shown else None


def is_closed(event: Event, rules: Settings, now: int) -> bool:
    """Whether it is too late for a reward."""
    if event.decision is None or rules.window is None:
        return False
    return now > event.decision.at + rules.window


def count_default(event: Event, rules: Settings, now: int) -> Event:
    """Count the default of an event whose window has closed, as who opens its log does."""
    if not event.expired and is_closed(event, rules, now) and outcome(event, rules) is None:
        event.expired = True
    return event


def standing(event: Event, rules: Settings, now: int) -> Standing:
    """Say in a word where an event stands."""
    if event.decision is None:
        first = event.rewards[0][0] if event.rewards else now
        parked = rules.window is None or now <= first + rules.window
        return "early" if parked else "orphan"
    if in_time(event, rules):
        return "rewarded"
    if event.rewards:
        return outside(event, rules)[-1]
    if not is_closed(event, rules, now):
        return "waiting"
    return "missed" if rules.default is None or not event.shown else "defaulted"


def unusual(event: Event, rules: Settings) -> list[Unusual]:
    """Name what is not as it should be with a decision and with each of its rewards."""
    good, found = len(in_time(event, rules)), list[Unusual](outside(event, rules))
    if good:
        return found + ["repeated"] * (good - 1)
    if event.expired:
        found.append("missed" if rules.default is None or not event.shown else "defaulted")
    return found
