"""An experiment: decisions now, rewards later, and a learner between them.

A call checks what it is given, row by row; then it is entered into the log (see `entering`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, final, overload

from lumpable.base import checks
from lumpable.base.errors import BadArgument
from lumpable.base.units import Name, to_micro
from lumpable.service import framed
from lumpable.service.asked import event_id, event_ids, key_of, pairs_of, time_of
from lumpable.service.entering import Asked, Decided, Entering, Seen, Told
from lumpable.service.joining import Standing
from lumpable.service.settings import true_or_false
from lumpable.stores.log_entries import Entry

AT_A_TIME = 10_000
"""Rows of past decisions that go into one commit."""
TWICE = "given twice, as an argument and as a column"
Frame = TypeVar("Frame")
"""A frame of pandas, polars, pyarrow or another that narwhals knows."""


@final
class LiveExperiment(Entering):
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

    @overload
    def decide_many(
        self, users: Iterable[Name], allowed: Iterable[Name] | None = ..., *,
        events: Iterable[str] | None = ..., activate: bool = ...,
    ) -> list[Decided]: ...  # fmt: skip

    @overload
    def decide_many(
        self, users: Frame, allowed: Iterable[Name] | None = ..., *, activate: bool = ...,
        columns: Mapping[str, str] | None = ...,
    ) -> Frame: ...  # fmt: skip

    def decide_many(
        self, users: Any, allowed: Iterable[Name] | None = None, *,
        events: Iterable[str] | None = None, activate: bool = True,
        columns: Mapping[str, str] | None = None,
    ) -> Any:  # fmt: skip
        """Choose for many users, in one commit; each decision counts for those after it.

        `users` are names, or a frame (pandas, polars, pyarrow) with a column `user` and, if it has
        them, `event` and `allowed` (a list of arms in each row). A frame gets a frame of its kind:
        event, user, arm, propensity, version. `columns` says what the frame calls them, as in
        {"user": "customer"}.
        """
        if self.settings.mode == "observe":
            why = "this experiment only observes; report decisions with `observe`"
            raise BadArgument("mode", "serve or shadow", "observe, which takes reports", why=why)
        activate = true_or_false("activate", activate)
        arms = None if allowed is None else self._allowed(allowed)
        if framed.is_frame(users):
            if events is not None:
                raise BadArgument(
                    "events", "none", "a list", why="a frame brings its own: the column `event`"
                )
            return self._decide_frame(users, arms, activate, columns)
        _no_columns(columns)
        names = self._users.plains(users)
        ids = [self._new_id() for _ in names] if events is None else event_ids(events)
        if len(ids) != len(names):
            raise BadArgument("events", f"an id for each of {len(names)} users", f"{len(ids)}")
        rows = [Asked(id, name, arms) for id, name in zip(ids, names, strict=True)]
        return self._choose(rows, activate)

    def _decide_frame(
        self, frame: Any, arms: list[Name] | None, activate: bool,
        columns: Mapping[str, str] | None,
    ) -> Any:  # fmt: skip
        table = framed.Columns(frame, ("user",), ("event", "allowed"), columns)
        if "allowed" in table and arms is not None:
            raise BadArgument("allowed", "a list or a column", "both", why=TWICE)
        users, ids = self._users.plains(table.values("user")), self._ids(table)
        allowed = table.checked("allowed", self._allowed, arms)
        with self._lock:
            learner = self._look().learner
            named = {*learner.arms, *learner.retired}
        kind = framed.kind_of("arm", named.union(*(row or () for row in allowed)))
        made = self._choose(list(map(Asked, ids, users, allowed)), activate)
        return table.answer(
            event=("text", ids), user=("whole", users), arm=(kind, [d.arm for d in made]),
            propensity=("real", [d.propensity for d in made]),
            version=("whole", [d.version for d in made]),
        )  # fmt: skip

    def _allowed(self, arms: Iterable[Name]) -> list[Name]:
        try:
            return self._arms.plains(arms)
        except BadArgument as error:
            raise BadArgument("allowed", error.expected, error.got) from None

    def _ids(self, table: framed.Columns) -> list[str]:
        if "event" in table:
            return table.checked("event", event_id, "")
        return [self._new_id() for _ in range(len(table))]

    # --- What others decided ----------------------------------------------------------------------

    def observe(
        self, user: Name, arm: Name, *, event: str | None = None, propensity: float | None = None,
        at: float | None = None,
    ) -> Decided:  # fmt: skip
        """Report a decision that somebody else made; its reward comes by its event."""
        name, what = self._users.plain(user), self._arms.plain(arm)
        id = self._new_id() if event is None else event_id(event)
        likely = None if propensity is None else _propensity(propensity)
        return self._take_in([Seen(id, name, what, likely, time_of(at))])[0]

    def observe_many(self, frame: Frame, *, columns: Mapping[str, str] | None = None) -> Frame:
        """Report a frame of decisions that others made, with their rewards where these are known.

        Columns: user, arm and, if there are any, reward, event, at, propensity (see `decide_many`
        for `columns`). A reward counts as old as its decision; where it is missing, none came yet.
        All rows are checked first, then entered 10,000 a commit. Rows with event ids may be sent
        again, for instance after a crash: what is there is not entered twice. Returns a frame of
        event and standing.
        """
        optional = ("reward", "event", "at", "propensity")
        table = framed.Columns(frame, ("user", "arm"), optional, columns)
        users = self._users.plains(table.values("user"))
        arms = self._arms.plains(table.values("arm"))
        propensities = table.checked("propensity", _propensity, None)
        times = table.checked("at", time_of, None)
        values = table.checked("reward", self._if_any, None, gaps=True)
        ids = self._ids(table)
        rows = list(map(Seen, ids, users, arms, propensities, times, values))
        with self._lock:
            self._look()
            self._check_seen(rows)
        for first in range(0, len(rows), AT_A_TIME):
            self._take_in(rows[first : first + AT_A_TIME])
        with self._lock:
            self._look()
            standings = self._standings(ids)
        made: Frame = table.answer(event=("text", ids), standing=("text", standings))
        return made

    def _micro(self, value: object) -> int:
        return to_micro(self._accepted.one(value))

    def _if_any(self, value: object) -> int | None:
        return None if value is None else self._micro(value)

    def activate(self, event: str) -> None:
        """Say that what was decided with `activate=False` was shown."""
        id = event_id(event)
        with self._changing() as entries:
            found = self._ledger.event(id)
            if found.decision is None:
                raise BadArgument("event", "a decided event", repr(event))
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

    @overload
    def reward_many(
        self, rewards: Iterable[tuple[str, float]], *, at: float | None = ..., key: str = ...
    ) -> list[Standing]: ...

    @overload
    def reward_many(
        self, rewards: Frame, *, at: float | None = ..., key: str = ...,
        columns: Mapping[str, str] | None = ...,
    ) -> Frame: ...  # fmt: skip

    def reward_many(
        self, rewards: Any, *, at: float | None = None, key: str = "",
        columns: Mapping[str, str] | None = None,
    ) -> Any:  # fmt: skip
        """Report many rewards, in one commit: all count, or, if one is wrong, none.

        `rewards` are pairs of an event and a value, or a frame with columns event, reward and, if
        it has them, at (seconds or times) and key (see `decide_many` for `columns`). A frame gets
        a frame of its kind: event, standing.
        """
        when, key = time_of(at), key_of(key)
        if framed.is_frame(rewards):
            return self._reward_frame(rewards, when, key, columns)
        _no_columns(columns)
        pairs = pairs_of(rewards)
        rows = [Told(event_id(event), self._micro(value), when, key) for event, value in pairs]
        return self._take_rewards(rows)

    def _reward_frame(
        self, frame: Any, when: int | None, key: str, columns: Mapping[str, str] | None
    ) -> Any:
        table = framed.Columns(frame, ("event", "reward"), ("at", "key"), columns)
        for name, given in (("at", when is not None), ("key", key != "")):
            if name in table and given:
                raise BadArgument(name, "an argument or a column", "both", why=TWICE)
        ids = self._ids(table)
        values = table.checked("reward", self._micro, 0)
        times, keys = table.checked("at", time_of, when), table.checked("key", key_of, key)
        standings = self._take_rewards(list(map(Told, ids, values, times, keys)))
        return table.answer(event=("text", ids), standing=("text", standings))

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

    def forget(self, user: Name) -> None:
        """Erase a user: no byte of the name stays, and what was learned from them is unlearned."""
        name = self._users.plain(user)
        with self._changing() as entries:
            self._writer.so_far().result()  # it may name them
            if self._store.ready_to_erase(name):  # else nobody has anything to unlearn
                with self._doubting():
                    self._forget(name, entries)

    def _forget(self, name: Name, entries: list[Entry]) -> None:
        # a crash after this leaves the user, who was not answered; fits are made without them
        version = self._ledger.version + 1
        entry = Entry(kind="forgot", at=self._clock(), version=version)
        self._snapshots.remove()
        self._writer.hand_in([*entries, entry]).result()
        entries.clear()
        if self._turns.shared:  # another process may have put one aside before it saw the entry
            self._snapshots.remove()
        self._store.erase(name)
        self._ledger.forget(name)
        self._ledger.apply(entry)
        self._overview.forget()


def _no_columns(columns: object) -> None:
    if columns is not None:
        raise BadArgument("columns", "none", repr(columns)[:80], why="only for frames")


def _propensity(value: float) -> float | None:
    return checks.real("propensity", value, "a number in (0, 1]", 0.0, 1.0)
