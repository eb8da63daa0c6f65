"""Claims 29 and 30: means of low rank by a cover, PAC and regret."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import lumpable as lb
from lumpable import bounds, reductions, regret, schedule
from lumpable.problem import PAPER, Constants, Problem
from lumpable.reproduce.claim import Check, Effort, Finding, claim, slope
from lumpable.reproduce.claims import sketch, witness
from lumpable.reproduce.claims.factors import Factored, decoys, spread
from lumpable.reproduce.claims.sketch import Axis, Series
from lumpable.reproduce.claims.witness import DELTA

# --- 29: low rank, PAC -----------------------------------------------------------------------

SIZE = (500, 30)
WIDE = 20
"""Broken: cells this many times too wide."""
ACCURACY = 0.005
"""Small enough for the bound on the loss to say something."""


def covered(
    truth: Factored, epsilon: float, constants: Constants, bound: float, seed: int
) -> lb.Run:
    """Run Algorithm 1 with a cover, whatever the switch would say."""
    plan = reductions.low_rank(
        Problem(*SIZE, truth.rank),
        epsilon=epsilon,
        delta=DELTA,
        bound=bound,
        switch=False,
        constants=constants,
    )
    return lb.simulate(plan, truth.world, seed=seed)


def loss(truth: Factored, constants: Constants, seed: int) -> float:
    """Return the loss of Algorithm 1 with a cover, in units of what Theorem 1 allows with R groups.

    2 alpha are added for means that are not quite alike.
    """
    R = schedule.cover(Problem(*SIZE, truth.rank), 1.0, ACCURACY)
    allowed = bounds.near_uniform_printed(Problem(*SIZE, R), ACCURACY, DELTA) + 2 * ACCURACY
    run = covered(truth, ACCURACY, constants, 1.0, seed)
    return truth.world.loss(run.policy) / allowed


def grid(runs: int) -> dict[str, float]:
    """Return the largest numbers of cells, over R, and differences inside them, over alpha."""
    most = dict.fromkeys(("cells", "narrow cells", "difference", "wide difference"), 0.0)
    for seed in range(runs):
        for rank in (1, 2):
            truth = spread(*SIZE, rank, 1.0, seed)
            for alpha in (0.2, 0.05):
                R = schedule.cover(Problem(*SIZE, rank), 1.0, alpha)
                found = {
                    "cells": len(truth.cells(alpha)) / R,
                    "narrow cells": len(truth.cells(alpha / 2)) / R,
                    "difference": truth.difference(alpha) / alpha,
                    "wide difference": truth.difference(WIDE * alpha) / alpha,
                }
                most = {name: max(most[name], value) for name, value in found.items()}
    return most


@claim(
    29,
    "Low rank, PAC",
    printed=(
        "An α-grid of [−B, B]^r has R = O(1/α^r) cells whose contexts differ by O(α); with α = ε "
        "Algorithm 1 takes Õ(R(S + K)/ε²) samples and is Õ(ε)-optimal"
    ),
    broken=(
        f"cells half as wide, or {WIDE} times as wide (contexts that far apart leave together); a "
        "cell for every context"
    ),
    seconds=(2.0, 15.0),
)
def low_rank_pac(effort: Effort) -> Finding:
    """Check the four parts on worlds whose factors are known."""
    S, K = SIZE
    runs, epsilon = effort.pick(6, 60), 0.01
    most = grid(runs)
    wide = witness.threshold_times(WIDE)
    losses = [
        loss(truth, PAPER, seed)
        for seed in range(runs)
        for truth in (spread(S, K, 1, 1.0, seed), spread(S, K, 2, 1.0, seed), decoys(S, K, seed))
    ]
    mixed = [loss(decoys(S, K, seed), wide, seed) for seed in range(runs)]
    sizes = effort.pick((0.0625, 0.25, 1.0), (0.0625, 0.125, 0.25, 0.5, 1.0))
    cells = [schedule.cover(Problem(S, K, 1), B, epsilon) for B in sizes]
    truths = [spread(S, K, 1, B, 0) for B in sizes]
    rounds = [
        covered(truth, epsilon, PAPER, B, 0).rounds for truth, B in zip(truths, sizes, strict=True)
    ]
    careless = [covered(truth, epsilon, PAPER, S * epsilon, 0).rounds for truth in truths]
    formula = [bounds.whole(Problem(S, K, R), epsilon, DELTA) for R in cells]
    guide = [rounds[0] * each / formula[0] for each in formula]
    steep, flat, expected = (slope(cells, values)[0] for values in (rounds, careless, formula))

    def checks(number: float, apart: float, lost: float, exponent: float) -> tuple[Check, ...]:
        return (
            Check("cells that hold a context, over R, most", number, "<=", 1.0),
            Check("difference in a cell, over α max ‖v‖₁, most", apart, "<=", 1.0 + 1e-9),
            Check("loss, over Theorem 1's with R groups + 2α, most", lost, "<=", 1.0),
            Check("exponent of R in the rounds, distance from R log R", exponent, "<=", 0.1),
        )

    series: dict[str, Sequence[float]] = {
        "Algorithm 1, R cells": rounds,
        "R log R": guide,
        "broken: R = S": careless,
    }
    styles = (Series(sketch.BLUE), Series("#222222", "dash"), Series(sketch.ORANGE))
    return Finding(
        setting=(
            f"S = {S}, K = {K}, δ = {DELTA:g}, printed constants, no switch; cells: rank 1 and 2, "
            f"α = 0.2 and 0.05; loss: rank 1 and 2, ε = {ACCURACY:g}; rounds: rank 1, "
            f"ε = {epsilon:g}, B = {sizes[0]:g} … {sizes[-1]:g}"
        ),
        seeds=runs,
        printed=checks(most["cells"], most["difference"], max(losses), abs(steep - expected)),
        broken=checks(
            most["narrow cells"], most["wide difference"], max(mixed), abs(flat - expected)
        ),
        words=(
            f"Contexts of one cell differ by at most {most['difference']:.2f} α max ‖v‖₁, rounds "
            f"grow like R^{steep:.2f}, and the largest loss of {len(losses)} runs was "
            f"{max(losses):.1g} of what the theorem allows; with cells {WIDE} times as wide it "
            f"was {max(mixed):.1f} times as much."
        ),
        figure=sketch.picture(
            [
                {"series": name, "cells": R, "rounds": y}
                for name, values in series.items()
                for R, y in zip(cells, values, strict=True)
            ],
            Axis("cells", "cells R (2B/ε, at most S)", "log"),
            Axis("rounds", "rounds", "log"),
            dict(zip(series, styles, strict=True)),
            title="Low rank: the cost grows like the number of cells",
            subtitle=[f"S = {S}, K = {K}, rank 1, ε = {epsilon:g}; as B grows, so does R."],
            description=(
                "Rounds against the number of cells: a line of slope one that follows R log R; "
                "with a cell for every context they are larger and do not depend on B."
            ),
        ),
    )


# --- 30: low rank, regret ----------------------------------------------------------------------

REGRET = Problem(40, 10, 1)
BESIDE = Problem(30, 30, 1)
"""Measured too and said, not judged: three times the arms, so its regret leaves T later."""
EXPONENT = 1 - 1 / 5
"""1 - p, p = 1/(3r + 2) at rank r = 1."""
WAYS = ("cover", "never frozen", "with the switch", "broken: never learns")


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


def low_rank_regret(problem: Problem, way: str, horizon: int, seed: int) -> float:
    """Return the regret of one way to play means of rank one."""
    world = spread(problem.contexts, problem.arms, 1, 1.0, seed).world
    if way == "broken: never learns":
        return horizon * float(world.frequency @ (world.best - world.mean.mean(axis=1)))
    if way == "never frozen":
        plan = regret.any_groups(cells_of(problem))
    else:
        plan = reductions.low_rank_online(problem, horizon=horizon, switch=way == "with the switch")
    return lb.simulate(plan, world, horizon=horizon, seed=seed).regret


def mean_regret(problem: Problem, way: str, horizons: Sequence[int], runs: int) -> list[float]:
    """Return the regret at each horizon, an average over worlds."""
    return [
        float(np.mean([low_rank_regret(problem, way, T, seed) for seed in range(runs)]))
        for T in horizons
    ]


@claim(
    30,
    "Low rank, regret",
    printed=(
        "With p = 1/(3r + 2) and α = ((S + K)/T)^p the regret of Algorithm 6 on the cover is "
        "Õ((S + K)^p T^(1−p))"
    ),
    broken="frozen after phase 1: every arm is played for ever",
    seconds=(4.0, 28.0),
)
def low_rank_exponent(effort: Effort) -> Finding:
    """Measure how the regret grows with T, from the first horizon at which arms must fall."""
    S, K, _ = REGRET.letters
    runs = effort.pick(2, 8)
    phases = range(first_phase(REGRET), first_phase(REGRET) + effort.pick(4, 5))
    horizons = [horizon_of(REGRET, h) for h in phases]
    found = {way: mean_regret(REGRET, way, horizons, runs) for way in WAYS}
    later = [horizon_of(BESIDE, h) for h in phases]
    beside, beside_error = slope(later, mean_regret(BESIDE, "cover", later, runs))
    slopes = {way: slope(horizons, values) for way, values in found.items()}
    # what the tilde hides: sqrt(lg_H), the width of the good sets in units of epsilon_H
    widths = [math.sqrt(schedule.any_groups_phase(cells_of(REGRET), h).lg) for h in phases]
    bar, _ = slope(horizons, [w * T**EXPONENT for w, T in zip(widths, horizons, strict=True)])

    def check(way: str) -> Check:
        steep, error = slopes[way]
        words = f"{way}: exponent of T less 2 standard errors, bar 1 − p and logarithms"
        return Check(words, steep - 2 * error, "<=", bar)

    steep, error = slopes["cover"]
    end = {way: values[-1] for way, values in found.items()}
    drawn = {way: values for way, values in found.items() if way != "with the switch"}
    drawn["like 1/T^p"] = [found["cover"][0] * (T / horizons[0]) ** EXPONENT for T in horizons]
    return Finding(
        setting=(
            f"S = {S}, K = {K}, rank 1, B = 1, factors uniform, printed constants; T = "
            f"{horizons[0]:.1e} … {horizons[-1]:.1e}, where 3.5 ε̃ < 1 and α = 2^(−H/2); R = S there"
        ),
        seeds=runs * len(horizons),
        printed=(check("cover"), check("with the switch")),
        broken=(check("broken: never learns"),),
        words=(
            f"The regret grows like T^({steep:.3f} ± {error:.3f}), 1 − p = {EXPONENT:g} (at S = K "
            f"= {BESIDE.arms}, where it is only leaving T itself, like T^({beside:.3f} ± "
            f"{beside_error:.3f})). It is "
            f"the freeze: without it the regret is {end['cover'] / end['never frozen']:.1f} times "
            f"smaller at the last T, and the standard algorithm, which the switch takes, loses "
            f"{end['with the switch']:.0e} in all instead of {end['cover']:.0e}."
        ),
        figure=sketch.picture(
            [
                {"series": name, "horizon": T, "share": y / T}
                for name, values in drawn.items()
                for T, y in zip(horizons, values, strict=True)
            ],
            Axis("horizon", "horizon T", "log"),
            Axis("share", "regret a round", "log", (0.01, 0.02, 0.05, 0.1, 0.15)),
            {
                "cover": Series(sketch.BLUE),
                "like 1/T^p": Series("#222222", "dash"),
                "never frozen": Series(sketch.GREEN),
                "broken: never learns": Series(sketch.ORANGE),
            },
            title="Low rank: regret grows like T^(1 − p)",
            subtitle=[
                f"Rank 1, S = {S}, K = {K}; mean over {runs} worlds. Not shown: with the switch it "
                "is",
                f"{end['with the switch'] / horizons[-1]:.0e} a round at the end.",
            ],
            description=(
                "Regret a round against the horizon: the cover follows the line T to the minus p, "
                "without the freeze it falls faster, and without learning it stays."
            ),
        ),
    )
