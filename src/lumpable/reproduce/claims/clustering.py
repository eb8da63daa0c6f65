"""Claims 16 and 17: Algorithm 5, which splits clusters.

18 and 23: `goodsets`; 19: `induction`; 20 and 21: `survivors`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.plans import lengths, regret
from lumpable.plans.lengths import Phase
from lumpable.plans.plan import Belief
from lumpable.plans.problem import PAPER, Constants, Problem
from lumpable.reproduce.claim import Check, Effort, Finding, claim, rate
from lumpable.reproduce.claims import phases, sketch, witness
from lumpable.reproduce.claims.sketch import Axis, Series
from lumpable.runs.answers import answer

# --- 16: Algorithm 5 ------------------------------------------------------------------------

LEMMA = 1.5
"""The lemma separates what is more than 1.5 r sqrt(lg) epsilon' apart."""
JUST_ABOVE = 1.001
GAPS = (0.1, 0.3, 0.45, 0.55, 0.7, 0.85, JUST_ABOVE, 1.2, 1.5, 1.9, 2.1, 2.5)
"""Distances of the outermost blocks, in 1.5 r sqrt(lg) epsilon'."""
ACCURACY = 10
"""The phase whose epsilon' is used; nothing depends on it but the logarithm."""

WHOLE = Problem(36, 20, 4)
"""The size of the whole runs."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """What calls of Algorithm 5 did wrong."""

    missed: int
    """Calls that left the two outermost blocks together."""
    split: int
    """Calls that put contexts of one block into different parts."""


def cuts(gap: float, runs: int, constants: Constants, *, coarser: int = 0) -> Cuts:
    """Call Algorithm 5 on r blocks at equal distances, the outermost `gap` lemmas apart.

    With `coarser`, epsilon' is 2^(coarser / 2) times as large as the lemma was told.
    """
    problem = Problem(36, 2, 4)
    S, _, r = problem.letters
    size = lengths.equal_groups_phase(problem, ACCURACY, constants)
    told = LEMMA * r * size.split_threshold(ACCURACY)
    group = np.arange(S) % r
    mean = np.stack([-gap * told / (r - 1) * group] * 2, axis=1)
    world = lb.World(mean, witness.most_uneven(S), group)
    found = [called(size, ACCURACY - coarser, world, seed) for seed in range(runs)]
    ends = np.flatnonzero(group == 0)[0], np.flatnonzero(group == r - 1)[0]
    return Cuts(
        missed=sum(bool(label[ends[0]] == label[ends[1]]) for label in found),
        split=sum(any(np.ptp(label[group == b]) > 0 for b in range(r)) for label in found),
    )


def called(size: Phase, accuracy: int, world: lb.World, seed: int) -> np.ndarray:
    """Call Algorithm 5 once, on everybody and arm 0; returns the part of each context."""
    everybody = np.ones(world.contexts, dtype=bool)
    arms = np.zeros(world.mean.shape, dtype=bool)
    arms[:, 0] = True
    belief = Belief("splitting", np.zeros(world.contexts, dtype=np.int64))
    call = regret.split(size, accuracy, everybody, 0, arms, belief)
    got = answer(next(call), world, np.random.default_rng([16, seed]))
    try:
        call.send(got.sample)
    except StopIteration as end:
        parts: regret.Parts = end.value
        return parts.label
    raise AssertionError("Algorithm 5 asks once")


def blocks_split(runs: int, horizon: int) -> int:
    """Count whole runs of Algorithms 4 and 6 in which contexts of one block were parted."""
    S, K, r = WHOLE.letters
    count = 0
    for seed in range(runs):
        world = worlds.lumpable(S, K, r, frequency=witness.most_uneven(S), seed=seed)
        for algorithm in (regret.equal_groups, regret.any_groups):
            seen = phases.looks(algorithm(WHOLE), world, seed, horizon)
            count += seen[-1].splits_a_block()  # parts are never joined again
    return count


def promised_whole() -> float:
    """Return how often a whole run may split a block: 2 delta' = 2 delta_h / r a call.

    At most r - 1 calls in every phase h of this problem, added up over all phases.
    """
    r = WHOLE.groups
    return (r - 1) * 2 * phases.deltas(WHOLE) / r


@claim(
    16,
    "Algorithm 5 splits clusters, never blocks",
    printed=(
        "Blocks of a cluster whose means differ by more than (3r/2) √lg ε′ end in different parts, "
        "and no block is split, with probability ≥ 1 − 2δ′"
    ),
    broken="ε′ four times as large (a sixteenth of the rounds); a 256th of the rounds and of lg",
    seconds=(3.0, 9.0),
)
def clustering(effort: Effort) -> Finding:
    """Call Algorithm 5 on blocks at equal distances, where the gaps are hardest to see."""
    calls, runs, horizon = effort.pick(40, 400), effort.pick(2, 20), 10**13
    problem = Problem(36, 2, 4)
    promised = 2 * phases.delta(problem, ACCURACY) / problem.groups
    rows, at_bar, apart = [], {}, {}
    for name, coarser in (("ε′ as printed", 0), ("broken: 4ε′", 4)):
        for gap in GAPS:
            found = cuts(gap, calls, PAPER, coarser=coarser)
            rows.append({"series": name, "gap": gap, "apart": 1 - found.missed / calls})
            if gap == JUST_ABOVE:
                at_bar[name] = found
            if not coarser:
                apart[gap] = 1 - found.missed / calls
    fewer = cuts(JUST_ABOVE, calls, replace(PAPER, split=PAPER.split / 256))
    parted = blocks_split(runs, horizon)
    kept, lax = at_bar["ε′ as printed"], at_bar["broken: 4ε′"]
    least = min((gap for gap, share in apart.items() if share == 1), default=math.inf)
    missed, split = "a gap just above the bar was missed", "a block was split"
    whole = rate("a block was split in a whole run", parted, 2 * runs, promised_whole())
    return Finding(
        setting=(
            f"S = 36, r = 4 blocks at equal distances, ε′ of phase {ACCURACY}, ν = 8/S for a ninth "
            "of the contexts and 1/(8S) for the others; whole runs of Algorithms 4 and 6 at "
            f"{WHOLE.letters}, T = 1e13"
        ),
        seeds=calls * len(GAPS),
        printed=(
            rate(missed, kept.missed, calls, promised),
            rate(split, kept.split, calls, promised),
            whole,
        ),
        broken=(
            rate(f"{missed}, 4ε′", lax.missed, calls, promised),
            rate(f"{split}, a 256th of the rounds", fewer.split, calls, promised),
        ),
        words=(
            f"{calls - kept.missed} of {calls} calls found a gap just above the bar, and gaps of "
            f"{least:g} of it always show. Blocks were split in {kept.split} calls and in {parted} "
            f"of {2 * runs} whole runs. Four times ε′ misses the gap in {lax.missed / calls:.0%} "
            f"of the calls, a 256th of the rounds splits blocks in {fewer.split / calls:.0%}."
        ),
        figure=sketch.picture(
            rows,
            Axis("gap", "distance of the outermost blocks, in (3r/2) √lg ε′"),
            Axis("apart", "share of calls that set them apart"),
            {"ε′ as printed": Series(sketch.BLUE), "broken: 4ε′": Series(sketch.ORANGE)},
            title="Algorithm 5 sees what it promises",
            subtitle=[
                f"Four blocks at equal distances, {calls} calls a point; the lemma: from 1 on."
            ],
            description=(
                "Share of calls of Algorithm 5 that set the outermost blocks apart, against their "
                "distance: none below one half of the lemma's distance, all from 0.55 on; with "
                "four times epsilon' only from 2.1 on."
            ),
        ),
    )


# --- 17: few calls --------------------------------------------------------------------------

HORIZON = 10**14
"""Long enough for a gap of 1/2 to show with eight groups."""


@dataclass(frozen=True, slots=True)
class Calls:
    """How often Algorithm 5 was called, at most."""

    in_a_run: int
    in_a_phase: int


def calls_of(world: lb.World, seed: int, constants: Constants = PAPER) -> Iterator[Calls]:
    """Yield the calls of a run of Algorithm 4 and of one of Algorithm 6."""
    for algorithm in (regret.equal_groups, regret.any_groups):
        plan = algorithm(phases.size_of(world), constants=constants)
        seen = phases.looks(plan, world, seed, HORIZON)
        made = [look.h for look in seen if not look.exploring]
        yield Calls(len(made), max((made.count(h) for h in set(made)), default=0))


def most_calls(found: Iterable[Calls]) -> Calls:
    """Return the most of several runs."""
    runs = list(found)
    return Calls(max(run.in_a_run for run in runs), max(run.in_a_phase for run in runs))


def needing_calls(contexts: int, arms: int, groups: int, seed: int) -> tuple[lb.World, ...]:
    """Return three kinds of worlds: with uniform means, with own arms, with a chain of blocks."""
    return (
        worlds.lumpable(contexts, arms, groups, seed=seed),
        phases.own_arms(contexts, arms, groups),
        phases.chain(contexts, arms, groups),
    )


@claim(
    17,
    "Few calls of Algorithm 5",
    printed="Algorithm 5 is called at most r times in a phase",
    repaired="at most r − 1 times in the whole run: every call sets a block apart, for good",
    broken="ε′ = ε_h in place of ε_h/(4r): calls that set nobody apart",
    seconds=(4.0, 32.0),
)
def few_calls(effort: Effort) -> Finding:
    """Count calls in whole runs, in worlds that need as many as there can be."""
    S, K, seeds = 32, 16, effort.pick(1, 12)
    counts = (2, 3, 4, 6, 8)
    found, broken = {}, {}
    for r in counts:
        found[r] = most_calls(
            calls
            for seed in range(seeds)
            for world in needing_calls(S, K, r, seed)
            for calls in calls_of(world, seed)
        )
        coarse = replace(PAPER, finer=1 / r)
        broken[r] = most_calls(calls_of(phases.chain(S, K, r), 0, coarse))
    rows = [
        {"series": name, "r": r, "calls": calls}
        for r in counts
        for name, calls in (
            ("in a whole run", found[r].in_a_run),
            ("broken: ε′ = ε_h", broken[r].in_a_run),
            ("r − 1", r - 1),
        )
    ]

    def over(calls: dict[int, Calls]) -> tuple[Check, Check]:
        return (
            Check(
                "calls in a phase beyond r",
                max(c.in_a_phase - r for r, c in calls.items()),
                "<=",
                0,
            ),
            Check(
                "calls in a whole run beyond r − 1",
                max(c.in_a_run - (r - 1) for r, c in calls.items()),
                "<=",
                0,
            ),
        )

    return Finding(
        setting=(
            f"S = {S}, K = {K}, r in {counts}, T = 1e14, Algorithms 4 and 6; uniform means, "
            "blocks that differ in one arm of their own, blocks at equal distances"
        ),
        seeds=seeds * 6 * len(counts),
        printed=over(found)[:1],
        repaired=over(found),
        broken=over(broken),
        words=(
            "Most calls in a whole run: "
            + ", ".join(f"{found[r].in_a_run} at r = {r}" for r in counts)
            + ": where every block has an arm of its own, all r − 1 are needed. With ε′ = ε_h up "
            f"to {max(c.in_a_run for c in broken.values())} calls."
        ),
        figure=sketch.picture(
            rows,
            Axis("r", "groups r", values=counts),
            Axis("calls", "most calls of Algorithm 5 in a run", "log"),
            {
                "in a whole run": Series(sketch.BLUE, "ring"),
                "r − 1": Series(sketch.GREEN, "dash"),
                "broken: ε′ = ε_h": Series(sketch.ORANGE),
            },
            title="Every call sets a block apart, so r − 1 suffice",
            subtitle=["Most calls in runs to T = 1e14. The paper allows r in every phase."],
            description=(
                "Most calls of Algorithm 5 in a whole run against r: exactly r minus 1, while "
                "with epsilon' = epsilon_h there are many more."
            ),
        ),
    )
