"""Find a policy with few samples, with names: which arm is good enough for whom."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from lumpable.lumps.core.top_two import TopTwo
from lumpable.lumps.core.under_way import Name
from lumpable.lumps.use import extras, stored
from lumpable.lumps.use.locking import Lock, alone
from lumpable.lumps.use.registry import FIRST_ROOM, Named


class PolicyFinder:
    """Find an arm for each context that is good enough, with few samples; rewards do not matter.

    Contexts and arms are strings or integers and may come at any time, as in `Lumps`. `finished`
    says whether the recommended policy, `policy()`, loses more than `epsilon` on average over the
    known contexts with probability at most `delta`. It is judged at geometric times; contexts and
    arms that come later take it back until it is judged again.

    `rewards` says which rewards are accepted: "any" number, "binary" (0 or 1), or a range, as in
    (0, 5). Others are refused and change nothing.

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
        self._named = Named.start(core, rewards, contexts, arms)

    def __repr__(self) -> str:
        return f"PolicyFinder: {self._named}{', finished' if self.finished else ''}"

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
        """Choose and recommend an arm no more. What it taught stays."""
        self._named.retire_arm(name)

    @alone
    def ask(self, context: Name, allowed: Iterable[Name] | None = None) -> Name:
        """Return the arm to try for a context now. Changes nothing: asked twice, the same."""
        return self._named.ask(context, allowed)

    @alone
    def tell(self, context: Name, arm: Name, reward: float) -> None:
        """Report the reward of an arm that was played for a context, at any time, in any order."""
        self._named.tell(context, arm, reward)

    @alone
    def tell_many(self, table: Any) -> None:
        """Report a table of rewards, as `Lumps.tell_many` takes it."""
        self._named.tell_many(table)

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
        core, extra = self.core, extras.names_to_save(self._named)
        extra |= {"epsilon": core.epsilon, "delta": core.delta, "finished": core.finished}
        stored.save(core, path, extra)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that `save` wrote: the same next choices, the same stop."""
        core, extra = stored.load(path, TopTwo)
        saved = extras.read(extras.SavedFinder, extra, core, path)
        core.epsilon, core.delta, core.finished = saved.epsilon, saved.delta, saved.finished
        finder = cls()
        finder._named = saved.named(core)
        return finder
