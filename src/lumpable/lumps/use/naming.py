"""Names get numbers, and a learner of numbers gets room for those that come later.

Names and room come together: whoever is interrupted has both or neither. Knows no decisions.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

import numpy as np

from lumpable.base.checks import BoolVector
from lumpable.base.errors import BadArgument
from lumpable.lumps.core.forgetting import without
from lumpable.lumps.core.growth import grow
from lumpable.lumps.core.learning import Levels

Name = str | int
"""What contexts and arms are called; "1" and 1 are two names."""
LOWEST, HIGHEST = -(2**63), 2**63 - 1
"""Names that are numbers fit into 64 bits, so that every file format can hold them."""
FIRST_ROOM = 64
"""Room for contexts at first; it doubles when they fill it."""
Core = TypeVar("Core", bound=Levels)


class Names:
    """Names in order of first appearance, each with a number from 0 on."""

    def __init__(self, kind: str, names: Iterable[Name] = ()) -> None:
        self.kind = kind
        """What is named, for errors."""
        self.listed = list(names)
        self.number = {name: place for place, name in enumerate(self.listed)}

    def __len__(self) -> int:
        return len(self.listed)

    def plain(self, name: object) -> Name:
        """Return a name as a plain str or int; anything else is an error."""
        if type(name) is str or type(name) is int:
            if name in self.number or _holdable(name):
                return name
        elif isinstance(name, str):
            return self.plain(str.__str__(name))
        elif not isinstance(name, bool | np.bool_) and hasattr(name, "__index__"):
            try:
                return self.plain(operator.index(name))
            except TypeError:  # an array of several numbers
                pass
        expected = "a string, or an integer of at most 64 bits"
        raise BadArgument(self.kind, expected, repr(name))

    def plains(self, names: Iterable[object]) -> list[Name]:
        """Return many names as plain ones."""
        several = isinstance(names, Iterable) and not isinstance(names, str | Mapping)
        if not several or hasattr(names, "columns"):
            got = f"one string {names!r}" if isinstance(names, str) else f"{names!r:.60}"
            raise BadArgument(f"{self.kind}s", "several names", f"{got}")
        known, plain = self.number, self.plain
        return [
            name if (type(name) is str or type(name) is int) and name in known else plain(name)
            for name in names
        ]

    def new(self, names: Iterable[Name]) -> list[Name]:
        """Return those of these plain names that have no number yet, each once."""
        return list(dict.fromkeys(name for name in names if name not in self.number))

    def add(self, new: Iterable[Name]) -> None:
        """Give new names the next numbers."""
        for name in new:
            self.number[name] = len(self.listed)
            self.listed.append(name)

    def cut(self, length: int) -> None:
        """Take away all names but the first ones."""
        del self.listed[length:]
        self.number = {name: place for place, name in enumerate(self.listed)}


def _holdable(name: Name) -> bool:
    """Whether a file can hold this name."""
    if isinstance(name, int):
        return LOWEST <= name <= HIGHEST
    try:
        name.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


class Named(Generic[Core]):
    """A learner of numbers whose contexts and arms have names.

    There is always room for one context more, for whoever nobody has heard of; there is none for
    arms, as an arm to spare could be believed the best. The core says which arms may be chosen; the
    only one of a learner without arms may not.
    """

    def __init__(
        self, core: Core, contexts: Iterable[Name] = (), arms: Iterable[Name] = ()
    ) -> None:
        self.core = core
        self.contexts, self.arms = Names("context", contexts), Names("arm", arms)
        if not self.arms:
            core.state.allowed[:] = False

    @property
    def open(self) -> BoolVector:
        """Which arms may be chosen."""
        open: BoolVector = self.core.state.allowed
        return open

    def has(self, context: Name, arm: Name) -> bool:
        """Whether both of these plain names have numbers."""
        return context in self.contexts.number and arm in self.arms.number

    def register(self, contexts: Iterable[Name], arms: Iterable[Name], *, open: bool) -> list[Name]:
        """Give plain names that are new numbers and room; return the new ones of contexts.

        `open` says whether new arms may be chosen.
        """
        new_contexts, new_arms = self.contexts.new(contexts), self.arms.new(arms)
        before = len(self.contexts), len(self.arms)
        if not new_contexts and not new_arms:
            return []
        try:
            self.contexts.add(new_contexts)
            self.arms.add(new_arms)
            self._make_room(open)
        except BaseException:
            S, K = before[0] + len(new_contexts), before[1] + len(new_arms)
            named = (len(self.contexts), len(self.arms)) == (S, K)
            if not named or self.core.contexts <= S or self.core.arms < K:
                self.contexts.cut(before[0])
                self.arms.cut(before[1])
            raise
        if new_arms and before[1] == 0:
            self.open[0] = open  # room for the first arm was there
        return new_contexts

    def _make_room(self, open: bool) -> None:
        room = self.core.contexts
        while room <= len(self.contexts):
            room *= 2
        if room > self.core.contexts or len(self.arms) > self.core.arms:
            grow(self.core, room, max(1, len(self.arms)), allowed=open)

    def without(self, context: Name) -> Named[Core]:
        """Return the same without a known context; those after it move up by one number."""
        place = self.contexts.number[context]
        others = [name for name in self.contexts.listed if name != context]
        return Named(without(self.core, place), others, self.arms.listed)

    def known(self, context: object) -> Name:
        """Return a context's plain name; that it is unknown is an error."""
        name = self.contexts.plain(context)
        if name not in self.contexts.number:
            raise BadArgument("context", "one of those that are known", repr(name))
        return name

    def place(self, context: Name) -> int:
        """Return a context's number; that of an unknown one is the next that is free."""
        return self.contexts.number.get(context, len(self.contexts))

    def retire(self, arm: object) -> None:
        """Choose a known arm no more."""
        name = self.arms.plain(arm)
        if name not in self.arms.number:
            raise BadArgument("arm", "one of those that are known", repr(arm))
        self.open[self.arms.number[name]] = False

    def mask(self, allowed: Iterable[Name] | None) -> BoolVector:
        """Return which arms may be chosen when these plain names are allowed; at least one."""
        mask = self.open
        if allowed is not None:
            mask = np.zeros_like(self.open)
            for name in allowed:
                if name not in self.arms.number:
                    raise BadArgument("allowed", "known arms (see add_arm)", repr(name))
                mask[self.arms.number[name]] = True
            mask &= self.open
        if not mask.any():
            why = "there are none" if not self.open.any() else "all of them are retired, or none"
            raise BadArgument("allowed", why=f"expected an arm that may be chosen, but {why}")
        return mask

    def best(self, context: object, allowed: Iterable[object] | None) -> Name:
        """Return the name of the arm that the core would play, of those that are allowed."""
        place = self.place(self.contexts.plain(context))
        names = None if allowed is None else self.arms.plains(allowed)
        mask = self.mask(names)
        return self.arms.listed[self.core.ask(place, None if names is None else mask)]
