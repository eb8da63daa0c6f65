"""Claim 27: the switch to the standard algorithm, by worst cases over gaps.

Where it switches it is the standard algorithm itself, draw for draw. So what there is to measure is
whether it switches where it must, and what it costs where it does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import lumpable as lb
from lumpable import worlds
from lumpable.plans import bounds, reductions, regret, standard
from lumpable.plans.problem import Problem
from lumpable.reproduce.claim import Check, Effort, slope
from lumpable.reproduce.claims import sketch
from lumpable.reproduce.claims.sketch import Axis, Series
from lumpable.reproduce.old import CLAIMS, Finding, claim

Algorithm = Callable[[Problem], lb.Plan]
SWITCHED = Problem(60, 20, 3)
"""Here S K < r^3 (S + K), so it switches."""
STANDARD_GAPS = (10, 15, 20, 25, 30, 40, 60)
"""For the standard algorithm, in units of sqrt(SK/T): its worst gap is far smaller."""
SWITCHES, STAYS, BROKEN = "where it switches", "where it does not", "broken: no switch"


def lost(algorithm: Algorithm, problem: Problem, gap: float, horizon: int, seed: int) -> float:
    """Return the regret when each group's one good arm is better than all others by `gap`."""
    S, K, r = problem.letters
    world = worlds.lumpable(S, K, r, means="hard", gap=gap, seed=seed)
    return lb.simulate(algorithm(problem), world, horizon=horizon, seed=seed).regret


def worst(algorithm: Algorithm, problem: Problem, horizon: int, seed: int, halvings: int) -> float:
    """Return the largest regret over gaps 1/2, 1/2 x 2^-halvings, ...

    It ends where no smaller gap can cost more: T rounds lose at most gap x T.
    """
    most, gap = 0.0, 0.5
    while gap * horizon > most:
        most = max(most, lost(algorithm, problem, gap, horizon, seed))
        gap /= 2**halvings
    return most


def standard_worst(algorithm: Algorithm, problem: Problem, horizon: int, seed: int) -> float:
    """Return the largest regret of the standard algorithm; its worst gap is inside the grid."""
    unit = math.sqrt(problem.contexts * problem.arms / horizon)
    found = [lost(algorithm, problem, gap * unit, horizon, seed) for gap in STANDARD_GAPS]
    most = max(found)
    if most in (found[0], found[-1]):
        raise AssertionError(f"the worst gap is at the edge of {STANDARD_GAPS} √(SK/T)")
    return most


def times_standard(
    problem: Problem, horizon: int, runs: int, halvings: int, *, switch: bool = True
) -> float:
    """Return the worst case over the standard algorithm's, each at its own worst gap."""
    algorithm = reductions.never_worse if switch else regret.any_groups
    usual = [standard_worst(standard.online, problem, horizon, seed) for seed in range(runs)]
    if switch and bounds.standard_is_better(problem):
        own = [standard_worst(algorithm, problem, horizon, seed) for seed in range(runs)]
    else:
        own = [worst(algorithm, problem, horizon, seed, halvings) for seed in range(runs)]
    return float(np.mean(own) / np.mean(usual))


@claim(
    27,
    "The switch to the standard algorithm",
    printed=(
        "Knowing r, switch when √(SKT) < √(r³(S + K)T): the regret is never worse than the "
        "standard bound, in order"
    ),
    broken="no switch: Algorithm 6 where SK < r³(S + K)",
    seconds=(10.0, 65.0),
)
def switch(effort: Effort) -> Finding:
    """Compare worst cases over gaps, on both sides of the switch."""
    runs, halvings = effort.pick(1, 2), effort.pick(3, 1)
    horizons = effort.pick(
        (10**14, 10**15, 10**16), tuple(round(10 ** (e / 2)) for e in range(28, 33))
    )
    sides = effort.pick((20, 40, 80), (20, 40, 80, 160))
    groups = effort.pick((2, 3, 6), (2, 3, 4, 6))
    side, last = 40, horizons[-1]
    small = Problem(side, side, 2)
    ratios = {
        SWITCHES: [times_standard(SWITCHED, T, runs, halvings) for T in horizons],
        STAYS: [times_standard(small, T, runs, halvings) for T in horizons],
        BROKEN: [times_standard(SWITCHED, T, runs, halvings, switch=False) for T in horizons],
    }
    in_time, time_error = slope(horizons, ratios[STAYS])
    allowed, _ = slope(horizons, [math.log(T) for T in horizons])
    by_size = {
        S: times_standard(Problem(S, S, 2), last, runs, halvings) for S in sides if side != S
    }
    by_size[side] = ratios[STAYS][-1]
    in_size, size_error = slope(sides, [by_size[S] for S in sides])

    def by_groups(*, switch: bool) -> list[float]:
        rest = [
            times_standard(Problem(side, side, r), last, runs, halvings, switch=switch)
            for r in groups[1:]
        ]
        return [ratios[STAYS][-1], *rest]  # at r = 2 it does not switch

    with_switch, without = by_groups(switch=True), by_groups(switch=False)

    def over_standard(where: str) -> Check:
        words = f"regret over the standard algorithm's, worst gaps, {where}"
        return Check(words, max(ratios[where]), "<=", 1.0)

    def in_groups(values: list[float]) -> Check:
        steep, error = slope(groups, values)
        words = f"exponent of r in that ratio at S = K = {side}, ± {error:.2f}"
        return Check(words, steep, "<=", 0.0)

    return Finding(
        setting=(
            "one arm better in each group, by 1/2 and less, down to where no gap can cost more "
            f"(standard: 10 … 60 √(SK/T)); printed constants; it switches at {SWITCHED.letters}, "
            f"not at S = K = {sides[0]} … {sides[-1]}, r = 2; T = 1e14 … 1e16; r in {groups} at "
            f"S = K = {side}, where it switches from r = 3 on"
        ),
        seeds=runs,
        printed=(
            over_standard(SWITCHES),
            Check(
                "elsewhere: exponent of T in that ratio less 2 standard errors, bar log T",
                in_time - 2 * time_error,
                "<=",
                allowed,
            ),
            Check(
                f"elsewhere: exponent of S = K in that ratio, ± {size_error:.2f}, plus 2 errors",
                in_size + 2 * size_error,
                "<=",
                0.0,
            ),
            in_groups(with_switch),
        ),
        broken=(over_standard(BROKEN), in_groups(without)),
        words=(
            "Where it switches it is the standard algorithm itself, so its regret is "
            f"{max(ratios[SWITCHES]):.3g} times the standard one; without the switch that ratio "
            f"grows with r, from {without[0]:.0f} at r = {groups[0]} to {without[-1]:.0f} at r = "
            f"{groups[-1]} (S = K = {side}). Where it does not switch, the order in T is right "
            f"(the ratio goes like T^({in_time:.2f} ± {time_error:.2f})). It is an order, not a "
            "number: printed constants weigh more than groups save, "
            f"{by_size[sides[0]]:.0f} times the standard regret at S = K = {sides[0]}, "
            f"{by_size[sides[-1]]:.0f} times at {sides[-1]}."
        ),
        figure=switch_figure(horizons, ratios, small),
    )


def switch_figure(horizons: tuple[int, ...], ratios: dict[str, list[float]], small: Problem) -> Any:
    """Draw the ratio to the standard algorithm's regret against the horizon."""
    return sketch.picture(
        [
            {"series": where, "horizon": T, "ratio": y}
            for where, values in ratios.items()
            for T, y in zip(horizons, values, strict=True)
        ],
        Axis("horizon", "horizon T", "log", (1e14, 1e15, 1e16)),
        Axis("ratio", "regret over the standard one", "log"),
        {
            SWITCHES: Series(sketch.BLUE),
            STAYS: Series(sketch.GREEN),
            BROKEN: Series(sketch.ORANGE),
        },
        bars={"the standard algorithm": 1.0},
        title="The switch compares orders, not constants",
        subtitle=[
            f"Each at its own worst gap. It switches at {SWITCHED.letters}, not at {small.letters}."
        ],
        description=(
            "Regret over that of the standard algorithm against the horizon: exactly one where "
            "it switches, for there it is that algorithm; hundreds of times as much where it does "
            "not, and also where it would have to but does not."
        ),
    )


SWITCH = CLAIMS[27]
