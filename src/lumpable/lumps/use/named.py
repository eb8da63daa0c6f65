"""The practitioner's learner: names instead of numbers, decisions that wait for their rewards.

`ask` reads, `tell` writes; `decide` and `reward` also remember what is under way. All that is
learned is learned by the core, a learner of numbers; here are names, room and chance. A call that
is interrupted, by Ctrl-C or for want of memory, has done all it should or nothing; a fit that is
cut off comes with the next reward.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np

from lumpable.base import checks
from lumpable.base.checks import BoolVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.base.words import counted
from lumpable.lumps.belief import alternatives, beliefs, residuals, summary
from lumpable.lumps.belief.alternatives import Alternative
from lumpable.lumps.belief.beliefs import Expected, Group, Mean, Member
from lumpable.lumps.belief.residuals import Residuals
from lumpable.lumps.core import batches
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.lumps.use import decisions, kept, rewards, stored
from lumpable.lumps.use.decisions import DECISIONS, Batch, Decision
from lumpable.lumps.use.locking import Lock, alone
from lumpable.lumps.use.naming import FIRST_ROOM, Name, Named
from lumpable.lumps.use.outstanding import Made, Outstanding, change
from lumpable.lumps.use.rewards import Accepted

BELOW_0, BELOW_1 = math.nextafter(0.0, -1.0), math.nextafter(1.0, 0.0)


class Lumps:
    """Learn what works for whom, and who is alike, from rewards alone. Nothing to tune.

    Contexts (users, sites, tenants) and arms (offers, prompts, solvers) are strings or integers and
    may come at any time. A context that nobody has heard of is served from what is known of all;
    asking about it leaves no trace. Where arms were listed, by `arms` or `add_arm`, others that
    are told of teach, but are not chosen until they are added; without a list, arms are taken as
    they come. Threads may share a learner.

    `floor` is the least probability with which a decision plays each allowed arm, for those who
    evaluate other policies on the log. It costs `floor` times the sum of the allowed arms' gaps to
    the best one in each round; with 0, decisions play the arm with the largest index.

    `rewards` says which rewards are taken: "any" number, "binary" (0 or 1), or those from a least
    to a largest one, as in (0, 5). Others are refused and change nothing.

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
        self._lock = Lock()
        self._accepted = Accepted.of(rewards)
        self._book = Outstanding(checks.whole("outstanding", outstanding, 1))
        self._named = Named(ThreeLevels(FIRST_ROOM, 1, seed=seed))
        names = self._named.contexts.plains(contexts), self._named.arms.plains(arms)
        self._named.register(*names, open=True)
        self._listed = len(self._named.arms) > 0

    def __repr__(self) -> str:
        numbers = len(self._named.contexts), len(self.arms), self.core.tells
        known = map(counted, numbers, ("context", "arm", "reward"))
        return f"Lumps: {', '.join(known)}, {self.outstanding:,} outstanding"

    @property
    def core(self) -> ThreeLevels:
        """The learner of numbers that learns for this one; read it, do not tell it."""
        return self._named.core

    @property
    def seed(self) -> int:
        """The seed of ties and of decisions."""
        return self.core.seed

    # --- Names --------------------------------------------------------------------------------

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
        self._named.register([], [arm], open=True)
        self._named.open[self._named.arms.number[arm]] = True
        self._listed = True

    @alone
    def retire_arm(self, name: Name) -> None:
        """Choose an arm no more. What it taught stays, and rewards under way are still taken."""
        self._named.retire(name)

    @alone
    def forget(self, context: Name) -> None:
        """Forget a context: its rewards, its decisions under way and its name, as if never heard.

        All others keep their rewards; groups are fitted anew, without it.
        """
        name = self._named.contexts.plain(context)
        if name in self._book.strangers:  # it has decisions and no rewards
            change(self.core, self._book, drop=self._book.of(name))
            return
        named = self._named.without(self._named.known(name))
        book = self._book.without(self._book.of(name))
        vars(self).update(_named=named, _book=book)  # both, or none of them

    def _register(self, contexts: Iterable[Name], arms: Iterable[Name]) -> None:
        for name in self._named.register(contexts, arms, open=not self._listed):
            for id in self._book.strangers.pop(name, ()):
                self.core.meet(id, self._named.contexts.number[name])

    # --- One by one ---------------------------------------------------------------------------

    @alone
    def ask(self, context: Name, allowed: Iterable[Name] | None = None) -> Name:
        """Return the arm with the largest index. Changes nothing: asked twice, answers the same."""
        return self._named.best(context, allowed)

    @alone
    def tell(self, context: Name, arm: Name, reward: float) -> None:
        """Report the reward of an arm that was played for a context, at any time, in any order."""
        value = self._accepted.one(reward)
        context, arm = self._named.contexts.plain(context), self._named.arms.plain(arm)
        if not self._named.has(context, arm):
            self._register([context], [arm])
        self.core.tell(self._named.contexts.number[context], self._named.arms.number[arm], value)

    @alone
    def decide(self, context: Name, allowed: Iterable[Name] | None = None) -> Decision:
        """Choose an arm and remember that its reward is to come: till then, others try it less.

        Retired arms among the allowed ones are left out. Of more than `outstanding` decisions
        without a reward the oldest is forgotten.
        """
        name, mask = self._named.contexts.plain(context), self._mask(allowed)
        best = self.core.ask(self._named.place(name), None if allowed is None else mask)
        return self._decide([name], [best], mask)[0]

    def _decide(
        self, contexts: list[Name], best: Iterable[int], mask: BoolVector
    ) -> list[Decision]:
        """Draw the arms of decisions, and remember them."""
        made, named = [], self._named
        for id, (context, j) in enumerate(zip(contexts, best, strict=True), self._book.made):
            u = decisions.uniform(self.seed, DECISIONS, id)
            arm, propensity = decisions.draw_arm(j, mask, self.floor, u)
            decision = Decision(id, context, named.arms.listed[arm], propensity)
            made.append(Made(decision, named.contexts.number.get(context), arm))
        change(self.core, self._book, add=made)
        return [each.decision for each in made]

    @alone
    def reward(self, decision: Decision | int, value: float) -> None:
        """Report the reward of a decision, or of its id, once.

        Ids count from 0 in each learner: where one may have been loaded from an older file since,
        hand in the whole decision, and one that is not remembered is refused.
        """
        made, number = self._book.find(decision), self._accepted.one(value)
        if not self._named.has(made.context, made.arm):
            self._register([made.context], [made.arm])
        named = self._named
        place, arm = named.contexts.number[made.context], named.arms.number[made.arm]
        tell = partial(self.core.tell, place, arm, number)
        change(self.core, self._book, drop=[made.id], tell=tell)

    @alone
    def cancel(self, decision: Decision | int) -> None:
        """Take a decision back that was never played: no reward will come, and none is taken."""
        change(self.core, self._book, drop=[self._book.find(decision).id])

    @property
    def outstanding(self) -> int:
        """The number of decisions whose reward has not come."""
        return len(self._book.waiting)

    @alone
    def waiting(self) -> list[Decision]:
        """Return the decisions whose reward has not come, the oldest first."""
        return list(self._book.waiting.values())

    def _mask(self, allowed: Iterable[Name] | None) -> BoolVector:
        """Return which arms may be chosen with this floor; without a list, they may be new."""
        named = self._named
        names = None if allowed is None else named.arms.plains(allowed)
        if names is not None and not self._listed:
            new = named.arms.new(names)
            decisions.check_floor(self.floor, len(new) + int(named.open.sum()))
            self._register([], new)
        mask = named.mask(names)
        decisions.check_floor(self.floor, int(mask.sum()))
        return mask

    # --- Tables -------------------------------------------------------------------------------

    @alone
    def ask_many(self, contexts: Iterable[Name], allowed: Iterable[Name] | None = None) -> Batch:
        """Return an arm for each of many contexts, chosen before any reward; changes nothing.

        They do not all try the same arm: each counts as a pull for those after it. With a floor the
        arms are drawn, as decisions are, and the propensities say how.
        """
        names, named = self._named.contexts.plains(contexts), self._named
        mask = named.mask(None if allowed is None else named.arms.plains(allowed))
        decisions.check_floor(self.floor, int(mask.sum()))
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
        return self._decide(names, self._best(names, mask).tolist(), mask)

    @alone
    def reward_many(self, table: Any) -> None:
        """Report the rewards of many decisions: columns id and reward. All are taken, or none."""
        ids, values = rewards.rewards_by_id(table, self._accepted)
        made = [self._book.find(id) for id in ids]
        context, arm = [each.context for each in made], [each.arm for each in made]
        self._register(context, arm)
        tell = partial(self._tell_rows, context, arm, values, np.ones(len(ids), dtype=np.int64))
        change(self.core, self._book, drop=ids, tell=tell)

    @alone
    def tell_many(self, table: Any) -> None:
        """Report a table of rewards: any frame, a mapping of columns, or a list of rows.

        Columns: context, arm, reward and, where rows stand for several equal rewards, count.
        """
        rows, named = rewards.rewards_of(table, self._accepted), self._named
        contexts, arms = named.contexts.plains(rows.context), named.arms.plains(rows.arm)
        self._register(contexts, arms)
        self._tell_rows(contexts, arms, rows.reward, rows.count)

    def _tell_rows(self, contexts: list[Name], arms: list[Name], reward: Any, count: Any) -> None:
        named = self._named
        place = np.array([named.contexts.number[name] for name in contexts], dtype=np.int64)
        arm = np.array([named.arms.number[name] for name in arms], dtype=np.int64)
        batches.tell_many(self.core, place, arm, reward, count)

    # --- Beliefs ------------------------------------------------------------------------------

    @alone
    def expected(self, context: Name) -> list[Expected]:
        """Return a row for each arm that may be chosen for a context, the largest index first.

        Of a context that nobody has heard of it says what is expected of anybody.
        """
        named = self._named
        place = named.place(named.contexts.plain(context))
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
        places = [self._named.contexts.number[self._named.known(name)] for name in (a, b)]
        return float(beliefs.together(self.core, *places))

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
        known = len(contexts)
        return belief_page.report(
            self.core, path, context_names=contexts, arm_names=arms, contexts_known=known
        )

    # --- Files --------------------------------------------------------------------------------

    @alone
    def save(self, path: str | Path) -> None:
        """Write everything to a file; the old one stays whole until the new one is."""
        extra = kept.KeptLumps.of(self._named, self._listed, self._accepted, self.floor, self._book)
        stored.save(self.core, path, msgspec.to_builtins(extra))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that `save` wrote: the same next choices, and rewards are still taken."""
        core, extra = stored.load(path, ThreeLevels)
        found = kept.checked(kept.KeptLumps, extra, core, path)
        lumps = cls(floor=found.floor, rewards=found.rewards)
        lumps._named = found.named(core)
        lumps._book, lumps._listed = found.outstanding(lumps._named), found.listed
        return lumps
