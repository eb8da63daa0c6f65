"""Claim 23: what nested good sets are for: levels that are too deep for a block."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.plans import regret
from lumpable.plans.problem import PAPER, Constants, Problem
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, rate
from lumpable.reproduce.claims import phases, witness
from lumpable.reproduce.claims.phases import Look
from lumpable.reproduce.claims.sketch import Axis, Rows, Sketch
from lumpable.reproduce.claims.witness import size_of

PRINTED_NEAR = 6.0
"""Arms are within 6 eps~_{h,n_b}."""
FEWER = replace(PAPER, levels=PAPER.levels / 1024)
"""With the printed 128, deep levels leave an arm untried only among tens of thousands."""
LARGE, SMALL, BARE = "Algorithm 6, 128", "Algorithm 6, 128/1024", "broken: no line 17, 128/1024"


def tiers(seed: int) -> lb.World:
    """Return one large block and a rare single context; they differ on every arm.

    Noise of 1/32 is to a 1024th of lg_h what noise of 1 is to the printed one.
    """
    world = witness.one_large_block(60, 60, 2, 0.4)
    draws = np.random.default_rng(seed).random((2, 60))
    mean = (np.arange(2)[:, np.newaxis] + 0.9 * draws) / 2
    return replace(world, mean=mean[world.group], sd=1 / 32, name="tiers")


def giant(seed: int) -> lb.World:
    """Return one giant group and two single contexts, means uniform."""
    return worlds.lumpable(30, 20, 3, sizes="giant", seed=seed)


def worst_deep(look: Look) -> float:
    """Return how bad an arm a block plays at a level n > n_b(h), in eps~_{h,n_b}.

    Only blocks with an arm that is more than 6 eps~ bad are looked at, and levels 2 <= n_b < n:
    level 1 always plays all arms. NaN: there is none.
    """
    world, worst = look.world, math.nan
    levels = phases.protected_levels(world, look.size.problem.groups, look.h)
    gap = world.best[:, np.newaxis] - world.mean
    for block in np.unique(world.group):
        own, members = levels[block], world.group == block
        unit = look.size.threshold(own)
        if 2 <= own < look.level and gap[members].max() > PRINTED_NEAR * unit:
            played = np.where(look.good[members], gap[members], 0.0)
            worst = float(np.fmax(worst, played.max() / unit))
    return worst


def deep_levels(
    algorithm: Callable[..., lb.Plan], world: lb.World, constants: Constants, seed: int, T: int
) -> dict[int, float]:
    """Return for each phase the worst arm that a block plays above its level n_b(h)."""
    found: dict[int, float] = {}
    plan = algorithm(size_of(world), constants=constants)
    for look in phases.explorations(phases.looks(plan, world, seed, T)):
        if not math.isnan(worst := worst_deep(look)):
            found[look.h] = max(worst, found.get(look.h, 0.0))
    return found


def measure_deep_levels(effort: Effort) -> Measured:
    """Look at the arms that small blocks play at levels too deep for them."""
    runs = effort.pick(2, 40)
    settings: dict[str, tuple[Callable[..., lb.Plan], Callable[[int], lb.World], Constants, int]]
    settings = {
        LARGE: (regret.any_groups, giant, PAPER, 10**16),
        SMALL: (regret.any_groups, tiers, FEWER, 10**15),
        BARE: (phases.without_inclusion, tiers, FEWER, 10**15),
    }
    rows: Rows = []
    facts = {}
    for name, (algorithm, make, constants, T) in settings.items():
        runs_of = [deep_levels(algorithm, make(k), constants, k, T) for k in range(runs)]
        every = [(h, worst) for found in runs_of for h, worst in found.items()]
        facts[name] = {
            "phases": len(every),
            "first": min(h for h, _ in every),
            "bad phases": sum(worst > PRINTED_NEAR for _, worst in every),
            "bad runs": sum(max(found.values()) > PRINTED_NEAR for found in runs_of),
            "worst": max(worst for _, worst in every),
        }
        for h in sorted({h for h, _ in every}):
            most = max(worst for at, worst in every if at == h)
            rows.append({"series": name, "h": h, "gap": max(most, 0.01)})
    return Measured(seeds=3 * runs, setting={"runs": runs}, rows=rows, facts=facts)


def judge_deep_levels(measured: Measured) -> Verdict:
    """A run fails when a block ever plays an arm that is more than 6 eps~ bad: 3 delta_h each."""

    def check(name: str, problem: Problem) -> Check:
        seen = measured.facts[name]
        what = f"{name}: an arm beyond 6ε̃_{{h,n_b}} at a level n > n_b"
        chance = 6 * phases.delta(problem, seen["first"])  # delta_h halves from phase to phase
        return rate(what, seen["bad runs"], measured.setting["runs"], chance)

    rare = Problem(60, 60, 2)
    return Verdict(
        printed=(check(LARGE, Problem(30, 20, 3)), check(SMALL, rare)),
        broken=(check(BARE, rare),),
    )


def word_deep_levels(measured: Measured, verdict: Verdict) -> Words:
    """Tell how bad the arms of deep levels are, with line 17 and without."""
    large, small, bare = (measured.facts[name] for name in (LARGE, SMALL, BARE))
    return Words(
        setting=(
            "printed constants: one giant group and two single contexts at (30, 20, 3), T = 1e16; "
            "128/1024 and noise of 1/32, so that errors are the same in thresholds: S = K = 60, "
            "one block is a single context with ν = 1/(8S), blocks differ on every arm, T = 1e15; "
            f"{measured.setting['runs']} runs each. Only phases in which some arm is more than "
            "6ε̃_{h,n_b} bad"
        ),
        takeaway=(
            f"An arm beyond 6ε̃ was played in {large['bad phases']} of {large['phases']} phases "
            f"with printed constants, in {small['bad phases']} of {small['phases']} with small "
            f"ones; the worst was {max(large['worst'], small['worst']):.1f}ε̃. Without line 17 it "
            f"was played in {bare['bad phases']} of {bare['phases']}: a level too deep for a block "
            "leaves arms untried, keeps them, and only what lower levels found rules them out."
        ),
    )


DEEP_LEVELS = Claim(
    23,
    "What nested good sets are for",
    printed=(
        "Proof of Theorem 5: at levels n > n_b(h), too deep for block b, all arms that are "
        "6ε̃_{h,n_b} worse than its best are gone from GOOD_{h,n}, by GOOD_{h,n} ⊆ GOOD_{h,n_b} "
        "(line 17), with probability ≥ 1 − 3δ_h"
    ),
    broken="Algorithm 6 without line 17: each level drops arms by its own data only",
    seconds=(2.0, 31.0),
    measure=measure_deep_levels,
    judge=judge_deep_levels,
    word=word_deep_levels,
    draw=Sketch(
        Axis("h", "phase h"),
        Axis("gap", "worst arm played at n > n_b, in √(lg/2ⁿ) at n_b", "log"),
        {LARGE: "blue", SMALL: "green", BARE: "orange"},
        bars={"6, printed": PRINTED_NEAR},
        title="Where a level is too deep, lower levels decide",
        subtitle=(
            "Largest of {runs} runs in each phase in which an arm beyond 6 exists; 0.01 is none."
        ),
        description=(
            "Worst arm that a block plays above its level, in thresholds of its level, against the "
            "phase: about one for Algorithm 6, far below the bar of 6; without line 17 it grows "
            "from phase to phase, to hundreds."
        ),
    ),
)
