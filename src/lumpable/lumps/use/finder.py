"""Find a policy with few samples, with names: which arm is good enough for whom."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Self

from lumpable.base.units import Name
from lumpable.lumps.core.top_two import TopTwo
from lumpable.lumps.use import contents, stored
from lumpable.lumps.use.locking import alone
from lumpable.lumps.use.named_learner import NamedLearner
from lumpable.lumps.use.registry import FIRST_ROOM, Named
from lumpable.lumps.use.versions import stamp_of


class PolicyFinder(NamedLearner[TopTwo]):
    """Find an arm for each context that is good enough, with few samples; rewards do not matter.

    Contexts and arms are strings or integers and may come at any time, as in `Lumps`. `finished`
    says whether what it recommends, `recommended()`, loses more than `epsilon` on average over the
    known contexts with probability at most `delta`. It is judged at geometric times; contexts and
    arms that come later take it back until it is judged again.

    `rewards` are the accepted rewards: "any" number, "binary" (0 or 1), or a range, as in
    (0, 5). Others are refused and change nothing. Where arms were listed, so are rewards of others,
    unless `new_arms` is true.

    >>> finder = PolicyFinder(["tea", "coffee"], ["ann", "bob"], epsilon=0.1, seed=1)
    >>> while not finder.finished:
    ...     for name in finder.contexts:
    ...         drink = finder.ask(name)
    ...         finder.tell(name, drink, float(drink == "tea"))
    >>> finder.recommended()
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
        new_arms: bool = False,
        seed: int = 0,
    ) -> None:
        core = TopTwo(FIRST_ROOM, 1, epsilon=epsilon, delta=delta, seed=seed)
        super().__init__(Named.start(core, rewards, contexts, arms, new_arms=new_arms))

    def __repr__(self) -> str:
        return f"PolicyFinder: {self._named}{', finished' if self.finished else ''}"

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

    @alone
    def recommended(self) -> dict[Name, Name]:
        """Return the arm that it recommends to each context."""
        named = self._named
        named.mask(None)
        best = self.core.policy()[: len(named.contexts)].tolist()
        return {name: named.arms.listed[j] for name, j in zip(self.contexts, best, strict=True)}

    def _to_save(self) -> dict[str, object]:
        core = self.core
        return {"epsilon": core.epsilon, "delta": core.delta, "finished": core.finished}

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that `save` wrote: the same next choices, the same stop."""
        stamp = stamp_of(path)
        core, extra = stored.load(path, TopTwo)
        saved = contents.read(contents.SavedFinder, extra, core, path)
        core.epsilon, core.delta, core.finished = saved.epsilon, saved.delta, saved.finished
        finder = cls()
        finder._named = saved.named(core)
        finder._files.know(path, stamp)
        return finder
