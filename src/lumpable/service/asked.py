"""What callers say of events, checked: ids, keys and times."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping

import numpy as np

from lumpable.base.errors import BadArgument
from lumpable.service.settings import SECOND

LONGEST_ID = 200
"""Characters of an event's id."""


def new_id() -> str:
    """Return an id that no other event has, after all earlier ones.

    A database keeps ids in order. One that goes to the end touches a page that is at hand; one at
    random would touch a page of its own, which then has to be written.
    """
    return f"{time.time_ns() // 1000:014x}{secrets.token_hex(6)}"


def event_id(event: object, name: str = "event") -> str:
    """Return an id that can be written."""
    if not isinstance(event, str) or not 0 < len(event) <= LONGEST_ID or "\0" in event:
        raise BadArgument(name, f"a string of 1 to {LONGEST_ID} characters", repr(event)[:80])
    try:
        event.encode()
    except UnicodeEncodeError:
        raise BadArgument(name, "a string that can be written as UTF-8", repr(event)[:80]) from None
    return str(event)


def event_ids(events: object) -> list[str]:
    """Return several ids; one text is refused: it would be taken letter by letter."""
    if isinstance(events, str | bytes | Mapping) or not isinstance(events, Iterable):
        raise BadArgument("events", "several ids", f"{events!r:.60}")
    return [event_id(event) for event in events]


def key_of(key: object) -> str:
    """Return what tells equal rewards apart; it may be empty."""
    return event_id(key, "key") if key != "" else ""


def pairs_of(rewards: object) -> list[tuple[object, object]]:
    """Return pairs of an event and a value; anything else is an error that names its row."""
    expected = "pairs of an event and a value"
    if isinstance(rewards, str | bytes | Mapping) or not isinstance(rewards, Iterable):
        raise BadArgument("rewards", expected, f"{rewards!r:.60}")
    pairs = list(rewards)
    for row, pair in enumerate(pairs):
        if not (isinstance(pair, tuple | list | np.ndarray) and len(pair) == 2):
            raise BadArgument("rewards", expected, f"{pair!r:.60} in row {row}")
    return pairs


def time_of(at: object) -> int | None:
    """Return seconds since 1970 in microseconds; None: now."""
    if at is None:
        return None
    number = isinstance(at, int | float | np.integer | np.floating) and not isinstance(at, bool)
    if not number or not 0 <= at < 2**62 / SECOND:  # type: ignore[operator]
        raise BadArgument("at", "seconds since 1970", repr(at))
    return round((int(at) if isinstance(at, int | np.integer) else float(at)) * SECOND)  # type: ignore[arg-type]
