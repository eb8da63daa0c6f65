"""A learner of numbers whose contexts and arms have names: what `Lumps` and `PolicyFinder` share.

Names and room for them come together: an interrupted call leaves both or neither. Knows no
decisions.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from lumpable.base.arrays import BoolVector
from lumpable.base.errors import BadArgument
from lumpable.base.words import counted
from lumpable.lumps.core import batches
from lumpable.lumps.core.forgetting import without
from lumpable.lumps.core.growth import grow
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.under_way import Name
from lumpable.lumps.use import stored
from lumpable.lumps.use.locking import Lock, alone
from lumpable.lumps.use.naming import Names
from lumpable.lumps.use.rewards import Accepted, rewards_of

FIRST_ROOM = 64
"""Room for contexts at first; it doubles when they fill it."""
Core = TypeVar("Core", bound=Levels)


class Named(Generic[Core]):
    """A learner of numbers, the names of its contexts and arms, and which rewards it accepts.

    There is always room for one context more, to ask about an unknown one. There is none for arms,
    as an arm to spare could be believed the best. The core says which arms may be chosen; the only
    one of a learner without arms may not.
    """

    def __init__(
        self, core: Core, accepted: Accepted, contexts: Iterable[Name], arms: Iterable[Name],
        *, listed: bool,
    ) -> None:  # fmt: skip
        self.core, self.accepted = core, accepted
        self.contexts, self.arms = Names("context", contexts), Names("arm", arms)
        self.listed = listed
        """Whether arms were listed, so that others are not chosen."""
        core.numbers = self.contexts.number
        if not self.arms:
            core.state.allowed[:] = False

    @classmethod
    def start(
        cls, core: Core, rewards: object, contexts: Iterable[object], arms: Iterable[object]
    ) -> Named[Core]:
        """Name the contexts and arms of a new learner."""
        named = cls(core, Accepted.of(rewards), (), (), listed=False)
        named.register(named.contexts.plains(contexts), named.arms.plains(arms))
        named.listed = len(named.arms) > 0
        return named

    def __str__(self) -> str:
        numbers = len(self.contexts), int(self.open.sum()), self.core.tells
        return ", ".join(map(counted, numbers, ("context", "arm", "reward")))

    def to_save(self) -> dict[str, object]:
        """Return the fields of `contents.SavedNames`."""
        return {
            "contexts": self.contexts.listed, "arms": self.arms.listed,
            "open": self.open.tolist(), "listed": self.listed, "rewards": self.accepted.given,
        }  # fmt: skip

    # --- Names and room -----------------------------------------------------------------------

    @property
    def open(self) -> BoolVector:
        """Which arms may be chosen."""
        open: BoolVector = self.core.state.allowed
        return open

    def arms_that_are(self, *, open: bool) -> tuple[Name, ...]:
        """Return the arms that may be chosen, or those that may not."""
        return tuple(itertools.compress(self.arms.listed, self.open == open))

    def register(
        self, contexts: Iterable[Name], arms: Iterable[Name], *, open: bool | None = None
    ) -> None:
        """Give plain names that are new numbers and room.

        New arms are open, which means that they may be chosen, unless arms were listed.
        """
        new_contexts, new_arms = self.contexts.new(contexts), self.arms.new(arms)
        if not new_contexts and not new_arms:
            return
        open = not self.listed if open is None else open
        self.core.change_names()
        before = len(self.contexts), len(self.arms)
        S, K = before[0] + len(new_contexts), before[1] + len(new_arms)
        try:
            self.contexts.add(new_contexts)
            self.arms.add(new_arms)
            self._make_room(open)
        except BaseException:
            named = (len(self.contexts), len(self.arms)) == (S, K)
            if not named or self.core.contexts <= S or self.core.arms < K:
                self.contexts.cut(before[0])
                self.arms.cut(before[1])
            raise
        if new_arms and before[1] == 0:
            self.open[0] = open  # room for the first arm was there

    def _make_room(self, open: bool) -> None:
        room = self.core.contexts
        while room <= len(self.contexts):
            room *= 2
        if room > self.core.contexts or len(self.arms) > self.core.arms:
            grow(self.core, room, max(1, len(self.arms)), allowed=open)

    def add_arm(self, name: object) -> None:
        """Let an arm be chosen: a new one, or a retired one."""
        arm = self.arms.plain(name)
        self.register([], [arm], open=True)
        self.core.change_names()
        self.open[self.arms.number[arm]] = True
        self.listed = True

    def retire_arm(self, name: object) -> None:
        """Choose a known arm no more."""
        arm = self.arms.plain(name)
        if arm not in self.arms.number:
            raise BadArgument("arm", "a known arm", repr(name))
        self.core.change_names()
        self.open[self.arms.number[arm]] = False

    def without(self, context: Name) -> Named[Core]:
        """Return the same without a known context; those after it move up by one number."""
        core = without(self.core, self.known(context))
        others = [name for name in self.contexts.listed if name != context]
        return Named(core, self.accepted, others, self.arms.listed, listed=self.listed)

    # --- From names to numbers ----------------------------------------------------------------

    def known(self, context: object) -> int:
        """Return the number of a known context."""
        name = self.contexts.plain(context)
        if name not in self.contexts.number:
            raise BadArgument("context", "a known context", repr(name))
        return self.contexts.number[name]

    def place(self, context: Name) -> int:
        """Return a context's number; that of an unknown one is the next that is free."""
        return self.contexts.number.get(context, len(self.contexts))

    def mask(self, allowed: Iterable[object] | None) -> BoolVector:
        """Return which arms may be chosen when only these are allowed; at least one."""
        mask = self.open
        if allowed is not None:
            mask = np.zeros_like(self.open)
            for name in self.arms.plains(allowed):
                if name not in self.arms.number:
                    raise BadArgument("allowed", "known arms (see add_arm)", repr(name))
                mask[self.arms.number[name]] = True
            mask &= self.open
        if np.count_nonzero(mask) == 0:  # faster than any()
            why = "there are none" if not self.open.any() else "none of the allowed ones may"
            raise BadArgument("allowed", why=f"expected an arm that may be chosen, but {why}")
        return mask

    # --- Rounds -------------------------------------------------------------------------------

    def ask(self, context: object, allowed: Iterable[object] | None) -> Name:
        """Return the name of the arm that the core plays, of those that are allowed."""
        place, mask = self.place(self.contexts.plain(context)), self.mask(allowed)
        return self.arms.listed[self.core.ask(place, None if allowed is None else mask)]

    def tell(self, context: object, arm: object, reward: object) -> None:
        """Tell the core a reward."""
        value = self.accepted.one(reward)
        who, what = self.contexts.plain(context), self.arms.plain(arm)
        if who not in self.contexts.number or what not in self.arms.number:
            self.register([who], [what])
        self.core.tell(self.contexts.number[who], self.arms.number[what], value)

    def tell_many(self, table: Any) -> None:
        """Tell the core a table of rewards."""
        rows = rewards_of(table, self.accepted)
        contexts, arms = self.contexts.plains(rows.context), self.arms.plains(rows.arm)
        self.register(contexts, arms)
        self.tell_rows(contexts, [self.arms.number[name] for name in arms], rows.reward, rows.count)

    def tell_rows(
        self, contexts: Iterable[Name], arms: Sequence[int], reward: Any, count: Any
    ) -> None:
        """Tell the core rewards of known contexts and of arms by their numbers."""
        places = np.array([self.contexts.number[name] for name in contexts], dtype=np.int64)
        batches.tell_many(self.core, places, np.array(arms, dtype=np.int64), reward, count)


class NamedLearner(ABC, Generic[Core]):
    """A learner with names, as people use it; threads may share it."""

    def __init__(self, named: Named[Core]) -> None:
        self._lock, self._named = Lock(), named

    @property
    def core(self) -> Core:
        """The learner of numbers that learns for this one; read it, do not tell it."""
        return self._named.core

    @property
    def seed(self) -> int:
        """The seed of all chance."""
        return self.core.seed

    @property
    def contexts(self) -> tuple[Name, ...]:
        """The contexts that were given at the start or had a reward."""
        return tuple(self._named.contexts.listed)

    @property
    def arms(self) -> tuple[Name, ...]:
        """The arms that may be chosen."""
        return self._named.arms_that_are(open=True)

    @property
    def retired(self) -> tuple[Name, ...]:
        """The arms that are out of choices; their rewards still count."""
        return self._named.arms_that_are(open=False)

    @alone
    def add_arm(self, name: Name) -> None:
        """Let an arm be chosen from now on: a new one, or a retired one with all its evidence."""
        self._named.add_arm(name)

    @alone
    def retire_arm(self, name: Name) -> None:
        """Choose an arm no more. What it taught stays, and its rewards still count."""
        self._named.retire_arm(name)

    @alone
    def ask(self, context: Name, allowed: Iterable[Name] | None = None) -> Name:
        """Return the arm to play for a context now, of those that are allowed.

        Changes nothing: asked twice, it answers the same.
        """
        return self._named.ask(context, allowed)

    @alone
    def tell(self, context: Name, arm: Name, reward: float) -> None:
        """Report the reward of an arm that was played for a context, at any time, in any order."""
        self._named.tell(context, arm, reward)

    @alone
    def tell_many(self, table: Any) -> None:
        """Report a table of rewards: any frame, a mapping of columns, or a list of rows.

        Columns: context, arm, reward and, where rows stand for several equal rewards, count.
        """
        self._named.tell_many(table)

    @alone
    def save(self, path: str | Path) -> None:
        """Write everything to a file; the old one stays whole until the new one is."""
        stored.save(self.core, path, self._named.to_save() | self._to_save())

    @abstractmethod
    def _to_save(self) -> dict[str, object]:
        """Return what else a file must hold."""
