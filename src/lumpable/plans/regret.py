"""The regret half of the paper: Algorithms 4 (`equal_groups`), 5 (`split`) and 6 (`any_groups`).

Beside them what is not in the paper: `fresh_phases` and `fresh_guesses` repair Algorithm 6, and
`candidates` needs neither r nor a partition; their bodies are in modules of their own.

Plans without end: the executor cuts them off. No randomness, clock, I/O, logging or globals.
Line numbers are those of the pseudocode; "reading" refers to paper-regret.md.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from lumpable.base import checks
from lumpable.base.arrays import BoolMatrix, BoolVector, FloatVector, IntVector
from lumpable.base.errors import BadArgument
from lumpable.plans import bounds, fresh, lengths, regret_bounds
from lumpable.plans.about import About
from lumpable.plans.candidates_literal import attempts
from lumpable.plans.candidates_pooled import memory
from lumpable.plans.clusters import Clusters, Gap, Level, Parts, belief_in, best_arms, widest
from lumpable.plans.lengths import Phase
from lumpable.plans.making import algorithm
from lumpable.plans.plan import Belief, Collect, Conversation
from lumpable.plans.problem import PAPER, TIGHT, Constants, Problem, Tight
from lumpable.plans.seen import Sample


class TooFewGroups(Exception):
    """The data cannot come from only r groups; the message says why."""


@algorithm(
    About(
        "Algorithm 4",
        "learns groups of equal size, when contexts come equally often",
        endless=True,
        rate=bounds.LUMPABLE,
        phase=lengths.equal_groups_phase,
        assumes=frozenset({"enough groups", "even contexts", "equal groups"}),
    )
)
def equal_groups(problem: Problem, *, constants: Constants = PAPER) -> Conversation:
    """Algorithm 4: low regret when contexts come equally often and groups are of equal size.

    Phases h = 1, 2, ... without end. Theorem 4: regret of order sqrt(r^3 (S + K) T), without
    constants and logarithms (`bounds.regret_rate`).
    """
    S, K, _ = problem.letters
    found = Clusters.everybody(S, K)  # line 1
    policy = np.zeros(S, dtype=np.int64)
    h = 0
    while True:
        h += 1  # line 3
        size = lengths.equal_groups_phase(problem, h, constants)  # lines 4 and 5
        thought = belief_in(found, "exploring", f"phase {h}: exploring", h, policy)
        sample = yield Collect(size.explore(h), 2**h, found.arms(), thought)  # line 6
        levels = [Level(h, size.threshold(h), sample.mean)]
        restless = yield from separate(size, found, levels, policy)  # Step 2
        keep = levels[0].survivors(found)  # Step 3: line 13
        found.good = [np.where(restless[:, np.newaxis], found.good[0], keep)]  # line 14
        policy = best_arms(found, sample)


@algorithm(
    About(
        "Algorithm 6",
        "learns groups of any size, when contexts come about equally often",
        endless=True,
        rate=bounds.LUMPABLE,
        phase=lengths.any_groups_phase,
        assumes=frozenset({"enough groups", "even contexts"}),
    )
)
def any_groups(
    problem: Problem, *, constants: Constants = PAPER, mended: bool = False, arm: int = 0
) -> Conversation:
    """Algorithm 6: low regret when contexts come about equally often, groups of any size.

    Phases h = 1, 2, ... without end, each with accuracy levels 1 .. h. Theorem 5 claims regret of
    order sqrt(r^3 (S + K) T), without constants and logarithms (`bounds.regret_rate`). The
    induction of its proof fails, mended or not: a small group may lose its best arm for good
    (errata.md, "The best arm of a small group"). `fresh_phases` repairs that.

    `mended` repairs what clustering costs (errata.md): a cluster is split at the accuracy of
    the level that showed the gap instead of the phase's, and the others play their deepest good
    sets meanwhile. `arm` is its answer before it has any data.
    """
    arm = checks.whole("arm", arm, 0, problem.arms - 1)
    state = LevelledState.start(problem, np.full(problem.contexts, arm))
    while True:
        yield from levelled_phase(problem, state, constants, mended=mended)


@algorithm(
    About(
        "fresh phases",
        "learns groups of any size, and its good sets anew in every phase",
        endless=True,
        rate=regret_bounds.FRESH_CARRIED,
        assumes=frozenset({"enough groups", "even contexts"}),
    )
)
def fresh_phases(
    problem: Problem, *, constants: Constants | Tight = TIGHT, adaptive: bool = True
) -> Conversation:
    """Algorithm 6 repaired: the partition is carried from phase to phase, good sets are not.

    Phases h = 1, 2, ... without end. For all T at once, the expected regret is of order
    sqrt((r^2 S + r K) T), without constants and logarithms, when every context comes with
    frequency at least 1/(8S): Theorem CARRY of beyond-fresh.md. Calls that split a cluster become
    finer step by step. With `adaptive=False` they measure r times as fine at once, and r^3 takes
    the place of r^2; that has a proof of its own there ("The fixed split, carried").

    `constants` is `TIGHT`, which has a proof and learns a thousand times earlier, or `Constants`,
    of which `levels` and `taper` are used.
    """
    return fresh.known_groups(problem, constants, adaptive=adaptive)


@algorithm(
    About(
        "fresh phases, r guessed",
        "guesses the number of groups anew in every phase, from the clusters it has found",
        endless=True,
        rate=regret_bounds.FRESH_UNKNOWN,
        assumes=frozenset({"even contexts"}),
        guesses=True,
    )
)
def fresh_guesses(problem: Problem, *, constants: Constants | Tight = TIGHT) -> Conversation:
    """Fresh phases without knowing r: `problem.groups` is not used.

    A phase starts again with a guess twice as large whenever the data disprove it; the notes of a
    run say which guesses were given up and why. For all T at once, the expected regret is of order
    r sqrt((S + K) T), without constants and logarithms, under the assumption of `fresh_phases`.
    """
    return fresh.guessed_groups(problem, constants)


@algorithm(
    About(
        "candidates",
        "needs no number of groups: tests a few arms on everybody, forms no clusters",
        endless=True,
        rate=regret_bounds.CANDIDATES,
        assumes=frozenset({"even contexts"}),
        guesses=True,
    )
)
def candidates(
    problem: Problem, *, horizon: int | float | None = None, literal: bool = False
) -> Conversation:
    """Low regret when contexts come about equally often, groups of any size and any number.

    Regret of order sqrt(min(r (S + K), S K) T) for all T, without constants and logarithms, and
    neither r nor T is an input: `problem.groups` is ignored. All data are pooled and forgotten
    block by block; with a `horizon` they are never forgotten, and the bounds are narrower.
    `literal` is the form that the theorem is proved for first: nothing is kept, every estimate is
    fresh. It has the same order and much larger constants, and takes no horizon; simulating it at
    large sizes takes minutes, because its tests ask for nearly all pairs again and again.
    """
    if literal and horizon is not None:
        raise BadArgument(
            "horizon", "None with literal=True, which forgets by itself", f"{horizon}"
        )
    return attempts(problem) if literal else memory(problem, horizon)


@dataclass(slots=True)
class LevelledState:
    """What Algorithm 6 carries from phase to phase."""

    h: int
    """The last phase that was played."""
    found: Clusters
    policy: IntVector

    @classmethod
    def start(cls, problem: Problem, policy: IntVector | None = None) -> LevelledState:
        """Line 1: one cluster, all arms good."""
        S, K, _ = problem.letters
        arms = np.zeros(S, dtype=np.int64) if policy is None else policy
        return cls(0, Clusters.everybody(S, K), arms)


def levelled_phase(
    problem: Problem,
    state: LevelledState,
    constants: Constants,
    *,
    mended: bool = False,
    doubt: bool = False,
    given_up: tuple[str, ...] = (),
) -> Generator[Collect, Sample, None]:
    """Lines 3 to 17 of Algorithm 6: one phase. With `doubt`, r may turn out to be too small.

    `given_up` says which guesses of r were given up before, and why.
    """
    state.h += 1  # line 3
    h, found = state.h, state.found
    size = lengths.any_groups_phase(problem, h, constants)  # line 4
    levels = []
    for n in range(1, h + 1):  # line 5
        words = f"phase {h}: exploring, level {n} of {h}"
        thought = belief_in(found, "exploring", words, h, state.policy, given_up)
        sample = yield Collect(size.explore(n), 2**n, found.arms(n - 1), thought)  # lines 6 and 7
        levels.append(Level(n, size.threshold(n), sample.mean))
    restless = yield from separate(
        size, found, levels, state.policy, mended=mended, doubt=doubt, given_up=given_up
    )
    found.good = drop_bad_arms(found, levels, restless)
    state.policy = best_arms(found, sample)


# --- Step 2: test homogeneity, split what is mixed -------------------------------------------


def separate(
    size: Phase,
    found: Clusters,
    levels: list[Level],
    policy: IntVector,
    *,
    mended: bool = False,
    doubt: bool = False,
    given_up: tuple[str, ...] = (),
) -> Generator[Collect, Sample, BoolVector]:
    """Step 2 of Algorithms 4 and 6: split clusters until none shows a gap that was not tested.

    Line numbers are Algorithm 4's, in brackets Algorithm 6's. Changes `found` in place. Returns
    which clusters still show a gap: Algorithm 5 found them in one part, so they are not tested
    again in this phase and Step 3 leaves them alone (reading 20).
    """
    tested: BoolMatrix = np.zeros(found.good[0].shape, dtype=bool)
    while (gap := widest(levels, found, tested)) is not None:  # line 7 (6: 8)
        inside = found.label == gap.cluster
        arms = found.arms(-1 if mended else gap.position)
        arms[inside] = np.arange(arms.shape[1]) == gap.arm  # line 8 (6: 9)
        accuracy = gap.level if mended else size.h
        words = _splitting(size.h, inside, gap)
        thought = belief_in(found, "splitting", words, size.h, policy, given_up)
        parts = yield from split(size, accuracy, inside, gap.arm, arms, thought)  # line 9 (6: 10)
        for level in levels:
            level.set_aside(parts.unseen)
        if parts.number == 1:
            tested[gap.cluster, gap.arm] = True
        parent = found.divide(gap.cluster, parts.label)  # line 10 (6: 11)
        tested = tested[parent]
        if doubt:
            _doubt(size.problem, found, parts)
    restless: BoolVector = np.zeros(found.number, dtype=bool)
    for level in levels:
        restless |= np.any(level.gaps(found) >= level.threshold, axis=1)
    return restless


def split(
    size: Phase, accuracy: int, inside: BoolVector, arm: int, arms: BoolMatrix, belief: Belief
) -> Generator[Collect, Sample, Parts]:
    """Algorithm 5: play one arm on a cluster until its contexts can be told apart, and cut.

    `accuracy` sets epsilon' = 2^(-accuracy/2) / (4r). Contexts outside the cluster play from
    `arms`, and their data are not used (reading 25).
    """
    rounds, repeats = size.split_rounds(accuracy), size.split_repeats(accuracy)  # line 2
    sample = yield Collect(rounds, repeats, arms, belief)  # line 3
    return cut(
        np.where(inside, sample.mean[:, arm], np.nan), inside, size.split_threshold(accuracy)
    )


def cut(mean: FloatVector, inside: BoolVector, threshold: float) -> Parts:
    """Algorithm 5, lines 4 to 10: sort the contexts by their means and cut at large gaps.

    A context without an estimate (NaN) goes with the largest part (reading 24).
    """
    seen = np.flatnonzero(~np.isnan(mean))
    order = seen[np.argsort(-mean[seen], kind="stable")]  # line 4
    with np.errstate(over="ignore"):
        apart = mean[order[:-1]] - mean[order[1:]] >= threshold  # lines 6 and 7
    label = np.full(len(mean), -1, dtype=np.int64)
    label[order] = np.concatenate([[0], np.cumsum(apart)])[: len(order)]  # lines 5, 8 and 9
    unseen = inside & np.isnan(mean)
    label[unseen] = np.argmax(np.bincount(label[order])) if len(order) else 0
    return Parts(label, unseen)  # line 10


def _splitting(h: int, inside: BoolVector, gap: Gap) -> str:
    return f"phase {h}: splitting a cluster of {inside.sum()} on arm {gap.arm}, level {gap.level}"


def _doubt(problem: Problem, found: Clusters, parts: Parts) -> None:
    """Raise if this is impossible with r groups (reading 32)."""
    r = problem.groups
    if found.number > r:
        raise TooFewGroups(f"{found.number} clusters, more than r = {r}")
    if parts.number == 1 and not parts.unseen.any():
        raise TooFewGroups(f"a gap that Algorithm 5 could not separate, impossible with r = {r}")


# --- Step 3: drop bad arms ---------------------------------------------------------------------


def drop_bad_arms(found: Clusters, levels: list[Level], restless: BoolVector) -> list[BoolMatrix]:
    """Step 3 of Algorithm 6: the good sets of phase h + 1, nested in the level.

    Level 1 always explores everything (reading 27); where two levels have nothing in common, the
    set of the lower one stays (reading 28); the new level starts from the deepest one.
    """
    left_alone = restless[:, np.newaxis]
    good = [np.ones_like(found.good[0])]  # line 12
    for level, before in zip(levels[1:], found.good[1:], strict=True):  # line 13
        keep = good[-1] & level.survivors(found, before)  # lines 15 to 17
        keep = np.where(keep.any(axis=1, keepdims=True), keep, good[-1])
        good.append(np.where(left_alone, before, keep))
    return [*good, good[-1]]
