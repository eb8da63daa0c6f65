"""The practitioner's learner: names instead of numbers, decisions that wait for their rewards.

`ask` reads, `tell` writes; `decide` and `reward` also remember what is under way. All that is
learned is learned by the integer core (see `levels`); here are names, room and chance.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np

from lumpable.base import checks
from lumpable.base.checks import BoolVector
from lumpable.base.errors import BadArgument
from lumpable.base.words import counted
from lumpable.lumps import batches, decisions, rewards, stored
from lumpable.lumps.decisions import Awaited, Batch, Decision, Kept, Outstanding
from lumpable.lumps.growth import Name, Named
from lumpable.lumps.levels import ThreeLevels
from lumpable.lumps.rewards import Accepted
from lumpable.lumps.views import Views, alone

BELOW_0, BELOW_1 = math.nextafter(0.0, -1.0), math.nextafter(1.0, 0.0)
FIRST_ROOM = 64
"""Room for so many contexts at first; it doubles when they fill it."""
DECISIONS, BATCHES = 0, 1
"""Streams of chance: decisions by their id, batches by the number of rewards before them."""


class Lumps(Views):
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
        super().__init__(ThreeLevels(FIRST_ROOM, 1, seed=seed))
        self.floor = checks.real("floor", floor, "a number in [0, 1)", BELOW_0, BELOW_1)
        self._accepted = Accepted.of(rewards)
        self._outstanding = Outstanding(checks.whole("outstanding", outstanding, 1))
        self._fit = self.core.fit
        self._named.register(
            self._named.contexts.plains(contexts), self._named.arms.plains(arms), open=True
        )
        self._listed = len(self._named.arms) > 0

    def __repr__(self) -> str:
        numbers = len(self._named.contexts), len(self.arms), self.core.tells
        known = map(counted, numbers, ("context", "arm", "reward"))
        return f"Lumps: {', '.join(known)}, {self.outstanding:,} outstanding"

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
        self._listed = True
        self._register([], [arm])
        self._named.open_or_close(arm, True)

    @alone
    def retire_arm(self, name: Name) -> None:
        """Choose an arm no more. What it taught stays, and rewards under way are still taken."""
        arm = self._named.arms.plain(name)
        if arm not in self._named.arms.number:
            raise BadArgument("arm", "one of those that are known", repr(name))
        self._named.open_or_close(arm, False)

    @alone
    def forget(self, context: Name) -> None:
        """Forget a context: its rewards, its decisions under way and its name, as if never heard.

        All others keep their rewards; groups are fitted anew, without it.
        """
        name = self._named.known(context)
        for decision in self.waiting():
            if decision.context == name:
                self.cancel(decision)
        self._named.forget(name)
        self._recount()

    def _register(self, contexts: Iterable[Name], arms: Iterable[Name]) -> None:
        self._named.register(contexts, arms, open=not self._listed)
        self._fit = self.core.fit  # the same one, perhaps with more arms

    # --- One by one ---------------------------------------------------------------------------

    @alone
    def ask(self, context: Name, allowed: Iterable[Name] | None = None) -> Name:
        """Return the arm with the largest index. Changes nothing: asked twice, answers the same."""
        place = self._named.place(self._named.contexts.plain(context))
        names = None if allowed is None else self._named.arms.plains(allowed)
        with self._named.allowing(self._named.mask(names)) as core:
            return self._named.arms.listed[core.ask(place)]

    @alone
    def tell(self, context: Name, arm: Name, reward: float) -> None:
        """Report the reward of an arm that was played for a context, at any time, in any order."""
        value = self._accepted.one(reward)
        context, arm = self._named.contexts.plain(context), self._named.arms.plain(arm)
        self._register([context], [arm])
        self.core.tell(self._named.place(context), self._named.arms.number[arm], value)
        self._follow()

    @alone
    def decide(self, context: Name, allowed: Iterable[Name] | None = None) -> Decision:
        """Choose an arm and remember that its reward is to come: till then, others try it less.

        Retired arms among the allowed ones are left out. Of more than `outstanding` decisions
        without a reward the oldest is forgotten.
        """
        context, mask = self._named.contexts.plain(context), self._mask(allowed)
        with self._named.allowing(mask) as core:
            best = core.ask(self._named.place(context))
        return self._decided(context, best, mask)

    def _decided(self, context: Name, best: int, mask: BoolVector) -> Decision:
        """Draw the arm of a decision, and remember it."""
        id, place = self._outstanding.made, self._named.place(context)
        u = decisions.uniform(self.seed, DECISIONS, id)
        arm, propensity = decisions.play(best, mask, self.floor, u)
        decision = Decision(id, context, self._named.arms.listed[arm], propensity)
        awaited = Awaited(decision, arm, int(np.argmax(self.core.state.log_weight[place])))
        self._expect(awaited, 1.0)
        oldest = self._outstanding.add(awaited)
        if oldest is not None:
            self._expect(oldest, -1.0)
        return decision

    @alone
    def reward(self, decision: Decision | int, value: float) -> None:
        """Report the reward of a decision, or of its id, once.

        Ids count from 0 in each learner: where one may have been loaded from an older file since,
        hand in the whole decision, and one that is not remembered is refused.
        """
        awaited, number = self._outstanding.find(decision), self._accepted.one(value)
        self._drop(awaited)
        self.tell(awaited.decision.context, awaited.decision.arm, number)

    @alone
    def cancel(self, decision: Decision | int) -> None:
        """Take a decision back that was never played: no reward will come, and none is taken."""
        self._drop(self._outstanding.find(decision))

    def _drop(self, awaited: Awaited) -> None:
        del self._outstanding.waiting[awaited.decision.id]
        self._expect(awaited, -1.0)

    def _expect(self, awaited: Awaited, pulls: float) -> None:
        """Count a decision as a round whose reward is to come, or no more."""
        self.core.state.pending[awaited.group, awaited.arm] += pulls
        self.core.state.group_visits[awaited.group] += pulls

    @property
    def outstanding(self) -> int:
        """The number of decisions whose reward has not come."""
        return len(self._outstanding.waiting)

    @alone
    def waiting(self) -> list[Decision]:
        """Return the decisions whose reward has not come, the oldest first."""
        return [awaited.decision for awaited in self._outstanding.waiting.values()]

    def _mask(self, allowed: Iterable[Name] | None) -> BoolVector:
        """Return which arms may be chosen with this floor; without a list, they may be new."""
        named = self._named
        names = None if allowed is None else named.arms.plains(allowed)
        if names is not None and not self._listed:
            new = [name for name in names if name not in named.arms.number]
            decisions.check_floor(self.floor, len(new) + int(named.open.sum()))
            self._register([], new)
        mask = named.mask(names)
        decisions.check_floor(self.floor, int(mask.sum()))
        return mask

    def _follow(self) -> None:
        """After a fit, count what is outstanding in the groups that there are now."""
        if self.core.fit is not self._fit:
            self._recount()

    def _recount(self) -> None:
        self._fit, state = self.core.fit, self.core.state
        waiting = self._outstanding.waiting.values()
        places = [self._named.place(awaited.decision.context) for awaited in waiting]
        group = np.argmax(state.log_weight, axis=1)
        for awaited, place in zip(waiting, places, strict=True):
            awaited.group = int(group[place])
        self._outstanding.count(state.pending)
        state.group_visits[:] += state.pending.sum(axis=1)

    # --- Tables -------------------------------------------------------------------------------

    @alone
    def ask_many(self, contexts: Iterable[Name], allowed: Iterable[Name] | None = None) -> Batch:
        """Return an arm for each of many contexts, chosen before any reward; changes nothing.

        They do not all try the same arm: each counts as a pull for those after it. With a floor the
        arms are drawn, as decisions are, and the propensities say how.
        """
        names = self._named.contexts.plains(contexts)
        wanted = None if allowed is None else self._named.arms.plains(allowed)
        mask = self._named.mask(wanted)
        decisions.check_floor(self.floor, int(mask.sum()))
        places = np.array([self._named.place(name) for name in names], dtype=np.int64)
        with self._named.allowing(mask) as core:
            arms = batches.ask_many(core, places)
        propensity, turns = np.ones(len(arms)), dict[Name, int]()
        for row in range(len(arms) if self.floor > 0.0 else 0):
            turn = turns[names[row]] = turns.get(names[row], -1) + 1
            u = decisions.uniform(self.seed, BATCHES + core.tells, decisions.luck(names[row], turn))
            arms[row], propensity[row] = decisions.play(int(arms[row]), mask, self.floor, u)
        return Batch(names, [self._named.arms.listed[j] for j in arms], propensity)

    @alone
    def decide_many(
        self, contexts: Iterable[Name], allowed: Iterable[Name] | None = None
    ) -> list[Decision]:
        """Choose for many contexts at once, as `ask_many` does, and remember each decision."""
        names, mask = self._named.contexts.plains(contexts), self._mask(allowed)
        places = np.array([self._named.place(name) for name in names], dtype=np.int64)
        with self._named.allowing(mask) as core:
            arms = batches.ask_many(core, places)
        return [self._decided(name, int(j), mask) for name, j in zip(names, arms, strict=True)]

    @alone
    def reward_many(self, table: Any) -> None:
        """Report the rewards of many decisions: columns id and reward. All are taken, or none."""
        ids, values = rewards.rewards_by_id(table, self._accepted)
        awaited = [self._outstanding.find(id) for id in ids]
        for each in awaited:
            self._drop(each)
        made = [each.decision for each in awaited]
        context, arm = [each.context for each in made], [each.arm for each in made]
        self.tell_many({"context": context, "arm": arm, "reward": values})

    @alone
    def tell_many(self, table: Any) -> None:
        """Report a table of rewards: any frame, a mapping of columns, or a list of rows.

        Columns: context, arm, reward and, where rows stand for several equal rewards, count.
        """
        told, named = rewards.rewards_of(table, self._accepted), self._named
        contexts, arms = named.contexts.plains(told.context), named.arms.plains(told.arm)
        self._register(contexts, arms)
        place = np.array([named.contexts.number[name] for name in contexts], dtype=np.int64)
        arm = np.array([named.arms.number[name] for name in arms], dtype=np.int64)
        batches.tell_many(self.core, place, arm, told.reward, told.count)
        self._follow()

    # --- Files --------------------------------------------------------------------------------

    @alone
    def save(self, path: str | Path) -> None:
        """Write everything to a file; the old one stays whole until the new one is."""
        names = self._named.contexts.listed, self._named.arms.listed
        kept = Kept.of(
            *names, self._named.open.tolist(), self._listed, self.floor, self._outstanding,
            self._accepted.given,
        )  # fmt: skip
        stored.save(self.core, path, msgspec.to_builtins(kept))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that `save` wrote: the same next choices, and rewards are still taken."""
        core, extra = stored.load(path)
        try:
            kept = msgspec.convert(extra, Kept)
            wrong = kept.wrong(core.contexts, core.arms, len(core.state.pending))
            Accepted.of(kept.rewards)
        except (msgspec.ValidationError, ValueError) as cause:
            wrong = str(cause)
        if wrong:
            raise BadArgument("path", why=f"{str(path)!r} holds no learner with names: {wrong}")
        lumps = cls(floor=kept.floor, rewards=kept.rewards)
        lumps._named, lumps._outstanding = Named(core), kept.outstanding()
        lumps._register(kept.contexts, kept.arms)
        lumps._listed = kept.listed
        lumps._named.open[:] = core.state.allowed[:] = kept.open
        lumps._outstanding.count(core.state.pending)
        return lumps
