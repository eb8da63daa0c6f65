"""What happened, in numbers: by minute, by who decided, by version. A function of the log, bounded.

Names are in it only of the last decisions, and go when their user is forgotten. Sums stay: they say
nothing of anybody.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from lumpable.base.units import Name
from lumpable.service.averages import Sums
from lumpable.service.deciding import (
    HELD_BACK,
    LEARNER,
    OBSERVED,
    SHADOW,
    decided_by,
    learner_choice,
)
from lumpable.service.joining import Unusual
from lumpable.stores.log_entries import Entry

MINUTE = 60_000_000
"""Microseconds, ..."""
DAY = 1_440 * MINUTE
MINUTES = 1_440
"""... and how many minutes are kept of those in which something happened."""
LATELY = 2_000
"""Decisions that are looked back at, ..."""
TOLD = 1_000
"""... rewards, ..."""
SPELLS = 500
"""... and spells: decisions between one reward and the next."""
FADES = 0.9999
"""How much of the longest spell is left after another one: an old one matters no more."""
FINE, LATE, UNDECIDED, PREDATED = 0, 1, 2, 3
"""What a reward was when it came: it counts, or is of after the window, of no decision, or of as
long before its decision."""
VERSIONS = 200

Large = Annotated[str, msgspec.Meta(pattern=r"^-?[0-9]{1,80}$")]
"""A whole number that may have more than 64 bits."""
KeptSums = tuple[int, Large, Large]
KeptMinute = tuple[int, int, int, KeptSums, KeptSums]


class GroupThen(msgspec.Struct, frozen=True):
    """A group of a version: its users, and the arm that was believed best for it."""

    size: int
    best_arm: Name | None


class Version(msgspec.Struct, frozen=True):
    """A fit that was adopted, when, and the groups it found."""

    version: int
    at: int
    groups: list[GroupThen]


class KeptHistory(msgspec.Struct, forbid_unknown_fields=True):
    """A history, as a file holds it."""

    now: int
    minutes: list[KeptMinute]
    outcomes: dict[str, KeptSums]
    unusual: dict[str, int]
    lately: list[tuple[Name, Name]]
    versions: list[Version]
    shadow: tuple[int, int] | None = None
    """None: an earlier version wrote it, which counted neither this, ..."""
    parked: tuple[int, list[tuple[int, int]]] = (0, [])
    """... nor this, ..."""
    arms: list[tuple[Name, int]] = []
    told: list[int] = []
    silence: tuple[int, int, float, list[int]] | None = None
    """... nor these, ..."""
    sides: bool = False
    """... nor told rewards that are predated from late ones.

    False: an earlier version wrote it, or there are none.
    """

    def tells_less(self) -> bool:
        """Whether an earlier version wrote it, and left out what cannot be made up for."""
        return self.shadow is None or (not self.sides and self.unusual.get("late", 0) != 0)


@dataclass(slots=True)
class Minute:
    """What was decided and rewarded in a minute, and what its decisions came to."""

    decisions: int = 0
    rewards: int = 0
    own: Sums = field(default_factory=Sums)
    """Outcomes of decisions of the learner, ..."""
    held: Sums = field(default_factory=Sums)
    """... and of those held back."""


@dataclass(slots=True)
class Silence:
    """Decisions since the last reward came, and how it was before: in the order of the log."""

    since: int = 0
    """When the last one came or, before there was one, the first decision; by our own clock."""
    decisions: int = 0
    longest: float = 0.0
    """The longest spell so far; it fades."""
    spells: deque[int] = field(default_factory=lambda: deque(maxlen=SPELLS))
    """Decisions between one reward and the next, where there were any."""

    def on_decision(self, now: int) -> None:
        """Take notice of a decision."""
        if not self.since or not (self.decisions or self.spells):
            self.since = now
        self.decisions += 1

    def on_reward(self, now: int) -> None:
        """Take notice of a reward."""
        self.since = now
        if self.decisions:
            self.spells.append(self.decisions)
            self.longest = max(float(self.decisions), FADES * self.longest)
            self.decisions = 0


class History:
    """Counts what happens, entry by entry."""

    def __init__(self) -> None:
        self.now = 0
        """The latest time by the service's own clock, in microseconds."""
        self.minutes: dict[int, Minute] = {}
        """By minutes since 1970, ..."""
        self._first = 0
        """... and the first of them."""
        self.outcomes: dict[str, Sums] = {}
        """All that count, by who decided."""
        self.unusual: Counter[str] = Counter()
        self.lately: deque[tuple[Name, Name]] = deque(maxlen=LATELY)
        """Users and arms of the last decisions."""
        self.versions: deque[Version] = deque(maxlen=VERSIONS)
        self.parked: dict[int, int] = {}
        """Rewards of no decision so far, by the minute of the first of their event, ..."""
        self._first_parked = 0
        """... and the minute that all before it are counted in."""
        self.arms: Counter[Name] = Counter()
        """Decisions by arm."""
        self.told: deque[int] = deque(maxlen=TOLD)
        """What the last rewards were when they came."""
        self.silence = Silence()
        self._parks = 0
        self._before = (0, 0, 0)
        """Rewards that were late, predated or of no decision, before the one that is entered."""
        self.shadow = self.agreed = 0
        """Decisions in the shadow that say what the learner wanted, and how often it was shown."""

    # --- What happens ---------------------------------------------------------------------------

    def on_entry(self, entry: Entry) -> None:
        """Take notice of the time of an entry, if it is our own: callers may name others."""
        if entry.kind != "rewarded" and entry.detail != OBSERVED and entry.at > self.now:
            self.now = entry.at
        if entry.kind == "rewarded":
            self._before = self._amiss()

    def on_decision(self, decision: Entry, user: Name, arm: Name) -> None:
        """Take notice of a decision."""
        self.lately.append((user, arm))
        self.arms[arm] += 1
        self.silence.on_decision(self.now)
        own = learner_choice(decision.detail)
        if own is not None and decided_by(decision.detail) == SHADOW:
            self.shadow += 1
            self.agreed += own == arm
        minute = self._minute(decision.at, own=decision.detail != OBSERVED)
        if minute is not None:
            minute.decisions += 1

    def on_reward(self, reward: Entry) -> None:
        """Take notice of a reward, and of what it turned out to be since `on_entry`."""
        more = [now > then for now, then in zip(self._amiss(), self._before, strict=True)]
        kinds = zip((LATE, PREDATED, UNDECIDED), more, strict=True)
        self.told.append(next((kind for kind, is_one in kinds if is_one), FINE))
        self.silence.on_reward(self.now)
        minute = self._minute(reward.at, own=False)
        if minute is not None:
            minute.rewards += 1

    def _amiss(self) -> tuple[int, int, int]:
        return self.unusual["late"], self.unusual["predated"], self._parks

    def _minute(self, at: int, *, own: bool) -> Minute | None:
        """Return the minute of a time, or of now if somebody else says a strange one."""
        number = (at if own or abs(at - self.now) < DAY else self.now) // MINUTE
        found = self.minutes.get(number)
        if found is None and (len(self.minutes) < MINUTES or number > self._first):
            self._first = min(self._first, number) if self.minutes else number
            found = self.minutes[number] = Minute()
            if len(self.minutes) > MINUTES:
                del self.minutes[self._first]
                self._first = min(self.minutes)
        return found

    def on_outcome(self, decision: Entry, before: int | None, after: int | None) -> None:
        """Take notice that a decision comes to something else."""
        by, minute = decided_by(decision.detail), self.minutes.get(decision.at // MINUTE)
        if by not in self.outcomes:
            self.outcomes[by] = Sums()
        sums = [self.outcomes[by]]
        if minute is not None and by in (LEARNER, HELD_BACK):
            sums.append(minute.own if by == LEARNER else minute.held)
        for each in sums:
            if before is not None:
                each.add(before, -1)
            if after is not None:
                each.add(after)

    def on_unusual(self, what: Iterable[Unusual], number: int = 1) -> None:
        """Take notice of events or rewards that stand in an unusual way; -1: no more."""
        for each in what:
            self.unusual[each] += number

    def park(self, first: int, number: int) -> None:
        """Take notice that so many rewards of an event have no decision, or have one now (-)."""
        self._parks += number
        minute = max(first // MINUTE, self._first_parked)
        self.parked[minute] = self.parked.get(minute, 0) + number
        if self.parked[minute] == 0:
            del self.parked[minute]
        if len(self.parked) > MINUTES:
            oldest = self.parked.pop(min(self.parked))
            self._first_parked = min(self.parked)
            self.parked[self._first_parked] += oldest

    def count_undecided(self, window: int | None, now: int) -> tuple[int, int]:
        """Return how many rewards wait for their decision, and how many waited for too long."""
        rewards = sum(self.parked.values())
        if window is None:
            return rewards, 0
        late = sum(n for minute, n in self.parked.items() if (minute + 1) * MINUTE + window <= now)
        return rewards - late, late

    def on_version(self, entry: Entry, groups: Iterable[tuple[int, Name | None]]) -> None:
        """Take notice of a version."""
        then = [GroupThen(size, arm) for size, arm in groups]
        self.versions.append(Version(entry.version or 0, entry.at, then))

    def drop_versions(self) -> None:
        """Drop the versions that somebody who is forgotten had a part in."""
        self.versions.clear()

    def forget(self, user: Name) -> None:
        """Drop a user's decisions."""
        self.lately = deque((row for row in self.lately if row[0] != user), maxlen=LATELY)

    # --- Files ----------------------------------------------------------------------------------

    def to_keep(self) -> KeptHistory:
        """Return all of it for a file."""
        minutes = [
            (number, m.decisions, m.rewards, _to_kept(m.own), _to_kept(m.held))
            for number, m in self.minutes.items()
        ]
        outcomes = {by: _to_kept(sums) for by, sums in self.outcomes.items()}
        quiet = self.silence
        return KeptHistory(
            self.now, minutes, outcomes, dict(self.unusual), list(self.lately), list(self.versions),
            (self.shadow, self.agreed), (self._first_parked, list(self.parked.items())),
            list(self.arms.items()), list(self.told),
            (quiet.since, quiet.decisions, quiet.longest, list(quiet.spells)), sides=True,
        )  # fmt: skip

    @classmethod
    def of(cls, kept: KeptHistory) -> History:
        """Return the history of a file."""
        made = cls()
        made.now = kept.now
        made.minutes = {
            number: Minute(decisions, rewards, _from_kept(own), _from_kept(held))
            for number, decisions, rewards, own, held in kept.minutes
        }
        made._first = min(made.minutes, default=0)
        made.outcomes = {by: _from_kept(sums) for by, sums in kept.outcomes.items()}
        made.unusual.update(kept.unusual)
        made.lately.extend(kept.lately)
        made.versions.extend(kept.versions)
        made.shadow, made.agreed = kept.shadow or (0, 0)
        made._first_parked, made.parked = kept.parked[0], dict(kept.parked[1])
        made.arms.update(dict(kept.arms))
        made.told.extend(kept.told)
        since, decisions, longest, spells = kept.silence or (kept.now, 0, 0.0, [])
        made.silence = Silence(since, decisions, longest, deque(spells, maxlen=SPELLS))
        return made


def _to_kept(sums: Sums) -> KeptSums:
    return sums.number, str(sums.total), str(sums.squares)


def _from_kept(kept: KeptSums) -> Sums:
    return Sums(kept[0], int(kept[1]), int(kept[2]))
