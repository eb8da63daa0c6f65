"""From rows of decisions, observations and rewards, checked before, to entries of the log.

Each of these calls makes one change, however many rows there are: all are entered, or none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.service import deciding
from lumpable.service.changing import Changing
from lumpable.service.joining import Event, Standing, in_time, standing
from lumpable.stores.log_entries import Entry

KNOWN_ARMS = "known arms (see add_arm and new_arms)"


@dataclass(frozen=True, slots=True)
class Decided:
    """An arm that was chosen for a user, how likely that was, and by which version."""

    event: str
    user: Name
    arm: Name
    propensity: float | None
    """None: somebody else decided, and did not say."""
    version: int


class Asked(NamedTuple):
    """A decision that somebody wants."""

    event: str
    user: Name
    allowed: Sequence[Name] | None


class Told(NamedTuple):
    """A reward that somebody reports; times in microseconds, rewards in millionths."""

    event: str
    value: int
    at: int | None
    key: str


class Seen(NamedTuple):
    """A decision that somebody else made, and its reward, if that came with it."""

    event: str
    user: Name
    arm: Name
    propensity: float | None
    at: int | None
    value: int | None = None


Row = TypeVar("Row", Asked, Seen)


class Entering(Changing):
    """Enters rows."""

    # --- Decisions --------------------------------------------------------------------------------

    def _choose(self, rows: Sequence[Asked], activate: bool) -> list[Decided]:
        """Decide, row by row: each decision counts for those after it."""
        with self._changing() as entries:
            new = self._new(rows)
            for arms in {id(row.allowed): row.allowed for row in new}.values():  # often one list
                if arms:
                    self._open(arms, entries)
            self._check(new)
            if len(new) == len(rows):  # none was decided, and each comes once
                return [self._decide(entries, row, activate) for row in rows]
            return [
                self._decision_of(row.event, row.user) or self._decide(entries, row, activate)
                for row in rows
            ]

    def _check(self, rows: Sequence[Asked]) -> None:
        """Refuse, before anything changes, what could not be decided."""
        ledger = self._ledger
        ledger.learner.check_users({row.user: row for row in rows})
        limited = self.settings.at_most is not None  # else the arms are the same for all users
        cases = {(row.user if limited else None, id(row.allowed)): row for row in rows}
        found = dict[tuple[Name | None, int], Sequence[Name]]()
        for case, row in cases.items():
            found[case] = choices = ledger.choices(row.user, row.allowed)
            deciding.check_choices(self.settings, choices)
            if choices is not ledger.open and self.settings.mode == "serve":
                ledger.learner.check_choices(choices)
        if limited and len({row.user for row in rows}) < len(rows):
            self._check_in_turn((row.user, found[row.user, id(row.allowed)]) for row in rows)

    def _check_in_turn(self, rows: Iterable[tuple[Name, Sequence[Name]]]) -> None:
        """Refuse a row if those before it may show each of its arms as often as is allowed."""
        times = dict[Name, Counter[Name]]()
        """By user: how many rows so far may show each arm, ..."""
        before = dict[Name, Counter[frozenset[Name]]]()
        """... and how many may show just these."""
        for user, arms in rows:
            if self.settings.mode == "shadow":
                arms = [arm for arm in arms if arm == self.settings.control]
            may, others = times.setdefault(user, Counter()), before.setdefault(user, Counter())
            own, left = frozenset(arms), self._ledger.left(user, arms)
            used = sum(min(most, may[arm]) for arm, most in zip(arms, left, strict=True))
            sharing = sum(n for theirs, n in others.items() if not own.isdisjoint(theirs))
            if min(sharing, used) >= sum(left):
                self._ledger.refuse_more(user)
            may.update(own)
            others[own] += 1

    def _new(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows whose events are new, each event once; one has one user."""
        asked = dict[str, Row]()
        for row in rows:
            other = asked.setdefault(row.event, row).user
            if other != row.user:
                got = f"{row.event!r} for {other!r} and {row.user!r}"
                raise BadArgument("event", "one user for each event", got)
        return [row for row in asked.values() if self._decision_of(row.event, row.user) is None]

    def _decision_of(self, event: str, user: Name) -> Decided | None:
        """Return the decision that an event has; one for another user is refused."""
        decision = self._ledger.event(event).decision
        if decision is None:
            return None
        if decision.user != user:
            expected = f"a new event, or one that was decided for {user!r}"
            raise BadArgument("event", expected, f"{event!r}, decided for another user")
        return as_decided(decision)

    def _open(self, arms: Iterable[Name], entries: list[Entry]) -> None:
        """Add arms that come with a request, where new ones may come."""
        for arm in self._unknown(arms):
            self._arm(entries, arm, "added")

    def _unknown(self, arms: Iterable[Name], argument: str = "allowed") -> list[Name]:
        """Return the arms that are new; where none may come, refuse them."""
        known = {*self._ledger.learner.arms, *self._ledger.learner.retired}
        new = [arm for arm in dict.fromkeys(arms) if arm not in known]
        if new and not self.settings.new_arms:
            words = ", ".join(map(repr, new))
            raise BadArgument(argument, KNOWN_ARMS, words)
        return new

    def _decide(self, entries: list[Entry], row: Asked, activate: bool) -> Decided:
        ledger = self._ledger
        choices = ledger.choices(row.user, row.allowed)
        ask = partial(ledger.learner.ask, row.user, None if choices is ledger.open else choices)
        arm, propensity, by = deciding.choose(self.settings, row.event, choices, ask)
        entry = Entry(
            kind="decided", at=self._clock(), event=row.event, user=row.user, arm=arm,
            active=activate, propensity=propensity, version=ledger.version, detail=by,
        )  # fmt: skip
        self._enter(entries, entry)
        return as_decided(entry)

    def _arm(self, entries: list[Entry], arm: Name, what: str) -> None:
        open = arm in self._ledger.learner.arms
        if open != (what in ("added", "resumed")) or (arm in self._ledger.paused) != (
            what == "paused"
        ):
            self._ledger.learner.check_arm(arm)
            self._enter(entries, Entry(kind="arm", at=self._clock(), arm=arm, detail=what))

    # --- What others decided ----------------------------------------------------------------------

    def _take_in(self, rows: Sequence[Seen]) -> list[Decided]:
        """Enter decisions of others; a reward that came with one is as old as the decision."""
        with self._changing() as entries:
            self._open(self._check_seen(rows), entries)
            return [self._enter_seen(entries, row) for row in rows]

    def _check_seen(self, rows: Sequence[Seen]) -> list[Name]:
        """Refuse, under the lock, what cannot be entered; return arms that are new."""
        new = self._new(rows)
        self._ledger.learner.check_users(row.user for row in new)
        return self._unknown((row.arm for row in new), "arm")

    def _enter_seen(self, entries: list[Entry], row: Seen) -> Decided:
        if (known := self._decision_of(row.event, row.user)) is None:
            entry = Entry(
                kind="decided", at=self._clock() if row.at is None else row.at, event=row.event,
                user=row.user, arm=row.arm, propensity=row.propensity,
                version=self._ledger.version, active=True, detail=deciding.OBSERVED,
            )  # fmt: skip
            self._enter(entries, entry)
            known = as_decided(entry)
        decision = self._ledger.event(row.event).decision
        if row.value is not None and decision is not None:
            self._enter_reward(entries, Told(row.event, row.value, decision.at, ""))
        return known

    # --- Rewards ----------------------------------------------------------------------------------

    def _take_rewards(self, rows: Sequence[Told]) -> list[Standing]:
        with self._changing() as entries:
            now = self._clock()
            for row in rows:
                self._enter_reward(entries, row, now)
            return self._standings(row.event for row in rows)

    def _standings(self, events: Iterable[str]) -> list[Standing]:
        now = self._clock()
        return [standing(self._ledger.event(event), self.settings, now) for event in events]

    def _enter_reward(self, entries: list[Entry], row: Told, now: int = 0) -> None:
        found, time = self._ledger.event(row.event), now if row.at is None else row.at
        if (time, row.value, row.key) in found.rewards or self._beside_first(found, row.at, time):
            self._sent_again += 1
            return
        user = None if found.decision is None else found.decision.user
        entry = Entry(
            kind="rewarded", at=time, event=row.event, user=user, value=row.value, detail=row.key
        )
        self._enter(entries, entry)

    def _beside_first(self, event: Event, when: int | None, time: int) -> bool:
        """Whether a reward of now can change nothing, as an earlier one counts and is there."""
        if when is not None or self.settings.repeated != "first":
            return False
        if self.settings.window is not None and event.decision is None:
            return False  # the earlier one may turn out to be too early
        return any(at <= time for at, _ in in_time(event, self.settings))


def as_decided(entry: Entry) -> Decided:
    """Return the decision of an entry."""
    assert entry.user is not None
    assert entry.arm is not None
    return Decided(entry.event, entry.user, entry.arm, entry.propensity, entry.version or 0)
