"""Find a policy with few samples, with names: which arm is good enough for whom."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np

from lumpable.base.words import counted
from lumpable.lumps.core import batches
from lumpable.lumps.core.top_two import TopTwo
from lumpable.lumps.use import kept, rewards, stored
from lumpable.lumps.use.locking import Lock, alone
from lumpable.lumps.use.naming import FIRST_ROOM, Name, Named
from lumpable.lumps.use.rewards import Accepted


class PolicyFinder:
    """Find an arm for each context that is good enough, with few samples; rewards do not matter.

    Contexts and arms are strings or integers and may come at any time, as in `Lumps`. `finished`
    says whether the recommended policy, `policy()`, loses more than `epsilon` on average over the
    known contexts with probability at most `delta`. It is judged at geometric times; contexts and
    arms that come later take it back until it is judged again.

    `rewards` says which rewards are taken: "any" number, "binary" (0 or 1), or those from a least
    to a largest one, as in (0, 5). Others are refused and change nothing.

    >>> finder = PolicyFinder(["tea", "coffee"], ["ann", "bob"], epsilon=0.1, seed=1)
    >>> while not finder.finished:
    ...     for name in finder.contexts:
    ...         drink = finder.ask(name)
    ...         finder.tell(name, drink, float(drink == "tea"))
    >>> finder.policy()
    {'ann': 'tea', 'bob': 'tea'}
    """

    def __init__(
        self,
        arms: Iterable[Name] = (),
        contexts: Iterable[Name] = (),
        *,
        epsilon: float = 0.05,
        delta: float = 0.05,
        rewards: str | tuple[float, float] = "any",
        seed: int = 0,
    ) -> None:
        core = TopTwo(FIRST_ROOM, 1, epsilon=epsilon, delta=delta, seed=seed)
        self._lock = Lock()
        self._accepted = Accepted.of(rewards)
        self._named = Named(core)
        names = self._named.contexts.plains(contexts), self._named.arms.plains(arms)
        self._register(*names, open=True)
        self._listed = len(self._named.arms) > 0

    def __repr__(self) -> str:
        numbers = len(self._named.contexts), len(self.arms), self.core.tells
        known = map(counted, numbers, ("context", "arm", "reward"))
        return f"PolicyFinder: {', '.join(known)}{', finished' if self.finished else ''}"

    @property
    def core(self) -> TopTwo:
        """The learner of numbers that learns for this one; read it, do not tell it."""
        return self._named.core

    @property
    def seed(self) -> int:
        """The seed of all choices."""
        return self.core.seed

    @property
    def epsilon(self) -> float:
        """The loss that is good enough, on average over contexts."""
        return self.core.epsilon

    @property
    def delta(self) -> float:
        """How likely the loss may be larger."""
        return self.core.delta

    @property
    def finished(self) -> bool:
        """Whether the policy was found good enough; more rewards may take it back."""
        return self.core.finished

    @property
    def contexts(self) -> tuple[Name, ...]:
        """The contexts that were given at the start or had a reward."""
        return tuple(self._named.contexts.listed)

    @property
    def arms(self) -> tuple[Name, ...]:
        """The arms that may be chosen."""
        return tuple(itertools.compress(self._named.arms.listed, self._named.open))

    @property
    def retired(self) -> tuple[Name, ...]:
        """The arms that are out of choices; their rewards still count."""
        return tuple(itertools.compress(self._named.arms.listed, ~self._named.open))

    @alone
    def add_arm(self, name: Name) -> None:
        """Let an arm be chosen from now on: a new one, or a retired one with all its evidence."""
        arm = self._named.arms.plain(name)
        self._register([], [arm], open=True)
        self._named.open[self._named.arms.number[arm]] = True
        self._listed, self.core.finished = True, False

    @alone
    def retire_arm(self, name: Name) -> None:
        """Choose and recommend an arm no more. What it taught stays."""
        self._named.retire(name)
        self.core.finished = False

    def _register(self, contexts: Iterable[Name], arms: Iterable[Name], *, open: bool) -> None:
        before = len(self._named.contexts), len(self._named.arms)
        self._named.register(contexts, arms, open=open)
        now = len(self._named.contexts), len(self._named.arms)
        if now != before:
            self.core.known, self.core.finished = now[0], False

    @alone
    def ask(self, context: Name, allowed: Iterable[Name] | None = None) -> Name:
        """Return the arm to try for a context now. Changes nothing: asked twice, the same."""
        return self._named.best(context, allowed)

    @alone
    def tell(self, context: Name, arm: Name, reward: float) -> None:
        """Report the reward of an arm that was played for a context, at any time, in any order."""
        value, named = self._accepted.one(reward), self._named
        context, arm = named.contexts.plain(context), named.arms.plain(arm)
        self._register([context], [arm], open=not self._listed)
        self.core.tell(named.contexts.number[context], named.arms.number[arm], value)

    @alone
    def tell_many(self, table: Any) -> None:
        """Report a table of rewards, as `Lumps.tell_many` takes it."""
        rows, named = rewards.rewards_of(table, self._accepted), self._named
        contexts, arms = named.contexts.plains(rows.context), named.arms.plains(rows.arm)
        self._register(contexts, arms, open=not self._listed)
        place = np.array([named.contexts.number[name] for name in contexts], dtype=np.int64)
        arm = np.array([named.arms.number[name] for name in arms], dtype=np.int64)
        batches.tell_many(self.core, place, arm, rows.reward, rows.count)

    @alone
    def policy(self) -> dict[Name, Name]:
        """Return the arm that it recommends to each context."""
        named = self._named
        named.mask(None)
        best = self.core.policy()[: len(named.contexts)].tolist()
        return {name: named.arms.listed[j] for name, j in zip(self.contexts, best, strict=True)}

    @alone
    def save(self, path: str | Path) -> None:
        """Write everything to a file; the old one stays whole until the new one is."""
        named, core = self._named, self.core
        extra = kept.KeptFinder(
            contexts=named.contexts.listed, arms=named.arms.listed, open=named.open.tolist(),
            listed=self._listed, rewards=self._accepted.given, epsilon=core.epsilon,
            delta=core.delta, finished=core.finished,
        )  # fmt: skip
        stored.save(core, path, msgspec.to_builtins(extra))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that `save` wrote: the same next choices, the same stop."""
        core, extra = stored.load(path, TopTwo)
        found = kept.checked(kept.KeptFinder, extra, core, path)
        finder = cls(epsilon=found.epsilon, delta=found.delta, rewards=found.rewards)
        core.epsilon, core.delta, core.finished = found.epsilon, found.delta, found.finished
        core.known = len(found.contexts)
        finder._named, finder._listed = found.named(core), found.listed
        return finder
