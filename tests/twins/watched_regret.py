"""What the proofs of Theorems 4 and 5 promise, looked for in the requests of a run.

Everything is read off the requests: the good sets of level n in phase h are what the exploration of
that level asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

import lumpable as lb
from lumpable.base.arrays import BoolMatrix, BoolVector, IntVector
from lumpable.plans.lengths import Phase

SizeOf = Callable[[lb.Problem, int, lb.Constants], Phase]


@dataclass(frozen=True)
class Look:
    """One request of Algorithm 4 or 6: the exploration of a level, or a call of Algorithm 5."""

    h: int
    n: int
    splits: bool
    arms: BoolMatrix
    cluster: IntVector


@dataclass
class Witness:
    """Watches a run of Algorithm 4 or 6 and says which promises were broken."""

    world: lb.World
    problem: lb.Problem
    constants: lb.Constants
    levelled: bool
    slack: float
    """How many thresholds below the best a survivor may be: 3 without noise, 3.5 with."""
    looks: list[Look] = field(default_factory=list)

    def watch(self, step: lb.Step) -> None:
        belief = step.request.belief
        assert belief is not None
        assert belief.cluster is not None
        splits = "splitting" in belief.phase
        told = (
            int(belief.phase.rsplit(" ", 1)[1]) if splits else step.request.repeats.bit_length() - 1
        )
        self.looks.append(Look(belief.number, told, splits, step.request.arms, belief.cluster))

    def threshold(self, h: int, n: int) -> float:
        make: SizeOf = (
            lb.lengths.any_groups_phase if self.levelled else lb.lengths.equal_groups_phase
        )
        return make(self.problem, h, self.constants).threshold(n)

    @property
    def comes(self) -> BoolVector:
        return self.world.frequency > 0

    @property
    def calls(self) -> int:
        """Calls of Algorithm 5."""
        return sum(look.splits for look in self.looks)

    @property
    def phases(self) -> int:
        return self.looks[-1].h

    def broken(self, every_level: bool = True) -> set[str]:
        """Name the promises that were broken; `every_level`: also above n_b(h)."""
        found = set()
        if self.calls > self.problem.groups - 1:
            found.add("calls")
        for look in self.looks:
            if look.cluster.max() >= self.problem.groups:
                found.add("clusters")
            if self.divides_a_group(look):
                found.add("group")
            if not look.splits and self.lost(look, every_level):
                found.add("best arm")
            if self.has_fallen(look) and self.too_bad(look, every_level):
                found.add("bad arm")
        if not self.nested():
            found.add("nested")
        return found

    def divides_a_group(self, look: Look) -> bool:
        """Contexts of one group that come are in one cluster."""
        return any(
            len(set(look.cluster[self.comes & (self.world.group == b)].tolist())) > 1
            for b in range(self.world.groups)
        )

    def promised(self, h: int, n: int) -> BoolVector:
        """Contexts whose group is large enough for the lemmas at this level: n <= n_b(h)."""
        r = self.problem.groups
        omega = self.world.group_frequency[self.world.group]
        epsilon = 2 ** (-h / 2)
        with np.errstate(divide="ignore"):
            epsilon_b = np.maximum(1.0, 1 / (r * omega)) * epsilon
        n_b = np.ceil(np.log2(1 / epsilon_b**2) - 1e-9)
        promised: BoolVector = (n <= n_b) & (omega >= 2 * epsilon / r)
        return promised

    def lost(self, look: Look, every_level: bool) -> bool:
        """An optimal arm is not in a good set that the phase before made."""
        best = self.world.mean == self.world.best[:, np.newaxis]
        who = self.comes if every_level or not self.levelled else self.comes & self.protected(look)
        return bool((best & ~look.arms)[who].any())

    def protected(self, look: Look) -> BoolVector:
        """Levels where the lemma has held in every phase so far; a new level copies the deepest."""
        safe = np.ones(self.world.contexts, dtype=bool)
        for h in range(2, look.h):
            safe &= self.promised(h, min(look.n, h))
        return safe

    def has_fallen(self, look: Look) -> bool:
        """Whether Step 3 has judged this level before (level 1 explores everything for ever)."""
        return look.h >= 2 and (not self.levelled or (look.n >= 2 and look.h >= 3))

    def too_bad(self, look: Look, every_level: bool) -> bool:
        """An arm is asked for that is too far below the best: 3.5 and 6 thresholds."""
        gap = self.world.best[:, np.newaxis] - self.world.mean
        who = self.comes if every_level or not self.levelled else self.comes & self.protected(look)
        worst = float(gap[who][look.arms[who]].max(initial=0.0))
        h, n = look.h - 1, min(look.n, look.h - 1)
        survivor = self.slack * self.threshold(h, n if self.levelled else h)
        return worst > min(survivor, 6 * self.threshold(look.h, look.n)) + 1e-12

    def nested(self) -> bool:
        """GOOD_{h,n+1} is part of GOOD_{h,n}."""
        explored = [look for look in self.looks if not look.splits]
        return all(
            not (deep.arms & ~low.arms).any()
            for low, deep in pairwise(explored)
            if low.h == deep.h and deep.n == low.n + 1
        )


def watched(
    world: lb.World,
    groups: int,
    constants: lb.Constants,
    phases: int,
    *,
    levelled: bool,
    mended: bool = False,
    seed: int | None = None,
) -> tuple[Witness, lb.Run]:
    """Run Algorithm 4 or 6 until so many phases could have been played, without noise or with."""
    problem = lb.Problem(world.contexts, world.arms, groups)
    witness = Witness(world, problem, constants, levelled, 3.0 if seed is None else 3.5)
    if levelled:
        plan = lb.regret.any_groups(problem, constants=constants, mended=mended)
    else:
        plan = lb.regret.equal_groups(problem, constants=constants)
    T = horizon(problem, constants, phases, levelled)
    if seed is None:
        return witness, lb.exact(plan, world, horizon=T, watch=witness.watch)
    return witness, lb.simulate(plan, world, horizon=T, seed=seed, watch=witness.watch)


def horizon(problem: lb.Problem, constants: lb.Constants, phases: int, levelled: bool) -> int:
    """So many phases with r - 1 calls of Algorithm 5, all in the last one."""
    make: SizeOf = lb.lengths.any_groups_phase if levelled else lb.lengths.equal_groups_phase
    total = 0
    for h in range(1, phases + 1):
        size = make(problem, h, constants)
        total += sum(size.explore(n) for n in (range(1, h + 1) if levelled else [h]))
    return total + (problem.groups - 1) * make(problem, phases, constants).split_rounds(phases)


def allowed(problem: lb.Problem, phases: int) -> float:
    """The sum of 5 delta_h: 2 for unplayed pairs, 1 for the means, 2 for Algorithm 5's calls."""
    S, K, r = problem.letters
    return math.fsum(5 * 2.0**-h / (r**3 * S * K) for h in range(1, phases + 1))
