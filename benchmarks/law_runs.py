"""One run of `laws.py`: a world of one law, rewards in it, and what the learner makes of them.

The learner is told rewards of arms that were drawn uniformly, as a log holds them, or it plays
itself. An oracle sees the same rewards, knows the groups' means and the law's variances, and puts
every context into the group with the largest likelihood.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

import lumpable as lb
from lumpable.base.arrays import FloatMatrix, FloatVector, IntVector
from lumpable.comparisons.cell import one_thread, own_seed
from lumpable.lumps.belief import advice, beliefs
from lumpable.lumps.belief.summary import summary
from lumpable.lumps.core.batches import tell_many
from lumpable.lumps.core.levels import ThreeLevels
from lumpable.runs.measures import adjusted_rand
from lumpable.runs.playing import play

LOGGED, ITSELF = "told", "itself"
"""Who chose the arms: chance, or the learner."""
LEVEL = 0.9
USERS = 50
"""Contexts whose best arms are looked at, in each run."""
MIDDLE, SURE = 0.5, 0.8
"""Where the two bins of the probability to be best begin; the second ends at 1."""
SAYS_SO = ("groups explain", "groups are likely")
MOST_CELLS = 2_000_000
"""Rewards that are drawn at a time: a law draws one of every arm."""
EQUAL = 1e-12


@dataclass(frozen=True, slots=True)
class Case:
    """What is run."""

    law: str
    contexts: int
    arms: int
    groups: int
    pulls: int
    """Rewards for each context: exactly, or on average if the learner plays itself."""
    how: str
    seed: int

    @property
    def size(self) -> tuple[int, int]:
        """Contexts and arms."""
        return self.contexts, self.arms

    @property
    def key(self) -> str:
        """What it is called, unlike any other."""
        tastes = f"{self.groups} taste{'s' * (self.groups > 1)}"
        return f"{self.law}, {self.size}, {tastes}, {self.pulls} {self.how}, {self.seed}"


@dataclass(frozen=True, slots=True)
class Run:
    """What became of a case."""

    case: Case
    groups: int
    """Groups that are believed, and directions."""
    rank: int
    said: bool
    """Whether the summary speaks of groups."""
    ari: float
    oracle_ari: float
    value: float
    """The true mean of the recommended arms, over contexts."""
    raw: float
    """The same of one arm for all: that of the largest average reward (`largest_average`), ..."""
    one: float
    """... or the best one by the learner's own posterior; ..."""
    oracle: float
    """... of the best arms of the groups that the oracle puts contexts into; ..."""
    best: float
    """... and of the best arms in truth."""
    covered: int
    """Intervals of group means that hold the truth, ..."""
    intervals: int
    """... of so many; 0 if believed groups do not match the true ones."""
    lift_covered: bool | None
    """Whether the interval of the lift holds the truth; None if one arm is recommended to all."""
    middle: int
    """Arms said to be best with a probability of 0.5 to 0.8, ..."""
    middle_right: int
    """... and those of them that are; ..."""
    sure: int
    """... the same with 0.8 to 1."""
    sure_right: int
    seconds: float
    """The time of a fit, once everything is compiled."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Run:
        """Return a run that was kept as JSON."""
        return cls(**{**row, "case": Case(**row["case"])})


class Seen(NamedTuple):
    """Rewards by context and arm: how many, their sum and that of their squares."""

    number: FloatMatrix
    total: FloatMatrix
    squares: FloatMatrix


def measured(case: Case) -> dict[str, Any]:
    """Run a case; return its row, ready for JSON."""
    with one_thread():
        _compile()
        world = lb.worlds.tastes(
            case.contexts, case.arms, case.groups, rewards=case.law, seed=case.seed
        )
        return asdict(judged(taught(world, case), world, case))


def taught(world: lb.World, case: Case) -> ThreeLevels:
    """Return a learner that was told, or earned itself, the rewards of a case."""
    learner = ThreeLevels(case.contexts, case.arms, seed=own_seed(case.seed))
    if case.how == ITSELF:
        play(learner, world, horizon=case.pulls * case.contexts, seed=case.seed, at=[])
    else:
        contexts, arms, rewards = log(world, case.pulls, np.random.default_rng([case.seed, 7]))
        tell_many(learner, contexts, arms, rewards, np.ones(len(arms), dtype=np.int64))
    return learner


@functools.cache
def _compile() -> None:
    """Let everything be compiled, which is no time of a fit."""
    for law in ("bernoulli", "gaussian"):
        world = lb.worlds.tastes(20, 4, 2, rewards=law, seed=0)
        learner = taught(world, Case(law, 20, 4, 2, 30, LOGGED, 0))
        learner.fit(learner.counts(), learner.last_fit)


def log(
    world: lb.World, pulls: int, rng: np.random.Generator
) -> tuple[IntVector, IntVector, FloatVector]:
    """Draw a log: so many rewards of each context, of arms that are uniform; contexts in order."""
    K, rewards = world.arms, []
    contexts = np.repeat(np.arange(world.contexts), pulls)
    arms = rng.integers(K, size=len(contexts))
    for part in np.array_split(np.arange(len(arms)), 1 + len(arms) * K // MOST_CELLS):
        row = contexts[part]
        drawn = world.law.part(row).draw(world.mean[row], rng)
        rewards.append(drawn[np.arange(len(part)), arms[part]])
    return contexts, arms, np.concatenate(rewards)


# --- Judging ------------------------------------------------------------------------------------


def judged(learner: ThreeLevels, world: lb.World, case: Case) -> Run:
    """Hold what a learner believes against the truth."""
    assert learner.last_fit is not None
    began = time.perf_counter()
    learner.fit(learner.counts(), learner.last_fit)
    seconds = time.perf_counter() - began
    rewards, words = seen(learner), summary(learner)
    told = oracle(world, rewards)
    _, member = np.unique(world.group, return_index=True)  # somebody of each group
    one, lift_covered = lifted(learner, world)
    covered, intervals = covering(learner, world)
    return Run(
        case, learner.last_fit.groups, learner.last_fit.rank,
        any(words_of in words for words_of in SAYS_SO),
        adjusted_rand(learner.labels(), world.group), adjusted_rand(told, world.group),
        worth(world, learner.policy()), worth(world, largest_average(rewards)), worth(world, one),
        worth(world, world.policy[member][told]), float(world.best.mean()),
        covered, intervals, lift_covered, *best_arms(learner, world), seconds,
    )  # fmt: skip


def worth(world: lb.World, arms: int | IntVector) -> float:
    """Return the true mean of an arm for each context, or of one for all, over contexts."""
    return float(world.mean[np.arange(world.contexts), arms].mean())


def seen(learner: ThreeLevels) -> Seen:
    """Return all rewards that a learner has seen, as they came."""
    counts, others = learner.counts(), learner.counts().others
    place = counts.context[counts.row], counts.arm
    number, total, squares = (np.zeros((learner.contexts, learner.arms)) for _ in range(3))
    number[place] = counts.n
    cell, value, times = others or (np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
    for table, power in ((total, 1), (squares, 2)):
        more = np.bincount(cell, times * value**power, len(counts.n))
        table[place] = counts.s + more
    return Seen(number, total, squares)


def largest_average(rewards: Seen) -> int:
    """Return the arm with the largest average reward over everybody.

    Arms with less than half an equal share of the rewards are left out: a learner that plays itself
    tries some of them once, and the luckiest of these would be taken.

    >>> number = np.array([[6.0, 6.0, 1.0]])
    >>> largest_average(Seen(number, number * [1.0, 2.0, 3.0], number))
    1
    """
    number, total = rewards.number.sum(axis=0), rewards.total.sum(axis=0)
    often = number >= number.mean() / 2.0
    return int(np.argmax(np.where(often, total / np.maximum(number, 1.0), -np.inf)))


def oracle(world: lb.World, rewards: Seen) -> IntVector:
    """Return the likeliest group of each context, with means and variances known.

    Exact for coins and normal rewards; others are taken for normal ones.
    """
    n, s, q = rewards
    likelihood = np.empty((world.contexts, world.groups))
    for group in range(world.groups):
        first = int(np.flatnonzero(world.group == group)[0])
        m = np.tile(world.mean[first], (world.contexts, 1))
        if world.noise == "bernoulli":
            each = s * np.log(m) + (n - s) * np.log1p(-m)
        else:
            v = world.law.variance(m)
            each = -(n * np.log(v) + (q - 2.0 * m * s + n * m**2) / v) / 2.0
        likelihood[:, group] = each.sum(axis=1)
    best: IntVector = np.argmax(likelihood, axis=1)
    return best


def matched(labels: IntVector, group: IntVector) -> dict[int, int]:
    """Return which true group each believed one is, by most of its members; {} if two are one.

    >>> matched(np.array([4, 4, 4, 2, 2]), np.array([0, 0, 1, 1, 1]))
    {2: 1, 4: 0}
    >>> matched(np.array([4, 4, 2, 3]), np.array([0, 0, 1, 1]))
    {}
    """
    found = {
        int(label): int(np.bincount(group[labels == label]).argmax())
        for label in np.unique(labels)
    }  # fmt: skip
    one_to_one = sorted(found.values()) == np.unique(group).tolist()
    return found if one_to_one else {}


def covering(learner: ThreeLevels, world: lb.World) -> tuple[int, int]:
    """Return how many intervals of group means hold the truth, and of how many."""
    pair = matched(learner.labels(), world.group)
    first = {group: int(np.flatnonzero(world.group == group)[0]) for group in pair.values()}
    rows = [row for row in beliefs.means(learner, level=LEVEL) if row.group in pair]
    truth = [float(world.mean[first[pair[row.group]], row.arm]) for row in rows]
    inside = [row.low <= mean <= row.high for row, mean in zip(rows, truth, strict=True)]
    return sum(inside), len(inside)


def lifted(learner: ThreeLevels, world: lb.World) -> tuple[int, bool | None]:
    """Return the best arm for all by the posterior, and whether the lift's interval is right.

    The truth weighs contexts as the lift does: as often as they had rewards, and once more.
    """
    everybody, policy = np.arange(world.contexts), learner.policy()
    found = advice.lift(learner, everybody, LEVEL, arm_names=range(world.arms))
    weight = learner.state.visits + 1.0
    more = world.mean[everybody, policy] - world.mean[:, found.one_arm]
    truth = float(weight @ more / weight.sum())
    alike = bool((policy == found.one_arm).all())
    return found.one_arm, None if alike else found.low <= truth <= found.high


def best_arms(learner: ThreeLevels, world: lb.World) -> tuple[int, int, int, int]:
    """Return of arms said to be best with 0.5 to 0.8, then with 0.8 to 1: how many, how many are.

    Contexts are in no order, so the first ones are as good as any.
    """
    users = np.arange(min(USERS, world.contexts))
    allowed = [learner.state.allowed] * len(users)
    rows = advice.advise(
        learner, users, allowed, LEVEL, context_names=users.tolist(), arm_names=range(world.arms)
    )
    chance = np.array([row.probability_best for row in rows])
    arms = np.array([row.best_arm for row in rows])
    right = world.mean[users, arms] >= world.best[users] - EQUAL
    middle, sure = (chance >= MIDDLE) & (chance < SURE), chance >= SURE
    return int(middle.sum()), int(right[middle].sum()), int(sure.sum()), int(right[sure].sum())
