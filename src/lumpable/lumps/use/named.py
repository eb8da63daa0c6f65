"""The practitioner's learner: names instead of numbers, decisions that wait for their rewards.

`ask` reads, `tell` writes; `decide` and `reward` also remember which rewards are to come. All
learning is done by the core, a learner of numbers; here are names, room and chance. A call that is
interrupted, by Ctrl-C or for want of memory, has done everything or nothing; a fit that is cut off
comes with the next reward.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolVector
from lumpable.base.units import Name
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.core.under_way import Pull
from lumpable.lumps.use import contents, decisions, stored
from lumpable.lumps.use.advising import AdvisingLearner
from lumpable.lumps.use.choosing import choose_many
from lumpable.lumps.use.decisions import Batch, Decision
from lumpable.lumps.use.ids import Id
from lumpable.lumps.use.limits import AtMost, Limits, Shown
from lumpable.lumps.use.locking import alone
from lumpable.lumps.use.outstanding import Outstanding
from lumpable.lumps.use.registry import FIRST_ROOM, Coming, Named
from lumpable.lumps.use.rewards import rewards_by_id
from lumpable.lumps.use.versions import stamp_of
from lumpable.lumps.use.wild import surprise

Chosen = TypeVar("Chosen")
BELOW_0, BELOW_1 = math.nextafter(0.0, -1.0), math.nextafter(1.0, 0.0)


class Lumps(AdvisingLearner):
    """Learn what works for whom, and who is alike, from rewards alone. Nothing to tune.

    Contexts (users, sites, tenants) and arms (offers, prompts, solvers) are strings or integers and
    may come at any time. An unknown context is served from what is known of all; asking about it
    leaves no trace. If arms were listed, by `arms` or `add_arm`, others are refused, as they may
    be typos; without a list, or with `new_arms`, every arm that comes may be chosen. Threads may
    share a learner. A copy goes on by itself: it knows the decisions that were outstanding, and
    gives its own ones ids with a tag of their own.

    `floor` is the least probability with which a decision plays each allowed arm, for those who
    evaluate other policies on the log. It costs `floor` times the sum of the allowed arms' gaps to
    the best one in each round; with 0, decisions play the arm with the largest index.

    `rewards` are the accepted rewards: "any" number, "binary" (0 or 1), or a range, as in
    (0, 5). Others are refused and change nothing. Numbers closer to 0 than 1e-100 count as 0.

    `at_most` says how often an arm may be shown to one context, as a number for all arms or a
    mapping from arms to numbers. Rewards and decisions outstanding count, cancelled ones do not.

    >>> lumps = Lumps(arms=["red", "green"], rewards="binary")
    >>> lumps.tell("ann", "green", 1.0)
    >>> lumps.tell("ann", "red", 0.0)
    >>> choice = lumps.decide("bob")
    >>> choice.arm, choice.propensity
    ('green', 1.0)
    >>> lumps.reward(choice.id, 1.0)
    >>> lumps
    Lumps: 2 contexts, 2 arms, 3 rewards, 0 outstanding
    """

    def __init__(
        self,
        arms: Iterable[Name] = (),
        contexts: Iterable[Name] = (),
        *,
        floor: float = 0.0,
        rewards: str | tuple[float, float] = "any",
        at_most: int | Mapping[Name, int] | None = None,
        new_arms: bool = False,
        seed: int = 0,
        max_outstanding: int = 100_000,
    ) -> None:
        self.floor = checks.real("floor", floor, "a number in [0, 1)", BELOW_0, BELOW_1)
        self._book = Outstanding(checks.whole("max_outstanding", max_outstanding, 1))
        core = ThreeLevels(FIRST_ROOM, 1, seed=seed)
        super().__init__(Named.start(core, rewards, contexts, arms, new_arms=new_arms))
        named = self._named
        self._at_most = AtMost.of(at_most, named.arms, closed=named.closed)

    def __repr__(self) -> str:
        return f"Lumps: {self._named}, {self.outstanding:,} outstanding"

    @alone
    def forget(self, context: Name) -> None:
        """Forget a context: its rewards, its decisions under way and its name.

        All others keep their rewards; groups are fitted anew, without it.
        """
        named, name = self._named, self._named.contexts.plain(context)
        own = [number for number, pull in self.core.under_way.items() if pull.context == name]
        if own and name not in named.contexts.number:  # it has decisions and no rewards
            self._book.change(self.core, drop=own)
        else:
            self._named = named.without(name)

    # --- Decisions ----------------------------------------------------------------------------

    @alone
    def ask(self, context: Name, allowed: Iterable[Name] | None = None) -> Name:
        """Return the arm to play for a context now, of those that are allowed.

        It explores: the arm may be one that is worth a try (`best` says which is believed best).
        Changes nothing: asked twice, it answers the same.
        """
        named, name = self._named, self._named.contexts.plain(context)
        choices = self._left(name, named.mask(allowed))
        return named.arms.listed[self._ask(name, choices)]

    @alone
    def decide(self, context: Name, allowed: Iterable[Name] | None = None) -> Decision:
        """Choose an arm and remember that its reward is to come: until then, others try it less.

        Retired arms among the allowed ones are left out. Of more than `max_outstanding` decisions
        without a reward the oldest is forgotten.
        """
        name = self._named.contexts.plain(context)
        return self._among(allowed, partial(self._decide, name))

    def _decide(self, name: Name, mask: BoolVector) -> Decision:
        choices, propensity = self._left(name, mask), 1.0
        decisions.check_floor(self.floor, choices)
        arm = self._ask(name, choices)
        if self.floor > 0.0:
            u = self._book.chances(self.seed, 1)[0]
            arm, propensity = decisions.draw_arm(arm, choices, self.floor, u)
        return self._book.decide(self._named, [(name, arm, propensity)])[0]

    @alone
    def reward(self, decision: Decision | Id, value: float) -> None:
        """Report the reward of a decision, or of its id, once.

        An id names its learner: those of others are refused. If the learner may have been loaded
        from an older file since, pass the whole decision: one that is not remembered is refused.
        """
        number, pull = self._book.find(self._named, decision)
        reward, named = self._named.one(value), self._named
        if pull.context in named.contexts.number:
            self._reward(number, pull, reward)
            return
        with Coming(named):
            named.register([pull.context], [])
            self._reward(number, pull, reward)

    def _reward(self, number: int, pull: Pull, reward: float) -> None:
        place = self._named.contexts.number[pull.context]
        tell = partial(self.core.tell, place, pull.arm, reward)
        self._book.change(self.core, drop=[number], tell=tell)

    @alone
    def cancel(self, decision: Decision | Id) -> None:
        """Take back a decision that was not played: it takes no reward any more."""
        self._book.change(self.core, drop=[self._book.find(self._named, decision)[0]])

    @property
    def at_most(self) -> int | dict[Name, int] | None:
        """How often an arm may be shown to one context; None: as often as it is chosen."""
        return None if self._at_most is None else self._at_most.given

    @property
    def outstanding(self) -> int:
        """The number of decisions whose reward has not come."""
        return len(self.core.under_way)

    @property
    def forgotten(self) -> int:
        """The number of decisions that were forgotten, as too many were outstanding."""
        return self._book.lost

    @alone
    def waiting(self) -> list[Decision]:
        """Return the decisions whose reward has not come, the oldest first."""
        pulls = self.core.under_way.items()
        return [self._book.as_decision(self._named, number, pull) for number, pull in pulls]

    def _among(
        self, allowed: Iterable[Name] | None, choose: Callable[[BoolVector], Chosen]
    ) -> Chosen:
        """Choose by the arms that may be chosen; without a list of arms, new ones come with it."""
        named = self._named
        names = None if allowed is None else named.arms.plains(allowed)
        arms = [] if names is None or named.closed else named.arms.new(names)
        if not arms:
            return choose(named.mask(names))
        with Coming(named):
            decisions.check_floor(self.floor, named.open, len(arms))
            named.register([], arms)
            return choose(named.mask(names))

    def _limits(self) -> Limits | None:
        if self._at_most is None:
            return None
        if self._book.shown is None:
            self._book.shown = Shown()
        return Limits(self._at_most, self.core, self._named.arms, self._book.shown)

    def _open_to(self, names: Sequence[Name], mask: BoolVector) -> list[BoolVector]:
        limits = self._limits()
        if limits is None:
            return super()._open_to(names, mask)
        return [mask & (limits.room(name) >= 1.0) for name in names]

    def _left(self, name: Name, mask: BoolVector) -> BoolVector:
        """Return which of these arms may still be shown to a context."""
        limits = None if self._at_most is None else self._limits()
        return mask if limits is None else limits.left(name, mask)

    def _ask(self, name: Name, choices: BoolVector) -> int:
        """Return the arm that the core plays for a context."""
        allowed = None if choices is self._named.open else choices
        return self.core.ask(self._named.place(name), allowed)

    # --- Tables -------------------------------------------------------------------------------

    @alone
    def ask_many(self, contexts: Iterable[Name], allowed: Iterable[Name] | None = None) -> Batch:
        """Return an arm for each of many contexts, chosen before any reward; changes nothing.

        They do not all try the same arm: each counts as a pull for those after it. With a floor the
        arms are drawn, as decisions are, and the propensities say how.
        """
        named, mask = self._named, self._named.mask(allowed)
        names = named.contexts.plains(contexts)
        chance = decisions.chances(self.seed, self.core.tells, names) if self.floor > 0.0 else []
        arms, propensity = choose_many(named, self._limits(), names, mask, self.floor, chance)
        return Batch(names, [named.arms.listed[j] for j in arms], propensity)

    @alone
    def decide_many(
        self, contexts: Iterable[Name], allowed: Iterable[Name] | None = None
    ) -> list[Decision]:
        """Choose for many contexts at once, as `ask_many` does, and remember each decision."""
        names = self._named.contexts.plains(contexts)
        return self._among(allowed, partial(self._decide_many, names))

    def _decide_many(self, names: list[Name], mask: BoolVector) -> list[Decision]:
        chance = self._book.chances(self.seed, len(names)) if self.floor > 0.0 else []
        arms, propensity = choose_many(self._named, self._limits(), names, mask, self.floor, chance)
        rows = list(zip(names, arms.tolist(), propensity.tolist(), strict=True))
        return self._book.decide(self._named, rows)

    @alone
    def reward_many(self, table: Any) -> None:
        """Report the rewards of many decisions: columns id and reward. All count, or none.

        An error names every id that takes no reward, and its row.
        """
        named = self._named
        ids, values = rewards_by_id(table, named.accepted)
        named.notice(surprise(self.core, values))
        found = self._book.find_all(named, ids)
        contexts, arms = [pull.context for _, pull in found], [pull.arm for _, pull in found]
        ones = np.ones(len(ids), dtype=np.int64)
        tell = partial(named.tell_rows, contexts, arms, values, ones)
        with Coming(named):
            named.register(contexts, [])
            self._book.change(self.core, drop=[number for number, _ in found], tell=tell)

    # --- Files --------------------------------------------------------------------------------

    def _to_save(self) -> dict[str, object]:
        book, limits = self._book, self.at_most
        return {
            "floor": self.floor, "most": book.most, "made": book.made,
            "forgotten": book.forgotten, "lost": book.lost, "tags": book.tags.since,
            "waiting": [(number, *pull) for number, pull in self.core.under_way.items()],
            "at_most": list(limits.items()) if isinstance(limits, dict) else limits,
        }  # fmt: skip

    def _part(self) -> None:
        self._book.tags.part(self._book.made)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that `save` wrote: the same next choices, the same decisions outstanding."""
        stamp = stamp_of(path)
        core, extra = stored.load(path, ThreeLevels)
        saved = contents.read(contents.SavedLumps, extra, core, path)
        lumps = cls(floor=saved.floor, at_most=saved.limits)
        lumps._named, lumps._book = saved.named(core), saved.outstanding(core)
        lumps._files.know(path, stamp)
        return lumps
