"""Claim 27: the switch to the standard algorithm, by worst cases over gaps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import lumpable as lb
from lumpable import reductions, regret, standard, worlds
from lumpable.problem import Problem
from lumpable.reproduce.claim import Check, Effort, Finding, claim, slope
from lumpable.reproduce.claims import sketch
from lumpable.reproduce.claims.sketch import Axis, Series

SWITCHED = Problem(60, 20, 3)
"""Here S K < r^3 (S + K), so it switches."""
GAPS = (0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05)
STANDARD_GAPS = (10, 15, 20, 25, 30, 40, 60)
"""For the standard algorithm, in units of sqrt(SK/T): its worst gap is far smaller."""
METHODS = {
    "switch": reductions.never_worse,
    "standard": standard.online,
    "no switch": regret.any_groups,
}


def worst(method: str, problem: Problem, gaps: Sequence[float], horizon: int, seed: int) -> float:
    """Return the largest regret over gaps between each group's one good arm and all others."""
    S, K, r = problem.letters
    found = []
    for gap in gaps:
        world = worlds.lumpable(S, K, r, means="hard", gap=gap, seed=seed)
        plan = METHODS[method](problem)
        found.append(lb.simulate(plan, world, horizon=horizon, seed=seed).regret)
    return max(found)


def small_gaps(problem: Problem, horizon: int) -> list[float]:
    """Return gaps among which the standard algorithm's worst one is."""
    unit = math.sqrt(problem.contexts * problem.arms / horizon)
    return [gap * unit for gap in STANDARD_GAPS]


def times_standard(
    method: str, problem: Problem, horizon: int, runs: int, gaps: Sequence[float] = ()
) -> float:
    """Return a method's worst case over the standard algorithm's, each at its own worst gap.

    Without `gaps` the method is tried at the small ones too.
    """
    small = small_gaps(problem, horizon)
    own = [worst(method, problem, gaps or small, horizon, seed) for seed in range(runs)]
    usual = [worst("standard", problem, small, horizon, seed) for seed in range(runs)]
    return float(np.mean(own) / np.mean(usual))


@claim(
    27,
    "The switch to the standard algorithm",
    printed=(
        "Knowing r, switch when √(SKT) < √(r³(S + K)T): the regret is never worse than the "
        "standard bound, in order"
    ),
    broken="no switch: Algorithm 6 where SK < r³(S + K)",
    seconds=(8.0, 55.0),
)
def switch(effort: Effort) -> Finding:
    """Compare worst cases over gaps, on both sides of the switch."""
    runs = effort.pick(1, 2)
    gaps = effort.pick(GAPS[1:6:2], GAPS)
    horizons = effort.pick(
        (10**14, 10**15, 10**16), tuple(round(10 ** (e / 2)) for e in range(28, 33))
    )
    sides = effort.pick((40, 80), (40, 80, 160))
    small = Problem(sides[0], sides[0], 2)
    ratios = {
        "where it switches": [times_standard("switch", SWITCHED, T, runs) for T in horizons],
        "where it does not": [times_standard("switch", small, T, runs, gaps) for T in horizons],
        "broken: no switch": [
            times_standard("no switch", SWITCHED, T, runs, gaps) for T in horizons
        ],
    }
    steep, error = slope(horizons, ratios["where it does not"])
    allowed, _ = slope(horizons, [math.log(T) for T in horizons])
    last = horizons[-1]
    by_size = [ratios["where it does not"][-1]]
    by_size += [times_standard("switch", Problem(S, S, 2), last, runs, gaps) for S in sides[1:]]
    shrink, _ = slope(sides, by_size)

    def check(where: str) -> Check:
        words = f"regret over the standard algorithm's, worst gaps, {where}"
        return Check(words, max(ratios[where]), "<=", 1.0)

    return Finding(
        setting=(
            f"one arm better in each group, by {gaps[-1]:g} … {gaps[0]:g} (standard: 10 … 60 "
            f"√(SK/T)); printed constants; it switches at {SWITCHED.letters}, not at S = K = "
            f"{sides[0]} … {sides[-1]}, r = 2; T = 1e14 … 1e16"
        ),
        seeds=runs,
        printed=(
            check("where it switches"),
            Check(
                "elsewhere: exponent of T in that ratio less 2 standard errors, bar log T",
                steep - 2 * error,
                "<=",
                allowed,
            ),
            Check("elsewhere: exponent of S = K in that ratio", shrink, "<=", 0.0),
        ),
        broken=(check("broken: no switch"),),
        words=(
            f"Where it switches, the regret is {max(ratios['where it switches']):.3g} times the "
            "standard one. Elsewhere the order in T is right "
            f"(the ratio goes like T^({steep:.2f} ± {error:.2f})). It is an order, not a number: "
            f"printed constants weigh more than groups save, {by_size[0]:.0f} times the standard "
            f"regret at S = K = {sides[0]}, {by_size[-1]:.0f} times at {sides[-1]}."
        ),
        figure=sketch.picture(
            [
                {"series": where, "horizon": T, "ratio": y}
                for where, values in ratios.items()
                for T, y in zip(horizons, values, strict=True)
            ],
            Axis("horizon", "horizon T", "log", (1e14, 1e15, 1e16)),
            Axis("ratio", "regret over the standard one", "log"),
            {
                "where it switches": Series(sketch.BLUE),
                "where it does not": Series(sketch.GREEN),
                "broken: no switch": Series(sketch.ORANGE),
            },
            bars={"the standard algorithm": 1.0},
            title="The switch compares orders, not constants",
            subtitle=[
                f"Each at its own worst gap. It switches at {SWITCHED.letters}, not at "
                f"{small.letters}."
            ],
            description=(
                "Regret over that of the standard algorithm against the horizon: exactly one where "
                "it switches; hundreds of times as much where it does not, and also where it would "
                "have to but does not."
            ),
        ),
    )
