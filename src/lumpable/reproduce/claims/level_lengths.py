"""Claim 24: why levels of Algorithm 6 have different lengths, and what a late split costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from lumpable.base import words
from lumpable.base.checks import FloatVector
from lumpable.plans import regret
from lumpable.plans.problem import PAPER
from lumpable.reports.kit import canvas
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, slope
from lumpable.reproduce.claims import phases, sketch, witness
from lumpable.reproduce.claims.rates import any_logs, curve, exponent
from lumpable.reproduce.claims.sketch import Rows

LATE = tuple(4.0**k for k in range(24, 32))
"""Rounds from which the gaps of a fixed world have long been seen."""
ODD = 150
"""S = K of the world with a late split."""
AS_PRINTED, EQUAL, MENDED = "as printed", "broken: equal lengths", "mended"


def lengths_slope(taper: float, seeds: int) -> tuple[tuple[float, float], FloatVector]:
    """Return the exponent of T in the regret, logarithms divided out, and the mean regret."""
    world = witness.one_large_block(40, 30, 4, 0.4)  # and three rare single contexts
    problem, constants = phases.size_of(world), replace(PAPER, taper=taper)
    curves = [
        curve(regret.any_groups(problem, constants=constants), world, seed, LATE)
        for seed in range(seeds)
    ]
    logs = [any_logs(problem, T) for T in LATE]
    return exponent(slope(LATE, list(found / logs)) for found in curves), np.mean(curves, axis=0)


def late_splits(mended: bool, seed: int) -> Iterator[tuple[int, float]]:
    """Yield the phase and the regret of each call of Algorithm 5, over what the proof charges.

    That is 6 eps~_h L'. With small constants an odd context that comes rarely is noticed late, at
    a low level, on an arm that everybody else has long dropped.
    """
    world = phases.odd_one_out(ODD, only_better=True, rare=True)
    problem, constants = phases.size_of(world), replace(PAPER, levels=0.05, split=2.0)
    plan = regret.any_groups(problem, constants=constants, mended=mended)
    for look in phases.looks(plan, world, seed, 2**36):
        if not look.exploring:
            charge = 6 * look.size.threshold(look.h) * look.size.split_rounds(look.h)
            yield look.h, look.regret / charge


def measure_level_lengths(effort: Effort) -> Measured:
    """Compare lengths on one large block and three tiny ones; watch late calls of Algorithm 5."""
    seeds, late = effort.pick(2, 20), effort.pick(3, 60)
    exponents, rows = {}, []
    calls: Rows = []
    for name, taper in ((AS_PRINTED, PAPER.taper), (EQUAL, 0.0)):
        exponents[name], regrets = lengths_slope(taper, seeds)
        points = zip(LATE, regrets, strict=True)
        rows += [{"series": name, "T": T, "regret": lost} for T, lost in points]
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
        rows=rows,
        facts={"exponents": exponents, "calls": calls, "most": most},
    )


def judge_level_lengths(measured: Measured) -> Verdict:
    """The exponent of T is at most one half, and no call costs more than it is charged."""

    def grows(name: str) -> Check:
        exponent, error = measured.facts["exponents"][name]
        what = f"exponent of T, ± {error:.3f}; two errors allowed"
        return Check(what, exponent, "<=", 0.5 + 2 * error)

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
            f"from {first} to {last}; late calls: one odd context among S = K = {ODD} without "
            "noise, constants 0.05 for 128 and 2 for 64"
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
    alt = canvas.altair()
    names = {AS_PRINTED: sketch.BLUE, EQUAL: sketch.ORANGE, MENDED: sketch.GREEN}
    colour = alt.Color(
        "series:N",
        title=None,
        scale=alt.Scale(domain=list(names), range=list(names.values())),
        legend=alt.Legend(orient="top", symbolStrokeWidth=3, labelLimit=320),
    )
    log = alt.Scale(type="log", nice=False, padding=12)
    left = (
        alt.Chart(canvas.data(measured.rows), title="Lengths of the levels")
        .mark_line(point={"filled": True, "size": 60}, strokeWidth=2)
        .encode(
            x=_axis(alt.X, "T", "rounds T", log, [1e15, 1e16, 1e17, 1e18]),
            y=_axis(alt.Y, "regret", "regret", log, [10.0**k for k in range(13, 19)]),
            color=colour,
        )
    )
    height = alt.Chart(canvas.data([{"cost": 1.0, "words": "what the proof charges: 6√lg εL′"}]))
    right = alt.layer(
        height.mark_rule(strokeDash=sketch.DASH, strokeWidth=1.5).encode(y="cost:Q"),
        height.mark_text(align="right", dy=12, fontSize=12).encode(
            x=alt.value(266), y="cost:Q", text="words:N"
        ),
        alt.Chart(canvas.data(measured.facts["calls"]))
        .mark_point(filled=True, size=60, opacity=0.8)
        .encode(
            x=_axis(alt.X, "h", "phase of the call", alt.Scale(zero=False, padding=12)),
            y=_axis(
                alt.Y,
                "cost",
                "regret of the call over its charge",
                log,
                [10.0**k for k in range(-4, 3)],
            ),
            color=colour,
        ),
        title="Late calls of Algorithm 5",
    )
    panels = [panel.properties(width=270, height=sketch.HEIGHT) for panel in (left, right)]
    return canvas.with_title(
        alt.hconcat(*panels, spacing=30),
        "Low levels must be short, and late splits must be coarse",
        [
            "Left: one large block and three tiny ones. Right: a gap that a low level shows late,",
            "split at the accuracy of the phase (as printed) or of the level (mended).",
        ],
        "Left: regret against rounds on log axes, with slope one half for the printed lengths and "
        "near one for equal lengths. Right: regret of calls of Algorithm 5 over what the proof "
        "charges, against the phase: above 1 and growing as printed, far below 1 when mended.",
    )


def _axis(
    channel: Any, field: str, title: str, scale: Any, ticks: list[float] | None = None
) -> Any:
    alt = canvas.altair()
    bare = "replace(format(datum.value, '~e'), '+', '')"
    axis = alt.Axis(values=ticks, labelExpr=bare) if ticks else alt.Axis(tickMinStep=1)
    return channel(f"{field}:Q", title=title, scale=scale, axis=axis)


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
