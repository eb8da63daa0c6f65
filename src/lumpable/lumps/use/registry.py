"""A learner of numbers whose contexts and arms have names.

Names, room for them and the change that they come with are one step: a call that is refused or
interrupted leaves all of it, or nothing (see `Coming`). Knows no decisions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from lumpable.base.arrays import BoolVector, FloatVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.base.words import counted
from lumpable.lumps.core import batches
from lumpable.lumps.core.forgetting import without
from lumpable.lumps.core.growth import grow
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.use.limits import no_arm
from lumpable.lumps.use.naming import Names
from lumpable.lumps.use.notes import Notes
from lumpable.lumps.use.rewards import Accepted, rewards_of
from lumpable.lumps.use.wild import surprise, surprising

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
        *, listed: bool, new_arms: bool = False, notes: Notes | None = None,
    ) -> None:  # fmt: skip
        self.core, self.accepted, self.notes = core, accepted, notes or Notes()
        self.contexts = Names("context", contexts, self.notes)
        self.arms = Names("arm", arms, self.notes)
        self.listed = listed
        """Whether arms were listed, ..."""
        self.new_arms = new_arms
        """... and others may come all the same."""
        core.numbers = self.contexts.number
        if not self.arms:
            core.state.allowed[:] = False

    @classmethod
    def start(
        cls, core: Core, rewards: object, contexts: Iterable[object], arms: Iterable[object],
        *, new_arms: bool,
    ) -> Named[Core]:  # fmt: skip
        """Name the contexts and arms of a new learner."""
        if not isinstance(new_arms, bool):
            raise BadArgument("new_arms", "True or False", repr(new_arms))
        named = cls(core, Accepted.of(rewards), (), (), listed=False, new_arms=new_arms)
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
            "open": self.open.tolist(), "listed": self.listed, "new_arms": self.new_arms,
            "rewards": self.accepted.given,
        }  # fmt: skip

    # --- Names and room -----------------------------------------------------------------------

    @property
    def open(self) -> BoolVector:
        """Which arms may be chosen."""
        open: BoolVector = self.core.state.allowed
        return open

    @property
    def closed(self) -> bool:
        """Whether only the arms that are known may come."""
        return self.listed and not self.new_arms

    def arms_that_are(self, *, open: bool) -> tuple[Name, ...]:
        """Return the arms that may be chosen, or those that may not."""
        return tuple(itertools.compress(self.arms.listed, self.open == open))

    def register(
        self, contexts: Iterable[Name], arms: Iterable[Name], *, adding: bool = False
    ) -> None:
        """Give plain names that are new numbers and room; new arms may be chosen.

        Where arms were listed, others must be added first, unless new ones may come. Done while
        names are `Coming`, as an interruption may come in between.
        """
        new_contexts, new_arms = self.contexts.new(contexts), self.arms.new(arms)
        if not new_contexts and not new_arms:
            return
        if new_arms and self.closed and not adding:
            names = ", ".join(map(repr, new_arms))
            expected = "a known arm (else use add_arm first, or new_arms=True)"
            raise BadArgument("arm", expected, names)
        first = not self.arms
        self.core.change_names()
        self.contexts.add(new_contexts)
        self.arms.add(new_arms)
        self._make_room()
        if new_arms and first:
            self.open[0] = True  # room for the first arm was there

    def _make_room(self) -> None:
        room = self.core.contexts
        while room <= len(self.contexts):
            room *= 2
        if room > self.core.contexts or len(self.arms) > self.core.arms:
            grow(self.core, room, max(1, len(self.arms)))

    def add_arm(self, name: object) -> None:
        """Let an arm be chosen: a new one, or a retired one."""
        arm = self.arms.plain(name)
        with Coming(self):
            self.register([], [arm], adding=True)
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
        return self.around(core, [name for name in self.contexts.listed if name != context])

    def around(self, core: Core, contexts: Iterable[Name]) -> Named[Core]:
        """Return another core with these contexts, and with all else as it is."""
        return Named(
            core, self.accepted, contexts, self.arms.listed, listed=self.listed,
            new_arms=self.new_arms, notes=self.notes,
        )  # fmt: skip

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
            raise no_arm("none of the allowed ones may" if self.open.any() else "there are none")
        return mask

    # --- Rounds -------------------------------------------------------------------------------

    def ask(self, context: object, allowed: Iterable[object] | None) -> Name:
        """Return the name of the arm that the core plays, of those that are allowed."""
        place, mask = self.place(self.contexts.plain(context)), self.mask(allowed)
        return self.arms.listed[self.core.ask(place, None if allowed is None else mask)]

    def one(self, reward: object) -> float:
        """Return a reward as the core takes it; one that is not like the others is warned of."""
        value = self.accepted.one(reward)
        self.notice(surprising(self.core, value))
        return value

    def notice(self, words: str) -> None:
        """Warn of wild rewards, once."""
        if words:
            self.notes.once("wild rewards", words)

    def tell(self, context: object, arm: object, reward: object) -> None:
        """Tell the core a reward."""
        value = self.one(reward)
        who, what = self.contexts.plain(context), self.arms.plain(arm)
        if who in self.contexts.number and what in self.arms.number:
            self.core.tell(self.contexts.number[who], self.arms.number[what], value)
            return
        with Coming(self):
            self.register([who], [what])
            self.core.tell(self.contexts.number[who], self.arms.number[what], value)

    def tell_many(self, table: Any) -> None:
        """Tell the core a table of rewards."""
        rows = rewards_of(table, self.accepted)
        self.notice(surprise(self.core, rows.reward))
        contexts, arms = self.contexts.plains(rows.context), self.arms.plains(rows.arm)
        with Coming(self):
            self.register(contexts, arms)
            numbers = [self.arms.number[name] for name in arms]
            self.tell_rows(contexts, numbers, rows.reward, rows.count)

    def tell_counted(
        self, contexts: Sequence[Name], arms: Sequence[Name], *, context: IntVector,
        arm: IntVector, reward: FloatVector, count: IntVector,
    ) -> None:  # fmt: skip
        """Tell the core rows of context, arm, reward and count, by the places of these names."""
        self.accepted.check(reward)
        known = [self.contexts.plains(contexts), self.arms.plains(arms)]
        with Coming(self):
            self.register(*known)
            place, number = (
                np.array([names.number[name] for name in own], dtype=np.int64)
                for names, own in zip((self.contexts, self.arms), known, strict=True)
            )
            batches.tell_many(self.core, place[context], number[arm], reward, count)

    def tell_rows(
        self, contexts: Iterable[Name], arms: Sequence[int], reward: Any, count: Any
    ) -> None:
        """Tell the core rewards of known contexts and of arms by their numbers."""
        places = np.array([self.contexts.number[name] for name in contexts], dtype=np.int64)
        batches.tell_many(self.core, places, np.array(arms, dtype=np.int64), reward, count)


class Coming:
    """While this is open, names may come with a change; they go again if it does not happen.

    A change is a reward that counts, or a pull that is under way. Without one, an error or an
    interruption takes the learner back to the names, the room and the open arms of before, or
    everybody would be shown an arm that nobody was told of.
    """

    def __init__(self, named: Named[Any]) -> None:
        self._named = named

    def __enter__(self) -> None:
        named, core = self._named, self._named.core
        core.finish()  # a fit that is overdue would not be taken back
        self._lengths = len(named.contexts), len(named.arms)
        self._open, self._listed = named.open.copy(), named.listed
        self._changes = self._changed()
        self._core = {name: value for name, value in vars(core).items() if name != "under_way"}

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None and self._changed() == self._changes:
            named, (contexts, arms) = self._named, self._lengths
            vars(named.core).update(self._core)
            named.open[:], named.listed = self._open, self._listed
            named.contexts.cut(contexts)
            named.arms.cut(arms)

    def _changed(self) -> tuple[int, int | None]:
        """Return the rewards that count, and the newest pull under way."""
        core = self._named.core
        return core.tells, next(reversed(core.under_way), None)
