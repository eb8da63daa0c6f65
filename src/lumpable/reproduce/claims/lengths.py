"""Claim 24: why levels of Algorithm 6 have different lengths, and what a late split costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import lumpable as lb
from lumpable.base import words
from lumpable.base.checks import FloatVector
from lumpable.plans import regret
from lumpable.plans.problem import PAPER
from lumpable.reports.kit import canvas
from lumpable.reproduce.claim import Check, Effort, Finding, claim, slope
from lumpable.reproduce.claims import phases, sketch, witness
from lumpable.reproduce.claims.rates import any_logs, curve, exponent

LATE = tuple(4.0**k for k in range(24, 32))
"""Rounds from which the gaps of a fixed world have long been seen."""
ODD = 150
"""S = K of the world with a late split."""


def one_large_block() -> lb.World:
    """Return one large block and three single contexts that come as rarely as may."""
    return witness.one_large_block(40, 30, 4, 0.4)


def lengths_slope(taper: float, seeds: int) -> tuple[tuple[float, float], FloatVector]:
    """Return the exponent of T in the regret, logarithms divided out, and the mean regret."""
    world = one_large_block()
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


@claim(
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
)
def level_lengths(effort: Effort) -> Finding:
    """Compare lengths on one large block and three tiny ones; watch late calls of Algorithm 5."""
    seeds, late = effort.pick(3, 20), effort.pick(6, 60)
    tapered, regret_tapered = lengths_slope(PAPER.taper, seeds)
    same, regret_same = lengths_slope(0.0, seeds)
    calls = {
        mended: [call for seed in range(late) for call in late_splits(mended, seed)]
        for mended in (False, True)
    }
    most = {mended: max(cost for _, cost in found) for mended, found in calls.items()}

    def grows(found: tuple[float, float]) -> Check:
        what = f"exponent of T, ± {found[1]:.3f}; two errors allowed"
        return Check(what, found[0], "<=", 0.5 + 2 * found[1])

    def charge(mended: bool) -> Check:
        return Check("regret of a call of Algorithm 5 over 6ε̃_h L′", most[mended], "<=", 1.0)

    times = regret_same[-1] / regret_tapered[-1]
    return Finding(
        setting=(
            "(S, K, r) = (40, 30, 4), one large block and three single contexts with ν = 1/(8S), T "
            f"from {words.number(LATE[0], 1)} to {words.number(LATE[-1], 1)}; late calls: one "
            f"odd context among S = K = {ODD} without noise, constants 0.05 for 128 and 2 for 64"
        ),
        seeds=2 * seeds + 2 * late,
        printed=(grows(tapered), charge(mended=False)),
        repaired=(grows(tapered), charge(mended=True)),
        broken=(grows(same),),
        words=(
            f"Exponents of T, logarithms divided out: {tapered[0]:.2f} as printed, {same[0]:.2f} "
            f"with equal lengths, which cost {times:,.0f} times as much at T = "
            f"{words.number(LATE[-1], 1)}. A gap that a low level shows late costs up to "
            f"{most[False]:.0f} times what the proof charges the call; mended, at most "
            f"{most[True]:.2f} times."
        ),
        figure=lengths_figure(regret_tapered, regret_same, calls),
    )


def lengths_figure(
    tapered: FloatVector, same: FloatVector, calls: dict[bool, list[tuple[int, float]]]
) -> Any:
    """Draw regret against T for both kinds of lengths; beside it the cost of late calls."""
    alt = canvas.altair()
    curves = [
        {"series": name, "T": T, "regret": lost}
        for name, found in (("as printed", tapered), ("broken: equal lengths", same))
        for T, lost in zip(LATE, found, strict=True)
    ]
    points = [
        {"series": "mended" if mended else "as printed", "h": h, "cost": cost}
        for mended, found in calls.items()
        for h, cost in found
    ]
    names = {
        "as printed": sketch.BLUE,
        "broken: equal lengths": sketch.ORANGE,
        "mended": sketch.GREEN,
    }
    colour = alt.Color(
        "series:N",
        title=None,
        scale=alt.Scale(domain=list(names), range=list(names.values())),
        legend=alt.Legend(orient="top", symbolStrokeWidth=3, labelLimit=320),
    )
    log = alt.Scale(type="log", nice=False, padding=12)
    left = (
        alt.Chart(canvas.data(curves), title="Lengths of the levels")
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
        alt.Chart(canvas.data(points))
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
