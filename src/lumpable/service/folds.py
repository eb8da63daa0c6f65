"""A learner of the package behind a log: a fold over the rewards that it was told.

The learner is made anew, and told everything again, whenever it cannot simply be told more: when a
reward was replaced, a user forgotten, an arm added or taken away, or when there is no room for
another user. That takes as long as all tells so far, and is done when it is next asked.
"""

from __future__ import annotations

import copy
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from lumpable.base.errors import BadArgument
from lumpable.base.protocols import Learner
from lumpable.base.units import Name
from lumpable.base.words import counted as words_for
from lumpable.live.session import Session
from lumpable.lumps.belief.glance import NOTHING, Glance
from lumpable.lumps.model.fit import Fit
from lumpable.lumps.use.believer import FitInput
from lumpable.lumps.use.registry import FIRST_ROOM
from lumpable.service.learner_kinds import Kind


class Fold:
    """What learns, as the ledger knows it (see `Mind`), around a learner of numbers.

    A user has a place from the first decision on. Arms that may be chosen are the learner's arms;
    rewards of others are kept, and told when their arm is back.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._places: dict[Name, int] = {}
        """Users, and their numbers for the learner."""
        self._arms: dict[Name, bool] = {}
        """Arms, and whether they may be chosen, ..."""
        self._ranks: dict[Name, int] = {}
        """... and in which order they came."""
        self._who, self._what, self._reward = array("q"), array("q"), array("d")
        """What was told, in its order: the places of users, the ranks of arms, and rewards."""
        self._gap: int | None = None
        """Where a reward was taken back, for the one that comes in its place."""
        self._waiting: dict[int, Name] = {}
        self._core: Learner | None = None
        self._room, self._fed = 0, 0
        """For how many users the learner was made, and how much it was told."""
        self._listed: tuple[Name, ...] = ()
        """The learner's arms, ..."""
        self._number: dict[int, int] = {}
        """... and their numbers for it, by their ranks."""

    # --- What it knows ----------------------------------------------------------------------------

    @property
    def contexts(self) -> tuple[Name, ...]:
        """The users who had a decision."""
        return tuple(self._places)

    @property
    def arms(self) -> tuple[Name, ...]:
        """The arms that may be chosen."""
        return tuple(arm for arm, open in self._arms.items() if open)

    @property
    def retired(self) -> tuple[Name, ...]:
        """The arms that may not."""
        return tuple(arm for arm, open in self._arms.items() if not open)

    @property
    def counted(self) -> int:
        """The rewards that count."""
        return len(self._reward)

    @property
    def waiting(self) -> int:
        """The decisions whose rewards are to come."""
        return len(self._waiting)

    def counted_rewards(self) -> list[tuple[Name, Name, float, int]]:
        """Return user, arm, reward and how often it was told, of all that counts."""
        users, arms = list(self._places), list(self._arms)
        rows = Counter(zip(self._who, self._what, self._reward, strict=True))
        return [(users[i], arms[j], reward, times) for (i, j, reward), times in rows.items()]

    def recommended(self) -> dict[Name, Name]:
        """Return the arm that it would recommend to each user now."""
        if not self.arms:
            raise BadArgument("arms", "an arm to choose", "none", why="no arm can be chosen")
        core = self._current()
        found: Any = getattr(core, "policy", None)
        if found is None:
            raise BadArgument("learner", why=f"{self.kind.name!r} recommends nothing")
        policy = np.asarray(found() if callable(found) else found)
        return {user: self._listed[policy[place]] for user, place in self._places.items()}

    def outline(self) -> list[tuple[int, Name | None]]:
        """It has no groups."""
        return []

    def glance(self, lately: Iterable[tuple[Name, Name]] = ()) -> Glance:
        """It says nothing of groups and arms."""
        return NOTHING

    def summary(self) -> str:
        """Say in a sentence or two how far it is."""
        seen = f"{words_for(self.counted, 'reward')} of {words_for(len(self._places), 'user')}"
        first = f"{self.kind.name!r} was told {seen}."
        core = self._current() if self.kind.plan and self.arms else None
        if not isinstance(core, Session):
            return f"{first} It says nothing of groups."
        stage = "is under way" if core.result is None else "has ended: its policy is shown"
        late = f"{words_for(core.late, 'reward')} came for an arm that was no longer asked for"
        return f"{first} The plan {stage}, after {words_for(core.rounds, 'round')}; {late}."

    # --- What it cannot do ------------------------------------------------------------------------

    def check_users(self, contexts: Iterable[Name]) -> None:
        """Refuse users whom there is no room for, all together."""
        most = self.kind.users
        if most is not None:
            new = len({*contexts} - self._places.keys())
            if len(self._places) + new > most:
                free = f"{most - len(self._places)} of {most} places are free"
                words = f"users for whom {self.kind.name!r} has places ({free})"
                raise BadArgument("user", words, f"{words_for(new, 'new user')}")

    def check_choices(self, choices: Sequence[Name]) -> None:
        """Refuse anything but all arms that may be chosen."""
        left = [arm for arm in self.arms if arm not in set(choices)]
        if left:
            why = f"{self.kind.name!r} chooses among all arms and cannot leave out"
            raise BadArgument("allowed", why=f"{why} {', '.join(map(repr, left))}; Lumps can")

    def check_arm(self, arm: Name) -> None:
        """Refuse to change the arms of a plan that has begun."""
        if self.kind.plan and self._places:
            why = f"the arms of {self.kind.name!r}, a plan, are fixed from its first decision on"
            raise BadArgument("arm", why=f"{why}; {arm!r} stays as it is")

    # --- Rounds -----------------------------------------------------------------------------------

    def ask(self, context: Name, allowed: Iterable[Name] | None = None) -> Name:
        """Return the arm that the learner chooses; it knows nothing of decisions under way."""
        if allowed is not None:
            self.check_choices(list(allowed))
        self.check_users([context])
        core = self._current()
        return self._listed[core.ask(self._places.get(context, len(self._places)))]

    def expect(self, number: int, context: Name, arm: Name, propensity: float) -> None:
        """Take notice of a decision: its user has a place, its arm is known."""
        self._register(context, arm)
        self._waiting[number] = context

    def expect_no_more(self, number: int) -> None:
        """Take notice that the reward of a decision is here, or will not come."""
        self._waiting.pop(number, None)

    def user_of(self, number: int) -> Name:
        """Return whose decision that is."""
        return self._waiting[number]

    def tell(self, context: Name, arm: Name, reward: float) -> None:
        """Count a reward, at the end or in the place of the one that was just taken back."""
        self._register(context, arm)
        place = len(self._reward) if self._gap is None else self._gap
        self._gap = None
        self._who.insert(place, self._places[context])
        self._what.insert(place, self._ranks[arm])
        self._reward.insert(place, reward)

    def take_back(self, context: Name, arm: Name, reward: float) -> None:
        """Count a reward no more: of equal ones, the last."""
        same = (np.frombuffer(self._who, np.int64) == self._places[context]) & (
            np.frombuffer(self._what, np.int64) == self._ranks[arm]
        )
        place = int(np.flatnonzero(same & (np.frombuffer(self._reward) == reward))[-1])
        for column in (self._who, self._what, self._reward):
            del column[place]
        self._gap, self._core = place, None

    def _register(self, context: Name, arm: Name) -> None:
        self._places.setdefault(context, len(self._places))
        if arm not in self._arms:
            self.add_arm(arm)

    # --- Arms and users ---------------------------------------------------------------------------

    def add_arm(self, arm: Name) -> None:
        """Let an arm be chosen."""
        self._put_arm(arm, open=True)

    def retire_arm(self, arm: Name) -> None:
        """Choose an arm no more."""
        self._put_arm(arm, open=False)

    def _put_arm(self, name: Name, *, open: bool) -> None:
        self._ranks.setdefault(name, len(self._ranks))
        self._arms[name], self._core = open, None

    def forget(self, context: Name) -> None:
        """Count nothing of a user any more; those who came later move up."""
        gone = self._places.pop(context, None)
        if gone is None:
            return
        rows = [row for row in zip(self._who, self._what, self._reward, strict=True)
                if row[0] != gone]  # fmt: skip
        self._who = array("q", [i - (i > gone) for i, _, _ in rows])
        self._what = array("q", [j for _, j, _ in rows])
        self._reward = array("d", [reward for *_, reward in rows])
        self._places = {user: place for place, user in enumerate(self._places)}
        self._gap, self._core = None, None

    # --- The learner ------------------------------------------------------------------------------

    def get_ready(self) -> None:
        """Make the learner, and tell it what it does not know yet."""
        if self.arms:
            self._current()

    def _current(self) -> Learner:
        core = self._core
        if core is None or self._room != self._room_needed():
            self._room, self._fed, self._listed = self._room_needed(), 0, self.arms
            self._number = {self._ranks[arm]: k for k, arm in enumerate(self._listed)}
            core = self.kind.make(self._room, len(self._listed))
        self._core, self._gap = None, None  # if it is cut off half-way, it is made anew
        for k in range(self._fed, len(self._reward)):
            arm = self._number.get(self._what[k])
            if arm is not None:
                core.tell(self._who[k], arm, self._reward[k])
        self._core, self._fed = core, len(self._reward)
        return core

    def _room_needed(self) -> int:
        """Return for how many users there must be room: one more than are known, or all."""
        room = FIRST_ROOM
        while room <= len(self._places):
            room *= 2
        return room if self.kind.users is None else self.kind.users

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a twin without the learner, which it makes if it is asked."""
        twin = copy.copy(self)
        twin._core, twin._waiting = None, dict(self._waiting)
        twin._places, twin._arms = dict(self._places), dict(self._arms)
        twin._ranks = dict(self._ranks)
        twin._who, twin._what, twin._reward = self._who[:], self._what[:], self._reward[:]
        return twin

    # --- Fits: there are none ---------------------------------------------------------------------

    def start_anew(self) -> None:
        """Nothing rests on fits."""

    def due(self) -> bool:
        """There is nothing to fit."""
        return False

    def fit_input(self) -> FitInput:
        """Refuse: no log of this learner says so."""
        raise ValueError(f"{self.kind.name!r} makes no fits")

    def adopt(self, fit: Fit) -> None:
        """Refuse: no log of this learner says so."""
        raise ValueError(f"{self.kind.name!r} makes no fits")
