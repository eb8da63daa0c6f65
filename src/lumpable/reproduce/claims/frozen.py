"""Claim 30: means of low rank by a cover, regret (29, PAC: `lowrank`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import lumpable as lb
from lumpable.plans import reductions, regret, schedule
from lumpable.plans.plan import Conversation
from lumpable.plans.problem import PAPER, Problem
from lumpable.reproduce.claim import Check, Effort, Finding, claim, slope
from lumpable.reproduce.claims import sketch
from lumpable.reproduce.claims.factors import Factored, spread
from lumpable.reproduce.claims.sketch import Axis, Series

SIZES = (Problem(40, 10, 1), Problem(30, 30, 1))
"""Judged both; the first is drawn."""
EXPONENT = 1 - 1 / 5
"""1 - p, p = 1/(3r + 2) at rank r = 1."""
COVER, SWITCHED, FREE, BROKEN = (
    "cover",
    "with the switch",
    "never frozen",
    "broken: frozen after phase 1",
)


@lb.algorithm
def frozen_at_once(problem: Problem) -> Conversation:
    """Algorithm 6, frozen after phase 1: what it has seen by then rules out no arm."""
    yield from reductions.frozen_after(1, problem, PAPER)
    raise AssertionError("it plays for ever")


def cells_of(problem: Problem) -> Problem:
    """Return the cover's problem: R = S wherever anything is learned, for alpha is tiny then."""
    S, K, _ = problem.letters
    return Problem(S, K, S)


def horizon_of(problem: Problem, phase: int) -> int:
    """Return T with alpha = 2^(-H/2) exactly: nothing is rounded, and slopes are slopes."""
    S, K, _ = problem.letters
    return round((S + K) * 2 ** (phase / 2 / (1 - EXPONENT)))


def first_phase(problem: Problem) -> int:
    """Return the first H that rules out any arm for sure: 3.5 epsilon~ is below 1 there."""
    H = 1
    while 3.5 * schedule.any_groups_phase(cells_of(problem), H).threshold(H) >= 1:
        H += 1
    return H


def way_to_play(problem: Problem, way: str, horizon: int) -> lb.Plan:
    """Return the plan of one way to play means of rank one."""
    if way == FREE:
        return regret.any_groups(cells_of(problem))
    if way == BROKEN:
        return frozen_at_once(cells_of(problem))
    return reductions.low_rank_online(problem, horizon=horizon, switch=way == SWITCHED)


def mean_regret(problem: Problem, way: str, horizons: Sequence[int], runs: int) -> list[float]:
    """Return the regret at each horizon, an average over worlds."""
    truths = [spread(problem.contexts, problem.arms, 1, 1.0, seed) for seed in range(runs)]

    def regret_of(truth: Factored, horizon: int, seed: int) -> float:
        plan = way_to_play(problem, way, horizon)
        return lb.simulate(plan, truth.world, horizon=horizon, seed=seed).regret

    return [
        float(np.mean([regret_of(truth, T, seed) for seed, truth in enumerate(truths)]))
        for T in horizons
    ]


def steepest(problem: Problem, phases: Sequence[int]) -> float:
    """Return the exponent of T that the proof gives, with the logarithms that it hides.

    T^(1-p), the width sqrt(lg_H) of the good sets in units of epsilon_H, and H phases: the proof
    ends by "there are at most log T phases".
    """
    horizons = [horizon_of(problem, H) for H in phases]
    widths = [math.sqrt(schedule.any_groups_phase(cells_of(problem), H).lg) for H in phases]
    return slope(
        horizons,
        [width * H * T**EXPONENT for width, H, T in zip(widths, phases, horizons, strict=True)],
    )[0]


@claim(
    30,
    "Low rank, regret",
    printed=(
        "With p = 1/(3r + 2) and α = ((S + K)/T)^p the regret of Algorithm 6 on the cover is "
        "Õ((S + K)^p T^(1−p))"
    ),
    broken="frozen after phase 1: every arm is played for ever",
    seconds=(4.0, 12.0),
)
def low_rank_exponent(effort: Effort) -> Finding:
    """Measure how the regret grows with T, from the first horizon at which arms must fall."""
    runs, length = effort.pick(2, 8), effort.pick(4, 5)
    phases = {size: range(first_phase(size), first_phase(size) + length) for size in SIZES}
    horizons = {size: [horizon_of(size, H) for H in phases[size]] for size in SIZES}
    found = {
        (size, way): mean_regret(size, way, horizons[size], runs)
        for size in SIZES
        for way in (COVER, SWITCHED, BROKEN)
    }
    slopes = {(size, way): slope(horizons[size], found[size, way]) for size, way in found}

    def check(size: Problem, way: str) -> Check:
        steep, error = slopes[size, way]
        words = (
            f"{way}, S = {size.contexts}, K = {size.arms}: exponent of T less 2 standard errors, "
            "bar 1 − p and logarithms"
        )
        return Check(words, steep - 2 * error, "<=", steepest(size, phases[size]))

    drawn = SIZES[0]
    times = horizons[drawn]
    free = mean_regret(drawn, FREE, times, runs)
    end = {way: found[drawn, way][-1] for way in (COVER, SWITCHED)}
    grown = " and ".join(
        "T^({:.3f} ± {:.3f})".format(*slopes[size, COVER])
        + f" at S = {size.contexts}, K = {size.arms}"
        for size in SIZES
    )
    return Finding(
        setting=(
            f"(S, K) = {' and '.join(str(size.letters[:2]) for size in SIZES)}, rank 1, B = 1, "
            f"factors uniform, printed constants; T = {times[0]:.1e} … {times[-1]:.1e}, where "
            "3.5 ε̃ < 1 and α = 2^(−H/2); R = S there"
        ),
        seeds=runs * sum(len(values) for values in horizons.values()),
        printed=tuple(check(size, way) for size in SIZES for way in (COVER, SWITCHED)),
        broken=tuple(check(size, BROKEN) for size in SIZES),
        words=(
            f"The regret grows like {grown}; 1 − p = {EXPONENT:g}, and with the logarithms of the "
            f"proof {steepest(drawn, phases[drawn]):.3f}. It is the freeze: without it the regret "
            f"is {end[COVER] / free[-1]:.1f} times smaller at the last T, and the standard "
            f"algorithm, which the switch takes, loses {end[SWITCHED]:.0e} in all instead of "
            f"{end[COVER]:.0e}. This is measured where every context is its own cell (R = S); the "
            "step for contexts that lie more densely is open (docs/errata.md)."
        ),
        figure=cover_figure(
            times,
            {
                COVER: found[drawn, COVER],
                "like 1/T^p": [found[drawn, COVER][0] * (T / times[0]) ** EXPONENT for T in times],
                FREE: free,
                BROKEN: found[drawn, BROKEN],
            },
            [
                f"Rank 1, S = {drawn.contexts}, K = {drawn.arms}; mean over {runs} worlds. Not "
                "shown: with the switch it is",
                f"{end[SWITCHED] / times[-1]:.0e} a round at the end.",
            ],
        ),
    )


def cover_figure(
    horizons: Sequence[int], series: dict[str, list[float]], subtitle: list[str]
) -> Any:
    """Draw regret a round against the horizon."""
    styles = (
        Series(sketch.BLUE),
        Series("#222222", "dash"),
        Series(sketch.GREEN),
        Series(sketch.ORANGE),
    )
    return sketch.picture(
        [
            {"series": name, "horizon": T, "share": y / T}
            for name, values in series.items()
            for T, y in zip(horizons, values, strict=True)
        ],
        Axis("horizon", "horizon T", "log"),
        Axis("share", "regret a round", "log", (0.01, 0.02, 0.05, 0.1, 0.2)),
        dict(zip(series, styles, strict=True)),
        title="Low rank: regret grows like T^(1 − p)",
        subtitle=subtitle,
        description=(
            "Regret a round against the horizon: the cover follows the line T to the minus p, "
            "without the freeze it falls faster, and frozen after phase 1 it stays."
        ),
    )
