"""How often an arm may be shown to a context: rewards of that arm, and decisions outstanding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolVector, FloatVector
from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.under_way import Pull
from lumpable.lumps.use.naming import Names


class AtMost(NamedTuple):
    """How often each arm may be shown to one context: all arms alike, or some by name."""

    everyone: float = np.inf
    by_name: Mapping[Name, int] = {}

    @classmethod
    def of(cls, given: object, arms: Names, *, closed: bool = False) -> AtMost | None:
        """Return what a number or a mapping from arms to numbers stands for; None: no limit.

        Where no other arms may come than those that are known, the names are among them.
        """
        if given is None:
            return None
        if not isinstance(given, Mapping):
            return cls(everyone=_times(given))
        limits = cls(by_name={arms.plain(arm): _times(times) for arm, times in given.items()})
        unknown = arms.new(limits.by_name) if closed else []
        if unknown:
            expected = "arms that are listed (or new_arms=True)"
            raise BadArgument("at_most", expected, ", ".join(map(repr, unknown)))
        return limits

    @property
    def given(self) -> int | dict[Name, int]:
        """What `of` takes for this."""
        return int(self.everyone) if self.everyone < np.inf else dict(self.by_name)

    def each(self, arms: Names) -> FloatVector:
        """Return the limit of each arm."""
        most = np.full(max(1, len(arms)), float(self.everyone))
        for name, times in self.by_name.items():
            if name in arms.number:
                most[arms.number[name]] = times
        return most


def _times(value: object) -> int:
    return checks.whole("at_most", value, 1)  # type: ignore[arg-type]


class Shown:
    """How often contexts were shown arms in decisions whose rewards have not come.

    Counted along with the pulls under way of a core. Where these were replaced, by a fit or after
    an interruption, they are counted anew.
    """

    def __init__(self) -> None:
        self._counted: tuple[dict[int, Pull] | None, dict[Name, Counter[int]]] = None, {}
        """Pulls, and how often each arm was shown to a context in them. They change together."""

    def count(self, pulls: dict[int, Pull], context: Name, arm: int, by: int) -> None:
        """Count a pull that came, or one that went."""
        counted, by_context = self._counted
        if pulls is counted:
            times = by_context.setdefault(context, Counter())
            times[arm] += by
            if times[arm] == 0:
                del times[arm]
            if not times:
                del by_context[context]

    def times(self, pulls: dict[int, Pull], context: Name) -> Mapping[int, int]:
        """Return how often each arm was shown to a context."""
        counted, by_context = self._counted
        if pulls is not counted:
            by_context = {}
            for pull in pulls.values():
                by_context.setdefault(pull.context, Counter())[pull.arm] += 1
            self._counted = pulls, by_context  # at the end, as counting may be cut off
        return by_context.get(context, {})


class Limits:
    """Which arms each context may still be shown."""

    def __init__(self, at_most: AtMost, core: Levels, arms: Names, shown: Shown) -> None:
        self._core, self._shown, self._most = core, shown, at_most.each(arms)

    def room(self, context: Name) -> FloatVector:
        """Return how often each arm may still be shown to a context."""
        core, room = self._core, self._most.copy()
        place, state = core.numbers.get(context), core.state
        if place is not None:
            cells = slice(state.start[place], state.start[place] + state.length[place])
            room[state.arm[cells]] -= state.pulls[cells]
        for arm, times in self._shown.times(core.under_way, context).items():
            room[arm] -= times
        return room

    def left(self, context: Name, mask: BoolVector) -> BoolVector:
        """Return which of these arms may still be shown to a context; at least one."""
        return left(context, mask, self.room(context))


def no_arm(why: str) -> BadArgument:
    """Return the error that no arm may be chosen.

    >>> print(no_arm("there are none"))
    allowed: expected an arm that may be chosen, but there are none
    """
    expected = "an arm that may be chosen"
    return BadArgument("allowed", expected, why, why=f"expected {expected}, but {why}")


def left(context: Name, mask: BoolVector, room: FloatVector) -> BoolVector:
    """Return which of these arms have room for one more time; at least one."""
    open: BoolVector = mask & (room >= 1.0)
    count = np.count_nonzero(open)
    if count == 0:
        raise no_arm(f"{context!r} was shown each of them as often as `at_most` allows")
    return mask if count == np.count_nonzero(mask) else open
