"""Claim 30: means of low rank by a cover, regret (29, PAC: `lowrank`)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import lumpable as lb
from lumpable.plans import lengths, reductions, regret
from lumpable.plans.plan import Conversation
from lumpable.plans.problem import PAPER, Problem
from lumpable.reproduce.claim import Check, Claim, Effort, Measured, Verdict, Words, slope
from lumpable.reproduce.claims.lowrank import Factored, spread
from lumpable.reproduce.claims.sketch import GUIDE, Axis, Sketch

SIZES = (Problem(40, 10, 1), Problem(30, 30, 1))
"""Both are judged; the first is drawn."""
DRAWN = f"S = {SIZES[0].contexts}, K = {SIZES[0].arms}"
EXPONENT = 1 - 1 / 5
"""1 - p, p = 1/(3r + 2) at rank r = 1."""
COVER, SWITCHED, FREE = "cover", "with the switch", "never frozen"
BROKEN, POWER = "broken: frozen after phase 1", "like 1/T^p"


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
    while 3.5 * lengths.any_groups_phase(cells_of(problem), H).threshold(H) >= 1:
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
    widths = [math.sqrt(lengths.any_groups_phase(cells_of(problem), H).lg) for H in phases]
    return slope(
        horizons,
        [width * H * T**EXPONENT for width, H, T in zip(widths, phases, horizons, strict=True)],
    )[0]


def measure_low_rank_exponent(effort: Effort) -> Measured:
    """Measure how the regret grows with T, from the first horizon at which arms must fall."""
    runs, length = effort.pick(2, 8), effort.pick(4, 5)
    grows, regrets, times = [], {}, {}
    for size in SIZES:
        S, K, _ = size.letters
        phases = range(first_phase(size), first_phase(size) + length)
        times[size] = [horizon_of(size, H) for H in phases]
        bar = steepest(size, phases)
        for way in (COVER, SWITCHED, BROKEN):
            lost = regrets[size, way] = mean_regret(size, way, times[size], runs)
            steep, error = slope(times[size], lost)
            grows.append({"S": S, "K": K, "way": way, "slope": steep, "error": error, "bar": bar})
    drawn = SIZES[0]
    start, first = times[drawn][0], regrets[drawn, COVER][0]
    curves = {
        COVER: regrets[drawn, COVER],
        POWER: [first * (T / start) ** EXPONENT for T in times[drawn]],
        FREE: mean_regret(drawn, FREE, times[drawn], runs),
        BROKEN: regrets[drawn, BROKEN],
    }
    last = {**curves, SWITCHED: regrets[drawn, SWITCHED]}
    return Measured(
        seeds=runs * length * len(SIZES),
        setting={"runs": runs, "horizons": times[drawn]},
        rows=[
            {"series": name, "horizon": T, "share": y / T}
            for name, values in curves.items()
            for T, y in zip(times[drawn], values, strict=True)
        ],
        facts={
            "grows": grows,
            "last": {name: values[-1] for name, values in last.items()},
            "switched": last[SWITCHED][-1] / times[drawn][-1],
        },
    )


def judge_low_rank_exponent(measured: Measured) -> Verdict:
    """The exponent of T must not exceed 1 - p by more than the logarithms of the proof."""

    def checks(*ways: str) -> tuple[Check, ...]:
        return tuple(
            Check(
                f"{each['way']}, S = {each['S']}, K = {each['K']}: exponent of T less 2 standard "
                "errors, bar 1 − p and logarithms",
                each["slope"] - 2 * each["error"],
                "<=",
                each["bar"],
            )
            for each in measured.facts["grows"]
            if each["way"] in ways
        )

    return Verdict(printed=checks(COVER, SWITCHED), broken=checks(BROKEN))


def word_low_rank_exponent(measured: Measured, verdict: Verdict) -> Words:
    """Tell how the regret grows, and what the freeze costs."""
    times, last = measured.setting["horizons"], measured.facts["last"]
    grows = [each for each in measured.facts["grows"] if each["way"] == COVER]
    growth = " and ".join(
        f"T^({each['slope']:.3f} ± {each['error']:.3f}) at S = {each['S']}, K = {each['K']}"
        for each in grows
    )
    return Words(
        setting=(
            f"(S, K) = {' and '.join(str((each['S'], each['K'])) for each in grows)}, rank 1, "
            f"B = 1, factors uniform, printed constants; T = {times[0]:.1e} … {times[-1]:.1e}, "
            "where 3.5 ε̃ < 1 and α = 2^(−H/2); R = S there"
        ),
        takeaway=(
            f"The regret grows like {growth}; 1 − p = {EXPONENT:g}, and with the logarithms of the "
            f"proof {grows[0]['bar']:.3f}. The freeze is the reason: without it the regret is "
            f"{last[COVER] / last[FREE]:.1f} times smaller at the last T, and the standard "
            f"algorithm, which the switch takes, loses {last[SWITCHED]:.0e} in all instead of "
            f"{last[COVER]:.0e}. This is measured where every context is its own cell (R = S); the "
            "step for contexts that lie more densely is open (errata.md)."
        ),
    )


LOW_RANK_EXPONENT = Claim(
    30,
    "Low rank, regret",
    printed=(
        "With p = 1/(3r + 2) and α = ((S + K)/T)^p the regret of Algorithm 6 on the cover is "
        "Õ((S + K)^p T^(1−p))"
    ),
    broken="frozen after phase 1: every arm is played for ever",
    seconds=(4.0, 12.0),
    measure=measure_low_rank_exponent,
    judge=judge_low_rank_exponent,
    word=word_low_rank_exponent,
    draw=Sketch(
        Axis("horizon", "horizon T", "log"),
        Axis("share", "regret a round", "log", (0.01, 0.02, 0.05, 0.1, 0.2)),
        {COVER: "blue", POWER: GUIDE, FREE: "green", BROKEN: "orange"},
        title="Low rank: regret grows like T^(1 − p)",
        subtitle=(
            f"Rank 1, {DRAWN}; mean over {{runs}} worlds. Not shown: with the switch it is "
            "{switched:.0e} a round at the end."
        ),
        description=(
            "Regret a round against the horizon: the cover follows the line T to the minus p, "
            "without the freeze it falls faster, and frozen after phase 1 it stays."
        ),
    ),
)
