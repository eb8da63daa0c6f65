"""Looks into runs of Algorithms 4 and 6 with the truth beside them, and makes worlds for them.

Everything here follows the letters of the proofs of Theorems 4 and 5: eps~_{h,n} of a level,
epsilon_{h,b} and the level n_b(h) of a block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.base.arrays import BoolMatrix, BoolVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.plans import clusters, lengths, regret
from lumpable.plans.clusters import Clusters, Level
from lumpable.plans.lengths import Phase
from lumpable.plans.plan import Collect, Conversation
from lumpable.plans.problem import PAPER, Constants, Problem
from lumpable.reproduce.claims.witness import size_of
from lumpable.runs.run import Step

Variant = tuple[Callable[[Problem], lb.Plan], str]
"""An algorithm, and the sizes of the groups of its worlds."""

# --- Looks ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """One answered request of Algorithm 4 or 6, with the truth beside it."""

    world: lb.World
    size: Phase
    """What the algorithm computed at the head of this phase."""
    step: Step
    regret: float
    """What this request alone cost."""

    @property
    def exploring(self) -> bool:
        """Whether this is Step 1; otherwise it is a call of Algorithm 5."""
        belief = self.step.request.belief
        return belief is not None and belief.kind == "exploring"

    @property
    def h(self) -> int:
        """The number of the phase."""
        return self.size.h

    @property
    def level(self) -> int:
        """n, the accuracy level of a request of Step 1."""
        return self.step.request.repeats.bit_length() - 1

    @property
    def threshold(self) -> float:
        """eps~_{h,n} = sqrt(lg_h / 2^n)."""
        return self.size.threshold(self.level)

    @property
    def good(self) -> BoolMatrix:
        """Row i: the arms that are good for the cluster of context i at this level."""
        return self.step.request.arms

    @property
    def cluster(self) -> IntVector:
        """The cluster of each context."""
        belief = self.step.request.belief
        if belief is None or belief.cluster is None:
            raise BadArgument("plan", why="expected one that forms clusters")
        return belief.cluster

    def blocks(self) -> Iterator[BoolVector]:
        """Yield the members of each block that the lemmas protect at this level: n <= n_b(h)."""
        levels = protected_levels(self.world, self.size.problem.groups, self.h)
        for block in np.unique(self.world.group):
            if self.level <= levels[block]:
                yield self.world.group == block

    def splits_a_block(self) -> bool:
        """Whether contexts of one block are in different clusters."""
        pairs = np.unique(np.stack([self.world.group, self.cluster]), axis=1)
        return int(pairs.shape[1]) > len(np.unique(self.world.group))

    def uncovered_arms(self) -> int:
        """Count pairs of a block and a good arm it never finished, at n <= n_b(h)."""
        plays = self.step.sample.plays
        missing = [
            self.good[members].any(axis=0) & ~plays[members].any(axis=0)
            for members in self.blocks()
        ]
        return int(np.sum(missing))

    def lost_best_arms(self) -> int:
        """Count contexts whose best arm is not in the good set, in blocks with n <= n_b(h)."""
        kept = self.good[np.arange(self.world.contexts), self.world.policy]
        return sum(int(np.sum(~kept[members])) for members in self.blocks())

    def worst_played(self) -> float:
        """Return how far an arm that is played is below its block's best, in eps~_{h,n}."""
        gap = np.where(self.good, self.world.best[:, np.newaxis] - self.world.mean, 0.0)
        most = [float(gap[members].max()) for members in self.blocks()]
        return max(most, default=0.0) / self.threshold

    def worst_survivor(self) -> float:
        """Return how far an arm that is good now is below the best, in eps~ of the phase before.

        In the first phase, and at a new level, nothing has survived yet.
        """
        problem, constants, h = self.size.problem, self.size.constants, self.h - 1
        if not self.size.levelled:
            old = lengths.equal_groups_phase(problem, h, constants).threshold(h) if h else math.inf
        elif self.level > h:
            old = math.inf
        else:
            old = lengths.any_groups_phase(problem, h, constants).threshold(self.level)
        return self.worst_played() * self.threshold / old

    def largest_error(self) -> float:
        """Return the largest error of a mean, in eps~_{h,n} / 4: at most 1 in the good event."""
        error = float(np.nanmax(np.abs(self.step.sample.mean - self.world.mean)))
        return 4 * error / self.threshold


def protected_levels(world: lb.World, groups: int, h: int) -> list[int]:
    """Return n_b(h) = ceil(log2(1 / epsilon_{h,b}^2)) for each block."""
    return [
        lengths.round_up(h - 2 * math.log2(max(1.0, 1 / (groups * omega)))) if omega > 0 else 0
        for omega in world.group_frequency
    ]


def follow(
    plan: lb.Plan, world: lb.World, seed: int, horizon: int, see: Callable[[Look], None]
) -> lb.Run:
    """Run a plan and show every whole request to `see`."""
    problem, constants = plan.parameters["problem"], plan.parameters["constants"]
    phase = plan.about.phase
    if phase is None:
        raise BadArgument("plan", "one whose phases have lengths", plan.name)
    before = 0.0

    def watch(step: Step) -> None:
        nonlocal before
        belief = step.request.belief
        cost, before = step.regret - before, step.regret
        if belief is not None and step.rounds < horizon:  # the last one may be cut short
            see(Look(world, phase(problem, belief.number, constants), step, cost))

    return lb.simulate(plan, world, seed=seed, horizon=horizon, watch=watch)


def looks(plan: lb.Plan, world: lb.World, seed: int, horizon: int) -> list[Look]:
    """Run a plan and return every whole request of it."""
    found: list[Look] = []
    follow(plan, world, seed, horizon, found.append)
    return found


def explorations(seen: Iterable[Look]) -> list[Look]:
    """Return the requests of Step 1."""
    return [look for look in seen if look.exploring]


def whole_runs(variants: Sequence[Variant], runs: int, horizon: int) -> Iterator[list[Look]]:
    """Yield the requests of Step 1 of whole runs at (30, 20, 3), with printed constants."""
    for seed in range(runs):
        for algorithm, sizes in variants:
            world = worlds.lumpable(30, 20, 3, sizes=sizes, seed=seed)
            yield explorations(looks(algorithm(size_of(world)), world, seed, horizon))


def delta(problem: Problem, h: int) -> float:
    """delta_h = epsilon_h^2 / (r^3 SK)."""
    S, K, r = problem.letters
    return float(2.0**-h / (r**3 * S * K))


def deltas(problem: Problem) -> float:
    """Return the sum of delta_h over all phases: 1 / (r^3 SK)."""
    return delta(problem, 0)


# --- Broken on purpose ----------------------------------------------------------------------


def scale_constants(share: float) -> Constants:
    """Return constants with all confidence terms of the regret algorithms this much smaller."""
    return replace(
        PAPER,
        phase=share * PAPER.phase,
        levels=share * PAPER.levels,
        split=share * PAPER.split,
    )


@lb.algorithm(lb.About(phase=lengths.equal_groups_phase))
def without_step_2(problem: Problem, *, constants: Constants = PAPER) -> Conversation:
    """Algorithm 4 that never splits a cluster: phased elimination for all contexts at once."""
    S, K, _ = problem.letters
    found = Clusters.everybody(S, K)
    policy = np.zeros(S, dtype=np.int64)
    h = 0
    while True:
        h += 1
        size = lengths.equal_groups_phase(problem, h, constants)
        thought = clusters.belief_in(found, "exploring", f"phase {h}: exploring", h, policy)
        sample = yield Collect(size.explore(h), 2**h, found.arms(), thought)
        found.good = [Level(h, size.threshold(h), sample.mean).survivors(found)]


@lb.algorithm(lb.About(phase=lengths.any_groups_phase))
def without_inclusion(problem: Problem, *, constants: Constants = PAPER) -> Conversation:
    """Algorithm 6 without line 17: each level drops arms by its own data only."""
    state = regret.LevelledState.start(problem)
    found = state.found
    while True:
        state.h += 1
        size = lengths.any_groups_phase(problem, state.h, constants)
        levels = []
        for n in range(1, state.h + 1):
            words = f"phase {state.h}: exploring"
            thought = clusters.belief_in(found, "exploring", words, state.h, state.policy)
            sample = yield Collect(size.explore(n), 2**n, found.arms(n - 1), thought)
            levels.append(Level(n, size.threshold(n), sample.mean))
        restless = yield from regret.separate(size, found, levels, state.policy)
        wait = restless[:, np.newaxis]
        own = [
            np.where(wait, before, level.survivors(found, before))
            for level, before in zip(levels, found.good, strict=True)
        ]
        found.good = [np.ones_like(own[0]), *own[1:], own[-1] if own[1:] else np.ones_like(own[0])]


# --- Worlds ---------------------------------------------------------------------------------


def chain(contexts: int, arms: int, groups: int) -> lb.World:
    """Put the blocks at equal distances on every arm, in another order on each.

    Every arm shows that blocks differ, but neighbours are only 1/r apart.
    """
    order = (np.arange(groups)[:, np.newaxis] + np.arange(arms)) % groups
    group = np.arange(contexts) % groups
    mean = order / groups
    return lb.World(mean[group], np.full(contexts, 1 / contexts), group, name="chain")


def own_arms(contexts: int, arms: int, groups: int, gap: float = 0.5) -> lb.World:
    """Give each block one arm of its own that is better by `gap`; all else is the same.

    One call of Algorithm 5 on the arm of a block sets apart this block only.
    """
    group = np.arange(contexts) % groups
    mean = gap * np.eye(groups, arms)
    return lb.World(mean[group], np.full(contexts, 1 / contexts), group, name="own arms")


def odd_one_out(size: int, *, only_better: bool = False, rare: bool = False) -> lb.World:
    """Hide one context among S = K = `size`, without noise: arm 1 is good for it alone.

    With `only_better` arm 0 is good for it too, as for all others. With `rare` it comes as
    rarely as allowed, 1/(8S).
    """
    group = np.zeros(size, dtype=np.int64)
    group[-1] = 1
    mean = np.zeros((size, size))
    mean[:, 0], mean[-1, 1] = 1.0, 1.0
    mean[-1, 0] = 1.0 if only_better else 0.0
    nu = np.full(size, 1 / size)
    if rare:
        nu[-1] = 1 / (8 * size)
        nu[:-1] = (1 - nu[-1]) / (size - 1)
    return lb.World(mean, nu, group, sd=0.0, name="odd one out")
