"""What policies are worth on a log: fitted on one half of the events, judged on the other.

Both ways round, so that no event judges a policy or a model that saw it. Halves are cut by coins
with a fixed seed, event by event, so that most users are in both.

The direct method asks no event, only a model: that of all events. A half's own model would praise
the policy that it chose, and the other half's would not know why it was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.base.units import Name
from lumpable.base.words import number
from lumpable.learners.learner import LARGEST
from lumpable.lumps.belief.drawn import own_variance
from lumpable.lumps.belief.posterior import Posterior, posterior_now
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.tables import off_policy
from lumpable.tables.events import Events
from lumpable.tables.normal_law import terms_needed
from lumpable.tables.off_policy import DIRECT, IPS, ROBUST, SNIPS, Fold, PolicyEstimate, Weights
from lumpable.tables.telling import tell

CUT = 37
"""The stream of chance that cuts events into halves."""
CELLS = 10**7
"""Means of users and items that are held at once."""
FEW = 100.0
"""Weights that tell as much as fewer equal ones than this are worth a warning, ..."""
HEAVY = 0.05
"""... and so is one event with more than this part of all weight."""
WRONG = 5.0
"""Weights whose mean is so many standard errors from 1 are not due to chance."""
FEWEST = 4
"""Events that judge a policy, at least."""
BELOW_1 = math.nextafter(1.0, 0.0)
WITHOUT = (
    "Without propensities nothing can be said of a policy but what the model says: IPS, SNIPS and "
    "the doubly robust method need the probability with which each item was chosen. The direct "
    "method remains. It is biased if the model is wrong, or if what users were shown depended on "
    "something that also moves their rewards and that the log does not name."
)
Chooser = Callable[[ThreeLevels, IntVector], IntVector]
"""From a model and numbers of users to numbers of items."""


@dataclass(frozen=True, slots=True)
class Value:
    """What a policy is worth per event, and what it earns more than one item for all."""

    policy: str
    estimates: tuple[PolicyEstimate, ...]
    lift: tuple[PolicyEstimate, ...]
    """Over one item for all, chosen on the other half as well."""
    logged: PolicyEstimate
    """What the events earned as they were."""
    weights: Weights | None
    """None without propensities."""
    level: float
    notes: tuple[str, ...]
    """Which bounds were used, what to beware of, and what cannot be said."""


def value_of(
    events: Events, whole: ThreeLevels, policy: Mapping[Name, Name] | None, level: float
) -> Value:
    """Judge a policy on a log; None: the learned one, each user's own best item.

    `whole` is a learner that was told all of these events.
    """
    level = checks.real("level", level, "a probability in (0, 1)", 0.0, BELOW_1)
    if len(events) < FEWEST:
        got = f"{len(events)}"
        raise BadArgument("source", f"at least {FEWEST} events to judge a policy", got)
    given = None if policy is None else _numbers(events, policy)
    halves = _halves(events)
    cores = [_learner_of(events, times) for times in halves]
    judged = _Judged(events, whole)
    for times, core in zip(halves, cores[::-1], strict=True):
        items = _best_each(core, len(events.users)) if given is None else given
        judged.add(core, times, items, np.full(len(items), _best_for_all(core, events)))
    who, what = events.columns.words
    words = f"each {who}'s own {what}" if policy is None else "the given policy"
    return _judge(judged, words, level)


def _judge(judged: _Judged, words: str, level: float) -> Value:
    events, own, one = judged.events, judged.own, judged.one
    logged = off_policy.mean_logged(own, level)
    methods = (DIRECT,) if events.propensity is None else (IPS, SNIPS, DIRECT, ROBUST)
    value = off_policy.estimates(own, None, level, methods, judged.doubt())
    lift = off_policy.estimates(own, one, level, methods, judged.doubt(more=True))
    few = [*_untrusted_intervals({"value": value, "lift": lift, "": [logged]}, level)]
    if events.propensity is None:
        return Value(words, tuple(value), tuple(lift), logged, None, level, (WITHOUT, *few))
    ends, largest = _ends(events), 1.0 / float(events.propensity.min())
    notes, seen = few, off_policy.weights(own, largest)
    notes += [*_impossible(value, seen, ends)]
    if ends is None:
        notes.append("By betting needs rewards with known bounds: say which, as in rewards=(0, 5).")
    else:
        value.append(off_policy.by_betting(own, ends, largest, None, level))
        lift.append(off_policy.by_betting(own, ends, largest, one, level))
        notes.append(
            f"By betting: rewards are taken to lie between {number(ends[0])} and "
            f"{number(ends[1])}, and propensities to be at least {number(1.0 / largest)}, the "
            "least one here."
        )
    if seen.effective < FEW or seen.largest > HEAVY:
        notes.append(
            f"A few events carry it: the weights tell as much as {seen.effective:,.0f} equal ones, "
            f"and the heaviest event has {100.0 * seen.largest:.1f} % of all weight. Normal "
            "intervals may be too short."
        )
    return Value(words, tuple(value), tuple(lift), logged, seen, level, tuple(notes))


def _impossible(
    rows: Sequence[PolicyEstimate], seen: Weights, ends: tuple[float, float] | None
) -> Iterator[str]:
    """Say that propensities must be wrong, or that a value is none that there can be."""
    if abs(seen.mean - 1.0) > WRONG * seen.error:
        yield (
            f"Propensities look wrong: weights are 1 on average if they are right, give or take "
            f"{number(seen.error, 2)}, and here they are {number(seen.mean, 2)}. Do not trust the "
            "methods that weigh events."
        )
    if ends is not None:
        out = [row for row in rows if not (math.isnan(row.value) or _within(row.value, ends))]
        if out:
            named = ", ".join(f"{row.method} ({number(row.value)})" for row in out)
            yield (
                f"Out of what can be, as rewards lie between {number(ends[0])} and "
                f"{number(ends[1])}: the value by {named}."
            )


def _within(value: float, ends: tuple[float, float]) -> bool:
    """Whether a value lies between ends, but for rounding."""
    slack = 1e-9 * (ends[1] - ends[0])
    return ends[0] - slack <= value <= ends[1] + slack


def _untrusted_intervals(
    kinds: Mapping[str, Sequence[PolicyEstimate]], level: float
) -> Iterator[str]:
    """Say which normal intervals are not to be trusted, as too few rewards carry them."""
    needed, named, fewest = terms_needed(level), list[str](), math.inf
    for kind, rows in kinds.items():
        few = [row for row in rows if row.terms < needed]
        if few:
            methods = ", ".join(row.method for row in few)
            named.append(f"of the {kind} by {methods}" if kind else f"of what was earned {methods}")
            fewest = min(fewest, *(row.terms for row in few))
    if named:
        yield (
            f"Not to be trusted to {100.0 * level:g} %: the intervals {'; '.join(named)}. They "
            f"assume a normal law, for which too few rewards differ: as few as "
            f"{math.floor(fewest)} equal ones would, where it takes {needed}. An interval by "
            "betting needs no such law."
        )


def _ends(events: Events) -> tuple[float, float] | None:
    """Return the bounds of rewards: as given, or 0 and 1 if all are; None if they are not known."""
    low, high = events.accepted.low, events.accepted.high
    if high < LARGEST:
        return low, high
    return (0.0, 1.0) if set(np.unique(events.value).tolist()) <= {0.0, 1.0} else None


# --- Halves and policies --------------------------------------------------------------------------


def _halves(events: Events) -> tuple[IntVector, IntVector]:
    one: IntVector = np.random.default_rng(CUT).binomial(events.times, 0.5)
    return one, events.times - one


def _learner_of(events: Events, times: IntVector) -> ThreeLevels:
    """Return a learner that was told these events only; users and items keep their numbers."""
    return tell(replace(events, times=times)).core


def _best_each(core: ThreeLevels, users: int) -> IntVector:
    return core.policy()[:users]


def _best_for_all(core: ThreeLevels, events: Events) -> int:
    """Return the item that the model believes best for all, users by their events."""
    weight = np.bincount(events.user, events.times, len(events.users))
    whole = np.zeros(core.arms)
    for users in _blocks(core, len(weight)):
        whole += weight[users] @ core.posterior_means(users)
    return int(np.argmax(whole))


def _blocks(core: ThreeLevels, users: int) -> list[IntVector]:
    return np.array_split(np.arange(users), 1 + users * core.arms // CELLS)


def _numbers(events: Events, policy: Mapping[Name, Name]) -> IntVector:
    """Return the number of each user's item."""
    chosen = items_of(policy, events.users, events.items)
    number_of = {item: place for place, item in enumerate(events.items)}
    return np.array([number_of[chosen[user]] for user in events.users], dtype=np.int64)


def items_of(
    policy: Mapping[Name, Name], users: Collection[Name], items: Collection[Name]
) -> Mapping[Name, Name]:
    """Return a policy that has an item of the log for each user of the log."""
    if not isinstance(policy, Mapping):
        raise BadArgument("policy", "a mapping from users to items", type(policy).__name__)
    missing = [user for user in users if user not in policy]
    if missing:
        got = f"none for {len(missing):,} of {len(users):,}, such as {min(missing, key=str)!r}"
        raise BadArgument("policy", "an item for each user of the log", got)
    unknown = {policy[user] for user in users} - set(items)
    if unknown:
        raise BadArgument("policy", "items of the log", f"{min(unknown, key=str)!r}")
    return policy


# --- What the model says --------------------------------------------------------------------------


class _Judged:
    """Halves of a log, judged by what the other one taught; and what all events teach."""

    def __init__(self, events: Events, whole: ThreeLevels) -> None:
        self.events, self.whole = events, whole
        self.own, self.one = list[Fold](), list[Fold]()
        """Each half as the policy sees it, and as one item for all does."""
        self.shares: list[tuple[FloatVector, IntVector, IntVector]] = []
        """Of each half: the part that users have of all events, and the item of either policy."""

    def add(self, core: ThreeLevels, times: IntVector, items: IntVector, other: IntVector) -> None:
        """Judge a half that `core` was not told: both policies have an item for each user."""
        events, rows = self.events, np.flatnonzero(times)
        for folds, chosen in ((self.own, items), (self.one, other)):
            folds.append(self._fold(core, times[rows], rows, chosen))
        share = np.bincount(events.user, times, len(events.users)) / len(events)
        self.shares.append((share, items, other))

    def _fold(self, core: ThreeLevels, times: IntVector, rows: IntVector, items: IntVector) -> Fold:
        events = self.events
        user, item = events.user[rows], events.item[rows]
        logged, chosen = _expected_rewards(core, user, item, items)
        _, believed = _expected_rewards(self.whole, user, item, items)
        match = (item == items[user]).astype(np.float64)
        weight = match if events.propensity is None else match / events.propensity[rows]
        return Fold(times, events.value[rows], weight, logged, chosen[user], believed[user])

    def doubt(self, *, more: bool = False) -> float:
        """Return the variance of the policy's value that is due to doubt about the whole model.

        Or, with `more`, that of the difference to one item for all. The groups' means are shared
        by all their users, and by both halves; users' own deviations by the halves.
        """
        every, K = np.arange(len(self.events.users)), self.whole.arms
        rests = [(every * K + items, share) for share, items, _ in self.shares]
        if more:
            rests += [(every * K + other, -share) for share, _, other in self.shares]
        cells, weights = (np.concatenate(column) for column in zip(*rests, strict=True))
        cell, place = np.unique(cells, return_inverse=True)
        weight = np.bincount(place, weights, len(cell)).astype(np.float64)
        return self._doubt_of(*np.divmod(cell, K), weight, self._count_events(cell))

    def _count_events(self, cell: IntVector) -> FloatVector:
        """Return how many events tell of each of these cells, which are in order."""
        told = self.events.user.astype(np.int64) * self.whole.arms + self.events.item
        place = np.minimum(np.searchsorted(cell, told), len(cell) - 1)
        here = cell[place] == told
        return np.bincount(place[here], self.events.times[here], len(cell)).astype(np.float64)

    def _doubt_of(
        self, user: IntVector, item: IntVector, weight: FloatVector, n: FloatVector
    ) -> float:
        """Return the variance of a weighted sum of the means of users and items."""
        seen: Posterior = posterior_now(self.whole)
        member: FloatMatrix = self.whole.membership(np.arange(len(self.events.users)))[user]
        kept = np.ones(len(n)) if math.isinf(seen.m0) else seen.m0 / (seen.m0 + n)
        mass = np.zeros(seen.mean.shape)
        np.add.at(mass, item, (weight * kept)[:, None] * member)
        shared = float((mass**2 * seen.variance).sum())
        if math.isinf(seen.m0):
            return shared
        spread: FloatVector = (seen.spread[item] * member).sum(axis=1)
        return shared + float((weight**2 * own_variance(seen, spread, n)).sum())


def _expected_rewards(
    core: ThreeLevels, user: IntVector, item: IntVector, items: IntVector
) -> tuple[FloatVector, FloatVector]:
    """Return what a model expects of rows, sorted by user, and of an item for each user."""
    logged, chosen = np.empty(len(user)), np.empty(len(items))
    for users in _blocks(core, len(items)):
        if len(users):
            mean = core.posterior_means(users)
            own = slice(*np.searchsorted(user, [users[0], users[-1] + 1]))
            logged[own] = mean[user[own] - users[0], item[own]]
            chosen[users] = mean[users - users[0], items[users]]
    return logged, chosen
