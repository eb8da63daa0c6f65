"""An experiment: decisions now, rewards later, and a learner between them.

A call checks what it is given, then enters what happened into the log (see `changing`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from lumpable.base import checks
from lumpable.base.errors import BadArgument
from lumpable.service import deciding
from lumpable.service.changing import Changing
from lumpable.service.joining import Event, Standing, in_time, standing
from lumpable.service.settings import SECOND
from lumpable.stores.log_entries import Entry, Name, micro

LONGEST_ID = 200
"""Characters of an event's id."""


@dataclass(frozen=True, slots=True)
class Decided:
    """An arm that was chosen for a user, how likely that was, and by which version."""

    event: str
    user: Name
    arm: Name
    propensity: float
    version: int


class LiveExperiment(Changing):
    """Decides for users, takes rewards, learns who is alike, and loses nothing.

    Threads may share it; every call returns when what it did is durable.
    """

    # --- Decisions --------------------------------------------------------------------------------

    def decide(
        self, user: Name, allowed: Iterable[Name] | None = None, *, event: str | None = None,
        activate: bool = True,
    ) -> Decided:  # fmt: skip
        """Choose an arm for a user, of those that are allowed.

        An `event` that was decided before gets the same decision again, whatever else is asked: a
        call that is repeated does no harm. With `activate=False` what is decided may never be
        shown: no default reward counts before `activate`.
        """
        return self.decide_many([user], allowed, events=None if event is None else [event],
                                activate=activate)[0]  # fmt: skip

    def decide_many(
        self, users: Iterable[Name], allowed: Iterable[Name] | None = None, *,
        events: Iterable[str] | None = None, activate: bool = True,
    ) -> list[Decided]:  # fmt: skip
        """Choose for many users, in one commit; each decision counts for those after it."""
        if self.settings.mode == "observe":
            raise BadArgument("mode", "serve or shadow, to decide", "observe (use `observe`)")
        names = self._users.plains(users)
        arms = None if allowed is None else self._arms.plains(allowed)
        ids = [self._new_id() for _ in names] if events is None else list(map(_id, events))
        if len(ids) != len(names):
            raise BadArgument("events", f"an id for each of {len(names)} users", f"{len(ids)}")
        activate = bool(activate)
        with self._changing() as entries:
            asked = dict(zip(ids, names, strict=True))
            new = [user for event, user in asked.items() if self._known(event, user) is None]
            self._open(arms, entries)
            for user, times in Counter(new).items():
                self._ledger.choices(user, arms, times)  # or refuse before anything changes
            return [
                self._known(event, user) or self._decided(entries, event, user, arms, activate)
                for event, user in zip(ids, names, strict=True)
            ]

    def _known(self, event: str, user: Name) -> Decided | None:
        """Return the decision that an event has; one for another user is refused."""
        decision = self._ledger.event(event).decision
        if decision is None:
            return None
        if decision.user != user:
            raise BadArgument("event", f"one of user {user!r}", f"{event!r}, of another user")
        return _as_decided(decision)

    def _open(self, arms: list[Name] | None, entries: list[Entry]) -> None:
        """Add arms that come with a request, where new ones may come."""
        if arms is not None:
            known = {*self._ledger.learner.arms, *self._ledger.learner.retired}
            new = [arm for arm in dict.fromkeys(arms) if arm not in known]
            if new and not self.settings.new_arms:
                words = ", ".join(map(repr, new))
                raise BadArgument("allowed", "known arms (see add_arm)", words)
            for arm in new:
                self._arm(entries, arm, "added")

    def _decided(
        self, entries: list[Entry], event: str, user: Name, arms: list[Name] | None, activate: bool
    ) -> Decided:
        ledger = self._ledger
        choices = ledger.choices(user, arms)
        ask = partial(ledger.learner.ask, user, None if arms is None else choices)
        arm, propensity, by = deciding.drawn(self.settings, event, choices, ask)
        entry = Entry(
            kind="decided", at=self._clock(), event=event, user=user, arm=arm, active=activate,
            propensity=propensity, version=ledger.version, detail=by,
        )  # fmt: skip
        self._enter(entries, entry)
        return _as_decided(entry)

    def observe(
        self, user: Name, arm: Name, *, event: str | None = None, propensity: float | None = None,
        at: float | None = None,
    ) -> Decided:  # fmt: skip
        """Report a decision that somebody else made; its reward comes by its event."""
        name, what = self._users.plain(user), self._arms.plain(arm)
        id = self._new_id() if event is None else _id(event)
        if propensity is not None:
            propensity = checks.real("propensity", propensity, "a number in (0, 1]", 0.0, 1.0)
        when = _time(at)
        with self._changing() as entries:
            known = self._known(id, name)
            if known is not None:
                return known
            self._open([what], entries)
            entry = Entry(
                kind="decided", at=self._clock() if when is None else when, event=id, user=name,
                arm=what, propensity=propensity, version=self._ledger.version, active=True,
                detail=deciding.OBSERVED,
            )  # fmt: skip
            self._enter(entries, entry)
        return _as_decided(entry)

    def activate(self, event: str) -> None:
        """Say that what was decided with `activate=False` was shown."""
        id = _id(event)
        with self._changing() as entries:
            found = self._ledger.event(id)
            if found.decision is None:
                raise BadArgument("event", "one that was decided", repr(event))
            if not found.shown:
                self._enter(entries, Entry(kind="activated", at=self._clock(), event=id))

    # --- Rewards ----------------------------------------------------------------------------------

    def reward(
        self, event: str, value: float, *, at: float | None = None, key: str = ""
    ) -> Standing:
        """Report the reward of an event, and return where the event stands.

        It may come before its decision, or twice: `repeated` says which of several counts. The same
        value with the same time `at` (seconds since 1970) and the same `key` is one reward, however
        often it is sent.
        """
        return self.reward_many([(event, value)], at=at, key=key)[0]

    def reward_many(
        self, rewards: Iterable[tuple[str, float]], *, at: float | None = None, key: str = ""
    ) -> list[Standing]:
        """Report many rewards, in one commit: all count, or, if one is wrong, none."""
        rows = [(_id(event), micro(self._accepted.one(value))) for event, value in rewards]
        when, key = _time(at), _key(key)
        with self._changing() as entries:
            time = self._clock() if when is None else when
            for event, value in rows:
                found = self._ledger.event(event)
                if (time, value, key) in found.rewards or self._beside_first(found, when, time):
                    self._sent_again += 1
                    continue
                user = None if found.decision is None else found.decision.user
                entry = Entry(
                    kind="rewarded", at=time, event=event, user=user, value=value, detail=key
                )
                self._enter(entries, entry)
            return [
                standing(self._ledger.event(event), self.settings, self._clock())
                for event, _ in rows
            ]

    def _beside_first(self, event: Event, when: int | None, time: int) -> bool:
        """Whether a reward of now can change nothing, as an earlier one counts and is there."""
        if when is not None or self.settings.repeated != "first":
            return False
        if self.settings.window is not None and event.decision is None:
            return False  # the earlier one may turn out to be too early
        return any(at <= time for at, _ in in_time(event, self.settings))

    # --- Arms and users ---------------------------------------------------------------------------

    def add_arm(self, arm: Name) -> None:
        """Let an arm be chosen from now on."""
        with self._changing() as entries:
            self._arm(entries, self._arms.plain(arm), "added")

    def remove_arm(self, arm: Name) -> None:
        """Choose an arm no more; its evidence stays, and its rewards still count."""
        self._change_arm(arm, "removed")

    def pause_arm(self, arm: Name) -> None:
        """Choose an arm no more until it is resumed."""
        self._change_arm(arm, "paused")

    def resume_arm(self, arm: Name) -> None:
        """Choose a paused or removed arm again."""
        self._change_arm(arm, "resumed")

    def _change_arm(self, arm: Name, what: str) -> None:
        name = self._arms.plain(arm)
        with self._changing() as entries:
            learner = self._ledger.learner
            if name not in learner.arms and name not in learner.retired:
                raise BadArgument("arm", "a known arm", repr(arm))
            self._arm(entries, name, what)

    def _arm(self, entries: list[Entry], arm: Name, what: str) -> None:
        open = arm in self._ledger.learner.arms
        if open != (what in ("added", "resumed")) or (arm in self._ledger.paused) != (
            what == "paused"
        ):
            self._enter(entries, Entry(kind="arm", at=self._clock(), arm=arm, detail=what))

    def forget(self, user: Name) -> None:
        """Erase a user: no byte of the name stays, and what was learned from them is unlearned."""
        name = self._users.plain(user)
        with self._changing() as entries, self._doubting():
            # a crash after this leaves the user, who was not answered; fits are made without them
            version = self._ledger.version + 1
            entry = Entry(kind="forgot", at=self._clock(), version=version)
            self._snapshots.remove()
            self._writer.hand_in([*entries, entry]).result()
            entries.clear()
            self._store.erase(name)
            self._ledger.forget(name)
            self._ledger.apply(entry)
            self._overview.forget()


def _as_decided(entry: Entry) -> Decided:
    assert entry.user is not None
    assert entry.arm is not None
    return Decided(entry.event, entry.user, entry.arm, entry.propensity or 1.0, entry.version or 0)


def _id(event: object, name: str = "event") -> str:
    if not isinstance(event, str) or not 0 < len(event) <= LONGEST_ID or "\0" in event:
        raise BadArgument(name, f"a text of 1 to {LONGEST_ID} characters", repr(event)[:80])
    try:
        event.encode()
    except UnicodeEncodeError:
        raise BadArgument(name, "a text that can be written", repr(event)[:80]) from None
    return str(event)


def _key(key: object) -> str:
    return _id(key, "key") if key != "" else ""


def _time(at: float | None) -> int | None:
    if at is None:
        return None
    if isinstance(at, bool) or not isinstance(at, int | float) or not 0 <= at < 2**62 / SECOND:
        raise BadArgument("at", "seconds since 1970", repr(at))
    return round(at * SECOND)
