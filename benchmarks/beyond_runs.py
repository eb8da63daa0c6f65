"""What `beyond.py` runs: plans for regret, worlds and sizes. A play is a function of its seed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import lumpable as lb
from lumpable import Problem, World, regret, standard
from lumpable.plans.plan import Plan

OURS, TOLD_T = "candidates", "candidates, told T"
FRESH, CLUSTERS, STANDARD = "fresh phases", "Algorithm 6", "standard"
METHODS: dict[str, Callable[[Problem, int], Plan]] = {
    OURS: lambda problem, horizon: regret.candidates(problem),
    TOLD_T: lambda problem, horizon: regret.candidates(problem, horizon=horizon),
    FRESH: lambda problem, horizon: regret.fresh_phases(problem),
    CLUSTERS: lambda problem, horizon: regret.any_groups(problem),
    STANDARD: lambda problem, horizon: standard.online(problem),
}
FORMS = (OURS, TOLD_T)
"""The two forms of candidates that are judged."""
MANY_PAIRS = 300_000
"""From so many pairs of context and arm on, only candidates and the standard algorithm run."""

RANDOM = "random means"
UNITS = {f"hidden arms, {units}": units for units in (40, 200, 1000)}
"""Hidden arms with gaps of so many units (`worlds.hidden_arms`)."""
WORLDS = (*UNITS, RANDOM)


@dataclass(frozen=True, slots=True, order=True)
class Size:
    """A size of the problem."""

    contexts: int
    arms: int
    groups: int

    def __str__(self) -> str:
        return f"({self.contexts:,}, {self.arms:,}, {self.groups})"

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that run at this size."""
        few = self.contexts * self.arms < MANY_PAIRS
        return tuple(METHODS) if few else (*FORMS, STANDARD)


@dataclass(frozen=True)
class Play:
    """One method in one world up to a horizon."""

    size: Size
    world: str
    method: str
    horizon: int
    seed: int

    @cached_property
    def key(self) -> str:
        """What its row is kept under."""
        return f"{self.size} {self.world} {self.method} {self.horizon:g} {self.seed}"

    def made(self) -> World:
        """Return its world: equal groups, uniform contexts, normal noise of sd 1."""
        S, K, r = self.size.contexts, self.size.arms, self.size.groups
        if self.world == RANDOM:
            return lb.worlds.lumpable(S, K, r, noise="gaussian", sd=1.0, seed=self.seed)
        return lb.worlds.hidden_arms(
            S, K, r, rounds=self.horizon, units=UNITS[self.world], noise="gaussian", sd=1.0,
            seed=self.seed,
        )  # fmt: skip


def played(play: Play) -> dict[str, float]:
    """Return the regret at the horizon, what random arms lose on average, and the time it took."""
    began = time.perf_counter()
    world = play.made()
    problem = Problem(play.size.contexts, play.size.arms, play.size.groups)
    plan = METHODS[play.method](problem, play.horizon)
    run = lb.simulate(plan, world, horizon=play.horizon, seed=play.seed + 1)
    at_random = world.frequency @ (world.best - world.mean.mean(axis=1)) * play.horizon
    return {
        "regret": float(run.regret),
        "at random": float(at_random),
        "seconds": time.perf_counter() - began,
    }
