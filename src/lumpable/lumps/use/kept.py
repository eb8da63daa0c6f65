"""What a file keeps of a learner with names, beside its core: checked before it is believed."""

from __future__ import annotations

from typing import Self, TypeVar

import msgspec

from lumpable.base.errors import BadArgument
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.under_way import Pull, count
from lumpable.lumps.use.decisions import Decision
from lumpable.lumps.use.naming import Core, Name, Named
from lumpable.lumps.use.outstanding import Outstanding
from lumpable.lumps.use.rewards import Accepted


class KeptNames(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What every learner with names keeps."""

    contexts: list[Name]
    arms: list[Name]
    open: list[bool]
    listed: bool
    """Whether arms were listed, so that others are not chosen."""
    rewards: str | tuple[float, float] = "any"
    """Which rewards are taken."""

    def wrong(self, core: Levels) -> str:
        """Say what no learner with this core could have kept; nothing if all is well."""
        S, K = len(self.contexts), len(self.arms)
        if core.contexts <= S or max(1, K) != core.arms or len(self.open) != core.arms:
            return f"expected names for {core.contexts} contexts and {core.arms} arms, got {S}, {K}"
        if len(set(self.contexts)) < S or len(set(self.arms)) < K or (K == 0 and any(self.open)):
            return "expected every name once"
        try:
            Accepted.of(self.rewards)
        except ValueError as cause:
            return str(cause)
        return ""

    def named(self, core: Core) -> Named[Core]:
        """Return a core with these names."""
        core.state.allowed[:] = self.open
        return Named(core, self.contexts, self.arms)


class KeptLumps(KeptNames, forbid_unknown_fields=True, kw_only=True):
    """What a `Lumps` keeps."""

    floor: float
    most: int
    made: int
    forgotten: int
    waiting: list[tuple[int, Name, int, float, int]]
    """Id, context, arm, propensity and group of each outstanding decision."""

    @classmethod
    def of(
        cls, named: Named[Core], listed: bool, accepted: Accepted, floor: float, book: Outstanding
    ) -> Self:
        """Gather all that is to be kept."""
        pulls = named.core.under_way
        waiting = [
            (id, each.context, pulls[id].arm, each.propensity, pulls[id].group)
            for id, each in book.waiting.items()
        ]
        return cls(
            contexts=named.contexts.listed, arms=named.arms.listed, open=named.open.tolist(),
            listed=listed, rewards=accepted.given, floor=floor, most=book.most, made=book.made,
            forgotten=book.forgotten, waiting=waiting,
        )  # fmt: skip

    def wrong(self, core: Levels) -> str:
        """Say what no learner with this core could have kept; nothing if all is well."""
        if not 0.0 <= self.floor < 1.0 or not len(self.waiting) <= self.most >= 1:
            return f"expected a floor below 1, got {self.floor}, and at most {self.most} decisions"
        last, K, groups = -1, len(self.arms), len(core.state.pending)
        for id, _, arm, propensity, group in self.waiting:
            if not last < id < self.made or not (0 <= arm < K and 0 <= group < groups):
                return f"expected decisions in order, of known arms and groups, got {id}"
            if not 0.0 < propensity <= 1.0:
                return f"expected propensities in (0, 1], got {propensity}"
            last = id
        if not -1 <= self.forgotten < self.made:
            return "expected only known decisions"
        return super().wrong(core)

    def outstanding(self, named: Named[Core]) -> Outstanding:
        """Return the decisions that wait for their rewards; their pulls are under way again."""
        core, book = named.core, Outstanding(self.most, self.made, self.forgotten)
        for id, context, arm, propensity, group in self.waiting:
            place = named.contexts.number.get(context)
            book.add(Decision(id, context, self.arms[arm], propensity), stranger=place is None)
            core.under_way[id] = Pull(place, arm, group)
        core.state.pending[:] = count(core.under_way, *core.state.pending.shape)
        return book


class KeptFinder(KeptNames, forbid_unknown_fields=True, kw_only=True):
    """What a `PolicyFinder` keeps."""

    epsilon: float
    delta: float
    finished: bool

    def wrong(self, core: Levels) -> str:
        """Say what no learner with this core could have kept; nothing if all is well."""
        if not (0.0 < self.epsilon <= 1e100 and 0.0 < self.delta < 1.0):
            return f"expected an accuracy, got {self.epsilon} and {self.delta}"
        return super().wrong(core)


Kept = TypeVar("Kept", bound=KeptNames)


def checked(kind: type[Kept], extra: dict[str, object], core: Levels, path: object) -> Kept:
    """Return what was kept; what no learner could have kept is an error."""
    try:
        kept = msgspec.convert(extra, kind)
        wrong = kept.wrong(core)
    except msgspec.ValidationError as cause:
        wrong = str(cause)
    if wrong:
        raise BadArgument("path", why=f"{str(path)!r} holds no learner with names: {wrong}")
    return kept
