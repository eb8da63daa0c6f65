"""How an experiment goes, by its history: by the minute, against the hold-back, what is unusual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lumpable.base.units import MICRO
from lumpable.base.words import counted, number
from lumpable.service import averages
from lumpable.service.averages import Average, Sums
from lumpable.service.deciding import HELD_BACK, LEARNER
from lumpable.service.history import MINUTE, History, Minute, Version
from lumpable.service.lately import ArmShown, Lately, arms_by_decisions, lately
from lumpable.service.settings import SECOND, Settings

BINS, COMPARED = 60, 12
"""Lengths of time that are told apart, at most: what is held back is seldom, ..."""
WIDTHS = (1, 2, 5, 10, 15, 30, 60, 120, 240, 720, 1_440)
"""... each of so many minutes."""


@dataclass(frozen=True, slots=True)
class Span:
    """Some minutes, and what happened in them."""

    at: float
    """When they begin, in seconds since 1970."""
    decisions: int
    rewards: int


@dataclass(frozen=True, slots=True)
class Compared:
    """A longer time, and what its decisions came to: the learner's, and those held back."""

    at: float
    learner: Average
    held_back: Average


@dataclass(frozen=True, slots=True)
class Worth:
    """What the learner's decisions brought more than those held back, of all that have outcomes."""

    learner: Average
    held_back: Average
    words: str
    difference: float | None
    """With the ends of an interval; None: there is not enough yet."""
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class VersionThen:
    """A fit that was adopted: when, and the users and best arm of each group."""

    version: int
    at: float
    sizes: list[int]
    best_arms: list[Any]


@dataclass(frozen=True, slots=True)
class Shadow:
    """How often the learner would have shown what everybody was shown in shadow mode."""

    decisions: int
    """In which it was asked, ..."""
    agreed: int
    """... and those in which it wanted the control arm, too."""


@dataclass(frozen=True, slots=True)
class Activity:
    """What is going on, in numbers."""

    now: float
    """Seconds since 1970."""
    span_minutes: int
    """How long a span is."""
    spans: list[Span]
    compared: list[Compared]
    worth: Worth
    unusual: dict[str, int]
    """Rewards that are late, predated or repeated, or of no decision so far: early, or orphans as
    the window is over (by the minute). Decisions whose window closed without a reward: missed, or
    defaulted. And rewards that were sent again since the start, which change nothing."""
    versions: list[VersionThen]
    shadow: Shadow
    lately: Lately
    arms: list[ArmShown]
    """The most frequent first."""


def activity(history: History, settings: Settings, now: int, sent_again: int) -> Activity:
    """Return how an experiment goes."""
    width, shadow = range_of(settings), Shadow(history.shadow, history.agreed)
    size, parts = parts_of(history.minutes, now // MINUTE, BINS)
    spans = [
        Span(at, sum(m.decisions for m in part), sum(m.rewards for m in part)) for at, part in parts
    ]
    longer = parts_of(history.minutes, now // MINUTE, COMPARED)[1]
    early, orphan = history.count_undecided(settings.window, now)
    unusual = {"early": early, "orphan": orphan} | {
        name: history.unusual[name]
        for name in ("late", "predated", "repeated", "missed", "defaulted")
    }
    return Activity(
        now / SECOND, size, spans, [_compare(*part, width) for part in longer],
        worth(history.outcomes, settings, width, shadow),
        unusual | {"sent_again": sent_again}, [_then(version) for version in history.versions],
        shadow, lately(history), arms_by_decisions(history),
    )  # fmt: skip


def range_of(settings: Settings) -> float | None:
    """Return how far two rewards may lie apart; None: no matter how far."""
    if settings.repeated == "sum" or settings.rewards == "any":
        return None
    if isinstance(settings.rewards, tuple):
        return settings.rewards[1] - settings.rewards[0]
    return 1.0


def parts_of(
    minutes: Mapping[int, Minute], now: int, most: int
) -> tuple[int, list[tuple[float, list[Minute]]]]:
    """Return a number of minutes, and parts of so many with their times, the last till now."""
    if not minutes:
        return WIDTHS[0], []
    last = max(now, *minutes)
    long = last - min(minutes) + 1
    size = next((size for size in WIDTHS if size * (most - 1) >= long), WIDTHS[-1])
    first = max(min(minutes) // size, last // size - most + 1)
    parts: dict[int, list[Minute]] = {k: [] for k in range(first, last // size + 1)}
    for when, minute in minutes.items():
        if when // size in parts:
            parts[when // size].append(minute)
    return size, [(k * size * MINUTE / SECOND, part) for k, part in parts.items()]


def _compare(at: float, part: list[Minute], width: float | None) -> Compared:
    own, held = (
        averages.average(sum(sums, start=Sums()), MICRO, width)
        for sums in ([m.own for m in part], [m.held for m in part])
    )
    return Compared(at, own, held)


def worth(
    sums: Mapping[str, Sums], settings: Settings, width: float | None,
    shadow: Shadow,
) -> Worth:  # fmt: skip
    """Compare what the learner's decisions came to with what those held back did."""
    own, held = sums.get(LEARNER, Sums()), sums.get(HELD_BACK, Sums())
    sides = averages.average(own, MICRO, width), averages.average(held, MICRO, width)
    found = averages.difference(own, held, MICRO, width)
    if found is None:
        return Worth(*sides, _not_yet(own, held, settings, shadow), None, None, None)
    more = "more" if found.difference >= 0 else "less"
    sure = "" if found.low > 0 or found.high < 0 else " That may be chance: the interval holds 0."
    words = (
        f"A decision of the learner brings {number(abs(found.difference))} {more} than one held "
        f"back ({number(found.low)} to {number(found.high)}).{sure}"
    ).replace("-", "−")
    return Worth(*sides, words, *found)


def _not_yet(own: Sums, held: Sums, settings: Settings, shadow: Shadow) -> str:
    if settings.mode == "observe":
        return "Others decide; nothing is held back."
    if settings.mode == "shadow":
        shown = "Everybody is shown the control arm; nothing is held back."
        share = f"{shadow.agreed:,} of {counted(shadow.decisions, 'decision')}"
        agree = f" The learner would have shown it, too, in {share}." if shadow.decisions else ""
        return shown + agree
    if settings.hold_back == 0.0 and held.number == 0:
        return "Nothing is held back, so nobody can see what the learner is worth (--hold-back)."
    known = f"{counted(own.number, 'outcome')} of the learner's decisions"
    return f"Not enough yet to tell: {known}, {held.number:,} of those held back."


def _then(version: Version) -> VersionThen:
    return VersionThen(
        version.version, version.at / SECOND, [group.size for group in version.groups],
        [group.best_arm for group in version.groups],
    )  # fmt: skip
