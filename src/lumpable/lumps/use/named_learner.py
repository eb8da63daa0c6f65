"""What `Lumps` and `PolicyFinder` share: names, arms that come and go, rounds, files, copies."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, Self

from lumpable.base.arrays import FloatVector, IntVector
from lumpable.base.units import Name
from lumpable.lumps.use import stored
from lumpable.lumps.use.locking import Lock, alone
from lumpable.lumps.use.registry import Core, Named
from lumpable.lumps.use.versions import Versions


class NamedLearner(ABC, Generic[Core]):
    """A learner with names, as people use it; threads may share it."""

    def __init__(self, named: Named[Core]) -> None:
        self._lock, self._named, self._files = Lock(), named, Versions()

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
    def add_arm(self, arm: Name) -> None:
        """Let an arm be chosen from now on: a new one, or a retired one with all its evidence."""
        self._named.add_arm(arm)

    @alone
    def retire_arm(self, arm: Name) -> None:
        """Choose an arm no more. What it taught stays, and its rewards still count."""
        self._named.retire_arm(arm)

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
    def tell_counted(
        self, contexts: Sequence[Name], arms: Sequence[Name], *, context: IntVector,
        arm: IntVector, reward: FloatVector, count: IntVector,
    ) -> None:  # fmt: skip
        """Report a large table whose names were numbered already.

        Row k: `count[k]` rewards `reward[k]` of `arms[arm[k]]` for `contexts[context[k]]`. All
        count, or none does. One fit at the end sees them all.
        """
        self._named.tell_counted(
            contexts, arms, context=context, arm=arm, reward=reward, count=count
        )

    # --- Files and copies ---------------------------------------------------------------------

    @alone
    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write everything to a file; the old one stays whole until the new one is.

        A file that this learner neither loaded nor saved, or that was changed since, is not
        replaced, as what others learned would be lost, unless `overwrite` says so.
        """
        with self._files.replacing(path, overwrite=overwrite):
            stored.save(self.core, path, self._named.to_save() | self._to_save())

    @abstractmethod
    def _to_save(self) -> dict[str, object]:
        """Return what else a file must hold."""

    @alone
    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a learner that goes on apart from this one, with the same next choices."""
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        memo.update(self._copies())
        twin.__setstate__(copy.deepcopy(vars(self), memo))
        return twin

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    @alone
    def __getstate__(self) -> dict[str, Any]:
        """Return all that a pickle holds: copied, as others may go on learning meanwhile."""
        return copy.deepcopy(vars(self), self._copies())

    def _copies(self) -> dict[int, Any]:
        """Return copies of what is long, by the ids that `deepcopy` looks for.

        Names, pulls and fits never change: one by one they would take long while others wait.
        """
        contexts, arms, core = self._named.contexts, self._named.arms, self.core
        long: list[Any] = [contexts.number, contexts.listed, arms.number, arms.listed]
        copied = {id(held): held.copy() for held in (*long, core.under_way)}
        return copied | {id(core.last_fit): core.last_fit}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._part()

    def _part(self) -> None:
        """Take notice of being a copy."""
