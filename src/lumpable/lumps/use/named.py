"""The practitioner's learner: names instead of numbers, decisions that wait for their rewards.

`ask` reads, `tell` writes; `decide` and `reward` also remember which rewards are to come. All
learning is done by the core, a learner of numbers; here are names, room and chance. A call that is
interrupted, by Ctrl-C or for want of memory, has done everything or nothing; a fit that is cut off
comes with the next reward.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.lumps.belief import alternatives, beliefs, residuals, summary
from lumpable.lumps.belief.alternatives import Alternative
from lumpable.lumps.belief.beliefs import Expected, Group, Mean, Member
from lumpable.lumps.belief.residuals import Residuals
from lumpable.lumps.core import batches
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.core.under_way import Name
from lumpable.lumps.use import contents, decisions, stored
from lumpable.lumps.use.decisions import Batch, Decision
from lumpable.lumps.use.locking import alone
from lumpable.lumps.use.outstanding import Outstanding, as_decision
from lumpable.lumps.use.registry import FIRST_ROOM, Named, NamedLearner
from lumpable.lumps.use.rewards import rewards_by_id

BELOW_0, BELOW_1 = math.nextafter(0.0, -1.0), math.nextafter(1.0, 0.0)


class Lumps(NamedLearner[ThreeLevels]):
    """Learn what works for whom, and who is alike, from rewards alone. Nothing to tune.

    Contexts (users, sites, tenants) and arms (offers, prompts, solvers) are strings or integers and
    may come at any time. An unknown context is served from what is known of all; asking about it
    leaves no trace. Where arms were listed, by `arms` or `add_arm`, rewards of others count, but
    these arms are not chosen until they are added; without a list, every arm that comes may be
    chosen. Threads may share a learner.

    `floor` is the least probability with which a decision plays each allowed arm, for those who
    evaluate other policies on the log. It costs `floor` times the sum of the allowed arms' gaps to
    the best one in each round; with 0, decisions play the arm with the largest index.

    `rewards` says which rewards are accepted: "any" number, "binary" (0 or 1), or a range, as in
    (0, 5). Others are refused and change nothing.

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
        seed: int = 0,
        outstanding: int = 100_000,
    ) -> None:
        self.floor = checks.real("floor", floor, "a number in [0, 1)", BELOW_0, BELOW_1)
        self._book = Outstanding(checks.whole("outstanding", outstanding, 1))
        core = ThreeLevels(FIRST_ROOM, 1, seed=seed)
        super().__init__(Named.start(core, rewards, contexts, arms))

    def __repr__(self) -> str:
        return f"Lumps: {self._named}, {self.outstanding:,} outstanding"

    @alone
    def forget(self, context: Name) -> None:
        """Forget a context: its rewards, its decisions under way and its name.

        All others keep their rewards; groups are fitted anew, without it.
        """
        named, name = self._named, self._named.contexts.plain(context)
        ids = [id for id, pull in self.core.under_way.items() if pull.context == name]
        if ids and name not in named.contexts.number:  # it has decisions and no rewards
            self._book.change(self.core, drop=ids)
        else:
            self._named = named.without(name)

    # --- Decisions ----------------------------------------------------------------------------

    @alone
    def decide(self, context: Name, allowed: Iterable[Name] | None = None) -> Decision:
        """Choose an arm and remember that its reward is to come: until then, others try it less.

        Retired arms among the allowed ones are left out. Of more than `outstanding` decisions
        without a reward the oldest is forgotten.
        """
        name, mask = self._named.contexts.plain(context), self._mask(allowed)
        best = self.core.ask(self._named.place(name), None if allowed is None else mask)
        return self._book.decide(self._named, self.floor, [name], [best], mask)[0]

    @alone
    def reward(self, decision: Decision | int, value: float) -> None:
        """Report the reward of a decision, or of its id, once.

        Ids count from 0 in each learner. If the learner may have been loaded from an older file
        since, pass the whole decision: one that is not remembered is refused.
        """
        id, pull = self._book.find(self._named, decision)
        number, named = self._named.accepted.one(value), self._named
        if pull.context not in named.contexts.number:
            named.register([pull.context], [])
        place = named.contexts.number[pull.context]
        tell = partial(self.core.tell, place, pull.arm, number)
        self._book.change(self.core, drop=[id], tell=tell)

    @alone
    def cancel(self, decision: Decision | int) -> None:
        """Take back a decision that was not played: it takes no reward any more."""
        self._book.change(self.core, drop=[self._book.find(self._named, decision)[0]])

    @property
    def outstanding(self) -> int:
        """The number of decisions whose reward has not come."""
        return len(self.core.under_way)

    @alone
    def waiting(self) -> list[Decision]:
        """Return the decisions whose reward has not come, the oldest first."""
        pulls = self.core.under_way.items()
        return [as_decision(self._named, id, pull) for id, pull in pulls]

    def _mask(self, allowed: Iterable[Name] | None, *, new: bool = True) -> BoolVector:
        """Return which arms may be chosen with this floor; without a list, also `new` ones."""
        named = self._named
        names = None if allowed is None else named.arms.plains(allowed)
        if new and names is not None and not named.listed:
            arms = named.arms.new(names)
            decisions.check_floor(self.floor, len(arms) + int(named.open.sum()))
            named.register([], arms)
        mask = named.mask(names)
        decisions.check_floor(self.floor, int(np.count_nonzero(mask)))
        return mask

    # --- Tables -------------------------------------------------------------------------------

    @alone
    def ask_many(self, contexts: Iterable[Name], allowed: Iterable[Name] | None = None) -> Batch:
        """Return an arm for each of many contexts, chosen before any reward; changes nothing.

        They do not all try the same arm: each counts as a pull for those after it. With a floor the
        arms are drawn, as decisions are, and the propensities say how.
        """
        named, mask = self._named, self._mask(allowed, new=False)
        names = named.contexts.plains(contexts)
        arms, propensity = decisions.draw_batch(
            self.seed, self.core.tells, names, self._best(names, mask), mask, self.floor
        )
        return Batch(names, [named.arms.listed[j] for j in arms], propensity)

    def _best(self, names: list[Name], mask: BoolVector) -> IntVector:
        places = np.array([self._named.place(name) for name in names], dtype=np.int64)
        return batches.ask_many(self.core, places, mask)

    @alone
    def decide_many(
        self, contexts: Iterable[Name], allowed: Iterable[Name] | None = None
    ) -> list[Decision]:
        """Choose for many contexts at once, as `ask_many` does, and remember each decision."""
        names, mask = self._named.contexts.plains(contexts), self._mask(allowed)
        best = self._best(names, mask).tolist()
        return self._book.decide(self._named, self.floor, names, best, mask)

    @alone
    def reward_many(self, table: Any) -> None:
        """Report the rewards of many decisions: columns id and reward. All count, or none."""
        named = self._named
        ids, values = rewards_by_id(table, named.accepted)
        pulls = [self._book.find(named, id)[1] for id in ids]
        contexts, arms = [pull.context for pull in pulls], [pull.arm for pull in pulls]
        named.register(contexts, [])
        ones = np.ones(len(ids), dtype=np.int64)
        tell = partial(named.tell_rows, contexts, arms, values, ones)
        self._book.change(self.core, drop=ids, tell=tell)

    # --- Beliefs ------------------------------------------------------------------------------

    @alone
    def expected(self, context: Name) -> list[Expected]:
        """Return a row for each arm that may be chosen for a context, the largest index first.

        For an unknown context, this is what is expected of any.
        """
        named, place = self._named, self._named.place(self._named.contexts.plain(context))
        named.mask(None)
        return beliefs.expected(self.core, place, arm_names=named.arms.listed)

    @alone
    def groups(self, level: float = beliefs.LEVEL) -> list[Group]:
        """Return a row for each group: how large it is, its best arm, and how sure both are."""
        arms = self._named.arms.listed
        return beliefs.groups(self.core, level, arm_names=arms) if arms else []

    @alone
    def means(self, level: float = beliefs.LEVEL) -> list[Mean]:
        """Return a row for each group and arm: its mean reward, with an interval."""
        arms = self._named.arms.listed
        return beliefs.means(self.core, level, arm_names=arms) if arms else []

    @alone
    def members(self) -> list[Member]:
        """Return a row for each context that had a reward: its group, how surely, its best arm."""
        contexts, arms = self._named.contexts.listed, self._named.arms.listed
        return beliefs.members(self.core, context_names=contexts, arm_names=arms) if arms else []

    @alone
    def together(self, a: Name, b: Name) -> float:
        """Return the probability that two contexts are in one group."""
        return float(beliefs.together(self.core, self._named.known(a), self._named.known(b)))

    @alone
    def evidence(self) -> list[Alternative]:
        """Return how likely other models make what was seen: more or fewer groups, alike or not."""
        return alternatives.alternatives(self.core)

    @alone
    def summary(self) -> str:
        """Say in a sentence or two what is believed of contexts."""
        return summary.summary(self.core)

    @alone
    def residuals(self) -> Residuals:
        """Check whether the residuals have a direction in common that groups cannot explain."""
        return residuals.residuals(self.core)

    @alone
    def report(self, path: str | Path) -> Path:
        """Write all of this as one page with pictures that needs nothing else (extra `plot`)."""
        from lumpable.reports.pages import belief_page  # brings pictures along

        contexts, arms = self._named.contexts.listed, self._named.arms.listed
        if not arms:
            raise BadArgument("arms", "at least one arm to report on", "none")
        return belief_page.report(
            self.core, path, context_names=contexts, arm_names=arms, contexts_known=len(contexts)
        )

    # --- Files --------------------------------------------------------------------------------

    def _to_save(self) -> dict[str, object]:
        book = self._book
        return {
            "floor": self.floor, "most": book.most, "made": book.made,
            "forgotten": book.forgotten,
            "waiting": [(id, *pull) for id, pull in self.core.under_way.items()],
        }  # fmt: skip

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that `save` wrote: the same next choices, the same decisions outstanding."""
        core, extra = stored.load(path, ThreeLevels)
        saved = contents.read(contents.SavedLumps, extra, core, path)
        lumps = cls(floor=saved.floor)
        lumps._named, lumps._book = saved.named(core), saved.outstanding(core)
        return lumps
