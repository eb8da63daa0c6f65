"""Algorithm 6 with fresh phases: every phase learns its good sets anew (`regret.fresh_phases`).

What an arm's bad luck in one phase does, ends with the phase. Only the partition is carried: a
wrong cut makes groups smaller and does no other harm, while an arm that was wrongly dropped would
never be looked at again (errata.md, "The best arm of a small group"). Plans: no randomness, clock,
I/O, logging or globals.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from lumpable.base.arrays import IntVector
from lumpable.base.errors import BadArgument
from lumpable.plans.clusters import Clusters, Parts, belief_in, best_arms
from lumpable.plans.fresh_lengths import FreshPhase, Stages, fresh_phase
from lumpable.plans.intervals import Intervals, WideGap, components
from lumpable.plans.plan import Collect, Conversation
from lumpable.plans.problem import Constants, Problem, Tight
from lumpable.plans.seen import Sample


@dataclass(slots=True)
class Carried:
    """What goes from phase to phase."""

    label: IntVector
    """The partition: the cluster of each context."""
    policy: IntVector
    """What it would answer if it were stopped; nothing depends on it."""
    given_up: tuple[str, ...] = ()
    """Which guesses of r were given up, and why."""

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return int(self.label.max()) + 1


def known_groups(
    problem: Problem, constants: Constants | Tight, *, adaptive: bool = True
) -> Conversation:
    """Phases h = 1, 2, .. without end; r is known. Phases without a level are left out."""
    _check(constants)
    state = _start(problem)
    h = 0
    while True:
        h += 1
        size = fresh_phase(problem, h, constants)
        yield from attempt(size, state, adaptive=adaptive)


def guessed_groups(problem: Problem, constants: Constants | Tight) -> Conversation:
    """Phases h = 1, 2, .. without end; r is guessed, anew in every phase.

    The first guess of a phase goes by the number of clusters. When an attempt disproves it, the
    next one starts the phase again with a guess twice as large. No guess is above S.
    """
    _check(constants)
    S, K, _ = problem.letters
    state = _start(problem)
    h = 0
    while True:
        h += 1
        r = _guess(S, 2, state.clusters)
        while True:
            size = fresh_phase(Problem(S, K, r), h, constants, known=False)
            disproof = yield from attempt(size, state, doubt=r < S)
            if not disproof:
                break
            state.given_up = (*state.given_up, f"r = {r} was given up in phase {h}: {disproof}")
            r = _guess(S, 2 * r, state.clusters)


def _check(constants: Constants | Tight) -> None:
    if not isinstance(constants, Constants | Tight):
        raise BadArgument("constants", "a lumpable.Constants or lumpable.TIGHT", repr(constants))


def _start(problem: Problem) -> Carried:
    everybody = np.zeros(problem.contexts, dtype=np.int64)
    return Carried(everybody, everybody)


def _guess(most: int, least: int, clusters: int) -> int:
    """Return the larger of `least` and a power of two that has room for the clusters."""
    return min(most, max(least, 1 << (clusters - 1).bit_length()))


def attempt(
    size: FreshPhase, state: Carried, *, adaptive: bool = True, doubt: bool = False
) -> Generator[Collect, Sample, str]:
    """Play phase h with a given number of groups: levels n0 .. h, from all arms to the good ones.

    With `doubt` it ends when r turns out to be too small, and returns why; else it returns "".
    """
    h, K = size.h, size.problem.arms
    found = Clusters(state.label, [np.ones((state.clusters, K), dtype=bool)])
    splitting = True
    for n in range(size.first, h + 1):
        words = f"phase {h}: exploring, level {n} of {h}"
        thought = belief_in(found, "exploring", words, h, state.policy, state.given_up)
        sample = yield Collect(size.explore(n), 2**n, found.arms(), thought)
        seen = Intervals.around(sample, size.intervals(n, sample.plays))
        while splitting and (gap := seen.widest(found, 2 * size.error(n))) is not None:
            stages = Stages(size.problem, h, min(1.0, gap.size), adaptive)
            parts, fine = yield from split(stages, found, gap, n, state)
            found.divide(gap.cluster, parts.label)
            state.label = found.label
            seen = seen.without(parts.unseen)
            splitting = fine  # else nothing is split any more in this attempt
            if doubt and (disproof := _disproof(size.problem.groups, found, fine)):
                return disproof
        found.good = [found.good[0] & ~size.fallen(n, seen, found)]
        if n == h:
            state.policy = best_arms(found, sample)
    return ""


def split(
    stages: Stages, found: Clusters, gap: WideGap, n: int, state: Carried
) -> Generator[Collect, Sample, tuple[Parts, bool]]:
    """Play one arm on a cluster, finer and finer, until the cuts pay for the rounds.

    The others play their good arms meanwhile, and their data are not used. Returns the parts, and
    whether the cuts were enough: if the cluster has at most r different means, they are.
    """
    inside = found.label == gap.cluster
    arms = found.arms()
    arms[inside] = np.arange(arms.shape[1]) == gap.arm
    h, size = stages.h, inside.sum()
    for q in range(stages.number):
        words = f"phase {h}: splitting a cluster of {size} on arm {gap.arm}, level {n}, stage {q}"
        thought = belief_in(found, "splitting", words, h, state.policy, state.given_up)
        sample = yield Collect(stages.rounds(q), stages.repeats(q), arms, thought)
        seen = Intervals.around(sample, stages.intervals(q, sample.plays))
        lower, upper = seen.lower[:, gap.arm], seen.upper[:, gap.arm]
        parts = Parts(components(lower, upper, inside), inside & np.isnan(upper))
        fine = stages.enough(q, parts.number - 1)
        if fine:
            break
    return parts, fine


def _disproof(r: int, found: Clusters, fine: bool) -> str:
    """Say why there must be more than r groups, or ""."""
    if found.number > r:
        return f"{found.number} clusters, more than r = {r}"
    return "" if fine else f"a gap that could not be cut, impossible with r = {r}"
