"""What policies are worth on a log: fitted on one half of the events, judged on the other.

Both ways round, so that no event judges a policy or a model that saw it. Halves are cut by coins
with a fixed seed, event by event, so that most users are in both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.base.words import number
from lumpable.learners.learner import LARGEST
from lumpable.lumps.belief.drawn import own_variance
from lumpable.lumps.belief.posterior import Posterior, posterior_now
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.stores.log_entries import Name
from lumpable.tables import off_policy
from lumpable.tables.events import Events
from lumpable.tables.off_policy import DIRECT, Fold, PolicyEstimate, Weights
from lumpable.tables.telling import tell

CUT = 37
"""The stream of chance that cuts events into halves."""
CELLS = 10**7
"""Means of users and items that are held at once."""
FEW = 100.0
"""Weights that tell as much as fewer equal ones than this are worth a warning, ..."""
HEAVY = 0.05
"""... and so is one event with more than this part of all weight."""
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


def value_of(events: Events, policy: Mapping[Name, Name] | None, level: float) -> Value:
    """Judge a policy on a log; None: the learned one, each user's own best item."""
    level = checks.real("level", level, "a probability in (0, 1)", 0.0, BELOW_1)
    if events.events < 4:
        raise BadArgument("source", "at least 4 events to judge a policy", f"{events.events}")
    given = None if policy is None else _numbers(events, policy)
    halves = _halves(events)
    cores = [_fitted(events, times) for times in halves]
    own, one = list[Fold](), list[Fold]()
    for times, core in zip(halves, cores[::-1], strict=True):
        items = _best_each(core, len(events.users)) if given is None else given
        for_all = np.full(len(events.users), _best_for_all(core, events))
        model = _Model(core, events, times)
        own.append(model.fold(items, for_all))
        one.append(model.fold(for_all, items))
    who, what = events.columns.words
    words = f"each {who}'s own {what}" if policy is None else "the given policy"
    return _judge(events, words, own, one, level)


def _judge(events: Events, words: str, own: list[Fold], one: list[Fold], level: float) -> Value:
    logged = off_policy.mean_logged(own, level)
    if events.propensity is None:
        value = off_policy.estimates(own, None, level, [DIRECT])
        lift = off_policy.estimates(own, one, level, [DIRECT])
        return Value(words, tuple(value), tuple(lift), logged, None, level, (WITHOUT,))
    value = off_policy.estimates(own, None, level)
    lift = off_policy.estimates(own, one, level)
    notes, seen = [], off_policy.weights(own)
    ends, largest = _ends(events), 1.0 / float(events.propensity.min())
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


def _fitted(events: Events, times: IntVector) -> ThreeLevels:
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
    if not isinstance(policy, Mapping):
        raise BadArgument("policy", "a mapping from users to items", type(policy).__name__)
    number_of = {item: place for place, item in enumerate(events.items)}
    missing = [user for user in events.users if user not in policy]
    if missing:
        got = f"none for {len(missing):,} of {len(events.users):,}, such as {missing[0]!r}"
        raise BadArgument("policy", "an item for each user of the log", got)
    unknown = {policy[user] for user in events.users} - set(number_of)
    if unknown:
        raise BadArgument("policy", "items of the log", f"{min(unknown, key=str)!r}")
    return np.array([number_of[policy[user]] for user in events.users], dtype=np.int64)


# --- What the model says --------------------------------------------------------------------------


class _Model:
    """A model that judges rows of a log, which it did not see."""

    def __init__(self, core: ThreeLevels, events: Events, times: IntVector) -> None:
        self.core, self.events = core, events
        self.rows = np.flatnonzero(times)
        self.times = times[self.rows]
        self.seen: Posterior = posterior_now(core)
        self.fitted = events.times - times

    def fold(self, items: IntVector, other: IntVector) -> Fold:
        """Return the rows as a policy sees them: `items` has one for each user, as has another."""
        events, rows = self.events, self.rows
        user, item = events.user[rows], events.item[rows]
        logged, chosen = np.empty(len(rows)), np.empty(len(events.users))
        for users in _blocks(self.core, len(events.users)):
            mean = self.core.posterior_means(users)
            own = slice(*np.searchsorted(user, [users[0], users[-1] + 1])) if len(users) else None
            if own is not None:
                logged[own] = mean[user[own] - users[0], item[own]]
                chosen[users] = mean[users - users[0], items[users]]
        match = (item == items[user]).astype(np.float64)
        weight = match if events.propensity is None else match / events.propensity[rows]
        doubts = self._doubt(items), self._doubt(items, other)
        return Fold(self.times, events.value[rows], weight, logged, chosen[user], *doubts)

    def _doubt(self, items: IntVector, other: IntVector | None = None) -> float:
        """Return the variance of a policy's value that is due to doubt about the model's means.

        Or that of the difference of two values. The groups' means are shared by all their users;
        users' own deviations are not.
        """
        user = self.events.user[self.rows]
        share = np.bincount(user, self.times, len(items)) / self.times.sum()
        mass, own = self._resting_on(items, share)
        if other is not None:
            mass_of_other, own_of_other = self._resting_on(other, share)
            mass, own = mass - mass_of_other, np.where(items == other, 0.0, own + own_of_other)
        return float((mass**2 * self.seen.variance).sum() + own.sum())

    def _resting_on(self, items: IntVector, share: FloatVector) -> tuple[FloatMatrix, FloatVector]:
        """Return how much of the value rests on each group's mean, and the doubt of each user."""
        events, seen, S = self.events, self.seen, len(items)
        match = events.item == items[events.user]
        n: FloatVector = np.bincount(events.user[match], self.fitted[match], S).astype(np.float64)
        kept = np.ones(S) if math.isinf(seen.m0) else seen.m0 / (seen.m0 + n)
        member: FloatMatrix = self.core.membership(np.arange(S))
        mass = np.zeros(seen.mean.shape)
        np.add.at(mass, items, (share * kept)[:, None] * member)
        if math.isinf(seen.m0):
            return mass, np.zeros(S)
        spread: FloatVector = (seen.spread[items] * member).sum(axis=1)
        return mass, share**2 * own_variance(seen, spread, n)
