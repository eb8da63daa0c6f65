"""What a file holds of a learner with names, beside its core: checked before it is used."""

from __future__ import annotations

import re
from typing import Annotated, TypeVar

import msgspec

from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.lumps.core.learning import Levels
from lumpable.lumps.core.under_way import Pull
from lumpable.lumps.use.outstanding import Outstanding
from lumpable.lumps.use.registry import Core, Named
from lumpable.lumps.use.rewards import Accepted

TAG = re.compile(r"[a-z0-9]*")
Times = Annotated[int, msgspec.Meta(ge=1)]


class SavedNames(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What is saved of every learner with names."""

    contexts: list[Name]
    arms: list[Name]
    open: list[bool]
    listed: bool
    new_arms: bool = False
    rewards: str | tuple[float, float] = "any"

    def wrong(self, core: Levels) -> str:
        """Say what no learner with this core could have saved; nothing if all is well."""
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
        accepted = Accepted.of(self.rewards)
        return Named(
            core, accepted, self.contexts, self.arms, listed=self.listed, new_arms=self.new_arms
        )


class SavedLumps(SavedNames, forbid_unknown_fields=True, kw_only=True):
    """What is saved of a `Lumps`."""

    floor: float
    most: int
    made: int
    forgotten: int
    waiting: list[tuple[int, Name, int, float, int]]
    """Number, context, arm, propensity and group of each outstanding decision."""
    lost: int = 0
    tags: tuple[tuple[int, str], ...] = ((0, ""),)
    """From which number on decisions have which tag; "" is none, as in older files."""
    at_most: Times | list[tuple[Name, Times]] | None = None

    def wrong(self, core: Levels) -> str:
        """Say what no learner with this core could have saved; nothing if all is well."""
        if not 0.0 <= self.floor < 1.0 or not len(self.waiting) <= self.most >= 1:
            return f"expected a floor below 1, got {self.floor}, and at most {self.most} decisions"
        last, K, groups = -1, len(self.arms), len(core.state.pending)
        for id, _, arm, propensity, group in self.waiting:
            if not last < id < self.made or not (0 <= arm < K and 0 <= group < groups):
                return f"expected decisions in order, of known arms and groups, got {id}"
            if not 0.0 < propensity <= 1.0:
                return f"expected propensities in (0, 1], got {propensity}"
            last = id
        if not -1 <= self.forgotten < self.made or not 0 <= self.lost <= self.made:
            return "expected only known decisions"
        first = [number for number, _ in self.tags]
        rising = first == sorted(set(first)) and first[:1] == [0] and first[-1] <= self.made
        if not rising or not all(TAG.fullmatch(tag) for _, tag in self.tags):
            return f"expected tags of decisions, got {self.tags}"
        return super().wrong(core)

    def outstanding(self, core: Levels) -> Outstanding:
        """Return the counters of decisions, whose pulls are under way in the core again."""
        pulls = {row[0]: Pull(*row[1:]) for row in self.waiting}
        core.recover(pulls, core.state.group_visits)
        book = Outstanding(self.most, self.made, self.forgotten, self.lost, self.tags)
        if self.tags[-1][1] == "":
            book.tags.part(self.made)
        return book

    @property
    def limits(self) -> int | dict[Name, int] | None:
        """What `Lumps` takes as `at_most`."""
        return dict(self.at_most) if isinstance(self.at_most, list) else self.at_most


class SavedBeliever(SavedNames, forbid_unknown_fields=True, kw_only=True):
    """What is saved of a learner behind a log."""

    waiting: list[tuple[int, Name, int, float, int]]
    """As of a `Lumps`; their numbers are those of the log."""
    ledger: msgspec.Raw
    """What else the log came to."""

    def wrong(self, core: Levels) -> str:
        """Say what no learner with this core could have saved; nothing if all is well."""
        K, groups = len(self.arms), len(core.state.pending)
        for id, _, arm, _, group in self.waiting:
            if not (id > 0 and 0 <= arm < K and 0 <= group < groups):
                return f"expected decisions of known arms and groups, got {id}"
        return super().wrong(core)

    def believing(self, core: Core) -> Named[Core]:
        """Return a core with its names and its pulls under way."""
        core.recover({row[0]: Pull(*row[1:]) for row in self.waiting}, core.state.group_visits)
        return self.named(core)


class SavedFinder(SavedNames, forbid_unknown_fields=True, kw_only=True):
    """What is saved of a `PolicyFinder`."""

    epsilon: float
    delta: float
    finished: bool

    def wrong(self, core: Levels) -> str:
        """Say what no learner with this core could have saved; nothing if all is well."""
        if not (0.0 < self.epsilon <= 1e100 and 0.0 < self.delta < 1.0):
            return f"expected an accuracy, got {self.epsilon} and {self.delta}"
        return super().wrong(core)


Saved = TypeVar("Saved", bound=SavedNames)


def read(kind: type[Saved], extra: dict[str, object], core: Levels, path: object) -> Saved:
    """Return what a file holds beside the core; what no learner could have saved is an error."""
    try:
        saved = msgspec.convert(extra, kind)
        wrong = saved.wrong(core)
    except msgspec.ValidationError as cause:
        wrong = str(cause)
    if wrong:
        raise BadArgument("path", why=f"{str(path)!r} holds no learner with names: {wrong}")
    return saved
