"""What is in memory: a learner, open events and counts; a function of the log, entry by entry.

Whoever applies the same entries has the same ledger, bit for bit, learner and all: live, after a
restart, or years later in an audit.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NoReturn

import msgspec

from lumpable.base.errors import BadArgument
from lumpable.base.units import Name, from_micro
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.use.believer import Believer, FitInput
from lumpable.lumps.use.limits import no_arm
from lumpable.service.history import History, KeptHistory
from lumpable.service.joining import Event, outcome, unusual
from lumpable.service.minds import Mind, mind_of
from lumpable.service.settings import Settings
from lumpable.stores.law import Store, StoreError
from lumpable.stores.log_entries import Entry

MOST_EVENTS = 200_000
"""Events that are kept in memory, about; older ones are looked up in the log."""
AT_A_TIME = 1_000
"""So many of them go at a time, while a caller waits."""
MOST_UNDER_WAY = 100_000
"""Decisions that the learner counts as under way; the oldest are given up."""

Lookup = Callable[[str], list[tuple[int, Entry]]]
"""From the id of an event to its entries in the log."""
FindFit = Callable[[Entry], Fit | None]
"""From the entry that adopted a fit to this fit, if it was kept."""


class Kept(msgspec.Struct, forbid_unknown_fields=True):
    """A ledger without its learner, as a file holds it."""

    number: int
    version: int
    paused: list[Name]
    shown: list[tuple[Name, list[tuple[Name, int]]]]
    tally: dict[str, int]
    closing: list[tuple[int, str, Name]]
    under_way: list[tuple[str, int]]
    history: KeptHistory


class Ledger:
    """Everything that follows from a log."""

    def __init__(
        self, settings: Settings, lookup: Lookup, find_fit: FindFit = lambda entry: None
    ) -> None:
        self.settings, self._lookup, self._find_fit = settings, lookup, find_fit
        self.learner: Mind = mind_of(settings)
        self.number = 0
        """Of the last entry that was applied."""
        self.version = 0
        """Fits that were adopted."""
        self.taken: FitInput | None = None
        """What was handed to a fit that is not adopted yet."""
        self.events: dict[str, Event] = {}
        self.paused: set[Name] = set()
        self._open: tuple[Name, ...] | None = None
        self.shown: dict[Name, Counter[Name]] = {}
        """How often each user was shown each arm, where that is limited."""
        self.tally: Counter[str] = Counter()
        """Entries by kind."""
        self.history = History()
        self._let_go = False
        """Whether there may be events that are not in memory."""
        self._closing: list[tuple[int, str, Name]] = []
        """When the windows of decisions close, the next one first, and whose they are."""
        self._under_way: OrderedDict[str, int] = OrderedDict()
        """Events whose rewards are to come, the oldest first, and the learner's numbers of them.
        (Of a plain dict that lost many, the first one takes long to find.)"""

    # --- From a log, and from a snapshot ----------------------------------------------------------

    @classmethod
    def replay(
        cls, settings: Settings, store: Store, start: Ledger | None = None,
        find_fit: FindFit = lambda entry: None,
    ) -> Ledger:  # fmt: skip
        """Make the ledger of all that a store holds, or go on from the one of its first entries.

        Fits before somebody was forgotten were made with them, and do not matter any more.
        """
        ledger = start or cls(settings, store.about)
        ledger._find_fit, after = find_fit, ledger.number
        forgot = max((n for n, entry in store.entries(after) if entry.kind == "forgot"), default=0)
        fits = ("taken", "adopted", "forgot")
        for number, entry in store.entries(after):
            if number >= forgot or entry.kind not in fits:
                try:
                    ledger.apply(entry, number)
                except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                    why = f"entry {number} cannot be: {error} (see verify)"
                    raise StoreError(why, "damaged") from error
        return ledger

    def to_keep(self) -> Kept:
        """Return all but the learner; no fit may be under way."""
        return Kept(
            self.number, self.version, list(self.paused),
            [(user, list(seen.items())) for user, seen in self.shown.items()], dict(self.tally),
            list(self._closing), list(self._under_way.items()), self.history.to_keep(),
        )  # fmt: skip

    @classmethod
    def of(cls, settings: Settings, lookup: Lookup, learner: Believer, kept: Kept) -> Ledger:
        """Return a ledger with this learner; events are looked up in the log."""
        ledger = cls(settings, lookup)
        ledger.learner, ledger._let_go = learner, True
        ledger.number, ledger.version, ledger.paused = kept.number, kept.version, set(kept.paused)
        ledger.shown = {user: Counter(dict(seen)) for user, seen in kept.shown}
        ledger.tally = Counter(kept.tally)
        ledger._closing, ledger._under_way = kept.closing, OrderedDict(kept.under_way)
        ledger.history = History.of(kept.history)
        return ledger

    # --- Entries --------------------------------------------------------------------------------

    def apply(self, entry: Entry, number: int | None = None, made: Fit | None = None) -> None:
        """Take notice of the next entry; a fit that is adopted is `made` anew if it is not here."""
        event = self.event(entry.event) if entry.event else None
        adopts = entry.kind == "adopted" and self.taken is not None
        if adopts:  # first: if it cannot be, nothing has changed
            self._adopt(entry, made)
        self.number = self.number + 1 if number is None else number
        self.tally[entry.kind] += 1
        self.history.on_entry(entry)
        if event is not None:
            self._about_event(entry, event)
        elif entry.kind == "arm" and entry.arm is not None:
            self._arm(entry.arm, entry.detail)
        elif entry.kind == "taken":
            self.taken = self.learner.fit_input()
        elif adopts:
            self.taken, self.version = None, entry.version or 0
            self.history.on_version(entry, self.learner.outline())
        elif entry.kind == "forgot":
            self.learner.start_anew()
            self.history.drop_versions()
            self.taken, self.version = None, entry.version or 0

    def _adopt(self, entry: Entry, made: Fit | None) -> None:
        assert self.taken is not None
        self.learner.adopt(made or self._find_fit(entry) or Believer.fit(self.taken))

    def event(self, id: str) -> Event:
        """Return an event, from memory or from the log; one that nobody knows is empty."""
        known = self.events.get(id)
        if known is not None:
            return known
        if not self._let_go:
            return Event()
        return Event.of(entry for number, entry in self._lookup(id) if number <= self.number)

    def _about_event(self, entry: Entry, event: Event) -> None:
        before, decided = outcome(event, self.settings), event.decision is not None
        if event.rewards or event.expired:
            self._count_unusual(event, -1)
        event.add(entry, self.number)
        if event.rewards or event.expired:
            self._count_unusual(event)
        if entry.kind == "rewarded":
            self.history.on_reward(entry)
        self.events.pop(entry.event, None)  # they stand in the order of their last entries
        self.events[entry.event] = event
        decision = event.decision
        if decision is None or decision.user is None or decision.arm is None:
            return
        if not decided:
            self._on_decision(decision, decision.user, decision.arm)
        after = outcome(event, self.settings)
        if before != after:
            self._learn(decision.user, decision.arm, before, after)
            self.history.on_outcome(decision, before, after)
        if event.expired or after is not None:
            self._expect_no_more(entry.event)
        if len(self.events) > MOST_EVENTS:
            self._make_room()

    def _count_unusual(self, event: Event, number: int = 1) -> None:
        """Let the history know that something is unusual with an event; -1: no more."""
        if event.decision is not None:
            self.history.on_unusual(unusual(event, self.settings), number)
        elif event.rewards:
            self.history.park(event.rewards[0][0], number * len(event.rewards))

    def _on_decision(self, decision: Entry, user: Name, arm: Name) -> None:
        if arm not in self.open:  # somebody else decided
            self._open = None
        self.history.on_decision(decision, user, arm)
        self.learner.expect(self.number, user, arm, decision.propensity or 1.0)
        self._under_way[decision.event] = self.number
        if len(self._under_way) > MOST_UNDER_WAY:
            self._expect_no_more(next(iter(self._under_way)))
        if self.settings.window is not None:
            closes = decision.at + self.settings.window
            heapq.heappush(self._closing, (closes, decision.event, user))
        if self.settings.at_most is not None:
            self.shown.setdefault(user, Counter())[arm] += 1

    def _learn(self, user: Name, arm: Name, before: int | None, after: int | None) -> None:
        if before is not None:
            self.learner.take_back(user, arm, from_micro(before))
        if after is not None:
            self.learner.tell(user, arm, from_micro(after))

    def _expect_no_more(self, id: str) -> None:
        number = self._under_way.pop(id, None)
        if number is not None:
            self.learner.expect_no_more(number)

    def _make_room(self) -> None:
        """Let the oldest events go; the newest may not be in the log yet."""
        for id in list(itertools.islice(self.events, AT_A_TIME)):
            if self.events[id].number < self.number - MOST_EVENTS // 2:
                del self.events[id]
                self._let_go = True

    # --- Time, arms, users ----------------------------------------------------------------------

    def closing(self, now: int, most: int) -> Iterator[str]:
        """Yield the events whose window has closed without a reward, each once; look at so many."""
        for _ in range(most):
            if not self.closes_before(now):
                return
            event = self.event(id := self._closing[0][1])
            heapq.heappop(self._closing)  # not before: the event may have to be read from the log
            if not event.expired and outcome(event, self.settings) is None:
                yield id

    def closes_before(self, now: int) -> bool:
        """Whether the window of some decision has closed."""
        return bool(self._closing) and self._closing[0][0] < now

    def _arm(self, arm: Name, what: str) -> None:
        self._open = None
        if what in ("added", "resumed"):
            self.learner.add_arm(arm)
            self.paused.discard(arm)
        else:
            self.learner.retire_arm(arm)
            if what == "paused":
                self.paused.add(arm)

    @property
    def open(self) -> tuple[Name, ...]:
        """The arms that may be chosen."""
        if self._open is None:
            self._open = self.learner.arms
        return self._open

    def choices(self, user: Name, allowed: Iterable[Name] | None) -> Sequence[Name]:
        """Return the arms that may be shown to a user now; at least one."""
        open = self.open
        left: Sequence[Name] = open
        if allowed is not None:
            wanted = set(allowed)
            left = [arm for arm in open if arm in wanted]
        if not left:
            raise no_arm("none of the allowed ones may" if open else "there are none")
        needed = self.settings.control if self.settings.mode == "shadow" else None
        if needed is not None and needed not in open:
            got = f"{needed!r}, which is paused, removed or unknown"
            raise BadArgument("control", "an arm that may be chosen", got)
        if self.settings.at_most is not None:
            could, times = needed in left, zip(left, self.left(user, left), strict=True)
            left = [arm for arm, most in times if most > 0]
            if not left or (could and needed not in left):
                self.refuse_more(user)
        return left

    def left(self, user: Name, arms: Iterable[Name]) -> list[int]:
        """Return how often each arm may still be shown to a user, where that is limited."""
        most, seen = self.settings.at_most or 0, self.shown.get(user, Counter())
        return [most - seen[arm] for arm in arms]

    def refuse_more(self, user: Name) -> NoReturn:
        """Say that a user was shown all that may be shown as often as is allowed."""
        shadow, control = self.settings.mode == "shadow", self.settings.control
        each = f"the control arm {control!r}" if shadow else "each of them"
        raise no_arm(f"{user!r} was shown {each} as often as `at_most` allows")

    def forget(self, user: Name) -> None:
        """Drop all that is known of a user, whose entries are erased.

        Many of their events may not be in memory: what is under way and what closes says whose it
        is.
        """
        for id in [id for id, e in self.events.items() if e.decision and e.decision.user == user]:
            del self.events[id]
        whose = self.learner.user_of
        for id in [id for id, number in self._under_way.items() if whose(number) == user]:
            self._expect_no_more(id)
        self._closing = [row for row in self._closing if row[2] != user]
        heapq.heapify(self._closing)
        self.shown.pop(user, None)
        self.history.forget(user)
        self.learner.forget(user)

    def due(self) -> bool:
        """Whether it is time to hand what was seen to a fit."""
        return self.taken is None and self.learner.due()
