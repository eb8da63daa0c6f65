"""Claim 24: why levels of Algorithm 6 have different lengths, and what a late split costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from lumpable.base import words
from lumpable.plans import regret
from lumpable.plans.problem import PAPER
from lumpable.reports.kit import canvas
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, slope
from lumpable.reproduce.claims import phases, witness
from lumpable.reproduce.claims.rates import any_logs, check_exponent, curve, exponent
from lumpable.reproduce.claims.sketch import Axis, Colour, Rows, Series, curves, panel
from lumpable.reproduce.claims.witness import size_of

LATE = tuple(4.0**k for k in range(24, 32))
"""Rounds from which the gaps of a fixed world have long been seen."""
ODD = 150
"""S = K of the world with a late split."""
AS_PRINTED, EQUAL, MENDED = "as printed", "broken: equal lengths", "mended"


def lengths_slope(taper: float, seeds: int) -> tuple[tuple[float, float], list[float]]:
    """Return the exponent of T in the regret, logarithms divided out, and the mean regret."""
    world = witness.one_large_block(40, 30, 4, 0.4)  # and three rare single contexts
    problem, constants = size_of(world), replace(PAPER, taper=taper)
    seen = [
        curve(regret.any_groups(problem, constants=constants), world, seed, LATE)
        for seed in range(seeds)
    ]
    logs = [any_logs(problem, T) for T in LATE]
    mean: list[float] = np.mean(seen, axis=0).tolist()
    return exponent(slope(LATE, list(found / logs)) for found in seen), mean


def late_splits(mended: bool, seed: int) -> Iterator[tuple[int, float]]:
    """Yield the phase and the regret of each call of Algorithm 5, over what the proof charges.

    That is 6 eps~_h L'. With small constants an odd context that comes rarely is noticed late, at
    a low level, on an arm that all others have long dropped.
    """
    world = phases.odd_one_out(ODD, only_better=True, rare=True)
    problem, constants = size_of(world), replace(PAPER, levels=0.05, split=2.0)
    plan = regret.any_groups(problem, constants=constants, mended=mended)
    for look in phases.looks(plan, world, seed, 2**36):
        if not look.exploring:
            charge = 6 * look.size.threshold(look.h) * look.size.split_rounds(look.h)
            yield look.h, look.regret / charge


def measure_level_lengths(effort: Effort) -> Measured:
    """Compare lengths on one large block and three tiny ones; watch late calls of Algorithm 5."""
    seeds, late = effort.pick(2, 20), effort.pick(3, 60)
    exponents, regrets = {}, {}
    calls: Rows = []
    for name, taper in ((AS_PRINTED, PAPER.taper), (EQUAL, 0.0)):
        exponents[name], regrets[name] = lengths_slope(taper, seeds)
    for name in (AS_PRINTED, MENDED):
        for seed in range(late):
            found = late_splits(name == MENDED, seed)
            calls += [{"series": name, "h": h, "cost": cost} for h, cost in found]
    most = {
        name: max(call["cost"] for call in calls if call["series"] == name)
        for name in (AS_PRINTED, MENDED)
    }
    return Measured(
        seeds=2 * seeds + 2 * late,
        setting={"S": 40, "K": 30, "r": 4, "T": LATE},
        rows=curves("T", LATE, "regret", regrets),
        facts={"exponents": exponents, "calls": calls, "most": most},
    )


def judge_level_lengths(measured: Measured) -> Verdict:
    """The exponent of T is at most one half, and no call costs more than it is charged."""

    def grows(name: str) -> Check:
        return check_exponent("exponent of T", measured.facts["exponents"][name], 0.5)

    def charge(name: str) -> Check:
        most = measured.facts["most"][name]
        return Check("regret of a call of Algorithm 5 over 6ε̃_h L′", most, "<=", 1.0)

    return Verdict(
        printed=(grows(AS_PRINTED), charge(AS_PRINTED)),
        repaired=(grows(AS_PRINTED), charge(MENDED)),
        broken=(grows(EQUAL),),
    )


def word_level_lengths(measured: Measured, verdict: Verdict) -> Words:
    """Tell what equal lengths cost, and late calls."""
    exponents, most = measured.facts["exponents"], measured.facts["most"]
    first, last = (words.number(T, 1) for T in (LATE[0], LATE[-1]))
    end = {row["series"]: row["regret"] for row in measured.rows}  # the last T of each
    return Words(
        setting=(
            "(S, K, r) = (40, 30, 4), one large block and three single contexts with ν = 1/(8S), T "
            f"from {first} to {last} (beyond 2^55 a draw is exact up to 2^-18 in total variation); "
            f"late calls: one odd context among S = K = {ODD} without noise, constants 0.05 for "
            "128 and 2 for 64"
        ),
        takeaway=(
            f"Exponents of T, logarithms divided out: {exponents[AS_PRINTED][0]:.2f} as printed, "
            f"{exponents[EQUAL][0]:.2f} with equal lengths, which cost "
            f"{end[EQUAL] / end[AS_PRINTED]:,.0f} times as much at T = {last}. A gap that a low "
            f"level shows late costs up to {most[AS_PRINTED]:.0f} times what the proof charges the "
            f"call; mended, at most {most[MENDED]:.2f} times."
        ),
    )


def draw_level_lengths(measured: Measured) -> Any:
    """Draw regret against T for both kinds of lengths; beside it the cost of late calls."""
    colours: dict[str, Colour] = {AS_PRINTED: "blue", EQUAL: "orange", MENDED: "green"}
    left = panel(
        measured.rows,
        Axis("T", "rounds T", "log"),
        Axis("regret", "regret", "log"),
        colours,
        width=270,
    )
    right = panel(
        measured.facts["calls"],
        Axis("h", "phase of the call", ticks="points"),
        Axis("cost", "regret of the call over its charge", "log"),
        {name: Series(colour, "point") for name, colour in colours.items()},
        bars={"what the proof charges: 6√lg εL′": 1.0},
        width=270,
    )
    return canvas.with_title(
        left.properties(title="Lengths of the levels")
        | right.properties(title="Late calls of Algorithm 5"),
        "Low levels must be short, and late splits must be coarse",
        [
            "Left: one large block and three tiny ones. Right: a gap that a low level shows late,",
            "split at the accuracy of the phase (as printed) or of the level (mended).",
        ],
        "Left: regret against rounds on log axes, with slope one half for the printed lengths and "
        "near one for equal lengths. Right: regret of calls of Algorithm 5 over what the proof "
        "charges, against the phase: above 1 and growing as printed, far below 1 when mended.",
    )


LEVEL_LENGTHS = Claim(
    24,
    "Levels of different lengths",
    printed=(
        "With lengths r(S + K) lg_h 2^((n+h)/2) the regret of all levels is Õ(√(r(S + K)T)), and "
        "the same argument holds for the calls of Algorithm 5: 6ε̃_h for each of their rounds"
    ),
    repaired=(
        "calls at the accuracy of the level that showed the gap, ε′ = 2^(−n/2)/(4r), while the "
        "others play their deepest good sets (`mended`)"
    ),
    broken="every level as long as the deepest: r(S + K) lg_h 2^h",
    seconds=(7.0, 67.0),
    stands=False,
    measure=measure_level_lengths,
    judge=judge_level_lengths,
    word=word_level_lengths,
    draw=draw_level_lengths,
)
