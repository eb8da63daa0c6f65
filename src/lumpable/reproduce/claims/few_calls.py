"""Claim 17: how often Algorithm 5 is called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import lumpable as lb
from lumpable import worlds
from lumpable.plans import regret
from lumpable.plans.problem import PAPER, Constants
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words
from lumpable.reproduce.claims import phases
from lumpable.reproduce.claims.sketch import Axis, Series, Sketch
from lumpable.reproduce.claims.witness import size_of

HORIZON = 10**14
"""Long enough for a gap of 1/2 to show with eight groups."""
IN_A_RUN, COARSER = "in a whole run", "broken: ε′ = ε_h"


def calls_of(world: lb.World, seed: int, constants: Constants = PAPER) -> Iterator[tuple[int, int]]:
    """Yield the calls in a run and the most in a phase, of Algorithm 4 and of Algorithm 6."""
    for algorithm in (regret.equal_groups, regret.any_groups):
        plan = algorithm(size_of(world), constants=constants)
        seen = phases.looks(plan, world, seed, HORIZON)
        made = [look.h for look in seen if not look.exploring]
        yield len(made), max((made.count(h) for h in set(made)), default=0)


def most_calls(groups: int, runs: Iterable[tuple[int, int]]) -> dict[str, int]:
    """Return the most calls of several runs, in a run and in a phase."""
    in_a_run, in_a_phase = zip(*runs, strict=True)
    return {"r": groups, "run": max(in_a_run), "phase": max(in_a_phase)}


def needing_calls(contexts: int, arms: int, groups: int, seed: int) -> tuple[lb.World, ...]:
    """Return three kinds of worlds: with uniform means, with own arms, with a chain of blocks."""
    return (
        worlds.lumpable(contexts, arms, groups, seed=seed),
        phases.own_arms(contexts, arms, groups),
        phases.chain(contexts, arms, groups),
    )


def measure_few_calls(effort: Effort) -> Measured:
    """Count calls in whole runs, in worlds that need as many as there can be."""
    S, K, seeds = 32, 16, effort.pick(1, 12)
    counts = (2, 3, 4, 6, 8)
    printed, broken, rows = [], [], []
    for r in counts:
        runs = (
            calls
            for seed in range(seeds)
            for world in needing_calls(S, K, r, seed)
            for calls in calls_of(world, seed)
        )
        printed.append(most_calls(r, runs))
        coarse = replace(PAPER, finer=1 / r)
        broken.append(most_calls(r, calls_of(phases.chain(S, K, r), 0, coarse)))
        heights = {IN_A_RUN: printed[-1]["run"], COARSER: broken[-1]["run"], "r − 1": r - 1}
        rows += [{"series": name, "r": r, "calls": calls} for name, calls in heights.items()]
    return Measured(
        seeds=seeds * 6 * len(counts),
        setting={"S": S, "K": K, "r": counts},
        rows=rows,
        facts={"printed": printed, "broken": broken},
    )


def judge_few_calls(measured: Measured) -> Verdict:
    """The paper allows r calls in a phase; r - 1 in the whole run suffice."""

    def checks(form: str) -> tuple[Check, Check]:
        found = measured.facts[form]
        phase = max(most["phase"] - most["r"] for most in found)
        run = max(most["run"] - (most["r"] - 1) for most in found)
        return (
            Check("calls in a phase beyond r", phase, "<=", 0),
            Check("calls in a whole run beyond r − 1", run, "<=", 0),
        )

    printed = checks("printed")
    return Verdict(printed=printed[:1], repaired=printed, broken=checks("broken"))


def word_few_calls(measured: Measured, verdict: Verdict) -> Words:
    """Tell how many calls there were at most."""
    at, printed, broken = measured.setting, measured.facts["printed"], measured.facts["broken"]
    return Words(
        setting=(
            f"S = {at['S']}, K = {at['K']}, r in {tuple(at['r'])}, T = 1e14, Algorithms 4 and 6; "
            "uniform means, blocks that differ in one arm of their own, blocks at equal distances"
        ),
        takeaway=(
            "Most calls in a whole run: "
            + ", ".join(f"{most['run']} at r = {most['r']}" for most in printed)
            + ". Where every block has an arm of its own, all r − 1 are needed. With ε′ = ε_h "
            f"there are up to {max(most['run'] for most in broken)} calls."
        ),
    )


FEW_CALLS = Claim(
    17,
    "Few calls of Algorithm 5",
    printed="Algorithm 5 is called at most r times in a phase",
    repaired="at most r − 1 times in the whole run: every call sets a block apart, for good",
    broken="ε′ = ε_h in place of ε_h/(4r): calls that set no block apart",
    seconds=(4.0, 32.0),
    measure=measure_few_calls,
    judge=judge_few_calls,
    word=word_few_calls,
    draw=Sketch(
        Axis("r", "groups r", ticks="points"),
        Axis("calls", "most calls of Algorithm 5 in a run", "log"),
        {IN_A_RUN: Series("blue", "ring"), "r − 1": Series("green", "dash"), COARSER: "orange"},
        title="Every call sets a block apart, so r − 1 suffice",
        subtitle="Most calls in runs to T = 1e14. The paper allows r in every phase.",
        description=(
            "Most calls of Algorithm 5 in a whole run against r: exactly r minus 1, while with "
            "epsilon' = epsilon_h there are many more."
        ),
    ),
)
