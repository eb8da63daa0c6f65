"""Claim 18: every block tries every good arm (23: `nested`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

import lumpable as lb
from lumpable.base import words
from lumpable.base.extras import need
from lumpable.plans import lengths, regret
from lumpable.plans.plan import Conversation
from lumpable.plans.problem import PAPER, Constants, Problem
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, rate
from lumpable.reproduce.claims import phases, witness
from lumpable.reproduce.claims.sketch import GUIDE, Axis, Rows, Series, Sketch
from lumpable.reproduce.claims.tails import miss_probability

SIDES = (60, 120, 240, 360, 480)
"""S = K."""
FOUR, SIX, SHORT = "Algorithm 4", "Algorithm 6", "broken: lengths 2ⁿ"
EXACT = "lengths 2ⁿ, exact"
TAPER = {SIX: PAPER.taper, SHORT: 1.0}
DEEP = 3
"""A run of Algorithm 6 is the levels 1 .. 3 of the first phase that covers all three."""


def silent(problem: Problem, levelled: bool) -> lb.World:
    """Return blocks that look alike, without noise: every arm stays good, so all must be covered.

    Algorithm 4 has equal groups, Algorithm 6 one large block and a single context that comes as
    rarely as allowed.
    """
    S, K, r = problem.letters
    world = witness.one_large_block(S, K, r, 0.4) if levelled else phases.own_arms(S, K, r)
    return replace(world, mean=np.zeros((S, K)), sd=0.0, name="silent")


def first_covering(problem: Problem) -> int:
    """Return the first phase h with n_b(h) = 3 for a block of one context with nu = 1/(8S)."""
    S, _, r = problem.letters
    return lengths.round_up(DEEP - 1 + 2 * math.log2(8 * S / r) + 1e-6)


@lb.algorithm(lb.About(phase=lengths.any_groups_phase))
def from_phase(problem: Problem, *, h: int, constants: Constants = PAPER) -> Conversation:
    """Algorithm 6 from phase h on, as it is when no arm has fallen and no cluster was split."""
    state = regret.LevelledState.start(problem)
    state.h = h - 1
    state.found.good *= h
    while True:
        yield from regret.levelled_phase(problem, state, constants)


def three_requests(name: str, problem: Problem) -> tuple[Callable[[], lb.Plan], int]:
    """Return how a run is made, and the rounds of its three requests of Step 1."""
    if name == FOUR:
        sizes = (lengths.equal_groups_phase(problem, h) for h in range(1, DEEP + 1))
        return lambda: regret.equal_groups(problem), sum(size.explore(size.h) for size in sizes)
    h, constants = first_covering(problem), replace(PAPER, taper=TAPER[name])
    size = lengths.any_groups_phase(problem, h, constants)
    rounds = sum(size.explore(n) for n in range(1, DEEP + 1))
    return lambda: from_phase(problem, h=h, constants=constants), rounds


def uncovered(name: str, side: int, runs: int) -> int:
    """Count runs of three requests of Step 1 in which a block lacks a good arm."""
    problem = Problem(side, side, 2)
    make, rounds = three_requests(name, problem)
    world = silent(problem, levelled=name != FOUR)
    seen = (phases.looks(make(), world, seed, rounds + 1) for seed in range(runs))
    return sum(any(look.uncovered_arms() for look in looks) for looks in seen)


def chance_of_a_miss(name: str, side: int) -> float:
    """Return the exact chance that the rare context lacks an arm at one of the levels 1 .. 3.

    Up to K e^-60, the chance of a miss after 60 K plays.
    """
    binom = need("scipy.stats", "research", "reproducing the paper").binom
    problem, constants = Problem(side, side, 2), replace(PAPER, taper=TAPER[name])
    size = lengths.any_groups_phase(problem, first_covering(problem), constants)
    plays = np.arange(60 * side)
    none = 1.0
    for n in range(1, DEEP + 1):
        done = binom.cdf(2**n * (plays + 1) - 1, size.explore(n), 1 / (8 * side))
        weight = np.diff(done, prepend=0.0)
        likely = np.flatnonzero(weight > 1e-18)
        none *= 1 - math.fsum(weight[k] * miss_probability(side, int(k)) for k in likely)
    return 1 - none


def uncovered_runs(runs: int) -> int:
    """Count whole runs with noise and printed constants in which a block lacks a good arm."""
    variants = ((regret.equal_groups, "equal"), (regret.any_groups, "giant"))
    seen = phases.whole_runs(variants, runs, 10**13)
    return sum(any(look.uncovered_arms() for look in run) for run in seen)


def measure_coverage(effort: Effort) -> Measured:
    """Count runs in which a block lacks an arm, with the lengths of the algorithm and others."""
    runs, whole = effort.pick(4, 60), effort.pick(2, 30)
    sides = effort.pick((60, 240, 480), SIDES)
    lacking = {name: [uncovered(name, side, runs) for side in sides] for name in (FOUR, SIX, SHORT)}
    exact = {name: [chance_of_a_miss(name, side) for side in SIDES] for name in TAPER}
    rows: Rows = [
        {"series": name, "side": side, "missing": bad / runs}
        for name, found in lacking.items()
        for side, bad in zip(sides, found, strict=True)
    ]
    rows += [
        {"series": EXACT, "side": side, "missing": chance}
        for side, chance in zip(SIDES, exact[SHORT], strict=True)
    ]
    return Measured(
        seeds=3 * runs * len(sides) + 2 * whole,
        setting={"runs": runs, "sides": sides, "whole": 2 * whole},
        rows=rows,
        facts={"lacking": lacking, "exact": exact, "missed": uncovered_runs(whole)},
    )


def promised(side: int) -> float:
    """2 delta_h of the phase that covers three levels, for all of them together."""
    problem = Problem(side, side, 2)
    return 2 * phases.delta(problem, first_covering(problem))


def judge_coverage(measured: Measured) -> Verdict:
    """Count runs in which a block lacks a good arm, and hold exact chances against 2 delta_h."""
    at, facts = measured.setting, measured.facts
    all_runs = at["runs"] * len(at["sides"])

    def counted(name: str, chance: float) -> Check:
        what = f"{name}: a good arm that a block did not try"
        return rate(what, sum(facts["lacking"][name]), all_runs, chance)

    def exactly(name: str) -> Check:
        worst = max(
            chance / promised(side)
            for side, chance in zip(SIDES, facts["exact"][name], strict=True)
        )
        what = f"{name}: exact chance that the rare block lacks an arm, over 2δ_h"
        return Check(what, worst, "<=", 1.0)

    small = Problem(SIDES[0], SIDES[0], 2)
    what = "a whole run in which a block missed a good arm"
    whole = rate(what, facts["missed"], at["whole"], 2 * phases.deltas(Problem(30, 20, 3)))
    return Verdict(
        printed=(
            counted(FOUR, 2 * phases.deltas(small)),
            counted(SIX, promised(SIDES[0])),
            exactly(SIX),
            whole,
        ),
        broken=(counted(SHORT, promised(SIDES[0])), exactly(SHORT)),
    )


def word_coverage(measured: Measured, verdict: Verdict) -> Words:
    """Tell where the shorter lengths leave arms untried."""
    at, facts = measured.setting, measured.facts
    all_runs = at["runs"] * len(at["sides"])
    four, six, short = (sum(facts["lacking"][name]) for name in (FOUR, SIX, SHORT))
    at_120 = facts["exact"][SHORT][SIDES.index(120)]
    return Words(
        setting=(
            f"printed constants; S = K in {tuple(at['sides'])}, r = 2, all means equal, so that "
            "every arm stays good; Algorithm 6: one block is a single context with ν = 1/(8S), "
            f"levels 1 to {DEEP} of the first phase that covers it there; Algorithm 4: equal "
            f"groups, phases 1 to {DEEP}; whole runs with noise at (30, 20, 3), T = 1e13"
        ),
        takeaway=(
            f"A block missed a good arm in {four} of {all_runs} runs (Algorithm 4), {six} of "
            f"{all_runs} (Algorithm 6) and {facts['missed']} of {at['whole']} whole runs. With "
            f"lengths 2ⁿ in place of 2^((n+h)/2), and nothing else changed, in {short} of "
            f"{all_runs}, {facts['lacking'][SHORT][-1]} of the {at['runs']} at S = K = "
            f"{at['sides'][-1]}; at 120 the chance is {words.number(at_120, 1)}, still "
            f"{words.number(at_120 / promised(120), 1)} times 2δ_h. A rare block needs the factor "
            "2^((h−n)/2)."
        ),
    )


COVERAGE = Claim(
    18,
    "Every block tries every good arm",
    printed=(
        "With probability ≥ 1 − 2δ_h some context of every block finishes every good arm in phase "
        "h: at the level of Algorithm 4, at levels n ≤ n_b(h) of Algorithm 6"
    ),
    broken="lengths r(S + K) lg_h 2ⁿ, as the proof in the appendix has them, all else as printed",
    seconds=(1.5, 22.0),
    measure=measure_coverage,
    judge=judge_coverage,
    word=word_coverage,
    draw=Sketch(
        Axis("side", "S = K", ticks=SIDES),
        Axis("missing", "share of runs with an untried good arm"),
        {EXACT: GUIDE, FOUR: Series("blue", "ring"), SIX: "green", SHORT: "orange"},
        title="Rare blocks are covered because low levels are long",
        subtitle=(
            "{runs} runs a point, printed constants. Algorithm 6: levels 1 to 3 of the first "
            "phase that covers a block of one context with ν = 1/(8S)."
        ),
        description=(
            "Share of runs in which a block did not try a good arm, against the number of contexts "
            "and arms: zero everywhere for Algorithms 4 and 6; with levels of length 2 to the n it "
            "rises from zero to nearly one, as the exact chance says."
        ),
    ),
)
